"""Sets of texts that retrieval is tested on, and how texts are set aside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from cospace._numbers import check_seed
from cospace.errors import InputError, RowMismatchError
from cospace.shared.training import match_texts
from cospace.space import Space

__all__ = ["RetrievalSet", "Split", "split_texts"]


class PairedTexts(Protocol):
    """Texts with ids, some of them in pairs: a :class:`~cospace.corpus.Corpus`."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the texts."""
        ...

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts."""
        ...

    @property
    def pairs(self) -> tuple[str, ...] | None:
        """What the two texts of a pair share."""
        ...


class Sides(NamedTuple):
    """Rows of a set, one table a model."""

    queries: list[Any]
    """Rows of the queries."""
    answers: list[Any]
    """Rows of the answers; the same list where every text is its own answer."""
    ids: tuple[str, ...] | None
    """Ids of the queries."""
    groups: tuple[str, ...] | None
    """Groups of the answers."""


@dataclass(frozen=True, eq=False)
class RetrievalSet:
    """Rows to search and to be found; row i of the answers answers row i of the queries."""

    name: str
    """What tables call it."""
    queries: Mapping[str, Any]
    """Name of a model -> Space or array (n, d_m)."""
    answers: Mapping[str, Any] | None = None
    """The same of other texts that say the same; None where every text is its own answer."""
    texts: tuple[str, ...] | None = None
    """The query texts, for the bag of words."""
    answer_texts: tuple[str, ...] | None = None
    """The texts of the answers."""
    lengths: tuple[float, ...] | None = None
    """Length of every answer, in any unit, for galleries of similar length; by default characters
    of its text, where texts are known."""

    @classmethod
    def paraphrases(cls, name: str, spaces: Mapping[str, Space], corpus: PairedTexts) -> Self:
        """Query with the first text of every pair, answer with its second.

        Parameters
        ----------
        name
            What tables call it.
        spaces
            Model -> Space with the ids of the corpus.
        corpus
            Texts with pairs, such as the packaged ``paraphrase``.

        Raises
        ------
        InputError
            For a corpus without pairs, or a pair of another number of texts than 2.
        RowMismatchError
            For spaces that lack a text.
        """
        if corpus.pairs is None:
            raise InputError(
                f"The texts of {name} have no pairs: paraphrases need a corpus whose pairs say which two texts belong "
                "together."
            )
        members: dict[str, list[int]] = defaultdict(list)
        for place, pair in enumerate(corpus.pairs):
            members[pair].append(place)
        for pair, places in members.items():
            if len(places) != 2:
                raise InputError(
                    f"Pair {pair!r} of {name} has {len(places)} texts; 2 are expected."
                )
        sides = [[places[side] for places in members.values()] for side in (0, 1)]
        rows = [
            {m: space.take([corpus.ids[i] for i in side]) for m, space in spaces.items()}
            for side in sides
        ]
        told = [tuple(corpus.texts[i] for i in side) for side in sides]
        return cls(name, rows[0], rows[1], told[0], told[1])

    def answer_lengths(self) -> tuple[float, ...] | None:
        """Length of every answer, where it is known."""
        texts = self.answer_texts if self.answers is not None else self.texts
        if self.lengths is not None or texts is None:
            return self.lengths
        return tuple(float(len(text)) for text in texts)

    def rows(self, models: Sequence[str]) -> Sides:
        """Query and answer rows of the models in order, ids of the queries, groups of the answers.

        Raises
        ------
        InputError
            For a set that lacks a model, or texts of another number than rows.
        RowMismatchError
            For rows of the models that are not the same texts.
        """
        found = []
        ids: tuple[str, ...] | None = None
        groups: tuple[str, ...] | None = None
        for side in (self.queries, self.answers):
            if side is None:
                continue
            if absent := [one for one in models if one not in side]:
                raise InputError(
                    f"Set {self.name!r} lacks {absent[0]}: give rows of every model of the fit."
                )
            matched = match_texts({one: side[one] for one in models})
            ids = matched.ids if ids is None else ids
            groups = matched.groups
            found.append([matched.rows[one] for one in models])
        queries, answers = found[0], found[-1]
        if len(queries[0]) != len(answers[0]):
            raise RowMismatchError(
                f"Set {self.name!r} has {len(queries[0])} queries and {len(answers[0])} answers; one answer for each "
                "is expected."
            )
        for told, what in (
            (self.texts, "texts"),
            (self.answer_texts, "texts"),
            (self.lengths, "lengths"),
        ):
            if told is not None and len(told) != len(queries[0]):
                raise InputError(
                    f"Set {self.name!r} has {len(queries[0])} rows and {len(told)} {what}: one for each row."
                )
        return Sides(queries, answers, ids, groups)


class Split(NamedTuple):
    """Ids to fit on, and ids that are set aside."""

    fit: tuple[str, ...]
    """Ids of the fit, in their order."""
    held_out: tuple[str, ...]
    """Ids that no fit sees, in their order."""


def split_texts(
    ids: Sequence[str],
    *,
    held_out: int | float,
    rng: int = 0,
    together: Sequence[str] | None = None,
) -> Split:
    """Set texts aside at random.

    Parameters
    ----------
    ids
        Ids of the texts.
    held_out
        How many, or which share below 1.
    rng
        Seed.
    together
        One name for each text; texts of one name are on one side (pairs, near-duplicates). The
        number set aside is then the least that whole names reach.

    Raises
    ------
    InputError
        For a number that leaves nothing on a side.

    Examples
    --------
    >>> split = split_texts(["a", "b", "c", "d"], held_out=0.25)
    >>> len(split.fit), len(split.held_out)
    (3, 1)
    """
    check_seed(rng)
    n = len(ids)
    wanted = round(held_out * n) if 0.0 < held_out < 1.0 else int(held_out)
    names = list(ids) if together is None else list(together)
    if len(names) != n:
        raise InputError(f"{n} ids and {len(names)} names of what stays together; one for each.")
    order = sorted(set(names))
    np.random.default_rng(rng).shuffle(order)
    size = dict.fromkeys(order, 0)
    for name in names:
        size[name] += 1
    aside: set[str] = set()
    count = 0
    for name in order:
        if count >= wanted:
            break
        aside.add(name)
        count += size[name]
    if not 0 < count < n:
        raise InputError(
            f"held_out={held_out} sets {count} of {n} texts aside; at least 1 must be left on either side."
        )
    return Split(
        tuple(one for one, name in zip(ids, names, strict=True) if name not in aside),
        tuple(one for one, name in zip(ids, names, strict=True) if name in aside),
    )
