"""Held-out R2 of a ridge map: fitted on some rows, scored on others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, as_rows, double, to_numpy
from cospace._numbers import check_whole
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError
from cospace.linalg import RTOL, mean_row, numerical_rank
from cospace.summaries import Order

__all__ = ["Folds", "heldout_r2", "heldout_r2_of"]

FOLDS = 5
_PENALTIES = np.concatenate([[0.0], np.logspace(-10, 1, 23)])
_MOST_FREEDOM = 0.9

Matrix = npt.NDArray[np.float64]


def heldout_r2(x: Array, y: Array, *, folds: int = FOLDS) -> float:
    """Share of the target's variance that a ridge map of the source explains on unseen rows.

    ``1 - sum ||y - f(x)||^2 / sum ||y - ybar||^2`` over held-out rows of ``folds``-fold
    cross-validation; f is affine, fitted on the other rows, and ybar is their mean. The penalty
    is chosen on the fitting rows alone, by generalised cross-validation, among 0 and 23 values
    from 1e-10 to 10 times the largest squared singular value, with at most 0.9 n degrees of
    freedom. Row i is in fold i mod ``folds``.

    Equivalent to scikit-learn's ``cross_val_predict`` of a ridge with its penalty chosen inside
    each fold, scored by variance-weighted R2 against the fold's mean.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    folds
        Number of folds.

    Returns
    -------
    float
        At most 1, and 1 means that the target can be had from the source; a space predicts
        itself with 1 only where rows clearly outnumber coordinates. About 0 or slightly below by
        chance; not symmetric; depends on the order of rows through the folds. Defined for n below
        the widths too, since what is unseen is scored. Cost folds n d min(n, d) a space, folds
        n d_x d_y a pair.

    Raises
    ------
    InputError
        For fewer than 2 folds.
    UndefinedMeasureError
        For fewer than 2 rows in a fold, or a side whose rows are all the same.

    References
    ----------
    Golub, Heath & Wahba 1979 (generalised cross-validation).

    Examples
    --------
    >>> x = [[float(i)] for i in range(20)]
    >>> round(heldout_r2(x, [[3.0 - 2.0 * i] for i in range(20)]), 9)
    1.0
    """
    a, b = as_rows(x, name="source"), as_rows(y, name="target")
    if a.shape[0] != b.shape[0]:
        raise RowMismatchError(
            f"source has {a.shape[0]} rows and target has {b.shape[0]}. Row i must be the same text in both."
        )
    return heldout_r2_of(Folds(to_numpy(double(a)), folds), Folds(to_numpy(double(b)), folds))


@dataclass(frozen=True, eq=False)
class _Fold:
    """A source without one fold: its principal axes, and where the unseen rows lie in them."""

    s: Matrix
    """Singular values of the centred fitting rows, above the rank tolerance."""
    u: Matrix | None
    """Left singular vectors, where rows are fewer than coordinates; else None."""
    x: Matrix
    """Centred fitting rows in the principal axes divided by s, where u is None."""
    unseen: Matrix
    """Unseen rows in the principal axes."""

    def project(self, y: Matrix) -> Matrix:
        """U^T y."""
        basis = self.x if self.u is None else self.u
        return np.asarray(basis.T @ y)


@dataclass(frozen=True, eq=False)
class Folds:
    """Rows with their folds; as a source also the principal axes of every fit, made on demand."""

    rows: Matrix
    """Shape (n, d)."""
    folds: int = FOLDS
    """Number of folds."""

    def __post_init__(self) -> None:
        check_whole(folds=self.folds)
        if self.folds < 2:
            raise InputError(f"{self.folds} folds were asked for; at least 2 are needed.")
        if len(self.rows) < 2 * self.folds:
            raise UndefinedMeasureError(
                f"{self.folds} folds of {len(self.rows)} rows: at least {2 * self.folds} rows are needed."
            )

    @classmethod
    def of(cls, rows: Array, folds: int = FOLDS) -> Folds:
        """Fold the rows and fit every source map now, so that pairs can share them."""
        made = cls(to_numpy(double(rows)), folds)
        made.fits  # noqa: B018  made once, here
        return made

    def permuted(self, order: Order) -> Folds:
        """The same rows in another order, in the same folds by position."""
        return Folds(self.rows[order], self.folds)

    def unseen(self, fold: int) -> npt.NDArray[np.bool_]:
        """Which rows the fit of ``fold`` does not see."""
        return np.asarray(np.arange(len(self.rows)) % self.folds == fold)

    @cached_property
    def fits(self) -> tuple[_Fold, ...]:
        """One eigendecomposition a fold, of the smaller of the covariance and the Gram matrix."""
        return tuple(self._fit(fold) for fold in range(self.folds))

    def _fit(self, fold: int) -> _Fold:
        out = self.unseen(fold)
        seen = self.rows[~out]
        mean = mean_row(seen)
        x, new = seen - mean, self.rows[out] - mean
        wide = x.shape[0] <= x.shape[1]
        values, vectors = np.linalg.eigh(x @ x.T if wide else x.T @ x)
        s = np.sqrt(np.clip(values[::-1], 0.0, None))
        r = numerical_rank(s, RTOL)
        s, basis = s[:r], vectors[:, ::-1][:, :r]
        axes = x.T @ (basis / s) if wide else basis
        return _Fold(s, basis if wide else None, x if wide else x @ (axes / s), new @ axes)


def heldout_r2_of(source: Folds, target: Folds) -> float:
    """``heldout_r2`` from two summaries."""
    if len(source.rows) != len(target.rows) or source.folds != target.folds:
        raise RowMismatchError(
            f"{source.folds} folds of {len(source.rows)} rows and {target.folds} folds of {len(target.rows)} rows "
            "cannot be compared: the same rows in the same folds are needed."
        )
    lost = total = 0.0
    for fold, fit in enumerate(source.fits):
        out = target.unseen(fold)
        seen, new = target.rows[~out], target.rows[out]
        mean = mean_row(seen)
        y = seen - mean
        z = fit.project(y)
        shrink = _ridge(fit.s, np.sum(z * z, axis=1), float(np.sum(y * y)), len(seen))
        guess = (fit.unseen * (shrink / fit.s)) @ z
        lost += float(np.sum((new - mean - guess) ** 2))
        total += float(np.sum((new - mean) ** 2))
    if total == 0.0:
        raise UndefinedMeasureError(
            "All rows of the target are the same: there is nothing to predict."
        )
    if not any(len(fit.s) for fit in source.fits):
        raise UndefinedMeasureError(
            "All rows of the source are the same: there is nothing to predict from."
        )
    return 1.0 - lost / total


def _ridge(s: Matrix, energy: Matrix, total: float, n: int) -> Matrix:
    """Shrinkage s^2 / (s^2 + penalty) at the penalty of least generalised cross-validation."""
    if len(s) == 0:
        return s
    shrink = s**2 / (s**2 + _PENALTIES[:, None] * s[0] ** 2)
    freedom = shrink.sum(axis=1) + 1.0
    residual = np.clip(total - (2 * shrink - shrink**2) @ energy, 0.0, None)
    score = np.where(
        freedom <= _MOST_FREEDOM * n, residual / (n - np.minimum(freedom, n - 1)) ** 2, np.inf
    )
    return np.asarray(shrink[int(np.argmin(score))])
