"""From a study file to spaces: every encoder on the unlabelled texts and on every task."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cospace.corpora import subset
from cospace.corpus import Corpus
from cospace.errors import InputError
from cospace.extraction import extract
from cospace.models import hf
from cospace.models.base import TokenPolicy
from cospace.models.cache import cache_folder
from cospace.probes.penalty import inner_folds
from cospace.probes.tasks import Task, load_task
from cospace.space import Space
from cospace.store import Store
from cospace.studies.affine_homotopy.settings import AffineHomotopySettings
from cospace.studies.reading import check_models, each_model, once, texts_of
from cospace.studies.settings import models_named

__all__ = ["Read", "read_encoders"]

_ROWS_A_COORDINATE = 6
"""Of six rows a coordinate one is held out, and five are fitted."""


@dataclass(frozen=True)
class Read:
    """Everything that the study computes from."""

    names: tuple[str, ...]
    """Names of the encoders, in the order of the file."""
    references: Mapping[str, str]
    """Name -> what the file calls it."""
    corpus: Corpus
    """The unlabelled texts."""
    tasks: tuple[Task, ...]
    """The labelled tasks."""
    store: Store
    """Activations on the unlabelled texts."""
    task_stores: Mapping[str, Store]
    """Task -> activations on its texts."""
    pooling: str
    """How token vectors became rows."""

    def space(self, encoder: str, depth: float, task: str | None = None) -> Space:
        """Rows of an encoder at a relative depth, on the unlabelled texts or on those of a task."""
        store = self.store if task is None else self.task_stores[task]
        return store.space(encoder, depth, self.pooling)


def read_encoders(
    settings: AffineHomotopySettings,
    *,
    base: Path,
    store: Path | None = None,
    load_model: Callable[..., Any] = hf.load_model,
) -> Read:
    """Extract what is not in the store of activations yet.

    Parameters
    ----------
    settings
        The study.
    base
        Folder from which relative paths are seen, that of the study file.
    store
        Folder of activations; by default in the user's cache.
    load_model
        Loads one model.

    Raises
    ------
    InputError
        For fewer than 3 encoders, two of one name, depths of tasks that are none of the study's,
        or fewer texts than 6 for each coordinate of the widest encoder; and what reading models,
        texts and tasks raises.
    """
    references = models_named(settings.encoders, base)
    if not set(settings.extrinsic_depths) <= set(settings.depths):
        unknown = sorted(set(settings.extrinsic_depths) - set(settings.depths))
        raise InputError(
            f"extrinsic_depths names {', '.join(f'{depth:g}' for depth in unknown)}, and depths does not: "
            "name them there too, for the two are related."
        )
    if len(references) < 3:
        raise InputError(
            f"The study names {len(references)} encoders; 3 or more are needed to relate pairs of them."
        )
    check_models(references, "encoders")
    folder = store or cache_folder() / "activations"
    tasks = tuple(
        load_task(
            str(base / ref) if (base / ref).is_file() else ref,
            limit=settings.limit,
            rng=settings.seed,
        )
        for ref in settings.tasks
    )
    once([task.name for task in tasks], "tasks")
    whole = texts_of(settings.texts, base)
    if settings.rows is not None and settings.rows > len(whole):
        raise InputError(
            f"rows is {settings.rows:,} and {settings.texts} has {len(whole):,} texts: ask for fewer."
        )
    for task in tasks:
        _check_folds(task, settings.seed)

    def at(model: Any, corpus: Corpus, depths: tuple[float, ...]) -> Store:
        return extract(
            model,
            corpus,
            sites=depths,
            pooling=settings.pooling,
            store=folder,
            policy=TokenPolicy(truncate=settings.truncate),
        )

    # Tasks first: they tell how wide the encoders are, hence how many texts the distance needs.
    on_tasks: dict[str, list[Store]] = {task.name: [] for task in tasks}
    widths: dict[str, int] = {}
    for _, model in each_model(references, settings, load_model, "encoders"):
        widths[model.facts.name] = model.facts.width
        for task in tasks:
            on_tasks[task.name].append(at(model, task.corpus, settings.extrinsic_depths))
    corpus = _some(whole, settings, max(widths.values()))
    views = [
        at(model, corpus, settings.depths)
        for _, model in each_model(references, settings, load_model, "encoders")
    ]
    read = Read(
        names=tuple(widths),
        references=dict(zip(widths, references, strict=True)),
        corpus=corpus,
        tasks=tasks,
        store=functools.reduce(Store.beside, views),
        task_stores={name: functools.reduce(Store.beside, v) for name, v in on_tasks.items()},
        pooling=settings.pooling,
    )
    _check_rows_differ(read, settings)
    return read


def _check_folds(task: Task, seed: int) -> None:
    """Refuse a task whose groups leave a fold without a class, before a model is read."""
    train = task.corpus.take([task.corpus.ids.index(name) for name in task.split.train])
    try:
        inner_folds(train.labels or (), train.groups, rng=np.random.default_rng(seed))
    except InputError:
        raise InputError(
            f"The groups of task {task.name} cannot be parted into folds that have every class in the rest of each: "
            "give more groups, or leave the groups out."
        ) from None


def _check_rows_differ(read: Read, settings: AffineHomotopySettings) -> None:
    for name in read.names:
        for depth in settings.depths:
            rows = read.space(name, depth).rows
            if (rows == rows[:1]).all():
                raise InputError(
                    f"At depth {depth:g} all rows of {name} pooled by {settings.pooling!r} are the same: leave that "
                    "depth out of depths and extrinsic_depths, or pool otherwise."
                )


def _some(whole: Corpus, settings: AffineHomotopySettings, width: int) -> Corpus:
    least = _ROWS_A_COORDINATE * width
    rows = settings.rows or least
    if rows < least:
        raise InputError(
            f"rows is {rows} and the widest encoder has {width} coordinates: {least} texts or more are "
            "needed, five a coordinate to fit and one held out."
        )
    if least > len(whole):
        raise InputError(
            f"{settings.texts} has {len(whole):,} texts and the widest encoder {width} coordinates: {least:,} "
            "texts or more are needed, five a coordinate to fit and one held out. Name a longer text."
        )
    return subset(whole, rows, seed=settings.seed)
