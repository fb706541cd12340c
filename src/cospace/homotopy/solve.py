"""One fit of one group of maps, on all rows or on some."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cospace._arrays import to_numpy
from cospace.errors import InputError, UndefinedMeasureError
from cospace.homotopy.basis import Basis, Floats, blocks
from cospace.homotopy.groups import lawson, low_rank, orthogonal
from cospace.homotopy.minmax import MinMax, Progress, minimise_maximum
from cospace.homotopy.prepare import Source
from cospace.maps.affine import AffineMap

__all__ = ["GROUPS", "Group", "Rows", "Solution", "Task", "check_group", "row_errors_of", "solve"]

Group = Literal["affine", "translation", "orthogonal", "low_rank"]
GROUPS: tuple[Group, ...] = ("affine", "translation", "orthogonal", "low_rank")
"""Groups of maps, by name."""
Rows = npt.NDArray[np.intp]

_CONSTRAINED_LIMIT = 100


class Task(NamedTuple):
    """What is to be solved."""

    group: Group
    """Group of maps."""
    rank: int | None
    """Of low-rank maps."""
    gap: float
    """Relative gap at which to stop."""
    limit: int
    """Most steps."""


class Solution(NamedTuple):
    """A map and the interval of the optimum."""

    map: AffineMap
    """From source rows to target rows as they were given to ``solve``."""
    lower: float
    """Proven."""
    errors: Floats
    """l2 error of every row."""
    steps: int
    """Weighted fits."""
    rounding: float
    """Errors up to this cannot be told from 0."""

    @property
    def upper(self) -> float:
        """Largest row error."""
        return float(self.errors.max())


def check_group(task: Task, source: Source, width: int, basis: Basis) -> None:
    """Refuse what a group of maps cannot do, or where it would mean nothing.

    Parameters
    ----------
    task
        What is to be solved.
    source
        Its source.
    width
        Width of the target.
    basis
        Of the source, on the rows that are fitted.

    Raises
    ------
    InputError
        For widths or ranks that the group cannot have.
    UndefinedMeasureError
        When a map meets every row whatever the target.
    """
    given = source.space
    if task.group == "translation" and width != given.width:
        raise InputError(
            f"{given.name} has width {given.width} and the target {width}: a translation needs equal "
            "widths; take group='affine' or 'orthogonal'."
        )
    if task.group == "orthogonal" and given.width > width:
        raise InputError(
            f"{given.name} has width {given.width} and the target {width}: no orthogonal map leads to "
            "fewer coordinates; reduce the source first (space.reduce), or swap the sides."
        )
    if task.group in ("affine", "low_rank") and basis.n <= basis.rank + 1:
        raise UndefinedMeasureError(
            f"{given.name} has rank {basis.rank} on {basis.n} rows: an affine map then meets every row "
            "whatever the target, and the distance is 0 by dimension alone. At least "
            f"{basis.rank + 2} rows are needed, 5 to 10 times the rank are better; or let maps see "
            "fewer principal components of the source: reduced=."
        )
    if task.group == "low_rank" and (task.rank or 0) >= basis.rank:
        raise InputError(
            f"rank is {task.rank} and {given.name} has rank {basis.rank}: such maps are all affine "
            "maps; take group='affine', or a smaller rank."
        )


def solve(
    task: Task,
    target: Floats,
    source: Source,
    basis: Basis,
    *,
    kept: Rows | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Find the best map of the group, and the interval of the optimum.

    Parameters
    ----------
    task
        Group, gap, limit.
    target
        Rows, shape (n, d), near their mean.
    source
        The source with all its rows.
    basis
        Of the rows that are fitted.
    kept
        Their numbers; None for all.
    progress
        Called as (what, done, in all).
    """
    n = len(target)
    eps = float(np.finfo(float).eps)
    if task.group == "translation":
        apart = target - _centred(source, basis, kept)
        moved = _minimise(apart, Basis.constant(n), task, progress)
        found = AffineMap(np.eye(target.shape[1]), basis.mean, moved.coefficients[-1] * n**-0.5)
        return Solution(found, moved.lower, moved.errors, moved.steps, moved.rounding)
    fit: MinMax | None = None
    # An orthogonal map uses the directions that were dropped as well.
    if n > basis.rank + 1 and not (task.group == "orthogonal" and basis.dropped):
        fit = _minimise(target, basis, task, progress)
    if task.group == "affine" and fit is not None:
        matrix = basis.back @ fit.coefficients[:-1]
        image = fit.coefficients[-1] * n**-0.5
        found = AffineMap(matrix, basis.mean, image)
        errors, reach = row_errors_of(target, source, kept, found)
        blur = basis.blur(matrix, reach, float(errors.max()))
        # In the coordinates of the source small directions are blown up, and so is their rounding.
        rounding = eps * (len(matrix) + 2) * float(reach @ np.linalg.norm(matrix, axis=1))
        lower = max(0.0, fit.lower - blur)
        return Solution(found, lower, errors, fit.steps, fit.rounding + rounding + blur)
    if task.group == "orthogonal":
        rows = _centred(source, basis, kept)
        maps = orthogonal(target, rows)
    else:
        rows = basis.q[:, :-1]
        maps = low_rank(target, rows, task.rank or basis.rank)
    weights = np.full(n, 1.0 / n) if fit is None else fit.weights
    made = lawson(
        target,
        rows,
        maps,
        weights,
        gap=task.gap,
        limit=min(task.limit, _CONSTRAINED_LIMIT),
        progress=progress,
    )
    # Affine maps contain these, so that their bound holds as well.
    lower = made.lower if fit is None else max(made.lower, fit.lower)
    steps = made.steps + (0 if fit is None else fit.steps)
    if task.group == "orthogonal":
        found = AffineMap(made.matrix, basis.mean, made.image)
        return Solution(found, lower, made.errors, steps, made.rounding)
    matrix = basis.back @ made.matrix
    found = AffineMap(matrix, basis.mean, made.image)
    errors, reach = row_errors_of(target, source, kept, found)
    blur = basis.blur(matrix, reach, float(errors.max()))
    rounding = eps * (len(matrix) + 2) * float(reach @ np.linalg.norm(matrix, axis=1))
    return Solution(found, max(0.0, lower - blur), errors, steps, made.rounding + rounding + blur)


def row_errors_of(
    target: Floats, source: Source, kept: Rows | None, found: AffineMap
) -> tuple[Floats, Floats]:
    """l2 error of every row under a map, in the source's coordinates; and how far each of these reaches."""
    rows = to_numpy(source.space.rows)
    kept = np.arange(len(rows)) if kept is None else kept
    errors, reach = np.empty(len(target)), np.zeros(rows.shape[1])
    for block in blocks(len(target)):
        here = rows[kept[block]].astype(np.float64) - found.center
        reach = np.maximum(reach, np.abs(here).max(axis=0))
        errors[block] = np.linalg.norm(target[block] - found.image - here @ found.matrix, axis=1)
    return errors, reach


def _minimise(target: Floats, basis: Basis, task: Task, progress: Progress | None) -> MinMax:
    return minimise_maximum(target, basis, gap=task.gap, limit=task.limit, progress=progress)


def _centred(source: Source, basis: Basis, kept: Rows | None) -> Floats:
    rows = to_numpy(source.space.rows)
    part = rows if kept is None else rows[kept]
    found: Floats = part - basis.mean
    return found
