"""From scores to cells: the value beside its null, its p-values and its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cospace.comparison.pairwise import Scored
from cospace.comparison.plan import Pair, Plan
from cospace.comparison.result import Cell, SpaceFacts
from cospace.errors import UndefinedMeasureError
from cospace.measures import Measure
from cospace.stats import Null, PermutationMoments, Permutations, effect, max_statistic
from cospace.stats.permutation import TIE, TIE_SINGLE

__all__ = ["cells_of"]


def cells_of(
    plan: Plan,
    rows: Mapping[Pair, Scored],
    facts: Sequence[SpaceFacts],
    shuffles: Permutations,
    note: str | None,
) -> Iterable[Cell]:
    """One cell a pair, in the order of ``rows``; with a ``note`` there is no p, and it says why."""
    measure = plan.measure
    searched = {} if note is not None else _searched(plan, rows, facts, shuffles)
    for (i, j), row in rows.items():
        source, target = facts[i], facts[j]
        narrow = max(source.width, target.width)
        if plan.reduced is not None:
            narrow = min(plan.reduced, source.n)
        p = p_search = None
        if row.value is not None and row.null is not None and note is None:
            p = shuffles.p(row.value, row.null.draws, measure.kind, single=plan.stacked)
            p_search = searched[i, j]
        elif row.value is not None and row.exact is not None:
            p = row.exact.p(row.value)
        level = row.exact or row.null
        yield Cell(
            measure=measure.name,
            source=source.name,
            target=target.name,
            value=row.value,
            n=source.n,
            width_source=min(source.width, narrow),
            width_target=min(target.width, narrow),
            rank_source=min(source.rank, narrow),
            rank_target=min(target.rank, narrow),
            null_mean=None if level is None else level.mean,
            null_sd=None if level is None else level.sd,
            null_exact=row.exact is not None,
            effect=_effect(measure, row.value, level),
            draws=0 if row.null is None else len(row.null.draws),
            p=p,
            p_search=p_search,
            low=row.low,
            high=row.high,
            reduced=plan.reduced,
            held_out=measure.held_out,
            reason=row.reason,
            note=None if row.value is None else row.note or note,
        )


def _effect(
    measure: Measure, value: float | None, level: Null | PermutationMoments | None
) -> float | None:
    if value is None or level is None:
        return None
    try:
        return effect(value, level.mean, measure.identical)
    except UndefinedMeasureError:
        return None


def _searched(
    plan: Plan,
    rows: Mapping[Pair, Scored],
    facts: Sequence[SpaceFacts],
    shuffles: Permutations,
) -> dict[Pair, float]:
    """p of every pair against the most surprising of all pairs of the same two models."""
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
