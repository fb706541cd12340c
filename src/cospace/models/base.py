"""What a language model is to this library: a thing that turns texts into rows at named sites."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, UnknownNameError

__all__ = [
    "LanguageModel",
    "ModelFacts",
    "Pooled",
    "Pooling",
    "Site",
    "TokenPolicy",
    "check_site_names",
    "resolve_sites",
]


_WORDS = ("all", "last", "embed", "final_norm")
_BLOCK = re.compile(r"block\.-?\d+")


class Pooling(StrEnum):
    """How the token vectors of one text become one row."""

    MEAN = "mean"
    LAST = "last"
    FIRST = "first"
    MAX = "max"


@dataclass(frozen=True)
class TokenPolicy:
    """Which tokens take part in pooling.

    ``first`` reads the first attended position, whatever it holds (the class token of an
    encoder, the beginning-of-text token of a decoder); the other poolings see the tokens that
    this policy keeps.
    """

    special: bool = False
    """Whether the special tokens that the tokenizer adds are kept."""
    sink: bool = True
    """Whether the first attended position, the usual attention sink of a decoder, is kept."""
    truncate: bool = False
    """Whether a text longer than the model reads is cut (counted) instead of refused."""


@dataclass(frozen=True, order=True)
class Site:
    """A place in a model where activations are read.

    Sites in the order of the forward pass: ``embed``, ``block.0`` ... ``block.L-1``, and
    ``final_norm`` where the model has one.
    """

    order: int
    """Position in the forward pass, 0 for ``embed``."""
    name: str
    """``embed``, ``block.i`` or ``final_norm``."""
    depth: float
    """Relative depth in [0, 1]: 0 for ``embed``, (i + 1) / L for ``block.i``, 1 at the end."""


@dataclass(frozen=True)
class ModelFacts:
    """What a manifest and a report say of a model."""

    reference: str
    """The reference as the user gave it."""
    name: str
    """Short name used in tables."""
    architecture: str
    """The transformers model type, such as ``bert`` or ``llama``."""
    blocks: int
    """Number of blocks, L."""
    width: int
    """Width of the hidden states."""
    final_norm: bool
    """Whether a norm follows the last block."""
    dtype: str
    """Number type of the forward pass."""
    weights_hash: str
    """SHA-256 over the weight files."""
    parameters: int
    """Number of parameters."""
    revision: str | None = None
    """Revision of a hub model."""
    quantisation: str | None = None
    """Such as ``Q4, dequantised``; None for plain checkpoints."""
    licence: str | None = None
    """Licence of the weights where known."""
    source: str | None = None
    """The original checkpoint where the weights are a derived form of it."""
    tokenizer_hash: str | None = None
    """SHA-256 over the tokenizer, which decides rows as much as the weights do."""
    config_hash: str | None = None
    """SHA-256 over the values of the configuration that decide rows, such as an activation."""


@dataclass(frozen=True)
class Pooled:
    """Rows of some texts at some sites, from one pass through a model."""

    rows: Mapping[tuple[str, str], npt.NDArray[Any]]
    """(site name, pooling) -> array of shape (number of texts, width), float32."""
    tokens: npt.NDArray[np.int64]
    """Number of attended tokens per text, shape (number of texts,)."""
    truncated: tuple[str, ...] = field(default=())
    """Ids of the texts that were cut."""


class LanguageModel(Protocol):
    """Texts in, rows out. Implement it to bring a model that transformers does not know."""

    @property
    def facts(self) -> ModelFacts:
        """What is recorded of the model."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """Most tokens a text may have, special ones counted; None for no limit."""
        ...

    def activations(
        self,
        texts: Sequence[str],
        *,
        ids: Sequence[str],
        sites: Sequence[Site],
        poolings: Sequence[Pooling],
        policy: TokenPolicy,
        batch_tokens: int,
        progress: Callable[[int], None] | None = None,
    ) -> Pooled:
        """Pooled activations of ``texts``, in their order.

        ``batch_tokens`` bounds the padded tokens of one forward pass; ``progress`` is called
        with the number of texts finished since its last call.
        """
        ...


def check_site_names(names: Iterable[str]) -> None:
    """Refuse what is a site of no model at all, before one is known.

    Raises
    ------
    UnknownNameError
        For a word that is neither ``all``, ``last``, ``embed``, ``final_norm``, a block nor a
        number.
    InputError
        For a depth outside [0, 1].

    Examples
    --------
    >>> check_site_names(["embed", "block.-1", "0.5"])
    """
    for name in names:
        if name in _WORDS or _BLOCK.fullmatch(name):
            continue
        number = re.search(r"\d+$", name)
        known = (*_WORDS, f"block.{number[0]}" if number else "block.0")
        if _depth(name) is None:
            raise UnknownNameError.among(name, known, "site of a model")


def resolve_sites(
    asked: str | float | Iterable[str | float],
    *,
    blocks: int,
    final_norm: bool,
    model: str = "this model",
) -> tuple[Site, ...]:
    """Turn what a user asks for into named sites, in the order of the forward pass.

    Parameters
    ----------
    asked
        ``"all"``; a name (``embed``, ``block.3``, ``block.-1``, ``final_norm``, ``last``); a
        relative depth f in [0, 1], as a number or its text; or several of these.
        A depth is looked up in the L + 1 states ``embed, block.0 ... block.L-2, last``, where
        ``last`` is ``final_norm`` if the model has one, else ``block.L-1``: state floor(f L + 0.5).
    blocks
        Number of blocks, L.
    final_norm
        Whether a norm follows the last block.
    model
        What messages call the model.

    Raises
    ------
    UnknownNameError
        For a name that is not a site of the model; the nearest ones are suggested.
    InputError
        For a depth outside [0, 1], or nothing asked.

    Examples
    --------
    >>> [site.name for site in resolve_sites([0.0, 0.5, 1.0], blocks=4, final_norm=True)]
    ['embed', 'block.1', 'final_norm']
    >>> [site.name for site in resolve_sites("block.-1", blocks=4, final_norm=False)]
    ['block.3']
    """
    names = ["embed", *(f"block.{i}" for i in range(blocks))] + ["final_norm"] * final_norm
    every = [Site(i, name, min(i / blocks, 1.0)) for i, name in enumerate(names)]
    states = [*every[:blocks], every[-1]]
    found: set[Site] = set()
    items: list[str | float] = [asked] if isinstance(asked, str | float | int) else list(asked)
    if not items:
        raise InputError("No site was asked for: name at least one, such as 'all' or 0.5.")
    for item in items:
        if item == "all":
            found.update(every)
        elif item == "last":
            found.add(every[-1])
        elif isinstance(item, str) and item in names:
            found.add(every[names.index(item)])
        else:
            found.add(
                _by_index(item, every, names, blocks, model)
                or _by_depth(item, states, names, model)
            )
    return tuple(sorted(found))


def _by_index(
    item: str | float, every: list[Site], names: list[str], blocks: int, model: str
) -> Site | None:
    if not (isinstance(item, str) and item.startswith("block.-")):
        return None
    back = item.removeprefix("block.-")
    if back.isdigit() and 1 <= int(back) <= blocks:
        return every[names.index(f"block.{blocks - int(back)}")]
    raise UnknownNameError.among(item, names, f"site of {model}")


def _by_depth(item: str | float, states: list[Site], names: list[str], model: str) -> Site:
    depth = _depth(item)
    if depth is None:
        raise UnknownNameError.among(str(item), [*names, "all", "last"], f"site of {model}")
    return states[math.floor(depth * (len(states) - 1) + 0.5)]


def _depth(item: str | float) -> float | None:
    """Return the depth that is meant, None for a word that is no number."""
    try:
        depth = float(item)
    except ValueError:
        return None
    if not 0.0 <= depth <= 1.0:
        block = f"block.{depth:.0f}" if depth > 1 and depth.is_integer() else "block.3"
        raise InputError(
            f"A relative depth lies in [0, 1], got {item}; a block is named {block!r}."
        )
    return depth
