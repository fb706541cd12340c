"""A shared space on disk: one safetensors file whose header holds the rest as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cospace._tensorfile import read_tensors, write_tensors
from cospace.errors import InputError
from cospace.maps.affine import AffineMap
from cospace.result import checked
from cospace.shared.choose import Candidate, Choice
from cospace.shared.control import Control
from cospace.shared.member import Member, Search
from cospace.shared.scaling import Floats

__all__ = ["Kept", "read_space", "write_space"]

KIND, SCHEMA = "shared_space", 1
_SIDES = ("forward", "backward")
_MAP = ("matrix", "center", "image")


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of a fitted space."""

    params: dict[str, Any]
    """Parameters of the constructor."""
    members: dict[str, Member]
    """Models, in order."""
    forward: dict[str, AffineMap]
    """Maps into the space."""
    backward: dict[str, AffineMap]
    """Maps back."""
    choice: Choice
    """What was chosen."""
    search: Search
    """How the maps were found."""
    control: Control | None
    """Retrieval beside that of shuffled rows."""
    ids: tuple[str, ...] | None
    """Ids of the texts."""
    warnings: tuple[str, ...]
    """What a reader must know."""
    centroid: Floats | None
    """Consensus of every text."""
    values: Floats | None
    """Values of canonical variates."""


def write_space(path: str | Path, kept: Kept) -> None:
    """Write a space; the same one gives the same bytes.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    arrays: dict[str, Floats] = {}
    for number, name in enumerate(kept.members):
        for side in _SIDES:
            for part in _MAP:
                arrays[f"{number}.{side}.{part}"] = getattr(getattr(kept, side)[name], part)
    if kept.centroid is not None:
        arrays["centroid"] = kept.centroid
    if kept.values is not None:
        arrays["values"] = kept.values
    facts = {
        "params": kept.params,
        "members": [asdict(one) for one in kept.members.values()],
        "choice": asdict(kept.choice),
        "search": asdict(kept.search),
        "control": None if kept.control is None else asdict(kept.control),
        "ids": kept.ids,
        "warnings": kept.warnings,
    }
    write_tensors(path, arrays, facts, kind=KIND, schema=SCHEMA)


def read_space(path: str | Path) -> Kept:
    """Read what :func:`write_space` wrote.

    Raises
    ------
    InputError
        If the file cannot be read, or is no whole shared space.
    """
    arrays, facts = read_tensors(path, kind=KIND, schema=SCHEMA)
    try:
        members = {one["name"]: checked(Member, one) for one in facts["members"]}
        sides: dict[str, dict[str, AffineMap]] = {
            side: {
                name: AffineMap(**{p: arrays[f"{number}.{side}.{p}"] for p in _MAP})
                for number, name in enumerate(members)
            }
            for side in _SIDES
        }
        choice: Mapping[str, Any] = facts["choice"]
        tried = tuple(checked(Candidate, one) for one in choice["candidates"])
        kept = Kept(
            dict(facts["params"]),
            members,
            sides["forward"],
            sides["backward"],
            checked(Choice, {**choice, "candidates": tried}),
            checked(Search, facts["search"]),
            None if facts["control"] is None else checked(Control, facts["control"]),
            None if facts["ids"] is None else tuple(facts["ids"]),
            tuple(facts["warnings"]),
            arrays.get("centroid"),
            arrays.get("values"),
        )
    except (KeyError, TypeError, AttributeError):
        raise InputError(
            f"{path} is no whole {KIND}: it was changed or cut since it was saved; save it again."
        ) from None
    for side in sides.values():
        for name, way in side.items():
            if way.matrix.shape != (*way.center.shape, *way.image.shape):
                raise InputError(
                    f"{path} holds a map of {name} of shape {way.matrix.shape} from {way.center.shape} to "
                    f"{way.image.shape}: they do not fit; save the space again."
                )
    return kept
