"""Global geometry of tokens behind the embeddings: at relative depths, run alone and in texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from cospace.corpus import Corpus
from cospace.errors import InputError, UndefinedMeasureError
from cospace.models.base import TokenPolicy, resolve_sites
from cospace.models.batching import Tokens
from cospace.result import checked
from cospace.tokens.options import LEAST
from cospace.tokens.similarity import Cosines, pearson, spearman

if TYPE_CHECKING:
    from cospace.models.occurrences import TokenStates

__all__ = ["Context", "Hidden", "HiddenFigure", "check_contexts", "chosen_texts", "compare_hidden"]

Context = Literal["alone", "text"]
Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

_COUNTED = TokenPolicy(special=False, sink=False)  # as cospace.models.occurrences counts


@dataclass(frozen=True)
class HiddenFigure:
    """How alike the cosines of all pairs of tokens are, at one relative depth of two models."""

    a: str
    """The first model."""
    b: str
    """The second."""
    context: str
    """``alone``: each token is the only one of its text; ``text``: mean over its occurrences."""
    depth: float
    """Relative depth that was asked for."""
    site_a: str
    """Where the first model was read."""
    site_b: str
    """Where the second."""
    tokens: int
    """Tokens."""
    pearson: float | None
    """Pearson's correlation over all pairs; 0 expected by chance; None where it is not defined."""
    spearman: float | None
    """Spearman's."""
    null_sd: float | None
    """Standard deviation over all ways to pair the tokens anew, exact for Pearson's."""
    p_at_most: float | None
    """Bound of the share of such pairings that reach Pearson's correlation."""
    mean_cosine_a: float | None
    """Mean cosine of two tokens of the first model; near 1 all states point nearly one way."""
    mean_cosine_b: float | None
    """The same of the second."""
    reason: str | None = None
    """Why there is no correlation."""


@dataclass(frozen=True)
class Hidden:
    """Figures of hidden layers, and what they are of."""

    figures: tuple[HiddenFigure, ...]
    """One for each pair of models, context and depth."""
    ids: Mapping[str, tuple[int, ...]]
    """Rows of the tokens, by model; place i is the same token in all."""
    text: str | None
    """Text in which they stand; None where each was run alone."""
    texts: int
    """Pieces of it that were run."""
    occurrences: Mapping[str, float]
    """Mean number of occurrences of a token, by model."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild from plain values."""
        figures = [checked(HiddenFigure, one) for one in data["figures"]]
        ids = {name: tuple(places) for name, places in data["ids"].items()}
        made: Self = checked(cls, {**data, "figures": figures, "ids": ids})
        return made


def check_contexts(contexts: Sequence[str]) -> None:
    """Refuse what is no context.

    Raises
    ------
    InputError
        For none, or another word than ``alone`` and ``text``.
    """
    if not contexts or set(contexts) - {"alone", "text"}:
        raise InputError(
            f"context is {','.join(contexts)!r}; 'alone', 'text' or both are expected."
        )


def compare_hidden(
    models: Sequence[TokenStates],
    ids: Sequence[Index],
    *,
    depths: Sequence[float],
    contexts: Sequence[Context] = ("alone",),
    corpus: Corpus | None = None,
    tokens: int = 500,
    occurrences: int = 4,
    rng: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Hidden:
    """Compare the states of shared tokens of every two models at relative depths.

    Parameters
    ----------
    models
        Two or more.
    ids
        For each its rows of the shared tokens; place i is the same token in all.
    depths
        In [0, 1], see `cospace.models.base.resolve_sites`.
    contexts
        ``alone``, ``text`` or both; the same tokens are taken for both.
    corpus
        The text, for ``text``. Tokens that stand at least ``occurrences`` times in it, in every
        model, are those of which some are taken; so many of its pieces are run as hold each of
        them so often.
    tokens
        Shared tokens, a random sample.
    occurrences
        Occurrences, at least, over which a state is averaged.
    rng
        Seed.
    progress
        Told what is done, how much of it, and of how much.

    Raises
    ------
    InputError
        For a context that is none, or none; no depth; no text where one is needed; numbers below 1.
    UndefinedMeasureError
        For fewer than 4 tokens that can be compared.
    """
    check_contexts(contexts)
    if not depths:
        raise InputError("No depth was named: name some in [0, 1], such as 0, 0.5 and 1.")
    if "text" in contexts and corpus is None:
        raise InputError("Tokens in a text need the text: give corpus=.")
    if tokens < LEAST or occurrences < 1:
        raise InputError(
            f"tokens is {tokens} and occurrences {occurrences}; {LEAST} and 1 or more are expected."
        )
    encoded: list[list[Tokens]] = []
    usable = np.arange(len(ids[0]))
    if "text" in contexts and corpus is not None:
        encoded = [model.encode(corpus.texts) for model in models]
        often = [_counts(texts, own) for texts, own in zip(encoded, ids, strict=True)]
        usable = np.flatnonzero(np.min(often, axis=0) >= occurrences)
    if len(usable) < LEAST:
        where = f" stand {occurrences} times in {corpus.name}" if encoded and corpus else ""
        raise UndefinedMeasureError(
            f"{len(usable)} shared tokens{where}: at least {LEAST} are needed."
        )
    chosen = usable
    if len(usable) > tokens:
        generator = np.random.default_rng([rng, 1 << 22])
        chosen = np.sort(generator.choice(usable, tokens, replace=False))
    own = [np.asarray(each[chosen], dtype=np.int64) for each in ids]
    run = chosen_texts(encoded, own, occurrences) if encoded else []
    sites = [_sites(model, depths) for model in models]
    figures: list[HiddenFigure] = []
    mean: dict[str, float] = {}
    for context in contexts:
        read: list[dict[str, Floats]] = []
        for i, model in enumerate(models):
            wanted = sorted(set(sites[i]), key=model.sites.index)
            total = len(chosen) if context == "alone" else len(run)
            said = _teller(progress, f"tokens {_WHERE[context]}, {model.facts.name}", total)
            if context == "alone":
                read.append(model.alone(own[i], wanted, said))
            else:
                found = model.in_texts([encoded[i][j] for j in run], own[i], wanted, said)
                mean[model.facts.name] = float(found.counts.mean())
                read.append(found.states)
        for i, j in combinations(range(len(models)), 2):
            for place, depth in enumerate(depths):
                at = sites[i][place], sites[j][place]
                facts = (models[i].facts.name, models[j].facts.name, context, float(depth), *at)
                rows = own[i], own[j]
                figures.append(_figure(facts, rows, read[i][at[0]], read[j][at[1]]))
    return Hidden(
        tuple(figures),
        {model.facts.name: tuple(map(int, each)) for model, each in zip(models, own, strict=True)},
        corpus.name if encoded and corpus is not None else None,
        len(run),
        mean,
    )


_WHERE = {"alone": "alone", "text": "in texts"}


def chosen_texts(
    encoded: Sequence[Sequence[Tokens]], ids: Sequence[Index], occurrences: int
) -> list[int]:
    """Numbers of texts, in their order, that hold each token so often in every model.

    A text is taken where it holds a token that, in some model, those before it hold too rarely.
    """
    flat = [_flat(texts, own) for texts, own in zip(encoded, ids, strict=True)]
    need = [np.full(len(own), occurrences) for own in ids]
    taken = []
    for at in range(len(encoded[0])):
        held = [place[ends[at] : ends[at + 1]] for place, ends in flat]
        held = [place[place >= 0] for place in held]
        if any((left[place] > 0).any() for left, place in zip(need, held, strict=True)):
            taken.append(at)
            for left, place in zip(need, held, strict=True):
                np.subtract.at(left, place, 1)
    return taken


def _flat(texts: Sequence[Tokens], ids: Index) -> tuple[Index, Index]:
    """Places in ``ids`` of the tokens of all texts, -1 for others, and where each text begins."""
    every = np.concatenate([np.where(text.kept(_COUNTED), text.ids, -1) for text in texts])
    ends = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    table = np.full(max(int(every.max()), int(ids.max())) + 2, -1, dtype=np.int64)
    table[ids] = np.arange(len(ids))
    return np.asarray(table[every]), np.asarray(ends)


def _counts(texts: Sequence[Tokens], ids: Index) -> Index:
    place, _ = _flat(texts, ids)
    return np.bincount(place[place >= 0], minlength=len(ids))


def _sites(model: TokenStates, depths: Sequence[float]) -> list[str]:
    blocks, norm = model.facts.blocks, model.facts.final_norm
    return [
        resolve_sites(depth, blocks=blocks, final_norm=norm, model=model.facts.name)[0].name
        for depth in depths
    ]


def _teller(
    progress: Callable[[str, int, int], None] | None, what: str, total: int
) -> Callable[[int], None] | None:
    if progress is None:
        return None
    done = 0

    def say(more: int) -> None:
        nonlocal done
        done += more
        progress(what, done, total)

    return say


def _figure(
    facts: tuple[str, str, str, float, str, str], ids: tuple[Index, Index], x: Floats, y: Floats
) -> HiddenFigure:
    def state(model: str, site: str, own: Index) -> Callable[[int], str]:
        return lambda place: f"The state of token {own[place]} of {model} at {site}"

    try:
        one = Cosines.of(x, named=state(facts[0], facts[4], ids[0]))
        other = Cosines.of(y, named=state(facts[1], facts[5], ids[1]))
        linear = pearson(one, other)
        ranked = spearman(one, other, null_sd=linear.null_sd)
    except UndefinedMeasureError as error:
        return HiddenFigure(*facts, len(x), None, None, None, None, None, None, str(error))
    return HiddenFigure(
        *facts,
        len(x),
        linear.value,
        ranked.value,
        linear.null_sd,
        linear.p_at_most,
        one.mean,
        other.mean,
    )
