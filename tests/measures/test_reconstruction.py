from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold._locally_linear import barycenter_kneighbors_graph

from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures import reconstruction
from cospace.measures.reconstruction import MEASURES, lle_similarity, lle_weights
from cospace.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_claims(measure):
    assert check_measure(measure, rng=3) is None


def dense(index, weights):
    matrix = np.zeros((len(index), len(index)))
    np.put_along_axis(matrix, index, weights, axis=1)
    return matrix


@pytest.mark.parametrize("reg", [1e-3, 1e-1])
@pytest.mark.parametrize(("k", "d"), [(4, 6), (10, 3)])
def test_weights_are_scikit_learns(pair, k, d, reg):
    x, _ = pair(dx=d)
    expected = barycenter_kneighbors_graph(x, k, reg=reg).toarray()
    found = dense(*lle_weights(x, k=k, reg=reg))
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_similarity_is_the_mean_cosine_of_scikit_learns_weights(pair):
    x, y = pair(n=60)
    a, b = (barycenter_kneighbors_graph(z, 10, reg=1e-3).toarray() for z in (x, y))
    cosines = np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert lle_similarity(x, y) == pytest.approx(cosines.mean(), abs=1e-10)


def test_weights_solve_their_equation(pair):
    x, _ = pair()
    index, weights = lle_weights(x, k=5, reg=1e-9)
    left = x - np.einsum("ik,ikd->id", weights, x[index])
    for i in (0, 17):
        z = x[index[i]] - x[i]
        nudged = weights[i] + 1e-3 * (np.eye(5)[0] - np.eye(5)[1])
        assert np.linalg.norm(left[i]) < np.linalg.norm(nudged @ z)


def test_blocks_change_nothing(pair, monkeypatch):
    x, y = pair()
    expected = lle_similarity(x, y)
    monkeypatch.setattr(reconstruction, "_BLOCK_BYTES", 8 * 10 * 15 * 7)
    assert lle_similarity(x, y) == expected


def test_repeated_rows_weigh_finitely_and_never_themselves():
    """Fault: self-loops and singular systems where rows repeat."""
    rng = np.random.default_rng(0)
    x = np.vstack([np.repeat(rng.normal(size=(1, 3)), 8, axis=0), rng.normal(size=(20, 3))])
    index, weights = lle_weights(x, k=4)
    assert np.isfinite(weights).all()
    assert (index != np.arange(28)[:, None]).all()
    np.testing.assert_allclose(weights[:8], 0.25)
    assert lle_similarity(x, x, k=4) == pytest.approx(1.0)


def test_disjoint_neighbours_give_zero():
    x = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert lle_similarity(x, x[[0, 2, 1, 3]], k=1) == 0.0


def test_by_chance():
    rng = np.random.default_rng(0)
    values = [lle_similarity(*rng.normal(size=(2, 101, 5)), k=10) for _ in range(30)]
    assert 0.0 < np.mean(values) < 10 / 100


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"reg": 0.0}, InputError, "The regularisation is 0.0; a number above 0 is needed"),
        ({"k": 0}, InputError, "0 neighbours were asked for; at least 1 is needed"),
        ({"k": 39}, UndefinedMeasureError, "39 neighbours of 40 rows are all or nearly all of"),
    ],
)
def test_refusals(pair, options, error, text):
    x, _ = pair()
    with pytest.raises(error, match=text):
        lle_similarity(x, x, **options)
