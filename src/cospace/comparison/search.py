"""Searches: the most surprising of all sites of two models, and over pairs of models."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from cospace.comparison.pairwise import Scored
from cospace.comparison.plan import Pair, Plan
from cospace.comparison.result import Cell, MeasureFacts, ModelPair, SpaceFacts
from cospace.stats import Permutations, benjamini_hochberg, holm, max_statistic
from cospace.stats.permutation import TIE, TIE_SINGLE

__all__ = ["CORRECTIONS", "LEVEL", "Correction", "model_pairs", "out_of_reach", "search_p"]

Correction = Literal["max", "holm", "bh"]
CORRECTIONS = ("max", "holm", "bh")
"""Over the sites of two models alone, or over the pairs of models too."""
LEVEL = 0.05
"""What a p must reach to be called a finding."""


def search_p(
    plan: Plan,
    rows: Mapping[Pair, Scored],
    facts: Sequence[SpaceFacts],
    shuffles: Permutations,
) -> dict[Pair, float]:
    """p of every pair of spaces against the most surprising of all pairs of the same two models."""
    searches: dict[tuple[str, str], dict[Pair, tuple[float, npt.NDArray[np.float64]]]] = {}
    for (i, j), row in rows.items():
        if row.value is not None and row.null is not None:
            models = facts[i].model, facts[j].model
            searches.setdefault(models, {})[i, j] = row.value, row.null.draws
    found: dict[Pair, float] = {}
    for pairs in searches.values():
        p = max_statistic(
            [value for value, _ in pairs.values()],
            np.stack([draws for _, draws in pairs.values()], axis=1),
            plan.measure.kind,
            exact=shuffles.exact,
            tie=TIE_SINGLE if plan.stacked else TIE,
        )
        found |= dict(zip(pairs, p.tolist(), strict=True))
    return found


def model_pairs(
    cells: Sequence[Cell],
    measures: Sequence[MeasureFacts],
    facts: Sequence[SpaceFacts],
    correct: Correction,
) -> tuple[ModelPair, ...]:
    """Whether two models are alike at any of their sites, by every measure that was tested.

    Each pair of models stands with its smallest p (search), which is a p-value of "alike at no
    site"; Holm's or Benjamini and Hochberg's correction is over the pairs of models, for each
    measure by itself. Spaces of one model are a pair only where there is no other model.
    """
    place = {space.name: i for i, space in enumerate(facts)}
    model = {space.name: space.model for space in facts}
    order = {name: i for i, name in enumerate(dict.fromkeys(model.values()))}
    found: list[ModelPair] = []
    for measure in measures:
        tested: dict[tuple[str, str], list[Cell]] = {}
        for cell in cells:
            if cell.measure != measure.name or cell.p is None:
                continue
            a, b = model[cell.source], model[cell.target]
            first = place[cell.source] < place[cell.target] if a == b else order[a] < order[b]
            if (a != b or len(order) == 1) and (first or not measure.symmetric):
                tested.setdefault((a, b), []).append(cell)
        bests = [_best(*models, group, measure.kind) for models, group in tested.items()]
        if bests and correct != "max":
            adjust = holm if correct == "holm" else benjamini_hochberg
            corrected = adjust([best.p_search for best in bests]).tolist()
            bests = [replace(b, p_adjusted=p) for b, p in zip(bests, corrected, strict=True)]
        found += bests
    return tuple(found)


def _best(source: str, target: str, cells: Sequence[Cell], kind: str) -> ModelPair:
    """The most surprising of the cells of two models; of several the most alike."""
    sign = 1.0 if kind == "similarity" else -1.0

    def own(cell: Cell) -> float:
        p = cell.p_search if cell.p_search is not None else (cell.p or 0.0) * len(cells)
        return min(p, 1.0)

    best = min(cells, key=lambda cell: (own(cell), -sign * (cell.value or 0.0)))
    return ModelPair(
        measure=best.measure,
        source_model=source,
        target_model=target,
        source=best.source,
        target=best.target,
        value=best.value or 0.0,
        searched=len(cells),
        p_search=own(best),
        p_adjusted=None,
    )


def out_of_reach(
    pairs: Sequence[ModelPair], shuffles: Permutations, n: int, correct: Correction
) -> str | None:
    """Say in one line that no p can reach the level, however alike the spaces, and what to do.

    Where it is Holm's correction that keeps p from it, only the corrected p of pairs of models are
    spoken of.
    """
    draws = len(shuffles)
    if not draws or not pairs:
        return None
    if shuffles.exact:
        if 1 / draws <= LEVEL:
            return None
        return (
            f"{n} rows have {draws} orders to be shuffled into, so that no p is below {1 / draws:.2g}: "
            f"nothing can be told from chance at {LEVEL:g}. Compare more rows."
        )
    times = 1
    if correct == "holm":
        times = max(Counter(pair.measure for pair in pairs).values())
    if times / (1 + draws) <= LEVEL:
        return None
    least = 1 / (1 + draws)
    asked = (
        f"Ask for at least {math.ceil(times / LEVEL) - 1} (--permutations), or for 0 and the closed form of CKA "
        "and RSA."
    )
    if least <= LEVEL:
        return (
            f"Pairs of models: {draws} shuffles allow no p below {least:.2g}, and Holm's correction multiplies it by "
            f"up to {times} pairs, so that none reaches {LEVEL:g} in that table; cells and readings are not "
            f"corrected over pairs of models. {asked}"
        )
    return f"{draws} shuffles allow no p below {least:.2g}: nothing can be told from chance at {LEVEL:g}. {asked}"
