"""Measures of how every row relates to every other: RSA and neighbour overlap.

Both are inner products of unit vectors of relations, so a grid of spaces is one matrix product.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, double, to_numpy
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.measures.pair import paired
from cospace.measures.ranking import Ranking, upper
from cospace.summaries import TIE, Neighbors, Relation

__all__ = ["mutual_knn", "neighbor_relation", "overlap_of", "rsa", "rsa_relation"]

Matrix = npt.NDArray[np.float64]

COMPARATORS = ("pearson", "spearman")
_FEW = 256
"""Rows below which all dissimilarities are held at once."""
_APART = 1e-12
"""Least mean dissimilarity that is more than rounding of unit rows."""
_VARIES = 1e-4
"""Least variance of dissimilarities, relative to their squared mean, that sums over rows resolve."""


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
    a, b = paired(x, y)
    if a.shape[0] < _FEW or comparator not in COMPARATORS:
        return rsa_relation(a, comparator).inner(rsa_relation(b, comparator))
    source, target = _unit_rows(a), _unit_rows(b)
    value = _spearman(source, target) if comparator == "spearman" else _pearson(source, target)
    if value is None:  # too few rows, or too much alike, for sums over rows
        return rsa_relation(a, comparator).inner(rsa_relation(b, comparator))
    return min(max(value, -1.0), 1.0)


def _spearman(source: Matrix, target: Matrix) -> float:
    """Correlation of ranks: one space is sorted, its ranks are kept, then the other is."""
    first = _ranking(source)
    kept, own = first.ranks(), first.spread()
    del first
    second = _ranking(target)
    across = sum(float(ranks @ kept[pairs]) for pairs, ranks in second.chunks())
    return across / math.sqrt(own * second.spread())


def _ranking(z: Matrix) -> Ranking:
    made = Ranking.of(z)
    if made is None:
        raise UndefinedMeasureError("All rows relate alike: there is nothing to compare.")
    return made


def _pearson(source: Matrix, target: Matrix) -> float | None:
    """Correlation of dissimilarities from sums over rows, without the n^2 of them.

    With unit rows z, w = z - mean(z), q = |w|^2 and Q = sum q, dissimilarity ij is
    (q_i + q_j) / 2 - w_i . w_j, and the covariance of two of them over all pairs, times their
    number, is n / 4 (q - Q / n) . (p - P / n) + ||W^T V||_F^2 / 2 - Q P / (2 (n - 1)). None where
    this loses digits, that is where dissimilarities hardly vary about their mean, or where rows are
    too few to gain by it.
    """
    n = len(source)
    if n <= max(source.shape[1], target.shape[1]):
        return None
    w, v = source - source.mean(axis=0), target - target.mean(axis=0)
    q, p = (np.linalg.vecdot(rows, rows) for rows in (w, v))

    def covariance(
        a: Matrix, b: Matrix, square_a: npt.NDArray[np.float64], square_b: npt.NDArray[np.float64]
    ) -> float:
        totals = float(square_a.sum()), float(square_b.sum())
        free = square_a - totals[0] / n, square_b - totals[1] / n
        inner = float(np.linalg.norm(a.T @ b)) ** 2
        return n / 4 * float(free[0] @ free[1]) + inner / 2 - totals[0] * totals[1] / (2 * (n - 1))

    own = covariance(w, w, q, q), covariance(v, v, p, p)
    means = [float(s.sum()) / (n - 1) for s in (q, p)]
    pairs = n * (n - 1) / 2
    varied = (c >= _VARIES * pairs * m * m for c, m in zip(own, means, strict=True))
    if min(means) < _APART or not all(varied):
        return None
    return covariance(w, v, q, p) / math.sqrt(own[0] * own[1])


def _unit_rows(rows: Array) -> Matrix:
    """Rows less their mean over coordinates, at unit length: inner products are correlations."""
    x = to_numpy(double(rows))
    z = x - x.mean(axis=1, keepdims=True)
    size = np.linalg.norm(z, axis=1, keepdims=True)
    flat = size[:, 0] <= 1e-12 * np.linalg.norm(x, axis=1)
    if flat.any():
        raise UndefinedMeasureError(
            f"Row {int(np.flatnonzero(flat)[0])} has all coordinates equal: it has no correlation with others."
        )
    unit: Matrix = z / size
    return unit


def rsa_relation(rows: Array, comparator: str = "spearman") -> Relation:
    """Relation whose inner product is ``rsa``."""
    if comparator not in COMPARATORS:
        raise UnknownNameError.among(comparator, COMPARATORS, "comparator of RSA")
    n = rows.shape[0]
    if n < 3:
        raise UndefinedMeasureError(f"RSA needs at least 3 rows (3 dissimilarities), got {n}.")
    z = _unit_rows(rows)
    entries: npt.NDArray[np.float64]
    if comparator == "spearman":
        entries = _ranking(z).ranks().astype(np.float64)
    else:
        entries = np.concatenate([values for _, values in upper(z)])
        if np.ptp(entries) <= TIE:
            raise UndefinedMeasureError("All rows relate alike: there is nothing to compare.")
        entries -= entries.mean()
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = entries
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
    a, b = paired(x, y)
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
