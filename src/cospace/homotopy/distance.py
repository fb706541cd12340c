"""Affine distance: the largest row error of the best map from source to target, as an interval."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from cospace._numbers import check_number, check_seed, check_whole
from cospace.errors import InputError, UnknownNameError
from cospace.homotopy.minmax import LEAST_GAP, LIMIT, Progress
from cospace.homotopy.prepare import Source, Target, as_space
from cospace.homotopy.result import AffineDistance, Errors, Interval
from cospace.homotopy.solve import GROUPS, Group, Solution, Task, check_group, row_errors_of, solve
from cospace.maps.affine import AffineMap
from cospace.result import plain
from cospace.space import matched

__all__ = ["affine_distance", "check_options", "distance_between"]

_LISTED = 10
_FEW = 5
_OVERFITTED = 1.25
_NOTHING = 1e-9
"""Share of the target's radius below which no error is worth a warning."""
_HOW = {
    "affine": "least squares, weights multiplied by powers of squared errors, Newton steps",
    "translation": "weights multiplied by powers of squared errors, Newton steps",
    "orthogonal": "Procrustes, rows reweighted by squared errors, descent",
    "low_rank": "reduced-rank regression, rows reweighted by squared errors, descent",
}


def affine_distance(
    *,
    target: Any,
    source: Any,
    gap: float = 0.01,
    group: Group = "affine",
    rank: int | None = None,
    reduced: int | None = None,
    held_out: float | None = 0.2,
    rng: int = 0,
    limit: int = LIMIT,
    progress: Progress | None = None,
) -> AffineDistance:
    r"""How far the target is from the nearest affine image of the source: a sup norm, not a mean.

    ``min over maps of max_i ||target_i - map(source_i)||_2``, the maximum over rows (texts), the minimum
    over all affine maps, or those of a smaller group. Not symmetric. It is solved to an interval that
    is proven on both ends: the map that is returned attains ``upper``, and no map goes below
    ``lower``. Maps use every direction of the source above 1e-10 of its first (columns at norm 1, so
    that their scale costs nothing); where some are dropped that are no rounding, both ends are those of
    maps that do not use them, and a warning says so.

    Equivalent to: the second-order cone program ``min t such that ||target_i - map(source_i)|| <= t``.
    In one dimension it is Chebyshev's best approximation; a source that tells nothing (all its rows are
    the same) gives the radius of the smallest ball around the target's rows.

    Parameters
    ----------
    target, source
        Spaces, or arrays of shape (n, d) and (n, p). Matched by id; bare arrays by position.
    gap
        Relative gap ``upper / lower - 1`` at which to stop, from 0.0001 to below 1.
    group
        ``affine``: every matrix and offset (that it may be singular changes no infimum).
        ``translation``: offset alone. ``orthogonal``: rotations and reflections (for a narrower source,
        maps that keep all distances), with offset. ``low_rank``: affine maps of rank at most ``rank``.
    rank
        Of ``low_rank`` maps.
    reduced
        Let maps see so many leading principal components of the source alone: the way out where
        rows are few.
    held_out
        Share of rows on which the fit, repeated on the other rows, is scored; None for no such fit.
    rng
        Seed of that split.
    limit
        Most steps; a gap that is still open is told.
    progress
        Called as (what, done, in all).

    Returns
    -------
    AffineDistance
        0 (within rounding) for a target that is an affine image of the source; in units of the
        target, and divided by its radius. Cost about 20 steps of 5 n r d; memory beside the rows: a
        centred copy of the target, a basis of the source, and about one more copy of both.

    Raises
    ------
    InputError
        For options that make no sense, rows that are no finite table, or widths that the group
        cannot map.
    RowMismatchError
        For rows that are not the same texts.
    UndefinedMeasureError
        When ``n <= rank(source) + 1`` (a map then meets every row), or all rows of the target are the
        same.

    References
    ----------
    The affine intrinsic distance of "On Affine Homotopy between Language Encoders" (2024). The paper
    descends by gradients on a batch maximum; here the convex problem is solved (see
    ``cospace.homotopy.legacy`` for the published recipe).

    Examples
    --------
    The best line through heights 0, 0 and 1 over 0, 1 and 2 misses each by a quarter; the best
    constant misses by a half:

    >>> found = affine_distance(target=[[0.0], [0.0], [1.0]], source=[[0.0], [1.0], [2.0]], held_out=None)
    >>> abs(found.upper - 0.25) < 0.0026, abs(found.normalised.upper - 0.5) < 0.02
    (True, True)
    """
    task = Task(group, rank, gap, limit)
    check_options(task, reduced, held_out, rng)
    pair = matched([as_space(target, "target"), as_space(source, "source")])
    goal, given = pair.spaces
    return distance_between(
        Target.of(goal, gap),
        Source(given, reduced),
        task,
        by=pair.by,
        held_out=held_out,
        rng=rng,
        progress=progress,
    )


class _Tested(NamedTuple):
    """A fit on some rows, scored on the others."""

    errors: Errors | None = None
    trained_on: int | None = None
    note: str | None = None


def distance_between(
    target: Target,
    source: Source,
    task: Task,
    *,
    by: str,
    held_out: float | None = None,
    rng: int = 0,
    progress: Progress | None = None,
) -> AffineDistance:
    """Affine distance of prepared sides whose rows are matched ``by`` ids or position.

    Parameters
    ----------
    target, source
        Prepared sides.
    task
        Group of maps, gap, limit.
    by
        How rows were matched.
    held_out
        Share of rows held out; None for none.
    rng
        Seed of the split.
    progress
        Called as (what, done, in all).

    Raises
    ------
    InputError
        For widths or ranks that the group cannot have.
    UndefinedMeasureError
        When a map meets every row whatever the target.
    """
    goal, given = target.space, source.space
    # The fit on some rows comes first, so that only one basis is in memory at a time.
    tested = _Tested()
    if held_out is not None:
        tested = _test(target, source, task, held_out, rng, progress)
    basis = source.basis
    check_group(task, source, goal.width, basis)
    found = solve(task, target.rows, source, basis, progress=_named(progress, "all rows"))
    closed = bool(found.upper <= found.lower * (1.0 + task.gap) + found.rounding)
    lower = min(found.lower, found.upper)
    # With all constants in the group no distance exceeds the radius.
    most = 1.0 if task.group in ("affine", "low_rank") else np.inf
    normalised = Interval(
        lower / target.radius.upper,
        max(min(found.upper / target.radius.lower, most), lower / target.radius.upper),
    )
    if not basis.rank:  # maps of a single point are constants: by definition the radius
        normalised = Interval(1.0, 1.0)
    reach = np.flatnonzero(found.errors >= lower)
    reach = reach[np.argsort(-found.errors[reach], kind="stable")]
    return AffineDistance(
        target=goal.name,
        source=given.name,
        group=task.group,
        lower=lower,
        upper=found.upper,
        normalised=normalised,
        radius=target.radius,
        closed=closed,
        in_sample=Errors.of(found.errors),
        held_out=tested.errors,
        trained_on=tested.trained_on,
        worst_ids=tuple(str(i) if goal.ids is None else goal.ids[i] for i in reach[:_LISTED]),
        attaining=len(reach),
        n=goal.n,
        width_source=given.width,
        width_target=goal.width,
        rank_source=basis.rank,
        rank_target=target.rank,
        tolerance=basis.rtol,
        gap=task.gap,
        method=_HOW[task.group],
        steps=found.steps,
        settings={
            "rank": task.rank,
            "reduced": source.reduced,
            "held_out": held_out,
            "seed": rng,
            "limit": task.limit,
            "dropped": basis.dropped,
            "matched_by": by,
            "steps": {"target": list(goal.steps), "source": list(given.steps)},
        },
        warnings=tuple(_notes(target, source, task, by, tested, found, closed=closed)),
        provenance=plain(
            {
                "facts": {"target": dict(goal.facts), "source": dict(given.facts)},
                "fingerprints": {"target": goal.fingerprint, "source": given.fingerprint},
                "versions": {
                    name: importlib.metadata.version(name) for name in ("cospace", "numpy", "scipy")
                },
            }
        ),
        map=AffineMap(found.map.matrix, found.map.center, found.map.image + target.mean),
    )


def _test(
    target: Target,
    source: Source,
    task: Task,
    share: float,
    rng: int,
    progress: Progress | None,
) -> _Tested:
    """Fit on some rows, score on the others."""
    n = target.space.n
    order = np.random.default_rng(rng).permutation(n)
    count = round(share * n)
    held, kept = np.sort(order[:count]), np.sort(order[count:])
    few = f"No errors on held-out rows: of {n} rows {len(kept)} would be left to fit"
    if not count or len(kept) < 2:
        return _Tested(note=f"{few} and {count} to score.")
    basis = source.part(kept)
    if task.group in ("affine", "low_rank") and len(kept) <= basis.rank + 1:
        return _Tested(note=f"{few}, and maps of rank {basis.rank} meet them all.")
    check_group(task, source, target.space.width, basis)
    found = solve(
        task,
        target.rows[kept],
        source,
        basis,
        kept=kept,
        progress=_named(progress, "without held-out rows"),
    )
    errors, _ = row_errors_of(target.rows[held], source, held, found.map)
    return _Tested(Errors.of(errors), len(kept))


def _named(progress: Progress | None, what: str) -> Progress | None:
    if progress is None:
        return None
    return lambda step, done, total: progress(f"{what}: {step}", done, total)


def _notes(
    target: Target,
    source: Source,
    task: Task,
    by: str,
    tested: _Tested,
    found: Solution,
    *,
    closed: bool,
) -> Iterator[str]:
    goal, given = target.space, source.space
    n, rank, dropped = goal.n, source.basis.rank, source.basis.dropped
    if by == "position":
        yield "Rows are matched by position: the arrays have no ids, so nothing checks that row i is the same text."
    if not rank:
        yield (
            f"All rows of {given.name} are the same: it tells nothing of the target, and the distance is the "
            "target's radius."
        )
    if dropped and task.group in ("affine", "low_rank"):
        yield (
            f"{dropped} direction{'s' * (dropped > 1)} of {given.name} below {source.basis.rtol:g} of its first, "
            "but above rounding, dropped: the interval is that of maps that do not use them."
        )
    if not closed and task.group in ("affine", "translation"):
        yield (
            f"The gap was still open after {found.steps} steps: the interval is proven, but wider than "
            "asked for; raise limit."
        )
    elif not closed:
        yield (
            f"{task.group.replace('_', '-').capitalize()} maps form no convex set: the interval is proven, "
            "but its ends need not meet; lower is the best weighted error over all of them."
        )
    if task.group in ("affine", "low_rank") and n < _FEW * rank:
        yield f"{n} rows for rank {rank}: fewer than {_FEW} times the rank make the distance small by dimension alone."
    if tested.note is not None:
        yield tested.note
    if (
        tested.errors is not None
        and tested.errors.maximum > _OVERFITTED * found.upper > found.rounding
        and tested.errors.maximum > _NOTHING * target.radius.upper
    ):
        yield (
            f"On rows that were not fitted the largest error is {tested.errors.maximum:.4g}, in-sample "
            f"{found.upper:.4g}: the map does not carry over to new texts as it fits these."
        )
    repeated = max(
        (space.duplicates(), space.name) for space in ((goal, given) if rank else (goal,))
    )
    if repeated[0]:
        yield (
            f"{repeated[1]} has {repeated[0]} repeated rows of {n}: for a maximum they count once, but held-out "
            "rows may be copies of fitted ones."
        )


def check_options(task: Task, reduced: int | None, held_out: float | None, rng: int = 0) -> None:
    """Refuse options that make no sense.

    Raises
    ------
    InputError
        For a gap, rank, number, share or seed out of range, or of another kind.
    UnknownNameError
        For an unknown group.
    """
    if task.group not in GROUPS:
        raise UnknownNameError.among(str(task.group), GROUPS, "group of maps")
    check_number(gap=task.gap)
    check_number(held_out=held_out, or_none=True)
    check_whole(limit=task.limit)
    check_whole(rank=task.rank, reduced=reduced, or_none=True)
    check_seed(rng)
    if not LEAST_GAP <= task.gap < 1.0:
        raise InputError(f"gap is {task.gap}; from {LEAST_GAP} to below 1 is expected.")
    if (task.rank is None) == (task.group == "low_rank"):
        wanted = "needs rank=, the most rank of a map" if task.rank is None else "takes no rank"
        raise InputError(
            f"group={task.group!r} {wanted}: rank goes with group='low_rank', and only with it."
        )
    if task.rank is not None and task.rank < 1:
        raise InputError(f"rank is {task.rank}; at least 1 is expected.")
    if reduced is not None and reduced < 1:
        raise InputError(f"reduced is {reduced}; at least 1 principal component is expected.")
    if held_out is not None and not 0.0 < held_out < 1.0:
        raise InputError(
            f"held_out is {held_out}; a share of the rows between 0 and 1 is expected, or None."
        )
    if task.limit < 1:
        raise InputError(f"limit is {task.limit}; at least 1 step is expected.")
