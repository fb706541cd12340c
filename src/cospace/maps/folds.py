"""Which rows a fit does not see."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, UndefinedMeasureError

__all__ = ["fold_numbers"]


def fold_numbers(n: int, groups: tuple[str, ...] | None, folds: int) -> npt.NDArray[np.int64]:
    """Fold of every row: row i in fold i mod ``folds``; groups stay whole where there are any.

    Groups go, the largest first, into the fold that holds the fewest rows.

    Raises
    ------
    InputError
        For fewer than 2 folds, or fewer groups than folds.
    UndefinedMeasureError
        For fewer than 2 rows in a fold.

    Examples
    --------
    >>> fold_numbers(5, None, 2).tolist(), fold_numbers(4, ("a", "b", "a", "c"), 2).tolist()
    ([0, 1, 0, 1, 0], [0, 1, 0, 1])
    """
    if folds < 2:
        raise InputError(f"{folds} folds were asked for; at least 2 are needed.")
    if n < 2 * folds:
        raise UndefinedMeasureError(
            f"{folds} folds of {n} rows: at least {2 * folds} rows are needed."
        )
    if groups is None:
        return np.asarray(np.arange(n) % folds, dtype=np.int64)
    counts = Counter(groups)
    if len(counts) < folds:
        raise InputError(
            f"The rows are in {len(counts)} groups, too few for {folds} folds of whole groups: ask for fewer folds."
        )
    size, home = [0] * folds, {}
    for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        home[name] = size.index(min(size))
        size[home[name]] += count
    return np.array([home[name] for name in groups], dtype=np.int64)
