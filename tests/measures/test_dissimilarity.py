from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.stats
from scipy.spatial.distance import pdist, squareform
from sklearn.covariance import ledoit_wolf

from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.measures import linear_cka, rsa
from cospace.measures.dissimilarity import (
    COMPARATORS,
    DISSIMILARITIES,
    MEASURES,
    Levels,
    dissimilarities,
    representational_similarity,
    tau_a,
)
from cospace.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_claims(measure):
    assert check_measure(measure, rng=3) is None


def entries(x, dissimilarity):
    if dissimilarity != "mahalanobis":
        return pdist(x, dissimilarity)
    covariance, shrinkage = ledoit_wolf(x)
    assert shrinkage > 1e-6
    return pdist(x, "mahalanobis", VI=np.linalg.inv(covariance))


def covariance_of_distances(n):
    """The covariance of squared distances under equal noise: (c_ij . c_kl)^2 of contrasts c."""
    contrasts = [np.eye(n)[i] - np.eye(n)[j] for i, j in combinations(range(n), 2)]
    return (np.array(contrasts) @ np.array(contrasts).T) ** 2


def compared(a, b, comparator):
    if comparator == "pearson":
        return scipy.stats.pearsonr(a, b).statistic
    if comparator == "spearman":
        return scipy.stats.spearmanr(a, b).statistic
    if comparator == "kendall":
        first, second = np.triu_indices(len(a), 1)
        return np.mean(np.sign(a[first] - a[second]) * np.sign(b[first] - b[second]))
    n = round((1 + np.sqrt(1 + 8 * len(a))) / 2)
    inverse = np.linalg.inv(covariance_of_distances(n))
    return a @ inverse @ b / np.sqrt(a @ inverse @ a * (b @ inverse @ b))


@pytest.mark.parametrize("dissimilarity", DISSIMILARITIES)
@pytest.mark.parametrize("comparator", COMPARATORS)
@pytest.mark.parametrize("shape", [(20, 5, 7), (15, 30, 4)])
def test_equals_its_formula(pair, dissimilarity, comparator, shape):
    n, dx, dy = shape
    x, y = pair(n=n, dx=dx, dy=dy)
    a, b = entries(x, dissimilarity), entries(y, dissimilarity)
    if comparator == "whitened" and dissimilarity in ("euclidean", "mahalanobis"):
        a, b = a**2, b**2
    found = representational_similarity(x, y, dissimilarity=dissimilarity, comparator=comparator)
    assert found == pytest.approx(compared(a, b, comparator), abs=1e-10)


def test_the_covariance_of_squared_distances_is_what_noise_makes():
    """4 on the diagonal, 1 where two entries share a row; in units of a simulation's noise."""
    n = 5
    v = covariance_of_distances(n)
    assert set(v.ravel()) == {0.0, 1.0, 4.0}
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(40_000, n, 1))
    squared = np.stack(
        [np.sum((noise[:, i] - noise[:, j]) ** 2, axis=1) for i, j in combinations(range(n), 2)]
    )
    np.testing.assert_allclose(np.cov(squared) / 2, v, atol=0.25)


def test_whitened_cosine_is_cka(pair):
    x, y = pair()
    found = representational_similarity(x, y, dissimilarity="euclidean", comparator="whitened")
    assert found == pytest.approx(linear_cka(x, y), abs=1e-12)
    unit = [z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y)]
    found = representational_similarity(x, y, dissimilarity="cosine", comparator="whitened")
    assert found == pytest.approx(linear_cka(*unit), abs=1e-12)


def test_correlation_is_rsa(pair):
    x, y = pair()
    for comparator in ("pearson", "spearman"):
        found = representational_similarity(
            x, y, dissimilarity="correlation", comparator=comparator
        )
        assert found == pytest.approx(rsa(x, y, comparator=comparator), abs=1e-12)


def test_ties_count_for_neither_in_tau_a():
    """Repeated rows tie dissimilarities: tau-a of a space with itself is below 1, tau-b is not."""
    x = np.repeat(np.random.default_rng(0).normal(size=(6, 4)), 2, axis=0)
    found = representational_similarity(x, x, dissimilarity="cosine", comparator="kendall")
    m = 12 * 11 // 2
    # 6 of the entries are 0, and the 15 pairs of different rows occur 4 times each.
    tied = 6 * 5 / 2 + 15 * 4 * 3 / 2
    assert found == pytest.approx(1 - tied / (m * (m - 1) / 2), abs=1e-12)


@pytest.mark.parametrize("variant", ["b", "c"])
def test_without_ties_all_of_kendalls_variants_agree(pair, variant):
    x, y = pair()
    expected = scipy.stats.kendalltau(pdist(x), pdist(y), variant=variant).statistic
    found = representational_similarity(x, y, dissimilarity="euclidean", comparator="kendall")
    assert found == pytest.approx(expected, abs=1e-12)


def test_ties_are_ties_whatever_the_rounding():
    """Repeated rows with a common offset: distances that should be 0 must be tied at 0."""
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(10, 5)), 2, axis=0) + 1e3
    apart = dissimilarities(x, "euclidean")
    assert (apart[np.arange(0, 20, 2), np.arange(1, 20, 2)] == 0.0).all()
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    y = rng.normal(size=(20, 4))
    for comparator in ("spearman", "kendall"):
        before, after = (
            representational_similarity(z, y, dissimilarity="euclidean", comparator=comparator)
            for z in (x, x @ turn)
        )
        assert before == pytest.approx(after, abs=1e-12)


def test_a_large_common_offset_changes_no_distance(pair):
    x, _ = pair(n=30)
    for dissimilarity in ("euclidean", "mahalanobis"):
        near, far = (dissimilarities(z, dissimilarity) for z in (x, x + 1e6))
        np.testing.assert_allclose(far, near, rtol=1e-6, atol=1e-8)


def test_distances_are_in_units_of_the_largest_entry(pair):
    x, _ = pair(n=30)
    peak = np.abs(x - x.mean(axis=0)).max()
    np.testing.assert_allclose(dissimilarities(x, "euclidean") * peak, squareform(pdist(x)))


def test_mahalanobis_of_a_singular_covariance_is_finite():
    """Two rows of each sign: the rule of Ledoit and Wolf shrinks by nothing."""
    x = np.outer([1.0, -1.0, 1.0, -1.0], [1.0, 2.0])
    assert np.isfinite(dissimilarities(x, "mahalanobis")).all()
    wide = np.random.default_rng(0).normal(size=(10, 40))
    assert np.isfinite(dissimilarities(wide, "mahalanobis")).all()


def test_of_independent_rows_only_the_whitened_cosine_is_high():
    rng = np.random.default_rng(0)
    draws = [rng.normal(size=(2, 25, 6)) for _ in range(100)]
    for comparator in COMPARATORS:
        values = np.array(
            [
                representational_similarity(x, y, dissimilarity="cosine", comparator=comparator)
                for x, y in draws
            ]
        )
        if comparator == "whitened":
            assert values.min() > 0.05
        else:
            assert abs(values.mean()) < 3 * values.std() / 10


ODD = np.vstack([np.random.default_rng(0).normal(size=(5, 3)), np.full((1, 3), 0.1)])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x: representational_similarity(x, x, dissimilarity="cosin"),
            UnknownNameError,
            "'cosin' is not a dissimilarity. Did you mean 'cosine'?",
        ),
        (
            lambda x: representational_similarity(x, x, comparator="tau"),
            UnknownNameError,
            "'tau' is not a comparator of dissimilarities. Known: kendall, pearson, spearman, whitened",
        ),
        (
            lambda x: representational_similarity(x[:2], x[:2]),
            UndefinedMeasureError,
            r"RSA needs at least 3 rows \(3 dissimilarities\), got 2",
        ),
        (
            lambda x: dissimilarities(ODD, "correlation"),
            UndefinedMeasureError,
            "Row 5 has all coordinates equal: it has no correlation with others",
        ),
        (
            lambda x: dissimilarities(np.diag([1.0, 1.0, 0.0]), "cosine"),
            UndefinedMeasureError,
            "Row 2 is zero: it has no direction, so no cosine with others",
        ),
        (
            lambda x: representational_similarity(np.eye(9), np.eye(9)),
            UndefinedMeasureError,
            "All rows relate alike: there is nothing to compare",
        ),
        (
            lambda x: tau_a(Levels.of(x, "cosine"), Levels.of(x[:30], "cosine")),
            InputError,
            "Dissimilarities of 40 and 30 rows cannot be compared",
        ),
    ],
)
def test_refusals(pair, call, error, text):
    with pytest.raises(error, match=text):
        call(pair()[0])
