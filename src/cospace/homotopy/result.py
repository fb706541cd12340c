"""The result of an affine distance: an interval, errors in-sample and held out, the rows that decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from cospace.errors import InputError
from cospace.homotopy.basis import Floats
from cospace.maps.affine import AffineMap
from cospace.result import Result, plain

__all__ = ["AffineDistance", "Errors", "Interval"]


@dataclass(frozen=True)
class Interval:
    """A number that is only known to lie between two."""

    lower: float
    """It is not below this."""
    upper: float
    """It is not above this."""

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise InputError(
                f"An interval from {self.lower} to {self.upper} is none: the lower end comes first."
            )


@dataclass(frozen=True)
class Errors:
    """How long the error ``||target_i - map(source_i)||`` of rows is, in units of the target."""

    n: int
    """Number of rows."""
    mean: float
    """Mean."""
    p95: float
    """95th percentile."""
    p99: float
    """99th percentile."""
    maximum: float
    """Largest."""

    @classmethod
    def of(cls, errors: Floats) -> Errors:
        """Sum up the errors of rows.

        Examples
        --------
        >>> Errors.of(np.arange(101.0))
        Errors(n=101, mean=50.0, p95=95.0, p99=99.0, maximum=100.0)
        """
        p95, p99 = np.percentile(errors, [95, 99])
        return cls(len(errors), float(errors.mean()), float(p95), float(p99), float(errors.max()))


@dataclass(frozen=True)
class AffineDistance(Result):
    """How far the target is from the nearest image of the source, in the largest row error.

    Read it, save it, use its map; it computes nothing.
    """

    kind: ClassVar[str] = "affine_distance"

    target: str
    """Name of the space that is to be reached."""
    source: str
    """Name of the space that is mapped."""
    group: str
    """The maps allowed: affine, translation, orthogonal or low_rank."""
    lower: float
    """No map of the group has a smaller largest row error, in units of the target: proven, for maps of
    the ``rank_source`` directions that are seen."""
    upper: float
    """Largest row error of the map that was found."""
    normalised: Interval
    """Both divided by the target's radius: 0 for an image of the source, 1 for a source that tells
    nothing (of a group with all constants; else it can be more)."""
    radius: Interval
    """Radius of the smallest ball around the target's rows: its distance from the best constant."""
    closed: bool
    """Whether ``upper <= lower (1 + gap)`` but for rounding. Always reached for affine and
    translation, up to the limit of steps; orthogonal and low_rank maps form no convex set, and there
    the interval may stay wide."""
    in_sample: Errors
    """Of the rows that the map was fitted on."""
    held_out: Errors | None
    """The fit repeated on the other rows, scored on these; None where it was not, see warnings."""
    trained_on: int | None
    """Number of rows of the repeated fit."""
    worst_ids: tuple[str, ...]
    """Rows that attain the maximum, largest error first: those with an error of at least ``lower``, at
    most ten of them; row numbers where the spaces have no ids."""
    attaining: int
    """How many rows have an error of at least ``lower``."""
    n: int
    """Number of rows."""
    width_source: int
    """Coordinates of the source."""
    width_target: int
    """Coordinates of the target."""
    rank_source: int
    """Numerical rank of the centred source, as far as the maps see it."""
    rank_target: int
    """Numerical rank of the centred target."""
    tolerance: float
    """Rank tolerance, of columns at norm 1: directions of the source below it, relative to the first, are
    not seen. A warning tells of those that are no rounding; their number is in the settings."""
    gap: float
    """Relative gap that was asked for."""
    method: str
    """How it was found."""
    steps: int
    """Weighted fits it took."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Rank of low-rank maps, leading components, directions dropped, share held out, seed, how rows
    matched."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Models, fingerprints, versions: what it takes to repeat the measurement."""
    map: AffineMap | None = field(default=None, repr=False, compare=False)
    """The map; ``to_dict`` leaves it out, ``save`` keeps it."""

    @property
    def matrix(self) -> Floats:
        """Linear part of the map, shape (p, d)."""
        return self._map().matrix

    @property
    def offset(self) -> Floats:
        """Offset of the map, shape (d,)."""
        return self._map().offset

    def points(self, x: Any) -> Floats:
        """Map points, rows of shape (m, p), with the offset."""
        return self._map().points(x)

    def directions(self, v: Any) -> Floats:
        """Map directions, rows of shape (m, p), without the offset."""
        return self._map().directions(v)

    def _map(self) -> AffineMap:
        if self.map is None:
            raise InputError(
                "This affine distance was read from a dictionary, which holds no map: load a file "
                "that .save wrote, or compute it again."
            )
        return self.map

    def to_dict(self) -> dict[str, Any]:
        """Everything but the map, as values that JSON holds."""
        values = {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name != "map"}
        return {"kind": self.kind, "schema": self.schema, **values}

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary."""
        row = {
            name: getattr(self, name)
            for name in ("target", "source", "group", "lower", "upper", "closed", "n")
        }
        row |= {
            "normalised_lower": self.normalised.lower,
            "normalised_upper": self.normalised.upper,
        }
        for prefix, errors in (("", self.in_sample), ("held_out_", self.held_out)):
            for name in ("mean", "p95", "p99", "maximum"):
                row[prefix + name] = None if errors is None else getattr(errors, name)
        return [
            {
                **row,
                "held_out_n": None if self.held_out is None else self.held_out.n,
                "rank_source": self.rank_source,
                "rank_target": self.rank_target,
            }
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a distance from ``to_dict``, or from what ``save`` wrote, with its map."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        try:
            values |= {
                "normalised": Interval(**values["normalised"]),
                "radius": Interval(**values["radius"]),
                "in_sample": Errors(**values["in_sample"]),
                "held_out": None if values["held_out"] is None else Errors(**values["held_out"]),
                "worst_ids": tuple(values["worst_ids"]),
                "warnings": tuple(values["warnings"]),
            }
            if values.get("map") is not None:
                values["map"] = AffineMap.from_dict(values["map"])
            return cls(**values)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"This is not an affine distance that this version wrote: {error}."
            ) from None

    def save(self, path: str | Path) -> None:
        """Write dictionary and map as JSON; an existing file is replaced in one step."""
        _Whole(self).save(path)

    def with_provenance(self, **facts: Any) -> AffineDistance:
        """Add ``facts`` to the provenance."""
        return replace(self, provenance={**self.provenance, **plain(facts)})


class _Whole(Result):
    """A distance as its file holds it: with the map."""

    kind: ClassVar[str] = AffineDistance.kind

    def __init__(self, distance: AffineDistance) -> None:
        self.distance = distance

    def to_dict(self) -> dict[str, Any]:
        found = self.distance.map
        return {**self.distance.to_dict(), "map": None if found is None else found.to_dict()}
