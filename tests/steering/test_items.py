"""Questions with two answers, and contrasts."""

from __future__ import annotations

import json

import pytest

from cospace.errors import InputError
from cospace.steering import (
    ChoiceItem,
    Contrast,
    packaged_behaviours,
    read_items,
    read_pairs,
    split_items,
)


def test_swapping_moves_the_texts_and_not_the_letters():
    item = ChoiceItem("Q?\n\nChoices:\n (A) red\n (B) blue\n", "(B)", "(A)")
    swapped = item.swapped()
    assert swapped.question == "Q?\n\nChoices:\n (A) blue\n (B) red\n"
    assert (swapped.matching, swapped.other) == ("(A)", "(B)")
    assert swapped.swapped() == item


def test_only_the_options_at_the_end_are_swapped():
    item = ChoiceItem("See (A) or (B).\nChoices:\n (A) red\n (B) blue", "(A)", "(B)")
    assert item.swapped().question == "See (A) or (B).\nChoices:\n (A) blue\n (B) red"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matching": "(C)"}, r"the answers '\(C\)' and '\(B\)'; \(A\) and \(B\) are expected"),
        ({"other": "(A)"}, r"the answers '\(A\)' and '\(A\)'"),
        ({"question": "Which? (B) blue (A) red"}, "does not end with the options"),
    ],
)
def test_what_is_no_item_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        ChoiceItem(
            **({"question": "Q (A) red (B) blue", "matching": "(A)", "other": "(B)"} | change)
        )


def written(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_published_files_are_read_as_they_are(tmp_path):
    value = [
        {
            "question": "Q?\n\nChoices:\n (A) red\n (B) blue",
            "answer_matching_behavior": " (B)",
            "answer_not_matching_behavior": " (A)",
            "note": "others are left alone",
        }
    ]
    (item,) = read_items(written(tmp_path / "i.json", value))
    assert (item.matching, item.other) == ("(B)", "(A)")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", r"is not JSON .* a list of items is expected"),
        ([], "holds no list of items"),
        ({"question": "Q"}, "holds no list of items"),
        ([{"question": "Q (A) a (B) b"}], r"item 0 of .* has no text 'answer_matching_behavior'"),
        ([["Q"]], "item 0 of .* has no text 'question'"),
        (
            [
                {
                    "question": "Q",
                    "answer_matching_behavior": "(A)",
                    "answer_not_matching_behavior": "(B)",
                }
            ],
            r"item 0 of .*: The question 'Q' does not end with",
        ),
    ],
)
def test_a_file_that_holds_no_items_is_refused(tmp_path, value, message):
    with pytest.raises(InputError, match=message):
        read_items(written(tmp_path / "i.json", value))


def test_a_file_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="is neither a file nor one of the packaged behaviours"):
        read_items(tmp_path / "absent.json")
    (tmp_path / "latin.json").write_bytes(b"\xe9")
    with pytest.raises(InputError, match=r"latin\.json cannot be read"):
        read_items(tmp_path / "latin.json")


def test_packaged_behaviours_are_read():
    for name in packaged_behaviours():
        items = read_items(name)
        assert len(items) >= 60
        assert all(item.swapped().swapped() == item for item in items)


def test_questions_are_parted_by_what_they_are():
    items = [ChoiceItem(f"Q{i} (A) red (B) blue", "(A)", "(B)") for i in range(10)]
    first, second = split_items(items, 0.7)
    assert (len(first), len(second)) == (7, 3)
    assert set(first) | set(second) == set(items)
    again, _ = split_items([item.swapped() for item in items[::-1]], 0.7)
    assert {item.id for item in again} == {item.id for item in first}
    assert items[0].id == items[0].swapped().id != items[1].id
    with pytest.raises(InputError, match=r"A share of 1\.0 was asked for"):
        split_items(items, 1.0)
    with pytest.raises(InputError, match=r"2 questions parted at 0\.1 leave 0 and 2"):
        split_items(items[:2], 0.1)


def test_pairs_of_texts_are_read(tmp_path):
    for name in packaged_behaviours():
        found = read_pairs(name)
        assert len(found.positive) >= 20
        assert (found.token, found.paired) == ("mean", True)
    lines = '{"positive": "a", "negative": "b"}\n{"id": "x", "positive": "c", "negative": "d"}\n'
    found = read_pairs(written(tmp_path / "p.jsonl", lines), token="last")
    assert (found.positive, found.negative, found.token) == (("a", "c"), ("b", "d"), "last")
    for line, name in (("{", "positive"), ('{"positive": "a", "negative": " "}', "negative")):
        with pytest.raises(InputError, match=f"line 3 of .* has no text '{name}'"):
            read_pairs(written(tmp_path / "p.jsonl", lines + line))


def test_a_contrast_of_items_puts_either_answer():
    item = ChoiceItem("Q? (A) red (B) blue", "(B)", "(A)")
    found = Contrast.of_items([item, item], template="{question} I say: {answer}")
    assert found.positive[0] == "Q? (A) red (B) blue I say: (B)"
    assert found.negative[0] == "Q? (A) red (B) blue I say: (A)"
    assert (found.token, found.paired) == ("letter", True)
    both = Contrast.of_items([item], both_orders=True)
    assert [text[-3:] for text in both.positive] == ["(B)", "(A)"]
    assert found.fingerprint != both.fingerprint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive": "one text"}, "positive texts are one string"),
        ({"negative": ["a"]}, "2 and 1 texts were given; at least 2"),
        ({"token": "first"}, "token='first': 'last', 'mean' or 'letter' is expected"),
        ({"negative": ["a", "b", "c"]}, "2 and 3 texts are no pairs"),
        ({"token": "letter", "paired": False}, "token='letter' is where the texts of a pair"),
    ],
)
def test_what_is_no_contrast_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        Contrast(**({"positive": ["a", "b"], "negative": ["c", "d"]} | options))


@pytest.mark.parametrize(
    "template",
    ["{question}", "{answer} {question}", "{question}{question}{answer}", "{q} {answer}"],
)
def test_a_template_that_cannot_be_filled_is_refused(template):
    with pytest.raises(InputError, match=r"is not one that ends with \{answer\}"):
        Contrast.of_items([], template=template)
