from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures import linear_cka, mutual_knn
from cospace.measures.nearest import euclidean_neighbors
from cospace.measures.neighborhood import (
    MEASURES,
    cknna,
    cycle_knn,
    cycle_of,
    jaccard_knn,
    jaccard_of,
)
from cospace.summaries import Neighbors
from cospace.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_claims(measure):
    assert check_measure(measure, rng=3) is None


def by_cosine(x, k):
    z = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = z @ z.T
    np.fill_diagonal(cosines, -np.inf)
    return [set(np.argsort(-line)[:k]) for line in cosines]


def cknna_by_loops(x, y, k):
    near = by_cosine(x, k), by_cosine(y, k)
    grams = []
    for rows in (x, y):
        z = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        z = z - z.mean(axis=0)
        grams.append(z @ z.T)

    def alignment(a, b):
        return sum(
            grams[a][i, j] * grams[b][i, j] for i in range(len(x)) for j in near[a][i] & near[b][i]
        )

    return alignment(0, 1) / np.sqrt(alignment(0, 0) * alignment(1, 1))


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("seed", [0, 1])
def test_equal_their_formulas(pair, seed, k):
    x, y = pair(seed=seed)
    near_x, near_y = by_cosine(x, k), by_cosine(y, k)
    assert cknna(x, y, k=k) == pytest.approx(cknna_by_loops(x, y, k), abs=1e-12)
    jaccard = np.mean([len(a & b) / len(a | b) for a, b in zip(near_x, near_y, strict=True)])
    assert jaccard_knn(x, y, k=k) == pytest.approx(jaccard, abs=1e-12)
    for (a, b), (source, target) in (((near_x, near_y), (x, y)), ((near_y, near_x), (y, x))):
        cycles = np.mean([any(i in b[j] for j in a[i]) for i in range(len(a))])
        assert cycle_knn(source, target, k=k) == pytest.approx(cycles, abs=1e-12)


def test_of_all_neighbours_cknna_is_cka_without_the_diagonal(pair):
    n = 300
    x, y = pair(n=n)
    unit = [z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y)]
    centred = [z - z.mean(axis=0) for z in unit]
    grams = [z @ z.T * (1 - np.eye(n)) for z in centred]
    expected = np.sum(grams[0] * grams[1]) / np.linalg.norm(grams[0]) / np.linalg.norm(grams[1])
    assert cknna(x, y, k=n - 2) == pytest.approx(expected, abs=0.02)
    assert linear_cka(*unit) == pytest.approx(expected, abs=0.02)


def test_one_shared_neighbour_of_two_is_one_of_three():
    """Fault: Jaccard overlap that drops the first neighbour by place instead of the row itself."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(15, 4)), 2, axis=0)
    assert jaccard_knn(x, x, k=3) == 1.0
    near = Neighbors.of(x, 1).index.ravel()
    assert (near == np.arange(30) + np.tile([1, -1], 15)).all()


def test_jaccard_is_a_function_of_overlap_row_by_row(pair):
    x, y = pair(n=60)
    assert mutual_knn(x, y, k=5) > jaccard_knn(x, y, k=5) > mutual_knn(x, y, k=5) / 2


def test_by_chance():
    rng = np.random.default_rng(0)
    k, n = 5, 101
    draws = [rng.normal(size=(2, n, 8)) for _ in range(40)]
    p = k / (n - 1)
    assert np.mean([jaccard_knn(x, y, k=k) for x, y in draws]) == pytest.approx(
        p / (2 - p), rel=0.2
    )
    assert np.mean([cycle_knn(x, y, k=k) for x, y in draws]) == pytest.approx(
        1 - (1 - p) ** k, rel=0.15
    )
    assert np.mean([cknna(x, y, k=k) for x, y in draws]) == pytest.approx(p, rel=0.3)


def test_a_row_that_is_nobodys_neighbour_cannot_be_returned_to():
    angles = np.radians([0.0, 1.0, 2.5, 60.0])
    x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert cycle_knn(x, x, k=1) == 0.5  # 2 -> 1 -> 0, and nothing is nearest to 60 degrees


def test_cycles_have_a_direction(pair):
    values = [(cycle_knn(x, y, k=2), cycle_knn(y, x, k=2)) for x, y in map(pair, range(5))]
    assert any(a != b for a, b in values)


@pytest.mark.parametrize("k", [1, 7])
def test_euclidean_neighbours_are_scikit_learns(pair, k):
    for offset in (0.0, 1e5):
        x = pair(n=80)[0] + offset
        expected = NearestNeighbors(n_neighbors=k).fit(x - x.mean(axis=0)).kneighbors()[1]
        np.testing.assert_array_equal(euclidean_neighbors(x, k).index, np.sort(expected, axis=1))


def test_euclidean_neighbours_of_near_rows_beside_a_far_one():
    """Fault: a tolerance relative to the longest row ties all the others."""
    x = np.vstack([np.random.default_rng(0).normal(size=(50, 3)), [[1e7, 0.0, 0.0]]])
    difference = np.linalg.norm(x[:50, None] - x[None, :50], axis=2)
    np.fill_diagonal(difference, np.inf)
    np.testing.assert_array_equal(
        euclidean_neighbors(x, 1).index[:50, 0], difference.argmin(axis=1)
    )


def test_euclidean_neighbours_of_repeated_rows():
    """Fault: rows that are their own neighbours where rows repeat."""
    x = np.repeat(np.random.default_rng(0).normal(size=(1200, 3)), 2, axis=0)
    index = euclidean_neighbors(x, 1).index
    assert (index[:, 0] == np.arange(2400) + np.tile([1, -1], 1200)).all()


@pytest.mark.parametrize("function", [cknna, jaccard_knn, cycle_knn])
def test_refusals(pair, function):
    x, _ = pair()
    with pytest.raises(InputError, match="0 neighbours were asked for; at least 1 is needed"):
        function(x, x, k=0)
    with pytest.raises(UndefinedMeasureError, match="39 neighbours of 40 rows are all or nearly"):
        function(x, x, k=39)


@pytest.mark.parametrize("score", [jaccard_of, cycle_of])
def test_summaries_that_do_not_match(pair, score):
    x, _ = pair()
    with pytest.raises(InputError, match="3 neighbours of 40 rows and 4 of 40 cannot be compared"):
        score(Neighbors.of(x, 3), Neighbors.of(x, 4))


@pytest.mark.parametrize(
    ("rows", "k", "error", "text"),
    [
        (np.eye(9), 0, InputError, "0 neighbours were asked for; at least 1 is needed"),
        (np.eye(9), 8, UndefinedMeasureError, "8 neighbours of 9 rows are all or nearly all"),
        (np.eye(9), 2, UndefinedMeasureError, "All rows are equally near: there are no neighbours"),
        (np.ones((9, 2)), 2, UndefinedMeasureError, "All rows are the same"),
    ],
)
def test_refusals_of_euclidean_neighbours(rows, k, error, text):
    with pytest.raises(error, match=text):
        euclidean_neighbors(rows, k)
