"""What is said of a push before its scores are believed: tokens that it misses, models that it breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cospace.errors import InputError
from cospace.models.positions import TokenPositions

__all__ = [
    "BROKEN",
    "check_reach",
    "items_of",
    "named_tokens",
    "side_effect",
    "unknown_items",
]

BROKEN = 10.0
"""Perplexity of neutral text over that at 0 above which a model counts as broken: each token is then,
in the geometric mean, less than a tenth as likely as without the push."""


def named_tokens(positions: Any) -> TokenPositions:
    """Read positions, see :class:`~cospace.models.positions.TokenPositions`, each named once.

    Raises
    ------
    InputError
        For what names no tokens, or names one twice.
    """
    named = TokenPositions.of(positions)
    if named.only is not None and len(set(named.only)) < len(named.only):
        raise InputError(
            f"The positions {', '.join(map(str, named.only))} name a token twice, and a vector is added once: name "
            "each once."
        )
    return named


def check_reach(positions: Any, lengths: Sequence[int], *, more: int) -> tuple[str, ...]:
    """Refuse positions that lie outside all texts; say how many texts they miss.

    Parameters
    ----------
    positions
        Which tokens are meant.
    lengths
        Number of tokens of every text.
    more
        How many more are read than these: tokens that are written behind a prompt, or -1 where the
        state of the last is never read.

    Returns
    -------
    tuple of str
        A warning where some texts are missed.

    Raises
    ------
    InputError
        Where all are.

    Examples
    --------
    >>> check_reach([5], [4, 6], more=0)[0].partition(":")[0]
    'The positions 5 name no token that is read in 1 of 2 texts'
    """
    named = named_tokens(positions)
    reached = sum(
        named.mask(np.arange(length + more)[None], np.array([length])).any() for length in lengths
    )
    told = f"The positions {named} name no token that is read in"
    if not reached:
        last = ", of which the last is never read" if more < 0 else ""
        raise InputError(
            f"{told} any of {len(lengths)} texts, of {min(lengths)} to {max(lengths)} tokens{last}: nothing would be "
            "steered; name others, or all."
        )
    missed = len(lengths) - reached
    return (f"{told} {missed} of {len(lengths)} texts: these are not steered.",) if missed else ()


def side_effect(perplexities: Mapping[float, float | None]) -> tuple[str, ...]:
    """Say at which coefficients a model no longer predicts neutral text.

    Examples
    --------
    >>> side_effect({0.0: 20.0, 1.0: 30.0, 9.0: 5000.0})[0].partition(":")[0]
    'At 9 the perplexity of neutral text is more than 10 times that at 0'
    """
    plain = perplexities.get(0.0)
    if plain is None:
        return ()
    broken = [c for c, p in perplexities.items() if p is not None and not p <= BROKEN * plain]
    if not broken:
        return ()
    where = ", ".join(f"{c:g}" for c in broken)
    return (
        f"At {where} the perplexity of neutral text is more than {BROKEN:g} times that at 0: the model is broken "
        "rather than steered, and its scores there mean nothing; push less.",
    )


def items_of(provenance: Mapping[str, Any]) -> frozenset[str] | None:
    """Ids of the questions that a vector was made from; None where it does not tell."""
    found = provenance.get("items")
    whole = isinstance(found, list | tuple) and all(isinstance(one, str) for one in found)
    return frozenset(found) if whole else None  # type: ignore[arg-type]


def unknown_items(provenance: Mapping[str, Any]) -> tuple[str, ...]:
    """Say where a vector does not tell which questions it was made from."""
    if items_of(provenance) is not None:
        return ()
    return (
        "The vector does not say which questions it was made from, so these cannot be checked against them: its "
        "scores may be in-sample.",
    )
