"""Every measure of the conformance page from its formula, in float64, without our library.

Slow and plain on purpose: n x n matrices, full decompositions, loops over rows. ``None`` stands for
'not defined': where correlations are 1 by dimension alone, no number is right.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

RTOL = 1e-6


def centred(a):
    return a - a.mean(axis=0)


def basis(a, keep=None):
    u, s, _ = np.linalg.svd(centred(a), full_matrices=False)
    return u[:, : keep or int(np.sum(s > RTOL * s[0]))]


def correlations(u, v):
    if u.shape[1] + v.shape[1] > len(u) - 1:
        return None
    return np.clip(np.linalg.svd(u.T @ v, compute_uv=False), 0, 1)


def linear_cka(x, y):
    n = len(x)
    h = np.eye(n) - 1 / n
    k, m = h @ x @ x.T @ h, h @ y @ y.T @ h
    return np.trace(k @ m) / np.sqrt(np.trace(k @ k) * np.trace(m @ m))


def _hsic(k, m):
    n = len(k)
    one = np.ones(n)
    ends = (one @ k @ one) * (one @ m @ one) / ((n - 1) * (n - 2))
    return (np.trace(k @ m) + ends - 2 / (n - 2) * (one @ k @ m @ one)) / (n * (n - 3))


def debiased_cka(x, y):
    off = 1 - np.eye(len(x))
    k, m = (centred(a) @ centred(a).T * off for a in (x, y))
    return _hsic(k, m) / np.sqrt(_hsic(k, k) * _hsic(m, m))


def mean_cca(x, y):
    rho = correlations(basis(x), basis(y))
    return None if rho is None else rho.mean()


def _reaching(a, share=0.99):
    variance = np.linalg.svd(centred(a), compute_uv=False) ** 2
    kept = 1
    while variance[:kept].sum() < share * variance.sum():
        kept += 1
    return kept


def svcca(x, y):
    rho = correlations(basis(x, _reaching(x)), basis(y, _reaching(y)))
    return None if rho is None else rho.mean()


def pwcca(x, y):
    u, v = basis(x), basis(y)
    if correlations(u, v) is None:
        return None
    left, rho, _ = np.linalg.svd(u.T @ v, full_matrices=False)
    weights = np.array([np.abs(h @ centred(x)).sum() for h in (u @ left).T])
    return weights @ rho / weights.sum()


def procrustes_similarity(x, y):
    a, b = (centred(t) / np.linalg.norm(centred(t)) for t in (x, y))
    return np.linalg.svd(a.T @ b, compute_uv=False).sum()


def _dissimilarities(x):
    return (1 - np.corrcoef(x))[np.triu_indices(len(x), 1)]


def rsa_pearson(x, y):
    return np.corrcoef(_dissimilarities(x), _dissimilarities(y))[0, 1]


def rsa_spearman(x, y):
    ranks = (rankdata(np.round(_dissimilarities(t), 12)) for t in (x, y))
    return np.corrcoef(*ranks)[0, 1]


def _near(x, k):
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = np.round(unit @ unit.T, 12)
    np.fill_diagonal(cosines, -np.inf)
    return [set(np.argsort(-row, kind="stable")[:k].tolist()) for row in cosines]


def mutual_knn(x, y, k=10):
    return np.mean([len(a & b) / k for a, b in zip(_near(x, k), _near(y, k), strict=True)])


def _weights(x, k, reg):
    n = len(x)
    x = centred(x)
    table = np.zeros((n, n))
    for i, row in enumerate(x):
        apart = np.round(np.linalg.norm(x - row, axis=1) / np.abs(x).max(), 12)
        apart[i] = np.inf
        near = np.argsort(apart, kind="stable")[:k]
        z = x[near] - row
        gram = z @ z.T
        weights = np.linalg.solve(gram + reg * np.trace(gram) * np.eye(k), np.ones(k))
        table[i, near] = weights / weights.sum()
    return table


def lle_similarity(x, y, k=10, reg=1e-3):
    a, b = _weights(x, k, reg), _weights(y, k, reg)
    return np.mean(np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1))


def two_nn_dimension(x, y):
    """Of x alone; repeated rows count once."""
    x = np.unique(x, axis=0)
    apart = np.sort(np.linalg.norm(x[:, None] - x[None, :], axis=2), axis=1)
    mu = np.sort(np.log(apart[:, 2] / apart[:, 1]))
    n = len(x)
    keep = min(int(0.9 * n + 1e-9), n - 1)
    rise = -np.log(1 - np.arange(1, keep + 1) / n)
    return mu[:keep] @ rise / (mu[:keep] @ mu[:keep])


REFERENCES = {
    f.__name__: f
    for f in (
        linear_cka,
        debiased_cka,
        mean_cca,
        svcca,
        pwcca,
        procrustes_similarity,
        rsa_pearson,
        rsa_spearman,
        mutual_knn,
        lle_similarity,
        two_nn_dimension,
    )
}
