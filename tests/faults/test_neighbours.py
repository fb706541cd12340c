"""Kinds of fault that users of neighbours, distances and dimension estimates have met."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch

from cospace import search
from cospace.errors import InputError
from cospace.measures import (
    CATALOGUE,
    dissimilarities,
    lle_weights,
    local_pca_dimension,
    mutual_knn,
    two_nn_dimension,
)
from cospace.measures.nearest import euclidean_neighbors

NEAR = [m for m in CATALOGUE if m.needs == "neighbours"]
RELATED = [m for m in CATALOGUE if m.relation is not None]


def hard_case(n=400, d=24):
    """Rows in single precision whose common offset is 10,000 times their spread."""
    return (100 + 0.01 * np.random.default_rng(0).normal(size=(n, d))).astype(np.float32)


def test_distances_beside_a_large_offset_have_recall_one():
    """Fault: a distance of 0 instead of 109, from squares expanded in single precision."""
    x = hard_case()
    exact = np.linalg.norm(x[:, None].astype(float) - x[None].astype(float), axis=2)
    np.fill_diagonal(exact, np.inf)
    expected = np.sort(np.argsort(exact, axis=1)[:, :10], axis=1)
    np.testing.assert_array_equal(euclidean_neighbors(x, 10).index, expected)
    found = dissimilarities(x, "euclidean")
    np.fill_diagonal(exact, 0.0)
    np.testing.assert_allclose(found / found.max(), exact / exact.max(), atol=1e-9)
    assert (found[~np.eye(len(x), dtype=bool)] > 0).all()


@pytest.mark.parametrize("kind", ["cosine", "correlation", "euclidean", "mahalanobis"])
def test_the_diagonal_of_distances_is_exactly_zero(kind):
    """Fault: 4e-3 on the diagonal, from products in less than single precision."""
    for rows in (hard_case(60, 8), torch.asarray(hard_case(60, 8))):
        found = dissimilarities(rows, kind)
        assert found.dtype == np.float64
        assert (np.diag(found) == 0.0).all()
        np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("block", [7, 64, 1000])
def test_neighbours_do_not_depend_on_the_block_they_were_found_in(monkeypatch, block):
    """Fault: distances, and with them neighbours, that depend on the batch of queries."""
    rng = np.random.default_rng(1)
    x = np.vstack([rng.normal(size=(150, 6)), np.repeat(rng.normal(size=(20, 6)), 3, axis=0)])
    expected = euclidean_neighbors(x, 8).index
    monkeypatch.setattr(search, "_FEW", 50)
    monkeypatch.setattr(search, "_KEYS", block)
    monkeypatch.setattr(search, "_QUERIES", block)
    np.testing.assert_array_equal(euclidean_neighbors(x, 8).index, expected)


@pytest.mark.parametrize("measure", NEAR, ids=lambda m: m.name)
def test_the_search_is_exact_and_leaves_out_the_row_itself(pair, measure):
    """Fault: the query among its own neighbours, or missing where a search is approximate."""
    x, _ = pair()
    twins = np.repeat(x[:30], 2, axis=0)
    other = np.roll(twins, 1, axis=0)  # other texts are twins there
    same, moved = measure(twins, twins.copy()), measure(twins, other)
    # Twins are neighbours of each other, so that cycles close too, whatever else may be.
    best = 1.0 if measure.identical is None else measure.identical
    assert same == pytest.approx(best, abs=1e-12)
    assert abs(moved - same) > 0.1


def test_rows_that_are_not_finite_are_refused_by_name(pair):
    """Fault: NaN rows that become everyone's neighbours."""
    x, y = pair()
    y[[3, 9], 1] = np.nan
    for measure in NEAR:
        with pytest.raises(InputError, match=r"target has NaN .* in 2 of 60 rows \(first: row 3"):
            measure(x, y)


@pytest.mark.parametrize("measure", RELATED, ids=lambda m: m.name)
def test_what_follows_for_a_third_space(pair, measure):
    """Fault: A like B and B like C, so A like C; it follows only as far as angles add up."""
    rng = np.random.default_rng(2)
    for noise in (0.1, 0.5, 2.0):
        x, y = pair(dx=6, dy=6, noise=noise)
        z = y + noise * rng.normal(size=y.shape)
        xy, yz, xz = (np.arccos(measure(*both)) for both in ((x, y), (y, z), (x, z)))
        assert xz <= xy + yz + 1e-9
    opposite = np.cos(np.arccos(0.6) + np.arccos(0.7))
    assert opposite < 0.0  # of 0.6 and 0.7 nothing follows


def test_differences_to_neighbours_are_not_held_for_all_rows():
    """Fault: a block of rows by neighbours by coordinates in memory at once."""
    n, k, d = 1500, 120, 80
    x = np.random.default_rng(3).normal(size=(n, d))
    for call in (lambda: lle_weights(x, k=k), lambda: local_pca_dimension(x, k=k)):
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 8 * n * k * (d + k)


def test_repeated_texts_do_not_move_the_dimension():
    """Fault: an intrinsic dimension of 0.0, or of 7.0 for 9.6, where a sentence is there twice."""
    x = np.random.default_rng(4).normal(size=(200, 5))
    repeated = np.vstack([x, x[:40]])
    assert two_nn_dimension(repeated) == pytest.approx(two_nn_dimension(x), rel=1e-9)
    assert mutual_knn(repeated, 2 * repeated) == 1.0
