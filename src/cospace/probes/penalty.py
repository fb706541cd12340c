"""Choose the penalty of a probe on inner folds of its training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from cospace.errors import InputError
from cospace.probes.classifier import Matrix
from cospace.probes.labels import split_rows

__all__ = ["FOLDS", "RIDGES", "RidgePoint", "choose_ridge", "inner_folds"]

RIDGES: tuple[float, ...] = tuple(float(f"{10.0 ** (-half / 2):.6g}") for half in range(-2, 13))
"""Penalties that are tried, largest first: 10 to 1e-6 in half decades."""

FOLDS = 5
"""Number of inner folds."""

_PATIENCE = 2
_STEPS = 200


@dataclass(frozen=True)
class RidgePoint:
    """One penalty and what it costs on inner folds."""

    ridge: float
    """The penalty."""
    loss: float
    """Mean log loss over the training rows, each by the fit that did not see it, in nats."""


def inner_folds(
    labels: Sequence[str], groups: Sequence[str] | None, *, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Fold of every row; folds hold equal shares of the classes, whole groups together.

    Raises
    ------
    InputError
        Where groups are too few or too large for every class to be in the rest of every fold.
    """
    fold = np.full(len(labels), -1)
    for number in range(FOLDS - 1):
        left = np.flatnonzero(fold < 0).tolist()
        here = split_rows(
            [labels[i] for i in left],
            None if groups is None else [groups[i] for i in left],
            1.0 / (FOLDS - number),
            rng=rng,
        )
        fold[np.asarray(left)[here]] = number
    fold[fold < 0] = FOLDS - 1
    names = np.asarray(labels)
    for number in range(FOLDS):
        here = fold == number
        if not here.any() or set(names) - set(names[~here]):
            raise InputError(
                f"The {len(set(groups or ()))} groups of the training rows do not part into {FOLDS} folds with every "
                "class in the rest of each: give more groups, drop the groups, or name the ridge."
            )
    return np.asarray(fold, dtype=np.int64)


def choose_ridge(
    design: Matrix, wanted: Matrix, folds: npt.NDArray[np.int64]
) -> tuple[RidgePoint, ...]:
    """Log loss on unseen inner folds, from the largest of :data:`RIDGES` down while it falls.

    All folds are fitted as one problem, so that a step reads the rows once. The search ends when
    two penalties in a row make it no better.

    Parameters
    ----------
    design
        Standardised training rows, shape (n, k).
    wanted
        One-hot labels, shape (n, C).
    folds
        Fold of every row, shape (n,).
    """
    k, classes = design.shape[1], wanted.shape[1]
    count = int(folds.max()) + 1
    out = folds == np.arange(count)[:, None]
    shares = ~out / (~out).sum(axis=1, keepdims=True)
    point = np.zeros(count * classes * (k + 1))
    tried: list[RidgePoint] = []
    best, since = np.inf, 0
    for ridge in RIDGES:
        point = minimize(
            _objective,
            point,
            args=(design, wanted, shares, ridge),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _STEPS, "maxcor": 20, "gtol": 1e-5, "ftol": 1e-9},
        ).x
        losses = _losses(_logits(point, design, count), wanted)
        loss = float(np.mean(losses[folds, np.arange(len(folds))]))
        tried.append(RidgePoint(ridge, loss))
        best, since = (loss, 0) if loss < best else (best, since + 1)
        if since == _PATIENCE:
            break
    return tuple(tried)


def _logits(point: Matrix, design: Matrix, count: int) -> Matrix:
    """Logits of the fits of all folds, shape (folds, C, n)."""
    both = point.reshape(-1, design.shape[1] + 1)
    flat = design @ both[:, :-1].T + both[:, -1]
    return np.ascontiguousarray(flat.T).reshape(count, -1, len(design))


def _losses(logits: Matrix, wanted: Matrix) -> Matrix:
    """Cross-entropy of every row under the fit of every fold, shape (folds, n)."""
    top = logits.max(axis=1)
    rest = np.log(np.exp(logits - top[:, None, :]).sum(axis=1)) + top
    return np.asarray(rest - np.einsum("fcn,nc->fn", logits, wanted))


def _objective(
    point: Matrix, design: Matrix, wanted: Matrix, shares: Matrix, ridge: float
) -> tuple[float, Matrix]:
    """Sum over folds of the penalised cross-entropy, rows weighted by ``shares``."""
    k = design.shape[1]
    weight = point.reshape(-1, k + 1)[:, :k]
    logits = _logits(point, design, len(shares))
    top = logits.max(axis=1, keepdims=True)
    powers = np.exp(logits - top)
    total = powers.sum(axis=1, keepdims=True)
    miss = (powers / total - wanted.T) * shares[:, None, :]
    flat = miss.reshape(-1, len(design))
    gradient = np.column_stack([flat @ design + ridge * weight, flat.sum(axis=1)])
    rows = (np.log(total) + top)[:, 0, :] - np.einsum("fcn,nc->fn", logits, wanted)
    loss = float(np.sum(rows * shares)) + 0.5 * ridge * float(np.sum(weight**2))
    return loss, gradient.ravel()
