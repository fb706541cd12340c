"""What to run: which ordered pairs for which measure, on how many components, by which route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cospace._threads import free_cores
from cospace.comparison.budget import (
    CELL,
    SHARE,
    SPARE,
    WORKSPACE,
    Estimate,
    Size,
    by_coordinates,
    free_bytes,
    pair_bytes,
    pair_operations,
    said,
    stack_bytes,
    stack_operations,
    stream_bytes,
    stream_operations,
    symmetric,
)
from cospace.measures import Measure
from cospace.space import Space
from cospace.summaries import Neighbors

__all__ = [
    "DEPTHS",
    "Pair",
    "Plan",
    "estimate",
    "matched_pairs",
    "model_of",
    "ordered_pairs",
    "plan_measure",
]

DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Relative depths at which measures that decompose each pair run in a grid."""

Pair = tuple[int, int]

_CHEAP = 1e10
"""Multiplications that take about a second."""
_LONG = 1e12
"""Multiplications that take tens of seconds."""


@dataclass(frozen=True)
class Plan:
    """One measure's part of a comparison."""

    measure: Measure
    """What is computed."""
    pairs: tuple[Pair, ...]
    """(source, target) positions."""
    reduced: int | None
    """Leading principal components, None for full width."""
    stacked: bool
    """One product of all relations, or pair by pair."""
    streamed: bool = False
    """Of a product: whether entries are made tile by tile and let go, so that none can be shuffled."""
    refused: str | None = None
    """Why the measure is not run at all."""


def ordered_pairs(spaces: Sequence[Space]) -> tuple[Pair, ...]:
    """All ordered pairs of different spaces."""
    at = range(len(spaces))
    return tuple((i, j) for i in at for j in at if i != j)


def model_of(space: Space) -> str:
    """Name of the model a space is from; its own name for a bare array."""
    return str(space.facts.get("model", space.name))


def matched_pairs(spaces: Sequence[Space]) -> tuple[Pair, ...]:
    """Ordered pairs of two models' spaces at the same of the five relative depths.

    For a depth f each model takes its site nearest to f, of two as near the later, for each
    pooling by itself; two models meet in the poolings that both have, or, where they share none,
    in all. Spaces of one model meet each other instead. Where no model has more than one site,
    or no two sites meet, all ordered pairs.
    """
    sites: dict[tuple[str, object], list[int]] = {}
    for i, space in enumerate(spaces):
        sites.setdefault((model_of(space), space.facts.get("pooling")), []).append(i)
    if all(len(members) == 1 for members in sites.values()):
        return ordered_pairs(spaces)
    chosen = [
        {
            key: min(members, key=lambda i: _from(depth, spaces[i], i))
            for key, members in sites.items()
        }
        for depth in DEPTHS
    ]
    if len({model for model, _ in sites}) == 1:
        found = _within(chosen)
    else:
        found = [pair for at in chosen for pair in _between(at)]
    return tuple(dict.fromkeys(found)) or ordered_pairs(spaces)


def _from(depth: float, space: Space, at: int) -> tuple[float, bool, float, int]:
    """Order of the sites of a model from the nearest to ``depth``; final_norm ends the last block."""
    own = float(space.facts.get("depth") or 0.0)
    return round(abs(own - depth), 9), space.facts.get("site") != "final_norm", -own, -at


def _between(chosen: Mapping[tuple[str, object], int]) -> list[Pair]:
    poolings: dict[str, set[object]] = {}
    for model, pooling in chosen:
        poolings.setdefault(model, set()).add(pooling)
    return [
        (i, j)
        for (model, pooling), i in chosen.items()
        for (other, its), j in chosen.items()
        if model != other and (pooling == its or not poolings[model] & poolings[other])
    ]


def _within(chosen: Sequence[Mapping[tuple[str, object], int]]) -> list[Pair]:
    ends = [(key, i) for at in chosen for key, i in at.items()]
    return [(i, j) for key, i in ends for other, j in ends if key == other and i != j]


def plan_measure(
    measure: Measure,
    spaces: Sequence[Space],
    *,
    pairs: Literal["auto", "all"],
    reduced: int | None,
    draws: int,
    samples: int,
) -> Plan:
    """Decide pairs and route of one measure, and whether its route fits into memory.

    Of the two routes for CKA the cheaper is taken, counting ``draws`` shuffles and ``samples`` of
    the bootstrap; where the stack takes about a second, it is taken for its intervals. Where
    symmetric relations do not fit, or a large grid asks for no shuffles and no samples, they are
    made tile by tile.
    """
    chosen = (
        matched_pairs(spaces) if measure.decomposes and pairs == "auto" else ordered_pairs(spaces)
    )
    if measure.relation is None:
        return Plan(measure, chosen, reduced, stacked=False)
    size, free = Size.of(spaces, reduced), free_bytes()
    by_pair = (1 + draws) * len(chosen) / 2 * 3 * size.n * size.width * min(size.n, size.width)
    by_stream = stream_operations(measure, size)
    need = stack_bytes(measure, size, draws, samples)
    can_stream = symmetric(measure) and _streamed(measure, size) <= SHARE * free
    if can_stream and not draws and not samples and by_stream > _CHEAP:
        return Plan(measure, chosen, reduced, stacked=True, streamed=True)
    if need > SHARE * free:
        if measure.summarise == Neighbors.of:
            return Plan(measure, chosen, reduced, stacked=False)
        if by_coordinates(measure) and (by_pair <= max(by_stream, _LONG) or not can_stream):
            return Plan(measure, chosen, reduced, stacked=False)
        if can_stream:
            return Plan(measure, chosen, reduced, stacked=True, streamed=True)
        return Plan(measure, chosen, reduced, stacked=False, refused=_refusal(measure, size, free))
    if not by_coordinates(measure):
        return Plan(measure, chosen, reduced, stacked=True)
    by_stack = stack_operations(measure, size, draws, samples)
    return Plan(measure, chosen, reduced, stacked=by_stack <= max(by_pair, _CHEAP))


def estimate(
    plan: Plan, spaces: Sequence[Space], *, draws: int, samples: int, cells: int = 0
) -> Estimate:
    """Memory and multiplications of a plan, with so many shuffles and samples of the bootstrap.

    ``cells`` are there already, of the measures before.
    """
    measure, size = plan.measure, Size.of(spaces, plan.reduced)
    once = len(plan.pairs) // 2 if measure.symmetric else len(plan.pairs)
    work: float | None
    if plan.streamed:
        work, need = stream_operations(measure, size), _streamed(measure, size)
    elif plan.stacked:
        work = stack_operations(measure, size, draws, samples)
        need = stack_bytes(measure, size, draws, samples)
    else:
        work, need = pair_operations(measure, size, once, draws), pair_bytes(measure, size)
    need += need // SPARE + free_cores() * WORKSPACE + cells * CELL
    return Estimate(measure.name, size.spaces, once, work, need, free_bytes())


def _streamed(measure: Measure, size: Size) -> int:
    return stream_bytes(size, by_rows=measure.products is not None)


def _refusal(measure: Measure, size: Size, free: int) -> str:
    """What does not fit, and the cheaper ways."""
    least = _streamed if symmetric(measure) else stack_bytes
    need = least(measure, size)

    def fits(n: int) -> bool:
        return least(measure, replace(size, n=n)) <= SHARE * free

    fit, over = 0, size.n
    while over - fit > 1:
        middle = (fit + over) // 2
        fit, over = (middle, over) if fits(middle) else (fit, middle)
    fit -= fit % 10 ** max(len(str(fit)) - 2, 0)
    fewer = f"Compare about {fit} rows, or fewer spaces at once" if fit else "Compare fewer spaces"
    told = (
        f"Relating each of {size.n} rows to each, {size.spaces} spaces need {said(need)} of memory; "
        f"{said(free)} are free. {fewer}"
    )
    rows = stream_bytes(size, by_rows=True)
    if rows <= SHARE * free:
        return f"{told}; or take rsa_pearson or debiased_cka, which keep rows alone: {said(rows)}."
    return f"{told}."
