"""Retrieval: ranks, ties, galleries of a size, intervals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from cospace.errors import InputError, UndefinedMeasureError
from cospace.shared.retrieval import (
    MEASURES,
    chance,
    compare_hits,
    estimate,
    pooled,
    retrieve,
    unit_rows,
)


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 5))
    return x, x + 0.9 * rng.normal(size=(40, 5))


def ranks(a, b):
    near = unit_rows(a) @ unit_rows(b).T
    return np.array([1 + np.sum(row > row[i]) for i, row in enumerate(near)])


def test_measures_are_those_of_plain_ranks(sides):
    found = retrieve(*sides)
    rank = ranks(*sides)
    assert np.array_equal(found.top1, rank == 1)
    assert np.array_equal(found.top5, rank <= 5)
    assert np.allclose(found.mrr, 1 / rank, rtol=0, atol=1e-15)
    near = unit_rows(sides[0]) @ unit_rows(sides[1]).T
    for i in range(40):
        assert found.margin[i] == pytest.approx(near[i, i] - np.delete(near[i], i).max())
    assert found.gallery == 40


def test_csls_takes_off_the_mean_cosine_to_the_nearest(sides):
    near = unit_rows(sides[0]) @ unit_rows(sides[1]).T
    rows = np.sort(near, axis=1)[:, -10:].mean(axis=1)
    columns = np.sort(near, axis=0)[-10:].mean(axis=0)
    scaled = 2 * near - rows[:, None] - columns
    assert np.array_equal(retrieve(*sides).csls, scaled.argmax(axis=1) == np.arange(40))


def test_a_smaller_gallery_is_the_mean_over_all_of_that_size():
    rng = np.random.default_rng(1)
    a = rng.normal(size=(7, 3))
    b = a + rng.normal(size=(7, 3))
    found = retrieve(a, b, gallery=4)
    near = unit_rows(a) @ unit_rows(b).T
    for i in range(7):
        others = [j for j in range(7) if j != i]
        rank = np.array(
            [1 + np.sum(near[i, list(some)] > near[i, i]) for some in combinations(others, 3)]
        )
        assert found.top1[i] == pytest.approx(np.mean(rank == 1), abs=1e-12)
        assert found.top5[i] == pytest.approx(1.0)
        assert found.mrr[i] == pytest.approx(np.mean(1 / rank), abs=1e-12)
    assert found.gallery == 4


def test_ties_count_at_expectation():
    """Fault: a retrieval that takes the first of equal rows, and finds its own text by order."""
    same = np.ones((12, 3))
    found = retrieve(same, same)
    assert np.allclose(found.top1, 1 / 12, rtol=0, atol=1e-15)
    assert np.allclose(found.csls, 1 / 12, rtol=0, atol=1e-15)
    assert np.allclose(found.top5, 5 / 12, rtol=0, atol=1e-15)
    by_chance = chance(12)
    for measure in ("top1", "top5", "mrr", "csls"):
        assert np.allclose(getattr(found, measure), by_chance[measure], rtol=0, atol=1e-12)
    zero = retrieve(np.zeros((12, 3)), same, gallery=6)
    assert np.allclose(zero.top1, 1 / 6, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gallery", [None, 10])
def test_unrelated_rows_are_at_chance(gallery):
    rng = np.random.default_rng(0)
    found = [
        retrieve(rng.normal(size=(60, 8)), rng.normal(size=(60, 8)), gallery=gallery)
        for _ in range(60)
    ]
    for measure, value in chance(gallery or 60).items():
        if value is not None:
            assert pooled(found, measure).mean() == pytest.approx(value, rel=0.15)


def test_an_interval_is_over_texts_and_not_over_pairs(sides):
    """Fault: n texts by 20 pairs counted as 20 n."""
    hits = [retrieve(*sides)] * 20
    one, many = (estimate(pooled(some, "top1")) for some in (hits[:1], hits))
    assert one == many
    half = 1.96 * np.std(hits[0].top1) / np.sqrt(40)
    assert one.high - one.low == pytest.approx(2 * half, rel=0.25)
    assert one.low < one.value < one.high


def test_intervals_cover():
    rng = np.random.default_rng(0)
    inside = 0
    for seed in range(200):
        found = estimate(rng.random(80), draws=400, rng=seed)
        inside += found.low <= 0.5 <= found.high
    assert 178 <= inside <= 200


def test_a_paired_difference_sees_what_two_intervals_do_not():
    rng = np.random.default_rng(0)
    first = (rng.random(200) < 0.6).astype(float)
    second = first.copy()
    second[np.flatnonzero(first)[:14]] = 0.0
    found = compare_hits(first, second)
    assert found.value == pytest.approx(0.07)
    assert (found.low > 0, found.verdict) == (True, "better")
    assert estimate(first).low < estimate(second).high
    assert compare_hits(second, first).verdict == "worse"
    assert compare_hits(first, first).verdict == "not told apart"


def test_chance_is_exact():
    assert chance(30)["top1"] == pytest.approx(1 / 30)
    assert chance(3) == {
        "top1": 1 / 3,
        "top5": 1.0,
        "mrr": pytest.approx((1 + 1 / 2 + 1 / 3) / 3),
        "csls": 1 / 3,
        "margin": None,
    }
    assert set(chance(3)) == set(MEASURES)


def test_what_cannot_be_searched_is_refused(sides):
    a, b = sides
    with pytest.raises(InputError, match=r"queries have shape \(40, 5\) and answers \(39, 5\)"):
        retrieve(a, b[:39])
    with pytest.raises(InputError, match="A gallery of 41 of 40 texts was asked for; 2 to 40"):
        retrieve(a, b, gallery=41)
    with pytest.raises(InputError, match=r"gallery is 2\.5; a whole number, or None"):
        retrieve(a, b, gallery=2.5)
    with pytest.raises(UndefinedMeasureError, match="needs at least 2 texts, got 1"):
        estimate(np.ones(1))
    with pytest.raises(InputError, match="values of 40 texts and the other of 39"):
        compare_hits(np.ones(40), np.ones(39))
