"""Ranks of a list of numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["average_ranks"]


def average_ranks(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs.

    Equivalent to ``scipy.stats.rankdata``, whose import takes longer than the ranks.

    Examples
    --------
    >>> average_ranks([7.0, 3.0, 7.0, 1.0]).tolist()
    [3.5, 2.0, 3.5, 1.0]
    """
    flat = np.asarray(values).ravel()
    order = np.argsort(flat)
    ordered = flat[order]
    new = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    found = np.empty(flat.size)
    if len(new) == flat.size - 1:
        found[order] = np.arange(1.0, flat.size + 1)
        return found
    ends = np.concatenate([[0], new, [flat.size]])
    means = (ends[:-1] + ends[1:] + 1) / 2
    found[order] = np.repeat(means, np.diff(ends))
    return found
