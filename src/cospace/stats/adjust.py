"""p-values corrected for the number of questions asked: Holm, Benjamini-Hochberg, the maximum."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError

__all__ = ["benjamini_hochberg", "holm", "max_statistic"]

Floats = npt.NDArray[np.float64]

_COLUMNS = 1024
"""Tests taken at a time, so that memory does not grow with their number."""


def holm(p: npt.ArrayLike) -> Floats:
    """Holm's correction: the chance of any false finding among all tests stays at the level.

    Of m tests in ascending order the i-th becomes ``max over j <= i of min(1, (m - j + 1) p_j)``.
    Holds whatever ties the tests to each other.

    Parameters
    ----------
    p
        p-values of any shape; NaN was not tested, and is not counted.

    Returns
    -------
    numpy.ndarray
        Corrected p in the shape of ``p``, never smaller than it and in the same order; NaN where
        ``p`` is NaN.

    Raises
    ------
    InputError
        For no p-value at all, or one outside [0, 1].

    References
    ----------
    Holm 1979.

    Examples
    --------
    Three tests: 3 x 0.01, then 2 x 0.02, then 1 x 0.03, which may not be below what precedes it.

    >>> holm([0.03, 0.01, float("nan"), 0.02]).round(12).tolist()
    [0.04, 0.03, nan, 0.04]
    """
    values, tested = _checked(p)
    ascending = np.sort(values[tested])
    steps = np.maximum.accumulate(np.arange(len(ascending), 0, -1) * ascending)
    return _placed(values, tested, np.minimum(steps, 1.0))


def benjamini_hochberg(p: npt.ArrayLike) -> Floats:
    """Benjamini and Hochberg's correction: the expected share of false ones among the findings.

    Of m tests in ascending order the i-th becomes ``min over j >= i of min(1, m p_j / j)``. Holds
    for independent and for positively dependent tests.

    Equivalent to ``scipy.stats.false_discovery_control``, which knows no NaN.

    Parameters
    ----------
    p
        p-values of any shape; NaN was not tested, and is not counted.

    Returns
    -------
    numpy.ndarray
        Corrected p in the shape of ``p``, never smaller than it and in the same order; NaN where
        ``p`` is NaN.

    Raises
    ------
    InputError
        For no p-value at all, or one outside [0, 1].

    References
    ----------
    Benjamini & Hochberg 1995; Yekutieli & Benjamini 1999 (as corrected p).

    Examples
    --------
    3 x 0.04 / 3, then 3 x 0.03 / 2, which may not be above what follows it, then 3 x 0.01 / 1.

    >>> benjamini_hochberg([0.04, 0.01, float("nan"), 0.03]).round(12).tolist()
    [0.04, 0.03, nan, 0.04]
    """
    values, tested = _checked(p)
    ascending = np.sort(values[tested])
    count = len(ascending)
    shares = ascending * (count / np.arange(1, count + 1))
    steps = np.minimum.accumulate(shares[::-1])[::-1]
    return _placed(values, tested, np.minimum(steps, 1.0))


def max_statistic(
    values: npt.ArrayLike,
    draws: npt.ArrayLike,
    kind: Literal["similarity", "distance", "divergence"],
    *,
    studentised: bool = True,
    exact: bool = False,
    tie: float = 1e-9,
) -> Floats:
    """p of every test against the best of all tests in each shuffle: corrected for the search.

    ``p_j = (1 + #{b : max_k z_bk >= z_j}) / (1 + B)``, b over the B shuffles, which all tests must
    share. The chance of any false finding among all tests stays at the level, and tests that are
    nearly the same cost nearly nothing.

    Studentised, z is ``(value - mean) / sd`` with mean and sd of each test over its shuffles and
    the value itself, which keeps the level exact, for value and shuffles are then treated alike.
    That is the default: tests of one search often differ in their level and spread by chance (CKA
    of wide spaces, R2 of many coordinates), and without it the one with the highest level by
    chance decides the maximum, and a finding at any other is lost. Not studentised, z is the value
    itself: the question is then which is the best value, not which is the most surprising one.

    Equivalent, for one test, to the plain permutation p in both forms.

    Parameters
    ----------
    values
        One value for each test, shape (tests,).
    draws
        The same over the shuffles, shape (shuffles, tests): row b is the same shuffle throughout.
    kind
        Which end means alike: high for a similarity, low for the others.
    studentised
        Whether tests are brought to the same level and spread first.
    exact
        Whether the shuffles are all arrangements, the identity among them; p is then
        count / shuffles.
    tie
        Values that differ by no more than this share of the largest of their test are ties;
        about 2e-6 for draws summed in single precision.

    Returns
    -------
    numpy.ndarray
        Shape (tests,), never 0; 1 for a test whose shuffles are all equal; NaN for a test that was
        not run: a value, or one of its draws, that is not finite.

    Raises
    ------
    InputError
        For another shape, no shuffle, or an unknown kind.

    References
    ----------
    Westfall & Young 1993 (single step); Nichols & Holmes 2002.

    Examples
    --------
    Two tests, four shuffles. The first value, 0.9, is above its own draws, but in two shuffles the
    second test has more:

    >>> draws = [[0.1, 0.95], [0.2, 0.97], [0.3, 0.5], [0.4, 0.1]]
    >>> max_statistic([0.9, 0.5], draws, "similarity", studentised=False).tolist()
    [0.6, 0.8]
    """
    measured, shuffled = np.asarray(values, dtype=np.float64), np.asarray(draws)
    if measured.ndim != 1 or shuffled.ndim != 2 or shuffled.shape[1:] != measured.shape:
        raise InputError(
            f"Values of shape {measured.shape} and draws of shape {shuffled.shape}: "
            "(tests,) and (shuffles, tests) are expected."
        )
    if not len(shuffled):
        raise InputError("No shuffle was given: a p-value needs at least one.")
    if kind not in ("similarity", "distance", "divergence"):
        raise InputError(f"{kind!r} is no kind: similarity, distance or divergence is expected.")
    sign = 1.0 if kind == "similarity" else -1.0
    best = np.full(len(shuffled), -np.inf)
    z = np.full(len(measured), np.nan)
    for start in range(0, len(measured), _COLUMNS):
        these = slice(start, start + _COLUMNS)
        own = sign * measured[these]
        block = sign * shuffled[:, these].astype(np.float64)
        run = np.isfinite(own) & np.isfinite(block).all(axis=0)
        if not run.any():
            continue
        own, block = own[run], block[:, run]
        size = np.maximum(np.abs(own), np.abs(block).max(axis=0))
        slack = tie * size
        if studentised:
            own, block, slack = _studentised(own, block, slack, exact=exact)
        best = np.maximum(best, (block + slack).max(axis=1))
        z[start + np.flatnonzero(run)] = own
    ordered = np.sort(best)
    count = len(best) - np.searchsorted(ordered, z, side="left")
    p = np.maximum(count, 1) / len(best) if exact else (1 + count) / (1 + len(best))
    return np.where(np.isnan(z), np.nan, p)


def _studentised(
    own: Floats, block: Floats, slack: Floats, *, exact: bool
) -> tuple[Floats, Floats, Floats]:
    """Value, draws and slack in standard deviations of each test; -inf where nothing varies."""
    both = block if exact else np.vstack([own, block])
    mean, sd = both.mean(axis=0), both.std(axis=0)
    still = sd <= slack
    scale = np.where(still, 1.0, sd)
    flat = np.where(still, -np.inf, 0.0)
    return (own - mean) / scale + flat, (block - mean) / scale + flat, slack / scale


def _checked(p: npt.ArrayLike) -> tuple[Floats, npt.NDArray[np.bool_]]:
    values = np.asarray(p, dtype=np.float64)
    if not values.size:
        raise InputError("No p-value was given: there is nothing to correct.")
    tested = ~np.isnan(values)
    outside = values[tested & ~((values >= 0.0) & (values <= 1.0))]
    if outside.size:
        raise InputError(f"{outside[0]} is no p-value: from 0 to 1 is expected, NaN if not tested.")
    return values, tested


def _placed(values: Floats, tested: npt.NDArray[np.bool_], steps: Floats) -> Floats:
    """Corrected values, ascending, put where the p-values stood."""
    found = values[tested]
    result = np.full(values.shape, np.nan)
    corrected = np.empty(len(found))
    corrected[np.argsort(found, kind="stable")] = steps
    result[tested] = corrected
    return result
