"""Building, choosing and scoring on different questions."""

from __future__ import annotations

import pytest

from cospace.errors import InputError
from cospace.steering import (
    ChoiceItem,
    Contrast,
    build_chosen,
    split_items,
    steering_curve,
    unseen_items,
)


def item(i):
    words = ("red", "blue") if i % 3 else ("blue", "red")
    letters = ("(A)", "(B)") if i % 3 else ("(B)", "(A)")
    return ChoiceItem(f"Word{i}? (A) {words[0]} (B) {words[1]}", *letters)


ITEMS = [item(i) for i in range(30)]


@pytest.mark.parametrize("sites", ["block.1", ["block.0", "block.1", "block.2"]])
def test_questions_for_scoring_are_neither_built_nor_chosen_with(toy, sites):
    """Fault: the best of several layers, chosen on the questions that it is scored on."""
    decoder = toy(width=16, seed=3, reads=True)
    vector, curves = build_chosen(decoder, ITEMS, sites=sites, share=0.6)
    used, rest = split_items(ITEMS, 0.6)
    assert set(unseen_items(vector, ITEMS)) == set(rest)
    assert vector.provenance["items"] == sorted(i.id for i in used)
    assert vector.site == "block.1"
    if isinstance(sites, list):
        assert len(curves) == 3
        assert {curve.n for curve in curves} == {5}
        assert {curve.seen for curve in curves} == {0}
        assert vector.provenance["positive"] == 2 * 13
        assert vector.provenance["chosen_among"] == sites
    else:
        assert curves == ()
        assert vector.provenance["positive"] == 2 * 18
    found = steering_curve(decoder, vector, unseen_items(vector, ITEMS), [-0.2, 0.0, 0.2])
    assert (found.n, found.seen) == (12, 0)
    assert found.span > 0


@pytest.mark.parametrize("sites", ["block.1", ["block.0", "block.1"]])
def test_texts_may_build_and_questions_only_choose(toy, sites):
    decoder = toy(width=16, seed=3, reads=True)
    contrast = Contrast(["so red", "very red", "red"], ["so blue", "very blue", "blue"])
    vector, curves = build_chosen(decoder, ITEMS, sites=sites, share=0.6, contrast=contrast)
    assert vector.site == "block.1"
    assert vector.provenance["positive"] == 3
    several = isinstance(sites, list)
    assert len(unseen_items(vector, ITEMS)) == (12 if several else 30)
    assert [curve.n for curve in curves] == ([18, 18] if several else [])
    found = steering_curve(decoder, vector, unseen_items(vector, ITEMS), [-0.2, 0.0, 0.2])
    assert found.span > 0


def test_questions_that_are_all_used_leave_nothing_to_score(toy):
    vector, _ = build_chosen(toy(reads=True), ITEMS, sites="block.1", share=0.5)
    used, _ = split_items(ITEMS, 0.5)
    with pytest.raises(InputError, match="All 15 questions were used to make the vector"):
        unseen_items(vector, used)
