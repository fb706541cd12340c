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

from cospace.homotopy.basis import Floats, blocks
from cospace.homotopy.minmax import Progress
from cospace.homotopy.multiplication import TINY, Multiplication

__all__ = ["Constrained", "Fit", "Maps", "lawson", "low_rank", "orthogonal"]

_FLOOR = 1e-6
_STALE = 15
"""Steps without progress after which the interval is taken as it is."""
_PROGRESS = 1e-3
_SOFT, _SHARP = 0.1, 1e-4
"""Width of the band of squared errors that counts as near the maximum: at first, and at last."""
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.003)
_DESCENTS = 60


class Maps(NamedTuple):
    """A group of maps, as far as a fit needs to know it."""

    fit: Callable[[Floats], Fit]
    """The best map for given weights."""
    nearest: Callable[[Floats], Floats]
    """The matrix of the group that is nearest to a matrix."""


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


def orthogonal(target: Floats, source: Floats) -> Maps:
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

    def nearest(matrix: Floats) -> Floats:
        u, _, vt = np.linalg.svd(matrix, full_matrices=False)
        found: Floats = u @ vt
        return found

    return Maps(fit, nearest)


def low_rank(target: Floats, q: Floats, rank: int) -> Maps:
    """Weighted reduced-rank regression: best affine map whose linear part has at most this rank.

    Parameters
    ----------
    target
        Centred, shape (n, d).
    q
        Orthonormal basis of the centred source, shape (n, r); maps are of its coordinates, in which no
        direction is blown up.
    rank
        Most rank of the linear part.
    """

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
            coefficients,
            there - here @ coefficients,
            energy - float(s[:rank] @ s[:rank]),
        )

    def nearest(matrix: Floats) -> Floats:
        u, s, vt = np.linalg.svd(matrix, full_matrices=False)
        found: Floats = (u[:, :rank] * s[:rank]) @ vt[:rank]
        return found

    return Maps(fit, nearest)


def lawson(
    target: Floats,
    source: Floats,
    maps: Maps,
    start: Floats,
    *,
    gap: float,
    limit: int,
    progress: Progress | None = None,
) -> Constrained:
    """Reweight rows by their squared errors, keep the best of either end, and descend from the map.

    Parameters
    ----------
    target, source
        Centred, shapes (n, d) and (n, p).
    maps
        The group.
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
    best = maps.fit(np.full(n, 1.0 / n))
    errors = _errors(target, source, best)
    lower = float(max(best.least - rounding, 0.0)) ** 0.5
    upper = float(errors.max()) ** 0.5
    ends = [(lower, upper)]
    v = np.maximum(start, TINY)
    plain: Multiplication | None = None
    while len(ends) < limit:
        if upper <= lower * (1.0 + gap) + rounding**0.5 or _stale(ends):
            break
        found = maps.fit((1.0 - _FLOOR) * v + _FLOOR / n)
        made = _errors(target, source, found)
        lower = max(lower, float(max(found.least - rounding, 0.0)) ** 0.5)
        if float(made.max()) ** 0.5 < upper:
            upper, best, errors = float(made.max()) ** 0.5, found, made
        ends.append((lower, upper))
        if progress is not None:
            progress(f"gap {upper / max(lower, 1e-9 * upper) - 1.0:.1%}", len(ends), limit)
        plain = plain or Multiplication(v, made)
        v = plain.step(v, made)
    aim = lower * (1.0 + gap) + rounding**0.5
    best, errors, more = _descend(target, source, maps, best, errors, aim)
    return Constrained(
        best.matrix, best.image, lower, np.sqrt(errors), len(ends) + more, rounding**0.5
    )


def _descend(
    target: Floats, source: Floats, maps: Maps, best: Fit, errors: Floats, aim: float
) -> tuple[Fit, Floats, int]:
    """Lower the largest error by short steps towards the best map for the rows near the maximum.

    Where no single map is best for the worst weights, reweighting jumps between maps; on the way from
    one to the other there is a better one than either.
    """
    sharpness, steps = _SOFT, 0
    while float(errors.max()) ** 0.5 > aim and sharpness > _SHARP and steps < _DESCENTS:
        top = float(errors.max())
        w = np.exp((errors - top) / (sharpness * top))
        way = maps.fit(0.999 * w / w.sum() + 0.001 / len(w))
        steps += 1
        for share in _SHARES:
            tried = Fit(
                maps.nearest(best.matrix + share * (way.matrix - best.matrix)),
                best.image + share * (way.image - best.image),
                best.least,
            )
            made = _errors(target, source, tried)
            if float(made.max()) < top * (1.0 - 1e-6):
                best, errors = tried, made
                break
        else:
            sharpness /= 2.0
    return best, errors, steps


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
