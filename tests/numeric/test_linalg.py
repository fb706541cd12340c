"""Centring, rank, and decompositions that do not fail."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
import torch
from array_api_compat import array_namespace

from cospace._arrays import to_numpy
from cospace.linalg import centred, mean_row, norm, numerical_rank, singular_values, thin_svd

RNG = np.random.default_rng(0)


@pytest.fixture(params=[np.asarray, torch.asarray, array_api_strict.asarray])
def library(request):
    return request.param


def test_centring(library):
    x = RNG.normal(size=(20, 3)) + 5
    found = centred(library(x.astype(np.float32)))
    np.testing.assert_allclose(to_numpy(found), x - x.mean(axis=0), atol=1e-6)
    assert to_numpy(found).dtype == np.float64


@pytest.mark.parametrize("value", [0.1, 1 / 3, 7.7e12, -1e-9])
def test_a_constant_column_leaves_exactly_nothing(library, value):
    """Fault: the mean of equal numbers is off by a rounding, which then passes for a direction."""
    x = np.column_stack([np.full(29, value), RNG.normal(size=29)])
    found = to_numpy(centred(library(x)))
    assert not found[:, 0].any()
    assert to_numpy(mean_row(library(x)))[0] == value
    np.testing.assert_allclose(found[:, 1], x[:, 1] - x[:, 1].mean(), atol=1e-15)


def test_the_spread_of_a_huge_nearly_constant_coordinate_is_kept():
    """Fault: float32 sums lose the variance of coordinates like 3000 +- 1."""
    spread = RNG.normal(size=4000)
    x = (3000 + spread).astype(np.float32)[:, None]
    assert np.var(centred(x)) == pytest.approx(np.var(x.astype(float)), rel=1e-12)


def test_norm(library):
    assert norm(library(np.array([[3.0, 0.0], [0.0, 4.0]]))) == 5.0
    assert type(norm(library(np.eye(2)))) is float


def test_rank_counts_what_is_above_the_tolerance(library):
    s = library(np.array([5.0, 1e-2, 4e-6, 0.0]))
    assert numerical_rank(s) == 2
    assert numerical_rank(s, 1e-7) == 3
    assert numerical_rank(library(np.zeros(3))) == 0
    assert numerical_rank(library(np.zeros(0))) == 0


@pytest.mark.parametrize("shape", [(20, 5), (5, 20), (6, 6), (1, 4), (4, 1)])
def test_decomposition(library, shape):
    a = RNG.normal(size=shape)
    u, s, v = (to_numpy(part) for part in thin_svd(library(a)))
    m = min(shape)
    assert (u.shape, s.shape, v.shape) == ((shape[0], m), (m,), (shape[1], m))
    np.testing.assert_allclose((u * s) @ v.T, a, atol=1e-13)
    np.testing.assert_allclose(to_numpy(singular_values(library(a))), s, atol=1e-13)
    assert (np.diff(s) <= 0).all()


class GaveUp(RuntimeError):
    """Named as torch names it."""


GaveUp.__name__ = "_LinAlgError"


@pytest.mark.parametrize(
    ("asarray", "error"), [(np.asarray, np.linalg.LinAlgError), (torch.asarray, GaveUp)]
)
def test_a_driver_that_does_not_converge_is_replaced(monkeypatch, asarray, error):
    """Fault: 'SVD did not converge' on activations of 256 x 2048."""
    a = asarray(RNG.normal(size=(9, 4)))
    expected = thin_svd(a)

    def gives_up(*_, **__):
        raise error("SVD did not converge")

    linalg = array_namespace(a).linalg
    monkeypatch.setattr(linalg, "svd", gives_up)
    monkeypatch.setattr(linalg, "svdvals", gives_up)
    found = thin_svd(a)
    assert type(found.u) is type(a)
    np.testing.assert_allclose(to_numpy((found.u * found.s) @ found.v.T), to_numpy(a), atol=1e-13)
    np.testing.assert_allclose(to_numpy(found.s), to_numpy(expected.s), atol=1e-13)
    np.testing.assert_allclose(to_numpy(singular_values(a)), to_numpy(expected.s), atol=1e-13)


@pytest.mark.parametrize("decompose", [thin_svd, singular_values])
def test_other_errors_are_not_hidden(monkeypatch, decompose):
    def runs_out(*_, **__):
        raise MemoryError("no memory left")

    a = RNG.normal(size=(9, 4))
    monkeypatch.setattr(array_namespace(a).linalg, "svd", runs_out)
    monkeypatch.setattr(array_namespace(a).linalg, "svdvals", runs_out)
    with pytest.raises(MemoryError, match="no memory left"):
        decompose(a)


def test_torch_names_its_error_as_expected():
    assert torch.linalg.LinAlgError.__name__ == GaveUp.__name__
