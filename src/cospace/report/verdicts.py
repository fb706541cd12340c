"""The verdict on a cell: its p corrected for the search over sites and for the number of measures."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from cospace.comparison.result import Cell, Comparison
from cospace.stats import holm

__all__ = ["LEVEL", "Reading", "Readings", "above_ceiling", "beyond", "reading"]

LEVEL = 0.05
"""Above this p a value is called not distinguishable from chance."""
SPREAD = 3.0
"""Where there is no p: standard deviations of the null within which a value counts as chance.
Twenty shuffles give a rough standard deviation, and a report asks many measures at once."""

Test = tuple[str, str, str]
"""Measure, source model, target model; of a symmetric measure the models in either order."""
Family = frozenset[str]
"""The two models whose measures are tested together."""


@dataclass(frozen=True)
class Reading:
    """Verdict on one cell."""

    key: str
    """``above``, ``chance``, ``outside`` (its null, without a test), ``untested``
    (no null, or one that is no test) or ``empty``."""
    words: str
    """The verdict in a few words."""
    p: float | None = None
    """The p that it rests on; None where there is no test."""
    tests: int = 1
    """Number of tests for which p was corrected."""


class Readings:
    """Verdicts on the cells of one comparison.

    A cell's own p is p (search), or p where nothing was searched; where a search has no p
    (search), p times the number of cells searched. All measures tested on two models are one
    family: Holm's correction over the smallest own p of each, the cell standing for its measure.
    """

    def __init__(self, result: Comparison) -> None:
        self._model = {space.name: space.model for space in result.spaces}
        self._measure = {measure.name: measure for measure in result.measures}
        tested = [c for c in result.cells if c.p is not None or c.p_search is not None]
        tested = [c for c in tested if c.value is not None and c.source != c.target]
        seen: Counter[Test] = Counter()
        pairs = set()
        for cell in tested:
            pair = self._pair(cell)
            if pair not in pairs:
                pairs.add(pair)
                seen[self._test(cell)] += 1
        self._searched = dict(seen)
        self._families: dict[Family, dict[Test, float]] = {}
        for cell in tested:
            test, p = self._test(cell), self.own(cell)
            family = self._families.setdefault(frozenset(test[1:]), {})
            family[test] = min(family.get(test, 1.0), 1.0 if p is None else p)
        self._known: dict[tuple[Test, float], float] = {}

    def __call__(self, cell: Cell) -> Reading:
        """Say whether a value can be told from its level by chance."""
        test = self._test(cell)
        own = None if cell.value is None else self.own(cell)
        family = self._families.get(frozenset(test[1:]), {})
        if own is not None and (test, own) not in self._known:
            others = [p for name, p in family.items() if name != test]
            self._known[test, own] = float(holm([own, *others])[0])
        p = None if own is None else self._known[test, own]
        if cell.value is not None and p is None and self._measure[cell.measure].untested:
            return Reading("untested", "not tested")
        return reading(cell, self._measure[cell.measure].kind, p, tests=max(len(family), 1))

    def own(self, cell: Cell) -> float | None:
        """Return p as corrected for the search over sites, not for the number of measures."""
        if cell.p_search is not None:
            return cell.p_search
        if cell.p is None:
            return None
        return min(1.0, cell.p * self._searched.get(self._test(cell), 1))

    def _test(self, cell: Cell) -> Test:
        models = self._model[cell.source], self._model[cell.target]
        if self._measure[cell.measure].symmetric:
            models = min(models), max(models)
        return (cell.measure, *models)

    def _pair(self, cell: Cell) -> Test:
        ends = cell.source, cell.target
        if self._measure[cell.measure].symmetric:
            ends = min(ends), max(ends)
        return (cell.measure, *ends)


def reading(cell: Cell, kind: str, p: float | None = None, *, tests: int = 1) -> Reading:
    """Say whether a value can be told from its level by chance.

    Parameters
    ----------
    cell
        One cell.
    kind
        ``similarity``, ``distance`` or ``divergence``.
    p
        The p to judge by, as ``Readings`` corrects it; by default the greater of the cell's own,
        which are not corrected for the number of measures.
    tests
        Number of tests for which p was corrected.
    """
    if cell.value is None:
        return Reading("empty", "no value")
    if p is None:
        p = max((q for q in (cell.p, cell.p_search) if q is not None), default=None)
    if p is not None:
        if p > LEVEL:
            return Reading("chance", "not distinguishable from chance", p, tests)
        return Reading("above", "more alike than chance", p, tests)
    if cell.null_mean is None:
        return Reading("untested", "no null was drawn")
    if not beyond(cell, kind, SPREAD):
        return Reading("chance", "within its null, not tested")
    return Reading("outside", "outside its null, not tested")


def beyond(cell: Cell, kind: str, spread: float) -> bool:
    """Whether a value is more alike than its null by so many standard deviations."""
    if cell.value is None or cell.null_mean is None:
        return False
    gain = cell.value - cell.null_mean if kind == "similarity" else cell.null_mean - cell.value
    return gain > spread * (cell.null_sd or 0.0) and not math.isclose(gain, 0.0, abs_tol=1e-12)


def above_ceiling(cell: Cell) -> bool:
    """Whether a value is above what other coordinates of the same kind would reach."""
    return cell.value is not None and cell.ceiling is not None and cell.value > cell.ceiling
