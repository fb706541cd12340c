"""Checks that begin every measure: two tables of the same rows, and rows that differ at all."""

from __future__ import annotations

from collections.abc import Callable

from cospace._arrays import Array, as_rows, namespace
from cospace.errors import RowMismatchError, UndefinedMeasureError
from cospace.linalg import centred
from cospace.summaries import Relation

__all__ = ["paired", "related", "sized", "squared_distances"]

_REPEAT = 1e-13
"""Squared distances below this, relative to the rows' squared lengths, are rounding."""


def paired(x: Array, y: Array) -> tuple[Array, Array]:
    """Check source and target: finite tables of one library with the same number of rows.

    Raises
    ------
    InputError
        For what is not a table of finite real numbers, or two libraries.
    RowMismatchError
        For unequal numbers of rows.
    """
    a, b = as_rows(x, name="source"), as_rows(y, name="target")
    namespace(a, b)
    if a.shape[0] != b.shape[0]:
        raise RowMismatchError(
            f"source has {a.shape[0]} rows and target has {b.shape[0]}. Row i must be the same text in both."
        )
    return a, b


def related(relation: Callable[[Array], Relation], x: Array, y: Array) -> float:
    """Inner product of the relations of source and target."""
    a, b = paired(x, y)
    return relation(a).inner(relation(b))


def sized(rows: Array) -> Array:
    """Centred rows divided by their largest entry, so that no power of them leaves float64.

    Raises
    ------
    UndefinedMeasureError
        When all rows are the same.
    """
    x = centred(rows)
    xp = namespace(x)
    peak = float(xp.max(xp.abs(x)))
    if peak == 0.0:
        raise UndefinedMeasureError("All rows are the same: there is nothing to compare.")
    return x / peak


def squared_distances(x: Array) -> Array:
    """Squared Euclidean distances of centred rows, shape (n, n); exactly 0 for repeated rows.

    From inner products, so rows must be centred: a common offset would drown the distances.
    """
    xp = namespace(x)
    inner = x @ x.T
    square = xp.linalg.diagonal(inner)
    both = square[:, None] + square[None, :]
    apart = both - 2.0 * inner
    return xp.where(apart > _REPEAT * both, apart, xp.zeros_like(apart))
