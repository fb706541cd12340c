"""The packaged behaviours: questions of two choices and pairs of texts, balanced and apart."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from importlib.resources import files

import numpy as np
import pytest

from cospace.corpus import PACKAGED, Corpus

BEHAVIOURS = ["positivity", "formality"]
KEYS = ["question", "answer_matching_behavior", "answer_not_matching_behavior"]
ASKED = re.compile(r"(?P<asked>[^\n]+)\n\nChoices:\n \(A\) (?P<A>[^\n]+)\n \(B\) (?P<B>[^\n]+)")
DATA = files("cospace") / "data" / "behaviours"


def items(name: str) -> list[dict[str, str]]:
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def pairs(name: str) -> list[dict[str, str]]:
    lines = (DATA / f"{name}.pairs.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def sides(name: str) -> list[tuple[str, str, str]]:
    """Question, matching choice and other choice of every item."""
    found = []
    for item in items(name):
        parts = ASKED.fullmatch(item["question"])
        assert parts is not None
        letters = (item[key].strip("()") for key in KEYS[1:])
        found.append((parts["asked"], *(parts[letter] for letter in letters)))
    return found


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9'-]+", text.lower())


def runs(text: str) -> set[tuple[str, ...]]:
    """Every run of five words."""
    found = words(text)
    return {tuple(found[i : i + 5]) for i in range(len(found) - 4)}


def texts(name: str) -> dict[str, list[str]]:
    """All that is written for one behaviour, by what it serves."""
    both = [(pair["positive"], pair["negative"]) for pair in pairs(name)]
    return {
        f"{name} items": [text for item in sides(name) for text in item],
        f"{name} pairs": [text for pair in both for text in pair],
    }


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_items_have_the_three_keys_and_two_choices(name):
    found = items(name)
    assert len(found) >= 80
    for item in found:
        assert list(item) == KEYS
        assert {item[key] for key in KEYS[1:]} == {"(A)", "(B)"}
        assert ASKED.fullmatch(item["question"])


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_the_matching_choice_is_as_often_first_as_second(name):
    first = [item["answer_matching_behavior"] == "(A)" for item in items(name)]
    assert 2 * sum(first) == len(first)
    for start in range(0, len(first), 4):
        assert sum(first[start : start + 4]) == 2


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_pairs_have_an_id_and_two_texts(name):
    found = pairs(name)
    assert len(found) >= 60
    for i, pair in enumerate(found, 1):
        assert list(pair) == ["id", "positive", "negative"]
        assert pair["id"] == f"{name}-{i:02d}"


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_texts_are_ascii_sentences(name):
    for written in texts(name).values():
        for text in written:
            assert text.isascii()
            assert text == " ".join(text.split())
            assert text[0].isupper()
            assert text[-1] in ".?!"
            assert 3 <= len(text.split()) <= 15


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_the_two_sides_are_equally_long(name):
    chosen = [(matching, other) for _, matching, other in sides(name)]
    built = [(pair["positive"], pair["negative"]) for pair in pairs(name)]
    for both in (chosen, built):
        lengths = np.array([[len(text.split()) for text in pair] for pair in both])
        short, long = sorted(lengths.mean(axis=0))
        assert long <= 1.1 * short
        longer = np.sign(lengths[:, 0] - lengths[:, 1])
        assert abs(longer.mean()) <= 0.25


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_nothing_comes_twice(name):
    questions = [asked.casefold() for asked, _, _ in sides(name)]
    assert len(set(questions)) == len(questions)
    said = [text.casefold() for _, *choices in sides(name) for text in choices]
    said += [pair[side].casefold() for pair in pairs(name) for side in ("positive", "negative")]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_no_word_alone_marks_a_side(name):
    count = Counter(
        (word, side)
        for _, *choices in sides(name)
        for side, text in enumerate(choices)
        for word in set(words(text))
    )
    marks = {word: abs(count[word, 0] - count[word, 1]) for word, _ in count}
    assert max(marks.values()) <= len(items(name)) / 3


def test_no_five_words_in_a_row_are_shared_with_another_set_or_use():
    where = defaultdict(set)
    written = {name: list(Corpus.packaged(name).texts) for name in PACKAGED}
    for name in BEHAVIOURS:
        written |= texts(name)
    for name, found in written.items():
        for text in found:
            for run in runs(text):
                where[run].add(name)
    assert {run: names for run, names in where.items() if len(names) > 1} == {}


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_items_and_pairs_are_not_alike(name):
    one, other = (([set(words(text)) for text in found]) for found in texts(name).values())
    most = max(len(a & b) / len(a | b) for a in one for b in other if len(a) > 3)
    assert most <= 0.5
