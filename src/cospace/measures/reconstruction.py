"""How rows are woven from their neighbours: likeness of locally linear weights."""

from __future__ import annotations

import math
import threading
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, as_rows, to_numpy
from cospace._threads import each
from cospace.errors import InputError
from cospace.measures.base import Measure
from cospace.measures.nearest import euclidean_neighbors
from cospace.measures.pair import related, sized
from cospace.summaries import Relation

__all__ = ["MEASURES", "barycentre_weights", "lle_similarity", "lle_weights"]

Matrix = npt.NDArray[np.float64]
_BLOCK_BYTES = 3 << 20
"""Differences to neighbours that one thread holds: they stay in its cache."""


def lle_similarity(x: Array, y: Array, *, k: int = 10, reg: float = 1e-3) -> float:
    """Mean cosine of the weights that reconstruct the same row from its neighbours.

    ``mean_i cos(w_x(i), w_y(i))``, where w(i) is a vector over all n rows: the weights of
    ``lle_weights`` at the k nearest neighbours of row i, by Euclidean distance, and 0 elsewhere.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    k
        Number of neighbours.
    reg
        Regularisation of the weights, relative to the trace.

    Returns
    -------
    float
        In [-1, 1]; 1 means the same weights everywhere; 0 for a row whose neighbours are all
        different; by chance about k / (n - 1) and less. Invariant to translation, rotation and
        isotropic scale. Cost n^2 d + n k^2 (d + k) a space, n^2 a pair (as one product of a grid).

    Raises
    ------
    InputError
        For k < 1 or reg <= 0.
    UndefinedMeasureError
        For k >= n - 1, or rows that are all the same or equally near.

    References
    ----------
    Roweis & Saul 2000 (weights); Lee et al. 2025 (their cosine across language models).

    Examples
    --------
    >>> x = [[0.0], [1.0], [3.0], [7.0]]
    >>> round(lle_similarity(x, [[5.0 - 2.0 * v for v in row] for row in x], k=2), 12)
    1.0
    """
    return related(partial(lle_relation, k=k, reg=reg), x, y)


def lle_relation(rows: Array, *, k: int = 10, reg: float = 1e-3) -> Relation:
    """Relation whose inner product is ``lle_similarity``."""
    index, weights = lle_weights(rows, k=k, reg=reg)
    matrix = np.zeros((len(index), len(index)))
    unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    np.put_along_axis(matrix, index, unit, axis=1)
    return Relation.directed(matrix)


def lle_weights(
    rows: Array, *, k: int = 10, reg: float = 1e-3
) -> tuple[npt.NDArray[np.int64], Matrix]:
    """Weights that best reconstruct every row from its k nearest neighbours.

    With differences z_j = x_j - x_i to the neighbours and their Gram matrix C: ``w = C'^-1 1 /
    (1^T C'^-1 1)``, ``C' = C + reg tr(C) I``; 1 / k each where all neighbours are repeats of row i.

    Equivalent to ``sklearn.manifold``'s barycentre weights with the same ``reg``.

    Parameters
    ----------
    rows
        Shape (n, d).
    k
        Number of neighbours.
    reg
        Regularisation relative to the trace, which makes C invertible where k exceeds d or
        neighbours repeat.

    Returns
    -------
    index, weights
        Row numbers of the neighbours, ascending, and their weights, which sum to 1; both of shape
        (n, k).

    Raises
    ------
    InputError
        For k < 1 or reg <= 0.
    UndefinedMeasureError
        For k >= n - 1, or rows that are all the same or equally near.

    Examples
    --------
    The row at 1 lies a third of the way from 0 to 3; regularisation moves the weights a little.

    >>> index, weights = lle_weights([[0.0], [1.0], [3.0], [9.0]], k=2, reg=1e-9)
    >>> index[1].tolist(), weights[1].round(6).tolist()
    ([0, 2], [0.666667, 0.333333])
    """
    _check(reg)
    x = to_numpy(sized(as_rows(rows)))
    index = euclidean_neighbors(x, k).index
    return index, barycentre_weights(x, index, reg=reg)


def barycentre_weights(
    rows: Array,
    index: npt.NDArray[np.int64],
    at: npt.NDArray[np.int64] | None = None,
    *,
    reg: float = 1e-3,
) -> Matrix:
    """Weights that best reconstruct rows from neighbours that are given; see ``lle_weights``.

    Parameters
    ----------
    rows
        Shape (n, d), in single or double precision; differences are taken in double.
    index
        Neighbours of each row, shape (m, k).
    at
        The rows that are reconstructed, shape (m,); by default row i has the neighbours i.
    reg
        Regularisation relative to the trace.

    Returns
    -------
    array
        Shape (m, k); each line sums to 1. Cost m k^2 (d + k), memory for m k numbers.

    Raises
    ------
    InputError
        For reg <= 0.

    Examples
    --------
    >>> weights = barycentre_weights(np.array([[0.0], [1.0], [3.0]]), np.array([[0, 2]]), np.array([1]))
    >>> weights.round(2).tolist()
    [[0.67, 0.33]]
    """
    _check(reg)
    x = to_numpy(rows)
    (m, k), d = index.shape, x.shape[1]
    # The row itself comes last: it is taken off the others, and its line of zeros makes the two
    # factors of a product differ in shape, which is a quarter of the time of equal ones.
    both = np.column_stack([index, np.arange(m) if at is None else at])
    weights = np.empty((m, k))
    step = max(_BLOCK_BYTES // (8 * (k + 1) * d), 1)
    room = threading.local()
    diagonal = np.arange(k)

    def solve(start: int) -> None:
        near = both[start : start + step]
        z, taken = _room(room, (min(step, m), k + 1, d), x.dtype)
        z, taken = z[: len(near)], taken[: near.size]
        np.take(x, near.ravel(), axis=0, out=taken, mode="clip")
        z[...] = taken.reshape(z.shape)
        z -= z[:, k:].copy()
        gram = np.matmul(z[:, :k], z.transpose(0, 2, 1))[:, :, :k]
        trace = np.einsum("ijj->i", gram)
        gram[:, diagonal, diagonal] += reg * np.where(trace > 0.0, trace, 1.0)[:, None]
        solved = np.linalg.solve(gram, np.ones((len(near), k, 1)))[:, :, 0]
        weights[start : start + step] = solved / solved.sum(axis=1, keepdims=True)

    each(solve, range(0, m, step))
    return weights


def _room(
    room: threading.local, shape: tuple[int, int, int], dtype: np.dtype[Any]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
    """Arrays of this thread: fresh ones for each block would cost as much as the arithmetic."""
    if not hasattr(room, "z"):
        room.z = np.empty(shape)
        room.taken = np.empty((shape[0] * shape[1], shape[2]), dtype=dtype)
    return room.z, room.taken


def _check(reg: float) -> None:
    if not (math.isfinite(reg) and reg > 0.0):
        raise InputError(f"The regularisation is {reg}; a number above 0 is needed.")


MEASURES: tuple[Measure, ...] = (
    Measure(
        name="lle_similarity",
        title="LLE weights (k = 10)",
        function=lle_similarity,
        kind="similarity",
        bounds=(-1.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=frozenset({"translation", "scaling", "orthogonal"}),
        summary="Whether each text is a blend of the same 10 neighbours by the same weights in both spaces.",
        reference="Roweis & Saul 2000; Lee et al. 2025",
        cost="n² d + n k² (d + k) a space, n² a pair",
        needs="neighbours",
        summarise=lle_relation,
        score=Relation.inner,
        relation=lle_relation,
        arrays="numpy",
    ),
)
