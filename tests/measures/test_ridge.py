from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError
from cospace.measures import predictive_r2
from cospace.measures.ridge import (
    MEASURES,
    Hat,
    gulp_distance,
    gulp_distance_of,
    hat_of_total,
    ridge_r2,
    ridge_r2_of,
)
from cospace.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_claims(measure):
    assert check_measure(measure, rng=3) is None


def by_scikit_learn(x, y, penalty):
    z = x - x.mean(axis=0)
    strength = penalty * np.sum(z**2) / min(x.shape)
    fit = Ridge(alpha=strength, solver="cholesky").fit(x, y).predict(x)
    return 1 - np.sum((y - fit) ** 2) / np.sum((y - y.mean(axis=0)) ** 2)


@pytest.mark.parametrize("penalty", [1e-5, 1e-2, 1.0, 10.0])
def test_r2_is_scikit_learns_in_both_directions(pair, penalty):
    x, y = pair()
    for a, b in ((x, y), (y, x)):
        assert ridge_r2(a, b, penalty=penalty) == pytest.approx(
            by_scikit_learn(a, b, penalty), abs=1e-10
        )


def test_r2_where_columns_outnumber_rows(pair):
    x, y = pair(n=30, dx=80, dy=50, noise=2.0)
    assert ridge_r2(x, y, penalty=0.5) == pytest.approx(by_scikit_learn(x, y, 0.5), abs=1e-10)


def test_r2_of_a_small_penalty_is_least_squares(pair):
    x, y = pair(n=80)
    assert ridge_r2(x, y, penalty=1e-9) == pytest.approx(predictive_r2(x, y), abs=1e-9)


def test_r2_by_chance(pair):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 8))
    hat = Hat.of(x, 0.3 / 8)
    h = hat.rows @ hat.weights
    expected = np.trace(2 * h - h @ h) / 59
    found = [ridge_r2(x, rng.normal(size=(60, 6)), penalty=0.3) for _ in range(200)]
    assert np.mean(found) == pytest.approx(expected, abs=3 * np.std(found) / 200**0.5)


@pytest.mark.parametrize("penalty", [1e-5, 1e-2, 1.0])
def test_r2_of_a_space_with_itself_is_bounded(penalty):
    """At least 1 - penalty / 4, however its spectrum falls."""
    rng = np.random.default_rng(0)
    for fall in (0.0, 1.0, 3.0, 6.0):
        x = rng.normal(size=(50, 8)) * np.logspace(0, -fall, 8)
        assert 1 - penalty / 4 <= ridge_r2(x, x, penalty=penalty) <= 1.0


def gulp_by_formula(x, y, penalty):
    x, y = (a - a.mean(axis=0) for a in (x, y))
    x, y = (a / np.sqrt(np.mean(np.sum(a**2, axis=1))) for a in (x, y))
    n = len(x)
    sx, sy, sxy = x.T @ x / n, y.T @ y / n, x.T @ y / n
    ax, ay = (np.linalg.inv(s + penalty * np.eye(len(s))) for s in (sx, sy))
    squared = (
        np.trace(ax @ sx @ ax @ sx)
        + np.trace(ay @ sy @ ay @ sy)
        - 2 * np.trace(ax @ sxy @ ay @ sxy.T)
    )
    return np.sqrt(squared)


@pytest.mark.parametrize("penalty", [1e-4, 1e-2, 1.0, 10.0])
@pytest.mark.parametrize("shape", [(40, 5, 7), (20, 30, 6), (20, 6, 30), (20, 25, 25)])
def test_gulp_equals_its_formula(pair, penalty, shape):
    n, dx, dy = shape
    x, y = pair(n=n, dx=dx, dy=dy)
    expected = gulp_by_formula(x, y, penalty)
    assert gulp_distance(x, y, penalty=penalty) == pytest.approx(expected, rel=1e-9)


def test_gulp_is_the_worst_gap_of_ridge_predictions(pair):
    """No target of mean square 1 tells the two predictions further apart than the spectral norm."""
    x, y = pair()
    a, b = hat_of_total(x, 0.1), hat_of_total(y, 0.1)
    gap = a.rows @ a.weights - b.rows @ b.weights
    assert gulp_distance(x, y, penalty=0.1) == pytest.approx(np.linalg.norm(gap), rel=1e-12)
    fit = [
        Ridge(alpha=0.1 * np.sum((z - z.mean(axis=0)) ** 2)).fit(z, y[:, 0]).predict(z)
        for z in (x, y)
    ]
    centred = y[:, 0] - y[:, 0].mean()
    np.testing.assert_allclose(gap @ centred, fit[0] - fit[1], atol=1e-10)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6, 1e-9])
def test_small_gulp_distances_keep_their_digits(pair, epsilon):
    x, _ = pair(n=2000)
    y = x.copy()
    y[:, 0] += epsilon * np.random.default_rng(1).normal(size=len(x))
    near, nearer = gulp_distance(x, y), gulp_distance(x, x + (y - x) / 2)
    assert near == pytest.approx(2 * nearer, rel=1e-2)
    assert gulp_distance(x, x) < 1e-12


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    widths=st.tuples(*[st.integers(1, 8)] * 3),
    near=st.sampled_from([0.0, 1e-6, 0.1, 1.0]),
    penalty=st.sampled_from([1e-4, 1e-2, 1.0]),
)
def test_gulp_is_a_metric(seed, widths, near, penalty):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(12, 8))
    x, y, z = (base[:, :d] + near * rng.normal(size=(12, d)) for d in widths)
    xy, yz, xz = (gulp_distance(a, b, penalty=penalty) for a, b in ((x, y), (y, z), (x, z)))
    assert xz <= xy + yz + 1e-9
    assert xy == pytest.approx(gulp_distance(y, x, penalty=penalty), abs=1e-12)


def test_gulp_by_chance():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 8))
    values, expected = [], []
    for _ in range(200):
        y = rng.normal(size=(60, 6))
        a, b = (hat_of_total(z, 0.05) for z in (x, y))
        h, g = a.rows @ a.weights, b.rows @ b.weights
        expected.append(np.sum(h**2) + np.sum(g**2) - 2 * np.trace(h) * np.trace(g) / 59)
        values.append(gulp_distance(x, y, penalty=0.05) ** 2)
    assert np.mean(values) == pytest.approx(np.mean(expected), abs=3 * np.std(values) / 200**0.5)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: ridge_r2(x, x, penalty=0.0), InputError, "The ridge penalty is 0.0; a number"),
        (
            lambda x: gulp_distance(x, x, penalty=-1),
            InputError,
            "The ridge penalty is -1; a number",
        ),
        (
            lambda x: ridge_r2(np.random.default_rng(0).normal(size=(40, 50)), x),
            UndefinedMeasureError,
            r"A ridge fit with 40\.0 degrees of freedom passes near all 40 rows whatever the target",
        ),
        (
            lambda x: ridge_r2(x, 0 * x),
            UndefinedMeasureError,
            "All rows are the same: there is nothing to compare",
        ),
        (
            lambda x: ridge_r2_of(Hat.of(x, 0.1), Hat.of(x[:30], 0.1)),
            RowMismatchError,
            "Fits of 40 and 30 rows cannot be compared: row i must be the same text in both",
        ),
        (
            lambda x: gulp_distance_of(Hat.of(x, 0.1), Hat.of(x[:30], 0.1)),
            RowMismatchError,
            "Fits of 40 and 30 rows cannot be compared",
        ),
    ],
)
def test_refusals(pair, call, error, text):
    with pytest.raises(error, match=text):
        call(pair()[0])
