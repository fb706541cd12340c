"""Corrections: by hand, against scipy, and under planted nulls and signals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, false_discovery_control

from cospace.errors import InputError
from cospace.stats import Permutations, adjust
from cospace.stats.adjust import benjamini_hochberg, holm, max_statistic

REPEATS = 200
NAN = float("nan")
chances = st.lists(st.floats(0, 1) | st.just(NAN), min_size=1, max_size=12)


def most(level, repeats=REPEATS):
    """Rejections that a test of that level exceeds once in a thousand."""
    return int(binom.ppf(0.999, repeats, level))


# Holm, Benjamini-Hochberg -------------------------------------------------------------------------


@settings(max_examples=150, deadline=None, derandomize=True)
@given(chances)
def test_what_is_not_tested_is_neither_counted_nor_changed(p):
    p = np.array(p)
    tested = ~np.isnan(p)
    for correct in (holm, benjamini_hochberg):
        found = correct(p)
        np.testing.assert_array_equal(np.isnan(found), ~tested)
        if tested.any():
            np.testing.assert_array_equal(found[tested], correct(p[tested]))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(chances)
def test_corrected_values_keep_the_order_and_never_shrink(p):
    p = np.array(p)
    p = p[~np.isnan(p)]
    if not len(p):
        return
    for correct in (holm, benjamini_hochberg):
        found = correct(p)
        assert (found >= p).all()
        assert (found <= 1).all()
        order = np.argsort(p)
        assert (np.diff(found[order]) >= 0).all()
        assert (np.diff(p[order])[np.diff(found[order]) > 0] > 0).all()
    assert (benjamini_hochberg(p) <= holm(p) + 1e-15).all()


@pytest.mark.parametrize("seed", range(5))
def test_benjamini_hochberg_is_scipys(seed):
    p = np.random.default_rng(seed).uniform(size=40) ** 2
    np.testing.assert_allclose(benjamini_hochberg(p), false_discovery_control(p), atol=1e-15)


def test_holm_rejects_step_by_step():
    """The definition: walk up the ordered p-values while p_j <= level / (m - j + 1)."""
    p = np.random.default_rng(1).uniform(size=15) ** 3
    for level in (0.01, 0.05, 0.2):
        rejected = set()
        for step, at in enumerate(np.argsort(p)):
            if p[at] > level / (len(p) - step):
                break
            rejected.add(int(at))
        assert set(np.flatnonzero(holm(p) <= level).tolist()) == rejected


def test_any_shape_is_kept():
    p = np.array([[0.01, 0.02], [NAN, 0.5]])
    for correct in (holm, benjamini_hochberg):
        assert correct(p).shape == (2, 2)
        np.testing.assert_array_equal(correct(p).ravel(), correct(p.ravel()))
    assert np.isnan(holm([NAN, NAN])).all()


def test_the_share_of_false_findings_is_kept():
    shares = []
    for repeat in range(REPEATS):
        rng = np.random.default_rng([3, repeat])
        p = rng.uniform(size=50)
        p[:20] *= 1e-3
        found = benjamini_hochberg(p) <= 0.1
        shares.append(found[20:].sum() / max(found.sum(), 1))
        assert found[:20].all()
    assert 0.02 < np.mean(shares) <= 0.1


# The maximum --------------------------------------------------------------------------------------


def planted(repeat, *, signal=0.0, tests=30, shuffles=99):
    """Values and shuffles of tests that depend on each other and differ in level and spread."""
    rng = np.random.default_rng([5, repeat])
    common = rng.normal(size=(shuffles + 1, 1))
    noise = 0.6 * common + 0.8 * rng.normal(size=(shuffles + 1, tests))
    noise[0, 4] += signal
    level = np.linspace(0.9, 0.1, tests)
    spread = np.linspace(0.01, 0.05, tests)
    table = level + spread * noise
    return table[0], table[1:]


@pytest.mark.parametrize("studentised", [True, False])
def test_a_search_keeps_its_level(studentised):
    best, single = [], []
    for repeat in range(REPEATS):
        values, draws = planted(repeat)
        best.append(max_statistic(values, draws, "similarity", studentised=studentised).min())
        single.append((1 + (draws >= values).sum(axis=0)).min() / (1 + len(draws)))
    best = np.array(best)
    for level in (0.05, 0.1, 0.25):
        assert (best <= level).sum() <= most(level)
    assert (best <= 0.05).sum() >= int(binom.ppf(0.001, REPEATS, 0.05))
    assert (np.array(single) <= 0.05).sum() > 3 * most(0.05)  # the best of 30, not corrected


def test_a_signal_below_the_level_of_another_test_is_found_only_when_studentised():
    fair, plain = [], []
    for repeat in range(50):
        values, draws = planted(repeat, signal=6.0)
        fair.append(max_statistic(values, draws, "similarity")[4])
        plain.append(max_statistic(values, draws, "similarity", studentised=False)[4])
    assert np.mean(np.array(fair) <= 0.05) > 0.95
    assert np.mean(np.array(plain) <= 0.05) < 0.05


def test_equal_tests_cost_nothing_where_holm_pays_for_each():
    rng = np.random.default_rng(0)
    draws = np.repeat(rng.normal(size=(199, 1)), 40, axis=1)
    p = max_statistic(np.full(40, 5.0), draws, "similarity")
    assert p.tolist() == [1 / 200] * 40
    assert holm(p).tolist() == [0.2] * 40


@pytest.mark.parametrize("kind", ["similarity", "distance"])
@pytest.mark.parametrize("studentised", [True, False])
@pytest.mark.parametrize("n", [4, 30])
def test_one_test_is_the_plain_p(kind, studentised, n):
    rng = np.random.default_rng(2)
    shuffles = Permutations.of(n, 49, rng=rng)
    for _ in range(20):
        draws = rng.normal(size=len(shuffles)).round(1)
        value = float(draws[0]) if shuffles.exact else round(rng.normal(), 1)
        (p,) = max_statistic(
            [value], draws[:, None], kind, studentised=studentised, exact=shuffles.exact
        )
        assert p == shuffles.p(value, draws, kind)


def test_distances_look_downwards():
    values, draws = planted(0, signal=6.0)
    np.testing.assert_array_equal(
        max_statistic(-values, -draws, "distance"), max_statistic(values, draws, "similarity")
    )


def test_tests_that_were_not_run_are_not_searched(monkeypatch):
    monkeypatch.setattr(adjust, "_COLUMNS", 3)
    values, draws = planted(0)
    expected = max_statistic(values[2:], draws[:, 2:], "similarity")
    values[0], draws[7, 1] = NAN, np.inf
    found = max_statistic(values, draws, "similarity")
    assert np.isnan(found[:2]).all()
    np.testing.assert_array_equal(found[2:], expected)
    assert np.isnan(max_statistic([NAN], [[0.0]], "similarity")).all()


def test_a_test_that_no_shuffle_changes_has_p_1_and_hides_nothing():
    values, draws = planted(0, signal=9.0)
    alone = max_statistic(values[4:5], draws[:, 4:5], "similarity")
    third = np.full(99, 1 / 3)
    third[::2] += 1e-16
    both = max_statistic([values[4], 1 / 3], np.column_stack([draws[:, 4], third]), "similarity")
    assert both.tolist() == [alone[0], 1.0]


@pytest.mark.parametrize("studentised", [True, False])
def test_ties_count_although_rounding_parts_them(studentised):
    draws = np.array([[0.3], [0.1 + 0.2 - 1e-12], [0.1], [0.2]])
    (p,) = max_statistic([0.3], draws, "similarity", studentised=studentised)
    assert p == 3 / 5
    (p,) = max_statistic([0.3], draws, "similarity", studentised=studentised, tie=0.0)
    assert p == 2 / 5


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: holm([]), "No p-value was given: there is nothing to correct"),
        (lambda: benjamini_hochberg([0.5, 1.5]), r"1\.5 is no p-value: from 0 to 1 is expected"),
        (lambda: holm([-0.1]), r"-0\.1 is no p-value"),
        (
            lambda: max_statistic([1.0], [1.0], "similarity"),
            r"shape \(1,\) and draws of shape \(1,\): \(tests,\) and \(shuffles, tests\)",
        ),
        (lambda: max_statistic([1.0, 2.0], [[1.0]], "similarity"), r"draws of shape \(1, 1\)"),
        (lambda: max_statistic([1.0], np.empty((0, 1)), "similarity"), "No shuffle was given"),
        (lambda: max_statistic([1.0], [[1.0]], "closeness"), "'closeness' is no kind: similarity"),
    ],
)
def test_refusals(call, text):
    with pytest.raises(InputError, match=text):
        call()
