"""Measures of how every row relates to every other: RSA and neighbour overlap.

Both are inner products of unit vectors of relations, so a grid of spaces is one matrix product.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, as_rows, double, to_numpy
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.summaries import TIE, Neighbors, Relation

__all__ = ["mutual_knn", "neighbor_relation", "overlap_of", "rsa", "rsa_relation"]


def rsa(x: Array, y: Array, *, comparator: Literal["pearson", "spearman"] = "spearman") -> float:
    """Representational similarity analysis: correlation of the two dissimilarity matrices.

    Dissimilarity of rows i and j: ``1 - corr(row i, row j)`` over coordinates. The value is the
    Pearson or Spearman correlation (average ranks on ties, to 1e-14) of the n (n - 1) / 2 entries
    above the diagonals.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    comparator
        ``spearman`` or ``pearson``.

    Returns
    -------
    float
        In [-1, 1]; 1 means the same (order of) dissimilarities; 0 on average by chance.
        Invariant to isotropic scale and to the order of coordinates; not to translation or
        rotation, since the correlation takes the mean over coordinates. Cost n^2 d a space
        (and n^2 log n for ranks), n^2 a pair.

    Raises
    ------
    UndefinedMeasureError
        For a row whose coordinates are all equal, fewer than 3 rows, or dissimilarities that are
        all equal.

    References
    ----------
    Kriegeskorte et al. 2008.

    Examples
    --------
    >>> x = [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [1.0, 3.0, 2.0]]
    >>> round(rsa(x, [[10 * v for v in row] for row in x]), 12)
    1.0
    """
    a, b = _pair(x, y)
    return rsa_relation(a, comparator).inner(rsa_relation(b, comparator))


def rsa_relation(rows: Array, comparator: str = "spearman") -> Relation:
    """Relation whose inner product is ``rsa``."""
    if comparator not in ("pearson", "spearman"):
        raise UnknownNameError.among(comparator, ("pearson", "spearman"), "comparator of RSA")
    x = to_numpy(double(rows))
    n = len(x)
    if n < 3:
        raise UndefinedMeasureError(f"RSA needs at least 3 rows (3 dissimilarities), got {n}.")
    z = x - x.mean(axis=1, keepdims=True)
    size = np.linalg.norm(z, axis=1, keepdims=True)
    flat = size[:, 0] <= 1e-12 * np.linalg.norm(x, axis=1)
    if flat.any():
        raise UndefinedMeasureError(
            f"Row {int(np.flatnonzero(flat)[0])} has all coordinates equal: it has no correlation with others."
        )
    z /= size
    above = np.triu_indices(n, 1)
    entries: npt.NDArray[np.float64] = 1.0 - (z @ z.T)[above]
    if np.ptp(entries) <= TIE:
        raise UndefinedMeasureError("All rows relate alike: there is nothing to compare.")
    if comparator == "spearman":
        entries = _ranks(entries)
    entries = entries - entries.mean()
    matrix = np.zeros((n, n))
    matrix[above] = entries
    return Relation.symmetric(matrix, interval="pairs")


def mutual_knn(x: Array, y: Array, *, k: int = 10) -> float:
    """Mean overlap of the k nearest neighbours of the same row in the two spaces.

    ``mean_i |N_x(i) & N_y(i)| / k``, neighbours by cosine similarity, the row itself excluded.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    k
        Number of neighbours.

    Returns
    -------
    float
        In [0, 1]; 1 means the same neighbours everywhere; k / (n - 1) by chance. Invariant to
        isotropic scale and rotation, not to translation. Exact search; cost n^2 d a space,
        n k a pair.

    Raises
    ------
    UndefinedMeasureError
        For k >= n - 1, a row of zeros, or rows that are all equally near.
    InputError
        For k < 1.

    References
    ----------
    Huh et al. 2024, appendix on mutual nearest neighbours.

    Examples
    --------
    >>> x = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> y = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]
    >>> mutual_knn(x, x, k=1), mutual_knn(x, y, k=1)
    (1.0, 0.0)
    """
    a, b = _pair(x, y)
    return overlap_of(Neighbors.of(a, k), Neighbors.of(b, k))


def overlap_of(source: Neighbors, target: Neighbors) -> float:
    """``mutual_knn`` from two summaries."""
    if source.index.shape != target.index.shape:
        (n, k), (m, j) = source.index.shape, target.index.shape
        raise InputError(f"{k} neighbours of {n} rows and {j} of {m} cannot be compared.")
    n, k = source.index.shape
    base = np.arange(n)[:, None] * n
    both = np.intersect1d(source.index + base, target.index + base, assume_unique=True)
    return float(len(both) / (n * k))


def neighbor_relation(rows: Array, k: int = 10) -> Relation:
    """Relation whose inner product is ``mutual_knn``."""
    return Relation.directed(Neighbors.of(rows, k).adjacency())


def _ranks(entries: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Average ranks; what differs by rounding alone, as with repeated rows, is tied."""
    order = np.argsort(entries)
    level = np.concatenate([[0], np.cumsum(np.diff(entries[order]) > TIE)])
    size = np.bincount(level)
    ranks = np.empty(len(entries))
    ranks[order] = (np.cumsum(size) - (size - 1) / 2)[level]
    return ranks


def _pair(x: Array, y: Array) -> tuple[Array, Array]:
    a, b = as_rows(x, name="source"), as_rows(y, name="target")
    if a.shape[0] != b.shape[0]:
        raise RowMismatchError(
            f"source has {a.shape[0]} rows and target has {b.shape[0]}. Row i must be the same text in both."
        )
    return a, b
