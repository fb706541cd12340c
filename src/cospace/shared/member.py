"""What a fitted shared space says of its models and of the search for their maps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cospace.errors import InputError
from cospace.result import plain
from cospace.space import Space

__all__ = ["SOURCE", "Member", "Search", "check_source", "source_of"]


@dataclass(frozen=True)
class Member:
    """One model in a shared space."""

    name: str
    """Its name."""
    n: int
    """Rows that its map was fitted on."""
    width: int
    """Coordinates of its rows."""
    used: int
    """Coordinates after scaling and reduction."""
    leading_share: float
    """Share of the variance of its rows, as they are, along one direction."""
    leading_share_used: float
    """The same after scaling and reduction."""
    inverse_error: float
    """``||X - back(forward(X))||^2 / ||X - mean||^2`` on the rows of the fit: share of the variance
    that the way there and back loses, in-sample."""
    added: bool = False
    """Whether it was added to a finished space."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Where its rows come from, as far as its Space said: see :data:`SOURCE`."""


SOURCE = ("site", "depth", "pooling", "policy", "weights_hash", "reference", "corpus")
"""Facts of a Space that are kept of every model."""

_MUST_AGREE = {
    "site": "site",
    "pooling": "pooling",
    "policy": "token policy",
    "weights_hash": "weights",
}


def source_of(rows: Any) -> dict[str, Any]:
    """What a Space says of where its rows come from; nothing of an array."""
    if not isinstance(rows, Space):
        return {}
    found = {key: plain(rows.facts[key]) for key in SOURCE if key in rows.facts}
    if isinstance(found.get("policy"), dict):
        # What is done with texts that are too long says nothing of the others.
        found["policy"] = {k: v for k, v in found["policy"].items() if k != "truncate"}
    return found


def check_source(name: str, rows: Any, source: Mapping[str, Any]) -> None:
    """Refuse rows that say to be of another site, pooling or weights than a model of the space.

    Raises
    ------
    InputError
        If they do: the map would be of the right width, and mean nothing.
    """
    here = source_of(rows)
    for key, word in _MUST_AGREE.items():
        if key in here and key in source and here[key] != source[key]:
            raise InputError(
                f"Rows of {name} have {word} {_short(here[key])} and the space was fitted on {_short(source[key])}: "
                "give rows as they were for the fit."
            )


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    text = str(value)
    return text[:12] if len(text) > 24 else text


@dataclass(frozen=True)
class Search:
    """How the maps were found."""

    objective: tuple[float, ...]
    """Of ``gpa``: share of the variance about the consensus after every sweep. Of ``gcca``: the
    share of every variate that lies in the mean over models."""
    residual: float | None
    """Stationarity residual of ``gpa``; None for ``gcca``, which is solved directly."""
    sweeps: int
    """Sweeps made; 0 for ``gcca``."""
    stopped: str
    """``stationary``, ``sweeps``, ``rounding``, or ``direct``."""
    scales: tuple[float, ...]
    """Isotropic scale of every model; 1 where none was asked for."""
    unit: float
    """What all shared coordinates are multiplied with: the mean square of a coordinate over texts,
    models and coordinates is 1."""
