"""Pair by pair: measures that score two summaries, each made once per space."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cospace._arrays import to_numpy
from cospace._threads import each
from cospace.comparison.result import Interval
from cospace.comparison.undefined import UNDEFINED, number, why
from cospace.measures import Measure
from cospace.space import Space
from cospace.stats import Null, PermutationMoments, Permutations
from cospace.summaries import Order

__all__ = ["Pairwise", "Scored", "steps"]

Pair = tuple[int, int]

_SHUFFLES_AT_ONCE = 5
"""Shuffles of a pair in one piece of work: few, so that an interrupt is heard soon."""


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
    exact: PermutationMoments | None = None
    """Moments over all permutations, where they have a closed form."""
    low: float | None = None
    """Lower end of the interval."""
    high: float | None = None
    """Upper end of the interval."""
    interval: Interval | None = None
    """What was drawn again or left out for it."""
    fault: str | None = None
    """Name of the space that alone has no value, where the reason is of one."""

    @classmethod
    def without(cls, ends: Sequence[Space], reasons: Sequence[str | None]) -> Scored | None:
        """No value, where a space has none; the space is named unless both are alike in it."""
        found = [(space.name, why) for space, why in zip(ends, reasons, strict=True) if why]
        if not found:
            return None
        name, reason = found[0]
        if [why for _, why in found] == [reason, reason]:
            return cls(None, reason=reason)
        return cls(None, reason=f"{name}: {reason}", fault=name)


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
        self.kept = {key: kept for key, kept in self.kept.items() if key[1] != measure.summarise}

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
        scored = dict(zip(once, each(lambda pair: self._value(measure, *pair), once), strict=True))
        work = [
            (pair, shuffles.orders[start : start + _SHUFFLES_AT_ONCE])
            for pair in once
            if scored[pair].value is not None
            for start in range(0, len(shuffles), _SHUFFLES_AT_ONCE)
        ]
        drawn = each(lambda item: self._draws(measure, *item[0], item[1]), work, progress)
        draws: dict[Pair, list[float]] = {}
        for (pair, _), some in zip(work, drawn, strict=True):
            if isinstance(some, str):
                scored[pair] = replace(scored[pair], note=some)
            else:
                draws.setdefault(pair, []).extend(some)
        for pair, found in draws.items():
            if scored[pair].note is None:
                scored[pair] = replace(scored[pair], null=Null(np.asarray(found)))
        return {(i, j): scored[(i, j) if (i, j) in scored else (j, i)] for i, j in asked}

    def _value(self, measure: Measure, i: int, j: int) -> Scored:
        source, target = self.kept[i, measure.summarise], self.kept[j, measure.summarise]
        reasons = [why(kept) if isinstance(kept, Exception) else None for kept in (source, target)]
        bare = Scored.without([self.spaces[i], self.spaces[j]], reasons)
        if bare is not None:
            return bare
        try:
            value = number(measure.of(source, target))
        except UNDEFINED as error:
            return Scored(None, reason=why(error))
        measure.check_value(value)
        return Scored(value)

    def _draws(
        self, measure: Measure, i: int, j: int, orders: Iterable[Order]
    ) -> list[float] | str:
        """Values over some shuffles, or why there is no null."""
        source, target = self.kept[i, measure.summarise], self.kept[j, measure.summarise]
        try:
            return [number(measure.of(source, target.permuted(order))) for order in orders]
        except UNDEFINED as error:
            return f"there is no null, a shuffle has no value: {why(error)}"


def steps(measure: Measure, pairs: int, draws: int) -> int:
    """How often ``score`` reports progress where every pair has a value."""
    once = pairs // 2 if measure.symmetric else pairs
    return once * math.ceil(draws / _SHUFFLES_AT_ONCE)
