"""Subsets that grow, and splits that no other text moves."""

from __future__ import annotations

import hashlib

import pytest

from cospace.corpora import split, subset
from cospace.corpus import Corpus
from cospace.errors import InputError

MANY = Corpus("many", ids=[f"i{k}" for k in range(2000)], texts=[f"text {k}" for k in range(2000)])


def test_a_larger_subset_only_adds():
    order = subset(MANY, 2000).ids
    assert sorted(order) == sorted(MANY.ids)
    assert order != MANY.ids
    for size in (1, 17, 500):
        assert subset(MANY, size).ids == order[:size]
    assert subset(MANY, 2000, seed=1).ids != order


def test_the_order_is_the_hash_of_purpose_seed_and_id():
    def place(name: str) -> bytes:
        return hashlib.sha256("\0".join(("subset", "7", name)).encode()).digest()

    assert list(subset(MANY, 2000, seed=7).ids) == sorted(MANY.ids, key=place)


def test_other_texts_do_not_change_the_order_of_those_that_stay():
    fewer = MANY.take(range(0, 2000, 2))
    kept = set(fewer.ids)
    assert subset(fewer, 1000).ids == tuple(i for i in subset(MANY, 2000).ids if i in kept)


@pytest.mark.parametrize("size", [0, -1, 2001, True])
def test_a_size_that_cannot_be_had(size):
    with pytest.raises(
        InputError, match=rf"{size} texts were asked for, and 'many' has 2,000: ask"
    ):
        subset(MANY, size)


def test_a_split_is_of_about_the_share_and_kept_in_order():
    fitted, held_out = split(MANY, 0.3)
    assert sorted(fitted.ids + held_out.ids) == sorted(MANY.ids)
    assert abs(len(fitted) - 600) < 5 * (2000 * 0.3 * 0.7) ** 0.5
    places = [MANY.ids.index(i) for i in fitted.ids]
    assert places == sorted(places)
    assert set(split(MANY, 0.2)[0].ids) < set(fitted.ids)
    assert split(MANY, 0.3, seed=1)[0].ids != fitted.ids


def test_a_side_depends_on_the_text_alone():
    fitted = set(split(MANY, 0.5)[0].ids)
    some = MANY.take(range(700))
    assert set(split(some, 0.5)[0].ids) == fitted & set(some.ids)


def test_a_subset_falls_on_both_sides_of_a_split_with_the_same_seed():
    chosen = subset(MANY, 200)
    fitted, held_out = split(chosen, 0.5)
    assert min(len(fitted), len(held_out)) > 60


@pytest.mark.parametrize("share", [0, 1, -0.5, float("nan")])
def test_a_share_outside(share):
    with pytest.raises(InputError, match=r"The share of a split is .*, expected a number between"):
        split(MANY, share)


def test_a_side_without_texts():
    one = MANY.take([0])
    with pytest.raises(
        InputError, match=r"A share of 0.5 leaves one side of 'many' empty \(1 texts"
    ):
        split(one, 0.5)
