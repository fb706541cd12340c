"""Local geometry: are tokens woven from the same neighbours, and in how many dimensions do these lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, to_numpy
from cospace._threads import each
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError
from cospace.tokens.ranks import average_ranks

__all__ = [
    "WeightCosines",
    "dimension_correlation",
    "dimensions_of_nearest",
    "intrinsic_dimensions",
    "weight_cosines",
]

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

VARIANCE = 0.95
"""Share of the variance of its neighbours that the dimension of a token must hold."""
_BYTES = 3 << 20
_ENTRIES = 1 << 22
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class WeightCosines:
    """Cosine of the weights of every token in two models, beside what chance would give."""

    values: Floats
    """One for each token, in [-1, 1]; exactly 0 where no neighbour is shared."""
    apart: npt.NDArray[np.bool_]
    """Tokens that share no neighbour."""
    chance_mean: float
    """Mean over all ways to give the shared tokens to each other anew, exact."""
    chance_apart: float
    """Share of tokens without a shared neighbour, by the same, exact."""


def weight_cosines(
    index_a: Index, weights_a: Floats, index_b: Index, weights_b: Floats, shared: int
) -> WeightCosines:
    """Cosine of two sparse vectors a token: the weights at its neighbours, 0 elsewhere.

    Neighbours are named by the places of the tokens that both models have; a neighbour that only
    one of them has is a coordinate of its own, named by any negative number. Token i itself is
    place i, or another one: the tokens may be some of those shared.

    Parameters
    ----------
    index_a, index_b
        Places of the neighbours, shape (tokens, k_a) and (tokens, k_b); no place twice in a line.
    weights_a, weights_b
        Their weights, of the same shapes.
    shared
        Number of places.

    Returns
    -------
    WeightCosines
        1 for a rotated and rescaled copy.

    Raises
    ------
    RowMismatchError
        For different numbers of tokens.
    InputError
        For a place that is not shared.

    Examples
    --------
    >>> a, b = np.array([[1, 2]]), np.array([[2, -1]])
    >>> w = np.array([[0.5, 0.5]])
    >>> weight_cosines(a, w, b, w, shared=9).values.round(12).tolist()
    [0.5]
    """
    if len(index_a) != len(index_b):
        raise RowMismatchError(
            f"Neighbours of {len(index_a)} and {len(index_b)} tokens cannot be compared."
        )
    top = max(int(index_a.max()), int(index_b.max()))
    if top >= shared:
        raise InputError(f"Neighbour {top} is no place among {shared} shared tokens.")
    unit_a, unit_b = (w / np.linalg.norm(w, axis=1, keepdims=True) for w in (weights_a, weights_b))
    values, apart = np.empty(len(index_a)), np.empty(len(index_a), dtype=bool)
    step = max(1, _ENTRIES // (index_a.shape[1] * index_b.shape[1]))
    for start in range(0, len(index_a), step):
        part = slice(start, start + step)
        same = (index_a[part, :, None] == index_b[part, None, :]) & (index_a[part, :, None] >= 0)
        values[part] = np.einsum("ij,ijk,ik->i", unit_a[part], same, unit_b[part])
        apart[part] = ~same.any(axis=(1, 2))
    total = [float(u[i >= 0].sum()) for u, i in ((unit_a, index_a), (unit_b, index_b))]
    n = len(index_a)
    mean = total[0] * total[1] / (n * n * (shared - 1))
    return WeightCosines(
        np.clip(values, -1.0, 1.0), apart, mean, _chance_apart(index_a, index_b, shared)
    )


def _chance_apart(index_a: Index, index_b: Index, shared: int) -> float:
    """Probability that two sets of places, each anywhere among the others, have none in common."""
    counts = [
        np.bincount((index >= 0).sum(axis=1), minlength=index.shape[1] + 1) / len(index)
        for index in (index_a, index_b)
    ]
    total, others = 0.0, shared - 1
    for i, share_a in enumerate(counts[0]):
        for j, share_b in enumerate(counts[1]):
            if share_a and share_b and i + j <= others:
                total += share_a * share_b * math.comb(others - j, i) / math.comb(others, i)
    return float(total)


def intrinsic_dimensions(
    rows: Array, index: Index, *, share: float = VARIANCE, at: Index | None = None
) -> Index:
    """Principal components that hold a share of the variance of each token's neighbours.

    The least m for which the m largest eigenvalues of the centred neighbours' covariance sum to
    ``share`` of its trace. At most k - 1, so that k must be well above what is expected; only
    differences between tokens mean anything, the level depends on k and the share.

    Equivalent to counting components of ``sklearn.decomposition.PCA`` over the neighbours.

    Parameters
    ----------
    rows
        Shape (n, d).
    index
        Neighbours of each token, shape (tokens, k).
    share
        Share of the variance, between 0 and 1.
    at
        The tokens themselves, where they are to be counted among their neighbours, shape (tokens,).

    Returns
    -------
    array
        One number a token; 0 where all neighbours are the same. Cost a token k^2 (d + k).

    Raises
    ------
    InputError
        For a share that is not between 0 and 1, or fewer than 2 neighbours.

    Examples
    --------
    Neighbours on a line have one dimension; the corners of a square two.

    >>> line, square = [[0.0, 0], [1, 1], [2, 2], [5, 5]], [[0.0, 0], [0, 1], [1, 0], [1, 1]]
    >>> around = np.array([[0, 1, 2, 3], [4, 5, 6, 7]])
    >>> intrinsic_dimensions(np.array(line + square), around).tolist()
    [1, 2]
    """
    if at is not None:
        index = np.column_stack([index, at])
    return np.asarray(dimensions_of_nearest(rows, index, [index.shape[1]], share=share)[0])


def dimensions_of_nearest(
    rows: Array, index: Index, ks: Sequence[int], *, share: float = VARIANCE
) -> Index:
    """Intrinsic dimensions of the first k neighbours of each token, for several k.

    The same as ``intrinsic_dimensions(rows, index[:, :k], share=share)`` for each k, at little more
    than the cost of the largest.

    Parameters
    ----------
    rows
        Shape (n, d).
    index
        Neighbours of each token, nearest first, shape (tokens, k) for the largest k.
    ks
        Numbers of neighbours.
    share
        Share of the variance, between 0 and 1.

    Returns
    -------
    array
        A line for each k, shape (len(ks), tokens).

    Raises
    ------
    InputError
        For a share that is not between 0 and 1, or fewer than 2 neighbours.
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"The share of variance is {share}; a number between 0 and 1 is needed.")
    few, most = min(ks), max(ks)
    if few < 2:
        raise InputError(f"{few} neighbours span no dimension: at least 2 are needed.")
    x = to_numpy(rows)
    found = np.empty((len(ks), len(index)), dtype=np.int64)
    step = max(1, _BYTES // (8 * most * (x.shape[1] + most)))

    def count(start: int) -> None:
        z = x[index[start : start + step, :most]].astype(np.float64)
        size = np.cumsum(np.einsum("ijk,ijk->ij", z, z), axis=1)
        # The mean of the fewest: that of more lies no farther from it than these are spread.
        z -= z[:, :few].mean(axis=1, keepdims=True)
        whole = z @ z.transpose(0, 2, 1) if z.shape[2] >= few else None
        for line, k in enumerate(ks):
            if whole is not None and z.shape[2] >= k:
                inner = whole[:, :k, :k].copy()
                inner -= inner.mean(axis=1, keepdims=True)
                inner -= inner.mean(axis=2, keepdims=True)
            else:
                part = z[:, :k] - z[:, :k].mean(axis=1, keepdims=True)
                inner = part.transpose(0, 2, 1) @ part
            spectrum = np.clip(np.linalg.eigvalsh(inner)[:, ::-1], 0.0, None)
            held = np.cumsum(spectrum, axis=1)
            total = held[:, -1]
            least = (held < (share * (1 - _ROUNDING)) * total[:, None]).sum(axis=1) + 1
            least[total <= _ROUNDING**2 * size[:, k - 1]] = 0
            found[line, start : start + step] = least

    each(count, range(0, len(index), step))
    return found


@dataclass(frozen=True)
class DimensionCorrelation:
    """Correlations of the dimensions of the same tokens in two models."""

    pearson: float
    """Of the values."""
    spearman: float
    """Of the ranks; ties share the mean of theirs."""
    null_sd: float
    """Standard deviation of both over all ways to pair the tokens anew; their mean is 0."""


def dimension_correlation(
    a: npt.NDArray[Any] | Sequence[int], b: npt.NDArray[Any] | Sequence[int]
) -> DimensionCorrelation:
    """Correlate the dimensions of the same tokens in two models.

    Raises
    ------
    RowMismatchError
        For different numbers of tokens.
    UndefinedMeasureError
        For fewer than 3 tokens, or when all tokens of a model have the same dimension.

    Examples
    --------
    >>> found = dimension_correlation([3, 5, 9], [30, 50, 90])
    >>> round(found.pearson, 12), round(found.spearman, 12)
    (1.0, 1.0)
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if len(x) != len(y):
        raise RowMismatchError(f"Dimensions of {len(x)} and {len(y)} tokens cannot be compared.")
    if len(x) < 3:
        raise UndefinedMeasureError(
            f"{len(x)} tokens make no correlation of dimensions: at least 3 are needed."
        )
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        raise UndefinedMeasureError(
            "All tokens of a model have the same dimension: there is nothing to correlate. Take another "
            "number of neighbours."
        )
    sd = 1.0 / math.sqrt(len(x) - 1)
    return DimensionCorrelation(
        _correlated(x, y), _correlated(average_ranks(x), average_ranks(y)), sd
    )


def _correlated(x: Floats, y: Floats) -> float:
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / math.sqrt(float(x @ x) * float(y @ y)), -1.0, 1.0))
