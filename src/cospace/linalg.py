"""Centring, singular values with a driver fallback, numerical rank."""

from __future__ import annotations

from typing import NamedTuple

import scipy.linalg
from array_api_compat import device

from cospace._arrays import Array, double, namespace, to_numpy

__all__ = [
    "RTOL",
    "SVD",
    "centred",
    "mean_row",
    "norm",
    "numerical_rank",
    "singular_values",
    "thin_svd",
    "wide_mean",
]

RTOL = 1e-6
"""Default rank tolerance, relative to the largest singular value."""

_BLOCK = 1024
"""Rows that are widened at once."""


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


def wide_mean(x: Array) -> Array:
    """``mean_row`` in float64; of narrower numbers a block of rows at a time, without a copy."""
    xp = namespace(x)
    if x.dtype == xp.float64:
        return mean_row(x)
    n, first = x.shape[0], x[0, :]
    total = double(first)
    total -= total
    for start in range(0, n, _BLOCK):
        total += xp.sum(double(x[start : min(start + _BLOCK, n), :]), axis=0)
    mean = total / n
    if not bool(xp.any((x[n - 1, :] == first) & (x[n // 2, :] == first))):
        return mean
    return xp.where(xp.all(x == first, axis=0), double(first), mean)


def centred(x: Array) -> Array:
    """Rows minus their mean, in float64; exactly 0 in a constant column."""
    wide = double(x)
    if wide is x:
        return x - mean_row(x)
    wide -= mean_row(wide)
    return wide


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


def _not_converged(error: Exception) -> bool:
    """Whether numpy (LinAlgError) or torch (_LinAlgError) gave up; by name, for torch is optional."""
    return type(error).__name__.endswith("LinAlgError")
