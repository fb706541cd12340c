"""Build steering vectors from contrasts, on a decoder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError
from cospace.models.base import resolve_sites
from cospace.steering.direction import Method, find_direction
from cospace.steering.items import Contrast
from cospace.steering.probed import Probed
from cospace.steering.vector import Floats, SteeringVector

if TYPE_CHECKING:
    from cospace.models.batching import Tokens
    from cospace.models.decoder import Decoder

__all__ = ["build", "first_difference", "read_states", "read_texts"]

LEVEL = 0.05
"""Largest p at which a probe is said to tell held-out pairs apart."""
RULED = 5.0
"""Mean norm over spread above which the norm says little of how states differ."""


def build(
    decoder: Decoder,
    contrast: Contrast,
    *,
    sites: str | float | Iterable[str | float] = "all",
    method: Method = "mean_difference",
) -> tuple[SteeringVector, ...]:
    """Steering vectors of a contrast at one or more sites, from one pass over its texts.

    Parameters
    ----------
    decoder
        The model that is to be steered.
    contrast
        Texts of two kinds.
    sites
        Names, relative depths, or ``"all"``.
    method
        ``mean_difference``, ``trimmed_difference``, ``pca`` or ``probe``, see
        :func:`~cospace.steering.direction.find_direction`.

    Returns
    -------
    tuple of SteeringVector
        One a site, in the order of the forward pass.

    Raises
    ------
    InputError
        For texts that cannot be read at the token that is asked for.
    UndefinedMeasureError
        Where there is no direction between the two kinds.
    """
    facts = decoder.facts
    places = resolve_sites(
        sites, blocks=facts.blocks, final_norm=facts.final_norm, model=facts.name
    )
    states = read_states(decoder, contrast, [site.name for site in places])
    return tuple(
        _vector(decoder, contrast, site.name, *states[site.name], method) for site in places
    )


def _vector(
    decoder: Decoder,
    contrast: Contrast,
    site: str,
    positive: Floats,
    negative: Floats,
    method: Method,
) -> SteeringVector:
    groups = contrast.groups or None
    found = find_direction(positive, negative, method, paired=contrast.paired, groups=groups)
    warnings = _doubts(found.probed, site)
    if found.dominant:
        named = ", ".join(map(str, found.dominant))
        warnings.append(
            f"At {site} more than a tenth of the squared norm lies in each of the coordinates {named}: a few huge "
            "values may rule the direction; compare method='trimmed_difference'."
        )
    states = np.vstack([positive, negative])
    length = float(np.linalg.norm(states, axis=1).mean())
    spread = float(np.linalg.norm(states - states.mean(axis=0)) / np.sqrt(len(states)))
    if length > RULED * spread:
        warnings.append(
            f"At {site} the states' mean norm, {length:.4g}, is {length / spread:.0f} times their spread about "
            "their mean: huge, nearly constant coordinates rule it; coefficients in units of the spread say more."
        )
    return SteeringVector(
        vector=found.vector,
        model=decoder.facts.name,
        weights_hash=decoder.facts.weights_hash,
        site=site,
        blocks=decoder.facts.blocks,
        method=method,
        token=contrast.token,
        residual_norm=length,
        spread=spread,
        provenance={
            "positive": len(positive),
            "negative": len(negative),
            "paired": contrast.paired,
            **({"mean_over": "all tokens but the first"} if contrast.token == "mean" else {}),
            "texts": contrast.fingerprint,
            "items": list(contrast.items),
            "cosine_to_mean_difference": found.cosine,
            "separation": found.separation,
            **_told(found.probed),
            "dominant": list(found.dominant),
            "reference": decoder.facts.reference,
            "config_hash": decoder.facts.config_hash,
            "tokenizer_hash": decoder.facts.tokenizer_hash,
            "dtype": decoder.facts.dtype,
        },
        warnings=tuple(warnings),
    )


def _doubts(probed: Probed | None, site: str) -> list[str]:
    """A warning for a probe that does not tell pairs apart that it did not see."""
    if probed is None:
        return []
    held = probed.held_out
    if held is None:
        return [
            f"At {site} a probe was fitted on so few pairs that none could be held out: nothing says that it tells "
            "others apart; give more pairs, or take method='mean_difference'."
        ]
    if held.p <= LEVEL:
        return []
    return [
        f"At {site} the probe puts {held.separation:.2f} of {held.n} held-out pairs in the right order, which is not "
        f"told from chance (p = {held.p:.2g}): give more pairs, or take method='mean_difference'."
    ]


def _told(probed: Probed | None) -> dict[str, Any]:
    """What a probe rests on, for the record of its vector."""
    if probed is None:
        return {}
    held = probed.held_out
    return {
        "probe_components": probed.components,
        "probe_ridge": probed.ridge,
        "held_out_separation": None if held is None else held.separation,
        "held_out_pairs": 0 if held is None else held.n,
        "held_out_p": None if held is None else held.p,
    }


def read_states(
    decoder: Decoder, contrast: Contrast, sites: Sequence[str]
) -> dict[str, tuple[Floats, Floats]]:
    """States of both kinds of text, site -> arrays of shape (n, width) and (m, width)."""
    n = len(contrast.positive)
    texts = decoder.encode([*contrast.positive, *contrast.negative])
    if contrast.token == "letter":
        places = [first_difference(texts[i], texts[n + i], f"pair {i}") for i in range(n)]
        kept = [np.arange(len(text)) == places[i % n] for i, text in enumerate(texts)]
    else:
        kept = [_kept(text, contrast.token, i) for i, text in enumerate(texts)]
    rows = decoder.states(texts, kept, sites)
    return {site: (found[:n], found[n:]) for site, found in rows.items()}


def read_texts(
    decoder: Decoder, texts: Sequence[str], token: str, sites: Sequence[str]
) -> dict[str, Floats]:
    """State of every text at its ``last`` token, or the ``mean`` of all but its first.

    Returns
    -------
    dict
        Site -> array of shape (n, width).

    Raises
    ------
    InputError
        For a text without a token of its own.
    """
    tokens = decoder.encode(texts)
    kept = [_kept(text, token, i) for i, text in enumerate(tokens)]
    return decoder.states(tokens, kept, sites)


def first_difference(one: Tokens, two: Tokens, what: str) -> int:
    """Number of the first token in which two texts differ.

    Where tokenizers put the letter of an answer into one token with its bracket, that is the
    token.

    Raises
    ------
    InputError
        Where one text begins with the whole of the other.
    """
    most = min(len(one), len(two))
    differ = np.flatnonzero(one.ids[:most] != two.ids[:most])
    if not len(differ):
        raise InputError(
            f"The two texts of {what} have the same tokens up to the end of one: no token tells them "
            "apart."
        )
    return int(differ[0])


def _kept(text: Tokens, token: str, number: int) -> npt.NDArray[np.bool_]:
    own = np.flatnonzero(~text.special)
    if not len(own):
        raise InputError(f"Text {number} has no token of its own: leave it out.")
    if token == "mean":
        kept = ~text.special
        kept[0] &= len(own) == 1  # a decoder's first token is its attention sink, often huge
        return np.asarray(kept)
    return np.asarray(np.arange(len(text)) == own[-1])
