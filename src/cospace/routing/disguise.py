"""Is a signal of correctness the category in disguise? Areas under the curve, within and without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError
from cospace.routing.folds import Places
from cospace.routing.pool import Floats
from cospace.stats.intervals import percentile_interval

__all__ = ["Area", "area", "stratified_area", "stratified_value"]


@dataclass(frozen=True)
class Area:
    """Area under the ROC curve: how often a right item scores above a wrong one; 0.5 by chance."""

    value: float | None
    """The area; None where no right item meets a wrong one."""
    low: float | None
    """Lower end of its interval over items."""
    high: float | None
    """Upper end."""
    level: float
    """Level of the interval."""
    pairs: int
    """Pairs of a right and a wrong item that were compared."""

    @property
    def above(self) -> bool:
        """Whether the interval lies above 0.5."""
        return self.low is not None and self.low > 0.5

    @property
    def below(self) -> bool:
        """Whether the interval lies below 0.5."""
        return self.high is not None and self.high < 0.5


def area(scores: Floats, right: npt.NDArray[np.bool_]) -> float:
    """Area under the ROC curve of scores for right items against wrong ones; ties count half.

    Equivalent to scikit-learn's ``roc_auc_score``.

    Raises
    ------
    InputError
        Without a right, or without a wrong item.

    Examples
    --------
    Of 2 x 2 pairs one is lost:

    >>> area(np.array([0.9, 0.2, 0.5, 0.1]), np.array([True, True, False, False]))
    0.75
    """
    if right.all() or not right.any():
        raise InputError("All items are right, or all are wrong: an area needs both.")
    return float(np.mean(_won(scores, right)))


def stratified_area(
    scores: Floats,
    right: npt.NDArray[np.bool_],
    strata: Sequence[object],
    counts: npt.NDArray[np.int64],
    *,
    level: float = 0.95,
) -> Area:
    """Area over the pairs of a right and a wrong item of one stratum, all strata together.

    ``sum_s sum_ij w_i w_j [score_i > score_j] / sum_s sum_ij w_i w_j``, i right and j wrong in
    stratum s, ties a half; w counts a bootstrap sample, and is 1 for the value itself. Strata that
    are folds compare scores of one fit only: shares that differ between training sets would
    otherwise be read as skill, or as its opposite.

    Parameters
    ----------
    scores
        Shape (n,).
    right
        Shape (n,).
    strata
        What both items of a pair share, one an item.
    counts
        How often each item is in each bootstrap sample, shape (draws, n).
    level
        Level of the percentile interval.
    """
    won, pairs = 0.0, 0
    top, bottom = np.zeros(len(counts)), np.zeros(len(counts))
    for inside, good, bad in _parts(right, strata):
        table = _won(scores[inside], right[inside])
        w_good, w_bad = counts[:, good].astype(np.float64), counts[:, bad].astype(np.float64)
        won += float(table.sum())
        pairs += table.size
        top += np.einsum("dj,dj->d", w_good @ table, w_bad)
        bottom += w_good.sum(axis=1) * w_bad.sum(axis=1)
    if not pairs:
        return Area(None, None, None, level, 0)
    drawn = bottom > 0.0
    if drawn.mean() < level:
        return Area(won / pairs, None, None, level, pairs)
    low, high = percentile_interval(top[drawn] / bottom[drawn], level=level)
    return Area(won / pairs, float(low), float(high), level, pairs)


def stratified_value(
    scores: Floats, right: npt.NDArray[np.bool_], strata: Sequence[object]
) -> float | None:
    """Value of :func:`stratified_area` without its interval; None where nothing can be compared."""
    tables = [_won(scores[each], right[each]) for each, _, _ in _parts(right, strata)]
    pairs = sum(table.size for table in tables)
    return sum(float(table.sum()) for table in tables) / pairs if pairs else None


def _parts(right: npt.NDArray[np.bool_], strata: Sequence[object]) -> list[tuple[Places, ...]]:
    """Items of every stratum that has both, its right ones and its wrong ones."""
    places: dict[object, list[int]] = {}
    for i, stratum in enumerate(strata):
        places.setdefault(stratum, []).append(i)
    found: list[tuple[Places, ...]] = []
    for inside in map(np.array, places.values()):
        good, bad = inside[right[inside]], inside[~right[inside]]
        if len(good) and len(bad):
            found.append((inside, good, bad))
    return found


def _won(scores: Floats, right: npt.NDArray[np.bool_]) -> Floats:
    """1 where a right item scores above a wrong one, a half for a tie, shape (right, wrong)."""
    gap = scores[right][:, None] - scores[~right][None, :]
    level = np.abs(gap) <= 1e-12
    return np.where(level, 0.5, (gap > 0.0).astype(np.float64))
