"""Which space after belongs to which space before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cospace.errors import InputError
from cospace.space import Space

__all__ = ["Matched", "match_sites", "site_of"]

_NAMED = 6

Key = tuple[str, str]


@dataclass(frozen=True)
class Matched:
    """Spaces of two forms, site by site."""

    pairs: tuple[tuple[int, int], ...]
    """(position before, position after), in the order of the spaces before."""
    by: Literal["site", "key", "position"]
    """Whether sites were matched by site and pooling, by the key in their file, or by position."""


def match_sites(before: Sequence[Space], after: Sequence[Space]) -> Matched:
    """Match by site and pooling where every space has a site, by the key of an array where every one has one.

    All other spaces are matched by position.

    Raises
    ------
    InputError
        If a side is empty or names a site twice, if a site is missing on one side, or if
        the sides differ in number where position is all there is.
    """
    for side, spaces in (("before", before), ("after", after)):
        if not spaces:
            raise InputError(f"There is no space {side}: give the spaces of both forms.")
    for by in ("site", "key"):
        if all(space.facts.get(by) is not None for space in (*before, *after)):
            return _by_key(before, after, "site" if by == "site" else "key")
    if len(before) != len(after):
        raise InputError(
            f"There are {len(before)} spaces before and {len(after)} after, without sites to match them by: "
            "give equally many, in the same order."
        )
    return Matched(tuple((i, i) for i in range(len(before))), "position")


def site_of(space: Space) -> str:
    """Name of a space's site, of its array, or of itself."""
    return str(space.facts.get("site") or space.facts.get("key") or space.name)


def _by_key(before: Sequence[Space], after: Sequence[Space], by: Literal["site", "key"]) -> Matched:
    first, second = _places(before, "before", by), _places(after, "after", by)
    lacking = [
        f"{side} has no {_told(missing)}"
        for side, missing in (
            ("before", [key for key in second if key not in first]),
            ("after", [key for key in first if key not in second]),
        )
        if missing
    ]
    if lacking:
        raise InputError(
            f"Both forms need the same sites, but {' and '.join(lacking)}: name sites that both have."
        )
    return Matched(tuple((at, second[key]) for key, at in first.items()), by)


def _places(spaces: Sequence[Space], side: str, by: str) -> dict[Key, int]:
    places: dict[Key, int] = {}
    for at, space in enumerate(spaces):
        key = str(space.facts[by]), str(space.facts.get("pooling") or "")
        if key in places:
            raise InputError(
                f"There are two spaces {side} of {_told([key])}: give those of one model."
            )
        places[key] = at
    return places


def _told(keys: Sequence[Key]) -> str:
    names = [f"{site} ({pooling})" if pooling else site for site, pooling in keys]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
