"""Probabilities that each model is right, from columns; which predictor, inner folds decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cospace.errors import UnknownNameError
from cospace.probes.classifier import softmax
from cospace.probes.logistic import fit_logistic
from cospace.routing.features import Columns
from cospace.routing.folds import Places
from cospace.routing.pool import Floats

__all__ = ["KINDS", "Candidate", "candidates", "choose", "predictions"]

KINDS = ("logistic", "ridge", "knn")
"""Predictors: penalised logistic regression, ridge regression cut to [0, 1], nearest neighbours."""
_SETTINGS: dict[str, tuple[float, ...]] = {
    "logistic": (1.0, 0.3, 0.1, 0.03, 0.01, 0.001),
    "ridge": (10.0, 3.0, 1.0, 0.3, 0.1, 0.01),
    "knn": (80.0, 40.0, 20.0, 10.0, 5.0),
}
"""Penalties per row and numbers of neighbours, the most careful first."""


@dataclass(frozen=True)
class Candidate:
    """A predictor with its setting."""

    kind: str
    """One of :data:`KINDS`."""
    setting: float
    """Penalty beside the mean loss of standardised columns; number of neighbours for ``knn``."""

    def __str__(self) -> str:
        what = "k" if self.kind == "knn" else "penalty"
        return f"{self.kind}, {what} {self.setting:g}"


def candidates(kind: str) -> tuple[Candidate, ...]:
    """Settings of a predictor, or of all of them for ``auto``.

    Raises
    ------
    UnknownNameError
        For another predictor.
    """
    if kind != "auto" and kind not in KINDS:
        raise UnknownNameError.among(kind, (*KINDS, "auto"), "predictor")
    kinds = KINDS if kind == "auto" else (kind,)
    return tuple(Candidate(each, setting) for each in kinds for setting in _SETTINGS[each])


def predictions(tried: Sequence[Candidate], x: Floats, right: Floats, rows: Floats) -> list[Floats]:
    """Probability of every model to be right, by every candidate.

    Parameters
    ----------
    tried
        The candidates; settings of one kind in a row share their work.
    x
        Standardised columns of the training rows, shape (n, p).
    right
        Their correctness, shape (n, m).
    rows
        The same columns of other rows, shape (r, p).

    Returns
    -------
    list of array of shape (r, m)
        In [0, 1].

    Examples
    --------
    The two nearest of three rows, and the mean of all as one more neighbour:

    >>> x, right = np.array([[0.0], [1.0], [9.0]]), np.array([[1.0], [1.0], [0.0]])
    >>> predictions([Candidate("knn", 2)], x, right, np.array([[0.4]]))[0].round(12).tolist()
    [[0.888888888889]]
    """
    found: list[Floats] = []
    starts: list[object] = [None] * right.shape[1]
    for each in tried:
        if each.kind == "logistic":
            found.append(_logistic(each.setting, x, right, rows, starts))
        elif each.kind == "ridge":
            found.append(_ridge(each.setting, x, right, rows))
        else:
            found.append(_nearest(int(each.setting), x, right, rows))
    return found


def choose(
    columns: Columns, train: Places, right: Floats, fold: Places, tried: Sequence[Candidate]
) -> tuple[Candidate, Floats]:
    """Candidate of least Brier score on inner folds, and what it says of every training row unseen.

    Parameters
    ----------
    columns
        Columns of a set.
    train
        Training rows of the outer fold, n of them.
    right
        Their correctness, shape (n, m).
    fold
        Inner fold of each, shape (n,).
    tried
        Candidates, the most careful first: it wins a tie.

    Returns
    -------
    candidate, predictions
        Predictions of shape (n, m), each by a fit that did not see the row.
    """
    unseen = np.empty((len(tried), *right.shape))
    for number in range(int(fold.max()) + 1):
        here = fold == number
        x, rows = columns.design(train[~here], train[here])
        unseen[:, here] = predictions(tried, x, right[~here], rows)
    brier = np.mean((unseen - right) ** 2, axis=(1, 2))
    best = int(np.argmin(np.round(brier, 12)))
    return tried[best], unseen[best]


def _logistic(ridge: float, x: Floats, right: Floats, rows: Floats, starts: list[object]) -> Floats:
    found = np.empty((len(rows), right.shape[1]))
    for model in range(right.shape[1]):
        share = float(right[:, model].mean())
        if share in (0.0, 1.0):
            found[:, model] = share
            continue
        wanted = np.column_stack([1.0 - right[:, model], right[:, model]])
        fit = fit_logistic(x, wanted, ridge, start=starts[model])  # type: ignore[arg-type]
        starts[model] = fit
        found[:, model] = softmax(rows @ fit.weight.T + fit.offset)[:, 1]
    return found


def _ridge(penalty: float, x: Floats, right: Floats, rows: Floats) -> Floats:
    mean = right.mean(axis=0)
    n, p = x.shape
    if n >= p:
        weight = np.linalg.solve(x.T @ x / n + penalty * np.eye(p), x.T @ (right - mean) / n)
    else:
        weight = x.T @ np.linalg.solve(x @ x.T / n + penalty * np.eye(n), (right - mean) / n)
    return np.asarray(np.clip(rows @ weight + mean, 0.0, 1.0))


def _nearest(k: int, x: Floats, right: Floats, rows: Floats) -> Floats:
    k = min(k, len(x))
    apart = np.sum(rows**2, axis=1)[:, None] - 2.0 * rows @ x.T + np.sum(x**2, axis=1)
    order = np.argsort(apart, axis=1, kind="stable")[:, :k]
    # the mean counts as one more neighbour, so that no probability is 0 or 1
    return np.asarray((right[order].sum(axis=1) + right.mean(axis=0)) / (k + 1))
