"""Do the neighbours of a token mean something to each other, and does that go with their dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, UndefinedMeasureError
from cospace.models.embeddings import Embeddings, Role
from cospace.result import Result, checked
from cospace.tokens.frequency import Frequencies
from cospace.tokens.graph import WordGraph
from cospace.tokens.local import intrinsic_dimensions
from cospace.tokens.neighbors import by_distance, neighbors_of
from cospace.tokens.ranks import average_ranks
from cospace.tokens.vocabulary import Vocabulary, read_vocabulary

__all__ = ["Coherence", "CoherentToken", "coherence_scores", "measure_coherence", "terms_of"]

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

LEAST = 10
"""Fewest tokens over which coherence and dimension are correlated."""


@dataclass(frozen=True)
class CoherentToken:
    """One token of the tables that are there to be read."""

    id: int
    """Its row."""
    text: str
    """Its text."""
    dimension: int
    """Intrinsic dimension of its neighbours."""
    star: float
    """Share of its neighbours joined to it."""
    pair: float
    """Share of pairs of its neighbours that are joined."""
    neighbours: tuple[str, ...]
    """Texts of its nearest neighbours, nearest first."""


@dataclass(frozen=True)
class Coherence(Result):
    """Semantic coherence of neighbourhoods beside their dimension, in one model."""

    kind: ClassVar[str] = "semantic coherence"

    model: str
    """Name of the model."""
    role: str
    """Matrix."""
    graph: str
    """Where the edges come from."""
    usable: int
    """Tokens that are whole words of the graph."""
    tokens: int
    """Those sampled."""
    k: int
    """Neighbours whose coherence is taken."""
    dimension_k: int
    """Neighbours whose dimension is taken."""
    star: float
    """Mean share of neighbours joined to the token."""
    pair: float
    """Mean share of joined pairs among neighbours."""
    star_spearman: float | None
    """Spearman's correlation of the first with the dimension; None where one of them is constant."""
    pair_spearman: float | None
    """The same of the second."""
    star_partial: float | None
    """The first correlation with the rank of the token's length (its norm) taken out of both."""
    pair_partial: float | None
    """The same of the second."""
    null_star: float
    """Mean ``star`` over shuffled graphs."""
    null_pair: float
    """Mean ``pair`` over shuffled graphs."""
    star_p: float | None
    """Share of shuffled graphs whose correlation is as far from 0 (the real one counts as one)."""
    pair_p: float | None
    """The same of the second."""
    shuffles: int
    """Shuffled graphs: words exchange their places."""
    lowest: tuple[CoherentToken, ...]
    """Tokens of the lowest dimension."""
    highest: tuple[CoherentToken, ...]
    """Tokens of the highest dimension."""
    frequency: str | None = None
    """Text in which tokens were counted; None where none was."""
    unseen: int | None = None
    """Sampled tokens that do not stand in that text."""
    frequency_spearman: float | None = None
    """Spearman's correlation of a token's frequency with the dimension."""
    star_both: float | None = None
    """The first correlation with the ranks of both length and frequency taken out."""
    pair_both: float | None = None
    """The same of the second."""

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a token of the tables."""
        return [
            {"model": self.model, "table": name, **vars(one)}
            for name in ("lowest", "highest")
            for one in getattr(self, name)
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``.

        Raises
        ------
        InputError
            For another dictionary.
        """
        try:
            values = {k: v for k, v in data.items() if k not in ("kind", "schema")}
            for name in ("lowest", "highest"):
                values[name] = [checked(CoherentToken, one) for one in data[name]]
            made: Self = checked(cls, values)
            return made
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"This is no semantic coherence that this version wrote: {error}."
            ) from None


def terms_of(vocabulary: Vocabulary, graph: WordGraph) -> list[str | None]:
    """Word of the graph that each row stands for, in lower case; None for all other rows.

    Only whole words: tokens of letters that begin a word.
    """
    found: list[str | None] = []
    for form in vocabulary.forms:
        term = None
        if form is not None and form.initial:
            text = form.text.decode(errors="replace")
            word = text.lower()
            term = word if text.isalpha() and word in graph else None
        found.append(term)
    return found


def coherence_scores(
    graph: WordGraph, own: Sequence[str], near: Sequence[Sequence[str | None]]
) -> tuple[Floats, Floats]:
    """Two scores of semantic coherence for every token, in [0, 1].

    ``star``: share of its k neighbours that an edge joins to it. ``pair``: share of the
    k (k - 1) / 2 pairs of neighbours that an edge joins. Neighbours that are no words of the graph
    are joined to nothing, nor is a word to itself.

    Parameters
    ----------
    graph
        The graph.
    own
        Word of each token.
    near
        Words of its neighbours, None for what is no word; two or more.

    Examples
    --------
    >>> graph = WordGraph.of([("dog", "cat"), ("cat", "lion")])
    >>> star, pair = coherence_scores(graph, ["dog"], [["cat", "lion", None]])
    >>> star.round(2).tolist(), pair.round(2).tolist()
    ([0.33], [0.33])
    """
    star, pair = np.empty(len(own)), np.empty(len(own))
    for i, (word, others) in enumerate(zip(own, near, strict=True)):
        k = len(others)
        words = [other for other in others if other is not None]
        star[i] = sum(graph.joined(word, other) for other in words) / k
        joined = sum(graph.joined(a, b) for at, a in enumerate(words) for b in words[at + 1 :])
        pair[i] = joined / (k * (k - 1) / 2)
    return star, pair


def measure_coherence(
    embeddings: Embeddings,
    graph: WordGraph,
    *,
    role: Role = "input",
    tokens: int = 500,
    k: int = 10,
    dimension_k: int = 100,
    shuffles: int = 99,
    rng: int = 0,
    frequencies: Frequencies | None = None,
) -> Coherence:
    """Relate the semantic coherence of a token's neighbours to their dimension.

    Neighbours are the nearest rows of the whole vocabulary (reserved rows left out), by Euclidean
    distance. The null exchanges the words of the graph that tokens stand for: its shape stays,
    its meaning goes.

    Parameters
    ----------
    embeddings
        Of the model.
    graph
        Which words mean something to each other.
    role
        Matrix.
    tokens
        Whole words of the graph that are sampled.
    k, dimension_k
        Neighbours for coherence and for the dimension.
    shuffles
        Shuffled graphs.
    rng
        Seed.
    frequencies
        Of this model's tokens in a text, to be taken out beside the length; see
        `cospace.tokens.count_tokens`.

    Raises
    ------
    InputError
        For k < 2, no shuffles, or frequencies of another number of rows.
    UndefinedMeasureError
        For fewer than 10 tokens that are words of the graph, or too few rows.
    """
    if k < 2 or dimension_k < 2 or shuffles < 1:
        raise InputError(
            f"k is {k}, dimension_k {dimension_k} and shuffles {shuffles}; 2, 2 and 1 or more are expected."
        )
    matrix = embeddings.matrix(role)
    if frequencies is not None and len(frequencies.counts) != matrix.shape[0]:
        raise InputError(
            f"Frequencies of {len(frequencies.counts)} tokens were given, and {embeddings.name} has "
            f"{matrix.shape[0]} rows: count them with its tokenizer."
        )
    vocabulary = read_vocabulary(embeddings.weights.folder, matrix.shape[0])
    terms = terms_of(vocabulary, graph)
    usable = np.asarray([i for i, term in enumerate(terms) if term is not None], dtype=np.int64)
    if len(usable) < LEAST:
        raise UndefinedMeasureError(
            f"{len(usable)} tokens of {embeddings.name} are words of {graph.name}: at least {LEAST} are needed."
        )
    generator = np.random.default_rng(rng)
    chosen = np.sort(generator.choice(usable, min(tokens, len(usable)), replace=False))
    among = vocabulary.ids("used", "special", "undecodable")
    rows = matrix.rows(among)
    places = np.searchsorted(among, chosen).astype(np.int64)
    index = neighbors_of(rows, places, max(k, dimension_k))
    index = by_distance(rows, places, index)
    dimension = intrinsic_dimensions(rows, index[:, :dimension_k])
    norms = np.linalg.norm(rows[places].astype(np.float64), axis=1)
    near = [[terms[among[j]] for j in line[:k]] for line in index]
    own = [str(terms[i]) for i in chosen]
    scores = coherence_scores(graph, own, near)
    found = [_spearman(score, dimension) for score in scores]
    partial = [_partial(score, dimension, norms) for score in scores]
    counts = None if frequencies is None else frequencies.counts[chosen]
    words = sorted({term for term in terms if term is not None})
    drawn = []
    for _ in range(shuffles):
        other = dict(zip(words, generator.permutation(words).tolist(), strict=True))
        made = coherence_scores(
            graph,
            [other[word] for word in own],
            [[None if word is None else other[word] for word in line] for line in near],
        )
        drawn.append([(float(s.mean()), _spearman(s, dimension)) for s in made])
    order = np.argsort(dimension, kind="stable")

    def table(some: Index) -> tuple[CoherentToken, ...]:
        return tuple(
            CoherentToken(
                int(chosen[i]),
                vocabulary.text(int(chosen[i])),
                int(dimension[i]),
                float(scores[0][i]),
                float(scores[1][i]),
                tuple(vocabulary.text(int(among[j])) for j in index[i, :k]),
            )
            for i in some
        )

    return Coherence(
        model=embeddings.name,
        role=role,
        graph=graph.name,
        usable=len(usable),
        tokens=len(chosen),
        k=k,
        dimension_k=dimension_k,
        star=float(scores[0].mean()),
        pair=float(scores[1].mean()),
        star_spearman=found[0],
        pair_spearman=found[1],
        star_partial=partial[0],
        pair_partial=partial[1],
        null_star=float(np.mean([each[0][0] for each in drawn])),
        null_pair=float(np.mean([each[1][0] for each in drawn])),
        star_p=_p(found[0], [each[0][1] for each in drawn]),
        pair_p=_p(found[1], [each[1][1] for each in drawn]),
        shuffles=shuffles,
        lowest=table(order[:10]),
        highest=table(order[::-1][:10]),
        **_with_frequency(frequencies, counts, scores, dimension, norms),
    )


def _with_frequency(
    frequencies: Frequencies | None,
    counts: Index | None,
    scores: Sequence[Floats],
    dimension: Index,
    norms: Floats,
) -> dict[str, Any]:
    if frequencies is None or counts is None:
        return {}
    star, pair = (_partial(score, dimension, norms, counts) for score in scores)
    return {
        "frequency": frequencies.text,
        "unseen": int((counts == 0).sum()),
        "frequency_spearman": _spearman(counts, dimension),
        "star_both": star,
        "pair_both": pair,
    }


def _spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float | None:
    return _correlated(average_ranks(x), average_ranks(y))


def _partial(x: npt.ArrayLike, y: npt.ArrayLike, *given: npt.ArrayLike) -> float | None:
    """Correlation of ranks with the ranks of others taken out of both, by least squares."""
    a, b, *others = (average_ranks(v) - (np.size(v) + 1) / 2 for v in (x, y, *given))
    table = np.stack(others, axis=1)
    left = np.stack([a, b], axis=1)
    left = left - table @ np.linalg.lstsq(table, left, rcond=None)[0]
    return _correlated(left[:, 0], left[:, 1])


def _correlated(x: Floats, y: Floats) -> float | None:
    x, y = x - x.mean(), y - y.mean()
    size = float(x @ x) * float(y @ y)
    # Ranks differ by halves at least: what is smaller is rounding.
    return None if size < 1e-12 else float(np.clip(x @ y / np.sqrt(size), -1.0, 1.0))


def _p(value: float | None, drawn: Sequence[float | None]) -> float | None:
    """Two-sided share of shuffles; one that has no correlation is not as far from 0."""
    if value is None:
        return None
    reached = sum(one is not None and abs(one) >= abs(value) - 1e-12 for one in drawn)
    return (1 + reached) / (1 + len(drawn))
