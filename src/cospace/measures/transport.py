"""Soft matching: coordinates of one space transported onto those of the other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse

from cospace._arrays import Array, to_numpy
from cospace.errors import RowMismatchError, UndefinedMeasureError
from cospace.measures.base import Measure
from cospace.measures.pair import paired, sized
from cospace.summaries import Order

__all__ = ["MEASURES", "soft_matching_distance", "soft_matching_similarity", "transport_plan"]

Matrix = npt.NDArray[np.float64]
Plan: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Matrix]
"""Rows, columns and weights of the entries of a transport plan that are above 0."""

_FEW = 20
_MISSED = 1e-9
_NEAR = 1e-6


def soft_matching_similarity(x: Array, y: Array) -> float:
    """Mean correlation of coordinates after the best soft matching of one space's to the other's.

    ``max_P sum_ij P_ij corr(x_i, y_j)`` over transport plans P: non-negative, of shape
    (d_x, d_y), each row summing to 1 / d_x and each column to 1 / d_y.

    Equivalent, for equal widths, to the mean correlation under the best one-to-one matching.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y); widths may differ.

    Returns
    -------
    float
        In [-1, 1]; 1 means that coordinates are the same up to their order, each with its own
        offset and positive scale; not invariant to rotation, which is its point. By chance above 0:
        about the best of d correlations of size 1 / sqrt(n) each. Exact; cost n d_x d_y a pair and
        a matching, a fraction of a second at widths below 1,000.

    Raises
    ------
    UndefinedMeasureError
        When all rows of a side are the same, or a coordinate is constant: it has no correlation.

    References
    ----------
    Khosla & Williams 2024.

    Examples
    --------
    One coordinate against itself and its negative: half of its mass goes to each.

    >>> x, y = [[1.0], [0.0], [-1.0]], [[2.0, -1.0], [0.0, 0.0], [-2.0, 1.0]]
    >>> round(soft_matching_similarity(x, y), 12)
    0.0
    """
    a, b = paired(x, y)
    return soft_matching_similarity_of(Coordinates.of(a), Coordinates.of(b))


def soft_matching_distance(x: Array, y: Array) -> float:
    """Transport distance between the two sets of coordinates.

    ``min_P (sum_ij P_ij ||x_i - y_j||^2)^(1/2)``, coordinates centred and at unit norm over the
    rows, P as in ``soft_matching_similarity``: ``sqrt(2 - 2 similarity)``.

    Equivalent to the 2-Wasserstein distance of the two sets of coordinates, each of weight 1 / d.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y); widths may differ.

    Returns
    -------
    float
        In [0, 2]; 0 means the same coordinates up to order, offset and positive scale. A metric.
        Near 0 it is computed from the differences themselves. Cost as
        ``soft_matching_similarity``.

    Raises
    ------
    UndefinedMeasureError
        When all rows of a side are the same, or a coordinate is constant.

    References
    ----------
    Khosla & Williams 2024 (there coordinates may keep their size).

    Examples
    --------
    >>> x, y = [[1.0], [0.0], [-1.0]], [[2.0, -1.0], [0.0, 0.0], [-2.0, 1.0]]
    >>> round(soft_matching_distance(x, y) ** 2, 12)
    2.0
    """
    a, b = paired(x, y)
    return soft_matching_distance_of(Coordinates.of(a), Coordinates.of(b))


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates of a space, centred and at unit norm over the rows."""

    columns: Matrix
    """Shape (n, d)."""

    @classmethod
    def of(cls, rows: Array) -> Coordinates:
        """Standardise the coordinates; cost n d.

        Raises
        ------
        UndefinedMeasureError
            When all rows are the same, or a coordinate is constant.
        """
        x = to_numpy(sized(rows))
        size = np.linalg.norm(x, axis=0)
        if not size.all():
            raise UndefinedMeasureError(
                f"Coordinate {int(np.flatnonzero(size == 0)[0])} is constant: it has no correlation with others. "
                "Leave out constant coordinates."
            )
        return cls(x / size)

    def permuted(self, order: Order) -> Coordinates:
        """Coordinates of the rows in another order."""
        return Coordinates(self.columns[order])


def soft_matching_similarity_of(source: Coordinates, target: Coordinates) -> float:
    """``soft_matching_similarity`` from two summaries."""
    return _solve(source, target)[0]


def soft_matching_distance_of(source: Coordinates, target: Coordinates) -> float:
    """``soft_matching_distance`` from two summaries."""
    similarity, (row, column, weight) = _solve(source, target)
    if similarity < 1.0 - _NEAR:
        return math.sqrt(2.0 - 2.0 * similarity)
    apart = np.sum((source.columns[:, row] - target.columns[:, column]) ** 2, axis=0)
    return math.sqrt(float(apart @ weight))


def _solve(source: Coordinates, target: Coordinates) -> tuple[float, Plan]:
    if len(source.columns) != len(target.columns):
        raise RowMismatchError(
            f"Coordinates over {len(source.columns)} and {len(target.columns)} rows cannot be matched: row i must be "
            "the same text in both."
        )
    correlation = source.columns.T @ target.columns
    plan = transport_plan(correlation)
    row, column, weight = plan
    return float(np.clip(correlation[row, column] @ weight, -1.0, 1.0)), plan


def transport_plan(gain: Matrix) -> Plan:
    """Plan of greatest total gain between uniform weights, exactly.

    Equal widths are an assignment problem. Unequal ones are a linear program (HiGHS) on the best
    few entries of every row and column; entries whose reduced gain under its prices is positive
    join until there are none, which proves that the plan is the best of all.

    Parameters
    ----------
    gain
        Gain of moving all weight from a row to a column, shape (a, b).

    Returns
    -------
    row, column, weight
        The entries of the plan that are above 0; the weights sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> [part.tolist() for part in transport_plan(np.array([[1.0, 2.0], [3.0, 3.0]]))]
    [[0, 1], [1, 0], [0.5, 0.5]]
    """
    from scipy.optimize import linear_sum_assignment, linprog  # slow to load

    a, b = gain.shape
    if a == b:
        row, column = linear_sum_assignment(gain, maximize=True)
        return row, column, np.full(a, 1.0 / a)
    corner = np.unique(np.concatenate([np.arange(a) * b, np.arange(b) * a]))
    listed = _leading(gain)
    listed[corner // b, corner // a] = True  # a plan that keeps the marginals, so there is one
    # In units of 1 / (a b) the corners of the polytope are whole numbers. The last equation
    # follows from the others.
    weights = np.concatenate([np.full(a, float(b)), np.full(b - 1, float(a))])
    while True:
        row, column = np.nonzero(listed)
        many = len(row)
        equations = scipy.sparse.csc_array(
            (
                np.ones(2 * many),
                np.stack([row, a + column], axis=1).ravel(),
                np.arange(0, 2 * many + 1, 2),
            ),
            shape=(a + b, many),
        )
        found = linprog(-gain[row, column], A_eq=equations[:-1], b_eq=weights, method="highs")
        assert found.status == 0, found.message  # noqa: S101  the corner plan is feasible
        prices = np.append(found.eqlin.marginals, 0.0)
        better = gain + prices[:a, None] + prices[None, a:]
        missed = (better > _MISSED * np.abs(gain).max()) & ~listed
        if not missed.any():
            moved = np.rint(found.x)
            used = np.flatnonzero(moved)
            return row[used], column[used], moved[used] / (a * b)
        listed |= missed & _leading(better)


def _leading(gain: Matrix) -> npt.NDArray[np.bool_]:
    """Which entries are among the largest few of their row or column."""
    chosen = np.zeros(gain.shape, dtype=bool)
    for axis in (0, 1):
        few = min(_FEW, gain.shape[axis])
        best = np.take(np.argpartition(-gain, few - 1, axis=axis), np.arange(few), axis=axis)
        np.put_along_axis(chosen, best, True, axis=axis)  # noqa: FBT003
    return chosen


_OWN = frozenset({"translation", "scaling", "permutation"})

MEASURES: tuple[Measure, ...] = (
    Measure(
        name="soft_matching_similarity",
        title="Soft matching",
        function=soft_matching_similarity,
        kind="similarity",
        bounds=(-1.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=_OWN,
        summary="Mean correlation of single coordinates after the best soft matching; sees rotations.",
        reference="Khosla & Williams 2024",
        cost="n d a space, n d² + d³ a pair",
        needs="rows",
        summarise=Coordinates.of,
        score=soft_matching_similarity_of,
        decomposes=True,
        arrays="numpy",
    ),
    Measure(
        name="soft_matching_distance",
        title="Soft matching distance",
        function=soft_matching_distance,
        kind="distance",
        bounds=(0.0, 2.0),
        identical=0.0,
        symmetric=True,
        invariant_to=_OWN,
        summary="Transport distance between the single coordinates of the two spaces; a metric that sees rotations.",
        reference="Khosla & Williams 2024",
        cost="n d a space, n d² + d³ a pair",
        needs="rows",
        summarise=Coordinates.of,
        score=soft_matching_distance_of,
        decomposes=True,
        arrays="numpy",
    ),
)
