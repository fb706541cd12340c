"""Labelled tasks: a corpus with labels and its split, from a file, a packaged set, or GLUE."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from cospace._numbers import check_number, check_seed, check_whole
from cospace.corpus import PACKAGED, Corpus
from cospace.errors import AcquisitionError, InputError, MissingDependencyError
from cospace.probes.labels import Split, check_classes, split_rows

__all__ = ["GLUE", "SEPARATOR", "Task", "load_task"]

SEPARATOR = " || "
"""What stands between the two texts of a pair: the same for every model, no special token of any."""

_HUB = "nyu-mll/glue"
_LEAST = 2


@dataclass(frozen=True)
class _Glue:
    columns: tuple[str, ...]
    held_out: str = "validation"


GLUE: Mapping[str, _Glue] = MappingProxyType(
    {
        "cola": _Glue(("sentence",)),
        "mnli": _Glue(("premise", "hypothesis"), "validation_matched"),
        "mrpc": _Glue(("sentence1", "sentence2")),
        "qqp": _Glue(("question1", "question2")),
        "rte": _Glue(("sentence1", "sentence2")),
        "sst2": _Glue(("sentence",)),
    }
)
"""GLUE tasks that are understood, with their columns of text and the part that is held out."""


@dataclass(frozen=True)
class Task:
    """Texts with labels, and which of them are for fitting and which are held out.

    Raises
    ------
    InputError
        For a corpus without labels, one class alone, a class with fewer than 2 texts on a side,
        or a split that names ids which the corpus lacks.
    """

    name: str
    """What tables call it."""
    corpus: Corpus
    """The texts with their labels."""
    split: Split
    """Training and held-out ids."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from and how it was split."""

    def __post_init__(self) -> None:
        labels = self.labels
        for side, what in ((self.split.train, "training"), (self.split.test, "held-out")):
            unknown = [name for name in side if name not in labels]
            if unknown:
                raise InputError(
                    f"The split of task {self.name} names {len(unknown)} ids that its corpus lacks (first: "
                    f"{unknown[0]!r}): split the ids of this corpus."
                )
            found = check_classes([labels[name] for name in side], _LEAST, what)
            lost = sorted(set(self.classes) - set(found))
            if lost:
                raise InputError(
                    f"Task {self.name} has no {what} text of the class {lost[0]!r}: give more groups, or a "
                    "larger share held out."
                )

    @property
    def labels(self) -> dict[str, str]:
        """Label of every id."""
        if self.corpus.labels is None:
            raise InputError(
                f"The corpus of task {self.name} has no labels: call their column 'label', or name it with label=."
            )
        return dict(zip(self.corpus.ids, self.corpus.labels, strict=True))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in order."""
        chosen = {*self.split.train, *self.split.test}
        return tuple(sorted({label for name, label in self.labels.items() if name in chosen}))


def load_task(
    ref: str | Path,
    *,
    test: float = 0.25,
    limit: int | None = None,
    label: str | None = None,
    text: str = "text",
    separator: str = SEPARATOR,
    rng: int = 0,
) -> Task:
    """Load a labelled task.

    Parameters
    ----------
    ref
        Name of a packaged set with labels (``sentiment``, ``acceptability``); a GLUE name
        (``sst2``, ``mrpc``, ``rte``, ``cola``, ``mnli``, ``qqp``), read from the hub by the library
        ``datasets`` (``pip install 'cospace[tasks]'``); or the path of a file that
        :meth:`Corpus.read` reads.
    test
        Share of the texts that is held out, whole groups together and every class alike. GLUE
        tasks come split: their validation part (the matched one of mnli) is held out.
    limit
        Most texts on each side, drawn at random; by default all are kept.
    label, text
        Columns of a file, by default ``label`` and ``text``.
    separator
        What stands between the texts of a GLUE pair; noted in ``facts``.
    rng
        Seed of the split and of the draw.

    Raises
    ------
    InputError
        For what :class:`Task` refuses, a share outside (0, 1), a limit below 4.
    MissingDependencyError
        For a GLUE name without ``datasets``.
    AcquisitionError
        Where the hub cannot be reached.

    Examples
    --------
    >>> task = load_task("sentiment")
    >>> task.classes
    ('negative', 'positive')
    """
    check_number(test=test)
    check_whole(limit=limit, or_none=True)
    check_seed(rng)
    if not 0.0 < test < 1.0:
        raise InputError(f"A share of {test} was to be held out; give one between 0 and 1.")
    if limit is not None and limit < 2 * _LEAST:
        raise InputError(
            f"A limit of {limit} texts was asked for; at least {2 * _LEAST} are needed."
        )
    draw = np.random.default_rng(rng)
    facts: dict[str, Any] = {"rng": rng, "limit": limit}
    if str(ref) in GLUE and str(ref) not in PACKAGED:
        corpus, split = _glue(str(ref), separator, limit, draw)
        facts |= {"from": _HUB, "separator": separator, "held_out": GLUE[str(ref)].held_out}
        return Task(str(ref), corpus, split, facts)
    corpus = Corpus.read(ref, label=label, text=text)
    if corpus.labels is None:
        raise InputError(f"{ref} has no labels: call their column 'label', or name it with label=.")
    check_classes(corpus.labels, 2 * _LEAST, "labelled")
    out = split_rows(corpus.labels, corpus.groups, test, rng=draw)
    if not out.any():
        sizes = Counter(corpus.groups or ())
        raise InputError(
            f"The {len(sizes)} groups of {ref} are too large to hold out a share of {test:g} (largest: "
            f"{max(sizes.values())} of {len(corpus)} texts): hold out more, or give smaller groups."
        )
    sides = [_limited(np.flatnonzero(side), limit, draw) for side in (~out, out)]
    split = Split(*(tuple(corpus.ids[i] for i in side) for side in sides))
    facts |= {
        "from": "packaged" if str(ref) in PACKAGED else str(ref),
        "test": test,
        "groups_kept_together": corpus.groups is not None,
    }
    return Task(corpus.name, corpus.take([i for side in sides for i in side]), split, facts)


def _limited(
    positions: Sequence[int] | Any, limit: int | None, draw: np.random.Generator
) -> list[int]:
    chosen = np.asarray(positions)
    if limit is not None and len(chosen) > limit:
        chosen = np.sort(draw.choice(chosen, limit, replace=False))
    return [int(i) for i in chosen]


def _glue(
    name: str, separator: str, limit: int | None, draw: np.random.Generator
) -> tuple[Corpus, Split]:
    """Read a GLUE task through ``datasets``."""
    try:
        import datasets
    except ImportError:
        raise MissingDependencyError.needs("datasets", f"The GLUE task {name}", "tasks") from None
    kind = GLUE[name]
    ids: list[list[str]] = []
    texts: list[str] = []
    labels: list[str] = []
    for part in ("train", kind.held_out):
        try:
            table = datasets.load_dataset(_HUB, name, split=part)
        except Exception as error:  # the library raises what its own dependencies raise
            said = str(error).strip().partition("\n")[0] or type(error).__name__
            raise AcquisitionError(
                f"The GLUE task {name} cannot be fetched from the hub ({said}): fetch it where there is a network, or "
                "give a file with the columns text and label."
            ) from None
        called = list(table.features["label"].names)
        numbers = [int(number) for number in table["label"]]
        if numbers and not 0 <= min(numbers) <= max(numbers) < len(called):
            raise InputError(
                f"The part {part} of the GLUE task {name} has a label outside {', '.join(called)}: it holds unlabelled "
                "texts; another copy of the task is needed."
            )
        chosen = _limited(np.arange(len(numbers)), limit, draw)
        columns = [list(table[column]) for column in kind.columns]
        ids.append([f"{name}-{part}-{i}" for i in chosen])
        texts += [separator.join(str(column[i]) for column in columns) for i in chosen]
        labels += [called[numbers[i]] for i in chosen]
    corpus = Corpus(name=name, ids=(*ids[0], *ids[1]), texts=tuple(texts), labels=tuple(labels))
    return corpus, Split(tuple(ids[0]), tuple(ids[1]))
