"""Pair by pair: measures that score two summaries, each made once per space."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cospace._arrays import to_numpy
from cospace._threads import each
from cospace.errors import UndefinedMeasureError
from cospace.measures import Measure
from cospace.space import Space
from cospace.stats import Null, Permutations

__all__ = ["Pairwise", "Scored"]


@dataclass(frozen=True)
class Scored:
    """One pair's value and null, or why there is none."""

    value: float | None
    """The value."""
    null: Null | None = None
    """Values over shuffles of the target."""
    reason: str | None = None
    """Why there is no value."""
    low: float | None = None
    """Lower end of the bootstrap interval."""
    high: float | None = None
    """Upper end of the bootstrap interval."""


@dataclass(eq=False)
class Pairwise:
    """Summaries of spaces, shared by all measures that keep the same."""

    spaces: list[Space]
    """The spaces, at the width that is compared."""
    kept: dict[tuple[int, Any], Any] = field(default_factory=dict)
    """(position, summarise) -> summary, or the error that it raised."""

    def summary(self, at: int, measure: Measure) -> Any:
        """Summary of one space.

        Raises
        ------
        UndefinedMeasureError
            Again, each time, where the space has none.
        """
        kept = self.kept[at, measure.summarise]
        if isinstance(kept, UndefinedMeasureError):
            raise kept
        return kept

    def summarise(self, measure: Measure, at: Iterable[int]) -> None:
        """Make the summaries that are not there yet."""

        def make(i: int) -> Any:
            try:
                return measure.summarise(to_numpy(self.spaces[i].rows))
            except UndefinedMeasureError as error:
                return error

        missing = [i for i in at if (i, measure.summarise) not in self.kept]
        for i, kept in zip(missing, each(make, missing), strict=True):
            self.kept[i, measure.summarise] = kept

    def forget(self, measure: Measure) -> None:
        """Drop the summaries that ``measure`` made."""
        self.kept = {
            key: kept for key, kept in self.kept.items() if key[1] is not measure.summarise
        }

    def score(
        self,
        measure: Measure,
        pairs: Iterable[tuple[int, int]],
        shuffles: Permutations,
        progress: Callable[[], None],
    ) -> dict[tuple[int, int], Scored]:
        """Value and null of every pair; a symmetric measure computes one of two mirrored pairs."""
        asked = list(dict.fromkeys(pairs))
        self.summarise(measure, dict.fromkeys(i for pair in asked for i in pair))
        once = [
            (i, j) for i, j in asked if not (measure.symmetric and i > j and (j, i) in set(asked))
        ]
        made = each(lambda pair: self._pair(measure, *pair, shuffles), once, progress)
        scored = dict(zip(once, made, strict=True))
        return {(i, j): scored[(i, j) if (i, j) in scored else (j, i)] for i, j in asked}

    def _pair(self, measure: Measure, i: int, j: int, shuffles: Permutations) -> Scored:
        try:
            source, target = self.summary(i, measure), self.summary(j, measure)
            value = measure.of(source, target)
            draws = [measure.of(source, target.permuted(order)) for order in shuffles.orders]
        except UndefinedMeasureError as error:
            return Scored(None, reason=str(error))
        return Scored(value, Null(np.asarray(draws)) if draws else None)
