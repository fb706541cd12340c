"""Every measure on every two models at the same relative depth, corrected, and repeated on other texts."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from itertools import combinations
from types import MappingProxyType
from typing import Any

from cospace._numbers import check_seed, check_whole
from cospace.comparison import Comparison, compare
from cospace.comparison.result import Cell, SpaceFacts
from cospace.correspondence.reading import Grid
from cospace.correspondence.result import (
    Agreement,
    Correspondence,
    Frozen,
    Profile,
    Replication,
)
from cospace.errors import InputError
from cospace.measures import CATALOGUE, find, mutual_knn
from cospace.result import plain
from cospace.space import Space
from cospace.stats import holm

__all__ = ["DEPTHS", "LEVEL", "MEASURES", "REPEATED", "correspond", "strongest"]

MEASURES = ("rsa_spearman", "debiased_cka", "mutual_knn", "nearest_match")
"""Geometry as a whole, then who is near whom, then who is nearest."""
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Relative depths by default."""
LEVEL = 0.05
"""What a corrected p must reach."""
REPEATED = 0.05
"""Share of repeated rows beyond which a depth and pooling is not chosen: last tokens before the first
block are one full stop, and agree on nothing but punctuation."""
_NEIGHBOURS: Mapping[str, int] = MappingProxyType(
    {"mutual_knn": signature(mutual_knn).parameters["k"].default, "nearest_match": 1}
)
"""Measures that are shares of k neighbours: k / (n - 1) over all pairings of n rows, never 0."""

_SHUFFLES = 1_000_000
"""Most shuffles."""

Progress = Callable[[str, int, int], None]


def correspond(
    grid: Grid,
    *,
    measures: Sequence[str] = MEASURES,
    permutations: int = 999,
    replica: Grid | None = None,
    rng: int = 0,
    progress: Progress | None = None,
) -> Correspondence:
    """Compare all models with each other at every depth and pooling, and once more on other texts.

    p is over shuffles of the rows of one model. It is corrected for the choice of a depth by the
    maximum statistic over all pairs of depths of the two models, and for the pairs of models and the
    poolings by Bonferroni's factor; each measure by itself. On the second texts nothing is chosen: each
    measure is repeated at the depth and pooling where its mean effect over the pairs of models was
    largest on the first, of those where at most a twentieth of the rows repeat others.

    Parameters
    ----------
    grid
        Pooling -> model -> relative depth -> space, as ``read_grid`` gives it; the same models
        and depths everywhere.
    measures
        Symmetric similarities of the catalogue that are inner products of relations (CKA, RSA,
        neighbours).
    permutations
        Shuffles of rows.
    replica
        The same models on other texts.
    rng
        Seed of the shuffles.
    progress
        Called as (what, done, in all).

    Raises
    ------
    InputError
        For measures of another kind, fewer than two models, or second texts of other models, or of
        depths or poolings that the first have not.
    RowMismatchError
        For spaces of different texts.

    References
    ----------
    The correspondence tests of "Five Architectures, One Shared Space" (2026), whose abstract alone is
    known: permutation tests, depth sweep, pooling ablation, replication on a second probe set.
    """
    _check(measures, permutations, rng)
    names = _models(grid, "The first texts")
    if replica is not None and set(_models(replica, "The second texts")) != set(names):
        raise InputError(
            f"The first texts have the models {', '.join(names)}, the second {', '.join(_models(replica, ''))}: "
            "extract the same models on both."
        )
    done, total = 0, len(grid) + (replica is not None)
    results: dict[str, Comparison] = {}
    for pooling, table in grid.items():
        if progress is not None:
            progress(f"pooling {pooling}", done, total)
        results[pooling] = _compared(table, measures, permutations, rng)
        done += 1
    families = len(grid) * len(list(combinations(names, 2)))
    agreements = [
        _agreement(cell, source, target, pooling, families)
        for pooling, result in results.items()
        for cell, source, target in _matched(result, names)
    ]
    profiles = _profiles(agreements, results)
    frozen = [_freeze(name, profiles) for name in measures] if replica is not None else []
    kept = [one for one in frozen if one is not None]
    again: list[Replication] = []
    if replica is not None:
        if progress is not None:
            progress("second texts", done, total)
        again = _replications(kept, replica, agreements, names, permutations, rng)
    if progress is not None:
        progress("done", total, total)
    first = next(iter(grid.values()))
    texts = {"first": _texts(first)}
    if replica is not None:
        texts["second"] = _texts(next(iter(replica.values())))
    return Correspondence(
        models=tuple(names),
        agreements=tuple(agreements),
        profiles=tuple(profiles),
        frozen=tuple(kept),
        replications=tuple(again),
        texts=texts,
        settings={
            "measures": list(measures),
            "poolings": list(grid),
            "depths": sorted({one.depth for one in agreements}),
            "steps": sorted({step for s in _named(first) for step in s.steps}),
            "permutations": permutations,
            "families": families,
            "seed": rng,
        },
        warnings=tuple(
            dict.fromkeys(
                [
                    f"Pooled by {name}: {w}"
                    for name, result in results.items()
                    for w in result.warnings
                ]
                + _out_of_reach(permutations, families)
            )
        ),
        provenance=plain(
            {
                "spaces": {
                    pooling: {space.name: space.fingerprint for space in result.spaces}
                    for pooling, result in results.items()
                },
                "versions": {
                    name: importlib.metadata.version(name) for name in ("cospace", "numpy", "scipy")
                },
            }
        ),
    )


def _check(measures: Sequence[str], permutations: int, rng: int) -> None:
    check_seed(rng)
    check_whole(permutations=permutations)
    if not 1 <= permutations <= _SHUFFLES:
        raise InputError(
            f"permutations is {permutations}; a whole number from 1 to {_SHUFFLES:,} is expected."
        )
    if not measures or len(set(measures)) < len(measures):
        raise InputError("measures: name at least one measure, and each once.")
    for name in measures:
        measure = find(name, CATALOGUE)
        if measure.kind != "similarity" or not measure.symmetric or measure.relation is None:
            raise InputError(
                f"{name} cannot be shuffled at the price of its value: take symmetric similarities such as "
                f"{', '.join(MEASURES)}; 'cospace compare' has the others."
            )


def _models(grid: Grid, what: str) -> list[str]:
    tables = list(grid.values())
    names = list(tables[0]) if tables else []
    if len(names) < 2:
        raise InputError(f"{what} have {len(names)} models: a correspondence needs two or more.")
    for table in tables:
        if list(table) != names:
            raise InputError(f"{what} have other models for one pooling than for another.")
    return names


def _named(table: Any) -> list[Space]:
    """Spaces called ``model @ depth``, whose model and depth are those of the table."""
    return [
        replace(
            space,
            name=f"{model} @ {depth:g}",
            facts={**space.facts, "model": model, "depth": depth},
        )
        for model, depths in table.items()
        for depth, space in depths.items()
    ]


def _compared(table: Any, measures: Sequence[str], permutations: int, rng: int) -> Comparison:
    return compare(_named(table), list(measures), permutations=permutations, grid=True, rng=rng)


def _matched(
    result: Comparison, names: Sequence[str]
) -> Iterator[tuple[Cell, SpaceFacts, SpaceFacts]]:
    """Cells of two models at one depth, in the order of the models, with their spaces."""
    spaces = {space.name: space for space in result.spaces}
    place: dict[str | None, int] = {name: i for i, name in enumerate(names)}
    for cell in result.cells:
        a, b = spaces[cell.source], spaces[cell.target]
        if a.depth == b.depth and place[a.model] < place[b.model]:
            yield cell, a, b


def _agreement(
    cell: Cell, source: SpaceFacts, target: SpaceFacts, pooling: str, families: int
) -> Agreement:
    return Agreement(
        measure=cell.measure,
        pooling=pooling,
        depth=float(source.depth or 0.0),
        source=str(source.model),
        target=str(target.model),
        value=cell.value,
        chance=_chance(cell),
        spread=cell.null_sd,
        exact=cell.null_exact or cell.measure in _NEIGHBOURS,
        ratio=_ratio(cell),
        p=cell.p,
        p_corrected=None if cell.p_search is None else min(1.0, cell.p_search * families),
        reason=cell.reason,
    )


def _chance(cell: Cell) -> float | None:
    k = _NEIGHBOURS.get(cell.measure)
    return cell.null_mean if k is None or cell.null_mean is None else k / (cell.n - 1)


def _ratio(cell: Cell) -> float | None:
    chance = _chance(cell)
    if cell.measure not in _NEIGHBOURS or cell.value is None or chance is None:
        return None
    return cell.value / chance


def _profiles(agreements: Sequence[Agreement], results: Mapping[str, Comparison]) -> list[Profile]:
    repeated: dict[tuple[str, float], float] = {}
    for name, result in results.items():
        for space in result.spaces:
            key = name, float(space.depth or 0.0)
            repeated[key] = max(repeated.get(key, 0.0), space.duplicates / space.n)
    groups: dict[tuple[str, str, float], list[Agreement]] = {}
    for one in agreements:
        if one.value is not None:
            groups.setdefault((one.measure, one.pooling, one.depth), []).append(one)
    found = []
    for (measure, pooling, depth), ones in groups.items():
        values = [one.value or 0.0 for one in ones]
        levels = [one.chance for one in ones if one.chance is not None]
        whole = len(levels) == len(ones)
        gains = [
            (one.value - one.chance) / (1.0 - one.chance)
            for one in ones
            if one.value is not None and one.chance is not None and one.chance < 1.0
        ]
        found.append(
            Profile(
                measure=measure,
                pooling=pooling,
                depth=depth,
                pairs=len(ones),
                value=sum(values) / len(values),
                chance=sum(levels) / len(levels) if whole else None,
                effect=sum(gains) / len(gains) if len(gains) == len(ones) else None,
                weakest=min(values),
                repeated=repeated[pooling, depth],
                clear=sum(one.p_corrected is not None and one.p_corrected <= LEVEL for one in ones),
            )
        )
    return found


def _freeze(measure: str, profiles: Sequence[Profile]) -> Frozen | None:
    """Depth and pooling of the largest mean effect, among those that have a value for most pairs."""
    best = strongest([one for one in profiles if one.measure == measure])
    return None if best is None else Frozen(measure, best.pooling, best.depth)


def strongest(profiles: Sequence[Profile]) -> Profile | None:
    """The profile of the largest mean effect, of those that most pairs have and whose rows differ."""
    known = [one for one in profiles if one.effect is not None]
    distinct = [one for one in known if one.repeated <= REPEATED] or known
    if not distinct:
        return None
    most = max(one.pairs for one in distinct)
    return max((one for one in distinct if one.pairs == most), key=lambda one: one.effect or 0.0)


def _replications(
    frozen: Sequence[Frozen],
    replica: Grid,
    agreements: Sequence[Agreement],
    names: Sequence[str],
    permutations: int,
    rng: int,
) -> list[Replication]:
    known = {(a.measure, a.pooling, a.depth, a.source, a.target): a.value for a in agreements}
    found: list[Replication] = []
    for one in frozen:
        table = {}
        for model in names:
            space = replica.get(one.pooling, {}).get(model, {}).get(one.depth)
            if space is None:
                raise InputError(
                    f"The second texts lack {model} pooled by {one.pooling} at depth {one.depth:g}, which the first "
                    f"texts chose for {one.measure}: extract them as the first."
                )
            table[model] = {one.depth: space}
        result = _compared(table, [one.measure], permutations, rng)
        cells = list(_matched(result, names))
        tested = [cell.p for cell, *_ in cells if cell.p is not None]
        corrected = iter(holm(tested).tolist() if tested else [])
        for cell, source, target in cells:
            key = one.measure, one.pooling, one.depth, str(source.model), str(target.model)
            found.append(
                Replication(
                    *key,
                    first=known[key],
                    value=cell.value,
                    chance=_chance(cell),
                    ratio=_ratio(cell),
                    p=cell.p,
                    p_holm=next(corrected) if cell.p is not None else None,
                )
            )
    return found


def _texts(table: Any) -> dict[str, Any]:
    space = next(space for depths in table.values() for space in depths.values())
    return {"name": space.facts.get("corpus"), "rows": space.n}


def _out_of_reach(permutations: int, families: int) -> list[str]:
    least = families / (1 + permutations)
    if least <= LEVEL:
        return []
    return [
        f"{permutations} shuffles allow no corrected p below {min(least, 1.0):.2g}, over {families} pairs of "
        f"models and poolings: ask for at least {int(families / LEVEL)} (--permutations)."
    ]
