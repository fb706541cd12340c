"""Measures of what ridge maps can reach: in-sample R2 and GULP. No spectrum is decomposed.

With X the centred rows at Frobenius norm 1, the ridge fit of any target Y is H Y with the hat
matrix ``H = X (X^T X + lambda I)^-1 X^T``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from array_api_compat import device

from cospace._arrays import Array, namespace, rows_at
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError
from cospace.linalg import norm
from cospace.measures.base import Measure
from cospace.measures.pair import paired, sized
from cospace.summaries import Order

__all__ = ["MEASURES", "Hat", "gulp_distance", "ridge_r2"]

PENALTY = 1e-5
_MOST_FREEDOM = 0.9
_NEAR = 1e-4
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Hat:
    """A space as the ridge fits that can be made from it: H = rows @ weights."""

    rows: Array
    """Centred rows at Frobenius norm 1, shape (n, d)."""
    weights: Array
    """(X^T X + penalty I)^-1 X^T, shape (d, n)."""
    penalty: float
    """The penalty, relative to the sum of squared singular values."""

    @classmethod
    def of(cls, rows: Array, penalty: float) -> Hat:
        """Solve once, in the smaller of the widths and the rows; cost n d min(n, d).

        Raises
        ------
        UndefinedMeasureError
            When all rows are the same.
        """
        x = sized(rows)
        x = x / norm(x)
        xp = namespace(x)
        n, d = x.shape
        ridge = penalty * xp.eye(min(n, d), dtype=x.dtype, device=device(x))
        if n < d:
            return cls(x, xp.linalg.solve(x @ x.T + ridge, x).T, penalty)
        return cls(x, xp.linalg.solve(x.T @ x + ridge, x.T), penalty)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the fit, the trace of H."""
        return float(namespace(self.rows).sum(self.rows * self.weights.T))

    def permuted(self, order: Order) -> Hat:
        """Fits from the same rows in another order."""
        weights = rows_at(self.weights.T, order).T
        return replace(self, rows=rows_at(self.rows, order), weights=weights)


def ridge_r2(x: Array, y: Array, *, penalty: float = PENALTY) -> float:
    """Share of the target's variance that a ridge map of the source explains, in-sample.

    ``1 - ||Y - H Y||_F^2 / ||Y||_F^2``, H the hat matrix of the source with
    ``lambda = penalty * mean_i s_i^2`` over its min(n, d_x) singular values s. Without a
    decomposition and without a decision about rank; the other direction is ``ridge_r2(y, x)``.

    Equivalent to ``predictive_r2`` as the penalty goes to 0; to scikit-learn's ``Ridge`` with
    that lambda, scored by variance-weighted R2 on the rows of its fit.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    penalty
        Penalty relative to the mean squared singular value of the source, above 0.

    Returns
    -------
    float
        In [0, 1]; high means that the target can be had from the source; not symmetric. A space
        against itself gives at least 1 - penalty / 4. By chance
        ``tr(2H - H^2) / (n - 1)``, at small penalties d_x / (n - 1). Cost n d_x min(n, d_x) a
        space, n d_x d_y a pair.

    Raises
    ------
    InputError
        For a penalty that is not positive.
    UndefinedMeasureError
        When the degrees of freedom of the fit, tr(H) + 1, exceed 0.9 n: it then passes near every
        row whatever the target; or when all rows of a side are the same.

    References
    ----------
    Hoerl & Kennard 1970.

    Examples
    --------
    With one direction and a penalty of 1 the fit of the source itself is halved: what is left is
    half as long, a quarter of the variance.

    >>> x = [[1.0], [-1.0], [0.0], [0.0]]
    >>> round(ridge_r2(x, x, penalty=1.0), 12)
    0.75
    """
    a, b = paired(x, y)
    return ridge_r2_of(hat_of_mean(a, penalty), hat_of_mean(b, penalty))


def hat_of_mean(rows: Array, penalty: float = PENALTY) -> Hat:
    """Hat matrix whose penalty is relative to the mean squared singular value."""
    _check(penalty)
    return Hat.of(rows, penalty / min(rows.shape))


def ridge_r2_of(source: Hat, target: Hat) -> float:
    """``ridge_r2`` from two summaries."""
    _match(source, target)
    freedom = source.freedom + 1.0
    if freedom > _MOST_FREEDOM * source.n:
        raise UndefinedMeasureError(
            f"A ridge fit with {freedom:.1f} degrees of freedom passes near all {source.n} rows whatever the target: "
            "use more rows, heldout_r2, a larger penalty, or fewer principal components (reduced=)."
        )
    y = target.rows  # of norm 1
    left = y - source.rows @ (source.weights @ y)
    return min(max(1.0 - norm(left) ** 2, 0.0), 1.0)


def gulp_distance(x: Array, y: Array, *, penalty: float = 1e-2) -> float:
    """How far the ridge predictions that two spaces allow can differ, over all targets.

    ``d^2 = tr(A_x S_x A_x S_x) + tr(A_y S_y A_y S_y) - 2 tr(A_x S_xy A_y S_yx)``, rows centred and
    scaled to a mean squared length of 1, S their covariances (over n), ``A = (S + penalty I)^-1``.

    Equivalent to ``||H_x - H_y||_F``, the distance of the two hat matrices.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    penalty
        Ridge penalty in units of the mean squared length, above 0. Small ones approach
        the CCA family, large ones CKA.

    Returns
    -------
    float
        At least 0, and 0 means alike: every ridge regression gives the same predictions. A metric,
        at most the root of the joint degrees of freedom. By chance d^2 is on average
        ``tr(H_x^2) + tr(H_y^2) - 2 tr(H_x) tr(H_y) / (n - 1)``. Near 0 it is computed from the hat
        matrices themselves, a block of rows at a time. Cost n d min(n, d) a space, n d_x d_y a
        pair.

    Raises
    ------
    InputError
        For a penalty that is not positive.
    UndefinedMeasureError
        When all rows of a side are the same.

    References
    ----------
    Boix-Adsera et al. 2022.

    Examples
    --------
    Two orthogonal directions of variance 1: each hat matrix has the single eigenvalue
    1 / (1 + penalty), here 1/2, so d^2 = 1/4 + 1/4.

    >>> x, y = [[1.0], [-1.0], [0.0], [0.0]], [[0.0], [0.0], [1.0], [-1.0]]
    >>> round(gulp_distance(x, y, penalty=1.0) ** 2, 12)
    0.5
    """
    a, b = paired(x, y)
    return gulp_distance_of(hat_of_total(a, penalty), hat_of_total(b, penalty))


def hat_of_total(rows: Array, penalty: float = 1e-2) -> Hat:
    """Hat matrix whose penalty is relative to the mean squared length of a row."""
    _check(penalty)
    return Hat.of(rows, penalty)


def gulp_distance_of(source: Hat, target: Hat) -> float:
    """``gulp_distance`` from two summaries."""
    _match(source, target)
    xp = namespace(source.rows)
    own = _squared(source) + _squared(target)
    across = (source.weights @ target.rows) * (target.weights @ source.rows).T
    apart = own - 2.0 * float(xp.sum(across))
    if apart > _NEAR * own:
        return math.sqrt(apart)
    total = 0.0
    for start in range(0, source.n, _BLOCK):
        lines = slice(start, start + _BLOCK)
        block = source.rows[lines, :] @ source.weights - target.rows[lines, :] @ target.weights
        total += norm(block) ** 2
    return math.sqrt(total)


def _squared(hat: Hat) -> float:
    inner = hat.weights @ hat.rows
    return float(namespace(inner).sum(inner * inner.T))


def _check(penalty: float) -> None:
    if not (math.isfinite(penalty) and penalty > 0.0):
        raise InputError(f"The ridge penalty is {penalty}; a number above 0 is needed.")


def _match(source: Hat, target: Hat) -> None:
    if source.n != target.n:
        raise RowMismatchError(
            f"Fits of {source.n} and {target.n} rows cannot be compared: row i must be the same text in both."
        )


MEASURES: tuple[Measure, ...] = (
    Measure(
        name="ridge_r2",
        title="Ridge R² (in-sample)",
        function=ridge_r2,
        kind="similarity",
        bounds=(0.0, 1.0),
        identical=1.0,
        symmetric=False,
        invariant_to=frozenset({"translation", "scaling", "orthogonal"}),
        summary="Share of the target's variance that a slightly ridged map explains, on the rows of its fit.",
        reference="Hoerl & Kennard 1970",
        cost="n d² a space, n d² a pair",
        needs="rows",
        summarise=hat_of_mean,
        score=ridge_r2_of,
        decomposes=True,
    ),
    Measure(
        name="gulp_distance",
        title="GULP (penalty 0.01)",
        function=gulp_distance,
        kind="distance",
        bounds=(0.0, None),
        identical=0.0,
        symmetric=True,
        invariant_to=frozenset({"translation", "scaling", "orthogonal"}),
        summary="How far the ridge predictions that two spaces allow can differ, whatever is predicted.",
        reference="Boix-Adsera et al. 2022",
        cost="n d² a space, n d² a pair",
        needs="rows",
        summarise=hat_of_total,
        score=gulp_distance_of,
        decomposes=True,
    ),
)
