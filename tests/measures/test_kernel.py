from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures import debiased_cka, linear_cka
from cospace.measures.kernel import MEASURES, polynomial_cka, rbf_cka
from cospace.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_claims(measure):
    assert check_measure(measure, rng=3) is None


def rbf(x, fraction):
    distances = [np.linalg.norm(a - b) for i, a in enumerate(x) for b in x[:i]]
    return rbf_kernel(x, gamma=1 / (2 * (fraction * np.median(distances)) ** 2))


def polynomial(x, degree, offset):
    x = x - x.mean(axis=0)
    return polynomial_kernel(
        x, degree=degree, gamma=1 / np.mean(np.sum(x**2, axis=1)), coef0=offset
    )


def biased(k, m):
    n = len(k)
    h = np.eye(n) - 1 / n
    k, m = h @ k @ h, h @ m @ h
    return np.sum(k * m) / np.sqrt(np.sum(k * k) * np.sum(m * m))


def unbiased(k, m):
    n = len(k)

    def hsic(k, m):
        k, m = (a - np.diag(np.diag(a)) for a in (k, m))
        return (
            np.trace(k @ m) + k.sum() * m.sum() / ((n - 1) * (n - 2)) - 2 * (k @ m).sum() / (n - 2)
        ) / (n * (n - 3))

    return hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m))


@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize("fraction", [0.4, 1.0, 2.5])
@pytest.mark.parametrize("shape", [(40, 5, 7), (41, 60, 3)])
def test_rbf_equals_its_formula(pair, fraction, debiased, shape):
    n, dx, dy = shape
    x, y = pair(n=n, dx=dx, dy=dy)
    alignment = unbiased if debiased else biased
    expected = alignment(rbf(x, fraction), rbf(y, fraction))
    assert rbf_cka(x, y, fraction=fraction, debiased=debiased) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize(("degree", "offset"), [(1, 0.0), (2, 1.0), (3, 0.5), (5, 0.0)])
def test_polynomial_equals_its_formula(pair, degree, offset, debiased):
    x, y = pair()
    alignment = unbiased if debiased else biased
    expected = alignment(polynomial(x, degree, offset), polynomial(y, degree, offset))
    found = polynomial_cka(x, y, degree=degree, offset=offset, debiased=debiased)
    assert found == pytest.approx(expected, abs=1e-12)


def test_degree_one_is_linear_whatever_the_offset(pair):
    x, y = pair()
    for offset in (0.0, 7.0):
        assert polynomial_cka(x, y, degree=1, offset=offset) == pytest.approx(linear_cka(x, y))
        assert polynomial_cka(x, y, degree=1, offset=offset, debiased=True) == pytest.approx(
            debiased_cka(x, y)
        )


def test_a_wide_rbf_kernel_is_linear(pair):
    x, y = pair()
    assert rbf_cka(x, y, fraction=1e3) == pytest.approx(linear_cka(x, y), abs=1e-5)


def test_the_median_of_tensors_is_that_of_arrays(pair):
    for n in (7, 8, 9):  # an odd and an even number of pairs
        x, y = pair(n=n)
        expected = rbf_cka(x, y)
        assert rbf_cka(torch.asarray(x), torch.asarray(y)) == pytest.approx(expected, abs=1e-12)


def test_what_is_not_linear_is_seen():
    """Products of two coordinates: a linear kernel sees nothing of them."""
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, 1.0], size=(400, 2))
    y = np.hstack([x[:, :1] * x[:, 1:], rng.normal(size=(400, 1)) / 3])
    assert abs(debiased_cka(x, y)) < 0.02
    assert polynomial_cka(x, y, degree=2, debiased=True) > 0.1


def test_debiased_forms_are_about_zero_by_chance():
    rng = np.random.default_rng(1)
    draws = [rng.normal(size=(2, 30, 20)) for _ in range(60)]
    for function in (rbf_cka, polynomial_cka):
        values = np.array([function(x, y, debiased=True) for x, y in draws])
        assert abs(values.mean()) < 3 * values.std() / np.sqrt(len(values))
        assert min(function(x, y) for x, y in draws) > 0.3  # the biased ones are not


def test_a_large_common_offset_changes_nothing(pair):
    x, y = pair()
    assert rbf_cka(x + 1e6, y) == pytest.approx(rbf_cka(x, y), abs=1e-8)


def test_values_by_both_ends(pair):
    for x, y in permutations(pair(), 2):
        assert rbf_cka(x, x) == pytest.approx(1.0, abs=1e-12)
        assert 0.0 <= polynomial_cka(x, y) <= 1.0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: rbf_cka(x, x, fraction=0.0), InputError, "The bandwidth is 0.0 of the median"),
        (lambda x: rbf_cka(x, x, fraction=np.nan), InputError, "bandwidth is nan .* above 0"),
        (lambda x: polynomial_cka(x, x, degree=0), InputError, "The degree is 0; a whole number"),
        (lambda x: polynomial_cka(x, x, degree=1.5), InputError, "The degree is 1.5; a whole"),
        (lambda x: polynomial_cka(x, x, offset=-1.0), InputError, "The offset is -1.0; 0 or more"),
        (
            lambda x: rbf_cka(x, np.vstack([np.full((36, 3), 0.1), x[:4, :3]])),
            UndefinedMeasureError,
            "At least half of all pairs of rows are repeats: the median distance is 0",
        ),
        (
            lambda x: rbf_cka(x, 0 * x),
            UndefinedMeasureError,
            "^All rows are the same: there is nothing to compare.$",
        ),
        (
            lambda x: rbf_cka(x[:3], x[:3], debiased=True),
            UndefinedMeasureError,
            "Debiased HSIC needs at least 4 rows, got 3",
        ),
        (
            lambda x: polynomial_cka(
                x[:4], np.array([[1.0], [-1.0], [1.0], [-1.0]]), degree=2, offset=0.0
            ),
            UndefinedMeasureError,
            "All rows relate alike: there is nothing to compare",
        ),
    ],
)
def test_refusals(pair, call, error, text):
    with pytest.raises(error, match=text):
        call(pair()[0])
