"""Relations a tile at a time: the same entries, and the same sums, as the matrix itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cospace.entries import Entries, Products, Sums
from cospace.summaries import Relation


def rows(n, d, offset):
    return np.random.default_rng(n + d).standard_normal((n, d)) * np.linspace(1, 4, d) + offset


def matrix_of(x, margin, *, diagonal):
    """<x_i, x_j> + m_i + m_j, and what is left without its two means."""
    whole = x @ x.T + margin[:, None] + margin[None, :]
    n = len(x)
    if not diagonal:
        np.fill_diagonal(whole, 0.0)
        whole -= whole.sum() / (n * (n - 1))
        np.fill_diagonal(whole, 0.0)
    on = np.trace(whole) / n
    off = (whole.sum() - n * on) / (n * (n - 1))
    rest = whole - off
    np.fill_diagonal(rest, np.diagonal(whole) - on)
    return (off, on), rest


def tiled(made, width, dtype):
    n = len(made.on)
    out = np.zeros((n, n), dtype=dtype)
    cuts = [slice(start, min(start + width, n)) for start in range(0, n, width)]
    for i, a in enumerate(cuts):
        for b in cuts[i:]:
            made.tile(a, b, out[a, b])
            out[b, a] = out[a, b].T
    return out


def sums_over(made, rest):
    square = rest.astype(np.float64) ** 2
    return made.sums(square.sum(axis=1), float((square * rest).sum()))


def assert_same_sums(found, expected, rtol):
    size = np.sqrt(expected.squares.sum())
    n = len(expected.on)
    assert found.on == pytest.approx(expected.on, abs=rtol * size)
    assert found.lines == pytest.approx(expected.lines, abs=rtol * size * n**0.5)
    assert found.squares == pytest.approx(expected.squares, rel=rtol, abs=rtol * size**2 / n)
    for a, b in zip(found.walks, expected.walks, strict=True):
        assert a == pytest.approx(b, rel=rtol, abs=rtol * size**3)
    assert found.cubes == pytest.approx(expected.cubes, rel=rtol, abs=rtol * size**3)
    assert found.triangles == pytest.approx(expected.triangles, rel=rtol, abs=rtol * size**3)


@pytest.mark.parametrize("diagonal", [True, False])
@pytest.mark.parametrize(("n", "d"), [(40, 7), (40, 90), (230, 20)])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_sums_of_products_equal_those_of_the_matrix(n, d, offset, diagonal):
    x = rows(n, d, offset)
    margin = np.random.default_rng(1).standard_normal(n)
    made = Products.of(x, margin, diagonal=diagonal)
    means, _ = matrix_of(x, margin, diagonal=diagonal)
    assert made.means == pytest.approx(means, rel=1e-5, abs=1e-5)
    # What the rows are after rounding; the formulas are exact for these.
    made = replace(made, rows=made.rows.astype(np.float64))
    _, rest = matrix_of(made.rows[:, :-2], made.rows[:, -2], diagonal=diagonal)
    assert tiled(made, 33, np.float64) == pytest.approx(rest, abs=1e-9 * np.abs(rest).max())
    assert_same_sums(sums_over(made, rest), Sums.of(rest), 1e-8)


@pytest.mark.parametrize("diagonal", [True, False])
def test_products_in_single_precision_are_near(diagonal):
    x = rows(300, 40, 100.0)
    margin = np.linspace(-5, 5, 300)
    _, rest = matrix_of(x, margin, diagonal=diagonal)
    made = Products.of(x, margin, diagonal=diagonal)
    assert made.rows.dtype == np.float32
    found = tiled(made, 128, np.float32)
    assert np.abs(found - rest).max() < 1e-6 * made.scale
    assert_same_sums(sums_over(made, found), Sums.of(rest), 1e-5)


@pytest.mark.parametrize("d", [30, 400])
def test_what_cancels_is_summed_in_double_precision(d):
    x = rows(150, d, 0.0)
    x[0] *= 300.0  # its square, off the diagonal of a hollow relation, outweighs all else
    made = Products.of(x, 0.0, diagonal=False)
    z = made.rows.astype(np.float64)
    _, rest = matrix_of(z[:, :-2], z[:, -2], diagonal=False)
    found, size = sums_over(made, rest), np.linalg.norm(rest)
    assert found.triangles == pytest.approx(Sums.of(rest).triangles, abs=1e-5 * size**3)
    assert np.trace(np.linalg.matrix_power(z @ z.T, 3)) > 10 * size**3


def test_products_by_hand():
    # Entries 1 * 2 = 2, 1 * 6 = 6 and 2 * 6 = 12 off the diagonal; their mean is 20 / 3.
    made = Products.of(np.array([[1.0], [2.0], [6.0]]), 0.0, diagonal=True)
    assert made.means == pytest.approx((20 / 3, 41 / 3))
    expected = np.array([[-38, -14, -2], [-14, -29, 16], [-2, 16, 67]]) / 3
    assert tiled(made, 2, np.float32) == pytest.approx(expected, abs=1e-5)
    assert made.lines == pytest.approx(expected.sum(axis=1))
    hollow = Products.of(np.array([[1.0], [2.0], [6.0]]), 0.0, diagonal=False)
    assert hollow.means == (0.0, 0.0)
    np.fill_diagonal(expected, 0.0)
    assert tiled(hollow, 2, np.float32) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("width", [1, 7, 50])
def test_entries_are_those_of_the_relation(width):
    matrix = rows(50, 50, 2.0)
    matrix += matrix.T
    relation = Relation.symmetric(matrix, interval="pairs")
    made = Entries.of(relation)
    whole = 50 * matrix / np.linalg.norm(matrix)
    on = np.trace(whole) / 50
    off = (whole.sum() - 50 * on) / (50 * 49)
    rest = whole - off
    np.fill_diagonal(rest, np.diagonal(whole) - on)
    assert made.means == pytest.approx((off, on))
    assert made.above.dtype == np.float32
    assert made.scale == 0.0
    assert tiled(made, width, np.float32) == pytest.approx(rest, abs=1e-6)
    assert_same_sums(sums_over(made, rest), Sums.of(rest), 1e-6)
