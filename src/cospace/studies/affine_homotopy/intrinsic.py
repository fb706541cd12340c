"""The affine distance of every ordered pair of encoders, and other measures of the same rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace.comparison import compare
from cospace.homotopy.distance import distance_between
from cospace.homotopy.minmax import LIMIT
from cospace.homotopy.prepare import Source, Target
from cospace.homotopy.solve import Task
from cospace.measures import CATALOGUE, find
from cospace.space import Space
from cospace.studies.affine_homotopy.result import Intrinsic
from cospace.studies.steps import Steps

__all__ = ["BASELINES", "Pairs", "baselines", "intrinsic_pairs"]

Floats = npt.NDArray[np.float64]
Tick = Callable[[], None]

BASELINES = ("procrustes_distance", "mean_cca", "r2_cca", "pwcca", "linear_cka")
"""What the distance is compared with; similarities are taken as 1 - similarity."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """All ordered pairs at one depth."""

    records: tuple[Intrinsic, ...]
    """One a pair."""
    errors: Floats
    """Error of every fitted text, shape (encoders, encoders, texts): source, target."""
    targets: Mapping[str, Target]
    """Every encoder as a target, with its radius."""


def intrinsic_pairs(
    fitted: Mapping[str, Space],
    held: Mapping[str, Space],
    *,
    depth: float,
    gap: float,
    steps: Steps,
    tick: Tick,
) -> Pairs:
    """Map every encoder onto every other.

    Parameters
    ----------
    fitted, held
        Name -> rows of the texts of the fit, and of those held out.
    depth
        Relative depth of all spaces.
    gap
        Largest relative gap of the interval.
    steps
        Where results are kept.
    tick
        Called after each pair.
    """
    names = list(fitted)
    targets = {name: Target.of(space, gap) for name, space in fitted.items()}
    sources = {name: Source(space) for name, space in fitted.items()}
    others = baselines(list(fitted.values()), steps)
    errors = np.zeros((len(names), len(names), fitted[names[0]].n))
    records = []
    for i, source in enumerate(names):
        for j, target in enumerate(names):
            if i == j:
                continue
            found = _pair(targets, sources, held, source, target, gap, steps)
            errors[i, j] = found["errors"]
            records.append(
                Intrinsic(
                    depth=depth,
                    source=source,
                    target=target,
                    baselines={name: float(table[i, j]) for name, table in others.items()},
                    worst=tuple(found["worst"]),
                    **{key: found[key] for key in _NUMBERS},
                )
            )
            tick()
    return Pairs(tuple(records), errors, targets)


_NUMBERS = (
    "lower",
    "upper",
    "normalised_lower",
    "normalised",
    "mean",
    "p95",
    "p99",
    "held_out",
    "held_out_mean",
)


def _pair(
    targets: Mapping[str, Target],
    sources: Mapping[str, Source],
    held: Mapping[str, Space],
    source: str,
    target: str,
    gap: float,
    steps: Steps,
) -> dict[str, Any]:
    g, h = sources[source].space, targets[target].space

    def compute() -> dict[str, Any]:
        found = distance_between(
            targets[target], sources[source], Task("affine", None, gap, LIMIT), by="ids"
        )
        errors = _errors(found.points(g.rows), h)
        unseen = _errors(found.points(held[source].rows), held[target])
        return {
            "lower": found.lower,
            "upper": found.upper,
            "normalised_lower": found.normalised.lower,
            "normalised": found.normalised.upper,
            "mean": found.in_sample.mean,
            "p95": found.in_sample.p95,
            "p99": found.in_sample.p99,
            "held_out": float(unseen.max()),
            "held_out_mean": float(unseen.mean()),
            "worst": found.worst_ids,
            "errors": errors,
        }

    parts = {
        "source": g.fingerprint,
        "target": h.fingerprint,
        "unseen": [held[source].fingerprint, held[target].fingerprint],
        "gap": gap,
    }
    return steps.once("affine", parts, compute)


def baselines(spaces: list[Space], steps: Steps) -> dict[str, Floats]:
    """Measure -> its distance form for every ordered pair, shape (spaces, spaces)."""
    names = [space.name for space in spaces]

    def compute() -> dict[str, Any]:
        result = compare(spaces, BASELINES, permutations=0, grid=True)
        tables = {}
        for name in BASELINES:
            similar = find(name, CATALOGUE).kind == "similarity"
            table = np.zeros((len(names), len(names)))
            for cell in result.cells:
                if cell.measure == name and cell.value is not None:
                    value = 1.0 - cell.value if similar else cell.value
                    table[names.index(cell.source), names.index(cell.target)] = value
            tables[name] = table
        return tables

    parts = {"spaces": [space.fingerprint for space in spaces], "measures": BASELINES}
    kept = steps.once("baselines", parts, compute)
    return {name: np.asarray(table, dtype=np.float64) for name, table in kept.items()}


def _errors(mapped: Floats, target: Space) -> Floats:
    return np.asarray(np.linalg.norm(mapped - np.asarray(target.rows, dtype=np.float64), axis=1))
