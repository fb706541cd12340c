"""Compare the token embeddings of two models: globally, near every token, and in dimension."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace.errors import UndefinedMeasureError
from cospace.measures.reconstruction import barycentre_weights
from cospace.models.embeddings import Embeddings, Role, read_embeddings
from cospace.tokens.local import (
    dimension_correlation,
    dimensions_of_nearest,
    weight_cosines,
)
from cospace.tokens.matching import Matched, match, match_rest
from cospace.tokens.neighbors import by_distance
from cospace.tokens.options import LEAST, TokenOptions
from cospace.tokens.result import (
    EDGES,
    DimensionFigure,
    GlobalFigure,
    LocalFigure,
    SharedTokens,
    TokenComparison,
    TokenSide,
)
from cospace.tokens.side import Progress, Side, Told, facts_of
from cospace.tokens.similarity import Correlation, Cosines, pearson, spearman
from cospace.tokens.vocabulary import CLASSES, Vocabulary, read_vocabulary

__all__ = ["compare", "versions"]

Index = npt.NDArray[np.int64]
_HALF = 0.5
_NEAR_BOUND = 0.8
_NAMED = 12
"""Tokens that a warning names."""


def compare(
    a: str | Embeddings,
    b: str | Embeddings,
    *,
    options: TokenOptions | None = None,
    accept: Collection[str] = (),
    folder: Path | None = None,
    progress: Progress | None = None,
) -> TokenComparison:
    """Compare the token embeddings of two models, straight from their weights.

    Tokens are matched by the bytes of their text, so that the models need not share a tokenizer.
    Every matrix of the first model is compared with every matrix of the second (of a tied model
    there is one): the cosines of all pairs of tokens, the weights that weave a token from its
    nearest neighbours in the whole vocabulary, and the dimension of its neighbourhood.

    Parameters
    ----------
    a, b
        References, see `cospace.models.weights.resolve_weights`, or embeddings.
    options
        How; see `TokenOptions`.
    accept
        Names of terms of use that are accepted.
    folder
        Where finished blocks of neighbours are kept, and looked for; None to keep none.
    progress
        Told what is done, how much of it, and of how much.

    Returns
    -------
    TokenComparison
        1 everywhere for a rotated and rescaled copy; beside each value its level by chance.

    Raises
    ------
    AcquisitionError
        If weights or a tokenizer cannot be read, or the matrices are not clear.
    InputError
        For tokenizers that are not understood, or that share no token.
    UndefinedMeasureError
        For fewer than 4 shared tokens, or where neighbours mean nothing.
    """
    options = options or TokenOptions()
    told = Told(folder, progress)
    first, second = (
        each
        if isinstance(each, Embeddings)
        else read_embeddings(each, accept=accept, progress=progress is not None)
        for each in (a, b)
    )
    vocabularies = [
        read_vocabulary(each.weights.folder, each.input.shape[0]) for each in (first, second)
    ]
    dead = [
        _dead(each, vocabulary)
        for each, vocabulary in zip((first, second), vocabularies, strict=True)
    ]
    out = _in_both(dead, match(*vocabularies)) if any(dead) else ([], [])
    matched = match(*vocabularies, without=out)
    if len(matched) < LEAST:
        raise UndefinedMeasureError(
            f"{first.name} and {second.name} share {len(matched)} tokens: at least {LEAST} are needed."
        )
    rest = match_rest(vocabularies[0], vocabularies[1], matched, without=out)
    sides = [
        Side(each, vocabulary, ids, also, _among(vocabulary, options, (ids, also), without))
        for each, vocabulary, ids, also, without in zip(
            (first, second),
            vocabularies,
            (matched.ids_a, matched.ids_b),
            rest,
            out,
            strict=True,
        )
    ]
    overall = _overall(sides, options, told)
    n = len(matched)
    woven = _drawn(n, n if options.tokens is None else options.tokens, options.rng, 1 << 20)
    sampled = _drawn(n, options.dimension_tokens, options.rng, 1 << 21)
    near = _near(sides, woven, sampled, options, told)
    local = _local(sides, near, woven, options) if len(woven) else ()
    dimensions = _dimensions(sides, near, sampled, options) if len(sampled) else ()
    facts = [facts_of(side) for side in sides]
    return TokenComparison(
        facts[0],
        facts[1],
        _shared(matched),
        overall,
        local,
        dimensions,
        {**asdict(options), "dimension_k": list(options.dimension_k)},
        (*_left_out(facts, dead), *_warnings(facts, matched, overall, dimensions)),
        versions(),
    )


def _among(
    vocabulary: Vocabulary, options: TokenOptions, first: tuple[Index, Index], without: list[int]
) -> Index:
    """Rows among which neighbours are searched: those that both models have go first, in one order."""
    named = [name for name in CLASSES if name != "reserved" or options.among == "all"]
    found = np.setdiff1d(vocabulary.ids(*named), without, assume_unique=True)
    both = np.concatenate(first)
    return np.concatenate([both[np.isin(both, found)], np.setdiff1d(found, both)])


def _dead(embeddings: Embeddings, vocabulary: Vocabulary) -> list[int]:
    """Rows of used tokens that are zero in some matrix: they have no direction to compare."""
    zeros = [set(embeddings.matrix(role).zeros().tolist()) for role in embeddings.roles]
    return sorted(set.union(*zeros) & set(vocabulary.ids("used").tolist()))


def _in_both(dead: list[list[int]], matched: Matched) -> tuple[list[int], list[int]]:
    """These rows, and those of the same tokens in the other model."""
    ids = matched.ids_a, matched.ids_b
    gone = np.isin(ids[0], dead[0]) | np.isin(ids[1], dead[1])
    a, b = (sorted({*own, *of[gone].tolist()}) for own, of in zip(dead, ids, strict=True))
    return a, b


def _left_out(facts: list[TokenSide], dead: list[list[int]]) -> list[str]:
    return [
        f"{side.name} has rows of zeros for tokens that are used; they point nowhere and are left out: "
        f"{', '.join(map(str, ids[:_NAMED]))}{f' and {len(ids) - _NAMED} more' if len(ids) > _NAMED else ''}."
        for side, ids in zip(facts, dead, strict=True)
        if ids
    ]


def _drawn(n: int, size: int, seed: int, stream: int) -> Index:
    """Numbers below n in ascending order: all, or ``size`` of them at random."""
    if size >= n:
        return np.arange(n)
    found = np.random.default_rng([seed, stream]).choice(n, size, replace=False)
    return np.sort(found).astype(np.int64)


def _overall(sides: list[Side], options: TokenOptions, told: Told) -> tuple[GlobalFigure, ...]:
    n = len(sides[0].ids)
    size, draws = options.sampled(n)
    pairs = list(product(sides[0].roles, sides[1].roles))
    found: dict[tuple[Role, Role], list[tuple[Correlation, Correlation, float, float]]] = {
        pair: [] for pair in pairs
    }
    total, done = draws * len(pairs), 0
    rooms: dict[tuple[int, Role], npt.NDArray[np.float64]] = {}  # a draw writes over the last one
    told.say("cosines of all pairs", 0, total)
    for draw in range(draws):
        chosen = _drawn(n, size, options.rng, draw)

        made = {}
        for i, side in enumerate(sides):
            for role in side.roles:
                rows = side.embeddings.matrix(role).rows(side.ids[chosen])
                made[i, role] = Cosines.of(rows, rooms.get((i, role)))
                rooms[i, role] = made[i, role].rows
        for pair in pairs:
            x, y = made[0, pair[0]], made[1, pair[1]]
            linear = pearson(x, y)
            ranked = spearman(x, y, rng=options.rng + draw, null_sd=linear.null_sd)
            found[pair].append((linear, ranked, x.mean, y.mean))
            done += 1
            told.say("cosines of all pairs", done, total)
    return tuple(_overall_figure(pair, drawn, size) for pair, drawn in found.items())


def _overall_figure(
    pair: tuple[Role, Role], made: list[tuple[Correlation, Correlation, float, float]], m: int
) -> GlobalFigure:
    linear, ranked = [each[0].value for each in made], [each[1].value for each in made]
    errors = [each[1].error for each in made if each[1].error is not None]
    return GlobalFigure(
        role_a=pair[0],
        role_b=pair[1],
        tokens=m,
        draws=len(made),
        pearson=float(np.mean(linear)),
        pearson_low=min(linear),
        pearson_high=max(linear),
        spearman=float(np.mean(ranked)),
        spearman_low=min(ranked),
        spearman_high=max(ranked),
        spearman_error=max(errors) if errors else None,
        null_sd=float(np.mean([each[0].null_sd for each in made])),
        p_at_most=max(each[0].p_at_most for each in made),
        mean_cosine_a=float(np.mean([each[2] for each in made])),
        mean_cosine_b=float(np.mean([each[3] for each in made])),
    )


@dataclass(frozen=True)
class _Near:
    """What is near the tokens of one matrix."""

    index: Index
    """Neighbours from which tokens are woven, among the rows that both models have."""
    weights: npt.NDArray[np.float64]
    """Their weights."""
    dimensions: Index
    """Dimensions of the sampled tokens' neighbours, a line for each number of these."""


def _near(
    sides: list[Side], woven: Index, sampled: Index, options: TokenOptions, told: Told
) -> list[dict[Role, _Near]]:
    """Weights and dimensions of every matrix, one after the other: only one is held at a time."""
    ks = sorted(set(options.dimension_k))
    asked = [(woven, options.k)] if len(woven) else []
    asked += [(sampled, ks[-1])] if len(sampled) else []
    made: list[dict[Role, _Near]] = [{}, {}]
    for side, near in zip(sides, made, strict=True):
        for role in side.roles if asked else ():
            rows, found = side.neighbors(role, asked, options, told)
            index, weights = np.empty((0, 0), dtype=np.int64), np.empty((0, 0))
            dimensions = np.empty((0, 0), dtype=np.int64)
            if len(woven):
                weights = barycentre_weights(rows, found[0], woven, reg=options.reg)
                index = side.shared(found[0])
            if len(sampled):
                ordered = by_distance(rows, sampled, found[-1], metric=options.metric)
                told.say(f"dimensions, {side.embeddings.name}", 0, 1)
                dimensions = dimensions_of_nearest(rows, ordered, ks, share=options.share)
                told.say(f"dimensions, {side.embeddings.name}", 1, 1)
            near[role] = _Near(index, weights, dimensions)
    return made


def _local(
    sides: list[Side], near: list[dict[Role, _Near]], chosen: Index, options: TokenOptions
) -> tuple[LocalFigure, ...]:
    figures = []
    for role_a, role_b in product(sides[0].roles, sides[1].roles):
        a, b = near[0][role_a], near[1][role_b]
        found = weight_cosines(a.index, a.weights, b.index, b.weights, shared=sides[0].known)
        apart = [side.ids[chosen[found.apart]] for side in sides]
        figures.append(
            LocalFigure(
                role_a=role_a,
                role_b=role_b,
                tokens=len(chosen),
                k=options.k,
                rows_a=len(sides[0].among),
                rows_b=len(sides[1].among),
                mean=float(found.values.mean()),
                median=float(np.median(found.values)),
                chance_mean=found.chance_mean,
                histogram=tuple(map(int, np.histogram(found.values, EDGES)[0])),
                apart_share=float(found.apart.mean()),
                chance_apart=found.chance_apart,
                known_a=float((a.index >= 0).mean()),
                known_b=float((b.index >= 0).mean()),
                apart_a=tuple(map(int, apart[0])),
                apart_b=tuple(map(int, apart[1])),
                apart_texts=tuple(sides[0].vocabulary.text(int(i)) for i in apart[0]),
            )
        )
    return tuple(figures)


def _dimensions(
    sides: list[Side], near: list[dict[Role, _Near]], chosen: Index, options: TokenOptions
) -> tuple[DimensionFigure, ...]:
    return tuple(
        _dimension_figure(
            (role_a, role_b),
            k,
            near[0][role_a].dimensions[i],
            near[1][role_b].dimensions[i],
            sides,
            chosen,
            options,
        )
        for role_a, role_b in product(sides[0].roles, sides[1].roles)
        for i, k in enumerate(sorted(set(options.dimension_k)))
    )


def _dimension_figure(
    pair: tuple[Role, Role],
    k: int,
    a: Index,
    b: Index,
    sides: list[Side],
    chosen: Index,
    options: TokenOptions,
) -> DimensionFigure:
    found, reason = None, None
    try:
        found = dimension_correlation(a, b)
    except UndefinedMeasureError as error:
        reason = str(error)
    return DimensionFigure(
        role_a=pair[0],
        role_b=pair[1],
        k=k,
        share=options.share,
        pearson=found.pearson if found else None,
        spearman=found.spearman if found else None,
        null_sd=found.null_sd if found else None,
        mean_a=float(a.mean()),
        mean_b=float(b.mean()),
        ids_a=tuple(map(int, sides[0].ids[chosen])),
        ids_b=tuple(map(int, sides[1].ids[chosen])),
        values_a=tuple(map(int, a)),
        values_b=tuple(map(int, b)),
        reason=reason,
    )


def _shared(matched: Matched) -> SharedTokens:
    return SharedTokens(
        n=len(matched),
        kinds=matched.kinds,
        same_ids=bool(np.array_equal(matched.ids_a, matched.ids_b)),
        candidates_a=matched.candidates_a,
        candidates_b=matched.candidates_b,
        repeats_a=matched.repeats_a,
        repeats_b=matched.repeats_b,
    )


def _warnings(
    facts: list[TokenSide],
    matched: Matched,
    overall: tuple[GlobalFigure, ...],
    dimensions: tuple[DimensionFigure, ...],
) -> list[str]:
    found = []
    if facts[0].weights_hash == facts[1].weights_hash:
        found.append("Both models have the same weights: every figure is that of a copy.")
    if "tied" in (facts[0].tying, facts[1].tying):
        names = [side.name for side in facts if side.tying == "tied"]
        found.append(
            f"{' and '.join(names)} {'use' if len(names) > 1 else 'uses'} one matrix for input and output: likeness of "
            "such embeddings may come from the tying."
        )
    for side, candidates in zip(facts, (matched.candidates_a, matched.candidates_b), strict=True):
        if side.quantisation:
            found.append(
                f"{side.name} is {side.quantisation}: figures are of these weights, not of the original's."
            )
        if len(matched) < _HALF * candidates:
            found.append(
                f"{len(matched):,} of the {candidates:,} used tokens of {side.name} are shared: figures are of "
                "these alone."
            )
        if side.rowless:
            found.append(f"{side.rowless} tokens of {side.name} have no row.")
    if any(one.spearman_error is not None for one in overall):
        found.append(
            "Spearman's correlations of cosines are over sampled pairs; their error is given."
        )
    near = [one for one in dimensions if max(one.mean_a, one.mean_b) > _NEAR_BOUND * (one.k - 1)]
    if near:
        ks = ", ".join(str(k) for k in sorted({one.k for one in near}))
        found.append(
            f"With k = {ks} the dimension is close to its bound k - 1, which hides differences: take more "
            "neighbours."
        )
    return found


def versions() -> dict[str, Any]:
    """Name the versions of what computes, for the provenance."""
    return {"versions": {name: version(name) for name in ("cospace", "numpy", "scipy")}}
