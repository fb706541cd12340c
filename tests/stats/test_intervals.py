"""Intervals: by hand, against computing again from rows, and on how often they cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures import debiased_cka, linear_cka
from cospace.measures.canonical import predictive_r2, predictive_r2_of
from cospace.moments import Moments
from cospace.stats import Weights
from cospace.stats.intervals import group_weights, jackknife, percentile_interval

MIX = np.random.default_rng(99)
TO_X, TO_Y = MIX.standard_normal((4, 6)), MIX.standard_normal((4, 5))


def population(rng, n, noise=2.0):
    """Two noisy views of four hidden directions, off the centre."""
    z = rng.standard_normal((n, 4)) * [3.0, 2.0, 1.0, 1.0]
    x = z @ TO_X + noise * rng.standard_normal((n, 6)) + 3.0
    return x, z @ TO_Y + noise * rng.standard_normal((n, 5))


def parts(x, y, cuts, **options):
    return [
        Moments.of({"x": a, "y": b}, **options)
        for a, b in zip(np.split(x, cuts), np.split(y, cuts), strict=True)
    ]


def cka(moments):
    norms = [np.linalg.norm(moments.block(*pair)) for pair in ("xy", "xx", "yy")]
    return norms[0] ** 2 / (norms[1] * norms[2])


def unbiased_cka(moments):
    return moments.hsic("x", "y") / math.sqrt(moments.hsic("x", "x") * moments.hsic("y", "y"))


# Bootstrap ----------------------------------------------------------------------------------------


def test_many_quantities_at_once():
    samples = np.random.default_rng(0).normal(size=(200, 3, 2))
    table = percentile_interval(samples)
    assert table.low.shape == table.high.shape == (3, 2)
    assert percentile_interval(samples[:, 2, 1]).low == table.low[2, 1]


def test_an_undefined_sample_takes_its_own_interval_alone():
    samples = np.random.default_rng(0).normal(size=(200, 2))
    samples[3, 0] = np.nan
    low, high = percentile_interval(samples)
    assert np.isnan([low[0], high[0]]).all()
    assert np.isfinite([low[1], high[1]]).all()


def covers(interval, truth):
    return bool(interval.low <= truth <= interval.high)


def test_bootstrap_intervals_cover():
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        rows = rng.exponential(size=60)
        samples = Weights.of(60, 200, rng=rng).counts @ rows / 60
        held += covers(percentile_interval(samples), 1.0)
    assert 0.88 < held / 300 < 0.99


def test_groups_are_drawn_as_wholes():
    groups = list("abcdefghijklmnopqrs") * 3 + ["t"]
    weights = group_weights(groups, 400, rng=np.random.default_rng(0))
    assert isinstance(weights, Weights)
    assert weights.counts.shape == (400, 58)
    for group in "abct":
        mine = [i for i, at in enumerate(groups) if at == group]
        counts = weights.counts[:, mine]
        assert (counts == counts[:, :1]).all()
        assert counts.mean() == pytest.approx(1.0, abs=0.15)
        assert len(set(weights.groups[mine])) == 1
    assert len(set(weights.groups)) == 20
    drawn = weights.counts[:, :19].sum(axis=1) + weights.counts[:, -1]
    assert (drawn == 20).all()  # as many groups as there are
    again = group_weights(groups, 400, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(weights.counts, again.counts)


def test_groups_of_one_row_are_rows():
    found = group_weights([f"{i:02}" for i in range(22)], 9, rng=np.random.default_rng(3))
    expected = Weights.of(22, 9, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(found.counts, expected.counts)


def test_rows_of_one_group_are_no_independent_evidence():
    """The interval over rows is too narrow where rows repeat their group; that over groups is not."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(25), 6).astype(str)
    held = np.zeros(2)
    for _ in range(200):
        rows = np.repeat(rng.normal(size=25), 6) + 0.3 * rng.normal(size=150)
        for at, weights in enumerate(
            (Weights.of(150, 200, rng=rng), group_weights(groups, 200, rng=rng))
        ):
            samples = weights.counts @ rows / weights.counts.sum(axis=1)
            held[at] += covers(percentile_interval(samples), 0.0)
    assert held[0] / 200 < 0.7
    assert held[1] / 200 > 0.88


# Jackknife ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [[30, 60, 90], [9, 20, 64, 90, 101], [60]])
@pytest.mark.parametrize(
    ("function", "direct"),
    [
        (cka, linear_cka),
        (unbiased_cka, debiased_cka),
        (lambda m: predictive_r2_of(m.overlap(source="x", target="y")), predictive_r2),
    ],
    ids=["linear_cka", "debiased_cka", "predictive_r2"],
)
def test_values_without_a_fold_are_those_on_the_other_rows(cuts, function, direct):
    x, y = population(np.random.default_rng(4), 120)
    shifts = {"x": x[:5].mean(axis=0), "y": y[:5].mean(axis=0)}
    found = jackknife(parts(x, y, cuts, shifts=shifts), function)
    assert found.value == pytest.approx(direct(x, y), abs=1e-10)
    expected = []
    for rows in np.split(np.arange(120), cuts):
        keep = np.setdiff1d(np.arange(120), rows)
        expected.append(direct(x[keep], y[keep]))
    np.testing.assert_allclose(found.without, expected, atol=1e-10)


def test_folds_of_equal_size_by_the_textbook():
    x, y = population(np.random.default_rng(5), 120)
    found = jackknife(parts(x, y, range(12, 120, 12)), cka, level=0.9)
    without = np.array(found.without)
    assert found.se**2 == pytest.approx(9 / 10 * np.sum((without - without.mean()) ** 2))
    assert found.corrected == pytest.approx(10 * found.value - 9 * without.mean())
    reach = stats.t(9).ppf(0.95) * found.se
    assert (found.low, found.high) == pytest.approx(
        (found.corrected - reach, found.corrected + reach)
    )
    assert found.level == 0.9


def test_of_single_rows_it_is_the_usual_error_of_a_mean():
    rows = np.random.default_rng(6).normal(size=(25, 1))
    found = jackknife(
        [Moments.of({"a": row[None, :]}) for row in rows], lambda m: float(m.means["a"][0])
    )
    interval = stats.t(24, rows.mean(), rows.std(ddof=1) / 5).interval(0.95)
    assert (found.low, found.high) == pytest.approx(interval, abs=1e-12)


def test_a_bias_of_order_one_over_n_is_taken_off():
    """The variance that divides by n becomes the one that divides by n - 1, exactly."""
    rows = np.random.default_rng(7).normal(size=(20, 1))
    folds = [Moments.of({"a": row[None, :]}) for row in rows]
    found = jackknife(folds, lambda m: float(m.block("a", "a")[0, 0]) / m.n)
    assert found.value == pytest.approx(rows.var())
    assert found.corrected == pytest.approx(rows.var(ddof=1))


def test_folds_of_unequal_size_have_the_error_of_their_mean():
    """Of a mean, every fold's pseudo-value is the fold's own mean."""
    rows = np.random.default_rng(8).normal(size=(60, 1))
    folds = np.split(rows, [5, 12, 30, 41])
    found = jackknife([Moments.of({"a": f}) for f in folds], lambda m: float(m.means["a"][0]))
    ratio = np.array([60 / len(f) for f in folds])
    own = np.array([f.mean() for f in folds])
    assert found.corrected == pytest.approx(rows.mean())
    assert found.se**2 == pytest.approx(np.mean((own - rows.mean()) ** 2 / (ratio - 1)))


def test_it_covers_and_the_corrected_value_is_nearer():
    rng = np.random.default_rng(9)
    big = parts(*population(rng, 200_000, 6.0), [])[0]
    truth = cka(big)
    held, raw, corrected = 0, [], []
    for _ in range(200):
        x, y = population(rng, 80, 6.0)
        found = jackknife(parts(x, y, range(8, 80, 8)), cka)
        held += found.low <= truth <= found.high
        raw.append(found.value)
        corrected.append(found.corrected)
    assert 0.9 <= held / 200 <= 0.99
    assert abs(np.mean(corrected) - truth) < abs(np.mean(raw) - truth) / 3


def test_merges_grow_with_the_number_of_folds_and_not_with_its_square(monkeypatch):
    count = 0
    merge = Moments.merge

    def counted(self, other):
        nonlocal count
        count += 1
        return merge(self, other)

    monkeypatch.setattr(Moments, "merge", counted)
    x, y = population(np.random.default_rng(10), 80)
    jackknife(parts(x, y, range(4, 80, 4)), cka)
    assert count <= 3 * 20 - 4


FOLDS = parts(*population(np.random.default_rng(11), 40), [20])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: percentile_interval(range(39)),
            InputError,
            r"39 bootstrap samples have no 2\.5 %",
        ),
        (
            lambda: percentile_interval(range(199), level=0.99),
            InputError,
            r"no 0\.5 % tails: at least 200 are needed for a 99 % interval",
        ),
        (lambda: percentile_interval(0.5), InputError, "0 bootstrap samples"),
        (
            lambda: percentile_interval(range(99), level=95),
            InputError,
            "The level of an interval is 95; above 0 and below 1 is expected",
        ),
        (
            lambda: group_weights("aabbccdd", 10, rng=np.random.default_rng(0)),
            UndefinedMeasureError,
            "4 groups are too few for an interval, .* at least 20 are needed",
        ),
        (
            lambda: group_weights("abcdef", -1, rng=np.random.default_rng(0)),
            InputError,
            "-1 bootstrap samples were asked for",
        ),
        (lambda: jackknife(FOLDS[:1], cka), InputError, "needs at least 2 folds, got 1"),
        (lambda: jackknife(FOLDS, cka, level=1.0), InputError, r"level of an interval is 1\.0"),
        (
            lambda: jackknife(FOLDS, lambda m: math.nan if m.n < 40 else 1.0),
            InputError,
            "The function is nan on all rows but fold 0: a jackknife needs finite numbers",
        ),
        (
            lambda: jackknife([FOLDS[0], Moments.of({"z": [[1.0], [2.0]]})], cka),
            InputError,
            "Moments of different spaces or pairs cannot be merged",
        ),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_forty_samples_are_enough():
    assert percentile_interval(range(40)).low == pytest.approx(0.975)
