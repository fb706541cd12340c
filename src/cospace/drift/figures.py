"""The figures of one site: arrays in, numbers beside their yardsticks out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cospace._arrays import double, to_numpy
from cospace.drift.result import Figure
from cospace.errors import UndefinedMeasureError
from cospace.linalg import norm, singular_values, thin_svd
from cospace.measures import debiased_cka
from cospace.measures.held_out import Folds, heldout_r2_of
from cospace.space import Space
from cospace.stats import Permutations, Weights
from cospace.summaries import Factor, Neighbors, Overlap

__all__ = ["Figures", "figures_of"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures of one site, and the same by text where they are sums over texts."""

    figures: dict[str, Figure]
    """By name, as in ``SiteDrift``."""
    errors: Floats | None
    """``||a_i - b_i|| / ||a_i||``, shape (n,)."""
    residuals: Floats | None
    """The same of centred rows after the best rotation and scale, shape (n,)."""
    kept: Floats | None
    """Share of neighbours kept, shape (n,)."""
    identical: bool
    """Whether all rows are the same to the last bit."""


class _Residual(NamedTuple):
    total: float
    by_text: Floats


def figures_of(
    before: Space, after: Space, *, k: int, shuffles: Permutations, weights: Weights
) -> Figures:
    """Compute all figures of a site; the rows of the two spaces are matched already."""
    a, b = (np.asarray(to_numpy(double(space.rows))) for space in (before, after))
    figures: dict[str, Figure] = {}
    errors = _errors(a, b, figures, shuffles, weights)
    kept = _retention(a, b, figures, k)
    residuals = None
    try:
        source, target = Factor.of(a), Factor.of(b)
    except UndefinedMeasureError as error:
        nothing = Figure(None, reason=str(error))
        figures |= dict.fromkeys(("residual", "r2_forward", "r2_back", "cka"), nothing)
    else:
        residuals = _residuals(source, target, figures, shuffles)
        # Coordinates in the principal axes hold all that rotations leave alone, in less width.
        x, y = source.u * source.s, target.u * target.s
        _predictions(x, y, figures, shuffles)
        try:
            figures["cka"] = Figure(debiased_cka(x, y), unchanged=1.0, chance=0.0)
        except UndefinedMeasureError as error:
            figures["cka"] = Figure(None, reason=str(error))
    return Figures(figures, errors, residuals, kept, bool(np.array_equal(a, b)))


def _interval(means: Floats) -> tuple[float, float]:
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _errors(
    a: Floats, b: Floats, figures: dict[str, Figure], shuffles: Permutations, weights: Weights
) -> Floats | None:
    size = np.linalg.norm(a, axis=1)
    reason = None
    if a.shape[1] != b.shape[1]:
        reason = f"Widths {a.shape[1]} and {b.shape[1]} differ: there are no common coordinates."
    elif not size.any():
        reason = "All rows before are zero: an error relative to them has no meaning."
    if reason is not None:
        figures["error"] = figures["text_error"] = Figure(None, reason=reason)
        return None
    n = len(a)
    gap, total = np.linalg.norm(a - b, axis=1), float(size @ size)
    common = n * float(a.mean(axis=0) @ b.mean(axis=0))
    samples = np.sqrt((weights.counts @ gap**2) / np.maximum(weights.counts @ size**2, 1e-300))
    low, high = _interval(samples)
    figures["error"] = Figure(
        float(np.sqrt(gap @ gap / total)),
        unchanged=0.0,
        # The mean of ||A - P B||^2 over all permutations P.
        chance=float(np.sqrt(max(total + norm(b) ** 2 - 2 * common, 0.0) / total)),
        low=low,
        high=high,
    )
    if not size.all():
        row = int(np.flatnonzero(size == 0)[0])
        figures["text_error"] = Figure(
            None, reason=f"Row {row} before is zero: an error relative to it has no meaning."
        )
        return None
    errors = gap / size
    low, high = _interval(weights.counts @ errors / n)
    figures["text_error"] = Figure(
        float(errors.mean()),
        unchanged=0.0,
        chance=float(
            np.mean([np.mean(np.linalg.norm(a - b[o], axis=1) / size) for o in shuffles.orders])
        ),
        low=low,
        high=high,
    )
    return np.asarray(errors)


def _residuals(
    source: Factor, target: Factor, figures: dict[str, Figure], shuffles: Permutations
) -> Floats:
    found = _aligned(source, target)
    size = norm(source.s) * norm(target.s)
    draws = [
        1.0 - (float(np.sum(singular_values(Overlap.of(source, moved).weighted_core))) / size) ** 2
        for moved in (target.permuted(order) for order in shuffles.orders)
    ]
    chance = float(np.mean(np.sqrt(np.clip(draws, 0.0, None))))
    figures["residual"] = Figure(found.total, unchanged=0.0, chance=chance)
    return found.by_text


def _aligned(source: Factor, target: Factor) -> _Residual:
    """Distances that the best rotation and scale leave, relative to the centred rows before.

    In the principal axes of both, the narrower padded with zeros, X^T Y = P D R^T; the rotated rows
    are compared as X P and s Y R with s = trace D / ||Y||^2.
    """
    width = max(len(source.s), len(target.s))
    x, y = (_padded(f.u * f.s, width) for f in (source, target))
    p, d, r = thin_svd(x.T @ y)
    scale = float(d.sum()) / float(target.s @ target.s)
    square = np.sum((x @ p - scale * (y @ r)) ** 2, axis=1)
    size = np.sum(x**2, axis=1)
    # A text at the centre has no length of its own to be measured by: the mean length stands in.
    least = 1e-12 * float(size.mean())
    by_text = np.sqrt(square / np.where(size > least, size, size.mean()))
    return _Residual(float(np.sqrt(square.sum() / size.sum())), by_text)


def _padded(x: Floats, width: int) -> Floats:
    return np.pad(x, ((0, 0), (0, width - x.shape[1])))


def _predictions(x: Floats, y: Floats, figures: dict[str, Figure], shuffles: Permutations) -> None:
    try:
        folds = Folds(x), Folds(y)
    except UndefinedMeasureError as error:
        figures["r2_forward"] = figures["r2_back"] = Figure(None, reason=str(error))
        return
    for name, source, target in (("r2_forward", *folds), ("r2_back", *folds[::-1])):
        draws = [heldout_r2_of(source, target.permuted(order)) for order in shuffles.orders]
        figures[name] = Figure(
            heldout_r2_of(source, target),
            unchanged=heldout_r2_of(source, source),
            chance=float(np.mean(draws)),
        )


def _retention(a: Floats, b: Floats, figures: dict[str, Figure], k: int) -> Floats | None:
    try:
        x, y = Neighbors.of(a, k).index, Neighbors.of(b, k).index
    except UndefinedMeasureError as error:
        figures["retention"] = Figure(None, reason=str(error))
        return None
    n = len(a)
    base = np.arange(n)[:, None] * n
    both = np.intersect1d(x + base, y + base, assume_unique=True)
    kept = np.bincount(both // n, minlength=n) / k
    # No interval: one text more changes the neighbours of many, so texts do not vary one by one.
    figures["retention"] = Figure(float(kept.mean()), unchanged=1.0, chance=k / (n - 1))
    return np.asarray(kept)
