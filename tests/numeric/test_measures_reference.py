"""Every measure against its formula, on twelve kinds of rows, and against other libraries."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, spearmanr
from sklearn.cross_decomposition import CCA
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import NearestNeighbors

from cospace.errors import UndefinedMeasureError
from cospace.measures import (
    CATALOGUE,
    debiased_cka,
    dissimilarity,
    find,
    heldout_r2,
    imbalance,
    kernel,
    linear_cka,
    mean_cca,
    mutual_knn,
    neighborhood,
    predictive_r2,
    procrustes_distance,
    procrustes_similarity,
    pwcca,
    r2_cca,
    reconstruction,
    relative,
    ridge,
    rsa,
    shape,
    svcca,
    transport,
)

# References, from the formulas alone ----------------------------------------------------------


def centre(a):
    return a - a.mean(axis=0)


def basis(a, k=None):
    """Orthonormal basis of the centred columns; of the k leading directions where k is given."""
    u, s, _ = np.linalg.svd(centre(a), full_matrices=False)
    return u[:, : k or int(np.sum(s > 1e-6 * s[0]))]


def rho(x, y, kx=None, ky=None):
    return np.linalg.svd(basis(x, kx).T @ basis(y, ky), compute_uv=False)


def ref_linear_cka(x, y):
    n = len(x)
    h = np.eye(n) - 1 / n
    k, m = h @ x @ x.T @ h, h @ y @ y.T @ h
    return np.trace(k @ m) / np.sqrt(np.trace(k @ k) * np.trace(m @ m))


def hsic_u(k, m):
    n = len(k)
    k, m = k * (1 - np.eye(n)), m * (1 - np.eye(n))
    one = np.ones(n)
    return (
        np.trace(k @ m)
        + (one @ k @ one) * (one @ m @ one) / ((n - 1) * (n - 2))
        - 2 / (n - 2) * (one @ k @ m @ one)
    ) / (n * (n - 3))


def ref_debiased_cka(x, y):
    k, m = centre(x) @ centre(x).T, centre(y) @ centre(y).T
    return hsic_u(k, m) / np.sqrt(hsic_u(k, k) * hsic_u(m, m))


def unit_padded(x, y):
    width = max(x.shape[1], y.shape[1])
    return (
        np.pad(centre(a) / np.linalg.norm(centre(a)), ((0, 0), (0, width - a.shape[1])))
        for a in (x, y)
    )


def ref_procrustes_similarity(x, y):
    a, b = unit_padded(x, y)
    q, _ = orthogonal_procrustes(a, b)
    return np.sum((a @ q) * b)


def ref_procrustes_distance(x, y):
    a, b = unit_padded(x, y)
    q, _ = orthogonal_procrustes(a, b)
    return np.linalg.norm(a @ q - b)


def ref_mean_cca(x, y):
    return rho(x, y).mean()


def ref_r2_cca(x, y):
    u, v = basis(x), basis(y)
    return np.linalg.norm(v.T @ u) ** 2 / min(u.shape[1], v.shape[1])


def components_for(a, share):
    variance = np.linalg.svd(centre(a), compute_uv=False) ** 2
    kept = 0
    while variance[:kept].sum() < share * variance.sum():
        kept += 1
    return kept


def ref_svcca(x, y):
    return rho(x, y, components_for(x, 0.99), components_for(y, 0.99)).mean()


def ref_pwcca(x, y):
    u, v = basis(x), basis(y)
    left, correlations, _ = np.linalg.svd(u.T @ v, full_matrices=False)
    variates = u @ left
    alpha = [sum(abs(h @ column) for column in centre(x).T) for h in variates.T]
    return np.sum(alpha * correlations) / np.sum(alpha)


def ref_predictive_r2(x, y):
    a, b = centre(x), centre(y)
    fit = a @ np.linalg.lstsq(a, b, rcond=1e-6)[0]
    return 1 - np.sum((b - fit) ** 2) / np.sum(b**2)


def dissimilarities(x):
    """Rounded, so that rows that repeat give ties."""
    return np.round(1 - np.corrcoef(x)[np.triu_indices(len(x), 1)], 10)


def ref_rsa_spearman(x, y):
    return spearmanr(dissimilarities(x), dissimilarities(y)).statistic


def ref_rsa_pearson(x, y):
    return pearsonr(dissimilarities(x), dissimilarities(y)).statistic


def neighbour_sets(x, k):
    sets = []
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    for i, row in enumerate(np.round(unit @ unit.T, 11)):
        near = sorted((-cosine, j) for j, cosine in enumerate(row) if j != i)
        sets.append({j for _, j in near[:k]})
    return sets


def ref_mutual_knn(x, y, k=10):
    both = zip(neighbour_sets(x, k), neighbour_sets(y, k), strict=True)
    return np.mean([len(a & b) / k for a, b in both])


def gcv_penalty(x, y):
    """The penalty of least generalised cross-validation, by its hat matrix."""
    n = len(x)
    u, s, _ = np.linalg.svd(centre(x), full_matrices=False)
    kept = s > 1e-6 * s[0]
    u, s = u[:, kept], s[kept]
    best = None
    for penalty in [0.0, *np.logspace(-10, 1, 23)]:
        hat = (u * (s**2 / (s**2 + penalty * s[0] ** 2))) @ u.T + 1 / n
        freedom = np.trace(hat)
        if freedom > 0.9 * n:
            continue
        score = np.sum((y - hat @ y) ** 2) / (n - freedom) ** 2
        if best is None or score < best[0]:
            best = score, penalty * s[0] ** 2
    return best[1]


def held_out(x, y, predict):
    lost = total = 0.0
    for fold in range(5):
        out = np.arange(len(x)) % 5 == fold
        guess = predict(x[~out], y[~out], x[out], gcv_penalty(x[~out], y[~out]))
        lost += np.sum((y[out] - guess) ** 2)
        total += np.sum((y[out] - y[~out].mean(axis=0)) ** 2)
    return 1 - lost / total


def ridge_prediction(x, y, new, penalty):
    u, s, vt = np.linalg.svd(centre(x), full_matrices=False)
    kept = s > 1e-6 * s[0]
    u, s, vt = u[:, kept], s[kept], vt[kept]
    weights = vt.T @ np.diag(s / (s**2 + penalty)) @ u.T @ centre(y)
    return (new - x.mean(axis=0)) @ weights + y.mean(axis=0)


def ref_heldout_r2(x, y):
    return held_out(x, y, ridge_prediction)


REFERENCES = {name[4:]: f for name, f in globals().items() if name.startswith("ref_")}

# Twelve kinds of rows -----------------------------------------------------------------------------


def plain_pair(seed=7, n=90, dx=12, dy=15):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 6)) * [3, 2, 2, 1, 1, 0.5]
    x = shared @ rng.normal(size=(6, dx)) + rng.normal(size=(n, dx))
    y = shared @ rng.normal(size=(6, dy)) + rng.normal(size=(n, dy))
    return x, y


def stressed(kind):
    x, y = plain_pair()
    rng = np.random.default_rng(8)
    return {
        "centred": lambda: (centre(x), centre(y)),
        "offset": lambda: (x + 20 * rng.normal(size=12), y - 20 * rng.normal(size=15)),
        "x1e-3": lambda: (x * 1e-3, y * 1e-3),
        "x1e4": lambda: (x * 1e4, y * 1e4),
        "n<d": lambda: plain_pair(n=20, dx=40, dy=30),
        "duplicated rows": lambda: (x[np.arange(90) // 2], y[np.arange(90) // 2]),
        "constant column": lambda: (np.insert(x, 3, 0.1, axis=1), np.insert(y, 0, 7.7, axis=1)),
        "rank-deficient": lambda: (x[:, :5] @ rng.normal(size=(5, 12)), y),
        "self": lambda: (x, x.copy()),
        "dx<dy": lambda: (x[:, :4], y),
        "dx>dy": lambda: (x, y[:, :4]),
        "independent noise": lambda: (rng.normal(size=(90, 12)), rng.normal(size=(90, 15))),
    }[kind]()


KINDS = (
    "centred",
    "offset",
    "x1e-3",
    "x1e4",
    "n<d",
    "duplicated rows",
    "constant column",
    "rank-deficient",
    "self",
    "dx<dy",
    "dx>dy",
    "independent noise",
)
REFUSED = {
    "mean_cca": "correlations are 1 by dimension alone",
    "svcca": "correlations are 1 by dimension alone",
    "pwcca": "correlations are 1 by dimension alone",
    "r2_cca": "correlations are 1 by dimension alone",
    "predictive_r2": "passes through all 20 rows whatever the target",
}


def test_every_measure_has_a_reference():
    """Here, or in tests/measures beside the tests of its module."""
    modules = (
        dissimilarity,
        imbalance,
        kernel,
        neighborhood,
        reconstruction,
        relative,
        ridge,
        shape,
        transport,
    )
    elsewhere = {m.name for module in modules for m in module.MEASURES}
    assert set(REFERENCES) | elsewhere == {m.name for m in CATALOGUE}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REFERENCES)
def test_equals_its_formula(name, kind):
    measure = find(name, CATALOGUE)
    for x, y in permutations(stressed(kind)):
        a, b = x.astype(np.float32), y.astype(np.float32)
        if kind == "n<d" and name in REFUSED:
            for source, target in ((x, y), (a, b)):
                with pytest.raises(UndefinedMeasureError, match=REFUSED[name]):
                    measure(source, target)
            continue
        expected = REFERENCES[name](x, y)
        assert measure(x, y) == pytest.approx(expected, abs=1e-10, rel=0)
        if name == "mutual_knn":  # a count: rounding the rows may swap two neighbours
            expected = REFERENCES[name](a.astype(float), b.astype(float))
        assert measure(a, b) == pytest.approx(expected, abs=1e-5, rel=0)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "n<d"])
@pytest.mark.parametrize("side", [0, 1])
def test_one_side_in_float32(kind, side):
    pair = list(stressed(kind))
    measures = [find(name, CATALOGUE) for name in REFERENCES if name != "mutual_knn"]
    expected = [m(*pair) for m in measures]
    pair[side] = pair[side].astype(np.float32)
    found = [m(*pair) for m in measures]
    np.testing.assert_allclose(found, expected, atol=1e-5, rtol=0)


# Debiased CKA ---------------------------------------------------------------------------------------


def test_unbiased_hsic_is_the_sum_over_all_quadruples():
    """Fault: HSIC called unbiased whose diagonal was taken off by broadcasting."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 3)), rng.normal(size=(8, 5))
    grams = x @ x.T, y @ y.T

    def by_definition(k, m):
        terms = [
            k[i, j] * (m[i, j] + m[q, r] - 2 * m[i, q]) for i, j, q, r in permutations(range(8), 4)
        ]
        return np.mean(terms)

    k, m = grams
    expected = by_definition(k, m) / np.sqrt(by_definition(k, k) * by_definition(m, m))
    assert debiased_cka(x, y) == pytest.approx(expected, abs=1e-12)
    wide = np.hstack([x, np.zeros((8, 20))])  # the other route, by Gram matrices
    assert debiased_cka(wide, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [8, 9, 16, 32])
@pytest.mark.parametrize("widths", [(3, 5), (4, 60), (60, 50)])
def test_debiased_cka_of_independent_rows_is_zero_on_average(n, widths):
    """Fault: 'unbiased' CKA of 0.198 on 32 independent rows."""
    rng = np.random.default_rng(n)
    values = [
        debiased_cka(*(rng.normal(size=(n, d)) + rng.normal(size=d) for d in widths))
        for _ in range(300)
    ]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(len(values))
    assert min(values) < 0


# Other libraries ----------------------------------------------------------------------------------


def test_cca_agrees_with_scikit_learn():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 3))
    y = np.column_stack(
        [
            x[:, 0] + 0.1 * rng.normal(size=200),
            x[:, 1] + 0.7 * rng.normal(size=200),
            x[:, 2] + 2.5 * rng.normal(size=200),
            rng.normal(size=200),
        ]
    )
    theirs = CCA(n_components=3, scale=False, max_iter=10_000, tol=1e-14).fit(x, y)
    a, b = theirs.transform(x, y)
    correlations = [np.corrcoef(a[:, i], b[:, i])[0, 1] for i in range(3)]
    assert mean_cca(x, y) == pytest.approx(np.mean(correlations), abs=1e-6)
    assert r2_cca(x, y) == pytest.approx(np.mean(np.square(correlations)), abs=1e-6)


def test_in_sample_r2_agrees_with_scikit_learn():
    x, y = plain_pair()
    guess = LinearRegression().fit(x, y).predict(x)
    expected = 1 - np.sum((y - guess) ** 2) / np.sum(centre(y) ** 2)
    assert predictive_r2(x, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", [(90, 12, 15), (60, 50, 8), (40, 80, 5)])
def test_held_out_r2_agrees_with_scikit_learn_fold_by_fold(shape):
    n, dx, dy = shape
    x, y = plain_pair(n=n, dx=dx, dy=dy)

    def predict(seen, target, new, penalty):
        model = Ridge(alpha=penalty, solver="svd") if penalty else LinearRegression()
        return model.fit(seen, target).predict(new)

    assert heldout_r2(x, y) == pytest.approx(held_out(x, y, predict), abs=1e-9)


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_held_out_r2_takes_the_number_of_folds(folds):
    x, y = plain_pair()
    lost = total = 0.0
    for fold in range(folds):
        out = np.arange(len(x)) % folds == fold
        guess = ridge_prediction(x[~out], y[~out], x[out], gcv_penalty(x[~out], y[~out]))
        lost += np.sum((y[out] - guess) ** 2)
        total += np.sum((y[out] - y[~out].mean(axis=0)) ** 2)
    assert heldout_r2(x, y, folds=folds) == pytest.approx(1 - lost / total, abs=1e-10)


@pytest.mark.parametrize("k", [1, 5, 10, 40])
def test_mutual_knn_agrees_with_scikit_learn(k):
    x, y = plain_pair()
    near = [
        NearestNeighbors(n_neighbors=k, metric="cosine").fit(a).kneighbors(return_distance=False)
        for a in (x, y)
    ]
    expected = np.mean([len(set(a) & set(b)) / k for a, b in zip(*near, strict=True)])
    assert mutual_knn(x, y, k=k) == pytest.approx(expected, abs=1e-12)


def test_procrustes_agrees_with_scipy():
    x, y = plain_pair(dy=12)
    disparity = procrustes(x, y)[2]
    assert 1 - procrustes_similarity(x, y) ** 2 == pytest.approx(disparity, abs=1e-12)
    a, b = centre(x), centre(y)
    scale = orthogonal_procrustes(a, b)[1]
    expected = scale / np.linalg.norm(a) / np.linalg.norm(b)
    assert procrustes_similarity(x, y) == pytest.approx(expected, abs=1e-12)
    assert procrustes_distance(x, y) == pytest.approx(np.sqrt(2 - 2 * expected), abs=1e-12)


@pytest.mark.parametrize(("comparator", "theirs"), [("spearman", spearmanr), ("pearson", pearsonr)])
def test_rsa_agrees_with_scipy(comparator, theirs):
    x, y = plain_pair()
    expected = theirs(pdist(x, "correlation"), pdist(y, "correlation")).statistic
    assert rsa(x, y, comparator=comparator) == pytest.approx(expected, abs=1e-12)


# Worked by hand -------------------------------------------------------------------------------------

CROSS = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
"""Centred, X^T X = 2 I."""


def test_values_worked_by_hand():
    stretched = CROSS * [2.0, 1.0]  # Y^T Y = diag(8, 2), X^T Y = diag(4, 2)
    assert linear_cka(CROSS, stretched) == pytest.approx(20 / (8**0.5 * 68**0.5))
    assert procrustes_similarity(CROSS, stretched) == pytest.approx(6 / (4**0.5 * 10**0.5))
    expected = (2 - 2 * 6 / 40**0.5) ** 0.5
    assert procrustes_distance(CROSS, stretched) == pytest.approx(expected)
    assert predictive_r2(CROSS[:, :1], stretched) == pytest.approx(0.8)
    assert predictive_r2(stretched, CROSS[:, :1]) == pytest.approx(1.0)


def test_canonical_correlations_worked_by_hand():
    one, two, three = np.array(
        [[1.0, 1, -1, -1, 0, 0, 0, 0], [1, -1, 1, -1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, -1, -1]]
    )
    x = np.column_stack([3 * one, 4 * two])  # the second direction is the larger
    y = np.column_stack([0.6 * one + 0.8 * three, two])  # correlations 1 and 0.6
    assert mean_cca(x, y) == pytest.approx(0.8)
    assert r2_cca(x, y) == pytest.approx((1 + 0.36) / 2)
    # weights |<h, X>|: 2 * 4 for the variate along two, 2 * 3 for the one along one
    assert pwcca(x, y) == pytest.approx((8 * 1 + 6 * 0.6) / 14)
    # weighting y: along two 2; along its first column 2 as well
    assert pwcca(y, x) == pytest.approx((2 * 1 + 2 * 0.6) / 4)
    assert predictive_r2(x, y) == pytest.approx((4 * 0.36 + 4) / 8)


def test_rsa_worked_by_hand():
    x = np.array([[0.0, 1, 2], [0, 1, 2], [2, 1, 0]])  # dissimilarities 0, 2, 2
    y = np.array([[0.0, 1, 2], [2, 1, 0], [2, 1, 0]])  # 2, 2, 0
    assert rsa(x, y) == pytest.approx(-0.5)
    assert rsa(x, y, comparator="pearson") == pytest.approx(-0.5)


def test_mutual_knn_worked_by_hand():
    angles = np.radians([0, 10, 25, 180, 195, 230])
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    # nearest in x: 1, 0, 1, 4, 3, 4; with rows 2 and 5 swapped in y: 1, 0, 4, 4, 3, 1
    assert mutual_knn(x, x[[0, 1, 5, 3, 4, 2]], k=1) == pytest.approx(4 / 6)


def test_held_out_r2_worked_by_hand():
    x = np.tile([[1.0], [-1.0]], (5, 1))
    assert heldout_r2(x, 5 - 2 * x) == pytest.approx(1.0, abs=1e-9)
    # a constant source column beside it changes nothing, a target beyond reach cannot be had
    assert heldout_r2(np.insert(x, 0, 0.1, axis=1), 5 - 2 * x) == pytest.approx(1.0, abs=1e-9)


def test_the_catalogue_holds_the_functions():
    x, y = plain_pair()
    assert find("rsa_pearson", CATALOGUE)(x, y) == partial(rsa, comparator="pearson")(x, y)
    assert find("svcca", CATALOGUE)(x, y) == svcca(x, y)
