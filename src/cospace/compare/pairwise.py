"""Pair by pair: measures that score two summaries, each made once per space."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cospace._arrays import to_numpy
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
        """Summary of one space, made on first use.

        Raises
        ------
        UndefinedMeasureError
            Again, each time, where the space has none.
        """
        key = (at, measure.summarise)
        if key not in self.kept:
            try:
                self.kept[key] = measure.summarise(to_numpy(self.spaces[at].rows))
            except UndefinedMeasureError as error:
                self.kept[key] = error
        if isinstance(self.kept[key], UndefinedMeasureError):
            raise self.kept[key]
        return self.kept[key]

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
        scored: dict[tuple[int, int], Scored] = {}
        for i, j in pairs:
            scored[i, j] = (
                scored[j, i]
                if measure.symmetric and (j, i) in scored
                else self._pair(measure, i, j, shuffles)
            )
            progress()
        return scored

    def _pair(self, measure: Measure, i: int, j: int, shuffles: Permutations) -> Scored:
        try:
            source, target = self.summary(i, measure), self.summary(j, measure)
            value = measure.of(source, target)
            draws = [measure.of(source, target.permuted(order)) for order in shuffles.orders]
        except UndefinedMeasureError as error:
            return Scored(None, reason=str(error))
        return Scored(value, Null(np.asarray(draws)) if draws else None)
