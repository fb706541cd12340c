"""Correlation of tables of pairs: by hand, against scipy, its level and its power."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from cospace.errors import InputError, UndefinedMeasureError
from cospace.stats.mantel import pair_correlation


def off(table):
    return table[~np.eye(len(table), dtype=bool)]


@pytest.mark.parametrize("method", ["spearman", "pearson"])
def test_the_value_is_that_of_scipy_over_ordered_pairs(method):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 7, 7))
    a = np.round(a, 1)  # ties
    reference = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}[method]
    found = pair_correlation(a, b, method=method, permutations=9)
    assert found.value == pytest.approx(reference(off(a), off(b)).statistic, abs=1e-12)


@pytest.mark.parametrize("method", ["spearman", "pearson"])
def test_all_relabellings_are_counted_where_they_are_few(method):
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 5, 5))
    reference = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}[method]
    value = reference(off(a), off(b)).statistic
    drawn = [
        reference(off(a), off(b[np.ix_(order, order)])).statistic
        for order in map(list, itertools.permutations(range(5)))
    ]
    found = pair_correlation(a, b, method=method)
    assert found.exact
    assert found.p == sum(d >= value - 1e-9 for d in drawn) / 120
    assert found.smallest_p == 1 / 120


def test_the_diagonal_is_not_used():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 6, 6))
    filled = a.copy()
    np.fill_diagonal(filled, np.nan)
    assert pair_correlation(a, b) == pair_correlation(filled, b)


def test_members_with_effects_of_their_own_do_not_fool_it():
    # Rows share a member effect, so pairs are far from independent: a p that takes the 90 pairs
    # as independent is below 0.05 far too often, relabelling members is not.
    rng = np.random.default_rng(3)
    ours = theirs = 0
    for seed in range(200):
        a, b = (
            rng.standard_normal((10, 1)) + 0.3 * rng.standard_normal((10, 10)) for _ in range(2)
        )
        ours += pair_correlation(a, b, permutations=199, samples=0, rng=seed).p <= 0.05
        theirs += stats.spearmanr(off(a), off(b), alternative="greater").pvalue <= 0.05
    assert ours <= 20  # 10 expected; 20 is 3.2 sd above
    assert theirs > 50


def test_a_planted_link_is_found_and_lies_in_its_interval():
    rng = np.random.default_rng(4)
    a = rng.standard_normal((10, 10))
    found = pair_correlation(a, a + 0.3 * rng.standard_normal((10, 10)))
    assert found.p < 0.001
    assert found.low < found.value < found.high
    assert found.low > 0.5


def test_the_same_seed_gives_the_same_numbers():
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((2, 9, 9))
    assert pair_correlation(a, b, rng=1) == pair_correlation(a, b, rng=1)
    assert pair_correlation(a, b, rng=1).p != pair_correlation(a, b, rng=2).p


def test_four_members_have_24_relabellings_and_no_interval():
    a = np.arange(16.0).reshape(4, 4)
    found = pair_correlation(a, a)
    assert (found.p, found.smallest_p, found.low) == (1 / 24, 1 / 24, None)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (np.eye(2), np.eye(2), "2 members make no test of pairs: at least 3"),
        (np.ones((3, 4)), np.eye(3), "first table has shape (3, 4); a square one"),
        (np.eye(3), np.eye(4), "Tables of 3 and 4 members do not belong together"),
        (np.full((3, 3), np.inf), np.eye(3), "first table has an entry that is not finite"),
    ],
)
def test_wrong_tables_are_refused(a, b, words):
    with pytest.raises(InputError) as error:
        pair_correlation(a, b)
    assert words in str(error.value)


def test_wrong_numbers_are_refused():
    with pytest.raises(InputError, match="0 permutations and 5 samples"):
        pair_correlation(np.eye(3), np.eye(3), permutations=0, samples=5)


def test_a_flat_table_has_no_correlation():
    with pytest.raises(UndefinedMeasureError, match="same value: no correlation"):
        pair_correlation(np.ones((4, 4)), np.arange(16.0).reshape(4, 4))
