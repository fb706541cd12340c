"""The packaged probe sets are balanced, varied and clean."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from cospace.corpus import PACKAGED, Corpus

TOPICS = {"food", "weather", "work", "health", "travel", "nature"}
FORMS = {"statement", "question", "story", "instruction"}


@pytest.fixture(scope="module")
def plain() -> Corpus:
    return Corpus.packaged("plain")


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9'-]+", text.lower())


def edits(a: list[str], b: list[str]) -> int:
    """Words to insert, delete or replace to turn ``a`` into ``b``."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (left != right))
    return row[-1]


def near(texts: tuple[str, ...], *, overlap: float, distance: int) -> list[tuple[str, str]]:
    """Pairs that share more than ``overlap`` of their words or differ in ``distance`` or fewer."""
    sets = [set(words(text)) for text in texts]
    vocabulary = {word: i for i, word in enumerate(sorted(set().union(*sets)))}
    has = np.zeros((len(texts), len(vocabulary)), dtype=np.float32)
    for i, found in enumerate(sets):
        has[i, [vocabulary[word] for word in found]] = 1
    shared = has @ has.T
    sizes = has.sum(axis=1)
    jaccard = shared / (sizes[:, None] + sizes - shared)
    # an edit takes at most one word from what both share, so few shared words rule it out
    close = shared >= np.maximum(sizes[:, None], sizes) - distance
    return [
        (texts[i], texts[j])
        for i, j in zip(*np.nonzero(np.triu(close | (jaccard > overlap), k=1)), strict=True)
        if jaccard[i, j] > overlap or edits(words(texts[i]), words(texts[j])) <= distance
    ]


def test_every_packaged_set_is_described_and_can_be_read():
    for name, description in PACKAGED.items():
        corpus = Corpus.packaged(name)
        assert corpus.name == name
        assert str(len(corpus)) in description


def test_topics_and_forms_are_balanced(plain):
    sizes = Counter(plain.groups)
    assert set(sizes) == {f"{topic}/{form}" for topic in TOPICS for form in FORMS}
    assert set(sizes.values()) == {20}
    assert plain.labels == tuple(group.split("/")[0] for group in plain.groups)


@pytest.mark.parametrize("rows", [24, 100, 257])
def test_a_prefix_is_balanced(plain, rows):
    for column in (
        plain.groups[:rows],
        plain.labels[:rows],
        [group.split("/")[1] for group in plain.groups[:rows]],
    ):
        counts = Counter(column).values()
        assert max(counts) - min(counts) <= 1


def test_ids_name_the_group(plain):
    assert all(
        name.rpartition("-")[0] == group.replace("/", "-")
        for name, group in zip(plain.ids, plain.groups, strict=True)
    )


def test_sentences_are_ascii_and_of_ordinary_length(plain):
    assert all(text.isascii() and text == " ".join(text.split()) for text in plain.texts)
    assert all(6 <= len(text.split()) <= 30 for text in plain.texts)
    assert np.std([len(text.split()) for text in plain.texts]) > 2


def test_questions_are_those_that_end_in_a_question_mark(plain):
    for text, group in zip(plain.texts, plain.groups, strict=True):
        assert text[-1] == ("?" if group.endswith("question") else ".")
        assert text[0].isupper()


def test_no_two_sentences_are_alike(plain):
    assert plain.duplicates() == ()
    assert near(plain.texts, overlap=0.5, distance=2) == []


def test_openings_differ(plain):
    openings = Counter(tuple(words(text)[:3]) for text in plain.texts)
    assert max(openings.values()) <= 3


def test_the_check_for_likeness_objects():
    one = "The tram was late again this morning, as usual."
    assert near((one, one.replace("tram", "bus")), overlap=1, distance=1)
    assert near((one, one.replace("The tram", "Bus")), overlap=1, distance=2)
    assert near((one, "As usual this morning the tram was late."), overlap=0.5, distance=0)
    assert not near((one, "Nobody knows why the moon looked green."), overlap=0.5, distance=2)
