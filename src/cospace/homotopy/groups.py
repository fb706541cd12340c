"""Maps that form no convex set: orthogonal ones and those of low rank, with an honest interval.

A maximum is at least a mean, so for any weights of the rows the best weighted error *over the group*
is a lower bound, provided that it is the true minimum. For both groups that minimum has a closed form
(weighted Procrustes; weighted reduced-rank regression, by the theorem of Eckart and Young). The two
ends need not meet: where no single map is best for the worst weights, a gap remains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from cospace.homotopy.basis import Basis, Floats, blocks
from cospace.homotopy.minmax import Progress
from cospace.homotopy.multiplication import TINY, Multiplication

__all__ = ["Constrained", "Fit", "lawson", "low_rank", "orthogonal"]

_FLOOR = 1e-6
_STALE = 15
"""Steps without progress after which the interval is taken as it is."""
_PROGRESS = 1e-3


class Fit(NamedTuple):
    """The best map of a group for given weights."""

    matrix: Floats
    """Shape (p, d), for centred rows on either side."""
    image: Floats
    """Where the centre of the source goes, shape (d,)."""
    least: float
    """The weighted mean of the squared errors: no map of the group has a smaller one."""


class Constrained(NamedTuple):
    """A map of the group and the interval of the optimum."""

    matrix: Floats
    """Shape (p, d)."""
    image: Floats
    """Shape (d,)."""
    lower: float
    """Proven."""
    errors: Floats
    """l2 error of every row, shape (n,)."""
    steps: int
    """Weighted fits."""
    rounding: float
    """Errors up to this cannot be told from 0."""


def orthogonal(target: Floats, source: Floats) -> Callable[[Floats], Fit]:
    """Weighted Procrustes: best map with orthonormal rows (distances kept), and any offset.

    Parameters
    ----------
    target
        Centred, shape (n, d).
    source
        Centred, shape (n, p), p <= d.
    """

    def fit(w: Floats) -> Fit:
        there, here = w @ target, w @ source
        cross = _product(source, target, w) - np.outer(here, there)
        u, s, vt = np.linalg.svd(cross, full_matrices=False)
        matrix = u @ vt
        energy = sum(
            float(w @ np.einsum("ij,ij->i", rows, rows)) - float(mean @ mean)
            for rows, mean in ((target, there), (source, here))
        )
        return Fit(matrix, there - here @ matrix, energy - 2.0 * float(s.sum()))

    return fit


def low_rank(target: Floats, basis: Basis, rank: int) -> Callable[[Floats], Fit]:
    """Weighted reduced-rank regression: best affine map whose linear part has at most this rank.

    Parameters
    ----------
    target
        Centred, shape (n, d).
    basis
        Of the source.
    rank
        Most rank of the linear part.
    """
    q = basis.q[:, :-1]

    def fit(w: Floats) -> Fit:
        there, here = w @ target, w @ q
        factor = np.linalg.cholesky(_product(q, q, w) - np.outer(here, here))
        cross = _product(q, target, w) - np.outer(here, there)
        white = scipy.linalg.solve_triangular(factor, cross, lower=True)
        u, s, vt = np.linalg.svd(white, full_matrices=False)
        kept = (u[:, :rank] * s[:rank]) @ vt[:rank]
        coefficients = scipy.linalg.solve_triangular(factor, kept, lower=True, trans="T")
        energy = float(w @ np.einsum("ij,ij->i", target, target)) - float(there @ there)
        return Fit(
            basis.back @ coefficients,
            there - here @ coefficients,
            energy - float(s[:rank] @ s[:rank]),
        )

    return fit


def lawson(
    target: Floats,
    source: Floats,
    fit: Callable[[Floats], Fit],
    start: Floats,
    *,
    gap: float,
    limit: int,
    progress: Progress | None = None,
) -> Constrained:
    """Reweight rows by their squared errors, and keep the best of either end.

    Parameters
    ----------
    target, source
        Centred, shapes (n, d) and (n, p).
    fit
        Best map for given weights.
    start
        Weights to begin with, sum 1.
    gap
        Relative gap at which to stop; else when neither end moves, or at ``limit`` steps.
    limit
        Most steps.
    progress
        Called as (what, steps done, limit).
    """
    n = len(target)
    farthest = max(float(np.einsum("ij,ij->i", rows, rows).max()) for rows in (target, source))
    rounding = np.finfo(float).eps * (target.shape[1] + source.shape[1] + 2) * farthest
    # Equal weights first: no worse than the plain fit.
    best = fit(np.full(n, 1.0 / n))
    errors = _errors(target, source, best)
    lower = float(max(best.least - rounding, 0.0)) ** 0.5
    upper = float(errors.max()) ** 0.5
    ends = [(lower, upper)]
    v = np.maximum(start, TINY)
    plain: Multiplication | None = None
    while len(ends) < limit:
        if upper <= lower * (1.0 + gap) + rounding**0.5 or _stale(ends):
            break
        found = fit((1.0 - _FLOOR) * v + _FLOOR / n)
        made = _errors(target, source, found)
        lower = max(lower, float(max(found.least - rounding, 0.0)) ** 0.5)
        if float(made.max()) ** 0.5 < upper:
            upper, best, errors = float(made.max()) ** 0.5, found, made
        ends.append((lower, upper))
        if progress is not None:
            progress(f"gap {upper / max(lower, 1e-9 * upper) - 1.0:.1%}", len(ends), limit)
        plain = plain or Multiplication(v, made)
        v = plain.step(v, made)
    return Constrained(best.matrix, best.image, lower, np.sqrt(errors), len(ends), rounding**0.5)


def _stale(ends: list[tuple[float, float]]) -> bool:
    if len(ends) <= _STALE:
        return False
    (low, high), (lower, upper) = ends[-_STALE - 1], ends[-1]
    return lower <= low * (1.0 + _PROGRESS) and upper >= high * (1.0 - _PROGRESS)


def _product(a: Floats, b: Floats, w: Floats) -> Floats:
    """``a^T diag(w) b``, a block of rows at a time."""
    found = np.zeros((a.shape[1], b.shape[1]))
    for block in blocks(len(a)):
        found += a[block].T @ (w[block, None] * b[block])
    return found


def _errors(target: Floats, source: Floats, found: Fit) -> Floats:
    errors = np.empty(len(target))
    for block in blocks(len(target)):
        rest = target[block] - found.image - source[block] @ found.matrix
        errors[block] = np.einsum("ij,ij->i", rest, rest)
    return errors
