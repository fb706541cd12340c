"""Choosing among texts by their ids alone, so that the same text is chosen everywhere."""

from __future__ import annotations

import hashlib

from cospace.corpus import Corpus
from cospace.errors import InputError

__all__ = ["split", "subset"]

# One word each, so that the texts of a subset do not all fall on one side of a split.
_SUBSET = "subset"
_SPLIT = "split"
_WHOLE = 2**64


def subset(corpus: Corpus, size: int, *, seed: int = 0) -> Corpus:
    """A random subset that a larger one only adds to.

    The texts are put in the order of the SHA-256 of ``seed`` and their ids, and the first
    ``size`` are taken: the subset of 100 is the beginning of that of 200.

    Parameters
    ----------
    corpus
        The texts.
    size
        How many are taken.
    seed
        Another seed is another order.

    Raises
    ------
    InputError
        If ``size`` is not between 1 and the number of texts.

    Examples
    --------
    >>> corpus = Corpus("c", ids=("a", "b", "d"), texts=("one", "two", "three"))
    >>> small, all_of_it = subset(corpus, 2), subset(corpus, 3)
    >>> all_of_it.ids[:2] == small.ids
    True
    """
    if isinstance(size, bool) or not 1 <= size <= len(corpus):
        raise InputError(
            f"{size} texts were asked for, and {corpus.name!r} has {len(corpus):,}: "
            f"ask for 1 to {len(corpus)}."
        )
    order = sorted(range(len(corpus)), key=lambda i: _place(_SUBSET, seed, corpus.ids[i]))
    return corpus.take(order[:size])


def split(corpus: Corpus, share: float = 0.5, *, seed: int = 0) -> tuple[Corpus, Corpus]:
    """Split in two by id: about ``share`` of the texts, and the others, in their order.

    A text falls on the first side where the SHA-256 of ``seed`` and its id, read as a number in
    [0, 1), is below ``share``. So its side does not depend on the other texts: a text added or
    left out moves no other, and a larger share keeps what a smaller one has.

    Parameters
    ----------
    corpus
        The texts.
    share
        Expected share of the first side, in (0, 1).
    seed
        Another seed is another split.

    Raises
    ------
    InputError
        If ``share`` is not in (0, 1), or one side would be empty.

    Examples
    --------
    >>> corpus = Corpus("c", ids=tuple("abcdefgh"), texts=tuple("stuvwxyz"))
    >>> fitted, held_out = split(corpus, 0.5)
    >>> sorted(fitted.ids + held_out.ids) == sorted(corpus.ids)
    True
    """
    if not 0 < share < 1:
        raise InputError(f"The share of a split is {share}, expected a number between 0 and 1.")
    first: list[int] = []
    second: list[int] = []
    for i, name in enumerate(corpus.ids):
        (first if _place(_SPLIT, seed, name) < share * _WHOLE else second).append(i)
    if not first or not second:
        raise InputError(
            f"A share of {share} leaves one side of {corpus.name!r} empty ({len(corpus)} texts): "
            "take more texts or another share."
        )
    return corpus.take(first), corpus.take(second)


def _place(purpose: str, seed: int, name: str) -> int:
    digest = hashlib.sha256(f"{purpose}\0{seed}\0{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
