"""What to run: which ordered pairs for which measure, on how many components, by which route."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cospace._threads import free_cores
from cospace.measures import Measure
from cospace.space import Space
from cospace.summaries import Neighbors

__all__ = [
    "BLOCK",
    "DEPTHS",
    "Pair",
    "Plan",
    "free_bytes",
    "matched_pairs",
    "model_of",
    "ordered_pairs",
    "plan_measure",
    "stack_bytes",
    "stream_bytes",
]

DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Relative depths at which measures that decompose each pair run in a grid."""

Pair = tuple[int, int]

BLOCK = 64 * 2**20
"""Bytes of entries that one thread of the streamed route holds."""

_GATHER = 20
"""Cost of a gathered entry, in multiplications of a matrix product."""
_CHEAP = 1e10
"""Multiplications that take about a second."""
_LONG = 1e12
"""Multiplications that take tens of seconds."""
_SHARE = 0.8
"""Share of the free memory that a comparison may fill."""


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
    """Of a product: whether entries are made in blocks and let go, so that none can be shuffled."""
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
    relations do not fit, or a large grid asks for no shuffles, those that are inner products of
    rows are made block by block.
    """
    chosen = (
        matched_pairs(spaces) if measure.decomposes and pairs == "auto" else ordered_pairs(spaces)
    )
    if measure.relation is None:
        return Plan(measure, chosen, reduced, stacked=False)
    n, count = spaces[0].n, len(spaces)
    width = reduced or max(space.width for space in spaces)
    by_pair = (1 + draws) * (len(chosen) // 2) * 3 * n * width * min(n, width)
    by_stream = n * n * count * (width + count)
    need, free = stack_bytes(measure, n, count), free_bytes()
    fits = need <= _SHARE * free
    can_stream = measure.products is not None and stream_bytes(spaces) <= _SHARE * free
    if can_stream and not draws and by_stream > _LONG:
        return Plan(measure, chosen, reduced, stacked=True, streamed=True)
    if not fits:
        if measure.summarise == Neighbors.of:
            return Plan(measure, chosen, reduced, stacked=False)
        if _by_coordinates(measure) and (by_pair <= max(by_stream, _LONG) or not can_stream):
            return Plan(measure, chosen, reduced, stacked=False)
        if can_stream:
            return Plan(measure, chosen, reduced, stacked=True, streamed=True)
        fit = int(n * (_SHARE * free / need) ** 0.5)
        fit -= fit % 10 ** max(len(str(fit)) - 2, 0)
        refused = (
            f"Relating each of {n} rows to each, {count} spaces need {_size(need)} of memory; {_size(free)} "
            f"are free. Compare about {fit} rows, or fewer spaces at once."
        )
        return Plan(measure, chosen, reduced, stacked=False, refused=refused)
    if not _by_coordinates(measure):
        return Plan(measure, chosen, reduced, stacked=True)
    entries = n * (n + 1) // 2
    by_stack = (1 + draws + samples) * entries * count * (_GATHER + count) + count * n * n * width
    return Plan(measure, chosen, reduced, stacked=by_stack <= max(by_pair, _CHEAP))


def _by_coordinates(measure: Measure) -> bool:
    """Whether the plain function takes the cheaper of rows and coordinates, as CKA does."""
    return measure.needs == "gram" and measure.arrays == "any" and measure.score is None


def stack_bytes(measure: Measure, n: int, count: int) -> int:
    """Memory that the stacked route needs at its peak, in bytes.

    Relations are made one a core, with their matrix, its order and its ranks. Kept are, in double
    and in single precision, the upper triangle of what is symmetric and all of what is not; of
    neighbours, all but a few entries are 0 and are not kept.
    """
    cores = min(free_cores(), count)
    if measure.needs == "neighbours":
        return (16 + 40 * cores) * n * n
    entries = n * (n + 1) // 2 if measure.needs == "gram" else n * n
    return 56 * n * n * cores + 12 * entries * count


def stream_bytes(spaces: Sequence[Space]) -> int:
    """Memory that the streamed route needs at its peak, in bytes: prepared rows, and blocks."""
    cores = free_cores()
    rows = 4 * sum(space.n * space.width for space in spaces)
    one = 40 * max(space.n * space.width for space in spaces)
    return rows + cores * (one + 2 * BLOCK) + 17 * 8 * len(spaces) ** 2


def free_bytes() -> int:
    """Memory that is free for use, in bytes: of the machine, or of the container if that is less."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    lines = _read("/proc/meminfo").splitlines()
    found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    most, used = _read("/sys/fs/cgroup/memory.max"), _read("/sys/fs/cgroup/memory.current")
    if most.strip().isdecimal() and used.strip().isdecimal():
        cached = [
            int(line.split()[1])
            for line in _read("/sys/fs/cgroup/memory.stat").splitlines()
            if line.startswith("inactive_file ")
        ]
        found.append(int(most) - int(used) + sum(cached))
    return max(min(found), 0)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
