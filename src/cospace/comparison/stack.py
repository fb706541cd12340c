"""The grid as one matrix product: measures whose value is an inner product of relations.

Relations are kept as columns of one matrix, so that a permutation of rows gathers whole lines of
memory and all pairs of spaces come from one product a shuffle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace._threads import each
from cospace.errors import UndefinedMeasureError
from cospace.measures import Measure
from cospace.space import Space
from cospace.stats import Permutations, Weights
from cospace.summaries import Order, Relation

__all__ = ["Stack"]

Floats = npt.NDArray[np.float64]
_LINES = 1 << 16


@dataclass(frozen=True, eq=False)
class Stack:
    """Relations of several spaces."""

    columns: Floats
    """Unit vectors, shape (entries, spaces)."""
    first: Relation
    """One of them, for its form."""
    reasons: tuple[str | None, ...]
    """Why a space has no relation; its column is zero."""

    @classmethod
    def of(cls, measure: Measure, spaces: list[Space], progress: Callable[[], None]) -> Stack:
        """Compute the relation of every space.

        Raises
        ------
        UndefinedMeasureError
            When none of the spaces has one.
        """
        relation = measure.relation
        assert relation is not None  # noqa: S101  a plan stacks only measures that have one

        def relate(space: Space) -> tuple[Relation | None, str | None]:
            try:
                return relation(space.rows), None
            except UndefinedMeasureError as error:
                return None, str(error)

        related = each(relate, spaces, progress)
        found = [r for r, _ in related]
        reasons = [reason for _, reason in related]
        first = next((r for r in found if r is not None), None)
        if first is None:
            raise UndefinedMeasureError(str(reasons[0]))
        columns = np.zeros((len(first.vector), len(spaces)))
        for i, r in enumerate(found):
            if r is not None:
                columns[:, i] = r.vector
        return cls(columns, first, tuple(reasons))

    def values(self) -> Floats:
        """Inner products of all pairs, in float64."""
        return np.asarray(self.columns.T @ self.columns)

    def null(self, shuffles: Permutations, progress: Callable[[], None]) -> Floats:
        """Inner products with every target shuffled, shape (shuffles, spaces, spaces)."""
        single = self.columns.astype(np.float32)
        count = single.shape[1]

        def shuffled(order: Order) -> Floats:
            entries = Relation.entries(order, self.first.form)
            total = np.zeros((count, count))
            for start in range(0, len(single), _LINES):
                lines = slice(start, start + _LINES)
                total += single[lines].T @ single[entries[lines]]
            return total

        return np.asarray(each(shuffled, shuffles.orders, progress)).reshape(-1, count, count)

    def bootstrap(self, weights: Weights, progress: Callable[[], None]) -> Floats:
        """Values in bootstrap samples of the rows, shape (samples, spaces, spaces).

        A sample reweights the entries; the centring stays that of all rows, to which the value is
        insensitive to first order because centred relations are orthogonal to every change of
        centring.
        """
        single = self.columns.astype(np.float32)
        count = single.shape[1]

        def sample(draw: int) -> Floats:
            roots = weights.roots(draw, self.first.form)
            total = np.zeros((count, count))
            for start in range(0, len(single), _LINES):
                lines = slice(start, start + _LINES)
                block = single[lines] * roots[lines, None]
                total += block.T @ block
            return total

        samples = np.asarray(each(sample, range(len(weights)), progress))
        own = np.sqrt(np.diagonal(samples, axis1=1, axis2=2))
        own = np.where(own > 0, own, np.nan)
        return np.asarray(samples / (own[:, :, None] * own[:, None, :]))
