"""Pair by pair: measures that score two summaries, each made once per space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cospace._arrays import to_numpy
from cospace._threads import each
from cospace.comparison.undefined import UNDEFINED, number, why
from cospace.measures import Measure
from cospace.space import Space
from cospace.stats import Null, Permutations

__all__ = ["Pairwise", "Scored"]

Pair = tuple[int, int]


@dataclass(frozen=True)
class Scored:
    """One pair's value and null, or why there is none."""

    value: float | None
    """The value."""
    null: Null | None = None
    """Values over shuffles of the target."""
    reason: str | None = None
    """Why there is no value."""
    note: str | None = None
    """Why there is no null beside the value."""
    low: float | None = None
    """Lower end of the bootstrap interval."""
    high: float | None = None
    """Upper end of the bootstrap interval."""


@dataclass(eq=False)
class Pairwise:
    """Spaces on so many principal components, and their summaries, each made once."""

    spaces: Sequence[Space]
    """The spaces at full width."""
    reduced: int | None = None
    """Leading principal components that are compared; None for full width."""
    narrowed: dict[int, Space] = field(default_factory=dict)
    """Position -> space on its components, made when first needed."""
    kept: dict[tuple[int, Any], Any] = field(default_factory=dict)
    """(position, summarise) -> summary, or the error that it raised."""

    def at(self, positions: Iterable[int]) -> list[Space]:
        """Return spaces at the width that is compared."""
        positions = list(positions)
        if self.reduced is None:
            return [self.spaces[i] for i in positions]
        k = self.reduced

        def narrow(i: int) -> Space:
            space = self.spaces[i]
            return space.reduce(min(k, space.n, space.width))

        missing = [i for i in positions if i not in self.narrowed]
        self.narrowed.update(zip(missing, each(narrow, missing), strict=True))
        return [self.narrowed[i] for i in positions]

    def summarise(self, measure: Measure, positions: Iterable[int]) -> None:
        """Make the summaries that are not there yet."""

        def make(space: Space) -> Any:
            try:
                return measure.summarise(to_numpy(space.rows))
            except UNDEFINED as error:
                return error

        missing = [i for i in positions if (i, measure.summarise) not in self.kept]
        for i, kept in zip(missing, each(make, self.at(missing)), strict=True):
            self.kept[i, measure.summarise] = kept

    def forget(self, measure: Measure) -> None:
        """Drop the summaries that ``measure`` made."""
        self.kept = {
            key: kept for key, kept in self.kept.items() if key[1] is not measure.summarise
        }

    def score(
        self,
        measure: Measure,
        pairs: Iterable[Pair],
        shuffles: Permutations,
        progress: Callable[[], None],
    ) -> dict[Pair, Scored]:
        """Value and null of every pair; a symmetric measure computes one of two mirrored pairs."""
        asked = dict.fromkeys(pairs)
        self.summarise(measure, dict.fromkeys(i for pair in asked for i in pair))
        once = [(i, j) for i, j in asked if not (measure.symmetric and i > j and (j, i) in asked)]
        made = each(lambda pair: self._pair(measure, *pair, shuffles), once, progress)
        scored = dict(zip(once, made, strict=True))
        return {(i, j): scored[(i, j) if (i, j) in scored else (j, i)] for i, j in asked}

    def _pair(self, measure: Measure, i: int, j: int, shuffles: Permutations) -> Scored:
        source, target = self.kept[i, measure.summarise], self.kept[j, measure.summarise]
        for kept in (source, target):
            if isinstance(kept, Exception):
                return Scored(None, reason=why(kept))
        try:
            value = number(measure.of(source, target))
        except UNDEFINED as error:
            return Scored(None, reason=why(error))
        draws = []
        for order in shuffles.orders:
            try:
                draws.append(number(measure.of(source, target.permuted(order))))
            except UNDEFINED as error:
                return Scored(value, note=f"there is no null, a shuffle has no value: {why(error)}")
        return Scored(value, Null(np.asarray(draws)) if draws else None)
