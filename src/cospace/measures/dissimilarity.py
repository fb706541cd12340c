"""RSA with other dissimilarities of rows and other comparators of dissimilarity matrices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.linalg

from cospace._arrays import Array, as_rows, double, to_numpy
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.measures.base import Measure
from cospace.measures.pair import paired, sized, squared_distances
from cospace.summaries import TIE, Order, Relation

__all__ = ["MEASURES", "dissimilarities", "representational_similarity"]

Matrix = npt.NDArray[np.float64]
Dissimilarity = Literal["cosine", "correlation", "euclidean", "mahalanobis"]
Comparator = Literal["pearson", "spearman", "kendall", "whitened"]

DISSIMILARITIES = ("cosine", "correlation", "euclidean", "mahalanobis")
COMPARATORS = ("pearson", "spearman", "kendall", "whitened")
_LEAST_SHRINKAGE = 1e-6


def representational_similarity(
    x: Array,
    y: Array,
    *,
    dissimilarity: Dissimilarity = "euclidean",
    comparator: Comparator = "spearman",
) -> float:
    """Representational similarity analysis: likeness of the two dissimilarity matrices.

    The m = n (n - 1) / 2 entries above the diagonals, d of the source and e of the target, are
    compared:

    - ``pearson``: their correlation; ``spearman``: that of their average ranks;
    - ``kendall``: tau-a, (concordant - discordant) / (m (m - 1) / 2); ties count for neither;
    - ``whitened``: ``d^T V^-1 e / sqrt(d^T V^-1 d e^T V^-1 e)`` with V the covariance of squared
      distances under equal independent noise in all rows: 4 on the diagonal, 1 where two entries
      share a row, else 0. Never formed: ``d^T V^-1 e = <H D H, H E H> / 4``, D and E the matrices
      and H the centring matrix.

    Dissimilarities of two rows: ``cosine`` (1 - cos), ``correlation`` (1 - correlation over
    coordinates), ``euclidean`` distance, ``mahalanobis`` distance with the covariance of the
    space's own rows, shrunk towards its mean variance by the rule of Ledoit and Wolf (by 1e-6 at
    least). V is that of squared distances: 1 - cos and 1 - correlation are half of one, and
    ``whitened`` squares the other two.

    Equivalent to ``rsa`` with ``correlation``; ``whitened`` to ``linear_cka`` with ``euclidean``
    and to ``linear_cka`` of unit rows with ``cosine``.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    dissimilarity
        What is computed of two rows of a space.
    comparator
        What is computed of the two matrices.

    Returns
    -------
    float
        In [-1, 1], whitened in [0, 1]; 1 means alike (tau-a: less than 1 where dissimilarities
        are tied). By chance 0 on average, whitened above 0 as ``linear_cka``. Cost n^2 d a space
        (mahalanobis: and d^3; ranks: and n^2 log n), n^2 a pair (kendall: n^2 log n).

    Raises
    ------
    UnknownNameError
        For another dissimilarity or comparator.
    UndefinedMeasureError
        For fewer than 3 rows, a row that has no direction, or dissimilarities that are all equal.

    References
    ----------
    Kriegeskorte et al. 2008; Nili et al. 2014 (tau-a); Walther et al. 2016 (Mahalanobis);
    Diedrichsen et al. 2021 (whitened); Ledoit & Wolf 2004.

    Examples
    --------
    Distances of rows at 0, 1 and 3 are 1, 3 and 2; at 0, 2 and 3 they are 2, 3 and 1: of the three
    pairs of distances two are in the same order, one is not.

    >>> x, y = [[0.0], [1.0], [3.0]], [[0.0], [2.0], [3.0]]
    >>> round(representational_similarity(x, y, comparator="kendall"), 12) == round(1 / 3, 12)
    True
    """
    _check(dissimilarity, comparator)
    a, b = paired(x, y)
    if comparator == "kendall":
        return tau_a(Levels.of(a, dissimilarity), Levels.of(b, dissimilarity))
    source, target = (
        dissimilarity_relation(rows, dissimilarity=dissimilarity, comparator=comparator)
        for rows in (a, b)
    )
    value = source.inner(target)
    return max(value, 0.0) if comparator == "whitened" else value


def dissimilarities(rows: Array, dissimilarity: Dissimilarity = "correlation") -> Matrix:
    """Dissimilarity of every two rows, shape (n, n), symmetric with a diagonal of zeros.

    Parameters
    ----------
    rows
        Shape (n, d).
    dissimilarity
        ``cosine``, ``correlation``, ``euclidean`` or ``mahalanobis``, as in
        ``representational_similarity``. Euclidean distances are in units of the largest centred
        entry, so that they are finite at any scale.

    Raises
    ------
    UnknownNameError
        For another dissimilarity.
    UndefinedMeasureError
        For a row without direction (zero, or all coordinates equal), or rows that are all the same.

    Examples
    --------
    >>> dissimilarities([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]], "cosine").tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    _check(dissimilarity, "pearson")
    x = to_numpy(double(as_rows(rows)))
    if dissimilarity in ("cosine", "correlation"):
        apart = np.maximum(1.0 - _directions(x, dissimilarity), 0.0)
        np.fill_diagonal(apart, 0.0)
        return apart
    x = to_numpy(sized(x))
    if dissimilarity == "mahalanobis":
        root = np.linalg.cholesky(_shrunk(x))
        x = scipy.linalg.solve_triangular(root, x.T, lower=True, check_finite=False).T
    return np.asarray(np.sqrt(squared_distances(x)))


def dissimilarity_relation(
    rows: Array, *, dissimilarity: Dissimilarity, comparator: Comparator
) -> Relation:
    """Relation whose inner product is ``representational_similarity``, for all but ``kendall``."""
    apart = _entries(rows, dissimilarity)
    n = len(apart)
    if comparator == "whitened":
        if dissimilarity in ("euclidean", "mahalanobis"):
            apart = apart**2
        mean = apart.mean(axis=1)
        return Relation.symmetric(
            apart - mean[:, None] - mean[None, :] + mean.mean(), interval="none"
        )
    above = np.triu_indices(n, 1)
    entries = apart[above]
    if comparator == "spearman":
        level, size = _levels(entries)
        entries = (np.cumsum(size) - (size - 1) / 2)[level]
    matrix = np.zeros((n, n))
    matrix[above] = entries - entries.mean()
    # Distances in a covariance that is shrunk the more the fewer the rows estimate another quantity
    # at every number of rows: an interval about them covers none of these.
    shrunk = dissimilarity == "mahalanobis"
    return Relation.symmetric(matrix, interval="none" if shrunk else "pairs")


@dataclass(frozen=True, eq=False)
class Levels:
    """Order of the dissimilarities of a space."""

    matrix: npt.NDArray[np.int32]
    """How many smaller levels there are, for every two rows, shape (n, n); ties share a level."""

    @classmethod
    def of(cls, rows: Array, dissimilarity: Dissimilarity) -> Levels:
        """Sort the dissimilarities; cost n^2 (d + log n)."""
        apart = _entries(rows, dissimilarity)
        n = len(apart)
        above = np.triu_indices(n, 1)
        matrix = np.zeros((n, n), dtype=np.int32)
        matrix[above] = _levels(apart[above])[0]
        return cls(matrix + matrix.T)

    def permuted(self, order: Order) -> Levels:
        """Levels of the rows in another order."""
        return Levels(self.matrix[np.ix_(order, order)])


def tau_a(source: Levels, target: Levels) -> float:
    """Kendall's tau-a of two orders, by a merge sort: scipy's tau-b without its tie correction."""
    if len(source.matrix) != len(target.matrix):
        raise InputError(
            f"Dissimilarities of {len(source.matrix)} and {len(target.matrix)} rows cannot be compared."
        )
    from scipy.stats import kendalltau  # half a second that no other measure needs

    above = np.triu_indices(len(source.matrix), 1)
    a, b = source.matrix[above], target.matrix[above]
    pairs = len(a) * (len(a) - 1) / 2
    untied = [pairs - float(np.sum(c * (c - 1.0))) / 2 for c in map(np.bincount, (a, b))]
    tau_b = float(kendalltau(a, b, method="asymptotic").statistic)
    value = tau_b * np.sqrt(untied[0] / pairs) * np.sqrt(untied[1] / pairs)
    return float(min(max(value, -1.0), 1.0))


def _check(dissimilarity: str, comparator: str) -> None:
    if dissimilarity not in DISSIMILARITIES:
        raise UnknownNameError.among(dissimilarity, DISSIMILARITIES, "dissimilarity")
    if comparator not in COMPARATORS:
        raise UnknownNameError.among(comparator, COMPARATORS, "comparator of dissimilarities")


def _entries(rows: Array, dissimilarity: Dissimilarity) -> Matrix:
    """Dissimilarities with a largest entry of at most 2, refused where all are equal."""
    n = rows.shape[0]
    if n < 3:
        raise UndefinedMeasureError(f"RSA needs at least 3 rows (3 dissimilarities), got {n}.")
    apart = dissimilarities(rows, dissimilarity)
    if dissimilarity in ("euclidean", "mahalanobis"):
        apart /= apart.max()
    entries = apart[~np.eye(n, dtype=bool)]
    if np.ptp(entries) <= TIE:
        raise UndefinedMeasureError("All rows relate alike: there is nothing to compare.")
    return apart


def _directions(x: Matrix, dissimilarity: str) -> Matrix:
    """Cosines of the rows, or correlations over their coordinates."""
    z = x - x.mean(axis=1, keepdims=True) if dissimilarity == "correlation" else x
    size = np.linalg.norm(z, axis=1, keepdims=True)
    flat = size[:, 0] <= 1e-12 * np.linalg.norm(x, axis=1)
    if flat.any():
        row = int(np.flatnonzero(flat)[0])
        raise UndefinedMeasureError(
            f"Row {row} has all coordinates equal: it has no correlation with others."
            if dissimilarity == "correlation"
            else f"Row {row} is zero: it has no direction, so no cosine with others."
        )
    z = z / size
    return np.asarray(z @ z.T)


def _shrunk(x: Matrix) -> Matrix:
    """Covariance of centred rows, shrunk towards its mean variance by Ledoit and Wolf's rule."""
    n, d = x.shape
    covariance = x.T @ x / n
    variance = float(np.trace(covariance)) / d
    squared = float(np.sum(covariance**2))
    scatter = squared / d - variance**2
    noise = (float(np.mean(np.sum(x**2, axis=1) ** 2)) - squared) / (n * d)
    shrinkage = min(max(noise / scatter, _LEAST_SHRINKAGE), 1.0) if scatter > 0.0 else 1.0
    return np.asarray((1.0 - shrinkage) * covariance + shrinkage * variance * np.eye(d))


def _levels(entries: Matrix) -> tuple[Order, Order]:
    """Dense rank from 0 of every entry, and how many share each; rounding alone is a tie."""
    order = np.argsort(entries)
    step = np.concatenate([[0], np.cumsum(np.diff(entries[order]) > TIE)])
    level = np.empty(len(entries), dtype=np.int64)
    level[order] = step
    return level, np.bincount(step)


def _record(
    name: str,
    title: str,
    dissimilarity: Dissimilarity,
    comparator: Comparator,
    *,
    invariant_to: frozenset[str],
    summary: str,
    reference: str,
    cost: str,
) -> Measure:
    by_rank = comparator == "kendall"
    relation = partial(dissimilarity_relation, dissimilarity=dissimilarity, comparator=comparator)
    return Measure(
        name=name,
        title=title,
        function=partial(
            representational_similarity, dissimilarity=dissimilarity, comparator=comparator
        ),
        kind="similarity",
        bounds=(0.0 if comparator == "whitened" else -1.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=invariant_to,
        summary=summary,
        reference=reference,
        cost=cost,
        needs="gram",
        summarise=partial(Levels.of, dissimilarity=dissimilarity) if by_rank else relation,
        score=tau_a if by_rank else Relation.inner,
        relation=None if by_rank else relation,
        decomposes=by_rank,  # a sort of n^2 / 2 entries for each pair
        arrays="numpy",
    )


_COORDINATES = frozenset({"scaling", "permutation"})
_SHAPE = frozenset({"translation", "scaling", "orthogonal"})

MEASURES: tuple[Measure, ...] = (
    _record(
        "rsa_cosine",
        "RSA (cosine, Spearman)",
        "cosine",
        "spearman",
        invariant_to=frozenset({"scaling", "orthogonal"}),
        summary="Whether texts at wide angles in one space are at wide angles in the other, by rank.",
        reference="Kriegeskorte et al. 2008",
        cost="n² (d + log n) a space, n² a pair",
    ),
    _record(
        "rsa_euclidean",
        "RSA (Euclidean, Spearman)",
        "euclidean",
        "spearman",
        invariant_to=_SHAPE,
        summary="Whether texts at great distances in one space are at great distances in the other, by rank.",
        reference="Kriegeskorte et al. 2008",
        cost="n² (d + log n) a space, n² a pair",
    ),
    _record(
        "rsa_mahalanobis",
        "RSA (Mahalanobis, Spearman)",
        "mahalanobis",
        "spearman",
        invariant_to=_SHAPE,
        summary="RSA on distances in which every direction counts by its own spread, shrunk where rows are few.",
        reference="Walther et al. 2016; Ledoit & Wolf 2004",
        cost="n² (d + log n) + d³ a space, n² a pair",
    ),
    _record(
        "rsa_kendall",
        "RSA (tau-a)",
        "correlation",
        "kendall",
        invariant_to=_COORDINATES,
        summary="Share of pairs of dissimilarities in the same order less those in the opposite order.",
        reference="Nili et al. 2014",
        cost="n² (d + log n) a space, n² log n a pair",
    ),
    _record(
        "rsa_whitened",
        "RSA (whitened)",
        "correlation",
        "whitened",
        invariant_to=_COORDINATES,
        summary="Cosine of the dissimilarities, weighted by how noise in the rows ties them to each other.",
        reference="Diedrichsen et al. 2021",
        cost="n² d a space, n² a pair",
    ),
)
