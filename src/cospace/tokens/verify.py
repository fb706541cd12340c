"""Can a model repeat a token: candidates for undertrained tokens, verified by prompting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError
from cospace.models.batching import Tokens
from cospace.result import checked
from cospace.whole import check_lengths, check_p

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = ["PROMPTS", "VERDICTS", "Repeated", "Verification", "repeat_probabilities", "verdict"]

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

PROMPTS: tuple[tuple[str, ...], ...] = (
    ("The same word, again and again:", ",", ",", ",", ","),
    ("Say it back. One: river. Two: river. One: green. Two: green. One:", ". Two:"),
    ('"apple" is written "apple". "seven" is written "seven". "', '" is written "'),
)
"""Three prompts that ask for a token: it goes between the pieces of each, and should follow the last."""

STEPS = 3
"""Tokens that are generated, of which the best chance of the token counts."""

VERDICTS = ("strong verified", "weak verified", "weak reject", "strong reject")
"""What the largest probability over the prompts says, least first."""
_EDGES = (0.001, 0.1, 0.9)


@dataclass(frozen=True)
class Repeated:
    """One token that a model was asked to repeat."""

    id: int
    """Its row."""
    text: str
    """Its text."""
    methods: tuple[str, ...]
    """Methods that have it as a candidate; none for one drawn from the others."""
    probabilities: tuple[float, ...]
    """Largest probability of the token, one a prompt."""
    verdict: str
    """What the largest of them says, see ``verdict``."""


@dataclass(frozen=True)
class Verification:
    """Tokens that a model was asked to repeat."""

    prompts: tuple[str, ...]
    """The prompts; ``{token}`` stands for the token."""
    threshold: float
    """Probability below which a token is verified as undertrained."""
    tokens: tuple[Repeated, ...]
    """The tokens, the worst repeated first."""

    @classmethod
    def of(
        cls,
        ids: Index,
        probabilities: Floats,
        *,
        texts: Sequence[str],
        methods: Sequence[Sequence[str]],
        threshold: float,
    ) -> Self:
        """Put what ``repeat_probabilities`` found beside the tokens."""
        tokens = [
            Repeated(
                int(ids[i]),
                texts[i],
                tuple(methods[i]),
                tuple(map(float, probabilities[i])),
                verdict(float(probabilities[i].max())),
            )
            for i in np.argsort(probabilities.max(axis=1), kind="stable")
        ]
        return cls(tuple("{token}".join(one) for one in PROMPTS), threshold, tuple(tokens))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain values."""
        tokens = [checked(Repeated, one) for one in data["tokens"]]
        made: Self = checked(cls, {**data, "tokens": tokens})
        for one in made.tokens:
            where = f"verification, token {one.id}"
            check_lengths(where, made.prompts, probabilities=one.probabilities)
            for each in one.probabilities:
                check_p(where, probability=each)
        return made


def verdict(probability: float) -> str:
    """Judge the largest probability with which a token is repeated.

    Above 0.9 ``strong reject`` (the token is known well), above 0.1 ``weak reject``, below 0.001
    ``strong verified`` (the model cannot say it), else ``weak verified``.

    Examples
    --------
    >>> [verdict(p) for p in (0.95, 0.9, 0.1, 0.001, 0.0009)]
    ['strong reject', 'weak reject', 'weak verified', 'weak verified', 'strong verified']
    """
    low, middle, high = _EDGES
    if probability < low:
        return VERDICTS[0]
    return VERDICTS[1 + (probability > middle) + (probability > high)]


def repeat_probabilities(
    decoder: Decoder,
    ids: Index | Sequence[int],
    *,
    prompts: Sequence[Sequence[str]] = PROMPTS,
    done: Callable[[int, int], None] | None = None,
) -> Floats:
    """Largest probability that a token has among the next three, when it is asked to be repeated.

    The token is put into a prompt by its number, whatever the tokenizer would make of its text. The
    continuation is greedy; at each of its three steps the probability of the token is read.

    Parameters
    ----------
    decoder
        The model.
    ids
        Tokens, n of them.
    prompts
        Each in two pieces or more, see `PROMPTS`.
    done
        Told how many prompts of how many are done.

    Returns
    -------
    array of shape (n, prompts)
        Probabilities over the whole vocabulary.

    Raises
    ------
    InputError
        For no tokens, or a prompt in one piece.
    """
    if not len(ids):
        raise InputError("No token is to be repeated: name one or more.")
    found = np.empty((len(ids), len(prompts)))
    for at, pieces in enumerate(prompts):
        if len(pieces) < 2:
            raise InputError(
                f"The prompt {list(pieces)} has {len(pieces)} piece: two or more are expected, with the token "
                "between them."
            )
        texts = [_filled(decoder, pieces, int(i)) for i in ids]
        own = [[int(i)] for i in ids]
        best = decoder.next_log_probs(texts, own)[:, 0]
        for step, some in _steps(texts, decoder.generate(texts, STEPS - 1)):
            values = decoder.next_log_probs(step, [own[i] for i in some])[:, 0]
            best[some] = np.maximum(best[some], values)
        found[:, at] = np.exp(best)
        if done is not None:
            done(at + 1, len(prompts))
    return found


def _steps(texts: Sequence[Tokens], made: Sequence[Index]) -> list[tuple[list[Tokens], list[int]]]:
    """Texts with one more, two more ... generated tokens, and their numbers; ended ones are left out."""
    steps = []
    for many in range(1, STEPS):
        some = [i for i, new in enumerate(made) if len(new) >= many]
        if some:
            steps.append(([_longer(texts[i], made[i][:many]) for i in some], some))
    return steps


def _longer(text: Tokens, new: Index) -> Tokens:
    return Tokens(
        np.concatenate([text.ids, new]),
        np.concatenate([text.special, np.zeros(len(new), dtype=np.bool_)]),
    )


def _filled(decoder: Decoder, pieces: Sequence[str], token: int) -> Tokens:
    """A prompt with the token between its pieces; special tokens only where the text begins."""
    parts, special = [], []
    for at, text in enumerate(decoder.encode(pieces)):
        inner = np.flatnonzero(~text.special)
        kept = slice(0 if at == 0 else inner[0], inner[-1] + 1)
        if at:
            parts.append(np.asarray([token]))
            special.append(np.zeros(1, dtype=np.bool_))
        parts.append(text.ids[kept])
        special.append(text.special[kept])
    return Tokens(np.concatenate(parts).astype(np.int64), np.concatenate(special))
