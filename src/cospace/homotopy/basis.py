"""What maps of a source can form: an orthonormal basis of its centred columns and the constant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from cospace._arrays import Array, double, to_numpy
from cospace.linalg import centred, mean_row, numerical_rank, singular_values, thin_svd

__all__ = ["BLOCK", "RTOL", "Basis", "Floats", "Spread", "blocks"]

Floats: TypeAlias = npt.NDArray[np.float64]

RTOL = 1e-10
"""Rank tolerance of affine distances: singular values of columns of norm 1, relative to the largest.

A map may use a direction however small it is, and a lower bound is too high for maps that use one that
was dropped: so only what is close to the rounding of float64 is dropped."""
_ROUNDING = 1e-14
"""Relative singular values up to this are rounding; rows far from 0 have more of it."""
_EPS = float(np.finfo(float).eps)
BLOCK = 1024
"""Rows that are worked on at once, so that no second copy of a table is made."""


def blocks(n: int) -> Iterator[slice]:
    """Cut n rows into blocks.

    Examples
    --------
    >>> [(b.start, b.stop) for b in blocks(1500)]
    [(0, 1024), (1024, 1500)]
    """
    for start in range(0, n, BLOCK):
        yield slice(start, min(start + BLOCK, n))


class Spread(NamedTuple):
    """Rank of centred rows, each column brought to norm 1."""

    triangle: Floats
    """Of a QR factor of the columns, shape (min(n, p), p); 0 in a column that is constant but for rounding."""
    norms: Floats
    """What the columns were divided by, shape (p,)."""
    s: Floats
    """Singular values, largest first."""
    rank: int
    """How many of them are above the tolerance."""
    dropped: int
    """How many are below it, and no rounding."""

    @classmethod
    def of(
        cls, rows: Array, triangle: Floats, rtol: float = RTOL, *, scaled: bool = True
    ) -> Spread:
        """Spread of rows from the triangle of a QR factor of the centred rows.

        QR is accurate in each column by itself, so that a column much larger than the others costs no
        digits once norms are divided out; a Gram matrix would square the condition besides.

        Parameters
        ----------
        rows
            As they were given, shape (n, p).
        triangle
            Shape (min(n, p), p).
        rtol
            Rank tolerance.
        scaled
            Whether columns are divided by their norms; principal components need them as they are.

        Examples
        --------
        >>> rows = np.array([[1e15, 1.0], [-1e15, 1.0], [0.0, -2.0]])
        >>> Spread.of(rows, np.linalg.qr(rows, mode="r")).rank
        2
        """
        sizes = np.linalg.norm(triangle, axis=0)
        farthest = np.maximum(rows.max(axis=0), -rows.min(axis=0)).astype(np.float64)
        grain = 4.0 * _EPS * len(rows) ** 0.5 * farthest
        still = sizes <= grain
        norms = np.where(still, 1.0, sizes) if scaled else np.ones_like(sizes)
        own = np.where(still, 0.0, triangle / norms)
        s = np.asarray(singular_values(own))
        rank = numerical_rank(s, rtol)
        noise = np.where(still, 0.0, grain / norms).max() * len(sizes) ** 0.5
        least = max(_ROUNDING * s[0], noise)
        return cls(own, norms, s, rank, int(np.count_nonzero(s[rank:] > least)))


@dataclass(frozen=True, eq=False)
class Basis:
    """Orthonormal basis Q of [source, 1], made once a source, and the way back to its coordinates."""

    q: Floats
    """Shape (n, rank + 1); the last column is the constant 1 / sqrt(n)."""
    back: Floats
    """Shape (p, rank): the centred source times this is Q without its last column."""
    mean: Floats
    """Mean row of the source, shape (p,)."""
    rtol: float
    """Rank tolerance: directions with singular values below it, relative to the largest, are dropped."""
    norms: Floats
    """What singular values were taken without: norms of columns, or 1 each; shape (p,)."""
    s: Floats
    """Singular values of the directions kept, shape (rank,)."""
    dropped: int = 0
    """Directions below the tolerance that are no rounding."""

    @classmethod
    def of(cls, rows: Array, rtol: float = RTOL, most: int | None = None) -> Basis:
        """Basis of checked rows of shape (n, p), by QR; cost 2 n p^2.

        Parameters
        ----------
        rows
            Shape (n, p).
        rtol
            Rank tolerance.
        most
            Keep at most so many leading principal components; the columns of Q are then in their order.

        Examples
        --------
        >>> basis = Basis.of(np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 10.0]]))
        >>> basis.rank, basis.q.shape
        (1, (3, 2))
        """
        rows = to_numpy(rows)
        mean = np.asarray(mean_row(double(rows)))
        q, triangle = np.linalg.qr(np.asarray(centred(rows)))
        spread = Spread.of(rows, triangle, rtol, scaled=most is None)
        rank, dropped, s = spread.rank, spread.dropped, spread.s
        if most is None and rank == triangle.shape[1] == triangle.shape[0]:
            back = solve_triangular(triangle, np.eye(rank), check_finite=False)
        else:
            if most is not None and most <= rank:
                rank, dropped = most, 0
            u, s, v = thin_svd(spread.triangle)
            q = q @ u[:, :rank]
            back = v[:, :rank] / s[:rank] / spread.norms[:, None]
        whole = np.empty((len(rows), rank + 1))
        whole[:, :rank] = q
        whole[:, rank] = len(rows) ** -0.5
        return cls(whole, np.asarray(back), mean, rtol, spread.norms, np.asarray(s[:rank]), dropped)

    @classmethod
    def constant(cls, n: int) -> Basis:
        """Basis of the constant alone: what the best single point is sought with."""
        nothing = np.empty(0)
        return cls(np.full((n, 1), n**-0.5), np.empty((0, 0)), nothing, RTOL, nothing, nothing)

    def leading(self, k: int) -> Basis:
        """The first k columns and the constant: leading components, if ``most`` was given."""
        return replace(
            self,
            q=np.concatenate([self.q[:, :k], self.q[:, -1:]], axis=1),
            back=self.back[:, :k],
            s=self.s[:k],
            dropped=self.dropped if k >= self.rank else 0,
        )

    def blur(self, matrix: Floats, reach: Floats, upper: float) -> float:
        """By how much rounding of the basis can move the smallest largest row error over maps.

        Q spans the rows but for ``eps`` of each, which a map blows up by the size of its matrix M. That
        of the best map is not known; but its images are within ``2 upper`` of those of a map with largest
        error ``upper``, so that it is longer by at most ``2 sqrt(n) upper`` over the smallest singular value.

        Parameters
        ----------
        matrix
            Of the map that was found, shape (p, d).
        reach
            Largest absolute value of every centred column, shape (p,).
        upper
            Largest row error of that map.
        """
        if not self.rank:
            return 0.0
        longest = float(np.linalg.norm(reach / self.norms))
        more = 2.0 * self.n**0.5 * upper / float(self.s[-1])
        size = float(reach @ np.linalg.norm(matrix, axis=1)) + longest * more
        return float(_EPS * (len(matrix) + 2) ** 0.5 * size)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.q)

    @property
    def rank(self) -> int:
        """Numerical rank of the centred source."""
        return int(self.q.shape[1]) - 1
