"""The packaged probe sets are balanced, varied and clean."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

from cospace.corpus import PACKAGED, Corpus

TOPICS = {"food", "weather", "work", "health", "travel", "nature"}
FORMS = {"statement", "question", "story", "instruction"}
SENTENCES = ["replica", "sentiment", "acceptability", "paraphrase", "unfamiliar"]
ADDED = [*SENTENCES, "notation"]
LABELS = {
    "sentiment": {"positive", "negative"},
    "acceptability": {"acceptable", "unacceptable"},
}


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


def folds(labels: tuple[str, ...], k: int) -> np.ndarray:
    """Fold of each text, drawn at random and as large for every label."""
    rng = np.random.default_rng(0)
    fold = np.empty(len(labels), dtype=int)
    for label in sorted(set(labels)):
        rows = np.flatnonzero(np.array(labels) == label)
        fold[rng.permutation(rows)] = np.arange(len(rows)) % k
    return fold


def bag_of_words_accuracy(corpus: Corpus, k: int = 10) -> float:
    """Share of texts whose label naive Bayes tells from the words in them, in ``k`` folds."""
    bags = [set(words(text)) for text in corpus.texts]
    vocabulary = {word: i for i, word in enumerate(sorted(set().union(*bags)))}
    has = np.zeros((len(bags), len(vocabulary)))
    for i, bag in enumerate(bags):
        has[i, [vocabulary[word] for word in bag]] = 1
    names, label = np.unique(corpus.labels, return_inverse=True)
    fold = folds(corpus.labels, k)
    right = 0
    for held_out in range(k):
        fitted = fold != held_out
        score = np.empty((np.count_nonzero(~fitted), len(names)))
        for name in range(len(names)):
            rows = has[fitted & (label == name)]
            share = (rows.sum(axis=0) + 1) / (len(rows) + 2)
            score[:, name] = has[~fitted] @ np.log(share) + (1 - has[~fitted]) @ np.log(1 - share)
        right += np.count_nonzero(score.argmax(axis=1) == label[~fitted])
    return right / len(bags)


FUNCTION_WORDS = frozenset(
    words(
        """
        a about after again all am an and another any are as at be been before being both but by can
        can't could couldn't did do does doesn't doing don't down each every for from had has have
        having he her herself him himself his how i i'd i'll i'm if in into is isn't it it's its just
        may me might mine more most must my myself no nor not now of off on one ones only or other our
        out over own shall she should since so some still such than that that's the their them then
        there there's these they this those till to too until up us very was we were what when where
        which who whom whose why will with won't would yet you you'd you'll your
        """
    )
)


def content(text: str) -> set[str]:
    return set(words(text)) - FUNCTION_WORDS


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    """Every run of ``length`` words."""
    found = words(text)
    return {tuple(found[i : i + length]) for i in range(len(found) - length + 1)}


@pytest.mark.parametrize("name", ADDED)
def test_groups_are_of_one_size_and_named_by_the_ids(name):
    corpus = Corpus.packaged(name)
    assert len(set(Counter(corpus.groups).values())) == 1
    assert len(set(corpus.groups)) >= 10
    for id, group in zip(corpus.ids, corpus.groups, strict=True):
        assert id.startswith(group.replace("/", "-") + "-")


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.parametrize("rows", [48, 100, 157])
def test_a_prefix_of_every_set_is_balanced(name, rows):
    corpus = Corpus.packaged(name)
    for column in (corpus.groups, corpus.labels):
        if column is not None:
            counts = Counter(column[:rows])
            assert set(counts) == set(column)
            assert max(counts.values()) - min(counts.values()) <= 2


@pytest.mark.parametrize("name", ADDED)
def test_no_text_comes_twice(name):
    texts = [text.casefold() for text in Corpus.packaged(name).texts]
    assert len(set(texts)) == len(texts)


def test_no_text_is_in_two_sets():
    where = Counter(text.casefold() for name in PACKAGED for text in Corpus.packaged(name).texts)
    assert set(where.values()) == {1}


def test_no_two_sets_share_five_words_in_a_row():
    where = defaultdict(set)
    for name in PACKAGED:
        for text in Corpus.packaged(name).texts:
            for run in runs(text, 5):
                where[run].add(name)
    assert {run: names for run, names in where.items() if len(names) > 1} == {}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences_are_ascii_and_written_out(name):
    for text in Corpus.packaged(name).texts:
        assert text.isascii()
        assert text == " ".join(text.split())
        assert text[0].isupper()
        assert text[-1] in ".?!"
        assert 4 <= len(text.split()) <= 30


@pytest.mark.parametrize("name", ["replica", "sentiment", "paraphrase", "unfamiliar"])
def test_sentences_within_a_set_are_not_alike(name):
    texts = Corpus.packaged(name).texts
    assert near(texts, overlap=0.5, distance=2) == []
    openings = Counter(tuple(words(text)[:3]) for text in texts)
    assert max(openings.values()) <= 4


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_balanced_in_every_group(name):
    corpus = Corpus.packaged(name)
    assert len(corpus) >= 640
    both = Counter(zip(corpus.groups, corpus.labels, strict=True))
    assert set(both) == {(group, label) for group in corpus.groups for label in LABELS[name]}
    assert len(set(both.values())) == 1


@pytest.mark.parametrize("name", LABELS)
def test_labels_do_not_differ_in_length(name):
    corpus = Corpus.packaged(name)
    lengths = defaultdict(list)
    for text, label in zip(corpus.texts, corpus.labels, strict=True):
        lengths[label].append(len(text.split()))
    short, long = sorted(np.mean(found) for found in lengths.values())
    assert long <= 1.1 * short


@pytest.mark.parametrize(("name", "most"), [("sentiment", 0.85), ("acceptability", 0.7)])
def test_the_words_alone_do_not_tell_the_label(name, most):
    assert bag_of_words_accuracy(Corpus.packaged(name)) < most


def test_the_words_alone_tell_a_label_that_has_words_of_its_own(plain):
    marks = {0: ("splendid", "lovely", "superb"), 1: ("dreadful", "nasty", "awful")}
    marked = Corpus(
        name="marked",
        ids=plain.ids,
        texts=tuple(f"{text} {marks[i % 2][i % 3]}" for i, text in enumerate(plain.texts)),
        labels=tuple(str(i % 2) for i in range(len(plain))),
    )
    assert bag_of_words_accuracy(marked) > 0.9


def test_few_acceptable_sentences_have_an_unacceptable_twin_and_in_their_own_group():
    corpus = Corpus.packaged("acceptability")
    twins = near(corpus.texts, overlap=0.7, distance=1)
    assert 10 < len(twins) < len(corpus) / 10
    group = dict(zip(corpus.texts, corpus.groups, strict=True))
    assert all(group[one] == group[other] for one, other in twins)


def test_replica_is_built_as_plain_from_other_topics_and_forms(plain):
    replica = Corpus.packaged("replica")
    assert len(set(replica.groups)) == 24
    assert len(replica) == len(plain)
    assert replica.labels == tuple(group.split("/")[0] for group in replica.groups)
    topics, forms = ({group.split("/")[i] for group in replica.groups} for i in (0, 1))
    assert len(topics) == 6
    assert topics.isdisjoint(TOPICS)
    assert len(forms) == 4
    assert forms.isdisjoint(FORMS)


def test_replica_shares_no_wording_with_plain(plain):
    def of(texts):
        return {pair for text in texts for pair in combinations(sorted(content(text)), 2)}

    here, there = of(plain.texts), of(Corpus.packaged("replica").texts)
    assert len(here & there) < 0.02 * len(there)


def test_paraphrases_share_hardly_a_content_word():
    corpus = Corpus.packaged("paraphrase")
    pairs = defaultdict(list)
    for text, group, pair in zip(corpus.texts, corpus.groups, corpus.pairs, strict=True):
        pairs[pair].append((text, group))
    assert len(pairs) >= 300
    shared = []
    for (a, left), (b, right) in pairs.values():
        assert left == right
        shared.append(len(content(a) & content(b)) / len(content(a) | content(b)))
    assert np.median(shared) <= 0.1
    assert max(shared) <= 0.5


def test_notation_is_not_prose():
    texts = Corpus.packaged("notation").texts
    assert all(text == " ".join(text.split()) and "\\" not in text for text in texts)
    assert sum(not text.isascii() for text in texts) > 0.8 * len(texts)
    letters = [sum(len(word) > 3 and word.isalpha() for word in text.split()) for text in texts]
    assert np.mean([count == 0 for count in letters]) > 0.6
