"""Relations as whole matrices in single precision, whose rows are shuffled by gathers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace._threads import each
from cospace.summaries import Order, Relation

__all__ = ["Planes"]

Floats = npt.NDArray[np.float64]
Single = npt.NDArray[np.float32]

_ENTRIES = 1 << 16
"""Entries, of all spaces together, that are gathered at once: they stay in a core's cache."""
_LEAST = 4
"""Lines that are gathered at once at least."""
_PIECE = 64
"""Lines in one piece of work."""


@dataclass(frozen=True, eq=False)
class Planes:
    """Relations of several spaces less their level.

    Shuffles move diagonal entries among themselves and the others among themselves, so the mean
    of each kind can be taken off, with the rounding that comes of summing it.
    """

    first: Single
    """Matrix of the first space less its level, shape (n, n): it is never shuffled."""
    later: Single
    """Those of the other spaces side by side, shape (n, n, spaces - 1 or a little more)."""
    level: Floats
    """Inner products of the levels, shape (spaces, spaces)."""
    symmetric: bool
    """Whether entries (i, j) and (j, i) are the same."""

    @classmethod
    def of(cls, columns: Floats, form: Relation) -> Planes:
        """Take relations as columns, shape (entries, spaces), of the form that one of them has."""
        n, count = form.n, columns.shape[1]
        symmetric = form.form == "triangle"
        # Entries of 4, 8 or some 16 bytes are copied much faster than others.
        width = count - 1 if count < 4 else (count + 2) // 4 * 4
        first = np.empty((n, n), dtype=np.float32)
        later = np.zeros((n, n, width), dtype=np.float32)
        line = np.arange(n)
        # Where line i begins: entries (i, i) of a triangle, (i, 0) of a whole matrix.
        begin = line * n - line * (line - 1) // 2 if symmetric else line * n
        diagonal = begin if symmetric else begin + line
        on = columns[diagonal].mean(axis=0)
        off = (columns.sum(axis=0) - n * on) / (len(columns) - n)

        def spread(start: int) -> None:
            for i in range(start, min(start + _PIECE, n)):
                left = i if symmetric else 0
                entries = columns[begin[i] : begin[i] + n - left] - off
                if symmetric:
                    entries /= np.sqrt(2.0)
                entries[i - left] = columns[diagonal[i]] - on
                first[i, left:] = entries[:, 0]
                later[i, left:, : count - 1] = entries[:, 1:]
                if symmetric:
                    first[i:, i] = first[i, i:]
                    later[i:, i] = later[i, i:]

        each(spread, range(0, n, _PIECE))
        if symmetric:
            off = off / np.sqrt(2.0)
        level = n * (n - 1) * np.outer(off, off) + n * np.outer(on, on)
        return cls(first, later, level, symmetric)

    def products(self, orders: Sequence[Order]) -> Floats:
        """Inner product of space i as it is and space j > i shuffled, shape (orders, i, j).

        Lines are taken whole, then entries within lines that a core's cache holds; of a symmetric
        matrix those right of a block's diagonal square count twice. Products are summed in single
        precision within a block and in double over the blocks.
        """
        n, _, width = self.later.shape
        count = len(self.level)
        lines = max(_LEAST, _ENTRIES // (n * width))
        total = np.zeros((len(orders), width, width))
        whole = np.empty((lines, n, width), dtype=np.float32)
        room = np.empty((2, lines * n * width), dtype=np.float32)
        for start in range(0, n, lines):
            stop = min(start + lines, n)
            left = start if self.symmetric else 0
            shape = stop - start, n - left, width
            still, moved = (part[: shape[0] * shape[1] * width].reshape(shape) for part in room)
            still[:, :, 0] = self.first[start:stop, left:]
            still[:, :, 1:] = self.later[start:stop, left:, : width - 1]
            if self.symmetric:
                still[:, stop - start :] *= 2.0
            taken = whole[: stop - start]
            for at, order in enumerate(orders):
                # "wrap" only because it checks the least: no number is out of range.
                self.later.take(order[start:stop], axis=0, out=taken, mode="wrap")
                taken.take(order[left:], axis=1, out=moved, mode="wrap")
                total[at] += still.reshape(-1, width).T @ moved.reshape(-1, width)
        found = np.repeat(self.level[None], len(orders), axis=0)
        found[:, :-1, 1:] += total[:, : count - 1, : count - 1]
        return found
