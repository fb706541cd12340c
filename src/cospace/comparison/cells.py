"""From scores to cells: the value beside its null, its p-values and its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cospace.comparison.pairwise import Scored
from cospace.comparison.plan import Pair, Plan
from cospace.comparison.result import Cell, SpaceFacts
from cospace.comparison.search import search_p
from cospace.errors import UndefinedMeasureError
from cospace.measures import Measure
from cospace.stats import Permutations, effect
from cospace.stats.ceiling import Ceiling

__all__ = ["cells_of"]


def cells_of(
    plan: Plan,
    rows: Mapping[Pair, Scored],
    facts: Sequence[SpaceFacts],
    shuffles: Permutations,
    note: str | None,
    ceilings: Sequence[Ceiling | str] | None = None,
) -> Iterable[Cell]:
    """One cell a pair, in the order of ``rows``; with a ``note`` there is no p, and it says why."""
    measure = plan.measure
    searched = {} if note is not None else search_p(plan, rows, facts, shuffles)
    for (i, j), row in rows.items():
        source, target = facts[i], facts[j]
        narrow = max(source.width, target.width)
        if plan.reduced is not None:
            narrow = min(plan.reduced, source.n)
        p = p_search = None
        if row.value is not None and row.null is not None and note is None:
            p = shuffles.p(row.value, row.null.draws, measure.kind, single=plan.stacked)
            p_search = searched[i, j]
        elif row.value is not None and row.exact is not None and measure.untested is None:
            p = row.exact.p(row.value)
        level = row.exact or row.null
        mean = None if level is None else level.mean
        if row.value is not None and measure.chance is not None:
            mean = measure.chance
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
            null_mean=mean,
            null_sd=None if level is None else level.sd,
            null_exact=row.exact is not None,
            effect=_effect(measure, row.value, mean),
            draws=0 if row.null is None else len(row.null.draws),
            p=p,
            p_search=p_search,
            low=row.low,
            high=row.high,
            interval=row.interval,
            ceiling=None if row.value is None else _ceiling(ceilings, i, j),
            reduced=narrow if narrow < max(source.width, target.width) else None,
            held_out=measure.held_out,
            reason=row.reason,
            note=None if row.value is None else measure.untested or row.note or note,
        )


def _ceiling(ceilings: Sequence[Ceiling | str] | None, i: int, j: int) -> float | None:
    if ceilings is None:
        return None
    a, b = ceilings[i], ceilings[j]
    return None if isinstance(a, str) or isinstance(b, str) else a.of_pair(b)


def _effect(measure: Measure, value: float | None, chance: float | None) -> float | None:
    if value is None or chance is None or measure.identical is None:
        return None
    try:
        return effect(value, chance, measure.identical)
    except UndefinedMeasureError:
        return None
