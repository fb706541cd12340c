"""Bounds of a min-max fit that hold whatever the fit was found with."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from cospace.homotopy.basis import Floats, blocks

__all__ = ["lower_bound", "rounding", "row_errors"]

_FLOOR = 1e-6
"""Share of the weight that is spread over all rows: it keeps the weighted basis well conditioned."""
_INFLATE = 1.0001
"""What is taken off for a fit that is not exact is enlarged by this, against its own rounding."""


def row_errors(target: Floats, q: Floats, coefficients: Floats) -> Floats:
    """Squared l2 error of every row of ``target - q @ coefficients``, shape (n,)."""
    errors = np.empty(len(target))
    for block in blocks(len(target)):
        rest = target[block] - q[block] @ coefficients
        errors[block] = np.einsum("ij,ij->i", rest, rest)
    return errors


def rounding(target: Floats, q: Floats, coefficients: Floats) -> float:
    """By how much a computed row error can be off: r products of size ``|q_i| ||B||``, each by eps."""
    longest, farthest = (
        max(float(np.einsum("ij,ij->i", rows[b], rows[b]).max()) for b in blocks(len(rows))) ** 0.5
        for rows in (q, target)
    )
    size = farthest + longest * float(np.linalg.norm(coefficients))
    return float(np.finfo(float).eps * (q.shape[1] + 2) * size)


def lower_bound(target: Floats, q: Floats, weights: Floats, coefficients: Floats) -> float:
    r"""Certified lower bound of ``min over B of max_i ||target_i - q_i B||``.

    For weights w >= 0 with sum 1 a maximum is at least a mean, so that the bound is the root of
    ``min over B of sum_i w_i ||target_i - q_i B||^2``. With the residuals r of *any* B that minimum
    is ``sum_i w_i ||r_i||^2 - ||Q_w^T (sqrt(w) r)||^2``, Q_w an orthonormal basis of ``sqrt(w) q``.
    So neither the weights nor the fit need be right: what a damped, stopped or wrong fit leaves too much
    is taken off again, and other weights make the bound lower, never too high.

    Parameters
    ----------
    target
        Shape (n, d).
    q
        Shape (n, r), orthonormal columns.
    weights
        Shape (n,), not negative, not all 0; brought to sum 1, and a millionth of them spread evenly.
    coefficients
        Shape (r, d): the fit whose residuals are used.

    Returns
    -------
    float
        At least 0; less an allowance for rounding.

    Examples
    --------
    The best constant for 0, 2 and 1 is 1, at distance 1 from the first two:

    >>> q = np.full((3, 1), 3**-0.5)
    >>> target = np.array([[0.0], [2.0], [1.0]])
    >>> round(lower_bound(target, q, np.array([1.0, 1.0, 0.0]), np.array([[3**0.5]])), 5)
    1.0
    >>> round(lower_bound(target, q, np.array([1.0, 1.0, 0.0]), np.array([[0.2]])), 2)
    1.0
    >>> round(lower_bound(target, q, np.array([1.0, 1.0, 1.0]), np.array([[3**0.5]])), 2)
    0.82
    """
    n = len(target)
    w = weights * ((1.0 - _FLOOR) / weights.sum()) + _FLOOR / n
    width = q.shape[1]
    gram, slope = np.zeros((width, width)), np.zeros((width, target.shape[1]))
    energy = 0.0
    for block in blocks(n):
        part, root = q[block], np.sqrt(w[block])[:, None]
        rest = root * (target[block] - part @ coefficients)
        scaled = root * part
        energy += float(np.vdot(rest, rest))
        slope += scaled.T @ rest
        gram += scaled.T @ scaled
    excess = scipy.linalg.solve_triangular(np.linalg.cholesky(gram), slope, lower=True)
    square = energy - _INFLATE * float(np.vdot(excess, excess))
    return max(0.0, float(max(square, 0.0) ** 0.5) - rounding(target, q, coefficients))
