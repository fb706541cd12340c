"""Rows of several models over the same texts, matched by id, some perhaps missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cospace._arrays import double, to_numpy
from cospace.errors import InputError, RowMismatchError
from cospace.shared.scaling import Floats
from cospace.space import Space, matched

__all__ = ["Texts", "kept_together", "match_texts", "repeats"]


@dataclass(frozen=True, eq=False)
class Texts:
    """Rows of every model, in one order of texts."""

    rows: Mapping[str, Floats]
    """Name -> float64 rows (n_m, d_m) of the texts that the model has, in the order of all."""
    ids: tuple[str, ...] | None
    """Ids of all texts; None where rows were matched by position."""
    groups: tuple[str, ...] | None
    """Group of every text, where they are known of all."""
    present: Mapping[str, npt.NDArray[np.bool_]] | None
    """Name -> which texts the model has; None where all models have all."""

    @property
    def n(self) -> int:
        """Number of texts."""
        if self.present is not None:
            return len(next(iter(self.present.values())))
        return len(next(iter(self.rows.values())))

    def complete(self) -> Texts:
        """The texts that all models have."""
        if self.present is None:
            return self
        both = np.logical_and.reduce(list(self.present.values()))
        rows = {name: table[both[self.present[name]]] for name, table in self.rows.items()}
        return Texts(rows, _kept(self.ids, both), _kept(self.groups, both), None)


def match_texts(
    spaces: Mapping[str, Any], *, missing: Literal["refuse", "mask"] = "refuse"
) -> Texts:
    """Match the rows of models by id, or by position where none has ids.

    Raises
    ------
    InputError
        For what is no mapping from names to spaces or arrays, or fewer than 2 models.
    RowMismatchError
        For rows that are not the same texts, unless ``missing`` is ``mask`` and all have ids.
    """
    if not isinstance(spaces, Mapping):
        raise InputError(
            f"spaces are a {type(spaces).__name__}; a dictionary from the name of a model to its Space or array is "
            "expected."
        )
    if len(spaces) < 2:
        raise InputError(
            f"{len(spaces)} model was given; a shared space is of at least 2: give rows of more models."
        )
    named = {
        name: rows if isinstance(rows, Space) else Space(rows, name=name)
        for name, rows in spaces.items()
    }
    if missing == "refuse":
        aligned = matched(list(named.values())).spaces
        groups = next((s.groups for s in aligned if s.groups is not None), None)
        rows = {name: _wide(space) for name, space in zip(named, aligned, strict=True)}
        return Texts(rows, aligned[0].ids, groups, None)
    if bare := [name for name, space in named.items() if space.ids is None]:
        raise RowMismatchError(
            f"{bare[0]} has no ids: texts that a model lacks can be told only by id; give ids to all spaces."
        )
    ids = tuple(sorted(set().union(*(space.ids or () for space in named.values()))))
    place = {one: i for i, one in enumerate(ids)}
    present, rows, found = {}, {}, dict.fromkeys(ids, "")
    for name, space in named.items():
        own = sorted(space.ids or (), key=place.__getitem__)
        space = space.take(own)
        mask = np.zeros(len(ids), dtype=bool)
        mask[[place[one] for one in own]] = True
        present[name], rows[name] = mask, _wide(space)
        found.update(zip(own, space.groups or (), strict=False))
    complete = all(mask.all() for mask in present.values())
    groups = tuple(found.values()) if all(found.values()) else None
    return Texts(rows, ids, groups, None if complete else present)


def repeats(rows: Mapping[str, Any]) -> list[int]:
    """Number of the first text whose rows are the same in every model: its own, where none is before it."""
    tables = [np.ascontiguousarray(to_numpy(getattr(t, "rows", t))) for t in rows.values()]
    first: dict[tuple[bytes, ...], int] = {}
    return [
        first.setdefault(tuple(t[i].tobytes() for t in tables), i) for i in range(len(tables[0]))
    ]


def kept_together(
    rows: Mapping[str, Any], groups: tuple[str, ...] | None, folds: int
) -> tuple[str, ...] | None:
    """Names of texts that no fold may part: their groups, and texts whose rows repeat in every model.

    Groups fewer than the folds are no way to part texts and are passed by. None where nothing
    needs to stay together.

    Examples
    --------
    >>> a = np.array([[1.0], [2.0], [1.0], [3.0]])
    >>> kept_together({"a": a, "b": 2 * a}, None, 2)
    ('0', '1', '0', '3')
    >>> kept_together({"a": a, "b": a[::-1]}, ("x",) * 4, 2) is None
    True
    """
    first = repeats(rows)
    known = groups if groups is not None and len(set(groups)) >= folds else None
    if len(set(first)) == len(first):
        return known
    if known is None:
        return tuple(map(str, first))
    home = {name: name for name in known}

    def root(name: str) -> str:
        while home[name] != name:
            name = home[name]
        return name

    for i, j in enumerate(first):
        home[root(known[i])] = root(known[j])
    joined = tuple(root(name) for name in known)
    return joined if len(set(joined)) >= folds else tuple(map(str, first))


def _wide(space: Space) -> Floats:
    return np.asarray(to_numpy(double(space.rows)))


def _kept(column: tuple[str, ...] | None, mask: npt.NDArray[np.bool_]) -> tuple[str, ...] | None:
    if column is None:
        return None
    return tuple(one for one, keep in zip(column, mask, strict=True) if keep)
