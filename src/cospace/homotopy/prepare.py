"""What is made once a space: of a target its smallest ball, of a source its basis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cospace._arrays import Array, double, namespace, to_numpy
from cospace.errors import InputError, UndefinedMeasureError
from cospace.homotopy.basis import RTOL, Basis, Floats, Spread
from cospace.homotopy.minmax import minimise_maximum
from cospace.homotopy.result import Interval
from cospace.linalg import centred, mean_row
from cospace.space import Space

__all__ = ["Source", "Target", "as_space", "check_spaces"]

_RADIUS_GAP = 0.01


def as_space(rows: Any, name: str) -> Space:
    """A space as it is; an array as a space without ids.

    Raises
    ------
    InputError
        For an array that is no table of finite real numbers.
    """
    return rows if isinstance(rows, Space) else Space(rows, name=name)


def check_spaces(encoders: Any) -> None:
    """Refuse encoders that are no spaces: a table needs their names.

    Raises
    ------
    InputError
        For an array, a name or another thing.
    """
    if isinstance(encoders, Space) or not hasattr(encoders, "__len__"):
        raise InputError(
            f"Encoders are one {type(encoders).__name__}; several spaces are expected, in a list."
        )
    for i, space in enumerate(encoders):
        if not isinstance(space, Space):
            raise InputError(
                f"Encoder {i} is of type {type(space).__name__}; a space is expected, which has a name: "
                "cospace.Space(rows, name=...)."
            )


@dataclass(frozen=True, eq=False)
class Target:
    """A target prepared once: its centred rows, and the smallest ball around them."""

    space: Space
    """As it was given, in the order of the pair."""
    rows: Floats
    """Centred, shape (n, d)."""
    mean: Floats
    """Shape (d,)."""
    radius: Interval
    """Of the smallest ball around the rows."""
    rank: int
    """Numerical rank."""

    @classmethod
    def of(cls, space: Space, gap: float = _RADIUS_GAP, rtol: float = RTOL) -> Target:
        """Prepare a space.

        Raises
        ------
        UndefinedMeasureError
            When all rows are the same.
        """
        if _all_equal(space.rows):
            raise UndefinedMeasureError(
                f"All {space.n} rows of {space.name} are the same: as a target it has no radius and no "
                "rank; rows that differ are expected."
            )
        wide = np.asarray(to_numpy(centred(space.rows)))
        rank = Spread.of(to_numpy(space.rows), np.asarray(np.linalg.qr(wide, mode="r")), rtol).rank
        ball = minimise_maximum(wide, Basis.constant(len(wide)), gap=min(gap, _RADIUS_GAP))
        mean = np.asarray(to_numpy(mean_row(double(space.rows))))
        return cls(space, wide, mean, Interval(ball.lower, ball.upper), rank)


@dataclass(frozen=True, eq=False)
class Source:
    """A source, and its basis, made when it is first needed and then kept."""

    space: Space
    """As it was given, in the order of the pair."""
    reduced: int | None = None
    """How many leading principal components maps see; None for all."""
    rtol: float = RTOL
    """Rank tolerance."""
    made: Basis | None = None
    """The basis of all rows, where it is at hand."""

    @cached_property
    def basis(self) -> Basis:
        """Of all rows."""
        return self.made or Basis.of(self.space.rows, self.rtol, self.reduced)

    def part(self, kept: Any) -> Basis:
        """Of some rows."""
        return Basis.of(to_numpy(self.space.rows)[kept], self.rtol, self.reduced)


def _all_equal(rows: Array) -> bool:
    return bool(namespace(rows).all(rows == rows[0, :]))
