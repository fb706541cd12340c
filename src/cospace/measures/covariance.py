"""Sums of products over the rows of a pair, a block of rows at a time: no copy of the rows is made."""

from __future__ import annotations

from dataclasses import dataclass

from cospace._arrays import Array, double, namespace
from cospace.linalg import mean_row
from cospace.measures.pair import sized

__all__ = ["Covariance"]

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
        xp = namespace(x)
        large = x.shape[0] >= _MANY and min(x.shape[1], y.shape[1]) >= _WIDE
        single = x.dtype == y.dtype == xp.float32 and large
        made = cls._sum(x, y, own=own, single=single)
        low, high = _SAFE["float32" if single else "float64"]
        if all(low < square < high for square in (made.square_x, made.square_y)):
            return made
        return cls._sum(sized(x), sized(y), own=own, single=False)

    @classmethod
    def _sum(cls, x: Array, y: Array, *, own: bool, single: bool) -> Covariance:
        xp = namespace(x)
        means = _mean(x), _mean(y)
        sums: list[Array] = []
        numbers = [0.0] * 5
        for start in range(0, x.shape[0], _BLOCK):
            a, b = (
                double(rows[start : start + _BLOCK, :]) - mean
                for rows, mean in zip((x, y), means, strict=True)
            )
            p, q = xp.linalg.vecdot(a, a), xp.linalg.vecdot(b, b)
            found = (xp.sum(p), xp.sum(q), p @ p, p @ q, q @ q)
            numbers = [n + float(f) for n, f in zip(numbers, found, strict=True)]
            if single:
                a, b = xp.astype(a, xp.float32), xp.astype(b, xp.float32)
            parts = [a.T @ b, *((a.T @ a, b.T @ b) if own else ())]
            if not sums:
                sums = [double(part) for part in parts]
            else:
                for total, part in zip(sums, parts, strict=True):
                    total += part
        xx, yy = sums[1:] if own else (None, None)
        return cls(sums[0], xx, yy, numbers[0], numbers[1], (numbers[2], numbers[3], numbers[4]))


def _mean(x: Array) -> Array:
    """Mean row in float64, of float32 rows too."""
    xp = namespace(x)
    if x.dtype == xp.float64:
        return mean_row(x)
    total = xp.zeros_like(x[0, :], dtype=xp.float64)
    for start in range(0, x.shape[0], _BLOCK):
        total += xp.sum(double(x[start : start + _BLOCK, :]), axis=0)
    first, mean = double(x[0, :]), total / x.shape[0]
    if not bool(xp.any((x[-1, :] == x[0, :]) & (x[x.shape[0] // 2, :] == x[0, :]))):
        return mean
    return xp.where(xp.all(x == x[0, :], axis=0), first, mean)
