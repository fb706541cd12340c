"""What maps of a source can form: an orthonormal basis of its centred columns and the constant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from cospace._arrays import Array, double, to_numpy
from cospace.linalg import RTOL, centred, mean_row, numerical_rank, singular_values, thin_svd

__all__ = ["BLOCK", "Basis", "Floats", "blocks"]

Floats: TypeAlias = npt.NDArray[np.float64]

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
        s = singular_values(triangle)
        rank = numerical_rank(s, rtol)
        if most is None and rank == triangle.shape[1] == triangle.shape[0]:
            back = solve_triangular(triangle, np.eye(rank), check_finite=False)
        else:
            u, s, v = thin_svd(triangle)
            rank = min(rank, rank if most is None else most)
            q = q @ u[:, :rank]
            back = v[:, :rank] / s[:rank]
        whole = np.empty((len(rows), rank + 1))
        whole[:, :rank] = q
        whole[:, rank] = len(rows) ** -0.5
        return cls(whole, np.asarray(back), mean, rtol)

    @classmethod
    def constant(cls, n: int) -> Basis:
        """Basis of the constant alone: what the best single point is sought with."""
        return cls(np.full((n, 1), n**-0.5), np.empty((0, 0)), np.empty(0), RTOL)

    def leading(self, k: int) -> Basis:
        """The first k columns and the constant: leading components, if ``most`` was given."""
        return Basis(
            np.concatenate([self.q[:, :k], self.q[:, -1:]], axis=1),
            self.back[:, :k],
            self.mean,
            self.rtol,
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.q)

    @property
    def rank(self) -> int:
        """Numerical rank of the centred source."""
        return int(self.q.shape[1]) - 1
