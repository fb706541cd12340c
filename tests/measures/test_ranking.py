"""RSA of many rows, without all dissimilarities at once, equals RSA of all of them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.stats import rankdata

from cospace.errors import UndefinedMeasureError
from cospace.measures import covariance, debiased_cka, linear_cka, ranking, relational, rsa
from cospace.measures.ranking import Ranking, upper


def unit(rows):
    z = rows - rows.mean(axis=1, keepdims=True)
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def repeated(seed, n=60):
    """Rows of few values, so that many dissimilarities are the same."""
    rows = np.random.default_rng(seed).integers(0, 3, size=(n, 4)).astype(float)
    return rows[np.ptp(rows, axis=1) > 0]


def pair(n=400, d=12):
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(n, d))
    return shared + rng.normal(size=(n, d)), shared + rng.normal(size=(n, d))


@pytest.mark.parametrize("chunk", [1, 3, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_average_ranks(seed, chunk, monkeypatch):
    monkeypatch.setattr(ranking, "_CHUNK", chunk)
    z = unit(repeated(seed))
    values = np.round(np.concatenate([row for _, row in upper(z)]), 13)
    found = Ranking.of(z).ranks()
    np.testing.assert_array_equal(found, 2 * rankdata(values) - len(values) - 1)


@pytest.mark.parametrize("bits", [52, 60])
def test_bits_that_do_not_fit_are_looked_at(bits, monkeypatch):
    """Values equal in their leading bits are told apart by the rest."""
    monkeypatch.setattr(ranking, "_BITS", bits)
    base = np.random.default_rng(0).normal(size=(60, 8))
    z = unit(1e6 + base)  # all dissimilarities are small and near each other
    values = np.concatenate([row for _, row in upper(z)])
    expected = 2 * rankdata(np.round(values / 2e-13)) - len(values) - 1
    assert np.corrcoef(Ranking.of(z).ranks(), expected)[0, 1] > 0.9999


@pytest.mark.parametrize("comparator", ["pearson", "spearman"])
def test_both_routes_agree(comparator, monkeypatch):
    x, y = pair()
    long = rsa(x, y, comparator=comparator)
    monkeypatch.setattr(relational, "_FEW", 1000)
    assert rsa(x, y, comparator=comparator) == pytest.approx(long, abs=1e-13)


def test_dissimilarities_that_hardly_vary_are_held_at_once():
    """Sums over rows would lose what little they vary."""
    x, y = pair()
    angle = np.linspace(0, 1e-5, 400)
    base = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]])
    near = np.stack([np.cos(angle), np.sin(angle)], axis=1) @ (
        base / np.linalg.norm(base, axis=1, keepdims=True)
    )
    assert rsa(near, near, comparator="pearson") == pytest.approx(1.0, abs=1e-12)
    assert abs(rsa(near, y, comparator="pearson")) < 0.2
    assert abs(rsa(x, near)) < 0.2


@pytest.mark.parametrize("comparator", ["pearson", "spearman"])
def test_rows_that_all_relate_alike(comparator):
    alike = np.tile([1.0, 2.0, 4.0], (300, 1))
    with pytest.raises(UndefinedMeasureError, match="All rows relate alike"):
        rsa(alike, alike, comparator=comparator)


def test_pearson_of_many_rows_takes_no_n_by_n_table():
    x, y = pair(n=3000, d=8)
    tracemalloc.start()
    rsa(x, y, comparator="pearson")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * x.nbytes < 8 * 3000**2 / 10


def test_float32_products_are_near_float64():
    rng = np.random.default_rng(1)
    shared = rng.normal(size=(2500, 130))
    x, y = (1e3 + shared + rng.normal(size=shared.shape) for _ in range(2))
    a, b = x.astype(np.float32), y.astype(np.float32)
    assert linear_cka(a, b) == pytest.approx(linear_cka(a.astype(float), b.astype(float)), abs=1e-6)
    far = (a + np.float32(3e4), b - np.float32(7e4))
    wide = [rows.astype(float) for rows in far]
    assert linear_cka(*far) == pytest.approx(linear_cka(*wide), abs=1e-6)
    assert debiased_cka(*far) == pytest.approx(debiased_cka(*wide), abs=1e-6)
    huge, tiny = a * np.float32(1e30), b * np.float32(1e-25)
    assert linear_cka(huge, tiny) == pytest.approx(linear_cka(a, b), abs=1e-5)


def test_a_covariance_of_many_blocks_is_that_of_one(monkeypatch):
    x, y = pair()
    whole = linear_cka(x, y)
    monkeypatch.setattr(covariance, "_BLOCK", 7)
    assert linear_cka(x, y) == pytest.approx(whole, abs=1e-14)
