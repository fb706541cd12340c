"""From scores to cells: the value beside its null, its p-values and its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cospace.comparison.pairwise import Scored
from cospace.comparison.plan import Pair, Plan
from cospace.comparison.result import Cell, SpaceFacts
from cospace.measures import Measure
from cospace.stats import Permutations

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
    best = {} if note is not None else _best(measure, rows, facts)
    for (i, j), row in rows.items():
        source, target = facts[i], facts[j]
        narrow = max(source.width, target.width)
        if plan.reduced is not None:
            narrow = min(plan.reduced, source.n)
        p = p_search = None
        if row.value is not None and row.null is not None and note is None:
            both = row.null.draws, best[source.model, target.model]
            p, p_search = (
                shuffles.p(row.value, draws, measure.kind, single=plan.stacked) for draws in both
            )
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


def _best(
    measure: Measure, rows: Mapping[Pair, Scored], facts: Sequence[SpaceFacts]
) -> dict[tuple[str, str], npt.NDArray[np.float64]]:
    """Most alike value of each shuffle over all cells of two models: the maximum statistic."""
    pick = np.maximum if measure.kind == "similarity" else np.minimum
    best: dict[tuple[str, str], npt.NDArray[np.float64]] = {}
    for (i, j), row in rows.items():
        if row.null is not None:
            models = facts[i].model, facts[j].model
            draws = row.null.draws
            best[models] = pick(best[models], draws) if models in best else draws
    return best
