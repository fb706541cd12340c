from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from cospace.errors import RowMismatchError, UndefinedMeasureError
from cospace.measures import transport
from cospace.measures.transport import (
    MEASURES,
    Coordinates,
    soft_matching_distance,
    soft_matching_distance_of,
    soft_matching_similarity,
    soft_matching_similarity_of,
    transport_plan,
)
from cospace.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_claims(measure):
    assert check_measure(measure, rng=3) is None


def correlations(x, y):
    return np.corrcoef(x.T, y.T)[: x.shape[1], x.shape[1] :]


def whole_program(gain):
    """The linear program over all entries."""
    a, b = gain.shape
    equations = scipy.sparse.vstack(
        [
            scipy.sparse.kron(scipy.sparse.eye_array(a), np.ones((1, b))),
            scipy.sparse.kron(np.ones((1, a)), scipy.sparse.eye_array(b)),
        ]
    )
    weights = np.concatenate([np.full(a, 1 / a), np.full(b, 1 / b)])
    return -linprog(-gain.ravel(), A_eq=equations, b_eq=weights, method="highs").fun


def test_equal_widths_are_the_best_order(pair):
    x, y = pair(dx=5, dy=5)
    gain = correlations(x, y)
    best = max(np.mean(gain[range(5), list(order)]) for order in permutations(range(5)))
    assert soft_matching_similarity(x, y) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("widths", [(1, 4), (4, 1), (5, 7), (7, 5), (4, 6), (31, 45), (45, 44)])
def test_unequal_widths_are_the_linear_program(pair, widths):
    x, y = pair(dx=widths[0], dy=widths[1], n=60, noise=3.0)
    expected = whole_program(correlations(x, y))
    assert soft_matching_similarity(x, y) == pytest.approx(expected, abs=1e-10)
    assert soft_matching_distance(x, y) ** 2 == pytest.approx(2 - 2 * expected, abs=1e-10)


@pytest.mark.parametrize("few", [1, 2])
def test_a_short_list_is_made_longer_until_it_is_proved_enough(monkeypatch, few):
    monkeypatch.setattr(transport, "_FEW", few)
    rng = np.random.default_rng(0)
    for shape in ((9, 14), (14, 9), (30, 31)):
        gain = rng.normal(size=shape) + 3 * rng.normal(size=shape[:1])[:, None]
        row, column, weight = transport_plan(gain)
        assert gain[row, column] @ weight == pytest.approx(whole_program(gain), abs=1e-10)


@pytest.mark.parametrize("shape", [(6, 6), (4, 6), (7, 5), (1, 3)])
def test_a_plan_keeps_its_marginals(shape):
    row, column, weight = transport_plan(np.random.default_rng(0).normal(size=shape))
    a, b = shape
    assert (weight > 0).all()
    np.testing.assert_allclose(np.bincount(row, weight, minlength=a), 1 / a, rtol=1e-14)
    np.testing.assert_allclose(np.bincount(column, weight, minlength=b), 1 / b, rtol=1e-14)


def test_a_gain_without_preferences():
    row, column, weight = transport_plan(np.zeros((2, 3)))
    assert len(row) == len(column)
    assert weight.sum() == pytest.approx(1.0)


def test_rotation_is_seen_and_order_is_not(pair):
    x, _ = pair(n=300)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    assert soft_matching_similarity(x, 3 * x[:, [2, 0, 4, 3, 1]] + 1) == pytest.approx(1.0)
    assert soft_matching_distance(x, x * [1, 2, 3, 4, 5]) < 1e-12
    assert soft_matching_similarity(x, x @ turn) < 0.95


@pytest.mark.parametrize("epsilon", [1e-4, 1e-7, 1e-10])
def test_small_distances_keep_their_digits(pair, epsilon):
    x, _ = pair()
    step = np.random.default_rng(0).normal(size=x.shape)
    one, two = (soft_matching_distance(x, x + e * step) for e in (epsilon, 2 * epsilon))
    assert two == pytest.approx(2 * one, rel=1e-3)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    widths=st.tuples(*[st.integers(1, 6)] * 3),
    near=st.sampled_from([0.0, 1e-6, 0.3]),
)
def test_distance_is_a_metric(seed, widths, near):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(12, 6))
    x, y, z = (base[:, :d] + near * rng.normal(size=(12, d)) for d in widths)
    xy, yz, xz, yx = (soft_matching_distance(a, b) for a, b in ((x, y), (y, z), (x, z), (y, x)))
    assert xz <= xy + yz + 1e-9
    assert xy == pytest.approx(yx, abs=1e-10)


def test_chance_is_above_zero():
    rng = np.random.default_rng(0)
    assert min(soft_matching_similarity(*rng.normal(size=(2, 100, 20))) for _ in range(10)) > 0.1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x: soft_matching_similarity(x, np.column_stack([x, np.full(40, 0.1)])),
            UndefinedMeasureError,
            "Coordinate 5 is constant: it has no correlation with others. Leave out constant",
        ),
        (
            lambda x: soft_matching_distance(x, 0 * x),
            UndefinedMeasureError,
            "All rows are the same: there is nothing to compare",
        ),
        (
            lambda x: soft_matching_similarity_of(Coordinates.of(x), Coordinates.of(x[:30])),
            RowMismatchError,
            "Coordinates over 40 and 30 rows cannot be matched: row i must be the same text in both",
        ),
        (
            lambda x: soft_matching_distance_of(Coordinates.of(x), Coordinates.of(x[:30])),
            RowMismatchError,
            "Coordinates over 40 and 30 rows cannot be matched",
        ),
    ],
)
def test_refusals(pair, call, error, text):
    with pytest.raises(error, match=text):
        call(pair()[0])
