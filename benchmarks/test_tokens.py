"""Weights and dimensions near tokens beside scikit-learn: timed with ``--benchmark-enable``, else run once.

Neighbours are given. Both sides may use all cores.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold._locally_linear import barycenter_weights

from benchmarks.tokens import measure
from cospace.measures.reconstruction import barycentre_weights
from cospace.models.embeddings import read_embeddings
from cospace.tokens import TokenOptions, intrinsic_dimensions

ROWS, WIDTH, TOKENS, K = 4000, 576, 300, 100


@pytest.fixture(scope="module")
def near():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(ROWS, WIDTH)).astype(np.float32)
    return rows, rng.integers(0, ROWS, size=(ROWS, 10)), rng.integers(0, ROWS, size=(TOKENS, K))


def components(rows):
    held = np.cumsum(PCA().fit(rows).explained_variance_ratio_)
    return int(np.searchsorted(held, 0.95)) + 1


def test_weights(benchmark, near):
    benchmark.group = "LLE weights"
    rows, index, _ = near
    assert benchmark(barycentre_weights, rows, index).shape == index.shape


def test_weights_of_scikit_learn(benchmark, near):
    benchmark.group = "LLE weights"
    rows, index, _ = near
    wide = rows.astype(np.float64)
    found = benchmark(barycenter_weights, wide, wide, index)
    np.testing.assert_allclose(barycentre_weights(rows, index), found, atol=1e-11)


def test_dimensions(benchmark, near):
    benchmark.group = "intrinsic dimensions"
    rows, _, index = near
    assert benchmark(intrinsic_dimensions, rows, index).shape == (TOKENS,)


def test_dimensions_of_scikit_learn(benchmark, near):
    benchmark.group = "intrinsic dimensions"
    rows, _, index = near
    found = benchmark(lambda: [components(rows[some].astype(np.float64)) for some in index])
    assert intrinsic_dimensions(rows, index).tolist() == found


def test_a_comparison_is_measured_beside_its_searches():
    models = [read_embeddings("minilm")] * 2
    alone, whole = measure(models, TokenOptions(sample=500, tokens=200, dimension_tokens=20))
    assert 0 < alone < whole
