"""From texts to batches of padded tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cospace.errors import CospaceError
from cospace.models.base import TokenPolicy

__all__ = [
    "Batch",
    "Side",
    "Tokens",
    "added_text",
    "listed",
    "out_of_memory",
    "pad",
    "plan",
    "tokenise",
]

Side = Literal["left", "right"]


@dataclass(frozen=True)
class Tokens:
    """One text as the model gets it."""

    ids: npt.NDArray[np.int64]
    """Token ids, shape (tokens,)."""
    special: npt.NDArray[np.bool_]
    """Whether the tokenizer put the token there, shape (tokens,).

    A text that spells out a special token is text: only what was added counts.
    """

    def __len__(self) -> int:
        return len(self.ids)

    def kept(self, policy: TokenPolicy) -> npt.NDArray[np.bool_]:
        """Which tokens take part in pooling, shape (tokens,).

        Examples
        --------
        >>> text = Tokens(np.array([1, 5, 6, 2]), np.array([True, False, False, True]))
        >>> text.kept(TokenPolicy(special=True, sink=False)).tolist()
        [False, True, True, True]
        """
        kept = np.ones(len(self), dtype=np.bool_) if policy.special else ~self.special
        if not policy.sink:
            kept[:1] = False
        return kept


@dataclass(frozen=True)
class Batch:
    """Padded texts."""

    ids: npt.NDArray[np.int64]
    """Token ids, shape (batch, tokens)."""
    attended: npt.NDArray[np.bool_]
    """Whether a position holds a token, shape (batch, tokens)."""
    kept: npt.NDArray[np.bool_]
    """Whether a position is pooled, shape (batch, tokens)."""

    def positions(self, padding_index: int | None) -> npt.NDArray[np.int64]:
        """Position ids from the mask, shape (batch, tokens).

        Tokens are counted from 0, and padding has 0; in the models that reserve a position for
        padding it has ``padding_index``, and tokens are counted from ``padding_index + 1``.
        """
        count = np.cumsum(self.attended, axis=1, dtype=np.int64)
        if padding_index is None:
            return np.where(self.attended, count - 1, 0)
        return np.where(self.attended, count + padding_index, padding_index)


def tokenise(
    tokenizer: Any, texts: Sequence[str], *, max_tokens: int | None = None
) -> list[Tokens]:
    """Tokenise as the tokenizer does by itself, cut to ``max_tokens`` if given."""
    encoded = tokenizer(
        list(texts),
        padding=False,
        truncation=max_tokens is not None,
        max_length=max_tokens,
        return_special_tokens_mask=True,
        return_attention_mask=False,
        verbose=False,
    )
    return [
        Tokens(np.asarray(ids, dtype=np.int64), np.asarray(special, dtype=np.bool_))
        for ids, special in zip(encoded["input_ids"], encoded["special_tokens_mask"], strict=True)
    ]


def added_text(tokenizer: Any, prompt: Tokens, new: npt.NDArray[np.int64]) -> str:
    """Text that ``new`` tokens add behind a prompt, special ones left out.

    A tokenizer may write a token otherwise at the beginning of a text: both are read as one, and
    the prompt's own text is taken off.
    """

    def text(ids: npt.NDArray[np.int64]) -> str:
        return str(tokenizer.decode(ids, skip_special_tokens=True))

    start, whole = text(prompt.ids), text(np.concatenate([prompt.ids, new]))
    return whole[len(start) :] if whole.startswith(start) else text(new)


def plan(lengths: Sequence[int], *, batch_tokens: int, same_length: bool) -> list[list[int]]:
    """Put texts of similar length together, the longest first.

    Parameters
    ----------
    lengths
        Tokens of each text.
    batch_tokens
        Most padded tokens of a batch; a longer text is a batch by itself.
    same_length
        Whether a batch may hold texts of one length only, so that nothing is padded.

    Returns
    -------
    list of list of int
        Positions in ``lengths``; the same lengths give the same plan.

    Examples
    --------
    >>> plan([3, 9, 4, 3], batch_tokens=8, same_length=False)
    [[1], [2, 0], [3]]
    >>> plan([3, 9, 4, 3], batch_tokens=8, same_length=True)
    [[1], [2], [0, 3]]
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        longest = lengths[batches[-1][0]] if batches else 0
        full = not batches or (len(batches[-1]) + 1) * longest > batch_tokens
        if full or (same_length and lengths[i] != longest):
            batches.append([i])
        else:
            batches[-1].append(i)
    return batches


def pad(texts: Sequence[Tokens], *, policy: TokenPolicy, side: Side, fill: int) -> Batch:
    """Pad texts to the longest of them with the token id ``fill``."""
    shape = (len(texts), max(map(len, texts)))
    batch = Batch(np.full(shape, fill), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_))
    for row, text in enumerate(texts):
        held = slice(shape[1] - len(text), None) if side == "left" else slice(len(text))
        batch.ids[row, held] = text.ids
        batch.attended[row, held] = True
        batch.kept[row, held] = text.kept(policy)
    return batch


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on whatever device."""
    text = str(error).lower()
    signs = ("out of memory", "can't allocate memory", "not enough memory")
    if isinstance(error, CospaceError):
        return False
    return isinstance(error, MemoryError) or any(sign in text for sign in signs)


def listed(ids: Sequence[str], most: int = 5) -> str:
    """Name up to ``most`` ids and count the rest.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    named = ", ".join(map(repr, ids[:most]))
    return named if len(ids) <= most else f"{named} and {len(ids) - most} more"
