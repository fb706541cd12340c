"""A space: rows, the ids of their texts, and what was done to them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from cospace._arrays import Array, as_rows, namespace, rows_at, to_numpy
from cospace.errors import InputError, RowMismatchError
from cospace.linalg import RTOL, centred, norm, numerical_rank, thin_svd

__all__ = ["Aligned", "Space", "align_rows", "matched"]


@dataclass(frozen=True, eq=False, repr=False)
class Space:
    """How one model, at one site, represents some texts.

    Parameters
    ----------
    rows
        Array of shape (n, d), one row a text; checked for shape and finiteness.
    ids
        The n ids of the texts, unique; None for a bare array whose rows are matched by position.
    name
        What tables call it.
    groups
        The n group names of the texts, for restricted permutations and splits.
    facts
        Where the rows come from: plain values such as ``model``, ``site``, ``depth``, ``pooling``.
    steps
        What was done to the rows since, in order.

    Raises
    ------
    InputError
        For rows that are not a finite table, or columns of another length.
    RowMismatchError
        For ids that repeat.
    """

    rows: Array
    ids: tuple[str, ...] | None = None
    name: str = "space"
    groups: tuple[str, ...] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(
                f"The name of a space is {self.name!r}; a string that is not empty is expected."
            )
        object.__setattr__(self, "rows", as_rows(self.rows, name=self.name))
        object.__setattr__(self, "facts", MappingProxyType(dict(self.facts)))
        for column in ("ids", "groups"):
            values = getattr(self, column)
            if values is None:
                continue
            values = tuple(map(str, values))
            object.__setattr__(self, column, values)
            if len(values) != self.n:
                raise InputError(
                    f"{self.name} has {self.n} rows but {len(values)} {column}: one for each row."
                )
        if self.ids is not None and len(set(self.ids)) != self.n:
            seen: set[str] = set()
            again = next(i for i in self.ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
            raise RowMismatchError(
                f"{self.name} has the id {again!r} more than once: ids name one row each."
            )

    def __repr__(self) -> str:
        parts = [repr(self.name), f"{self.n} rows of width {self.width}"]
        parts += ["with ids"] * (self.ids is not None)
        return f"Space({', '.join([*parts, *self.steps])})"

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def width(self) -> int:
        """Number of coordinates, d."""
        return int(self.rows.shape[1])

    @property
    def fingerprint(self) -> str:
        """SHA-256 over shape, number type, rows and ids."""
        rows = np.ascontiguousarray(to_numpy(self.rows))
        digest = hashlib.sha256(f"{rows.shape}{rows.dtype}".encode())
        digest.update(rows.data)
        digest.update("\0".join(self.ids or ()).encode())
        return digest.hexdigest()

    def take(self, ids: Sequence[str]) -> Space:
        """Keep the rows of ``ids``, in their order."""
        if self.ids is None:
            raise RowMismatchError(
                f"{self.name} has no ids: rows can be taken by id only where there are ids."
            )
        place = {name: i for i, name in enumerate(self.ids)}
        missing = [i for i in ids if i not in place]
        if missing:
            raise RowMismatchError(
                f"{self.name} lacks {len(missing)} of the {len(ids)} ids asked for: {missing[0]!r} ..."
            )
        order = [place[i] for i in ids]
        rows = rows_at(self.rows, order)
        groups = None if self.groups is None else tuple(self.groups[i] for i in order)
        return replace(self, rows=rows, ids=tuple(ids), groups=groups)

    def duplicates(self) -> int:
        """Count the rows that equal an earlier row to the last bit."""
        rows = np.ascontiguousarray(to_numpy(self.rows))
        return self.n - len({row.tobytes() for row in rows})

    def scale(self, how: str) -> Space:
        """Rescale the centred rows; the step is recorded.

        Parameters
        ----------
        how
            ``none``: as they are. ``unit``: centred, divided by their Frobenius norm.
            ``standardize``: every coordinate centred and divided by its standard deviation
            (a constant coordinate becomes 0). ``drop:k``: centred, without the k leading
            principal directions. ``whiten:a``: centred, singular values s replaced by
            s^(1 - a) (a = 1 whitens fully; directions under the rank tolerance are dropped).

        Examples
        --------
        >>> space = Space([[0.0, 10.0], [2.0, 30.0]]).scale("standardize")
        >>> space.rows.tolist(), space.steps
        ([[-1.0, -1.0], [1.0, 1.0]], ('standardize',))
        """
        verb, _, amount = how.partition(":")
        if how == "none":
            return self
        x = centred(self.rows)
        if how == "unit":
            size = norm(x)
            x = x / size if size else x
        elif how == "standardize":
            xp = namespace(x)
            spread = xp.std(x, axis=0, keepdims=True)
            x = x / xp.where(spread > 0, spread, xp.ones_like(spread))
        elif verb == "drop" and amount.isdecimal() and 0 < int(amount) < min(x.shape):
            u, s, v = thin_svd(x)
            k = int(amount)
            x = x - (u[:, :k] * s[:k]) @ v[:, :k].T
        elif verb == "whiten" and _fraction(amount) is not None:
            u, s, v = thin_svd(x)
            r = numerical_rank(s, RTOL)
            x = (u[:, :r] * s[:r] ** (1 - float(amount))) @ v[:, :r].T
        else:
            raise InputError(
                f"{how!r} is not a scaling: none, unit, standardize, drop:k with 0 < k < "
                f"{min(x.shape)}, or whiten:a with 0 <= a <= 1."
            )
        return replace(self, rows=x, steps=(*self.steps, how))

    def reduce(self, k: int) -> Space:
        """Coordinates on the k leading principal components of the centred rows."""
        if not 0 < k <= min(self.n, self.width):
            raise InputError(
                f"{self.name} has {self.n} rows of width {self.width}; it cannot be reduced to {k}."
            )
        u, s, _ = thin_svd(centred(self.rows))
        return replace(self, rows=u[:, :k] * s[:k], steps=(*self.steps, f"reduced={k}"))


def _fraction(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 <= value <= 1.0 else None


@dataclass(frozen=True)
class Aligned:
    """Spaces whose row i is the same text in each."""

    spaces: tuple[Space, ...]
    by: Literal["ids", "position"]
    """How rows were matched."""


def align_rows(spaces: Sequence[Space]) -> list[Space]:
    """Keep the texts that all spaces share, in the order of the first.

    Raises
    ------
    RowMismatchError
        When a space has no ids, or fewer than two are shared.
    InputError
        Without a space.

    Examples
    --------
    >>> a = Space([[1.0], [2.0], [3.0]], ids=("p", "q", "r"), name="a")
    >>> b = Space([[9.0], [8.0]], ids=("r", "p"), name="b")
    >>> [space.rows[:, 0].tolist() for space in align_rows([a, b])]
    [[1.0, 3.0], [8.0, 9.0]]
    """
    if not spaces:
        raise InputError("No space was given; at least one is needed.")
    bare = [space.name for space in spaces if space.ids is None]
    if bare:
        raise RowMismatchError(
            f"{bare[0]} has no ids: rows can be aligned by id only where every space has them."
        )
    shared = set.intersection(*(set(space.ids or ()) for space in spaces))
    if len(shared) < 2:
        told = _first_ids(spaces[0], min(spaces, key=lambda s: _shared(spaces[0], s)))
        raise RowMismatchError(
            f"The {len(spaces)} spaces share {len(shared)} ids; at least 2 are needed: {told}."
        )
    order = [i for i in spaces[0].ids or () if i in shared]
    return [space if space.ids == tuple(order) else space.take(order) for space in spaces]


def _shared(a: Space, b: Space) -> int:
    return len(set(a.ids or ()) & set(b.ids or ()))


def _first_ids(a: Space, b: Space) -> str:
    """Show one id of each side, one that the other lacks where there is one."""
    both = set(a.ids or ()) & set(b.ids or ())
    one, two = (min(x.ids or (), key=both.__contains__, default="") for x in (a, b))
    return f"{a.name} has ids such as {one!r}, {b.name} such as {two!r}"


def matched(spaces: Sequence[Space]) -> Aligned:
    """Check that row i is the same text in all ``spaces``; nothing is dropped.

    Spaces with the same set of ids are put into the order of the first; bare arrays must all
    have the same number of rows.

    Raises
    ------
    RowMismatchError
        When ids differ, or some spaces have ids and others not, or bare arrays differ in length.
    InputError
        Without a space.
    """
    if not spaces:
        raise InputError("No space was given; at least one is needed.")
    with_ids = [space for space in spaces if space.ids is not None]
    first = spaces[0]
    if not with_ids:
        for space in spaces:
            if space.n != first.n:
                raise RowMismatchError(
                    f"{first.name} has {first.n} rows and {space.name} has {space.n}. Row i must be the same "
                    "text in both; give ids to keep the texts they share."
                )
        return Aligned(tuple(spaces), "position")
    if len(with_ids) < len(spaces):
        bare = next(space for space in spaces if space.ids is None)
        raise RowMismatchError(
            f"{with_ids[0].name} has ids and {bare.name} has none: give ids to all spaces, or to none."
        )
    known = set(first.ids or ())
    for space in spaces:
        if set(space.ids or ()) != known:
            shared = _shared(first, space)
            if shared < 2:
                raise RowMismatchError(
                    f"{first.name} and {space.name} share {'no id' if not shared else 'one id alone'}: "
                    f"{_first_ids(first, space)}. Row i must be the same text in both: give both the "
                    "ids of one corpus."
                )
            raise RowMismatchError(
                f"{first.name} has {first.n} ids and {space.name} has {space.n}, {shared} of them shared. Row i must "
                f"be the same text in both; align_rows (on the command line: --align) keeps the {shared} they share."
            )
    order = first.ids or ()
    return Aligned(tuple(s if s.ids == order else s.take(order) for s in spaces), "ids")
