"""Neighbours, weights and dimensions of tokens, against plain computations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import ortho_group, pearsonr, spearmanr
from sklearn.decomposition import PCA
from sklearn.manifold._locally_linear import barycenter_weights

from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError
from cospace.measures.reconstruction import barycentre_weights
from cospace.tokens.local import (
    dimension_correlation,
    dimensions_of_nearest,
    intrinsic_dimensions,
    weight_cosines,
)
from cospace.tokens.neighbors import by_distance, neighbors_of


def plain_neighbours(rows, places, k, metric="euclidean"):
    """Neighbours in order of distance, in double precision, one row at a time."""
    rows = rows.astype(np.float64)
    if metric == "cosine":
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    found = []
    for place in places:
        far = np.sum((rows - rows[place]) ** 2, axis=1)
        far[place] = np.inf
        found.append(np.argsort(far, kind="stable")[:k])
    return np.asarray(found)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(900, 12)).astype(np.float32) + 5


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("places", [np.arange(900), np.array([700, 3, 899, 0])])
def test_neighbours_are_those_of_all_rows(rows, metric, places):
    index = neighbors_of(rows, places, 10, metric=metric)
    expected = plain_neighbours(rows, places, 10, metric)
    np.testing.assert_array_equal(np.sort(index, axis=1), np.sort(expected, axis=1))
    np.testing.assert_array_equal(by_distance(rows, places, index, metric=metric), expected)


def test_repeats_stay_and_the_token_itself_goes():
    """Fault: the first column dropped for the query, which keeps it where rows are repeated."""
    rows = np.random.default_rng(1).normal(size=(600, 8)).astype(np.float32)
    rows[300:400] = rows[:100]
    places = np.array([350, 20, 599])
    index = neighbors_of(rows, places, 5)
    assert (index != places[:, None]).all()
    ordered = by_distance(rows, places, index)
    assert ordered[:2, 0].tolist() == [50, 320]


def test_a_common_offset_changes_no_neighbour():
    """Fault: float32 distances of rows with a large common offset."""
    rng = np.random.default_rng(2)
    rows = (100 + 0.01 * rng.normal(size=(900, 16))).astype(np.float32)
    places = np.arange(0, 900, 50)
    index = neighbors_of(rows, places, 10)
    np.testing.assert_array_equal(
        by_distance(rows, places, index), plain_neighbours(rows, places, 10)
    )


def test_finished_blocks_are_not_searched_again(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("cospace.tokens.neighbors.BLOCK", 300)
    whole = neighbors_of(rows, np.arange(900), 6)
    told = []

    def stop(done, total):
        told.append((done, total))
        if done == 600:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1}, done=stop)
    assert told == [(0, 900), (300, 900), (600, 900)]
    told.clear()
    again = neighbors_of(
        rows, np.arange(900), 6, folder=tmp_path, key={"w": 1}, done=lambda *a: told.append(a)
    )
    assert told == [(600, 900), (900, 900)]
    np.testing.assert_array_equal(np.sort(again, axis=1), np.sort(whole, axis=1))
    monkeypatch.setattr("cospace.tokens.neighbors.Search.euclidean", None)
    kept = neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1})
    np.testing.assert_array_equal(kept, again)


@pytest.mark.parametrize("damage", ["cut", "other", "text", "byte", "unsigned", "empty"])
def test_damaged_and_foreign_blocks_are_made_anew(rows, tmp_path, damage, monkeypatch):
    whole = neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1})
    (path,) = tmp_path.glob("*/*.npy")
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-7])
    elif damage == "text":
        path.write_bytes(b"nothing")
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "byte":
        raw = bytearray(path.read_bytes())
        raw[2000] ^= 1  # another place, as much in range
        path.write_bytes(raw)
    elif damage == "unsigned":
        np.save(path, whole[:, ::-1].astype(np.int32))
    else:
        np.save(path, np.full((900, 6), 5000, dtype=np.int32))
    again = neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1})
    np.testing.assert_array_equal(again, whole)
    monkeypatch.setattr("cospace.tokens.neighbors.Search.euclidean", None)
    kept = neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1})
    np.testing.assert_array_equal(kept, whole)


def test_a_block_of_another_search_or_place_is_made_anew(rows, tmp_path, monkeypatch):
    monkeypatch.setattr("cospace.tokens.neighbors.BLOCK", 450)
    whole = neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1})
    first, second = sorted(tmp_path.glob("*/*.npy"))
    second.write_bytes(first.read_bytes())
    again = neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1})
    np.testing.assert_array_equal(again, whole)
    neighbors_of(rows[::-1], np.arange(900), 6, folder=tmp_path, key={"w": 2})
    (other,) = (path for path in tmp_path.glob(f"*/{first.name}") if path != first)
    first.write_bytes(other.read_bytes())
    again = neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1})
    np.testing.assert_array_equal(again, whole)


def test_searches_that_differ_are_kept_apart(rows, tmp_path):
    neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1})
    neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 2})
    neighbors_of(rows, np.arange(900), 7, folder=tmp_path, key={"w": 1})
    neighbors_of(rows, np.arange(800), 6, folder=tmp_path, key={"w": 1})
    neighbors_of(rows, np.arange(900), 6, folder=tmp_path, key={"w": 1}, metric="cosine")
    assert len(list(tmp_path.glob("*/*.npy"))) == 5


def test_neighbours_that_cannot_be_had_or_kept(rows, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be kept in .*file .*name another folder"):
        neighbors_of(rows, np.arange(9), 3, folder=tmp_path / "file", key={})
    with pytest.raises(InputError, match="'manhattan' is no metric of neighbours here"):
        neighbors_of(rows, np.arange(9), 3, metric="manhattan")
    with pytest.raises(UndefinedMeasureError, match="900 neighbours of 900 rows"):
        neighbors_of(rows, np.arange(9), 900)
    for places, text in (
        ([3, 900], "Place 900 is no row: rows are 0 to 899"),
        ([3, -1], "Place -1 is no row: rows are 0 to 899"),
        ([3, 5, 3], "Place 3 stands twice: name each row once"),
        ([0.5], r"shape \(1,\) and type float64; one or more row numbers are expected"),
        ([], r"shape \(0,\) .*; one or more row numbers are expected"),
    ):
        with pytest.raises(InputError, match=text):
            neighbors_of(rows, np.array(places), 3)
    rows[700, 2] = np.nan
    with pytest.raises(InputError, match="Row 700 holds a number that is not finite"):
        neighbors_of(rows, np.arange(9), 3)


def test_weights_are_scikit_learns(rows):
    at = np.array([5, 800, 44])
    index = neighbors_of(rows, at, 10)
    found = barycentre_weights(rows, index, at, reg=1e-3)
    wide = rows.astype(np.float64)
    expected = barycenter_weights(wide[at], wide, index, reg=1e-3)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    with pytest.raises(InputError, match="The regularisation is 0"):
        barycentre_weights(rows, index, at, reg=0)


def test_hand_worked_weights():
    """x = 0 between neighbours at -1 and 3: C = [[1, -3], [-3, 9]], C' = C + r 10 I."""
    rows = np.array([[-1.0], [3.0], [0.0]])
    r = 0.01
    expected = np.linalg.solve([[1 + 10 * r, -3], [-3, 9 + 10 * r]], [1, 1])
    expected /= expected.sum()
    found = barycentre_weights(rows, np.array([[0, 1]]), np.array([2]), reg=r)
    np.testing.assert_allclose(found[0], expected, rtol=1e-14)
    tiny = barycentre_weights(rows, np.array([[0, 1]]), np.array([2]), reg=1e-10)
    np.testing.assert_allclose(tiny[0], [0.75, 0.25], atol=1e-8)


def test_repeated_neighbours_weigh_finitely():
    """Fault: a singular matrix where neighbours repeat."""
    rows = np.ones((5, 3))
    rows[4] = 2
    index = np.array([[1, 2, 3], [0, 1, 2]])
    found = barycentre_weights(rows, index, np.array([0, 4]))
    np.testing.assert_allclose(found, 1 / 3, atol=1e-12)


def sparse(index, weights, n):
    table = np.zeros((len(index), n + 1))
    for line, near, w in zip(table, index, weights, strict=True):
        line[near] = w
    return table


def test_cosines_are_those_of_the_sparse_vectors():
    rng = np.random.default_rng(3)
    index_a = np.stack([rng.permutation(20)[:4] for _ in range(50)])
    index_b = np.stack([rng.permutation(20)[:5] for _ in range(50)])
    wa, wb = rng.normal(size=(50, 4)), rng.normal(size=(50, 5))
    a, b = sparse(index_a, wa, 20), sparse(index_b, wb, 20)
    expected = np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    found = weight_cosines(index_a, wa, index_b, wb, shared=20)
    np.testing.assert_allclose(found.values, expected, atol=1e-14)
    np.testing.assert_array_equal(found.apart, ((a != 0) & (b != 0)).sum(axis=1) == 0)
    assert (found.values[found.apart] == 0).all()


def test_neighbours_that_one_model_lacks_meet_nothing():
    a, b = np.array([[0, -1]]), np.array([[0, -1]])
    w = np.array([[0.6, 0.8]])
    assert weight_cosines(a, w, b, w, shared=5).values[0] == pytest.approx(0.36)


def test_the_level_by_chance_is_that_of_all_pairings():
    rng = np.random.default_rng(4)
    n, k = 6, 2
    others = [[j for j in range(n) if j != i] for i in range(n)]
    index = [np.array([rng.permutation(o)[:k] for o in others]) for _ in range(2)]
    index[0][2, 1] = -1  # a neighbour that the other model lacks
    weights = [rng.normal(size=(n, k)) for _ in range(2)]
    found = weight_cosines(index[0], weights[0], index[1], weights[1], shared=n)
    means, aparts = [], []
    for order in permutations(range(n)):
        order = np.asarray(order)
        place = np.argsort(order)
        again = weight_cosines(
            index[0], weights[0], place[index[1][order]], weights[1][order], shared=n
        )
        means.append(again.values.mean())
        aparts.append(again.apart.mean())
    assert np.mean(means) == pytest.approx(found.chance_mean, abs=1e-12)
    assert np.mean(aparts) == pytest.approx(found.chance_apart, abs=1e-12)


def test_a_rotated_and_rescaled_copy_has_cosines_of_one(rows):
    copy = 3 * rows.astype(np.float64) @ ortho_group.rvs(12, random_state=5) - 7
    at = np.arange(900)
    index = [np.sort(neighbors_of(x, at, 10), axis=1) for x in (rows, copy)]
    weights = [barycentre_weights(x, i) for x, i in zip((rows, copy), index, strict=True)]
    found = weight_cosines(index[0], weights[0], index[1], weights[1], shared=900)
    np.testing.assert_allclose(found.values, 1.0, atol=1e-9)
    assert not found.apart.any()


def test_independent_models_give_the_level_by_chance():
    rng = np.random.default_rng(6)
    at, sets = np.arange(800), [rng.normal(size=(800, 9)) for _ in range(2)]
    index = [neighbors_of(x, at, 10) for x in sets]
    weights = [barycentre_weights(x, i) for x, i in zip(sets, index, strict=True)]
    found = weight_cosines(index[0], weights[0], index[1], weights[1], shared=800)
    error = found.values.std() / np.sqrt(800)
    assert abs(found.values.mean() - found.chance_mean) < 4 * error
    spread = np.sqrt(found.chance_apart * (1 - found.chance_apart) / 800)
    assert abs(found.apart.mean() - found.chance_apart) < 4 * spread


def test_weights_that_do_not_belong_together():
    w = np.ones((2, 2))
    with pytest.raises(RowMismatchError, match="Neighbours of 2 and 1 tokens cannot be compared"):
        weight_cosines(np.zeros((2, 2), int), w, np.zeros((1, 2), int), w[:1], shared=5)
    with pytest.raises(InputError, match="Neighbour 7 is no place among 5 shared tokens"):
        weight_cosines(np.array([[1, 7]]), w[:1], np.array([[0, 1]]), w[:1], shared=5)


@pytest.mark.parametrize(("k", "d"), [(30, 12), (8, 40), (60, 40)])
def test_dimensions_are_those_of_scikit_learns_components(k, d):
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(400, d)) * np.linspace(3, 0.1, d)
    at = np.arange(25)
    index = neighbors_of(rows, at, k)
    for share in (0.5, 0.95):
        expected = [
            np.searchsorted(np.cumsum(PCA().fit(rows[i]).explained_variance_ratio_), share) + 1
            for i in index
        ]
        assert intrinsic_dimensions(rows, index, share=share).tolist() == expected
    among = [
        np.searchsorted(np.cumsum(PCA().fit(rows[[*i, t]]).explained_variance_ratio_), 0.95) + 1
        for t, i in zip(at, index, strict=True)
    ]
    assert intrinsic_dimensions(rows, index, at=at).tolist() == among


@pytest.mark.parametrize("d", [8, 40, 90])
def test_dimensions_of_several_neighbourhoods_are_those_of_each(d):
    """A tight few inside a wide many, far from the origin: no digit is lost to the mean of the many."""
    rng = np.random.default_rng(8)
    rows = 100 + rng.normal(size=(400, d))
    rows[:10] = 100 + 1e-5 * rng.normal(size=(10, 3)) @ rng.normal(size=(3, d))
    index = np.array([np.arange(60), rng.permutation(60), rng.permutation(400)[:60]])
    found = dimensions_of_nearest(rows, index, (10, 60, 30))
    for line, k in zip(found, (10, 60, 30), strict=True):
        ratios = [PCA().fit(rows[i[:k]]).explained_variance_ratio_ for i in index]
        expected = [np.searchsorted(np.cumsum(each), 0.95) + 1 for each in ratios]
        assert line.tolist() == expected == intrinsic_dimensions(rows, index[:, :k]).tolist()
    assert found[0, 0] <= 3


def test_hand_worked_dimensions():
    """Four neighbours with variances 90, 6 and 4: two components hold 96 %, one 90 %."""
    a, b, c = np.sqrt(90), np.sqrt(6), np.sqrt(4)
    rows = np.array([[a, 0, 0], [-a, 0, 0], [0, b, 0], [0, -b, 0], [0, 0, c], [0, 0, -c]])
    index = np.arange(6)[None]
    found = {
        share: int(intrinsic_dimensions(rows, index, share=share)[0])
        for share in (0.89, 0.90, 0.91, 0.95, 0.96, 0.97)
    }
    assert found == {0.89: 1, 0.90: 1, 0.91: 2, 0.95: 2, 0.96: 2, 0.97: 3}
    assert intrinsic_dimensions(np.ones((4, 3)), np.array([[1, 2, 3]])).tolist() == [0]


def test_a_planted_low_dimensional_cluster_is_found():
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(1000, 30))
    flat = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 30)) + 40
    rows[:200] = flat + 0.001 * rng.normal(size=(200, 30))
    found = intrinsic_dimensions(rows, neighbors_of(rows, np.arange(1000), 60))
    assert found[:200].max() == 2
    assert found[200:].min() > 10


def test_dimensions_correlate_across_models():
    rng = np.random.default_rng(9)
    a = rng.integers(3, 40, size=300)
    b = a + rng.integers(0, 12, size=300)
    found = dimension_correlation(a, b)
    assert found.pearson == pytest.approx(pearsonr(a, b)[0], abs=1e-12)
    assert found.spearman == pytest.approx(spearmanr(a, b)[0], abs=1e-12)
    drawn = [dimension_correlation(a, rng.permutation(b)).spearman for _ in range(2000)]
    assert np.std(drawn) == pytest.approx(found.null_sd, rel=0.06)


def test_dimensions_that_mean_nothing():
    index = np.array([[0, 1]])
    with pytest.raises(InputError, match="The share of variance is 1"):
        intrinsic_dimensions(np.ones((2, 2)), index, share=1)
    with pytest.raises(InputError, match="1 neighbours span no dimension"):
        intrinsic_dimensions(np.ones((2, 2)), index[:, :1])
    with pytest.raises(RowMismatchError, match="Dimensions of 3 and 2 tokens"):
        dimension_correlation([1, 2, 3], [1, 2])
    with pytest.raises(UndefinedMeasureError, match="2 tokens make no correlation"):
        dimension_correlation([1, 2], [1, 2])
    with pytest.raises(UndefinedMeasureError, match="same dimension: there is nothing"):
        dimension_correlation([1, 2, 3], [4, 4, 4])


def test_neighbours_do_not_depend_on_which_are_asked_for_together(rows):
    """Fault: distances that change with the batch of queries."""
    together = neighbors_of(rows, np.arange(900), 10)
    for place in (0, 450, 899):
        alone = neighbors_of(rows, np.array([place]), 10)
        assert set(alone[0]) == set(together[place])


def test_memory_does_not_grow_with_neighbours_times_width():
    """Fault: a block of (n, k, d) differences in memory."""
    import tracemalloc

    rng = np.random.default_rng(10)
    rows = rng.normal(size=(3000, 200)).astype(np.float32)
    index = rng.integers(0, 3000, size=(3000, 40))
    block = index.size * 200 * 8
    tracemalloc.start()
    barycentre_weights(rows, index)
    intrinsic_dimensions(rows, index)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < block / 4
