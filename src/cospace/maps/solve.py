"""The fits: from rows of a source and a target to an affine map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, UndefinedMeasureError
from cospace.linalg import RTOL, SVD, mean_row, numerical_rank, thin_svd
from cospace.maps.affine import AffineMap, Floats
from cospace.maps.folds import fold_numbers

__all__ = ["METHODS", "PENALTIES", "Choice", "Method", "PenaltyPoint", "Solution", "solve"]

Method = Literal["least_squares", "affine", "ridge", "orthogonal", "low_rank"]
METHODS: tuple[Method, ...] = ("least_squares", "affine", "ridge", "orthogonal", "low_rank")
EXACT = ("least_squares", "affine", "low_rank")
"""Fits that nothing but the rows holds back."""

PENALTIES: tuple[float, ...] = tuple(
    float(f"{10.0 ** (half / 2):.6g}") for half in range(2, -21, -1)
)
"""Ridge penalties that are tried, relative to the largest squared singular value of the source."""


@dataclass(frozen=True)
class PenaltyPoint:
    """One ridge penalty and what it costs on inner folds."""

    penalty: float
    """Relative to the largest squared singular value of the source."""
    r2: float
    """Share of the target's variance explained on rows that the fit did not see."""


@dataclass(frozen=True)
class Choice:
    """What is asked for of a fit, apart from its rows."""

    method: Method
    """Which fit."""
    offset: bool
    """Whether the map has an offset: then both sides are centred."""
    penalty: float | None = None
    """Ridge penalty, None to choose it."""
    rank: int | None = None
    """Rank of a low-rank map."""
    folds: int = 5
    """Most inner folds that a penalty is chosen on; fewer for fewer than 10 rows or 5 groups."""
    rtol: float = RTOL
    """Rank tolerance."""


class Solution(NamedTuple):
    """A fitted map, and how well the source determined it."""

    affine: AffineMap
    """The map."""
    rank: int
    """Rank of the map's linear part."""
    source_rank: int
    """Directions of the source above the rank tolerance."""
    condition: float
    """Largest over smallest singular value among them."""
    penalty: float | None
    """Ridge penalty that was used."""
    tried: tuple[PenaltyPoint, ...]
    """What the inner folds said."""


def solve(x: Floats, y: Floats, choice: Choice, groups: tuple[str, ...] | None = None) -> Solution:
    """Fit one map; x of shape (n, p), y of shape (n, d), both float64.

    With the SVD ``U diag(s) V^T`` of x and ``Z = U^T y``, both centred where the map has an
    offset: least squares is ``V diag(1/s) Z``, ridge ``V diag(s / (s^2 + lambda)) Z``, low rank
    takes the leading singular directions of Z first, and orthogonal is the polar factor
    ``P Q^T`` of ``x^T y = P D Q^T``. The cost is n p min(n, p) + n p d.

    Raises
    ------
    UndefinedMeasureError
        When the source says nothing, or leaves no row over for an unregularised fit.
    InputError
        For a rank above what can be had.
    """
    p, d = x.shape[1], y.shape[1]
    center = mean_row(x) if choice.offset else np.zeros(p)
    image = mean_row(y) if choice.offset else np.zeros(d)
    factor = thin_svd(x - center)
    r = numerical_rank(factor.s, choice.rtol)
    if r == 0:
        same = "are the same" if choice.offset else "are zero"
        raise UndefinedMeasureError(
            f"All rows of the source {same}: nothing can be mapped from them."
        )
    if choice.method in EXACT and len(x) <= r + 1:
        raise UndefinedMeasureError(
            f"{len(x)} rows of rank {r} fit any target exactly: method={choice.method!r} needs more than {r + 1} rows. "
            "Use more rows, fewer principal components (Space.reduce), or method='ridge'."
        )
    u, s, v = (np.asarray(part)[..., :r] for part in factor)
    z = u.T @ (y - image)
    penalty = choice.penalty
    tried: tuple[PenaltyPoint, ...] = ()
    rank = r
    if choice.method == "orthogonal":
        left, strength, right = thin_svd(s[:, None] * z)
        rank = numerical_rank(strength, choice.rtol)
        matrix = (v @ left[:, :rank]) @ right[:, :rank].T
    elif choice.method == "ridge":
        if penalty is None:
            tried = _cross_validated(SVD(u, s, v), y, choice, groups)
            penalty = max(tried, key=lambda point: (point.r2, point.penalty)).penalty
        matrix = v @ ((s / (s**2 + penalty * s[0] ** 2))[:, None] * z)
    else:
        if choice.method == "low_rank":
            z = _truncated(z, choice.rank)
        matrix = v @ (z / s[:, None])
    if choice.method != "orthogonal":
        rank = numerical_rank(thin_svd(z).s, choice.rtol)
    return Solution(
        AffineMap(np.ascontiguousarray(matrix), center, image),
        rank,
        r,
        float(s[0] / s[-1]),
        penalty,
        tried,
    )


def _truncated(z: Floats, rank: int | None) -> Floats:
    most = min(z.shape)
    if rank is None or not 0 < rank <= most:
        raise InputError(
            f"rank={rank} was asked for of a low-rank map; a whole number from 1 to {most} is needed here (the rank "
            "of the source and the width of the target bound it)."
        )
    left, strength, right = thin_svd(z)
    return np.asarray((left[:, :rank] * strength[:rank]) @ right[:, :rank].T)


def _cross_validated(
    source: SVD, y: Floats, choice: Choice, groups: tuple[str, ...] | None
) -> tuple[PenaltyPoint, ...]:
    """R2 of every penalty on inner folds, in the coordinates of the source's own directions.

    In these the held-out loss is a quadratic form of the shrinkage, so that a penalty costs r^2.
    """
    x = np.asarray(source.u * source.s)
    most = len(x) // 2 if groups is None else min(len(x) // 2, len(set(groups)))
    folds = min(choice.folds, most)
    if folds < 2 and groups is not None:
        raise UndefinedMeasureError(
            "All rows of the fit are in one group: no other is left to choose a ridge penalty on; give penalty=."
        )
    fold = fold_numbers(len(x), groups, folds)
    weights = np.asarray(PENALTIES)
    lost, total = np.zeros(len(weights)), 0.0
    for number in range(folds):
        out = fold == number
        loss, whole = _losses(x, y, out, weights, offset=choice.offset)
        lost, total = lost + loss, total + whole
    if total == 0.0:
        raise UndefinedMeasureError(
            "All rows of the target are the same: there is nothing to map to."
        )
    return tuple(
        PenaltyPoint(p, float(1.0 - loss / total)) for p, loss in zip(PENALTIES, lost, strict=True)
    )


def _losses(
    x: Floats, y: Floats, out: npt.NDArray[np.bool_], penalties: Floats, *, offset: bool
) -> tuple[Floats, float]:
    """Squared error of every penalty on the rows ``out``, and their own about the mean."""
    own = mean_row(y[~out])
    center, image = (mean_row(x[~out]), own) if offset else (np.zeros(x.shape[1]), 0.0 * own)
    seen, new = x[~out] - center, x[out] - center
    wanted = y[out] - image
    whole = float(np.sum((y[out] - own) ** 2))
    values, vectors = np.linalg.eigh(seen.T @ seen)
    s = np.sqrt(np.clip(values[::-1], 0.0, None))
    r = numerical_rank(s, RTOL)
    s, axes = s[:r], vectors[:, ::-1][:, :r]
    z = axes.T @ (seen.T @ (y[~out] - image))
    new = new @ axes
    cross = np.sum((new.T @ wanted) * z, axis=1)
    square = (new.T @ new) * (z @ z.T)
    shrink = 1.0 / (s**2 + penalties[:, None] * s[:1] ** 2)
    loss = np.sum(wanted**2) - 2.0 * shrink @ cross + np.sum((shrink @ square) * shrink, axis=1)
    return np.asarray(loss), whole
