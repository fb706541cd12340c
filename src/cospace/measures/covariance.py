"""Sums of products over the rows of a pair, a block of rows at a time: no copy of the rows is made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from array_api_compat import device

from cospace._arrays import Array, double, namespace
from cospace.errors import UndefinedMeasureError
from cospace.linalg import centred, wide_mean

__all__ = ["Covariance", "sized"]

_BLOCK = 1024
"""Rows that are multiplied at once; their float32 sums are then added up in float64."""
_MANY, _WIDE = 1024, 128
"""Rows and columns from which products cost so much more than passes over the rows that float32
is worth its rounding (about 1e-7)."""
_SAFE = {"float64": (1e-60, 1e60), "float32": (1e-20, 1e30)}
"""Sums of squares between which eighth powers of the entries (squares, in float32) are exact."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """Sums over rows of products of the centred rows a of the source and b of the target."""

    xy: Array
    """Sum of a b^T, shape (d_x, d_y), float64."""
    xx: Array | None
    """Sum of a a^T, where it was asked for."""
    yy: Array | None
    """Sum of b b^T, where it was asked for."""
    square_x: float
    """Sum of |a|^2."""
    square_y: float
    """Sum of |b|^2."""
    quartic: tuple[float, float, float]
    """Sums of |a|^4, |a|^2 |b|^2 and |b|^4."""

    @classmethod
    def of(cls, x: Array, y: Array, *, own: bool = True) -> Covariance:
        """Sum up checked rows; cost n d_x d_y, and n (d_x^2 + d_y^2) for the ``own`` sums.

        Two float32 tables of at least 1,024 rows and 128 columns are centred in float64 and
        multiplied in float32, at most 1,024 rows at once; everything else is float64. Rows so
        large or small that eighth powers of them leave float64 are divided by their largest
        entry: no measure here depends on it.

        Raises
        ------
        UndefinedMeasureError
            When all rows of a side are the same.
        """
        xp = namespace(x, y)
        large = x.shape[0] >= _MANY and min(x.shape[1], y.shape[1]) >= _WIDE
        single = x.dtype == y.dtype == xp.float32 and large
        low, high = _SAFE["float32" if single else "float64"]
        made = cls._sum(x, y, own=own, single=single, limit=high)
        if made is None or min(made.square_x, made.square_y) < low:
            x, y = sized(x, "source"), sized(y, "target")
            made = cls._sum(x, y, own=own, single=False, limit=math.inf)
        assert made is not None  # noqa: S101  without a limit
        return made

    @classmethod
    def _sum(
        cls, x: Array, y: Array, *, own: bool, single: bool, limit: float
    ) -> Covariance | None:
        """Sum up; None where a row's squared length exceeds ``limit``."""
        xp = namespace(x)
        n = x.shape[0]
        # Blocks are centred in place in the same memory: new memory costs more than the sums.
        step = min(n, _BLOCK)
        tables = [_Centred.of(rows, step, single=single) for rows in (x, y)]
        sums: list[Array] = []
        numbers = [0.0] * 5
        for start in range(0, n, step):
            a, b = (table.block(start, min(start + step, n)) for table in tables)
            with np.errstate(over="ignore"):  # what overflows is more than the limit
                p, q = double(xp.linalg.vecdot(a, a)), double(xp.linalg.vecdot(b, b))
            if not max(float(xp.max(p)), float(xp.max(q))) <= limit:
                return None
            found = (xp.sum(p), xp.sum(q), p @ p, p @ q, q @ q)
            numbers = [n + float(f) for n, f in zip(numbers, found, strict=True)]
            for at, (left, right) in enumerate(((a, b), (a, a), (b, b))[: 3 if own else 1]):
                part = left.T @ right
                if len(sums) <= at:
                    sums.append(double(part))
                else:
                    sums[at] += part
        xx, yy = sums[1:] if own else (None, None)
        return cls(sums[0], xx, yy, numbers[0], numbers[1], (numbers[2], numbers[3], numbers[4]))


@dataclass(frozen=True, eq=False)
class _Centred:
    """Rows less their mean, a block at a time, in memory that the next block takes over."""

    rows: Array
    """As they were given."""
    means: tuple[Array, ...]
    """What is taken off, one after the other: the mean; in float32, its rounding too."""
    room: Array
    """Where a block is centred."""

    @classmethod
    def of(cls, rows: Array, step: int, *, single: bool) -> _Centred:
        xp = namespace(rows)
        dtype = xp.float32 if single else xp.float64
        room = xp.empty((step, rows.shape[1]), dtype=dtype, device=device(rows))
        mean = wide_mean(rows)
        if not single:
            return cls(rows, (mean,), room)
        # A difference of float32 numbers is rounded relative to itself, so that the mean in two
        # parts leaves what a float64 difference rounded to float32 leaves, to a bit.
        high = xp.astype(mean, dtype)
        return cls(rows, (high, xp.astype(mean - double(high), dtype)), room)

    def block(self, start: int, stop: int) -> Array:
        """Rows from ``start`` to ``stop``, the last excluded."""
        xp = namespace(self.rows)
        free = self.room[: stop - start, :]
        free[:, :] = xp.astype(self.rows[start:stop, :], free.dtype, copy=False)
        for mean in self.means:
            free -= mean
        return free


def sized(rows: Array, side: str) -> Array:
    """Centre, and bring to size 1, so that fourth powers stay within float64."""
    rows = centred(rows)
    xp = namespace(rows)
    peak = float(xp.max(xp.abs(rows)))
    if peak == 0.0:
        raise UndefinedMeasureError(
            f"All rows of the {side} are the same: there is nothing to compare."
        )
    return rows / peak
