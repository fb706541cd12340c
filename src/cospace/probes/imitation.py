"""The best affine-softmax imitation of given probabilities from a source, in the largest row error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from cospace.errors import UndefinedMeasureError
from cospace.probes.axes import Axes
from cospace.probes.classifier import Classifier, Matrix, softmax
from cospace.probes.logistic import Fit, fit_logistic
from cospace.probes.probe import axes_of

__all__ = ["Attempt", "Imitation", "Source", "constant_error", "imitate", "likeliest", "row_errors"]

_SHARPNESS = (8.0, 32.0, 128.0, 512.0, 2048.0)
_QUICK = (32.0, 256.0, 2048.0)
_RIDGE = 1e-8
_FLOOR = 1e-12
_EXACT = 1e-13

Effort = Literal["full", "quick", "warm"]
"""``full``: two candidates are tuned. ``quick``: the best of all is tuned, less long. ``warm``: the
start is the only candidate beside the composed one, and is tuned less long."""


def row_errors(probabilities: Matrix, wanted: Matrix) -> Matrix:
    """Euclidean distance of the probabilities in every row, shape (n,)."""
    return np.asarray(np.linalg.norm(probabilities - wanted, axis=1))


@dataclass(frozen=True)
class Attempt:
    """One candidate of an imitation and how far from the target it stays."""

    origin: str
    """``constant``, ``cross_entropy``, ``logits``, ``composed``, ``given``; ``+ max`` once tuned."""
    sup: float
    """Largest row error on the rows of the fit."""


@dataclass(frozen=True, eq=False)
class Imitation:
    """The best of all candidates."""

    classifier: Classifier
    """On raw rows of the source."""
    sup: float
    """Largest row error on the rows of the fit: an upper bound of the infimum over imitations."""
    origin: str
    """Which candidate it is."""
    attempts: tuple[Attempt, ...]
    """All candidates, in order."""
    weight: Matrix
    """Weight on the standardised coordinates of the source, shape (C, k)."""
    offset: Matrix
    """Offset there, shape (C,)."""


@dataclass(frozen=True, eq=False)
class Source:
    """Fitting rows of a source on axes of unit variance: prepared once, imitated from often."""

    rows: Matrix
    """Raw rows, shape (n, p)."""
    axes: Axes
    """Their principal axes."""
    design: Matrix
    """Their standardised coordinates, shape (n, k)."""

    @classmethod
    def of(cls, rows: Matrix, width: int | None = None, *, name: str = "source") -> Source:
        """Prepare rows; by default on as many axes as a tenth of the rows, at most their rank.

        Raises
        ------
        UndefinedMeasureError
            When n <= width + 1: an imitation would pass through every row whatever the target.
        """
        axes = axes_of(rows, width, name=name)
        if len(rows) <= axes.width + 1:
            raise UndefinedMeasureError(
                f"{name} has {len(rows)} training rows on {axes.width} coordinates: an imitation passes through every "
                f"row whatever the target; more than {axes.width + 1} rows are needed: give more, or a smaller width."
            )
        return cls(rows, axes, axes.standardised(rows))


def imitate(
    source: Source,
    wanted: Matrix,
    classes: tuple[str, ...],
    *,
    logits: Matrix | None = None,
    composed: Classifier | None = None,
    start: Imitation | None = None,
    effort: Effort = "full",
) -> Imitation:
    """Minimise ``max_i ||softmax(W z_i + b) - wanted_i||_2`` over W and b.

    Candidates: the best constant, the cross-entropy fit to the soft labels, the least-squares fit
    to the logits, the composed classifier, and a start. The best two are tuned: the maximum is
    replaced by a log-sum-exp over the squared row errors that grows sharper in five steps, each
    minimised by L-BFGS, and the best point met on the way is kept. The problem is not convex, so
    the value is an upper bound of the infimum. For two classes it is quasi-convex, and on random
    cases the value lies within 0.1 % of the exact one.

    Parameters
    ----------
    source
        The rows, prepared.
    wanted
        Probabilities of the target, shape (n, C).
    classes
        Their names.
    logits
        Logits of the target, shape (n, C): their least-squares fit is then a candidate.
    composed
        A classifier of raw source rows: the target's after an affine map.
    start
        An earlier imitation from the same source.
    effort
        How much is tried, see :data:`Effort`.

    Returns
    -------
    Imitation
        Its ``sup`` never exceeds that of any candidate. Cost about 500 steps of 8 n k C.
    """
    design = source.design
    k, count = design.shape[1], wanted.shape[1]
    found: list[tuple[Attempt, Matrix]] = []

    def add(origin: str, weight: Matrix, offset: Matrix) -> None:
        point = np.column_stack([weight, offset])
        found.append((Attempt(origin, _sup(point, design, wanted)), point))

    if start is not None:
        add("given", start.weight, start.offset)
    if effort != "warm" or start is None:
        add("constant", np.zeros((count, k)), _constant(wanted))
        soft = _soft_fit(design, wanted)
        add("cross_entropy", soft.weight, soft.offset)
        if logits is not None:
            own = logits - logits.mean(axis=1, keepdims=True)
            # the coordinates are centred and uncorrelated with variance 1
            add("logits", own.T @ design / len(design), own.mean(axis=0))
    whole: list[tuple[Attempt, Classifier]] = []
    if composed is not None:
        add("composed", *source.axes.inside(composed))
        errors = row_errors(composed.probabilities(source.rows), wanted)
        whole.append((Attempt("composed, all coordinates", float(errors.max())), composed))
    sharpness, steps, tuned = (_SHARPNESS, 100, 2) if effort == "full" else (_QUICK, 40, 1)
    for attempt, point in sorted(found, key=lambda item: item[0].sup)[:tuned]:
        better = _tune(point, design, wanted, sharpness, steps)
        found.append((Attempt(f"{attempt.origin} + max", _sup(better, design, wanted)), better))
    attempt, point = min(found, key=lambda item: item[0].sup)
    weight, offset = point[:, :k], point[:, k]
    classifier = source.axes.raw(weight, offset, classes)
    # composing the axes back costs a rounding: the value is that of the classifier handed out
    sup = float(row_errors(classifier.probabilities(source.rows), wanted).max())
    origin = attempt.origin
    if whole and whole[0][0].sup < sup:
        given, classifier = whole[0]
        origin, sup = given.origin, given.sup
    return Imitation(
        classifier=classifier,
        sup=sup,
        origin=origin,
        attempts=tuple(item[0] for item in (*found, *whole)),
        weight=weight,
        offset=offset,
    )


def likeliest(source: Source, wanted: Matrix, classes: tuple[str, ...]) -> Classifier:
    """The cross-entropy fit to the soft labels ``wanted``: the best over all rows together."""
    fit = _soft_fit(source.design, wanted)
    return source.axes.raw(fit.weight, fit.offset, classes)


def _soft_fit(design: Matrix, wanted: Matrix) -> Fit:
    return fit_logistic(design, wanted, _RIDGE, steps=200)


def constant_error(wanted: Matrix) -> float:
    """Largest row error of the best constant probabilities: what needs no source at all."""
    return float(row_errors(softmax(_constant(wanted)[None, :]), wanted).max())


def _constant(wanted: Matrix) -> Matrix:
    """Logits of the best constant probabilities, never worse than the uniform ones."""
    empty = np.zeros((len(wanted), 0))
    flat = np.zeros((wanted.shape[1], 1))
    mean = np.log(np.maximum(wanted.mean(axis=0), _FLOOR))[:, None]
    start = min((flat, mean), key=lambda point: _sup(point, empty, wanted))
    return _tune(start, empty, wanted, _SHARPNESS, 100)[:, 0]


def _sup(point: Matrix, design: Matrix, wanted: Matrix) -> float:
    return float(np.sqrt(_squares(point, design, wanted)[0].max()))


def _squares(point: Matrix, design: Matrix, wanted: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Squared row errors, probabilities, and their difference from the target."""
    p = softmax(design @ point[:, :-1].T + point[:, -1])
    apart = p - wanted
    return np.einsum("nc,nc->n", apart, apart), p, apart


def _tune(
    point: Matrix, design: Matrix, wanted: Matrix, sharpness: Sequence[float], steps: int
) -> Matrix:
    """Lower the largest row error from ``point``; the best point met is returned."""
    best, least = point, float(_squares(point, design, wanted)[0].max())
    for sharp in sharpness:
        if least <= _EXACT:
            break
        unit = least

        def smooth(flat: Matrix, sharp: float = sharp, unit: float = unit) -> tuple[float, Matrix]:
            nonlocal best, least
            here = flat.reshape(point.shape)
            square, p, apart = _squares(here, design, wanted)
            top = float(square.max())
            if top < least:
                best, least = here.copy(), top
            return smooth_max(square, p, apart, design, sharp, unit)

        minimize(
            smooth,
            best.ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps, "maxcor": 30, "gtol": 1e-9, "ftol": 1e-10},
        )
    return best


def smooth_max(
    square: Matrix, p: Matrix, apart: Matrix, design: Matrix, sharp: float, unit: float
) -> tuple[float, Matrix]:
    """``log mean_i exp(sharp r_i^2 / unit) / sharp``, r the row errors, and its gradient.

    Parameters
    ----------
    square, p, apart
        Squared row errors (n,), probabilities (n, C), their difference from the target (n, C).
    design
        Rows, shape (n, k).
    sharp
        The larger, the nearer to the maximum: it is missed by at most ``log(n) / sharp``.
    unit
        What squared errors are measured in.
    """
    top = float(square.max())
    powers = np.exp(sharp * (square - top) / unit)
    total = float(powers.sum())
    pull = (2.0 / unit / total) * powers[:, None]
    slope = pull * p * (apart - np.einsum("nc,nc->n", p, apart)[:, None])
    value = top / unit + float(np.log(total / len(square))) / sharp
    return value, np.column_stack([slope.T @ design, slope.sum(axis=0)]).ravel()
