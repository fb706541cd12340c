"""The packaged prompts have answers that can be checked, and no constant answer does well."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from cospace.corpus import Corpus
from cospace.routing.grading import is_right

TYPES = {"completion", "arithmetic", "pattern", "choice"}
SIZE = 160
NAMES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
)
NUMBERS = dict(enumerate(NAMES.split()))


@pytest.fixture(scope="module")
def gradeable() -> Corpus:
    return Corpus.packaged("gradeable")


def of(corpus: Corpus, group: str) -> list[tuple[str, list[str]]]:
    """Prompts of one type, each with its accepted answers."""
    rows = zip(corpus.texts, corpus.groups, corpus.labels, strict=True)
    return [(text, label.split(" | ")) for text, found, label in rows if found == group]


def test_four_types_of_one_size_in_turn(gradeable):
    assert Counter(gradeable.groups) == dict.fromkeys(TYPES, SIZE)
    for start in range(0, len(gradeable), 4):
        assert set(gradeable.groups[start : start + 4]) == TYPES
    for name, group in zip(gradeable.ids, gradeable.groups, strict=True):
        assert re.fullmatch(rf"{group}-\d{{3}}", name)


def test_prompts_differ_and_wait_for_one_word(gradeable):
    assert len({text.casefold() for text in gradeable.texts}) == len(gradeable)
    for text in gradeable.texts:
        assert text.isascii()
        assert text == text.strip()
        assert not text.endswith((".", "?", "!"))
        for line in text.split("\n"):
            assert line == " ".join(line.split())


def test_answers_are_short_and_distinct(gradeable):
    for label in gradeable.labels:
        answers = label.split(" | ")
        assert all(
            re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9'.-]*( [A-Za-z-]+){0,2}", a) for a in answers
        )
        assert len({answer.casefold() for answer in answers}) == len(answers)
        assert is_right(f" {answers[-1]}.", label)


@pytest.mark.parametrize(
    ("group", "most"), [("completion", 0.05), ("arithmetic", 0.15), ("pattern", 0.05)]
)
def test_no_answer_is_frequent(gradeable, group, most):
    answers = Counter(label[0] for _, label in of(gradeable, group))
    assert max(answers.values()) <= most * SIZE


def test_no_completion_is_in_its_prompt(gradeable):
    for text, answers in of(gradeable, "completion"):
        said = set(re.findall(r"[a-z0-9'-]+", text.lower()))
        assert said.isdisjoint(answer.casefold() for answer in answers)


def test_sums_and_differences_are_right_and_not_given_away(gradeable):
    written = re.compile(r"(\d+) ([+-]) (\d+) =(?: (\d+)$)?", re.MULTILINE)
    checked = 0
    for text, answers in of(gradeable, "arithmetic"):
        found = [
            (int(a) + int(b) if sign == "+" else int(a) - int(b), given)
            for a, sign, b, given in written.findall(text)
        ]
        for value, given in found[:-1]:
            assert given == str(value)
        if found:
            value, given = found[-1]
            assert given == ""
            assert answers[0] == str(value)
            assert all(given != answers[0] for _, given in found)
            assert 0 < value < 100
            checked += 1
        else:
            number = int(answers[0])
            assert answers[1:] == ([NUMBERS[number]] if number in NUMBERS else [])
    assert checked == 144


def test_sums_in_words_are_right(gradeable):
    value = {name: number for number, name in NUMBERS.items()}
    checked = 0
    for text, answers in of(gradeable, "arithmetic"):
        said = re.fullmatch(r"(\w+) plus (\w+) equals", text.lower())
        if said:
            assert int(answers[0]) == value[said[1]] + value[said[2]]
            checked += 1
    assert checked == 8


def options(text: str) -> tuple[str, str]:
    """Read the two words that the last question offers."""
    said = re.findall(
        r"(?:, | )(?:an? )?([\w']+) or (?:an? )?([\w']+)\?$", text.lower(), re.MULTILINE
    )
    return said[-1]


def test_a_choice_is_between_two_words_given_in_the_prompt(gradeable):
    for text, answers in of(gradeable, "choice"):
        one, other = options(text)
        assert one != other
        assert answers[0] in (one, other)
        assert len(answers) == 1


def test_no_constant_choice_is_right_too_often(gradeable):
    choices = [(options(text), answers[0]) for text, answers in of(gradeable, "choice")]
    assert max(Counter(answer for _, answer in choices).values()) <= 0.6 * SIZE
    assert sum(given[0] == answer for given, answer in choices) == SIZE // 2
    # nor within the questions that offer the same two words
    by_offer: dict[frozenset[str], Counter[str]] = {}
    for given, answer in choices:
        by_offer.setdefault(frozenset(given), Counter())[answer] += 1
    repeated = [counts for counts in by_offer.values() if sum(counts.values()) > 1]
    assert sum(max(counts.values()) for counts in repeated) <= 0.6 * sum(
        sum(counts.values()) for counts in repeated
    )


def test_the_worked_examples_of_a_choice_favour_no_place(gradeable):
    for text, _ in of(gradeable, "choice"):
        worked = text.split("\n")[:4]
        places = []
        for question, answer in zip(worked[::2], worked[1::2], strict=True):
            given = options(question)
            (said,) = [word for word in re.findall(r"[\w']+", answer.lower()) if word in given]
            places.append(given.index(said))
        assert sorted(places) == [0, 1]
