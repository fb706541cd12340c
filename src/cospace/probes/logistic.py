"""Multinomial logistic regression in float64: the objective, its gradient, and its minimiser."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from cospace.probes.classifier import Matrix, softmax

__all__ = ["Fit", "cross_entropy", "fit_logistic", "log_loss"]

_MEMORY = 20
_GRADIENT = 1e-7
_ENOUGH = 1e-5


class Fit(NamedTuple):
    """A minimiser of the penalised cross-entropy."""

    weight: Matrix
    """Shape (C, k)."""
    offset: Matrix
    """Shape (C,)."""
    loss: float
    """Value of the objective."""
    slope: float
    """Largest entry of its gradient there."""
    iterations: int
    """Steps that were taken."""

    @property
    def converged(self) -> bool:
        """Whether no entry of the gradient exceeds 1e-5."""
        return self.slope <= _ENOUGH


def log_loss(logits: Matrix, wanted: Matrix) -> float:
    """Mean cross-entropy ``-sum_c wanted_c log p_c`` of the rows, in nats."""
    top = logits.max(axis=1, keepdims=True)
    rest = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]
    return float(np.mean(rest * wanted.sum(axis=1) - np.sum(wanted * logits, axis=1)))


def cross_entropy(
    point: Matrix, design: Matrix, wanted: Matrix, ridge: float
) -> tuple[float, Matrix]:
    """Penalised cross-entropy and its gradient.

    ``mean_i -sum_c wanted_ic log softmax(W z_i + b)_c + ridge/2 ||W||_F^2``; b is free.

    Parameters
    ----------
    point
        W and b side by side, shape (C, k + 1), flattened.
    design
        Rows z, shape (n, k).
    wanted
        Probabilities, one-hot for labels, shape (n, C); every row sums to 1.
    ridge
        Penalty, at least 0.

    Returns
    -------
    loss, gradient
        The gradient has the shape of ``point``.

    Examples
    --------
    At 0 both classes have probability 1/2:

    >>> import numpy as np
    >>> loss, slope = cross_entropy(np.zeros(4), np.array([[2.0]]), np.array([[1.0, 0.0]]), 0.0)
    >>> round(float(loss / np.log(2)), 12), slope.tolist()
    (1.0, [-1.0, -0.5, 1.0, 0.5])
    """
    n, k = design.shape
    both = point.reshape(-1, k + 1)
    weight, offset = both[:, :k], both[:, k]
    logits = design @ weight.T + offset
    miss = (softmax(logits) - wanted) / n
    gradient = np.column_stack([miss.T @ design + ridge * weight, miss.sum(axis=0)])
    loss = log_loss(logits, wanted) + 0.5 * ridge * float(np.sum(weight**2))
    return loss, gradient.ravel()


def fit_logistic(
    design: Matrix,
    wanted: Matrix,
    ridge: float,
    *,
    start: Fit | None = None,
    steps: int = 1000,
) -> Fit:
    """Minimise :func:`cross_entropy` by L-BFGS from ``start``, by default from 0.

    Equivalent to scikit-learn's ``LogisticRegression(C=1 / (n ridge))`` for labels; probabilities
    are accepted as well.

    Parameters
    ----------
    design
        Rows, shape (n, k); well scaled, for instance of unit variance.
    wanted
        Probabilities, shape (n, C).
    ridge
        Penalty of the mean loss, at least 0.
    start
        Where to begin: a fit of the same shape.
    steps
        Most steps.

    Returns
    -------
    Fit
        Convex, so unique for a penalty above 0. Cost 4 n k C a step.
    """
    k, classes = design.shape[1], wanted.shape[1]
    point = (
        np.zeros(classes * (k + 1))
        if start is None
        else np.column_stack([start.weight, start.offset]).ravel()
    )
    found = minimize(
        cross_entropy,
        point,
        args=(design, wanted, ridge),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxcor": _MEMORY, "gtol": _GRADIENT, "ftol": 1e-13},
    )
    both = found.x.reshape(classes, k + 1)
    return Fit(
        weight=both[:, :k].copy(),
        offset=both[:, k].copy(),
        loss=float(found.fun),
        slope=float(np.abs(found.jac).max()),
        iterations=int(found.nit),
    )
