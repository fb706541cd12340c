"""One model while its token embeddings are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace.models.embeddings import Embeddings, Role
from cospace.tokens.neighbors import neighbors_of, prepare_search
from cospace.tokens.options import TokenOptions
from cospace.tokens.result import TokenSide
from cospace.tokens.vocabulary import Vocabulary

__all__ = ["Progress", "Side", "Told", "facts_of"]

Index = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Told:
    """Where blocks are kept, and who is told of progress."""

    folder: Path | None
    progress: Progress | None

    def say(self, what: str, done: int, total: int) -> None:
        """Tell how far it is, if anyone is told."""
        if self.progress is not None:
            self.progress(what, done, total)


@dataclass(eq=False)
class Side:
    """One model while it is compared."""

    embeddings: Embeddings
    vocabulary: Vocabulary
    ids: Index
    """Rows of the shared tokens."""
    also: Index
    """Rows that stand for the same in both models, and are no tokens to compare."""
    among: Index
    """Rows among which neighbours are searched: the shared tokens, in their order, then those that stand
    for the same, then all others. Of equally near rows the first are taken, so the same in both models."""

    @property
    def roles(self) -> tuple[Role, ...]:
        """Roles whose matrices differ."""
        return self.embeddings.roles

    @property
    def known(self) -> int:
        """Number of rows that stand for the same in both models."""
        return len(self.ids) + len(self.also)

    def shared(self, index: Index) -> Index:
        """Places among the rows that both models have, shared tokens first; -1 for another one."""
        table = np.full(len(self.vocabulary), -1, dtype=np.int64)
        table[np.concatenate([self.ids, self.also])] = np.arange(self.known)
        return np.asarray(table[self.among[index]])

    def neighbors(
        self, role: Role, asked: Sequence[tuple[Index, int]], options: TokenOptions, told: Told
    ) -> tuple[npt.NDArray[Any], list[Index]]:
        """Rows among which neighbours are searched, and places among them of each asked for.

        Asked are the k nearest of some shared tokens, as often as need be: one search is prepared.
        """
        matrix = self.embeddings.matrix(role)
        rows = matrix.rows(self.among)
        most = max((k for _, k in asked), default=0)
        key = {
            "weights": self.embeddings.weights.weights_hash,
            "tensor": matrix.tensor,
            "among": hashlib.sha256(self.among.astype("<i8").tobytes()).hexdigest(),
        }
        prepared = cache(lambda: prepare_search(rows, most, metric=options.metric))
        found = [
            neighbors_of(
                rows,
                chosen,
                k,
                metric=options.metric,
                folder=told.folder,
                key=key,
                done=partial(told.say, f"neighbours, {self.embeddings.name}"),
                prepared=prepared,
            )
            for chosen, k in asked
        ]
        return rows, found


def facts_of(side: Side) -> TokenSide:
    """What a result says of one model."""
    weights, embeddings = side.embeddings.weights, side.embeddings
    return TokenSide(
        name=weights.name,
        reference=weights.reference,
        weights_hash=weights.weights_hash,
        revision=weights.revision,
        quantisation=weights.quantisation,
        tensors={role: embeddings.matrix(role).tensor for role in embeddings.roles},
        dtype=embeddings.input.dtype,
        tying=embeddings.tying,
        tying_reason=embeddings.reason,
        rows=embeddings.input.shape[0],
        width=embeddings.input.shape[1],
        marker=side.vocabulary.marker,
        classes=side.vocabulary.counts(),
        nameless=len(side.vocabulary.nameless),
        rowless=side.vocabulary.rowless,
    )
