"""The grid as one matrix product: measures whose value is an inner product of relations.

Relations are kept as columns of one matrix, so that a permutation of rows gathers whole lines of
memory and all pairs of spaces come from one product a shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse

from cospace._threads import each
from cospace.comparison.planes import Planes
from cospace.comparison.undefined import UNDEFINED, why
from cospace.errors import UndefinedMeasureError
from cospace.measures import Measure
from cospace.space import Space
from cospace.stats import Invariants, Permutations, Weights
from cospace.stats.closed_form import FEWEST
from cospace.summaries import Order, Relation

__all__ = ["Dense", "Sparse", "Stack", "Triangle", "stack"]

Floats = npt.NDArray[np.float64]
Tick = Callable[[], None]

_LINES = 1 << 12
"""Lines of a block whose product stays in a core's cache."""
_AT_ONCE = 8
"""Shuffles in one piece of work: few, so that an interrupt is heard soon."""
_FEW = 64
"""The same of few spaces, times their number: a piece that is too short costs more than it does."""
_SPARSE = 0.1
"""Share of entries that are not zero below which a directed relation is kept sparse."""


class Stack(Protocol):
    """Relations of several spaces, side by side."""

    @property
    def reasons(self) -> tuple[str | None, ...]:
        """Why a space has no relation; its products are 0 and mean nothing."""
        ...

    def values(self) -> Floats:
        """Inner products of all pairs, in float64, shape (spaces, spaces)."""
        ...

    def null(self, shuffles: Permutations, progress: Tick) -> Floats:
        """Inner products with the later space of a pair shuffled, (shuffles, spaces, spaces).

        The mirrored pair has the same numbers. A space against itself means nothing.
        """
        ...

    def bootstrap(self, weights: Weights, progress: Tick) -> Floats | None:
        """Inner products in bootstrap samples of the rows; None where they would mislead."""
        ...

    def invariants(self) -> Sequence[Invariants] | None:
        """What the moments over all permutations need of each space; None where not known."""
        ...


def stack(measure: Measure, spaces: Sequence[Space], progress: Tick) -> Stack:
    """Relate the rows of every space, once.

    Raises
    ------
    UndefinedMeasureError
        When none of the spaces has a relation.
    """
    relation = measure.relation
    assert relation is not None  # noqa: S101  a plan stacks only measures that have one
    reasons: list[str | None] = [None] * len(spaces)

    def relate(at: int) -> Relation | None:
        try:
            return relation(spaces[at].rows)
        except UNDEFINED as error:
            reasons[at] = why(error)
            return None

    first, start = None, 0
    while first is None and start < len(spaces):
        first = each(relate, [start], progress)[0]
        start += 1
    if first is None:
        raise UndefinedMeasureError(str(reasons[0]))
    rest = range(start, len(spaces))
    made = first.vector
    if first.form == "square" and np.count_nonzero(made) < _SPARSE * len(made):

        def thin(at: int) -> Any:
            found = relate(at)
            return _thin(np.zeros_like(made) if found is None else found.vector)

        empty = _thin(np.zeros_like(made))
        columns = [empty] * (start - 1) + [_thin(made), *each(thin, rest, progress)]
        return Sparse(scipy.sparse.hstack(columns, format="csr"), first.n, tuple(reasons))

    table = np.zeros((len(made), len(spaces)))
    table[:, start - 1] = made

    def keep(at: int) -> None:
        found = relate(at)
        if found is not None:
            table[:, at] = found.vector

    each(keep, rest, progress)
    return Dense(table, first, tuple(reasons))


@dataclass(frozen=True, eq=False)
class Triangle:
    """Where the entries (i, j), i <= j, of a symmetric matrix stand in a vector."""

    above: Order
    """Their places in the n^2 entries of the matrix, line by line."""
    place: Order
    """Where entry (i, j) and its mirror stand in the vector, shape (n, n)."""

    @classmethod
    def of(cls, n: int) -> Triangle:
        """Number the upper triangle of an n x n matrix, line by line."""
        rows, columns = np.triu_indices(n)
        place = np.empty((n, n), dtype=np.int64)
        place[rows, columns] = place[columns, rows] = np.arange(len(rows))
        return cls(rows * n + columns, place)

    def products(
        self, weights: npt.NDArray[np.float32], groups: Order | None = None
    ) -> npt.NDArray[np.float32]:
        """w_i w_j of every entry, as a column; w_i where both rows are of one of the ``groups``."""
        found = np.outer(weights, weights)
        if groups is not None:
            found = np.where(groups[:, None] == groups[None, :], weights[:, None], found)
        return np.asarray(found.ravel().take(self.above)[:, None])


@dataclass(frozen=True, eq=False)
class Dense:
    """Relations as columns of one matrix."""

    columns: Floats
    """Unit vectors, shape (entries, spaces)."""
    first: Relation
    """One of them, for its form."""
    reasons: tuple[str | None, ...]
    """Why a space has no relation; its column is zero."""

    def values(self) -> Floats:
        """Inner products of all pairs, in float64."""
        starts = range(0, len(self.columns), 16 * _LINES)

        def product(start: int) -> Floats:
            block = self.columns[start : start + 16 * _LINES]
            return np.asarray(block.T @ block)

        # In blocks, so that the sum is the same whatever the number of cores.
        total = np.zeros((self.columns.shape[1],) * 2)
        for part in each(product, starts):
            total += part
        return total

    def null(self, shuffles: Permutations, progress: Tick) -> Floats:
        """Inner products with the later space of a pair shuffled, within 1e-6 of those in float64.

        The mirrored pair has the same numbers; a space against itself is not computed: NaN. A
        shuffle gathers the n^2 / 2 entries of every space but the first (n^2 where the relation is
        directed) and multiplies them with the others'.
        """
        count = self.columns.shape[1]
        draws = np.full((len(shuffles), count, count), np.nan)
        if not len(shuffles) or count == 1:
            return draws
        planes = Planes.of(self.columns, self.first)
        step = max(_AT_ONCE, _FEW // count)
        pieces = [shuffles.orders[start : start + step] for start in range(0, len(shuffles), step)]
        sizes = iter([len(piece) for piece in pieces])

        def told() -> None:
            for _ in range(next(sizes)):
                progress()

        found = np.concatenate(each(planes.products, pieces, told))
        upper, lower = np.triu_indices(count, 1)
        draws[:, upper, lower] = draws[:, lower, upper] = found[:, upper, lower]
        return draws

    def invariants(self) -> Sequence[Invariants] | None:
        """Index sums of each symmetric relation; None for directed ones, or fewer than 6 rows."""
        n, count = self.first.n, self.columns.shape[1]
        if self.first.form != "triangle" or n < FEWEST:
            return None
        place = Triangle.of(n).place

        def of(at: int) -> Invariants:
            square = self.columns[:, at].take(place)
            diagonal = square.diagonal().copy()
            square /= np.sqrt(2.0)
            np.fill_diagonal(square, diagonal)
            return Invariants.of(square)

        return each(of, range(count))

    def bootstrap(self, weights: Weights, progress: Tick) -> Floats | None:
        """Values in bootstrap samples: entry (i, j) weighs as often as its two rows are drawn.

        The centring stays that of all rows, to which the value is insensitive to first order,
        because centred relations are orthogonal to every change of centring. Where a diagonal or
        whole lists of neighbours enter the value, copies of a row would change what is measured,
        and there is no interval.
        """
        if self.first.interval != "pairs" or not len(weights):
            return None
        single = self.columns.astype(np.float32)
        count = single.shape[1]
        triangle = Triangle.of(self.first.n)

        def sample(draw: int) -> Floats:
            weight = triangle.products(weights.counts[draw].astype(np.float32), weights.groups)
            total = np.zeros((count, count))
            for start in range(0, len(weight), _LINES):
                lines = slice(start, start + _LINES)
                block = single[lines]
                total += block.T @ (block * weight[lines])
            return total

        samples = np.asarray(each(sample, range(len(weights)), progress))
        own = np.sqrt(np.diagonal(samples, axis1=1, axis2=2))
        own = np.where(own > 0, own, 1.0)  # a zero column: its reason stands beside it
        return np.asarray(np.clip(samples / (own[:, :, None] * own[:, None, :]), -1.0, 1.0))


@dataclass(frozen=True, eq=False)
class Sparse:
    """Directed relations of which few entries are not zero, such as lists of neighbours."""

    columns: Any
    """Unit vectors, a sparse matrix of shape (n^2, spaces)."""
    n: int
    """Number of rows."""
    reasons: tuple[str | None, ...]
    """Why a space has no relation; its column is zero."""

    def values(self) -> Floats:
        """Inner products of all pairs."""
        return np.asarray((self.columns.T @ self.columns).toarray())

    def null(self, shuffles: Permutations, progress: Tick) -> Floats:
        """Inner products with the later space of a pair shuffled; the mirrored pair has the same numbers.

        Of a shuffled space only the entries count that are not zero in some source either.
        """
        count, n = self.columns.shape[1], self.n
        listed = self.columns.T.tocsr()
        row, column = np.divmod(listed.indices.astype(np.int64), n)
        used = np.unique(listed.indices)
        position = np.full(n * n, -1, dtype=np.int32)
        position[used] = np.arange(len(used))
        sources = self.columns[used]

        def shuffled(order: Order) -> Floats:
            place = np.empty_like(order)
            place[order] = np.arange(n)
            moved = np.asarray(position.take(place.take(row) * n + place.take(column)))
            left = np.flatnonzero(moved >= 0)
            begin = np.searchsorted(left, listed.indptr)
            targets = scipy.sparse.csr_array(
                (listed.data[left], moved[left], begin), shape=(count, len(used))
            )
            return np.asarray((targets @ sources).toarray().T)

        draws = np.asarray(each(shuffled, shuffles.orders, progress)).reshape(-1, count, count)
        upper, lower = np.triu_indices(count, 1)
        draws[:, lower, upper] = draws[:, upper, lower]
        return draws

    def invariants(self) -> None:
        """None: the closed form is for symmetric relations."""

    def bootstrap(self, weights: Weights, progress: Tick) -> None:
        """None: one row more changes the neighbours of many, so rows do not vary one by one."""


def _thin(vector: Floats) -> Any:
    return scipy.sparse.csc_array(vector[:, None])
