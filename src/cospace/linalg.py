"""Centring, singular values with a driver fallback, numerical rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from cospace._arrays import Array, double, namespace

__all__ = ["RTOL", "SVD", "centred", "norm", "numerical_rank", "singular_values", "thin_svd"]

RTOL = 1e-6
"""Default rank tolerance, relative to the largest singular value."""


class SVD(NamedTuple):
    """Thin singular value decomposition, a = u diag(s) v^T."""

    u: Array
    s: Array
    v: Array


def centred(x: Array) -> Array:
    """Rows minus their mean, in float64."""
    x = double(x)
    return x - namespace(x).mean(x, axis=0, keepdims=True)


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
    """Thin SVD; where numpy's divide-and-conquer driver fails, the slower one that does not."""
    xp = namespace(a)
    try:
        u, s, vt = xp.linalg.svd(a, full_matrices=False)
    except np.linalg.LinAlgError:
        u, s, vt = scipy.linalg.svd(a, full_matrices=False, lapack_driver="gesvd")
    return SVD(u, s, vt.T)


def singular_values(a: Array) -> Array:
    """Singular values, largest first."""
    xp = namespace(a)
    try:
        return xp.linalg.svdvals(a)
    except np.linalg.LinAlgError:
        return scipy.linalg.svd(a, compute_uv=False, lapack_driver="gesvd")
