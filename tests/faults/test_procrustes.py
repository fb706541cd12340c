"""Kinds of fault that users of Procrustes and shape distances have met."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from cospace.errors import InputError
from cospace.measures import (
    CATALOGUE,
    linear_cka,
    procrustes_distance,
    procrustes_similarity,
    shape_distance,
)

DISTANCES = [m for m in CATALOGUE if m.kind != "similarity"]
BY_MEAN_VARIANCE = {"ridge_r2", "rsa_mahalanobis"}
"""What they add to every variance is a share of the mean over coordinates, constant ones too."""
ROTATABLE = [
    m for m in CATALOGUE if m.invariant("orthogonal", "source") and m.name not in BY_MEAN_VARIANCE
]


def unit(rows):
    free = rows - rows.mean(axis=0)
    return free / np.linalg.norm(free)


@pytest.mark.parametrize("seed", range(5))
def test_aligned_is_never_farther_than_as_it_was(pair, seed):
    """Fault: the wrong matrix is rotated, and the residual grows."""
    x, y = pair(seed, dx=6, dy=6)
    assert procrustes_distance(x, y) <= np.linalg.norm(unit(x) - unit(y)) + 1e-12
    turned = orthogonal_procrustes(unit(x), unit(y))[0]
    assert procrustes_distance(x, y) == pytest.approx(np.linalg.norm(unit(x) @ turned - unit(y)))


@pytest.mark.parametrize("measure", ROTATABLE, ids=lambda m: m.name)
def test_coordinates_of_zeros_change_nothing(pair, measure):
    """Fault: a decomposition that fails on matrices padded with zeros, or counts the padding."""
    x, y = pair()
    padded = np.hstack([x, np.zeros((60, 4))])
    assert measure(padded, y) == pytest.approx(measure(x, y), abs=1e-9)
    assert measure(y, padded) == pytest.approx(measure(y, x), abs=1e-9)


def test_mirrored_flat_shapes_are_the_same_shape(pair):
    """Fault: a mirrored result for rows that lie in a plane, where a sign is free."""
    x = pair(dx=2)[0]
    flat = (
        np.hstack([x, np.zeros((60, 1))])
        @ np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]
    )
    for mirror in ([-1, 1, 1], [1, -1, 1], [-1, -1, -1]):
        assert procrustes_distance(flat, flat * mirror) < 1e-12
        assert procrustes_distance(x, flat * mirror) < 1e-12


def test_a_solution_that_is_not_unique_has_one_value(pair):
    """Fault: rank-deficient rows have many best rotations; the value must not depend on which."""
    x, y = pair(dx=6, dy=6)
    thin = x[:, :2] @ np.random.default_rng(0).normal(size=(2, 6))
    value = procrustes_similarity(thin, y)
    order = np.random.default_rng(1).permutation(6)
    for other in (
        thin[:, order],
        thin @ np.linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))[0],
    ):
        assert procrustes_similarity(other, y) == pytest.approx(value, abs=1e-12)
    s = np.linalg.svd(unit(thin).T @ unit(y), compute_uv=False)
    assert value == pytest.approx(s.sum(), abs=1e-12)


def test_rotations_are_polar_factors():
    """Fault: a cheap orthonormalisation, far from the best rotation where singular values differ."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 4)) * [10.0, 1.0, 0.1, 0.01]
    y = x @ np.linalg.qr(rng.normal(size=(4, 4)))[0] + 0.02 * rng.normal(size=(50, 4))
    best = np.sum(orthogonal_procrustes(unit(x), unit(y))[1])
    assert procrustes_similarity(x, y) == pytest.approx(best, abs=1e-12)
    cheap = np.linalg.qr(unit(x).T @ unit(y))[0]
    assert best > abs(np.trace(cheap.T @ unit(x).T @ unit(y))) + 1e-3


@pytest.mark.parametrize("measure", DISTANCES, ids=lambda m: m.name)
def test_a_space_is_at_no_distance_from_itself(pair, measure):
    """Fault: a metric under which d(X, X) is 0.878."""
    for rows in (*pair(), pair(n=30, dx=14)[0]):
        assert measure(rows, rows.copy()) == pytest.approx(0.0, abs=1e-7)


def test_the_size_of_a_space_is_its_frobenius_norm():
    """Fault: a mean of row norms in its place. Rows of lengths 3, 4 and 0: 5, not 7 / 3."""
    x = np.array([[3.0, 0.0], [0.0, 4.0], [-3.0, -4.0]])
    y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    sizes = np.sqrt(2 * (9 + 16)), 2.0
    expected = np.linalg.svd(x.T @ y, compute_uv=False).sum() / (sizes[0] * sizes[1])
    assert procrustes_similarity(x, y) == pytest.approx(expected, abs=1e-14)
    assert shape_distance(x, y) == pytest.approx(np.arccos(expected), abs=1e-12)


def test_complex_rows_are_refused():
    """Fault: complex input transposed without being conjugated."""
    x = np.ones((4, 2)) * (1 + 1j)
    for function in (procrustes_distance, linear_cka):
        with pytest.raises(InputError, match="source is complex; real numbers are expected"):
            function(x, x)
