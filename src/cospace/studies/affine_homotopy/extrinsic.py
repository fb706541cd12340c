"""How far every encoder is from imitating the classifiers of every other, on one task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace.homotopy import affine_distance
from cospace.probes import Probe, Search, fit_probe, fixed_classifier, worst_case
from cospace.probes.axes import Axes, default_width
from cospace.probes.labels import numbers_of
from cospace.probes.tasks import Task
from cospace.space import Space
from cospace.studies.affine_homotopy.result import Extrinsic, TaskFacts
from cospace.studies.affine_homotopy.settings import AffineHomotopySettings
from cospace.studies.steps import Steps

__all__ = ["TaskPairs", "on_components", "task_pairs"]

Floats = npt.NDArray[np.float64]
Tick = Callable[[], None]


@dataclass(frozen=True, eq=False)
class TaskPairs:
    """All ordered pairs on one task at one depth."""

    records: tuple[Extrinsic, ...]
    """One a pair."""
    facts: tuple[TaskFacts, ...]
    """One an encoder."""
    errors: Mapping[str, Floats]
    """``fixed`` and ``worst`` -> error of every text of the fit, shape (encoders, encoders, texts)."""


def on_components(space: Space, task: Task, components: int | None) -> Space:
    """Rows on their leading principal components, which come from the training texts alone."""
    x = numbers_of(space)
    seen, _ = task.split.positions(space)
    most = components or default_width(len(seen))
    axes = Axes.fit(x[seen], name=space.name)
    if axes.width > most:
        axes = Axes.fit(x[seen], most, name=space.name)
    facts = {**space.facts, "components": axes.width}
    return Space(
        axes.coordinates(x), ids=space.ids, name=space.name, groups=space.groups, facts=facts
    )


def task_pairs(
    spaces: Mapping[str, Space],
    task: Task,
    settings: AffineHomotopySettings,
    *,
    depth: float,
    steps: Steps,
    tick: Tick,
) -> TaskPairs:
    """Imitate the probe, and the worst classifier of its norm, of every encoder from every other.

    Parameters
    ----------
    spaces
        Name -> rows of the task's texts at one depth.
    task
        The task.
    settings
        The study.
    depth
        Relative depth of all spaces.
    steps
        Where results are kept.
    tick
        Called after each pair.
    """
    names = list(spaces)
    rows = {name: on_components(spaces[name], task, settings.components) for name in names}
    labels = task.labels
    probes = {
        name: Probe.from_dict(
            steps.once(
                "probe",
                {"rows": rows[name].fingerprint, "task": _task(task), "seed": settings.seed},
                lambda name=name: fit_probe(  # type: ignore[misc]
                    rows[name],
                    labels,
                    split=task.split,
                    width=rows[name].width,
                    rng=settings.seed,
                ).to_dict(),
            )
        )
        for name in names
    }
    train = len(task.split.train)
    errors = {kind: np.zeros((len(names), len(names), train)) for kind in ("fixed", "worst")}
    records = []
    for i, source in enumerate(names):
        for j, target in enumerate(names):
            if i == j:
                continue
            parts = {
                "source": rows[source].fingerprint,
                "target": rows[target].fingerprint,
                "task": _task(task),
                "gap": settings.gap,
                "seed": settings.seed,
                "directions": settings.directions,
                "steps": settings.steps,
            }
            found = steps.once(
                "imitation",
                parts,
                lambda s=source, t=target: _pair(rows[s], rows[t], probes[t], task, settings),  # type: ignore[misc]
            )
            for kind, table in errors.items():
                table[i, j] = found.pop(f"{kind}_errors")
            records.append(
                Extrinsic(task=task.name, depth=depth, source=source, target=target, **found)
            )
            tick()
    facts = tuple(_facts(task, depth, name, probes[name]) for name in names)
    return TaskPairs(tuple(records), facts, errors)


def _pair(
    source: Space, target: Space, probe: Probe, task: Task, settings: AffineHomotopySettings
) -> dict[str, Any]:
    seen, _ = task.split.positions(target)
    ids = list(task.split.train)
    distance = affine_distance(
        target=target.take(ids), source=source.take(ids), gap=settings.gap, held_out=None
    )
    affine = (distance.matrix, distance.offset)
    fixed = fixed_classifier(
        target=target,
        source=source,
        labels=task.labels,
        split=task.split,
        affine=affine,
        probe=probe,
        width=source.width,
        rng=settings.seed,
    )
    worst = worst_case(
        target=target,
        source=source,
        cap=probe.norm,
        tasks={task.name: probe},
        split=task.split,
        affine=affine,
        search=Search(
            random=settings.directions,
            ascents=1,
            steps=settings.steps,
            width=min(source.width, target.width),
            rng=settings.seed,
        ),
    )
    assert fixed.held_out is not None  # noqa: S101  every task has a held-out side
    assert fixed.soft_held_out is not None  # noqa: S101
    assert fixed.check is not None  # noqa: S101  an affine map was given

    def errors(of: Any, by: Any) -> Floats:
        apart = of.probabilities(target) - by.probabilities(source)
        return np.asarray(np.linalg.norm(apart[seen], axis=1))

    return {
        "fixed": fixed.in_sample.sup,
        "fixed_mean": fixed.soft_in_sample.mean,
        "fixed_held_out": fixed.held_out.sup,
        "variation": fixed.in_sample.tv_sup,
        "accuracy_gap": fixed.soft_held_out.accuracy_gap,
        "worst": worst.value,
        "worst_certified": worst.certified,
        "cap": worst.cap,
        "distance": distance.upper,
        "norm": probe.norm,
        "bound": fixed.check.bound,
        "gulp": worst.gulp,
        "fixed_errors": errors(probe.classifier, fixed.imitation),
        "worst_errors": errors(worst.classifier, worst.imitation),
    }


def _task(task: Task) -> dict[str, Any]:
    return {
        "name": task.name,
        "texts": task.corpus.fingerprint,
        "labels": task.corpus.labels,
        "train": task.split.train,
        "test": task.split.test,
    }


def _facts(task: Task, depth: float, name: str, probe: Probe) -> TaskFacts:
    scores = probe.held_out
    assert scores is not None  # noqa: S101  every task has a held-out side
    return TaskFacts(
        task=task.name,
        depth=depth,
        encoder=name,
        classes=len(task.classes),
        train=len(task.split.train),
        test=len(task.split.test),
        components=probe.width,
        accuracy=scores.accuracy,
        majority=scores.majority,
    )
