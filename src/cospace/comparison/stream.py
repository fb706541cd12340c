"""The grid without relations in memory: entries are made tile by tile, for all spaces at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cospace._threads import each
from cospace.comparison.budget import AHEAD, BLOCK, WIDEST
from cospace.comparison.undefined import UNDEFINED, why
from cospace.entries import Entries, Tiled
from cospace.errors import UndefinedMeasureError
from cospace.measures import Measure
from cospace.space import Space
from cospace.stats import Invariants, Permutations, Weights
from cospace.stats.closed_form import FEWEST

__all__ = ["Stream", "stream"]

Floats = npt.NDArray[np.float64]

_ROUNDING = 1e-5
"""Size of a relation, relative to that of the products it is made of, of which rounding leaves little."""
_ALIKE = "All rows relate alike, to single precision: there is nothing to compare."


class Pass(NamedTuple):
    """What one pass over the tiles sums up of every space that has a relation."""

    products: Floats
    """Inner products of the rests, shape (spaces, spaces)."""
    squares: Floats
    """Sums of squares of the lines of the rests, shape (spaces, rows)."""
    cubes: Floats
    """Sums of the cubes of all entries of the rests, shape (spaces,)."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Relations of several spaces, of which tiles can be made; there are no shuffles of them.

    Entries are multiplied and summed in single precision within a tile, and tiles are added in
    double: values are within 1e-5 of double precision throughout, mean and spread over all
    permutations within 1e-5 of themselves, and the skewness within 1e-4.
    """

    kept: tuple[Tiled | None, ...]
    """What the entries are made of."""
    unrelated: tuple[str | None, ...]
    """Why a space has nothing to make them of."""
    tick: Callable[[], None]
    """Called after each tile."""

    @cached_property
    def _found(self) -> list[Tiled]:
        return [made for made in self.kept if made is not None]

    @cached_property
    def _pass(self) -> Pass:
        """Make every tile above the diagonal, and those on it, once."""
        found = self._found
        n, count = len(found[0].on), len(found)
        width = int(min(n, WIDEST, max((BLOCK / (4 * count)) ** 0.5, 1)))
        cuts = [slice(start, min(start + width, n)) for start in range(0, n, width)]

        def part(place: tuple[slice, slice]) -> tuple[Floats, Floats, Floats, Floats]:
            rows, columns = place
            shape = rows.stop - rows.start, columns.stop - columns.start
            entries = np.empty((count, *shape), dtype=np.float32)
            square = np.empty(shape, dtype=np.float32)
            across, down = (np.ones(length, dtype=np.float32) for length in shape[::-1])
            lines, mirrored, cubes = (np.empty((count, *s)) for s in (shape[:1], shape[1:], ()))
            for at, (made, tile) in enumerate(zip(found, entries, strict=True)):
                made.tile(rows, columns, tile)
                np.multiply(tile, tile, out=square)
                lines[at], mirrored[at] = square @ across, down @ square
                cubes[at] = np.vdot(square, tile)
            flat = entries.reshape(count, -1)
            return np.asarray(flat @ flat.T, dtype=np.float64), lines, mirrored, cubes

        total = Pass(np.zeros((count, count)), np.zeros((count, n)), np.zeros(count))
        places = [(a, b) for i, a in enumerate(cuts) for b in cuts[i:]]
        # A few tiles at a time, so that their products need not all be kept.
        for first in range(0, len(places), AHEAD):
            some = places[first : first + AHEAD]
            for (rows, columns), made in zip(some, each(part, some, self.tick), strict=True):
                products, lines, mirrored, cubes = made
                times = 1 if rows == columns else 2
                total.products[...] += times * products
                total.squares[:, rows] += lines
                if rows != columns:
                    total.squares[:, columns] += mirrored
                total.cubes[...] += times * cubes
        return total

    @cached_property
    def raw(self) -> Floats:
        """Inner products of the relations as they are, shape (spaces, spaces)."""
        n = len(self._found[0].on)
        off, on = np.array([made.means for made in self._found]).T
        made = self._pass.products + n * (n - 1) * np.outer(off, off) + n * np.outer(on, on)
        places = np.flatnonzero([kept is not None for kept in self.kept])
        full = np.zeros((len(self.kept),) * 2)
        full[np.ix_(places, places)] = made
        return full

    def _sizes(self) -> Floats:
        size = np.sqrt(np.diagonal(self.raw))
        return np.asarray(np.where(size > 0, size, 1.0))

    @cached_property
    def reasons(self) -> tuple[str | None, ...]:
        """Why a space has no relation; its products are 0 and mean nothing."""
        return tuple(
            reason or (_ALIKE if made is not None and size <= _ROUNDING * made.scale else None)
            for reason, made, size in zip(
                self.unrelated, self.kept, np.sqrt(np.diagonal(self.raw)), strict=True
            )
        )

    def values(self) -> Floats:
        """Inner products of the relations at unit length."""
        size = self._sizes()
        return np.asarray(self.raw / (size[:, None] * size[None, :]))

    def null(self, shuffles: Permutations, progress: Callable[[], None]) -> Floats:
        """No shuffles: an array of shape (0, spaces, spaces)."""
        return np.empty((0, len(self.kept), len(self.kept)))

    def invariants(self) -> Sequence[Invariants] | None:
        """Index sums up to third order, for the exact null; None for fewer than 6 rows."""
        if len(self._found[0].on) < FEWEST:
            return None
        squares, cubes = self._pass.squares, self._pass.cubes
        places = np.flatnonzero([made is not None for made in self.kept])
        sizes = self._sizes()[places]

        def of(at: int) -> Invariants:
            made = self._found[at]
            sums = made.sums(squares[at], float(cubes[at]))
            return Invariants.of_sums(made.means, sums, float(sizes[at]))

        made = each(of, range(len(places)), self.tick)
        # A space without a relation takes any: a reason stands beside its values.
        full = [made[0]] * len(self.kept)
        for place, invariants in zip(places, made, strict=True):
            full[place] = invariants
        return full

    def bootstrap(self, weights: Weights, progress: Callable[[], None]) -> None:
        """None: entries are not kept, so they cannot be reweighted."""


def stream(measure: Measure, spaces: Sequence[Space], tick: Callable[[], None]) -> Stream:
    """Prepare every space: its rows, or, where a measure is no inner product of rows, its entries.

    Raises
    ------
    UndefinedMeasureError
        When none of the spaces has a relation.
    """
    reasons: list[str | None] = [None] * len(spaces)

    def prepare(at: int) -> Tiled | None:
        rows = spaces[at].rows
        try:
            if measure.products is not None:
                return measure.products(rows)
            assert measure.relation is not None  # noqa: S101  a plan streams only relations
            return Entries.of(measure.relation(rows))
        except UNDEFINED as error:
            reasons[at] = why(error)
            return None

    kept = each(prepare, range(len(spaces)), tick)
    if all(made is None for made in kept):
        raise UndefinedMeasureError(str(reasons[0]))
    return Stream(tuple(kept), tuple(reasons), tick)
