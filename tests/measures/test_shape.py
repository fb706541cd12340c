from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.measures import mean_cca, procrustes_distance, procrustes_similarity
from cospace.measures.shape import (
    MEASURES,
    bures_distance,
    bures_distance_of,
    bures_similarity,
    shape_distance,
    shape_distance_of,
)
from cospace.summaries import Factor
from cospace.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_claims(measure):
    assert check_measure(measure, rng=3) is None


def whitened(x, alpha):
    """(X / scale) (alpha I + (1 - alpha) C^-1/2) at unit norm, as the shape metrics have it."""
    x = x - x.mean(axis=0)
    x = x * math.sqrt(np.linalg.matrix_rank(x)) / np.linalg.norm(x)
    root = np.real(scipy.linalg.fractional_matrix_power(x.T @ x, -0.5))
    x = x @ (alpha * np.eye(x.shape[1]) + (1 - alpha) * root)
    return x / np.linalg.norm(x)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("widths", [(5, 7), (7, 5), (6, 6)])
def test_equals_its_formula_after_padding(pair, alpha, widths):
    x, y = pair(dx=widths[0], dy=widths[1])
    a, b = whitened(x, alpha), whitened(y, alpha)
    wide = max(widths)
    a, b = (np.pad(z, ((0, 0), (0, wide - z.shape[1]))) for z in (a, b))
    turn, _ = scipy.linalg.orthogonal_procrustes(b, a)
    angle = math.acos(np.sum(a * (b @ turn)))
    chord = np.linalg.norm(a - b @ turn)
    assert shape_distance(x, y, alpha=alpha) == pytest.approx(angle, abs=1e-9)
    assert shape_distance(x, y, alpha=alpha, form="euclidean") == pytest.approx(chord, abs=1e-9)


def test_without_whitening_it_is_procrustes(pair):
    x, y = pair()
    assert shape_distance(x, y, form="euclidean") == pytest.approx(procrustes_distance(x, y))
    assert math.cos(shape_distance(x, y)) == pytest.approx(procrustes_similarity(x, y))


def test_whitened_spaces_of_unequal_rank():
    """Fault: padded to the wider side, a contained space is at 25 / 40, or at 1."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(200, 40))
    x = y[:, :25]
    assert math.cos(shape_distance(x, y, alpha=0.0)) == pytest.approx(math.sqrt(25 / 40))
    x, y = rng.normal(size=(200, 25)), y + 1.0
    x[:, :10] += y[:, :10]
    expected = mean_cca(x, y) * math.sqrt(25 / 40)
    assert math.cos(shape_distance(x, y, alpha=0.0)) == pytest.approx(expected, abs=1e-12)


def test_dependent_columns_are_no_dimensions(pair):
    x, y = pair()
    wide = np.hstack([x, x @ np.random.default_rng(0).normal(size=(5, 3))])
    for z in (np.hstack([x, 0 * x]), np.hstack([x, x[:, :2]])):
        assert shape_distance(z, y, alpha=0.0) == pytest.approx(shape_distance(x, y, alpha=0.0))
    assert shape_distance(wide, y, alpha=0.0) == pytest.approx(shape_distance(x, y, alpha=0.0))


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    widths=st.tuples(*[st.integers(1, 7)] * 3),
    near=st.sampled_from([0.0, 1e-7, 1e-3, 0.3, 3.0]),
    alpha=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    form=st.sampled_from(["angular", "euclidean"]),
)
def test_it_is_a_metric(seed, widths, near, alpha, form):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(20, 7))
    x, y, z = (base[:, :d] + near * rng.normal(size=(20, d)) for d in widths)
    xy, yz, xz, yx = (
        shape_distance(a, b, alpha=alpha, form=form) for a, b in ((x, y), (y, z), (x, z), (y, x))
    )
    assert xz <= xy + yz + 1e-9
    assert xy == pytest.approx(yx, abs=1e-12)
    assert shape_distance(x, 5 * x[:, ::-1] + 1, alpha=alpha, form=form) < 1e-12


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_small_angles_keep_their_digits(pair, alpha):
    x, _ = pair()
    step = np.random.default_rng(0).normal(size=x.shape)
    angles = [shape_distance(x, x + e * step, alpha=alpha) for e in (1e-6, 2e-6, 1e-10, 2e-10)]
    assert angles[1] == pytest.approx(2 * angles[0], rel=1e-4)
    assert angles[3] == pytest.approx(2 * angles[2], rel=1e-3)


def root(k):
    values, vectors = np.linalg.eigh(k)
    return vectors * np.sqrt(np.clip(values, 0, None)) @ vectors.T


def fidelity(k, m):
    return np.trace(root(root(k) @ m @ root(k)))


@pytest.mark.parametrize("widths", [(5, 7), (7, 5), (60, 3), (60, 50)])
def test_bures_is_that_of_the_gram_matrices(pair, widths):
    x, y = pair(dx=widths[0], dy=widths[1])
    k, m = ((z - z.mean(axis=0)) @ (z - z.mean(axis=0)).T for z in (x, y))
    squared = np.trace(k) + np.trace(m) - 2 * fidelity(k, m)
    assert bures_distance(x, y) ** 2 == pytest.approx(squared, rel=1e-5)
    similarity = fidelity(k, m) / math.sqrt(np.trace(k) * np.trace(m))
    assert bures_similarity(x, y) == pytest.approx(similarity, rel=1e-5)
    assert bures_similarity(x, y) == procrustes_similarity(x, y)


def test_bures_sees_size_alone_as_size():
    x = np.random.default_rng(0).normal(size=(30, 4))
    size = np.linalg.norm(x - x.mean(axis=0))
    assert bures_distance(x, 3 * x + 2) == pytest.approx(2 * size)
    assert bures_distance(x, x[:, ::-1] + 2) < 1e-12


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    widths=st.tuples(*[st.integers(1, 7)] * 3),
    scale=st.floats(1e-3, 1e3),
)
def test_bures_is_a_metric(seed, widths, scale):
    rng = np.random.default_rng(seed)
    x, y, z = (rng.normal(size=(12, d)) for d in widths)
    y = scale * y
    assert bures_distance(x, z) <= (bures_distance(x, y) + bures_distance(y, z)) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: shape_distance(x, x, alpha=1.5), InputError, "alpha is 1.5; a number from 0"),
        (
            lambda x: shape_distance(x, x, form="angle"),
            UnknownNameError,
            "'angle' is not a form of a shape distance. Did you mean 'angular'?",
        ),
        (
            lambda x: shape_distance(x[:8], x[:8], alpha=0.0),
            UndefinedMeasureError,
            r"rank 5 \+ rank 5 exceeds n - 1 = 7: 3 canonical correlations are 1 by dimension alone.*alpha",
        ),
        (
            lambda x: shape_distance_of(Factor.of(x), Factor.of(x[:30])),
            RowMismatchError,
            "Factors of 40 and 30 rows have no distance",
        ),
        (
            lambda x: bures_distance_of(Factor.of(x), Factor.of(x[:30])),
            RowMismatchError,
            "Factors of 40 and 30 rows have no distance",
        ),
        (
            lambda x: bures_distance(x, 0 * x),
            UndefinedMeasureError,
            "All rows are the same: there is nothing to compare",
        ),
    ],
)
def test_refusals(pair, call, error, text):
    with pytest.raises(error, match=text):
        call(pair()[0])
