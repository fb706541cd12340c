"""Labels that belong to rows: matched by id, checked, and split into training and held-out ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cospace._arrays import as_rows, double, to_numpy
from cospace.errors import InputError, RowMismatchError
from cospace.space import Space

__all__ = [
    "Labels",
    "Split",
    "as_space",
    "check_classes",
    "labels_of",
    "numbers_of",
    "row_names",
    "split_rows",
]

Labels: TypeAlias = Sequence[str] | Mapping[str, str]
"""One label a row in the order of the rows, or id -> label."""


def as_space(rows: Any, name: str) -> Space:
    """``rows`` as a space: spaces as they are, arrays under ``name``."""
    return rows if isinstance(rows, Space) else Space(rows, name=name)


def numbers_of(rows: Any) -> npt.NDArray[np.float64]:
    """Rows of a space or array as a float64 table of numpy, shape (n, d)."""
    x = rows.rows if isinstance(rows, Space) else as_rows(rows, name="rows", least=1)
    return np.asarray(to_numpy(double(x)))


def row_names(space: Space) -> tuple[str, ...]:
    """Ids of the rows; where the space has none, the numbers of the rows."""
    return space.ids if space.ids is not None else tuple(map(str, range(space.n)))


def labels_of(space: Space, labels: Labels) -> tuple[str, ...]:
    """One label for each row of ``space``.

    Parameters
    ----------
    space
        The rows.
    labels
        In the order of the rows, or a mapping of their ids; a mapping may name further ids.

    Raises
    ------
    RowMismatchError
        When labels and rows differ in number, ids have no label, or a mapping is given for rows
        without ids.
    InputError
        For a label that is empty or no string.
    """
    if isinstance(labels, str):
        raise InputError(f"The labels are one string, {labels!r}; one for each row is expected.")
    if isinstance(labels, Mapping):
        if space.ids is None:
            raise RowMismatchError(
                f"Labels are given by id and {space.name} has no ids: give it ids, or labels in the order of its rows."
            )
        without = [name for name in space.ids if name not in labels]
        if without:
            some = next(iter(labels), None)
            raise RowMismatchError(
                f"{len(without)} of the {space.n} ids of {space.name} have no label (first: {without[0]!r}; labels "
                f"have ids such as {some!r}): give the labels of the corpus that was read, or take the rows "
                "that have one."
            )
        values = [labels[name] for name in space.ids]
    else:
        values = list(labels)
        if len(values) != space.n:
            raise RowMismatchError(
                f"{space.name} has {space.n} rows and there are {len(values)} labels: one for each row is needed, or a "
                "mapping from id to label."
            )
    for name, value in zip(row_names(space), values, strict=True):
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"The label of row {name!r} is {value!r}; a name is expected.")
    return tuple(str(value) for value in values)


def check_classes(labels: Sequence[str], least: int, what: str) -> tuple[str, ...]:
    """Names of the classes in order, at least two of at least ``least`` rows each.

    Raises
    ------
    InputError
        For one class alone, or a class with fewer rows.
    """
    counts = Counter(labels)
    if len(counts) < 2:
        only = next(iter(counts), "none")
        raise InputError(
            f"The {len(labels)} {what} rows have one class ({only!r}): a probe tells at least two apart."
        )
    name, rows = min(counts.items(), key=lambda item: (item[1], item[0]))
    if rows < least:
        raise InputError(
            f"Class {name!r} has {rows} of the {len(labels)} {what} rows; at least {least} are needed: leave the class "
            "out, or give more rows."
        )
    return tuple(sorted(counts))


@dataclass(frozen=True)
class Split:
    """Which ids a probe is fitted on, and which it is scored on; no id is in both.

    Raises
    ------
    InputError
        When an id is on both sides or twice on one, or a side is empty.
    """

    train: tuple[str, ...]
    """Ids of the rows that everything is fitted on."""
    test: tuple[str, ...]
    """Ids of the rows that are only scored."""

    def __post_init__(self) -> None:
        for side in ("train", "test"):
            names = tuple(map(str, getattr(self, side)))
            object.__setattr__(self, side, names)
            if not names:
                raise InputError(
                    f"The {'training' if side == 'train' else 'held-out'} side of the split names no id."
                )
            if len(set(names)) < len(names):
                raise InputError(
                    f"The split names {Counter(names).most_common(1)[0][0]!r} more than once."
                )
        both = set(self.train) & set(self.test)
        if both:
            raise InputError(
                f"{len(both)} ids of the split are both fitted and held out (first: {min(both)!r}): an id belongs to "
                "one side."
            )

    def positions(self, space: Space) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Row numbers of both sides in ``space``.

        Raises
        ------
        RowMismatchError
            When the space lacks an id.
        """
        place = {name: i for i, name in enumerate(row_names(space))}
        found = []
        for side in (self.train, self.test):
            missing = [name for name in side if name not in place]
            if missing:
                raise RowMismatchError(
                    f"{space.name} lacks {len(missing)} of the {len(side)} ids that the split names (first: "
                    f"{missing[0]!r}): split the ids of the same corpus."
                )
            found.append(np.array([place[name] for name in side], dtype=np.intp))
        return found[0], found[1]


def split_rows(
    labels: Sequence[str],
    groups: Sequence[str] | None,
    share: float,
    *,
    rng: np.random.Generator,
) -> npt.NDArray[np.bool_]:
    """Choose about ``share`` of every class, whole groups together; shape (n,), True where chosen.

    Groups come in random order and are taken while that brings the counts of the classes nearer
    to what is wanted; without groups every row is one, and the counts are met to the row.

    Examples
    --------
    >>> chosen = split_rows(list("aabbaabb"), list("11223344"), 0.5, rng=np.random.default_rng(0))
    >>> sorted(label for label, here in zip("aabbaabb", chosen) if here)
    ['a', 'a', 'b', 'b']
    """
    classes, number = np.unique(np.asarray(labels), return_inverse=True)
    names = np.arange(len(number)) if groups is None else np.asarray(groups)
    parts, part = np.unique(names, return_inverse=True)
    table = np.zeros((len(parts), len(classes)))
    np.add.at(table, (part, number), 1.0)
    left = np.rint(share * table.sum(axis=0))
    taken = np.zeros(len(parts), dtype=bool)
    for i in rng.permutation(len(parts)):
        if np.sum((left - table[i]) ** 2) < np.sum(left**2):
            taken[i] = True
            left = left - table[i]
    return np.asarray(taken[part])
