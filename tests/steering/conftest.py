"""A decoder that can be worked out by hand, and real ones with random weights."""

from __future__ import annotations

import re
from contextlib import contextmanager

import numpy as np
import pytest

from cospace.errors import UnknownNameError
from cospace.models.base import ModelFacts
from cospace.models.batching import Tokens
from cospace.steering import ChoiceItem

LETTERS = {
    "apart": r"\(|\)|\w+|[^\w\s]",
    "opening": r"\(\w+|\)|\w+|[^\w\s]",
    "closing": r"\(|\w+\)?|[^\w\s]",
    "whole": r"\(\w+\)|\w+|[^\w\s]",
}
"""Ways in which tokenizers cut the answer (A)."""


class Toy:
    """State of token t: its row of a table, and the mean of the rows before it.

    What is added at ``block.1`` is seen by the head, whose logits are products with its rows. One
    that ``reads`` the options adds to a letter's state the row of the word that it stands for, and
    to its logit the product of the state with that row.
    """

    def __init__(self, name="toy", *, width=6, cut="apart", seed=0, blocks=4, reads=False):
        self.facts = ModelFacts(
            reference=f"tests/{name}",
            name=name,
            architecture="toy",
            blocks=blocks,
            width=width,
            final_norm=False,
            dtype="float64",
            weights_hash=f"{name}-weights",
            parameters=0,
        )
        rng = np.random.default_rng(seed)
        self.table = rng.normal(size=(500, width))
        self.head = rng.normal(size=(500, width))
        self.reads = reads
        self.words: dict[str, int] = {}
        self.cut = re.compile(LETTERS[cut])
        self.added: list[tuple[str, np.ndarray]] = []

    def number(self, word):
        return self.words.setdefault(word, len(self.words))

    def encode(self, texts):
        found = []
        for text in texts:
            ids = np.array([self.number("<s>"), *map(self.number, self.cut.findall(text))])
            found.append(Tokens(ids, np.arange(len(ids)) == 0))
        return found

    def all_states(self, ids, site):
        rows = self.table[ids]
        before = np.cumsum(rows, axis=0) - rows
        states = rows + before / np.maximum(np.arange(len(ids)), 1)[:, None]
        for letter, word in self.meant(ids).items():
            states[(ids == letter) & (np.arange(len(ids)) == len(ids) - 2)] += self.table[word]
        return states + sum((v for at, v in self.added if at == site), np.zeros(rows.shape[1]))

    def meant(self, ids):
        """Letter -> the word two tokens behind its first place, behind the bracket."""
        letters = [self.number(letter) for letter in "AB"] if self.reads else []
        places = {letter: np.flatnonzero(ids == letter) for letter in letters}
        return {letter: ids[at[0] + 2] for letter, at in places.items() if len(at)}

    def states(self, texts, kept, sites):
        return {
            site: np.array(
                [self.all_states(t.ids, site)[k].mean(axis=0) for t, k in zip(texts, kept)]  # noqa: B905
            )
            for site in sites
        }

    def logs(self, ids):
        states = self.all_states(ids, "block.1")
        logits = states @ self.head.T
        for letter, word in self.meant(ids).items():
            logits[:, letter] += states @ self.table[word]
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    def next_log_probs(self, texts, candidates):
        return np.array([self.logs(t.ids)[-1][c] for t, c in zip(texts, candidates)])  # noqa: B905

    def log_likelihoods(self, texts, *, places=None):
        found = [self.logs(t.ids)[np.arange(len(t) - 1), t.ids[1:]] for t in texts]
        begin = [1] * len(texts) if places is None else places
        return [each[start - 1 :] for each, start in zip(found, begin, strict=True)]

    def nearest_tokens(self, vector, k=10):
        cosines = self.head @ vector / np.linalg.norm(self.head, axis=1) / np.linalg.norm(vector)
        return [(f"t{i}", float(cosines[i])) for i in np.argsort(-cosines)[:k]]

    def check_site(self, site):
        if site not in (known := [f"block.{i}" for i in range(self.facts.blocks)] + ["embed"]):
            raise UnknownNameError.among(site, known, "site of toy")

    @contextmanager
    def adding(self, site, vector, *, positions="all"):
        assert positions == "all"
        self.added.append((site, np.asarray(vector)))
        try:
            yield
        finally:
            self.added.pop()


@pytest.fixture
def toy():
    return Toy


@pytest.fixture
def items():
    words = [
        "red",
        "blue",
        "green",
        "black",
        "white",
        "brown",
        "pink",
        "grey",
        "cold",
        "warm",
        "near",
        "far",
    ]
    return tuple(
        ChoiceItem(
            f"Question {i}?\n\nChoices:\n (A) {words[i]}\n (B) {words[i + 1]}",
            *(("(A)", "(B)") if i % 2 else ("(B)", "(A)")),
        )
        for i in range(11)
    )
