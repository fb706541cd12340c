"""Texts as rows of tokens: read, tokenised, packed, drawn from; and what a unigram model gets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from transformers import AutoTokenizer

from cospace import corpora
from cospace.corpus import Corpus
from cospace.errors import InputError
from cospace.models.weights import resolve_weights

TEXTS = ("wordnet-definitions", "wordnet-examples")
HELD_OUT = 0.05
"""Share of the texts that no model sees, chosen by id with `cospace.corpora.split`, seed 0."""

Rows = npt.NDArray[np.uint16]


class Shape(Protocol):
    """What the examples' settings have in common."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Names in `cospace.corpora.CORPORA`, or files of texts."""
        ...

    @property
    def tokenizer(self) -> str:
        """A model reference whose tokenizer is taken."""
        ...

    @property
    def length(self) -> int:
        """Tokens in a row."""
        ...

    @property
    def rows(self) -> int:
        """Rows in a step."""
        ...

    @property
    def steps(self) -> int:
        """Steps of AdamW."""
        ...

    @property
    def rate(self) -> float:
        """Highest learning rate, after a warmup over a tenth of the steps; then linear to 0."""
        ...

    @property
    def decay(self) -> float:
        """Weight decay of the matrices."""
        ...


@dataclass(frozen=True)
class Text:
    """The tokenised text, and what the simplest model makes of it."""

    train: Rows
    """Token numbers, (rows, length)."""
    held_out: Rows
    """The same of the texts that are held out."""
    special: tuple[int, ...]
    """Numbers of the tokens that are never predicted."""
    mask: int | None
    """Number of the mask token, if there is one."""
    vocabulary: int
    """Number of tokens that there are."""

    @cached_property
    def log_frequencies(self) -> npt.NDArray[np.float64]:
        """Log probability of each token in the training rows, one added to every count."""
        counts = np.bincount(self.train.ravel(), minlength=self.vocabulary).astype(np.float64)
        counts[list(self.special)] = 0
        counts += 1
        return np.asarray(np.log(counts / counts.sum()))


class Sides(NamedTuple):
    """Texts as token numbers, and what is recorded of them."""

    tokens: dict[str, list[list[int]]]
    """Of each text, under ``train`` and ``held_out``."""
    sources: list[dict[str, Any]]
    """What was read: counts, fingerprint, origin, licence."""
    held_out: dict[str, list[str]]
    """Ids of the texts that are held out."""


def load_tokenizer(settings: Shape) -> Any:
    """Give the tokenizer of the models, which reads no more tokens than they do."""
    tokenizer = AutoTokenizer.from_pretrained(resolve_weights(settings.tokenizer).folder)
    tokenizer.model_max_length = settings.length
    return tokenizer


def tokenised(settings: Shape, tokenizer: Any, tell: Callable[[str], None]) -> Sides:
    """Read and tokenise the texts, without special tokens and cut to the length of a row.

    Raises
    ------
    CospaceError
        If a text cannot be had.
    """
    sides = Sides({"train": [], "held_out": []}, [], {})
    for name in settings.texts:
        tell(f"reading and tokenising {name}")
        corpus, source = _read(name)
        away, kept = corpora.split(corpus, HELD_OUT)
        sides.held_out[name] = list(away.ids)
        for kind, side in (("train", kept), ("held_out", away)):
            sides.tokens[kind] += _numbers(tokenizer, side, settings)
        words = sum(len(text.split()) for text in corpus.texts)
        facts = {"texts": len(corpus), "words": words, "fingerprint": corpus.fingerprint}
        sides.sources.append({"name": name, **facts, **source})
    return sides


def pack(texts: Sequence[Sequence[int]], *, length: int, first: int, end: int) -> Rows:
    """Fill rows of ``length`` tokens: ``first``, then whole texts, each followed by ``end``.

    A text that does not fit fills the row with its beginning and stands whole in the next one, so
    every row begins with the beginning of a text. What is longer than a row is cut; an unfilled
    last row is left out.

    Examples
    --------
    >>> pack([[5, 6], [7, 8, 9]], length=5, first=1, end=2).tolist()
    [[1, 5, 6, 2, 7], [1, 7, 8, 9, 2]]
    """
    rows: list[list[int]] = []
    row = [first]
    for text in texts:
        piece = [*text, end]
        if len(row) > 1 and len(row) + len(piece) > length:
            rows.append([*row, *piece[: length - len(row)]])
            row = [first]
        row += piece[: length - 1]
        if len(row) == length:
            rows.append(row)
            row = [first]
    return np.array(rows, dtype=np.uint16).reshape(-1, length)


def check_enough(packed: dict[str, Rows], settings: Shape) -> None:
    """Refuse a text that fills no step, or holds nothing out.

    Raises
    ------
    InputError
        With the number of rows that the text fills.
    """
    for kind, least in (("train", settings.rows), ("held_out", 1)):
        if len(packed[kind]) < least:
            raise InputError(
                f"The text fills {len(packed[kind])} rows of {settings.length} tokens "
                f"({kind.replace('_', ' ')}), expected {least} or more: take more text."
            )


def batch(rows: Rows, *, seed: int, step: int, size: int) -> Rows:
    """Rows of a step: every pass over the text is a shuffle of its own, fixed by the seed."""
    turn, place = divmod(step, len(rows) // size)
    order = np.random.default_rng([seed, 0, turn]).permutation(len(rows))
    return rows[order[place * size : (place + 1) * size]]


class Draw(NamedTuple):
    """The tokens that a step's softmax runs over."""

    among: npt.NDArray[np.int64]
    """Their numbers, rising."""
    place: npt.NDArray[np.int64]
    """Where each wanted token stands among them."""
    log_present: npt.NDArray[np.float64]
    """Log probability that a token is among them."""


def draw(
    wanted: npt.NDArray[np.int64],
    text: Text,
    rng: np.random.Generator,
    *,
    draws: int,
    evenly: int = 0,
) -> Draw:
    """Draw tokens by their frequency, to stand beside the wanted ones in a softmax.

    A token of frequency p stands among n wanted and d drawn tokens with probability
    1 - (1 - p)^(n + d). With the logarithm of this taken off the scores, the full softmax is what
    is learnt (Bengio and Senécal 2008). Where nothing but the scores says that a token is rare,
    ``evenly`` many are drawn from all tokens alike, too: those that the text lacks would else keep
    what probability they had at the start.
    """
    drawn = rng.choice(text.vocabulary, size=draws, p=np.exp(text.log_frequencies))
    others = rng.integers(text.vocabulary, size=evenly)
    among, place = np.unique(np.concatenate([wanted, drawn, others]), return_inverse=True)
    place, log_p = place[: len(wanted)], text.log_frequencies[among]
    log_absent = (len(place) + draws) * np.log1p(-np.exp(log_p))
    log_absent += evenly * math.log1p(-1 / text.vocabulary)
    return Draw(among, place, np.log(-np.expm1(log_absent)))


def scores(losses: Any, right: Any) -> dict[str, float]:
    """Mean loss in nats, perplexity, share of tokens that were the likeliest, and their number.

    Raises
    ------
    InputError
        If there is no token.
    """
    if not len(losses):
        raise InputError("No held-out token was chosen to be predicted: take more text.")
    loss = float(losses.mean())
    return {
        "loss": round(loss, 4),
        "perplexity": round(math.exp(loss), 2),
        "accuracy": round(float(right.mean()), 4),
        "tokens": len(losses),
    }


def unigram(text: Text, wanted: Any) -> dict[str, float]:
    """Scores of the model that knows the frequency of each token and nothing else."""
    log_p = text.log_frequencies
    return scores(-log_p[wanted], wanted == log_p.argmax())


def _read(name: str) -> tuple[Corpus, dict[str, Any]]:
    """A corpus, and where it comes from as far as it is known."""
    if name not in corpora.CORPORA:
        return corpora.open_corpus(name), {}
    real = corpora.read_text(name)
    origin = real.provenance
    facts = {each: getattr(origin, each) for each in ("package", "version", "licence", "sha256")}
    return real.corpus, {"origin": corpora.CORPORA[name].origin, **facts}


def _numbers(tokenizer: Any, corpus: Corpus, settings: Shape) -> list[list[int]]:
    bare = {"add_special_tokens": False, "truncation": True, "max_length": settings.length}
    return list(tokenizer(list(corpus.texts), **bare)["input_ids"])
