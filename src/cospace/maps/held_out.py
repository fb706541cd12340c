"""What a map does on rows that its fit did not see."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cospace.linalg import mean_row
from cospace.maps.affine import Floats
from cospace.maps.folds import fold_numbers
from cospace.maps.solve import Choice, solve

__all__ = ["HeldOut", "held_out", "hits", "wilson"]

_BLOCK = 1024
_EQUAL = 1e-12


@dataclass(frozen=True)
class HeldOut:
    """Scores over all folds, each row scored by the fit that did not see it."""

    r2: float
    """``1 - sum ||y - f(x)||^2 / sum ||y - ybar||^2``, ybar the mean of the rows of the fit."""
    retrieval: float
    """Share of rows whose image is nearest to their own target among the unseen rows of the fold,
    by cosine about the mean of the rows of the fit; of t equally near ones each counts 1/t."""
    low: float
    """Lower end of the 95 % interval of retrieval (Wilson), as if rows were independent."""
    high: float
    """Upper end."""
    chance: float
    """Retrieval by chance: 1 over the number of unseen rows, averaged over rows."""
    n: int
    """Number of rows scored."""
    folds: int
    """Number of folds."""
    by_group: bool
    """Whether groups were kept whole."""


def held_out(
    x: Floats, y: Floats, choice: Choice, groups: tuple[str, ...] | None, folds: int
) -> HeldOut:
    """Refit without each fold in turn, and score the fold; a penalty is chosen anew each time."""
    fold = fold_numbers(len(x), groups, folds)
    lost = total = found = chance = 0.0
    for number in range(folds):
        out = fold == number
        left = (
            None if groups is None else tuple(g for g, o in zip(groups, out, strict=True) if not o)
        )
        affine = solve(x[~out], y[~out], choice, left).affine
        mean = mean_row(y[~out])
        guess, wanted = affine.points(x[out]), y[out]
        lost += float(np.sum((wanted - guess) ** 2))
        total += float(np.sum((wanted - mean) ** 2))
        found += hits(guess - mean, wanted - mean)
        chance += 1.0
    n = len(x)
    low, high = wilson(found, n)
    r2 = 1.0 - lost / total if total else float("nan")
    return HeldOut(r2, found / n, low, high, chance / n, n, folds, groups is not None)


def hits(guess: Floats, wanted: Floats) -> float:
    """How many rows of ``guess`` have their own row of ``wanted`` nearest, by cosine.

    Examples
    --------
    >>> import numpy as np
    >>> targets = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> hits(targets, targets)
    2.0
    """
    targets = _unit(wanted)
    found = 0.0
    for start in range(0, len(guess), _BLOCK):
        rows = slice(start, start + _BLOCK)
        near = _unit(guess[rows]) @ targets.T
        best = near.max(axis=1)
        top = near >= best[:, None] - _EQUAL
        mine = top[np.arange(len(near)), np.arange(start, start + len(near))]
        found += float(np.sum(mine / top.sum(axis=1)))
    return found


def wilson(found: float, n: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (Wilson 1927).

    Examples
    --------
    >>> [round(end, 3) for end in wilson(0, 5)]
    [0.0, 0.434]
    """
    share = found / n
    middle = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n))
    whole = 1.0 + z * z / n
    return max((middle - half) / whole, 0.0), min((middle + half) / whole, 1.0)


def _unit(rows: Floats) -> Floats:
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(size > 0.0, size, 1.0))
