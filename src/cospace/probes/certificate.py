"""A lower bound on how well any affine-softmax imitation can do, by linear programs."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt

from cospace.probes.classifier import Matrix, softmax
from cospace.probes.imitation import row_errors

__all__ = ["certified_error"]

Rows = npt.NDArray[np.intp]

_ROWS_A_UNKNOWN = 6
_ROUNDS = 30
_CLEAR = 1e-6
_STEPS = (0.999, 0.99, 0.95, 0.9)
_HALVINGS = 6


def certified_error(design: Matrix, wanted: Matrix, weight: Matrix, offset: Matrix) -> float:
    """Largest row error that no imitation can stay below, near that of the imitation given.

    Row errors of at most t bound the difference of any two logits from both sides, linearly in
    the imitation. Where a linear program finds no imitation within these bounds, on the rows on
    which the given one errs most, there is none within t. For two classes the bounds say all
    that t says, so that the value meets the infimum; for more they say less, and it stays below.

    Parameters
    ----------
    design
        Rows, shape (n, k).
    wanted
        Probabilities of the target, shape (n, C).
    weight, offset
        A good imitation, shapes (C, k) and (C,): it says which rows matter and where to look.

    Returns
    -------
    float
        At least 0, at most the largest row error of the given imitation.

    Examples
    --------
    Two equal rows whose targets differ: the best is halfway, sqrt(2) / 4 from each.

    >>> import numpy as np
    >>> found = certified_error(
    ...     np.zeros((2, 1)), np.array([[0.25, 0.75], [0.75, 0.25]]), np.zeros((2, 1)), np.zeros(2)
    ... )
    >>> round(float(found / np.sqrt(2)), 3)
    0.25
    """
    errors = row_errors(softmax(design @ weight.T + offset), wanted)
    sup = float(errors.max())
    x = np.column_stack([design, np.ones(len(design))])
    first = np.argsort(-errors, kind="stable")[: _ROWS_A_UNKNOWN * _unknowns(x, wanted)]
    high = sup
    for step in _STEPS:
        if _impossible(x, wanted, step * sup, first):
            return step * sup
        high = step * sup
    low = 0.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _impossible(x, wanted, middle, first) else (low, middle)
    return low


def _unknowns(x: Matrix, wanted: Matrix) -> int:
    return int(x.shape[1] * (wanted.shape[1] - 1))


def _impossible(x: Matrix, wanted: Matrix, error: float, first: Rows) -> bool:
    """Whether no affine logits keep every row within ``error``, by what it says on pairs of classes.

    The program begins with the rows ``first``; those that its solution breaks join it.
    """
    pairs, limits = _limits(wanted, error)
    rows = first
    for _ in range(_ROUNDS):
        found = _solve(x[rows], pairs, limits[:, rows])
        if found is None:
            return False
        slack, logits = found[0], x @ found[1].T
        if slack > _CLEAR:
            return True
        broken = np.full(len(x), -np.inf)
        for (up, down), limit in zip(pairs, limits, strict=True):
            broken = np.maximum(broken, logits[:, up] - logits[:, down] - limit)
        broken[rows] = -np.inf
        worst = np.argsort(-broken, kind="stable")[: 2 * _unknowns(x, wanted)]
        more = worst[broken[worst] > _CLEAR]
        if not len(more):
            return False
        rows = np.concatenate([rows, more])
    return False


def _limits(wanted: Matrix, error: float) -> tuple[list[tuple[int, int]], Matrix]:
    """Ordered pairs of classes, and how far the logit of the first may exceed that of the second."""
    classes = wanted.shape[1]
    reach = error * np.sqrt(1.0 - 1.0 / classes)  # most that one probability can move
    pairs = list(permutations(range(classes), 2))
    limits = np.full((len(pairs), len(wanted)), np.inf)
    for limit, (up, down) in zip(limits, pairs, strict=True):
        bounded = wanted[:, down] > reach
        top = np.minimum(wanted[bounded, up] + reach, 1.0)
        limit[bounded] = np.log(top) - np.log(wanted[bounded, down] - reach)
    return pairs, limits


def _solve(x: Matrix, pairs: list[tuple[int, int]], limits: Matrix) -> tuple[float, Matrix] | None:
    """Least excess over all limits and the weights that reach it; None where nothing is limited."""
    from scipy.optimize import linprog  # slow to load

    k, classes = x.shape[1], 1 + max(up for up, _ in pairs)
    lines = []
    for (up, down), limit in zip(pairs, limits, strict=True):
        bounded = np.isfinite(limit)
        line = np.zeros((int(bounded.sum()), classes, k))
        line[:, up], line[:, down] = x[bounded], -x[bounded]
        lines.append(line[:, 1:].reshape(len(line), (classes - 1) * k))  # the first class is 0
    table = np.concatenate(lines)
    if not len(table):
        return None
    found = linprog(
        np.append(np.zeros(table.shape[1]), 1.0),
        A_ub=np.column_stack([table, -np.ones(len(table))]),
        b_ub=limits[np.isfinite(limits)],
        bounds=[(None, None)] * table.shape[1] + [(-1.0, None)],
        method="highs",
    )
    if found.status != 0:
        return None
    weights = np.zeros((classes, k))
    weights[1:] = found.x[:-1].reshape(classes - 1, k)
    return float(found.fun), weights
