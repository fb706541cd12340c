"""What a measure is: a plain function, a frozen record of its claims, and how it is split.

A measure is split into what is computed once per space (``summarise``) and what is computed per
pair (``score``), so that a grid of spaces pays for each space once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Protocol, Self

from cospace._arrays import Array
from cospace.entries import Products
from cospace.errors import InputError, UnknownNameError
from cospace.summaries import Order, Overlap, Relation, Rows

__all__ = ["TRANSFORMS", "Measure", "Summary", "find"]

TRANSFORMS = ("translation", "scaling", "permutation", "orthogonal", "invertible")
"""What may be done to the coordinates of one side: adding a constant row, multiplying by a
positive number, reordering coordinates, an orthogonal map, an invertible linear map."""

_IMPLIED = {"orthogonal": {"permutation"}, "invertible": {"scaling", "permutation", "orthogonal"}}


_KINDS = ("similarity", "distance", "divergence")
_ROUNDING = 1e-6
"""What a value may leave its bounds by, relative to the bound where that is above 1."""


def _ends(bounds: object) -> tuple[float, float]:
    """Least and greatest value, infinite where there is none; NaN for what are no bounds."""
    if not isinstance(bounds, tuple) or len(bounds) != 2:
        return math.nan, math.nan
    numbers = [
        end is None or (isinstance(end, Real) and not isinstance(end, bool)) for end in bounds
    ]
    if not all(numbers):
        return math.nan, math.nan
    low, high = bounds
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


class Summary(Protocol):
    """What is kept of one space."""

    def permuted(self, order: Order) -> Self:
        """Summary of the same rows in another order."""
        ...


@dataclass(frozen=True)
class Measure:
    """A measure of two spaces and its claims.

    To bring your own, give ``name``, ``function`` and the claims; ``summarise`` and ``score``
    only make it faster.
    """

    name: str
    """Name in tables and on the command line."""
    title: str
    """Name in captions."""
    function: Callable[[Array, Array], float]
    """Arrays in, float out: source rows (n, d_x), target rows (n, d_y)."""
    kind: Literal["similarity", "distance", "divergence"]
    """Which end means alike: high for a similarity, low for the others."""
    bounds: tuple[float | None, float | None]
    """Least and greatest possible value; None where there is no bound."""
    identical: float | None
    """Value of a space against itself; None where that depends on the space."""
    symmetric: bool
    """Whether source and target may be swapped."""
    invariant_to: frozenset[str]
    """Those of ``TRANSFORMS`` that change nothing on either side; ``source: ...`` or
    ``target: ...`` where it holds on one side only."""
    summary: str
    """One sentence for tables."""
    reference: str
    """Where the definition is from."""
    cost: str
    """Order of operations in n and d, once a space and once a pair."""
    needs: Literal["rows", "factor", "gram", "neighbours", "folds"] = "rows"
    """What is kept of one space."""
    summarise: Callable[[Array], Any] = Rows
    """Rows -> summary, once a space."""
    score: Callable[[Any, Any], float] | None = None
    """Two summaries -> value; by default ``function`` on the rows kept."""
    relation: Callable[[Array], Relation] | None = None
    """Rows -> unit vector whose inner product is the value: a grid is then one matrix product."""
    products: Callable[[Array], Products] | None = None
    """Rows -> the same relation as inner products of rows, for grids whose relations do not fit."""
    folds: Callable[[Overlap], float] | None = None
    """Overlap of a pair -> value, where it is so smooth that a jackknife over folds of rows covers."""
    groups: tuple[str, ...] | None = None
    """Group of every row, where rows may be shuffled inside groups only."""
    untested: str | None = None
    """Why shuffles give a level by chance and no p; None where they give a p."""
    chance: float | None = None
    """Mean over all shuffles, where it is known exactly."""
    decomposes: bool = False
    """Whether each pair needs a decomposition or a fit: too dear to permute by default."""
    reduce: bool = False
    """Whether the default comparison runs it on leading principal components."""
    held_out: bool = False
    """Whether fitted and scored rows are disjoint."""
    arrays: Literal["any", "numpy"] = "any"
    """Whether arrays of other libraries stay where they are, or become numpy arrays."""

    def __post_init__(self) -> None:
        low, high = _ends(self.bounds)
        for wrong, told in (
            (
                not isinstance(self.name, str) or not self.name,
                f"The name of a measure is {self.name!r}; a string that is not empty is expected.",
            ),
            (
                not callable(self.function),
                f"The function of {self.name} is {self.function!r}; a function of two arrays is expected.",
            ),
            (
                self.kind not in _KINDS,
                f"The kind of {self.name} is {self.kind!r}; one of {', '.join(map(repr, _KINDS))} is expected.",
            ),
            (
                not low <= high,
                f"The bounds of {self.name} are {self.bounds!r}; two numbers, the least first, are expected, None "
                "where there is no bound.",
            ),
        ):
            if wrong:
                raise InputError(told)

    def check_value(self, value: float) -> None:
        """Refuse a value outside the claimed bounds by more than rounding.

        Raises
        ------
        InputError
            For such a value.
        """
        low, high = _ends(self.bounds)
        slack = _ROUNDING * max([1.0, *(abs(end) for end in (low, high) if math.isfinite(end))])
        if not low - slack <= value <= high + slack:
            raise InputError(
                f"{self.name} came out as {value:.6g} and claims bounds of {self.bounds!r}: mend the function, or "
                "the bounds of its Measure."
            )

    def __call__(self, x: Array, y: Array) -> float:
        """Value on source rows ``x`` and target rows ``y``."""
        return self.function(x, y)

    def of(self, source: Any, target: Any) -> float:
        """Value on two summaries."""
        if self.score is None:
            return self.function(source.rows, target.rows)
        return self.score(source, target)

    def invariant(self, transform: str, side: Literal["source", "target"]) -> bool:
        """Whether the measure claims that ``transform`` of one side changes nothing."""
        return any(
            transform == claimed or transform in _IMPLIED.get(claimed, ())
            for claim in self.invariant_to
            for claimed in (claim.removeprefix(f"{side}: "),)
        )

    def alike(self, a: float, b: float) -> bool:
        """Whether ``a`` means more alike than ``b``."""
        return a > b if self.kind == "similarity" else a < b


def find(name: str, measures: Iterable[Measure]) -> Measure:
    """Look up a measure by name; an unknown one suggests the nearest."""
    known = {measure.name: measure for measure in measures}
    if name not in known:
        raise UnknownNameError.among(name, known, "measure")
    return known[name]
