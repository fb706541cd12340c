"""Centring, products of tall tables, singular values with a driver fallback, numerical rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import scipy.linalg
from array_api_compat import device

from cospace._arrays import Array, double, namespace, to_numpy

__all__ = [
    "RTOL",
    "SVD",
    "centred",
    "centred_single",
    "cross",
    "mean_row",
    "norm",
    "numerical_rank",
    "singular_values",
    "squares",
    "thin_svd",
]

RTOL = 1e-6
"""Default rank tolerance, relative to the largest singular value."""

_BLOCK = 1024
"""Rows that are multiplied in float32 before their sum is taken in float64."""
_CACHED = 256
"""Rows whose copy in float64 stays in a core's cache."""


class SVD(NamedTuple):
    """Thin singular value decomposition, a = u diag(s) v^T."""

    u: Array
    s: Array
    v: Array


def mean_row(x: Array) -> Array:
    """Mean of every column, shape (d,); of a constant column exactly its value.

    A plain mean of equal numbers is off by a rounding, and what is left after taking it off
    then looks like a direction of its own wherever scale is divided out.
    """
    xp = namespace(x)
    first, mean = x[0, :], xp.mean(x, axis=0)
    if not bool(xp.any((x[-1, :] == first) & (x[x.shape[0] // 2, :] == first))):
        return mean
    return xp.where(xp.all(x == first, axis=0), first, mean)


def centred(x: Array) -> Array:
    """Rows minus their mean, in float64; exactly 0 in a constant column."""
    wide = double(x)
    if wide is x:
        return x - mean_row(x)
    wide -= mean_row(wide)
    return wide


def centred_single(x: Array) -> Array:
    """Centre float32 rows in float64, a block at a time, and round the result to float32."""
    xp = namespace(x)
    total = xp.zeros_like(x[0, :], dtype=xp.float64)
    for block in _blocks(x, _CACHED):
        total += xp.sum(double(block), axis=0)
    mean = total / x.shape[0]
    first = x[0, :]
    if bool(xp.any((x[-1, :] == first) & (x[x.shape[0] // 2, :] == first))):
        mean = xp.where(xp.all(x == first, axis=0), double(first), mean)
    free = xp.empty_like(x)
    for block, into in zip(_blocks(x, _CACHED), _blocks(free, _CACHED), strict=True):
        wide = double(block)
        wide -= mean
        into[:, :] = xp.astype(wide, x.dtype)
    return free


def cross(a: Array, b: Array) -> Array:
    """a^T b in float64; float32 tables are multiplied in blocks of rows and summed in float64."""
    if a.dtype != namespace(a).float32 or b.dtype != a.dtype:
        return double(a).T @ double(b)
    starts = range(0, a.shape[0], _BLOCK)
    parts = (a[i : i + _BLOCK, :].T @ b[i : i + _BLOCK, :] for i in starts)
    total = double(next(parts))
    for part in parts:
        total += part
    return total


def squares(x: Array) -> Array:
    """Squared length of every row, in float64, shape (n,)."""
    return double(namespace(x).linalg.vecdot(x, x))


def norm(x: Array) -> float:
    """Frobenius norm."""
    xp = namespace(x)
    return float(xp.linalg.vector_norm(x))


def numerical_rank(s: Array, rtol: float = RTOL) -> int:
    """Count the singular values above ``rtol`` times the largest.

    Examples
    --------
    >>> import numpy as np
    >>> numerical_rank(np.array([2.0, 1.0, 1e-9]))
    2
    """
    if s.shape[0] == 0 or float(s[0]) == 0.0:
        return 0
    return int(namespace(s).count_nonzero(s > rtol * s[0]))


def thin_svd(a: Array) -> SVD:
    """Thin SVD; where the library's driver does not converge, by the slower one that does."""
    xp = namespace(a)
    try:
        u, s, vt = xp.linalg.svd(a, full_matrices=False)
    except Exception as error:
        if not _not_converged(error):
            raise
        u, s, vt = (
            xp.asarray(part, device=device(a))
            for part in scipy.linalg.svd(to_numpy(a), full_matrices=False, lapack_driver="gesvd")
        )
    return SVD(u, s, vt.T)


def singular_values(a: Array) -> Array:
    """Singular values, largest first."""
    xp = namespace(a)
    try:
        return xp.linalg.svdvals(a)
    except Exception as error:
        if not _not_converged(error):
            raise
        s = scipy.linalg.svd(to_numpy(a), compute_uv=False, lapack_driver="gesvd")
        return xp.asarray(s, device=device(a))


def _blocks(x: Array, step: int) -> Iterator[Array]:
    return (x[start : start + step, :] for start in range(0, x.shape[0], step))


def _not_converged(error: Exception) -> bool:
    """Whether numpy (LinAlgError) or torch (_LinAlgError) gave up; by name, for torch is optional."""
    return type(error).__name__.endswith("LinAlgError")
