"""Direction of a logistic probe: its coordinates and penalty chosen on pairs, told on others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from cospace.errors import InputError
from cospace.probes.axes import Axes, default_width
from cospace.probes.logistic import Fit, fit_logistic
from cospace.probes.penalty import FOLDS, RIDGES
from cospace.steering.vector import Floats

__all__ = ["HeldOut", "Probed", "probe_direction"]

WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0, np.inf)
"""Numbers of principal components that are tried, over a tenth of the texts; the last is all."""
BLOCKS = 5
"""Parts of the pairs; all but the first are told by a probe of those before."""
_PATIENCE = 2
_STEPS = 300
_SEED = 0

Whole = npt.NDArray[np.int64]


class HeldOut(NamedTuple):
    """Order of pairs under directions that were found on other pairs alone."""

    separation: float
    """Share of the pairs in the right order."""
    n: int
    """Number of pairs that were held out; those of one question count as one."""
    p: float
    """Probability of so many, or more, where the order of each is a coin flip."""


class Probed(NamedTuple):
    """Weights of a probe, and what they rest on."""

    vector: Floats
    """Shape (width,), from the second kind to the first; of no particular length."""
    components: int
    """Number of principal components that it reads."""
    ridge: float
    """Penalty, on components of variance 1."""
    held_out: HeldOut | None
    """What the same procedure does to pairs that it did not see; None with too few to hold any
    out."""


def probe_direction(
    positive: Floats, negative: Floats, groups: Sequence[str] | None = None
) -> Probed:
    """Weights of a logistic probe on leading principal components of variance 1.

    How many components, and which penalty, is decided by log loss on five inner folds, groups
    whole, axes fitted anew in each. As many components as a tenth of the texts are read, unless
    another number's loss is lower by more than one standard error.

    Held out: pairs in a random order, in five parts; each part but the first is put in order by the
    whole procedure on the parts before. Where it is a coin flip which text of a pair is of which
    kind, so is each order given the earlier ones: the binomial p is exact.

    Parameters
    ----------
    positive, negative
        States, shapes (n, width) and (m, width).
    groups
        What row i of both belongs to, such as its pair or question; by default nothing, and random
        partners are compared.

    Raises
    ------
    InputError
        For fewer than five groups, or five texts of a kind.
    """
    rng = np.random.default_rng(_SEED)
    if groups is None:
        first, second = (rng.permutation(len(x)) for x in (positive, negative))
        positive, negative = positive[first], negative[second]
        own = np.arange(max(len(positive), len(negative)))
        both = np.concatenate([own[: len(positive)], own[: len(negative)]])
        most = min(len(positive), len(negative))
    else:
        own = np.unique(np.asarray(groups), return_inverse=True)[1]
        both = np.concatenate([own, own])
        most = int(own.max()) + 1
    if most < FOLDS:
        raise InputError(
            f"A probe was asked for with {most} pairs, questions, or texts of a kind: at least {FOLDS} are needed; "
            "give more, or use mean_difference."
        )
    rows = np.vstack([positive, negative])
    kinds = np.repeat([0, 1], [len(positive), len(negative)])
    vector, components, ridge = _fit(rows, kinds, both, paired=groups is not None)
    held = _held_out(rows, kinds, both, most, paired=groups is not None)
    return Probed(vector, components, ridge, held)


def _held_out(
    rows: Floats, kinds: Whole, groups: Whole, most: int, *, paired: bool
) -> HeldOut | None:
    """Groups in a random order, each told by those before; what has no partner is only fitted on."""
    order = np.random.default_rng(_SEED).permutation(most)
    first = max(most // BLOCKS, FOLDS)
    bounds = np.unique(np.linspace(first, most, BLOCKS).round().astype(int))
    right = 0
    for start, stop in pairwise(bounds):
        unseen = np.isin(groups, order[start:])
        direction, *_ = _fit(rows[~unseen], kinds[~unseen], groups[~unseen], paired=paired)
        for group in order[start:stop]:
            here = rows[groups == group] @ direction
            own = kinds[groups == group]
            right += bool(here[own == 0].mean() > here[own == 1].mean())
    n = most - first
    if not n:
        return None
    return HeldOut(right / n, n, float(binomtest(right, n, alternative="greater").pvalue))


def _fit(rows: Floats, kinds: Whole, groups: Whole, *, paired: bool) -> tuple[Floats, int, float]:
    """Weights on raw coordinates, with the number of components and the penalty of least loss."""
    wanted = np.eye(2)[kinds]
    components, ridge = _choose(rows, wanted, _folds(kinds, groups, paired=paired))
    axes = Axes.fit(rows, components, name="the states", at_most=True)
    fit = fit_logistic(axes.standardised(rows), wanted, ridge)
    weight = axes.raw(fit.weight, fit.offset, ("positive", "negative")).weight
    return np.asarray(weight[0] - weight[1]), axes.width, ridge


def _folds(kinds: Whole, groups: Whole, *, paired: bool) -> Whole:
    """Fold of every row: whole groups where there are any, else rows of each kind, dealt out."""
    rng = np.random.default_rng(_SEED)
    fold = np.empty(len(kinds), np.int64)
    if paired:
        names, own = np.unique(groups, return_inverse=True)
        return np.asarray((rng.permutation(len(names)) % FOLDS)[own])
    for kind in (0, 1):
        here = np.flatnonzero(kinds == kind)
        fold[here] = rng.permutation(len(here)) % FOLDS
    return fold


def _choose(rows: Floats, wanted: Floats, folds: Whole) -> tuple[int, float]:
    """Components and penalty by loss on unseen folds, the usual number where that is as good."""
    usual = default_width(len(rows))
    parts = []
    for fold in range(FOLDS):
        out = folds == fold
        axes = Axes.fit(rows[~out], name="the states")
        parts.append((out, axes.standardised(rows[~out]), axes.standardised(rows[out])))
    cap = min(seen.shape[1] for _, seen, _ in parts)
    widths = sorted({int(min(max(usual * share, 1), cap)) for share in WIDTHS})
    found = {width: _path(parts, wanted, width) for width in widths}
    width = min(found, key=lambda one: float(found[one][1].mean()))
    more = found[min(usual, cap)][1] - found[width][1]
    if more.mean() <= more.std(ddof=1) / np.sqrt(len(more)):
        width = min(usual, cap)
    return width, found[width][0]


def _path(
    parts: list[tuple[npt.NDArray[np.bool_], Floats, Floats]], wanted: Floats, width: int
) -> tuple[float, Floats]:
    """Penalty of least loss, tried from the largest down, and the loss of every row there."""
    starts: list[Fit | None] = [None] * len(parts)
    best: tuple[float, Floats] | None = None
    since = 0
    for ridge in RIDGES:
        losses = np.empty(len(wanted))
        for i, (out, seen, unseen) in enumerate(parts):
            fit = fit_logistic(seen[:, :width], wanted[~out], ridge, start=starts[i], steps=_STEPS)
            starts[i] = fit
            logits = unseen[:, :width] @ fit.weight.T + fit.offset
            losses[out] = np.logaddexp(*logits.T) - np.sum(wanted[out] * logits, axis=1)
        if best is None or losses.mean() < best[1].mean():
            best, since = (ridge, losses), 0
        else:
            since += 1
        if since == _PATIENCE:
            break
    assert best is not None  # noqa: S101  there are penalties to try
    return best
