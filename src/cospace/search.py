"""Exact nearest rows: products in single precision leave few rows to compare in double precision.

Nearness of rows q and k is bounded from above by one float32 product of two rows that carry their
own rounding bound, so that no row is left out that could be among the nearest. Those that remain
are compared in float64. Memory is a table in float32 and a block of products; nothing has n^2
entries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, to_numpy
from cospace._numbers import check_whole
from cospace._threads import each, free_cores
from cospace.errors import InputError, UndefinedMeasureError
from cospace.linalg import wide_mean

__all__ = ["TIE", "Search"]

TIE = 1e-14
"""Cosines and correlations that differ by no more than this are equal. Not larger: on rows with a
common offset of 10^4 times their spread, all that they tell lies in the last eight digits."""

Floats = npt.NDArray[np.float64]
Single = npt.NDArray[np.float32]
Index = npt.NDArray[np.int64]

_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53
"""Unit roundoff."""
_TINY = 2.0**-120
"""What underflow may cost one entry of a sum, generously."""
_FAR = np.float32(1e30)
"""Half the squared length of rows that are there to fill the last group, and never near."""
_SAMPLE = 129
"""Rows whose median is taken off before products in single precision: any row would do, a middle
one makes the bound tightest, and a few far rows do not move the median."""
_GROUP = 16
"""Rows that are first looked at by their nearest alone."""
_QUERIES = 512
"""Rows whose neighbours are searched at once, at most."""
_KEYS = 1024
"""Rows that are multiplied at once: their products stay in a core's cache."""
_ENTRIES = 1 << 24
"""Products, at most, that one thread holds."""
_TOGETHER = 1 << 28
"""Products, at most, that all threads hold."""
_PAIRS = 1 << 16
"""Coordinates of rows that are compared in double precision at once."""
_FEW = 512
"""Rows that are simply all compared in double precision."""
_WIDE = 1 << 16
"""Columns from which the bound in single precision says nothing."""


@dataclass(frozen=True, eq=False)
class Search:
    """Rows prepared for exact searches for the nearest of them.

    A row is excluded by its number, so that repeats stay neighbours. Of rows that are equally
    near, to rounding, the first are taken, so that repeats are chosen alike in every space.
    """

    rows: npt.NDArray[Any]
    """Shape (n, d), float64, or float32 as they were given."""
    metric: Literal["cosine", "euclidean"]
    """Cosine similarity, or Euclidean distance of the centred rows."""
    size: Floats
    """Lengths of the rows by cosine, squared lengths of the centred rows by distance."""
    shift: Floats
    """Row that is taken off (distance), shape (d,)."""
    peak: float
    """Largest entry of what is left, by which rows are divided (distance)."""
    table: Single = field(repr=False)
    """Rows less a middle one, half their squared length (a little less), and their length (a
    little more), shape (a multiple of the group, d + 2)."""
    length: Floats
    """Length of those rows, shape (n,)."""
    group: int
    """Rows that are first looked at by their nearest alone; 0 where all are compared in float64."""

    @classmethod
    def cosine(cls, rows: Array, k: int = 10) -> Search:
        """Prepare for the k nearest by cosine similarity; cost n d.

        Raises
        ------
        InputError
            For k < 1.
        UndefinedMeasureError
            For k >= n - 1, or a row of zeros.
        """
        x = _plain(rows, k)
        size = np.concatenate([np.linalg.norm(_wide(part), axis=1) for part in _parts(x)])
        if not size.all():
            raise UndefinedMeasureError(
                f"Row {int(np.flatnonzero(size == 0)[0])} is zero: it has no direction, so no cosine neighbours."
            )
        return cls._made(x, "cosine", size, np.zeros(x.shape[1]), 1.0, k)

    @classmethod
    def euclidean(cls, rows: Array, k: int = 10) -> Search:
        """Prepare for the k nearest by Euclidean distance; cost n d.

        Rows are centred first, since a common offset drowns distances, and divided by their
        largest entry.

        Raises
        ------
        InputError
            For k < 1.
        UndefinedMeasureError
            For k >= n - 1, or rows that are all the same.
        """
        x = _plain(rows, k)
        mean = wide_mean(x)
        peak = max(float(np.abs(_wide(part) - mean).max()) for part in _parts(x))
        if peak == 0.0:
            raise UndefinedMeasureError("All rows are the same: there is nothing to compare.")
        if x.dtype == np.float64:
            x = (x - mean) / peak
            mean, peak = np.zeros_like(mean), 1.0
        square = [np.sum(((_wide(part) - mean) / peak) ** 2, axis=1) for part in _parts(x)]
        return cls._made(x, "euclidean", np.concatenate(square), mean, peak, k)

    @classmethod
    def _made(
        cls,
        x: npt.NDArray[Any],
        metric: Literal["cosine", "euclidean"],
        size: Floats,
        shift: Floats,
        peak: float,
        k: int,
    ) -> Search:
        n, d = x.shape
        group = min(_GROUP, n // (4 * k))
        if n <= _FEW or group < 2 or d > _WIDE:
            nothing = np.empty((0, d + 2), dtype=np.float32)
            return cls(x, metric, size, shift, peak, nothing, np.empty(0), 0)
        table = np.zeros((-(-n // group) * group, d + 2), dtype=np.float32)
        length = np.empty(n)
        made = cls(x, metric, size, shift, peak, table, length, group)
        middle = np.median(made.unit(np.linspace(0, n - 1, _SAMPLE).astype(np.int64)), axis=0)

        def fill(start: int) -> None:
            part = slice(start, min(start + _KEYS, n))
            z = made.unit(part)
            z -= middle
            square = np.einsum("ij,ij->i", z, z)
            length[part] = np.sqrt(square)
            table[part, :d] = z
            table[part, d] = square / 2 * (1 - made.rounding)
            table[part, d + 1] = length[part]

        each(fill, range(0, n, _KEYS))
        table[n:, d] = _FAR
        return made

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def rounding(self) -> float:
        """Bound of the rounding of a float32 product of d + 2 entries, in any order of summation.

        With a little more for entries and bounds that are rounded to float32 themselves.
        """
        return float(1.01 * (self.rows.shape[1] + 8) * _SINGLE)

    def unit(self, at: Index | slice) -> Floats:
        """Rows as they are compared in float64: of length 1, or centred and divided."""
        x = np.asarray(self._wide_rows(at))
        if self.metric == "cosine":
            return np.asarray(x / self.size[at, None])
        return x.copy() if isinstance(at, slice) and np.shares_memory(x, self.rows) else x

    def _wide_rows(self, at: Index | slice) -> Floats:
        x = self.rows[at] if isinstance(at, slice) else self.rows.take(at, axis=0)
        if x.dtype == np.float64:
            return np.asarray(x)
        x = x.astype(np.float64)
        if self.metric == "euclidean":
            x -= self.shift
            x /= self.peak
        return x

    def neighbors(self, k: int, done: Callable[[], None] | None = None) -> Index:
        """K nearest others of every row, ascending by number, shape (n, k); cost n^2 d."""
        return self.of(np.arange(self.n), k, done)

    def of(self, query: Index, k: int, done: Callable[[], None] | None = None) -> Index:
        """K nearest others of the rows with these numbers, shape (len(query), k).

        A long search can be made, and gone on with, a few rows at a time: what is found for a row
        does not depend on the others that are asked for. ``done`` is called in this thread after
        each ``queries`` rows.
        """
        step = self.queries
        pieces = [query[at : at + step] for at in range(0, len(query), step)]
        # Memory that is taken here is kept for the next call; that of a thread goes with it.
        rooms: SimpleQueue[tuple[Single, Single]] = SimpleQueue()
        if self.group:
            for _ in range(min(free_cores(), len(pieces))):
                rooms.put(self._room(min(step, len(query))))

        def piece(some: Index) -> Index:
            if not self.group:
                return self._among_all(some, k)
            room = rooms.get()
            try:
                return self._piece(some, k, room)
            finally:
                rooms.put(room)

        return np.concatenate(each(piece, pieces, done))

    def _room(self, many: int) -> tuple[Single, Single]:
        groups = len(self.table) // self.group
        return (
            np.empty(groups * self.group * many, dtype=np.float32),
            np.empty(groups * many, dtype=np.float32),
        )

    @property
    def queries(self) -> int:
        """Rows that are asked for in one piece."""
        fit = min(_ENTRIES, _TOGETHER // free_cores()) // max(self.n, len(self.table))
        return int(min(_QUERIES, max(16, fit - fit % 16)))

    def _piece(self, query: Index, k: int, room: tuple[Single, Single]) -> Index:
        many, group = len(query), self.group
        products, best = self._products(query, room)
        nearest = np.ascontiguousarray(best.T)
        floor = self._floor(_largest(nearest, k), query)
        row, of = np.divmod(np.flatnonzero(nearest >= floor[:, None]), nearest.shape[1])
        crowded = np.bincount(row, minlength=many) > max(4 * k, 64)
        if crowded.any():
            left = ~crowded[row]
            row, of = row[left], of[left]
        places = (of * (group * many) + row)[:, None] + np.arange(0, group * many, many)
        values = products.ravel().take(places)
        pair, within = np.divmod(np.flatnonzero(values >= floor[row, None]), group)
        column, values, row = of[pair] * group + within, values[pair, within], row[pair]
        crowded |= np.bincount(row, minlength=many) > max(4 * k, self.n // 16)
        index = np.empty((many, k), dtype=np.int64)
        if crowded.any():
            index[crowded] = self._among_all(query[crowded], k)
            left = ~crowded[row]
            column, values, row = column[left], values[left], row[left]
        # The same again, with the k-th of all products in place of that of the groups.
        some = np.flatnonzero(~crowded)
        if len(some):
            row = (np.cumsum(~crowded) - 1)[row]
            index[some] = self._nearest_of(query[some], row, column, values, k)
        return index

    def _products(self, query: Index, room: tuple[Single, Single]) -> tuple[Single, Single]:
        """Bounds of the scores of all rows, a column for each query, and the best of every group.

        The score of a row k for a query q is <q, k> - |k|^2 / 2, larger where nearer. What is
        returned is no smaller, and no larger than that by more than twice the rounding.
        """
        d, group, many = self.rows.shape[1], self.group, len(query)
        products = room[0][: len(self.table) * many].reshape(-1, many)
        best = room[1][: len(self.table) // group * many].reshape(-1, many)
        asked = self.table[query]
        asked[:, d] = -1.0
        asked[:, d + 1] = self.rounding * self.length[query]
        step = max(1, _KEYS // group) * group
        for first in range(0, len(products), step):
            part = slice(first, min(first + step, len(products)))
            np.matmul(self.table[part], asked.T, out=products[part])
            own = np.flatnonzero((query >= part.start) & (query < part.stop))
            products[query[own], own] = -np.inf
            groups = products[part].reshape(-1, group, many)
            np.maximum.reduce(groups, axis=1, out=best[part.start // group : part.stop // group])
        return products, best

    def _floor(self, found: Single, query: Index) -> Single:
        """Bounds below this are of rows that are not among the nearest, nor tie with them.

        ``found``: a bound that those of k rows reach, for each query.
        """
        g, length = self.rounding, self.length[query]
        score = found.astype(np.float64)
        # A row with that bound is no longer than this, by the Schwarz inequality.
        inside = (length * (1 + 2 * g)) ** 2 - 2 * (1 - 2 * g) * score
        longest = (length * (1 + 2 * g) + np.sqrt(np.maximum(inside, 0.0))) / (1 - 2 * g)
        rounding = 2 * g * (length * longest + longest**2 / 2)
        rounding += (self.rows.shape[1] + 8) * _TINY
        apart = np.sqrt(np.maximum(length**2 - 2 * (score - rounding), 0.0))
        whole = 1.0 if self.metric == "cosine" else np.sqrt(self.size[query])
        double = TIE + 8 * (self.rows.shape[1] + 8) * _DOUBLE
        floor = score - rounding - 2 * double * (whole + apart) ** 2
        return np.asarray(np.nextafter(floor.astype(np.float32), np.float32(-np.inf)))

    def _nearest_of(self, query: Index, row: Index, column: Index, bound: Single, k: int) -> Index:
        """Nearest of few: ``column`` has those of each query by its ``row`` here, ascending."""
        floor = self._floor(_largest(_spread(bound, row, len(query)), k), query)
        left = bound >= floor[row]
        row, column = row[left], column[left]
        count = np.bincount(row, minlength=len(query))
        index = np.empty((len(query), k), dtype=np.int64)
        clear = count == k
        index[clear] = column[clear[row]].reshape(-1, k)
        if clear.all():
            return index
        unclear, left = np.flatnonzero(~clear), ~clear[row]
        row, column, query = np.cumsum(~clear)[row[left]] - 1, column[left], query[unclear]
        rows = self._wide_rows(query)
        step = max(1, _PAIRS // rows.shape[1])
        inner = np.empty(len(column))
        for first in range(0, len(column), step):
            part = slice(first, first + step)
            keys = self._wide_rows(column[part])
            inner[part] = np.einsum("ij,ij->i", keys, rows.take(row[part], axis=0))
        near = self._near(inner, self.size[query].take(row), self.size.take(column))
        taken = self._taken(_spread(near, row, len(query)), query, k)
        index[unclear] = _spread(column, row, len(query))[taken].reshape(-1, k)
        return index

    def _among_all(self, query: Index, k: int) -> Index:
        """Nearest of all, in float64 throughout."""
        index = np.empty((len(query), k), dtype=np.int64)
        step = max(1, _ENTRIES // (4 * self.n))
        for first in range(0, len(query), step):
            some = query[first : first + step]
            values = self._values(some)
            values[np.arange(len(some)), some] = -np.inf
            taken = self._taken(values, some, k)
            index[first : first + step] = np.nonzero(taken)[1].reshape(-1, k)
        return index

    def _values(self, query: Index) -> Floats:
        """Nearness of all rows to some, in float64, shape (some, n)."""
        rows = self._wide_rows(query)
        values = np.empty((len(query), self.n))
        for first in range(0, self.n, _KEYS):
            part = slice(first, min(first + _KEYS, self.n))
            inner = rows @ self._wide_rows(part).T
            values[:, part] = self._near(inner, self.size[query, None], self.size[None, part])
        return values

    def _near(self, inner: Floats, one: Floats, other: Floats) -> Floats:
        """Cosine, or minus the squared distance, from inner products and sizes."""
        if self.metric == "cosine":
            return np.asarray(inner / (one * other))
        return np.asarray(2.0 * inner - other - one)

    def _taken(self, values: Floats, query: Index, k: int) -> npt.NDArray[np.bool_]:
        """Which are the k largest of every row; of ties the first."""
        last = _largest(values, k)[:, None]
        # Rounding of a distance is relative to the lengths of its two rows, which for near rows
        # are about as long as the row itself.
        tie = TIE if self.metric == "cosine" else TIE * (self.size[query, None] - last)
        taken = values > last + tie
        tied = (values >= last - tie) & ~taken
        left = k - taken.sum(axis=1, keepdims=True)
        if (tied.sum(axis=1, keepdims=True) > left).any():
            tied &= np.cumsum(tied, axis=1) <= left
        return np.asarray(taken | tied)

    def refuse_alike(self) -> None:
        """Raise where all rows are equally near.

        Raises
        ------
        UndefinedMeasureError
            If so.
        """
        low, high = np.inf, -np.inf
        step = 1
        start = 0
        while start < self.n:
            some = np.arange(start, min(start + step, self.n))
            values = self._values(some)
            own = np.arange(len(some)), some
            values[own] = np.inf
            least = values.min(axis=1)
            values[own] = -np.inf
            most = values.max(axis=1)
            if self.metric == "cosine":
                low, high = min(low, float(least.min())), max(high, float(most.max()))
                if high - low > TIE:
                    return
            elif (most - least > 10 * TIE * (self.size[some] - most)).any():
                return
            start, step = start + step, max(1, _ENTRIES // (8 * self.n))
        raise UndefinedMeasureError("All rows are equally near: there are no neighbours.")


def _plain(rows: Array, k: int) -> npt.NDArray[Any]:
    check_whole(k=k)
    if k < 1:
        raise InputError(f"{k} neighbours were asked for; at least 1 is needed.")
    x = to_numpy(rows)
    if x.dtype not in (np.float32, np.float64):
        x = x.astype(np.float32 if x.dtype == np.float16 else np.float64)
    if k >= len(x) - 1:
        raise UndefinedMeasureError(
            f"{k} neighbours of {len(x)} rows are all or nearly all of them: take fewer neighbours, "
            f"or {k + 2} rows or more."
        )
    return x


def _parts(x: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    return [x[start : start + _KEYS] for start in range(0, len(x), _KEYS)]


def _wide(x: npt.NDArray[Any]) -> Floats:
    return np.asarray(x, dtype=np.float64)


def _largest(values: npt.NDArray[Any], k: int) -> npt.NDArray[Any]:
    """The k-th largest of every row."""
    width = values.shape[1]
    return np.asarray(np.partition(values, width - k, axis=1)[:, width - k])


def _spread(values: npt.NDArray[Any], row: Index, many: int) -> npt.NDArray[Any]:
    """Values of rows in their order, one row beside the other, as a table; what is left over is least."""
    count = np.bincount(row, minlength=many)
    position = np.arange(len(row)) - (np.cumsum(count) - count)[row]
    least = -np.inf if values.dtype.kind == "f" else 0
    table = np.full((many, count.max()), least, dtype=values.dtype)
    table[row, position] = values
    return table
