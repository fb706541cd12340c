"""The bare BLAS and LAPACK calls that each formula needs, on rows that are prepared already."""

from __future__ import annotations

import numpy as np

from benchmarks.planted import Pair


def prepared(name: str, x: np.ndarray, y: np.ndarray) -> Pair:
    """Rows centred, or of unit length, as the measure compares them; not part of the bare cost."""
    if name == "mutual_knn":
        return tuple(rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, y))
    if name.startswith("rsa"):
        free = (rows - rows.mean(axis=1, keepdims=True) for rows in (x, y))
        return tuple(z / np.linalg.norm(z, axis=1, keepdims=True) for z in free)
    return tuple(rows - rows.mean(axis=0) for rows in (x, y))


def products(a, b):
    """Three products of the tables."""
    return a.T @ b, a.T @ a, b.T @ b


def singular(a, b):
    """One product of the tables, and the singular values of the result."""
    return np.linalg.svd((a.T @ b).astype(np.float64), compute_uv=False)


def bases(a, b):
    """An orthonormal basis of either table, their product, and its singular values."""
    return np.linalg.svd(np.linalg.qr(a)[0].T @ np.linalg.qr(b)[0], compute_uv=False)


def weighted_bases(a, b):
    """The same with singular vectors, and the source in its variates."""
    q = np.linalg.qr(a)[0]
    left = np.linalg.svd(q.T @ np.linalg.qr(b)[0])[0]
    return (q @ left).T @ a


def grams(a, b):
    """All products of rows, a block of rows at a time."""
    for rows in (a, b):
        for start in range(0, len(rows), 1024):
            rows[start : start + 1024] @ rows.T


def sorted_grams(a, b):
    """All products of rows, and the order of those above the diagonal."""
    for rows in (a, b):
        np.argsort((rows @ rows.T)[np.triu_indices(len(rows), 1)])


BARE = {
    "linear_cka": products,
    "debiased_cka": products,
    "procrustes_similarity": singular,
    "mean_cca": bases,
    "pwcca": weighted_bases,
    "rsa_pearson": grams,
    "rsa_spearman": sorted_grams,
    "mutual_knn": grams,
}
