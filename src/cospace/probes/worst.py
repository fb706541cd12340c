"""Worst-case extrinsic distance: the classifier of a norm-capped family that is imitated worst."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from cospace._numbers import check_number
from cospace.errors import InputError
from cospace.measures.ridge import gulp_distance
from cospace.probes.bound import BoundCheck, check_bound, logit_rounding
from cospace.probes.certificate import certified_error
from cospace.probes.classifier import Classifier
from cospace.probes.divergence import DIAMETER, Divergence, attainable, divergence
from cospace.probes.fixed import AffineMap, affine_error
from cospace.probes.imitation import Source, constant_error
from cospace.probes.labels import Split, as_space, numbers_of, row_names
from cospace.probes.probe import Probe, axes_of, split_positions
from cospace.probes.search import Candidate, Hunt, Search, TraceStep
from cospace.result import Result
from cospace.space import matched

__all__ = ["WorstCase", "worst_case"]


@dataclass(frozen=True, eq=False)
class WorstCase(Result):
    """The classifier of the family that was found to be imitated worst."""

    kind: ClassVar[str] = "worst_case"

    target: str
    """Name of the space that the family reads."""
    source: str
    """Name of the space that imitates."""
    cap: float
    """Largest ``||psi'_lin||_2`` of the family, on raw coordinates of the target. Without it the
    supremum says nothing: any difference can be blown up."""
    value: float
    """Distance of the best imitation found for the worst classifier found: the supremum as far as it
    was found, in-sample. A lower bound of the supremum where the imitation is optimal, which
    ``certified`` says."""
    certified: float
    """What no imitation of that classifier from the source's components can stay below, proved by
    linear programs: a lower bound of the supremum whatever the optimiser did. Within about 0.1 % of
    ``value`` for two classes, looser for more."""
    classifier: Classifier
    """The worst classifier found, on raw rows of the target."""
    imitation: Classifier
    """Its best imitation found, on raw rows of the source."""
    origin: str
    """Where the classifier comes from."""
    in_sample: Divergence
    """Both on the rows of the search."""
    held_out: Divergence | None
    """Both on rows that nothing was fitted on: not a supremum, only how this pair does there."""
    constant: float
    """Distance in-sample of the best constant probabilities from that classifier."""
    attainable: float
    """``sqrt(1 - 1/C)``: the most it can be, for any cap."""
    diameter: float
    """``sqrt(2)``: the largest distance of two probability vectors."""
    check: BoundCheck | None
    """The value beside its bound, where an affine map was given: ``cap / 2`` times the largest error
    of that map on the same rows. It bounds the supremum itself."""
    gulp: float
    """GULP (penalty 0.01) of the same rows: its relative in closed form, over ridge regressions."""
    trace: tuple[TraceStep, ...]
    """What was tried, in order."""
    settings: Mapping[str, Any]
    """The search, rows matched by ids or position, widths."""

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary."""
        return [
            {
                "target": self.target,
                "source": self.source,
                "cap": self.cap,
                "value": self.value,
                "certified": self.certified,
                "constant": self.constant,
                "attainable": self.attainable,
                "origin": self.origin,
                "classes": len(self.classifier.classes),
                "n": self.in_sample.n,
                "tv_sup": self.in_sample.tv_sup,
                "mean": self.in_sample.mean,
                "held_out": None if self.held_out is None else self.held_out.sup,
                "affine_error": None if self.check is None else self.check.distance,
                "bound": None if self.check is None else self.check.bound,
                "gulp": self.gulp,
            }
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        values["classifier"] = Classifier(**data["classifier"])
        values["imitation"] = Classifier(**data["imitation"])
        values["in_sample"] = Divergence.from_dict(data["in_sample"])
        held_out = data["held_out"]
        values["held_out"] = None if held_out is None else Divergence.from_dict(held_out)
        values["check"] = None if data["check"] is None else BoundCheck(**data["check"])
        values["trace"] = tuple(TraceStep(**step) for step in data["trace"])
        return cls(**values)


def worst_case(
    *,
    target: Any,
    source: Any,
    cap: float,
    tasks: Mapping[str, Probe | Classifier] | None = None,
    split: Split | None = None,
    affine: tuple[Any, Any] | None = None,
    search: Search | None = None,
) -> WorstCase:
    """How badly the source imitates the worst classifier of a norm-capped family on the target.

    ``sup_psi' min_psi max_i ||softmax(psi'(h_i)) - softmax(psi(g_i))||_2`` over all affine psi'
    with ``||psi'_lin||_2 <= cap``, h target rows, g source rows of the same texts. Tried are: the
    probes of ``tasks``, capped and at the cap; random directions at the cap; directions that the
    least-squares map misses; and projected gradient ascents from the best of these. After every
    step the imitation is solved again on the same rows.

    Parameters
    ----------
    target, source
        Spaces or arrays of shape (n, d) and (n, p); row i is the same text in both.
    cap
        Largest spectral norm of the linear part, in 1 / (unit of the target's rows), above 0.
    tasks
        Name -> probe or classifier of raw target rows.
    split
        Which ids are searched on and which held out; by default all are searched on.
    affine
        ``(matrix, offset)`` of an affine map from raw source rows to raw target rows: classifiers
        after it are among the candidates, so that the value is at most ``cap / 2`` times the map's
        largest error on the same rows.
    search
        How long to look; by default :class:`Search`.

    Returns
    -------
    WorstCase
        ``value`` and ``certified`` are what was found of the supremum, from below. They grow with
        the cap, up to ``attainable``. The search is confined to the leading principal components
        of the target, and the imitation to those of the source (``search.width``).

    Raises
    ------
    InputError
        For a cap that is not above 0, a task of another width, nothing to try, too few rows.
    RowMismatchError
        For rows that are not the same texts, or a split that does not belong to them.
    ContractError
        Where the bound is exceeded: a fault of the program.

    Examples
    --------
    A target that is the source at twice its size hides nothing from it:

    >>> g = [[float(i)] for i in range(-10, 10)]
    >>> found = worst_case(
    ...     target=[[2 * x] for (x,) in g], source=g, cap=1.0, affine=([[2.0]], [0.0]),
    ...     search=Search(random=2, ascents=1, steps=2),
    ... )
    >>> found.value < 1e-12
    True
    """
    check_number(cap=cap)
    if not (math.isfinite(cap) and cap > 0.0):
        raise InputError(
            f"The cap is {cap}; a finite number above 0 is needed: without it any difference can be blown up."
        )
    plan = search or Search()
    aligned = matched([as_space(target, "target"), as_space(source, "source")])
    h_space, g_space = aligned.spaces
    h, g = numbers_of(h_space), numbers_of(g_space)
    seen, unseen = split_positions(h_space, split)
    ids = row_names(h_space)
    known = {
        name: task.classifier if isinstance(task, Probe) else task
        for name, task in (tasks or {}).items()
    }
    for name, task in known.items():
        if task.width != h.shape[1]:
            raise InputError(
                f"The probe of {name} reads {task.width} coordinates and {h_space.name} has {h.shape[1]}: give "
                "probes of the target."
            )
    move = None if affine is None else AffineMap(*affine)
    error = None if move is None else affine_error(move, g[seen], h[seen])
    hunt = Hunt(
        axes=axes_of(h[seen], plan.width, name=h_space.name),
        rows=h[seen],
        source=Source.of(g[seen], plan.width, name=g_space.name),
        ids=[ids[i] for i in seen],
        cap=float(cap),
        affine=None if move is None else (np.asarray(move.matrix), np.asarray(move.offset)),
    )
    best = _search(hunt, known, plan)
    worst, copy = hunt.classifier(best), best.imitation.classifier
    classes = worst.classes
    wanted, copied = worst.probabilities(h), copy.probabilities(g)

    def over(rows: Any, what: Any) -> Divergence:
        return divergence(
            wanted[rows], copied[rows], rows=what, ids=[ids[i] for i in rows], classes=classes
        )

    in_sample = over(seen, "in-sample")
    check = None
    if move is not None and error is not None:
        composed = worst.after(*move)
        check = check_bound(
            value=in_sample.sup,
            norm=float(cap),
            distance=error,
            rounding=logit_rounding(worst.norm, h[seen]) + logit_rounding(composed.norm, g[seen]),
        ).require()
    proved = certified_error(
        hunt.source.design, wanted[seen], best.imitation.weight, best.imitation.offset
    )
    return WorstCase(
        target=h_space.name,
        source=g_space.name,
        cap=float(cap),
        value=in_sample.sup,
        certified=min(proved, in_sample.sup),
        classifier=worst,
        imitation=copy,
        origin=best.origin,
        in_sample=in_sample,
        held_out=over(unseen, "held out") if len(unseen) else None,
        constant=constant_error(wanted[seen]),
        attainable=attainable(len(classes)),
        diameter=DIAMETER,
        check=check,
        gulp=gulp_distance(g[seen], h[seen]),
        trace=tuple(hunt.trace),
        settings={
            "matched_by": aligned.by,
            "target_width": hunt.axes.width,
            "target_share": hunt.axes.share,
            "source_width": hunt.source.axes.width,
            "source_share": hunt.source.axes.share,
            "random": plan.random,
            "ascents": plan.ascents,
            "steps": plan.steps,
            "rng": plan.rng,
        },
    )


def _search(hunt: Hunt, tasks: Mapping[str, Classifier], plan: Search) -> Candidate:
    """Try all starts, ascend from the best, and settle what they found."""
    found: list[Candidate] = []
    for name, task in tasks.items():
        weight = task.weight @ hunt.axes.basis
        offset = task.weight @ hunt.axes.mean + task.offset
        found.append(hunt.try_start(f"task {name}", weight, offset, task.classes))
        size = np.linalg.norm(weight - weight.mean(axis=0), 2)
        if 0.0 < size < hunt.cap:
            grow = hunt.cap / size
            found.append(
                hunt.try_start(
                    f"task {name} at the cap", weight * grow, offset * grow, task.classes
                )
            )
    count = plan.classes or max((len(task.classes) for task in tasks.values()), default=2)
    classes = tuple(f"class {i}" for i in range(count))
    found += hunt.try_random(plan.random, classes, np.random.default_rng(plan.rng))
    found += hunt.try_residuals(classes)
    if not found:
        raise InputError(
            "There is no classifier to try: no task, no random direction, and an affine map of the source meets the "
            "target exactly. Ask for at least one random direction."
        )
    found.sort(key=lambda candidate: -candidate.value)
    found += [hunt.ascend(start, plan.steps) for start in found[: plan.ascents]]
    settled = [
        hunt.settle(each) for each in sorted(found, key=lambda c: -c.value)[: plan.ascents + 1]
    ]
    return max(settled, key=lambda candidate: candidate.value)
