"""Nearest rows by Euclidean distance: exact, centred, as float64 finds them."""

from __future__ import annotations

from cospace._arrays import Array, as_rows
from cospace.search import Search
from cospace.summaries import Neighbors

__all__ = ["euclidean_neighbors"]


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
    search = Search.euclidean(as_rows(rows), k)
    search.refuse_alike()
    return Neighbors(search.neighbors(k))
