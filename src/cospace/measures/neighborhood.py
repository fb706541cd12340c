"""Measures of who is near whom: CKNNA, Jaccard overlap, matches and cycles of neighbours.

Neighbours are by cosine similarity, the row itself excluded, as in ``mutual_knn``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, double, to_numpy
from cospace.errors import InputError
from cospace.measures.base import Measure
from cospace.measures.pair import paired, related
from cospace.measures.relational import mutual_knn, neighbor_relation, overlap_of
from cospace.summaries import ROUNDING, Gram, Neighbors, Relation

__all__ = ["MEASURES", "cknna", "cycle_knn", "jaccard_knn", "nearest_match"]

Counts = npt.NDArray[np.int64]


def cknna(x: Array, y: Array, *, k: int = 10) -> float:
    """CKA of near rows alone: alignment of inner products with the k nearest neighbours.

    ``A(K, L) / sqrt(A(K, K) A(L, L))`` with ``A(K, L) = sum_ij a_ij K_ij L_ij``, K and L the
    centred Gram matrices of the rows at unit length, and a_ij = 1 where row j is among the k
    nearest of row i in both spaces (in A(K, K): in K's own), else 0.

    Equivalent to ``linear_cka`` of unit rows without the diagonal, were k to reach n - 1.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    k
        Number of neighbours.

    Returns
    -------
    float
        In [-1, 1]; 1 means the same neighbours at the same inner products; by chance about
        k / (n - 1). Invariant to isotropic scale and rotation, not to translation. Exact search;
        cost n^2 d a space, n^2 a pair (n k would do; a grid is one product).

    Raises
    ------
    InputError
        For k < 1.
    UndefinedMeasureError
        For k >= n - 1, a row of zeros, or rows that are all equally near.

    References
    ----------
    Huh et al. 2024 (there also in a form with unbiased HSIC).

    Examples
    --------
    Two clusters whose neighbours all change sides:

    >>> x = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> y = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]
    >>> round(cknna(x, x, k=1), 12), cknna(x, y, k=1)
    (1.0, 0.0)
    """
    return related(partial(cknna_relation, k=k), x, y)


def cknna_relation(rows: Array, k: int = 10) -> Relation:
    """Relation whose inner product is ``cknna``."""
    x = to_numpy(double(rows))
    near = Neighbors.of(x, k)
    inner = Gram.of(x / np.linalg.norm(x, axis=1, keepdims=True)).k
    masked = inner * near.adjacency()
    if np.abs(masked).max() <= ROUNDING * np.abs(inner).max():
        masked[:] = 0.0
    return Relation.directed(masked)


def jaccard_knn(x: Array, y: Array, *, k: int = 10) -> float:
    """Mean Jaccard index of the k nearest neighbours of the same row in the two spaces.

    ``mean_i |N_x(i) & N_y(i)| / |N_x(i) | N_y(i)|``; of m shared neighbours m / (2 k - m). Repeats
    are neighbours like any other: a row is excluded by its number, never by its place.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    k
        Number of neighbours.

    Returns
    -------
    float
        In [0, 1]; 1 means the same neighbours everywhere; by chance about p / (2 - p) with
        p = k / (n - 1). Invariant to isotropic scale and rotation, not to translation. Exact
        search; cost n^2 d a space, n k a pair.

    Raises
    ------
    InputError
        For k < 1.
    UndefinedMeasureError
        For k >= n - 1, a row of zeros, or rows that are all equally near.

    References
    ----------
    Wang et al. 2022; Klabunde et al. 2025 (ReSi).

    Examples
    --------
    Directions at 0, 10, 25 and 90 degrees, the last two swapped in the target: of its two
    neighbours every row keeps one, which is one of three in all.

    >>> import numpy as np
    >>> at = np.radians([0.0, 10.0, 25.0, 90.0])
    >>> x = np.stack([np.cos(at), np.sin(at)], axis=1)
    >>> jaccard_knn(x, x[[0, 1, 3, 2]], k=2) == 1 / 3
    True
    """
    a, b = paired(x, y)
    return jaccard_of(Neighbors.of(a, k), Neighbors.of(b, k))


def jaccard_of(source: Neighbors, target: Neighbors) -> float:
    """``jaccard_knn`` from two summaries."""
    n, k = _shape(source, target)
    base = np.arange(n)[:, None] * n
    both = np.intersect1d(source.index + base, target.index + base, assume_unique=True)
    shared = np.bincount(both // n, minlength=n)
    return float(np.mean(shared / (2 * k - shared)))


def cycle_knn(x: Array, y: Array, *, k: int = 10) -> float:
    """Share of rows that a step to a neighbour there and a step to a neighbour here lead back to.

    ``mean_i [i in N_y(j) for some j in N_x(i)]``: from row i to one of its k nearest neighbours in
    the source, and from that row to one of its k nearest in the target.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), in which the first step is made, and of the target,
        shape (n, d_y), in which the second one must return.
    k
        Number of neighbours.

    Returns
    -------
    float
        In [0, 1]; high means alike; not symmetric. A space against itself gives 1 where every row
        is a neighbour of one of its own neighbours; a row that is nobody's neighbour cannot be
        returned to, whatever the spaces. By chance about ``1 - (1 - k / (n - 1))^k``. Invariant to
        isotropic scale and rotation, not to translation. Exact search; cost n^2 d a space, n k^2
        a pair.

    Raises
    ------
    InputError
        For k < 1.
    UndefinedMeasureError
        For k >= n - 1, a row of zeros, or rows that are all equally near.

    References
    ----------
    Huh et al. 2024, in the appendix on other measures of alignment.

    Examples
    --------
    >>> x = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]]
    >>> y = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]
    >>> cycle_knn(x, x, k=1), cycle_knn(x, y, k=1)
    (1.0, 0.0)
    """
    a, b = paired(x, y)
    return cycle_of(Neighbors.of(a, k), Neighbors.of(b, k))


def cycle_of(source: Neighbors, target: Neighbors) -> float:
    """``cycle_knn`` from two summaries."""
    n, k = _shape(source, target)
    # A cycle is an edge i -> j of the source whose reverse j -> i is one of the target.
    there = np.repeat(np.arange(n), k) * n + source.index.ravel()
    back = target.index.ravel() * n + np.repeat(np.arange(n), k)
    closed = np.intersect1d(there, back, assume_unique=True)
    return float(len(np.unique(closed // n)) / n)


def _shape(source: Neighbors, target: Neighbors) -> tuple[int, int]:
    if source.index.shape != target.index.shape:
        (n, k), (m, j) = source.index.shape, target.index.shape
        raise InputError(f"{k} neighbours of {n} rows and {j} of {m} cannot be compared.")
    n, k = source.index.shape
    return n, k


def nearest_match(x: Array, y: Array) -> float:
    """Share of rows whose nearest other row is the same in the two spaces.

    Equivalent to ``mutual_knn`` with k = 1: the strictest question about neighbours, and by chance
    the rarest to be met, ``1 / (n - 1)``.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).

    Returns
    -------
    float
        In [0, 1]; 1 means the same nearest row everywhere. Neighbours are by cosine similarity, the
        row itself excluded; invariant to isotropic scale and rotation, not to translation. Cost
        n^2 d a space, n a pair.

    Raises
    ------
    UndefinedMeasureError
        For n <= 2, a row of zeros, or rows that are all equally near.

    Examples
    --------
    The last row, nearest to the third before, has moved to the second; the third still is nearest
    to the last:

    >>> x = [[1.0, 0.0], [1.0, 0.1], [0.1, 1.0], [0.0, 1.0]]
    >>> nearest_match(x, x), nearest_match(x, [*x[:3], [1.0, 0.3]])
    (1.0, 0.75)
    """
    return mutual_knn(x, y, k=1)


_TURN = frozenset({"scaling", "orthogonal"})

MEASURES: tuple[Measure, ...] = (
    Measure(
        name="cknna",
        title="CKNNA (k = 10)",
        function=cknna,
        kind="similarity",
        bounds=(-1.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=_TURN,
        summary="CKA of each text with its 10 nearest neighbours alone, as far as both spaces have them.",
        reference="Huh et al. 2024",
        cost="n² d a space, n² a pair",
        needs="neighbours",
        summarise=cknna_relation,
        score=Relation.inner,
        relation=cknna_relation,
        arrays="numpy",
    ),
    Measure(
        name="nearest_match",
        title="Match of nearest neighbours",
        function=nearest_match,
        kind="similarity",
        bounds=(0.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=_TURN,
        summary="Share of texts whose nearest neighbour is the same in both spaces.",
        reference="Huh et al. 2024, with k = 1",
        cost="n² d a space, n a pair",
        needs="neighbours",
        summarise=partial(Neighbors.of, k=1),
        score=overlap_of,
        relation=partial(neighbor_relation, k=1),
        arrays="numpy",
    ),
    Measure(
        name="jaccard_knn",
        title="Jaccard overlap of neighbours (k = 10)",
        function=jaccard_knn,
        kind="similarity",
        bounds=(0.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=_TURN,
        summary="Neighbours shared by both spaces as a part of those in either, 10 nearest of each text.",
        reference="Wang et al. 2022; Klabunde et al. 2025",
        cost="n² d a space, n k a pair",
        needs="neighbours",
        summarise=Neighbors.of,
        score=jaccard_of,
        arrays="numpy",
    ),
    Measure(
        name="cycle_knn",
        title="Cycles of neighbours (k = 10)",
        function=cycle_knn,
        kind="similarity",
        bounds=(0.0, 1.0),
        identical=None,
        symmetric=False,
        invariant_to=_TURN,
        summary="Share of texts that a step to a neighbour in the source and one in the target lead back to.",
        reference="Huh et al. 2024",
        cost="n² d a space, n k a pair",
        needs="neighbours",
        summarise=Neighbors.of,
        score=cycle_of,
        arrays="numpy",
    ),
)
