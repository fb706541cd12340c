"""The grid without relations in memory: entries are made block by block, for all spaces at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cospace._threads import each
from cospace.comparison.plan import BLOCK
from cospace.comparison.undefined import UNDEFINED, why
from cospace.errors import UndefinedMeasureError
from cospace.measures import Measure
from cospace.space import Space
from cospace.stats import Invariants, Permutations, Weights
from cospace.summaries import Products

__all__ = ["Stream", "stream"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stream:
    """Relations of several spaces, given by their rows; there are no shuffles of them."""

    kept: tuple[Products | None, ...]
    """What the entries are made of."""
    reasons: tuple[str | None, ...]
    """Why a space has no relation; its products are 0 and mean nothing."""
    tick: Callable[[], None]
    """Called after each block of rows."""

    @cached_property
    def raw(self) -> Floats:
        """Inner products of the relations as they are, shape (spaces, spaces).

        Entries are multiplied and summed in single precision within a block, and blocks are added
        in double: within 1e-5 of double precision throughout.
        """
        found = [made for made in self.kept if made is not None]
        n = len(found[0].rows)
        lines = max(1, min(n, BLOCK // (4 * n * len(found))))

        def product(start: int) -> Floats:
            stop = min(start + lines, n)
            entries = np.empty((len(found), stop - start, n - start), dtype=np.float32)
            # Entries below the diagonal are the mirror of those above, which count twice.
            above = np.triu(np.ones((stop - start,) * 2, dtype=np.float32), 1)
            for made, block in zip(found, entries, strict=True):
                np.matmul(made.rows[start:stop], made.rows[start:].T, out=block)
                if made.level:
                    block += (made.margin[start:stop, None] + made.level).astype(np.float32)
                    block += made.margin[start:].astype(np.float32)
                block[:, : stop - start] *= above
                np.fill_diagonal(block, made.on[start:stop] / np.sqrt(2.0))
            flat = entries.reshape(len(found), -1)
            return np.asarray(flat @ flat.T, dtype=np.float64)

        total = np.zeros((len(found),) * 2)
        # A few blocks at a time, so that their products need not all be kept.
        starts = list(range(0, n, lines))
        for first in range(0, len(starts), 16):
            for part in each(product, starts[first : first + 16], self.tick):
                total += part
        places = np.flatnonzero([made is not None for made in self.kept])
        full = np.zeros((len(self.kept),) * 2)
        full[np.ix_(places, places)] = 2 * total
        return full

    def _sizes(self) -> Floats:
        size = np.sqrt(np.diagonal(self.raw))
        return np.asarray(np.where(size > 0, size, 1.0))

    def values(self) -> Floats:
        """Inner products of the relations at unit length."""
        size = self._sizes()
        return np.asarray(self.raw / (size[:, None] * size[None, :]))

    def null(self, shuffles: Permutations, progress: Callable[[], None]) -> Floats:
        """No shuffles: an array of shape (0, spaces, spaces)."""
        return np.empty((0, len(self.kept), len(self.kept)))

    def invariants(self) -> Sequence[Invariants] | None:
        """Index sums of second order, for the exact mean and spread; None for fewer than 6 rows."""
        made = next(p for p in self.kept if p is not None)
        if len(made.rows) < 6:
            return None
        return [
            Invariants.of_margins(found.on / size, found.sums / size, 1.0)
            for found, size in zip(
                (made if p is None else p for p in self.kept), self._sizes(), strict=True
            )
        ]

    def bootstrap(self, weights: Weights, progress: Callable[[], None]) -> None:
        """None: entries are not kept, so they cannot be reweighted."""


def stream(measure: Measure, spaces: Sequence[Space], tick: Callable[[], None]) -> Stream:
    """Prepare the rows of every space.

    Raises
    ------
    UndefinedMeasureError
        When none of the spaces has a relation.
    """
    products = measure.products
    assert products is not None  # noqa: S101  a plan streams only measures that have them
    reasons: list[str | None] = [None] * len(spaces)

    def prepare(at: int) -> Products | None:
        try:
            return products(spaces[at].rows)
        except UNDEFINED as error:
            reasons[at] = why(error)
            return None

    kept = each(prepare, range(len(spaces)), tick)
    if all(made is None for made in kept):
        raise UndefinedMeasureError(str(reasons[0]))
    return Stream(tuple(kept), tuple(reasons), tick)
