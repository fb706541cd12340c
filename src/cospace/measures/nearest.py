"""Nearest rows by Euclidean distance: exact, centred, in float64."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, as_rows, to_numpy
from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures.pair import sized
from cospace.summaries import TIE, Neighbors

__all__ = ["euclidean_neighbors"]

_BLOCK = 1024


def euclidean_neighbors(rows: Array, k: int = 10) -> Neighbors:
    """Find the k nearest other rows of every row, a block of rows at a time; cost n^2 d.

    Rows are centred first, since a common offset drowns distances. A row is excluded by its
    number, so repeats stay neighbours. Of rows that are equally near, to rounding, the first are
    taken, so that repeats are chosen alike in every space.

    Parameters
    ----------
    rows
        Shape (n, d).
    k
        Number of neighbours.

    Raises
    ------
    InputError
        For k < 1.
    UndefinedMeasureError
        For k >= n - 1, or rows that are all the same or all equally near.

    Examples
    --------
    >>> euclidean_neighbors([[0.0], [1.0], [3.0], [7.0]], k=1).index.ravel().tolist()
    [1, 0, 1, 2]
    """
    if k < 1:
        raise InputError(f"{k} neighbours were asked for; at least 1 is needed.")
    x = to_numpy(sized(as_rows(rows)))
    n = len(x)
    if k >= n - 1:
        raise UndefinedMeasureError(
            f"{k} neighbours of {n} rows are all or nearly all of them: at least {k + 2} rows are needed."
        )
    square = np.sum(x * x, axis=1)
    index = np.empty((n, k), dtype=np.int64)
    alike = True
    for start in range(0, n, _BLOCK):
        block = x[start : start + _BLOCK] @ x.T
        block *= -2.0
        block += square[None, :]
        block += square[start : start + _BLOCK, None]
        here = np.arange(len(block))
        block[here, here + start] = np.inf
        near = np.partition(block, k - 1, axis=1)[:, :k]
        scale = near.max(axis=1, keepdims=True) + square[start : start + _BLOCK, None]
        # Rounding of a distance is relative to the lengths of its two rows, which for near rows
        # are about as long as the row itself.
        index[start : start + _BLOCK] = _first(block, near.max(axis=1, keepdims=True), scale, k)
        block[here, here + start] = 0.0
        alike = alike and bool(
            (block.max(axis=1) - near.min(axis=1) <= 10 * TIE * scale[:, 0]).all()
        )
    if alike:
        raise UndefinedMeasureError("All rows are equally near: there are no neighbours.")
    return Neighbors(index)


def _first(
    block: npt.NDArray[np.float64],
    last: npt.NDArray[np.float64],
    scale: npt.NDArray[np.float64],
    k: int,
) -> npt.NDArray[np.int64]:
    """Columns of the k least entries of every row, ascending; ties go to the first columns."""
    taken = block < last - TIE * scale
    tied = (block <= last + TIE * scale) & ~taken
    taken |= tied & (np.cumsum(tied, axis=1) <= k - taken.sum(axis=1, keepdims=True))
    return np.nonzero(taken)[1].reshape(-1, k)
