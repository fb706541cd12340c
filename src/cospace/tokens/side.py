"""One model while its token embeddings are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace.models.embeddings import Embeddings, Role
from cospace.tokens.neighbors import neighbors_of
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
    """Rows among which neighbours are searched."""
    loaded: dict[str, npt.NDArray[Any]] = field(default_factory=dict)

    @property
    def roles(self) -> tuple[Role, ...]:
        """Roles whose matrices differ."""
        return self.embeddings.roles

    def rows(self, role: Role) -> npt.NDArray[Any]:
        """Rows among which neighbours are searched; kept, since weights and dimensions ask again."""
        if role not in self.loaded:
            self.loaded.clear()
            self.loaded[role] = self.embeddings.matrix(role).rows(self.among)
        return self.loaded[role]

    def places(self, chosen: Index) -> Index:
        """Places of shared tokens among those rows."""
        return np.searchsorted(self.among, self.ids[chosen]).astype(np.int64)

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
        self, role: Role, chosen: Index, k: int, options: TokenOptions, told: Told
    ) -> Index:
        """Neighbours of shared tokens: places among those rows."""
        key = {
            "weights": self.embeddings.weights.weights_hash,
            "tensor": self.embeddings.matrix(role).tensor,
            "among": hashlib.sha256(self.among.astype("<i8").tobytes()).hexdigest(),
        }
        return neighbors_of(
            self.rows(role),
            self.places(chosen),
            k,
            metric=options.metric,
            folder=told.folder,
            key=key,
            done=lambda done, total: told.say(f"neighbours, {self.embeddings.name}", done, total),
        )


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
