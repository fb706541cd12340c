"""Sets of encoders: distances of all ordered pairs, Hausdorff-Hoare distance, preorder, exact homotopy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from cospace.errors import InputError, UnknownNameError
from cospace.homotopy.distance import check_options, distance_between
from cospace.homotopy.minmax import LIMIT, Progress
from cospace.homotopy.prepare import Source, Target, check_spaces
from cospace.homotopy.result import AffineDistance, Interval
from cospace.homotopy.solve import Group, Task
from cospace.result import Result
from cospace.space import Space, matched

__all__ = ["DistanceTable", "Homotopy", "Relation", "affine_distances", "hausdorff_hoare"]

Relation = Literal["maps onto", "does not", "undecided"]

_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Homotopy:
    """Whether two encoders are exactly affinely homotopic: each an affine image of the other."""

    a: str
    """Name of the one."""
    b: str
    """Name of the other."""
    rank_a: int
    """Numerical rank of its centred rows."""
    rank_b: int
    """Numerical rank of the other's."""
    onto_b: Interval
    """Distance from a mapped, to b, divided by b's radius."""
    onto_a: Interval
    """Distance from b mapped, to a, divided by a's radius."""
    tolerance: float
    """Normalised distances up to this count as 0."""
    exact: bool | None
    """Equal rank and 0 in both directions; None where an interval holds the tolerance, or where all is 0
    and ranks differ, as by the rounding of rows that were stored in fewer digits."""


@dataclass(frozen=True)
class DistanceTable(Result):
    """Affine distances of ordered pairs of encoders. It computes nothing but sums over its cells."""

    kind: ClassVar[str] = "affine_distance_table"

    names: tuple[str, ...]
    """Encoders, in the order given."""
    cells: tuple[AffineDistance, ...]
    """One for each ordered pair of different encoders, without its map."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Group, gap and what else was asked for."""

    def cell(self, *, source: str, target: str) -> AffineDistance:
        """The distance from an image of ``source`` to ``target``.

        Raises
        ------
        UnknownNameError
            For a name that is not in the table.
        InputError
            For a pair that is not.
        """
        for name in (source, target):
            if name not in self.names:
                raise UnknownNameError.among(name, self.names, "name in this table")
        for cell in self.cells:
            if (cell.source, cell.target) == (source, target):
                return cell
        raise InputError(
            f"The table has no distance from {source} to {target}: it holds pairs of different encoders."
        )

    def hausdorff(self, *, targets: Sequence[str], sources: Sequence[str]) -> Interval:
        """Hausdorff-Hoare distance of sets: the worst target's distance from its best source.

        ``sup over targets h of inf over sources g of d(h, g)``; a target that is among the sources is at
        distance 0. Not symmetric.

        Raises
        ------
        InputError
            For an empty set.
        UnknownNameError
            For a name that is not in the table.
        """
        if not targets or not sources:
            raise InputError("A set of encoders is empty: name at least one target and one source.")
        ends = []
        for target in targets:
            if target in sources:
                ends.append((0.0, 0.0))
                continue
            found = [self.cell(source=source, target=target) for source in sources]
            ends.append((min(c.lower for c in found), min(c.upper for c in found)))
        return Interval(max(low for low, _ in ends), max(high for _, high in ends))

    def preorder(self, tolerance: float = _TOLERANCE) -> list[dict[str, Any]]:
        """Who can be mapped onto whom, and at what price: one flat dictionary an ordered pair.

        ``relation`` is ``maps onto`` where the normalised distance is at most the tolerance, ``does not``
        where it is proven to be more, else ``undecided``.
        """
        return [
            {
                "source": cell.source,
                "target": cell.target,
                "relation": relation(cell.normalised, tolerance),
                "lower": cell.lower,
                "upper": cell.upper,
                "normalised_lower": cell.normalised.lower,
                "normalised_upper": cell.normalised.upper,
                "rank_source": cell.rank_source,
                "rank_target": cell.rank_target,
            }
            for cell in self.cells
        ]

    def homotopy(self, a: str, b: str, tolerance: float = _TOLERANCE) -> Homotopy:
        """Check exact homotopy of two encoders: equal rank, and 0 in both directions."""
        there, back = self.cell(source=a, target=b), self.cell(source=b, target=a)
        both = {relation(cell.normalised, tolerance) for cell in (there, back)}
        exact: bool | None = None
        if "does not" in both:
            exact = False
        elif both == {"maps onto"} and there.rank_target == back.rank_target:
            exact = True
        return Homotopy(
            a=a,
            b=b,
            rank_a=back.rank_target,
            rank_b=there.rank_target,
            onto_b=there.normalised,
            onto_a=back.normalised,
            tolerance=tolerance,
            exact=exact,
        )

    def mappability(self, *, normalised: bool = True, published: bool = False) -> dict[str, float]:
        """How hard each encoder is to map *to*: the median over the other encoders, of the upper ends.

        Parameters
        ----------
        normalised
            Divide by the target's radius, so that encoders of different scale can be set side by side.
        published
            Insert a 0 for the encoder itself before the median, as the published figure does.
        """
        found = {}
        for name in self.names:
            values = [
                cell.normalised.upper if normalised else cell.upper
                for cell in self.cells
                if cell.target == name
            ]
            if values:
                found[name] = float(np.median([0.0, *values] if published else values))
        return found

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary an ordered pair."""
        return [cell.records()[0] for cell in self.cells]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a table from ``to_dict``."""
        return cls(
            names=tuple(data["names"]),
            cells=tuple(AffineDistance.from_dict(cell) for cell in data["cells"]),
            settings=data["settings"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the maps, as values that JSON holds."""
        return {
            "kind": self.kind,
            "schema": self.schema,
            "names": list(self.names),
            "cells": [cell.to_dict() for cell in self.cells],
            "settings": dict(self.settings),
        }


def relation(distance: Interval, tolerance: float) -> Relation:
    """Read an interval of a normalised distance.

    Examples
    --------
    >>> relation(Interval(0.0, 1e-12), 1e-6), relation(Interval(0.2, 0.3), 1e-6)
    ('maps onto', 'does not')
    """
    if distance.upper <= tolerance:
        return "maps onto"
    return "does not" if distance.lower > tolerance else "undecided"


def affine_distances(
    encoders: Sequence[Space],
    *,
    gap: float = 0.01,
    group: Group = "affine",
    rank: int | None = None,
    reduced: int | None = None,
    held_out: float | None = None,
    rng: int = 0,
    limit: int = LIMIT,
    progress: Progress | None = None,
) -> DistanceTable:
    """Affine distances of all ordered pairs of encoders; each is prepared once as target and source.

    Parameters
    ----------
    encoders
        At least two spaces of the same texts, with different names.
    gap, group, rank, reduced, held_out, rng, limit
        As in ``affine_distance``.
    progress
        Called as (what, pairs done, in all).

    Raises
    ------
    InputError
        For fewer than two encoders, arrays in their place, names that repeat, or options that make no
        sense.
    RowMismatchError
        For rows that are not the same texts.
    UndefinedMeasureError
        When rows are too few for a source, or all rows of an encoder are the same: as a target it has
        no radius.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(30, 2))
    >>> table = affine_distances([Space(x, name="x"), Space(3 * x + 1, name="y")])
    >>> table.homotopy("x", "y").exact
    True
    """
    task = Task(group, rank, gap, limit)
    check_options(task, reduced, held_out, rng)
    check_spaces(encoders)
    if len(encoders) < 2:
        raise InputError(f"{len(encoders)} encoder was given; a table needs at least 2.")
    names = [space.name for space in encoders]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InputError(f"Two encoders are called {again!r}: give each its own name.")
    rows = matched(encoders)
    cells: list[AffineDistance] = []
    pairs = len(names) * (len(names) - 1)
    targets = [Target.of(space, gap) for space in rows.spaces]
    for i, given in enumerate(rows.spaces):
        source = Source(given, reduced)
        for j, target in enumerate(targets):
            if i == j:
                continue
            if progress is not None:
                progress(f"{given.name} → {target.space.name}", len(cells), pairs)
            cell = distance_between(target, source, task, by=rows.by, held_out=held_out, rng=rng)
            cells.append(replace(cell, map=None))
    if progress is not None:
        progress("done", pairs, pairs)
    return DistanceTable(
        tuple(names),
        tuple(cells),
        {
            "group": group,
            "rank": rank,
            "gap": gap,
            "reduced": reduced,
            "held_out": held_out,
            "seed": rng,
            "matched_by": rows.by,
        },
    )


def hausdorff_hoare(
    *, targets: Sequence[Space], sources: Sequence[Space], gap: float = 0.01
) -> Interval:
    """Hausdorff-Hoare distance from the images of a set of sources to a set of targets.

    ``sup over targets h of inf over sources g of d(h, g)``, d the affine distance in units of the targets:
    0 where every target is an affine image of some source. Not symmetric.

    Parameters
    ----------
    targets, sources
        Spaces of the same texts.
    gap
        Relative gap of each distance.

    Raises
    ------
    InputError
        For an empty set, or arrays in place of spaces.
    RowMismatchError
        For rows that are not the same texts.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(30, 2))
    >>> wide, flat = Space(x, name="wide"), Space(x[:, :1], name="flat")
    >>> hausdorff_hoare(targets=[flat, wide], sources=[wide]).upper < 1e-12
    True
    >>> hausdorff_hoare(targets=[wide], sources=[flat]).lower > 1.0
    True
    """
    task = Task("affine", None, gap, LIMIT)
    check_options(task, None, None)
    check_spaces(targets)
    check_spaces(sources)
    if not targets or not sources:
        raise InputError("A set of encoders is empty: give at least one target and one source.")
    rows = matched([*targets, *sources])
    ready = [Source(space) for space in rows.spaces[len(targets) :]]
    ends = []
    for space in rows.spaces[: len(targets)]:
        target = Target.of(space, gap)
        found = [distance_between(target, source, task, by=rows.by) for source in ready]
        ends.append((min(one.lower for one in found), min(one.upper for one in found)))
    return Interval(max(low for low, _ in ends), max(high for _, high in ends))
