"""Retrieval by words alone: what can be had without any model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from cospace.errors import InputError
from cospace.shared.scaling import Floats

__all__ = ["bag_of_words"]

_WORD = re.compile(r"\w+")


def bag_of_words(
    queries: Sequence[str], answers: Sequence[str], *, known: Sequence[str] = ()
) -> tuple[Floats, Floats]:
    """Word counts of queries and answers, weighted by how rare a word is.

    ``count * (ln((1 + N) / (1 + df)) + 1)``, words folded to lower case, N texts and df of them
    with the word, over ``known`` texts and the answers.

    Returns
    -------
    tuple
        Rows of queries and of answers over the same words.

    Raises
    ------
    InputError
        For another number of answers than queries.

    Examples
    --------
    >>> q, a = bag_of_words(["the cat"], ["The dog"])
    >>> q.shape, bool((q @ a.T)[0, 0] > 0)
    ((1, 3), True)
    """
    if len(queries) != len(answers):
        raise InputError(
            f"{len(queries)} query texts and {len(answers)} answers were given; one answer for each query is expected."
        )
    counts = [Counter(_WORD.findall(text.casefold())) for text in (*queries, *answers)]
    rarity = [Counter(_WORD.findall(text.casefold())) for text in known] + counts[len(queries) :]
    frequency = Counter(word for one in rarity for word in one)
    column = {word: i for i, word in enumerate(sorted(set().union(*counts)))}
    table = np.zeros((len(counts), len(column)))
    for row, one in enumerate(counts):
        for word, count in one.items():
            weight = np.log((1 + len(rarity)) / (1 + frequency[word])) + 1.0
            table[row, column[word]] = count * weight
    return table[: len(queries)], table[len(queries) :]
