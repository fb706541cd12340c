"""Information imbalance: what nearness in one space tells of nearness in the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, to_numpy
from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures.base import Measure
from cospace.measures.pair import paired, sized, squared_distances
from cospace.summaries import TIE, Order

__all__ = ["MEASURES", "Ranks", "information_imbalance"]


def information_imbalance(x: Array, y: Array) -> float:
    """Mean rank in the target of each row's nearest neighbour in the source, from 0 to chance at 1.

    ``2 / (n - 2) * mean_i r_y(i, nn_x(i))``: nn_x(i) is the nearest other row of i in the source,
    and r_y(i, j) the number of other rows nearer to i than j in the target, by Euclidean distance.
    Low means that the source tells who is near in the target. Where several rows are nearest, all
    count, by their mean.

    Equivalent to Delta(source -> target) of Glielmo et al. with ranks from 0 instead of 1, so that
    identical spaces give 0 and chance gives 1 for every n:
    ``Delta = (2 + (n - 2) * value) / n``, which is ``2 / n`` where ours is 0.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), whose nearest neighbours are taken, and of the target,
        shape (n, d_y), in which they are ranked.

    Returns
    -------
    float
        In [0, 2]; 0 means that every nearest neighbour stays the nearest, 1 is chance, above 1
        what is near in the source is far in the target; not symmetric. If the target is a part of
        what the source holds, this is low and the other direction is higher. Invariant to
        translation, rotation and isotropic scale. Cost n^2 (d + log n) a space, n a pair;
        4 n^2 bytes a space.

    Raises
    ------
    UndefinedMeasureError
        For fewer than 3 rows, or when all rows of a side are the same or equally near.

    References
    ----------
    Glielmo et al. 2022.

    Examples
    --------
    Nearest in the source: 0 and 1 to each other, 2 to 1. In the target row 2 is the nearer one to
    row 0 (rank 1 for row 1), row 0 to row 1 (rank 0), row 0 to row 2 (rank 1 for row 1).

    >>> round(information_imbalance([[0.0], [1.0], [3.0]], [[0.0], [3.0], [-1.0]]), 12)
    1.333333333333
    """
    a, b = paired(x, y)
    return imbalance_of(Ranks.of(a), Ranks.of(b))


@dataclass(frozen=True, eq=False)
class Ranks:
    """How many rows are nearer, for every two rows of a space."""

    nearer: npt.NDArray[np.int32]
    """Number of other rows nearer to the row than the column is, shape (n, n); ties share the
    least. The diagonal is -1."""
    row: Order
    """Rows of the matrix with their nearest others, one entry for each of these."""
    nearest: Order
    """The nearest others, columns of the matrix."""
    order: Order
    """Which row of the matrix each row is."""

    @classmethod
    def of(cls, rows: Array) -> Ranks:
        """Sort every row's distances; cost n^2 (d + log n).

        Raises
        ------
        UndefinedMeasureError
            For fewer than 3 rows, or rows that are all the same or equally near.
        """
        x = to_numpy(sized(rows))
        n = len(x)
        if n < 3:
            raise UndefinedMeasureError(f"Ranks of neighbours need at least 3 rows, got {n}.")
        apart = squared_distances(x)
        square = np.sum(x * x, axis=1)
        nearer = np.empty((n, n), dtype=np.int32)
        alike = True
        for i in range(n):
            line = apart[i]
            line[i] = -np.inf
            order = np.argsort(line, kind="stable")
            sorted_ = line[order[1:]]
            step = np.diff(sorted_) > TIE * (sorted_[1:] + square[i])
            alike = alike and not step.any()
            first = np.concatenate([[0], np.where(step, np.arange(1, n - 1), 0)])
            nearer[i, order[1:]] = np.maximum.accumulate(first)
            nearer[i, i] = -1
        if alike:
            raise UndefinedMeasureError("All rows are equally near: there are no neighbours.")
        row, nearest = np.nonzero(nearer == 0)
        return cls(nearer, row, nearest, np.arange(n))

    def permuted(self, order: Order) -> Ranks:
        """Ranks of the rows in another order; nothing is moved."""
        return replace(self, order=self.order[order])


def imbalance_of(source: Ranks, target: Ranks) -> float:
    """``information_imbalance`` from two summaries."""
    n = len(source.order)
    if len(target.order) != n:
        raise InputError(f"Ranks of {n} and {len(target.order)} rows cannot be compared.")
    place = np.empty_like(source.order)
    place[source.order] = np.arange(n)
    there = target.order[place]
    ranks = target.nearer[there[source.row], there[source.nearest]]
    mean = np.bincount(source.row, ranks, minlength=n) / np.bincount(source.row, minlength=n)
    return float(mean.mean() * 2.0 / (n - 2))


MEASURES: tuple[Measure, ...] = (
    Measure(
        name="information_imbalance",
        title="Information imbalance",
        function=information_imbalance,
        kind="divergence",
        bounds=(0.0, 2.0),
        identical=0.0,
        symmetric=False,
        invariant_to=frozenset({"translation", "scaling", "orthogonal"}),
        summary="How far down the target's ranking the nearest text in the source stands: 0 nearest, 1 chance.",
        reference="Glielmo et al. 2022",
        cost="n² (d + log n) a space, n a pair",
        needs="neighbours",
        summarise=Ranks.of,
        score=imbalance_of,
        arrays="numpy",
    ),
)
