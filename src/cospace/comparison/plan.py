"""What to run: which ordered pairs for which measure, on how many components, by which route."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cospace.measures import Measure
from cospace.space import Space

__all__ = ["DEPTHS", "Plan", "free_bytes", "matched_pairs", "ordered_pairs", "plan_measure"]

DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Relative depths at which measures that decompose each pair run in a grid."""

Pair = tuple[int, int]


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


def ordered_pairs(spaces: Sequence[Space]) -> tuple[Pair, ...]:
    """All ordered pairs of different spaces."""
    at = range(len(spaces))
    return tuple((i, j) for i in at for j in at if i != j)


def model_of(space: Space) -> str:
    """Name of the model a space is from; its own name for a bare array."""
    return str(space.facts.get("model", space.name))


def matched_pairs(spaces: Sequence[Space]) -> tuple[Pair, ...]:
    """Ordered pairs of two models' spaces at the same of the five relative depths.

    For a depth f each model (and pooling) takes its site nearest to f; of two as near, the later.
    Where no model has more than one site, all ordered pairs.
    """
    sites: dict[tuple[str, object], list[int]] = {}
    for i, space in enumerate(spaces):
        sites.setdefault((model_of(space), space.facts.get("pooling")), []).append(i)
    if all(len(members) == 1 for members in sites.values()):
        return ordered_pairs(spaces)
    found: dict[Pair, None] = {}
    for depth in DEPTHS:
        chosen = {
            key: min(members, key=lambda i: (abs(_depth(spaces[i]) - depth), -i))
            for key, members in sites.items()
        }
        for (model, pooling), i in chosen.items():
            for (other, its_pooling), j in chosen.items():
                if model != other and pooling == its_pooling:
                    found[i, j] = None
    return tuple(found)


def _depth(space: Space) -> float:
    return float(space.facts.get("depth") or 0.0)


def plan_measure(
    measure: Measure,
    spaces: Sequence[Space],
    *,
    pairs: Literal["auto", "all"],
    reduced: int | None,
    draws: int,
) -> Plan:
    """Decide pairs and route of one measure."""
    chosen = (
        matched_pairs(spaces) if measure.decomposes and pairs == "auto" else ordered_pairs(spaces)
    )
    return Plan(measure, chosen, reduced, _stack(measure, spaces, len(chosen), reduced, draws))


def _stack(
    measure: Measure, spaces: Sequence[Space], pairs: int, reduced: int | None, draws: int
) -> bool:
    """Whether one product of relations is cheaper than pair by pair, and fits."""
    if measure.relation is None:
        return False
    n, count = spaces[0].n, len(spaces)
    entries = n * (n + 1) // 2
    if 12 * entries * (count + 2) > free_bytes() // 2:
        return False
    if measure.needs != "gram" or measure.arrays == "numpy":
        return True
    width = reduced or max(space.width for space in spaces)
    # In units of one multiplication: a gathered entry costs about twenty of them.
    by_stack = (1 + draws) * entries * count * (20 + count) + count * n * n * width
    by_pair = (1 + draws) * (pairs // 2) * 3 * n * width * min(n, width)
    return by_stack <= by_pair


def free_bytes() -> int:
    """Memory that is free for use, in bytes."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
