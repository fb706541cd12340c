"""From tables of pairs to what a reader is told: by hand, and against scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from cospace.studies.affine_homotopy.relate import (
    Errors,
    agreements,
    mappability,
    rank_link,
    related,
    text_interval,
)


def test_quartiles_and_places_by_hand():
    table = np.array([[9, 1, 5, 2], [3, 9, 6, 2], [4, 2, 9, 2], [5, 3, 7, 9.0]])
    found = mappability(table, "abcd", kind="affine", depth=0.5)
    assert [m.median for m in found] == [4, 2, 6, 2]
    assert [m.place for m in found] == [3, 1, 4, 1]
    assert (found[0].low, found[0].high) == (3.5, 4.5)
    assert {(m.kind, m.depth) for m in found} == {("affine", 0.5)}


def test_rank_and_mappability_against_scipy():
    rng = np.random.default_rng(0)
    ranks = [{"0.01": int(r), "1e-06": 8} for r in rng.integers(3, 9, size=8)]
    medians = rng.standard_normal(8) + [r["0.01"] for r in ranks]
    one, flat = rank_link(ranks, medians.tolist(), depth=1.0, permutations=199, rng=0)
    expected = stats.spearmanr([r["0.01"] for r in ranks], medians).statistic
    assert one.value == pytest.approx(expected, abs=1e-12)
    assert 1 / 200 <= one.p <= 0.05
    assert (one.least, one.most) == (min(r["0.01"] for r in ranks), max(r["0.01"] for r in ranks))
    assert (flat.value, flat.p, flat.least, flat.most) == (None, None, 8, 8)


def test_orders_of_targets_against_scipy():
    rng = np.random.default_rng(3)
    tables = {("affine", 0.0): rng.random((7, 7)), ("affine", 1.0): rng.random((7, 7))}
    tables["sentiment", 1.0] = 2.0 * tables["affine", 1.0]
    tables["flat", 1.0] = np.ones((7, 7))
    names = list("abcdefg")
    found = [m for (k, d), t in tables.items() for m in mappability(t, names, kind=k, depth=d)]
    ones = agreements(found, names, permutations=999, rng=0)
    assert len(ones) == 6
    known = {(o.first, o.first_depth, o.second, o.second_depth): o for o in ones}
    medians = {
        key: [np.median(np.delete(table[:, j], j)) for j in range(7)]
        for key, table in tables.items()
    }
    between = known["affine", 0.0, "affine", 1.0]
    expected = stats.spearmanr(medians["affine", 0.0], medians["affine", 1.0])
    assert between.value == pytest.approx(expected.statistic, abs=1e-12)
    same = known["affine", 1.0, "sentiment", 1.0]
    assert same.value == pytest.approx(1.0, abs=1e-12)
    assert same.p <= 3 / 1000
    assert (known["affine", 0.0, "flat", 1.0].value, known["affine", 0.0, "flat", 1.0].p) == (
        None,
    ) * 2


def test_few_encoders_have_an_exact_p():
    rng = np.random.default_rng(4)
    names = list("abcde")
    tables = {("affine", d): rng.random((5, 5)) for d in (0.0, 1.0)}
    found = [m for (k, d), t in tables.items() for m in mappability(t, names, kind=k, depth=d)]
    (one,) = agreements(found, names, permutations=120, rng=0)
    first, second = ([m.median for m in found if m.depth == d] for d in (0.0, 1.0))
    values = [
        stats.spearmanr(first, [second[i] for i in order]).statistic
        for order in itertools.permutations(range(5))
    ]
    assert one.p == pytest.approx(np.mean(np.array(values) >= one.value - 1e-9), abs=1e-12)
    (drawn,) = agreements(found, names, permutations=119, rng=0)
    assert drawn.p == pytest.approx(one.p, abs=0.15)


def test_a_table_without_differences_has_no_correlation():
    rng = np.random.default_rng(1)
    table = rng.random((4, 4))
    options = {"permutations": 99, "samples": 0, "rng": 0}
    assert related(np.ones((4, 4)), table, "spearman", **options) is None
    assert related(table, table, "spearman", **options).value == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["spearman", "pearson"])
def test_the_interval_over_texts_holds_the_value_of_many_texts(method):
    rng = np.random.default_rng(2)
    size = rng.random((6, 6, 1)) + 0.5
    a = Errors(size * rng.random((6, 6, 400)))
    b = Errors(size**2 * rng.random((6, 6, 300)))
    low, high = text_interval(a, b, method, samples=200, rng=0)
    off = ~np.eye(6, dtype=bool)
    whole = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}[method]
    value = whole(a.largest()[off], b.largest()[off]).statistic
    assert low <= value + 1e-9
    assert 0.8 < low < high <= 1.0


def test_no_interval_without_samples_or_differences():
    flat = Errors(np.ones((4, 4, 5)))
    other = Errors(np.random.default_rng(3).random((4, 4, 5)))
    assert text_interval(other, other, "pearson", samples=0, rng=0) is None
    assert text_interval(flat, other, "pearson", samples=20, rng=0) is None


def test_largest_errors_of_drawn_texts():
    errors = Errors(np.arange(8.0).reshape(2, 2, 2))
    assert errors.largest().tolist() == [[1, 3], [5, 7]]
    assert errors.largest(np.array([0, 0])).tolist() == [[0, 2], [4, 6]]
