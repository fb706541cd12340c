"""Symmetric relations whose entries are made a tile at a time, in single precision.

A relation is split into its mean off the diagonal, its mean on the diagonal, and the rest R: the
rest is what tiles hold, so that nothing is lost to a level that all entries share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cospace.summaries import Relation

__all__ = ["Entries", "Products", "Sums", "Tiled", "cubed_trace"]

Floats = npt.NDArray[np.float64]
Single = npt.NDArray[np.float32]

_TILE = 192
"""Lines of a tile of ``cubed_trace``: three of them stay in a core's cache."""

_CANCELS = 10.0
"""How much larger than its result tr(K^3) may be in single precision."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the rest R of one relation, from which all index sums up to third order follow."""

    on: Floats
    """Diagonal R_ii, shape (n,)."""
    lines: Floats
    """Sums of lines, diagonal included, shape (n,)."""
    squares: Floats
    """Sums of the squares of lines, diagonal included, shape (n,)."""
    walks: tuple[float, float, float]
    """d'R d, d'R s and s'R s, with d the diagonal and s the sums of lines."""
    cubes: float
    """sum_ij R_ij^3."""
    triangles: float
    """tr(R^3)."""

    @classmethod
    def of(cls, rest: npt.NDArray[np.floating]) -> Sums:
        """Sums over a symmetric matrix of shape (n, n); cost n^3 / 6 for the triangles."""
        on = np.diagonal(rest).astype(np.float64)
        lines = rest.sum(axis=1, dtype=np.float64)
        squares = np.empty(len(rest))
        cubes, ends = 0.0, np.stack([on, lines], axis=1)
        reached = np.empty_like(ends)
        for start in range(0, len(rest), _TILE):
            here = slice(start, start + _TILE)
            block = rest[here].astype(np.float64)
            reached[here] = block @ ends
            square = block * block
            squares[here] = square.sum(axis=1)
            cubes += float(np.vdot(square, block))
        walks = float(on @ reached[:, 0]), float(on @ reached[:, 1]), float(lines @ reached[:, 1])
        return cls(on, lines, squares, walks, cubes, cubed_trace(rest))


def cubed_trace(matrix: npt.NDArray[np.floating]) -> float:
    """tr(M^3) of a symmetric matrix; cost n^3 / 6, by tiles, each product of three counted once.

    Examples
    --------
    >>> cubed_trace(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]))
    6.0
    """
    cuts = [slice(start, start + _TILE) for start in range(0, len(matrix), _TILE)]
    total = 0.0
    for i, a in enumerate(cuts):
        for j, b in enumerate(cuts[i:], i):
            left = matrix[a, b]
            for k, c in enumerate(cuts[j:], j):
                # Orders of the three tiles that are the same sum.
                times = 6 if i < j < k else 3 if i < j or j < k else 1
                total += times * float(np.vdot(left @ matrix[b, c], matrix[a, c]))
    return total


class Tiled(Protocol):
    """A relation of which any tile of the rest can be had."""

    @property
    def means(self) -> tuple[float, float]:
        """Mean entry off the diagonal and on it."""
        ...

    @property
    def on(self) -> Floats:
        """Diagonal of the rest, shape (n,)."""
        ...

    @property
    def scale(self) -> float:
        """Size of the numbers whose rounding to single precision is in the entries."""
        ...

    def tile(self, rows: slice, columns: slice, out: Single) -> None:
        """Write entries (i, j) of the rest, all of i before all of j, or a tile on the diagonal."""
        ...

    def sums(self, squares: Floats, cubes: float) -> Sums:
        """Complete what a pass over the tiles has summed: squares of lines, and all cubes."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Products:
    """A relation given by rows: off the diagonal R_ij = <z_i, z_j> + m_i + m_j + level.

    It is not of unit length: whoever makes the entries divides by the size that they come to.
    """

    rows: Single
    """z, centred to rounding, beside them m and 1, shape (n, d + 2)."""
    level: float
    """What is added to every entry."""
    on: Floats
    """Diagonal of the rest, shape (n,)."""
    means: tuple[float, float]
    """Mean entry off the diagonal and on it."""
    square: Floats
    """<z_i, z_i> + 2 m_i + level, shape (n,)."""
    lines: Floats
    """Sums of the lines of the rest, shape (n,)."""
    walks: tuple[float, float, float]
    """As in ``Sums``."""
    margins: float
    """The part of tr(R^3) in which margins and the level have a share, but no squares of lines."""
    scale: float
    """Sum of <z_i, z_i>: entries are exact to its rounding in single precision."""

    @classmethod
    def of(cls, rows: Floats, margin: Floats | float, *, diagonal: bool) -> Products:
        """Take rows and margins of entries <x_i, x_j> + m_i + m_j, in double precision.

        Parameters
        ----------
        rows
            Any rows, shape (n, d): their mean goes into the margins.
        margin
            Margins, shape (n,), or one for all.
        diagonal
            Whether entries (i, i) count; otherwise they are 0, and the mean of the others is
            taken off.
        """
        n = len(rows)
        mean = rows.mean(axis=0)
        single = np.empty((n, rows.shape[1] + 2), dtype=np.float32)
        np.subtract(rows, mean, out=single[:, :-2], casting="same_kind")
        single[:, -1] = 1.0
        m = rows @ mean - float(mean @ mean) + margin
        level = float(mean @ mean) + 2 * float(m.mean())
        single[:, -2] = m - m.mean()
        # All that follows is exact for the rows as they were rounded, which cancel each other.
        z, ends = single[:, :-2].astype(np.float64), single[:, -2:].astype(np.float64)
        m = ends[:, 0]
        inner, reach = ends.T @ ends, z.T @ ends
        length = np.vecdot(z, z)
        off = float(reach[:, 1] @ reach[:, 1] - length.sum() + 2 * (n - 1) * m.sum())
        off = off / (n * (n - 1)) + level
        square = length + 2 * m + level
        on = square if diagonal else np.zeros(n)
        means = (off, float(on.mean())) if diagonal else (0.0, 0.0)
        level, square, on = level - off, square - off, on - means[1]
        gap = on - square

        twice = z @ reach
        lines = twice[:, 1] + n * m + (float(m.sum()) + n * level) + gap
        starts = np.stack([on, lines], axis=1)
        total = starts.sum(axis=0)
        stops = z @ (z.T @ starts) + np.outer(m, total) + (m @ starts + level * total)
        stops += gap[:, None] * starts
        walks = float(on @ stops[:, 0]), float(on @ stops[:, 1]), float(lines @ stops[:, 1])
        form = np.array([[0.0, 1.0], [1.0, level]])
        turned = form @ inner
        margins = (
            3 * np.trace(form @ twice.T @ twice)
            + 3 * np.trace(turned @ form @ reach.T @ reach)
            + np.trace(turned @ turned @ turned)
            + 3 * (square @ gap**2)
            + (gap**3).sum()
        )
        scale = float(length.sum())
        return cls(single, level, on, means, square, lines, walks, float(margins), scale)

    def tile(self, rows: slice, columns: slice, out: Single) -> None:
        """Write entries (i, j) of the rest."""
        left = self.rows[rows].copy()
        left[:, -1] = left[:, -2] + self.level
        left[:, -2] = 1.0
        np.matmul(left, self.rows[columns].T, out=out)
        if rows == columns:
            np.fill_diagonal(out, self.on[rows])

    def sums(self, squares: Floats, cubes: float) -> Sums:
        """Complete the sums; cost n d min(n, d) for the triangles, in single precision.

        With K = Z Z', B = (m, 1), C = ((0, 1), (1, level)), P = K + B C B' and E the diagonal
        matrix R - P: tr(P^3) = tr(K^3) + 3 tr(C B'K^2 B) + 3 tr(C B'B C B'K B) + tr((C B'B)^3) and
        tr(R^3) = tr(P^3) + 3 tr(P^2 E) + 3 tr(P E^2) + tr(E^3); tr(K^3) is that of the smaller of
        Z Z' and Z' Z, in double precision where it is much larger than tr(R^3) can be.
        """
        z = self.rows[:, :-2]
        triangles = _cubed(z)
        if triangles > _CANCELS * float(squares.sum()) ** 1.5:
            triangles = _cubed(z.astype(np.float64))
        gap = self.on - self.square
        triangles += self.margins
        triangles += 3 * float(gap @ (squares - self.on**2 + self.square**2))
        return Sums(self.on, self.lines, squares, self.walks, cubes, triangles)


def _cubed(z: npt.NDArray[np.floating]) -> float:
    """tr((Z Z')^3)."""
    return cubed_trace(z @ z.T if len(z) < z.shape[1] else z.T @ z)


@dataclass(frozen=True, eq=False, repr=False)
class Entries:
    """A relation given by the entries of its rest above the diagonal, in single precision."""

    above: Single
    """Entries (i, j), i < j, line by line, shape (n (n - 1) / 2,)."""
    on: Floats
    """Diagonal of the rest, shape (n,)."""
    means: tuple[float, float]
    """Mean entry off the diagonal and on it."""

    @classmethod
    def of(cls, relation: Relation) -> Entries:
        """Take a symmetric relation, scaled so that its entries are about 1."""
        n = relation.n
        at = np.arange(n)
        places = at * (n + 1) - at * (at + 1) // 2
        on = n * relation.vector[places]
        above = np.delete(relation.vector, places)
        above *= n / np.sqrt(2.0)
        off = float(above.mean())
        above -= off
        diagonal = float(on.mean())
        return cls(above.astype(np.float32), on - diagonal, (off, diagonal))

    @property
    def scale(self) -> float:
        """0: entries were made in double precision."""
        return 0.0

    def tile(self, rows: slice, columns: slice, out: Single) -> None:
        """Write entries (i, j) of the rest."""
        n = len(self.on)
        if rows != columns:
            for i, line in enumerate(out, rows.start):
                start = i * n - i * (i + 1) // 2 - i - 1
                line[:] = self.above[start + columns.start : start + columns.stop]
            return
        for i, line in enumerate(out, rows.start):
            start = i * n - i * (i + 1) // 2
            here = i - rows.start
            line[here + 1 :] = self.above[start : start + rows.stop - i - 1]
            out[here + 1 :, here] = line[here + 1 :]
        np.fill_diagonal(out, self.on[rows])

    def sums(self, squares: Floats, cubes: float) -> Sums:
        """All sums; cost n^3 / 6 for the triangles, in single precision."""
        n = len(self.on)
        square = np.empty((n, n), dtype=np.float32)
        self.tile(slice(0, n), slice(0, n), square)
        return Sums.of(square)
