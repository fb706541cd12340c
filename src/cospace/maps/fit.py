"""Fit a linear map on rows of the same texts or tokens."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np

from cospace._arrays import double, to_numpy
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.linalg import RTOL, mean_row
from cospace.maps.affine import Floats
from cospace.maps.held_out import HeldOut, held_out
from cospace.maps.linear import LinearMap
from cospace.maps.solve import PENALTIES, Choice, Method, solve
from cospace.space import Space, matched

__all__ = ["fit_map"]


def fit_map(
    *,
    source: Any,
    target: Any,
    method: Method = "least_squares",
    offset: bool | None = None,
    penalty: float | None = None,
    rank: int | None = None,
    folds: int = 5,
    rtol: float = RTOL,
    shuffle: int | None = None,
) -> LinearMap:
    """Fit the map of ``source`` that comes nearest to ``target``, ``min_M sum_i ||y_i - f(x_i)||^2``.

    ``least_squares`` is ``f(x) = x M``, of minimum norm (EMB2EMB); ``affine`` adds an offset;
    ``ridge`` adds ``lambda ||M||_F^2``, lambda chosen by cross-validation; ``orthogonal`` keeps
    lengths and angles, ``M^T M = 1`` or ``M M^T = 1`` (Procrustes); ``low_rank`` is the affine map
    of a given rank (reduced-rank regression).

    Equivalent to ``numpy.linalg.lstsq``, scikit-learn's ``LinearRegression`` and ``Ridge``, and
    ``scipy.linalg.orthogonal_procrustes``; solved by singular values, so that rank-deficient rows
    give the map of minimum norm and the rank is said.

    Parameters
    ----------
    source, target
        Spaces, whose rows are matched by id, or arrays of shape (n, p) and (n, d).
    method
        Which map.
    offset
        Whether the map has an offset; by default all but ``least_squares`` have one.
    penalty
        Ridge penalty relative to the largest squared singular value of the source; by default
        the best of 23 values from 10 to 1e-10 on 5 inner folds.
    rank
        Rank of a low-rank map.
    folds
        Folds of the held-out scores, 0 for none. Row i is in fold i mod ``folds``; groups of a
        space stay whole. Every fit, with the choice of its penalty, is made without the fold.
    rtol
        Rank tolerance, relative to the largest singular value of the source.
    shuffle
        Seed to shuffle the rows of the source with: a control, which knows the two spaces and
        not which rows belong together.

    Returns
    -------
    LinearMap
        With R2 and retrieval on held-out rows; R2 by chance is 0 or below, and that of retrieval
        is stated beside it. Cost n p min(n, p) + n p d for every fit, of which there are
        folds + 1.

    Raises
    ------
    RowMismatchError
        For rows that are not the same texts.
    InputError
        For rows that are no finite numbers, or options that do not go together.
    UndefinedMeasureError
        For an unregularised fit (least squares, affine, low rank) with n <= rank + 1 rows, or a
        source or target that says nothing.

    References
    ----------
    Lee et al. 2025 (EMB2EMB); Schönemann 1966 (orthogonal); Izenman 1975 (low rank); Hoerl &
    Kennard 1970 (ridge).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(40, 3))
    >>> turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> found = fit_map(source=x, target=x @ turn, method="orthogonal")
    >>> found.matrix.round(9).tolist() == turn.tolist(), round(found.held_out.r2, 9)
    (True, 1.0)
    """
    if folds != 0 and folds < 2:
        raise InputError(f"{folds} folds were asked for; 0 for none or at least 2 are needed.")
    choice = _choice(method, offset=offset, penalty=penalty, rank=rank, rtol=rtol)
    aligned = matched([_space(source, "source"), _space(target, "target")])
    a, b = aligned.spaces
    x, y = (np.asarray(to_numpy(double(space.rows))) for space in (a, b))
    groups = a.groups if a.groups is not None else b.groups
    if shuffle is not None:
        x = x[np.random.default_rng(shuffle).permutation(len(x))]
        groups = None
    mean = mean_row(y)
    total = float(np.sum((y - mean) ** 2))
    if total == 0.0:
        raise UndefinedMeasureError(
            f"All rows of {b.name} are the same: there is nothing to map to."
        )
    found = solve(x, y, choice, groups)
    scores, warnings = _scored(x, y, choice, groups, folds)
    if copies := a.duplicates():
        warnings += (
            f"{copies} rows of {a.name} equal an earlier row: copies of a row may be fitted and held out at once.",
        )
    if found.tried and found.penalty in (PENALTIES[0], PENALTIES[-1]):
        warnings += (
            f"The best penalty, {found.penalty:g}, is the {'largest' if found.penalty == PENALTIES[0] else 'smallest'} "
            "that was tried.",
        )
    return LinearMap(
        affine=found.affine,
        method=method,
        with_offset=choice.offset,
        source=a.name,
        target=b.name,
        matched=aligned.by,
        n=len(x),
        rank=found.rank,
        source_rank=found.source_rank,
        condition=found.condition,
        rtol=rtol,
        penalty=found.penalty,
        tried=found.tried,
        r2=1.0 - float(np.sum((y - found.affine.points(x)) ** 2)) / total,
        held_out=scores,
        shuffle=shuffle,
        warnings=warnings,
        facts={
            side: {"fingerprint": space.fingerprint, "steps": list(space.steps), **space.facts}
            for side, space in (("source", a), ("target", b))
        },
    )


def _scored(
    x: Floats, y: Floats, choice: Choice, groups: tuple[str, ...] | None, folds: int
) -> tuple[HeldOut | None, tuple[str, ...]]:
    """Held-out scores, or why there are none."""
    if folds == 0:
        return None, ("No held-out scores were asked for: R2 is that of the rows of the fit.",)
    try:
        return held_out(x, y, choice, groups, folds), ()
    except UndefinedMeasureError as error:
        return None, (f"No held-out scores: {error}",)


def _space(rows: Any, name: str) -> Space:
    return rows if isinstance(rows, Space) else Space(rows, name=name)


def _choice(
    method: Method,
    *,
    offset: bool | None,
    penalty: float | None,
    rank: int | None,
    rtol: float,
) -> Choice:
    if method not in get_args(Method):
        raise UnknownNameError.among(str(method), get_args(Method), "method of fit_map")
    if method == "least_squares" and offset:
        raise InputError("Least squares with an offset is method='affine': name that.")
    if method == "affine" and offset is False:
        raise InputError("An affine map without an offset is method='least_squares': name that.")
    if penalty is not None and method != "ridge":
        raise InputError(
            f"A penalty was given for method={method!r}; it belongs to method='ridge'."
        )
    if penalty is not None and not (math.isfinite(penalty) and penalty > 0.0):
        raise InputError(f"The ridge penalty is {penalty}; a number above 0 is needed.")
    if rank is None and method == "low_rank":
        raise InputError(
            "method='low_rank' was asked for without a rank: give rank=, a whole number from 1."
        )
    if rank is not None and method != "low_rank":
        raise InputError(
            f"rank={rank} was given for method={method!r}; a rank belongs to method='low_rank'."
        )
    if not 0.0 < rtol < 1.0:
        raise InputError(f"The rank tolerance is {rtol}; a number between 0 and 1 is needed.")
    own = method != "least_squares" if offset is None else offset
    return Choice(method, own, penalty, rank, rtol=rtol)
