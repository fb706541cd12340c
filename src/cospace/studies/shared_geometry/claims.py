"""What was found beside what the paper says: the range of ours, and over what it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cospace.studies.shared_geometry.published import PUBLISHED
from cospace.studies.shared_geometry.result import MATRICES, Claim, Steered, role_of
from cospace.tokens import TokenGeometry

__all__ = ["claims"]


@dataclass(frozen=True)
class _Ours:
    figure: str
    on: str
    values: tuple[float, ...]


def claims(geometry: TokenGeometry, steering: Sequence[Steered]) -> tuple[Claim, ...]:
    """Every statement of the paper, beside the least and the largest figure of that kind here.

    Several of ours stand beside one of theirs where there are several kinds: dimensions at each
    number of neighbours, coherence by both scores.
    """
    ours = _cosines(geometry) | _local(geometry) | _words(geometry) | _few(geometry)
    ours["steering", "recovered"] = _carried(steering)
    return tuple(
        Claim(
            topic=theirs.topic,
            figure=one.figure,
            theirs_on=theirs.on,
            theirs=theirs.words,
            theirs_value=theirs.value,
            ours_on=one.on,
            ours_low=min(one.values, default=None),
            ours_high=max(one.values, default=None),
        )
        for theirs in PUBLISHED
        for one in ours[theirs.topic, theirs.figure]
    )


_Found = dict[tuple[str, str], list[_Ours]]


def _of(figure: str, what: tuple[str, str], found: Iterable[float | None], none: str) -> _Ours:
    values = tuple(value for value in found if value is not None)
    many = f"{len(values)} {what[len(values) != 1]}"
    return _Ours(figure, many if values else none, values)


_PAIRS = ("pair of matrices", "pairs of matrices")


def _cosines(geometry: TokenGeometry) -> _Found:
    found: _Found = {}
    for which in MATRICES:
        values = [
            whole.pearson
            for one in geometry.comparisons
            for whole in one.overall
            if (whole.role_a, whole.role_b) == (role_of(one.a, which), role_of(one.b, which))
        ]
        name = f"cosines of pairs, Pearson, {which}"
        none = f"no two models have {which}"
        found["cosines", which] = [_of(name, ("pair of models", "pairs of models"), values, none)]
    return found


def _local(geometry: TokenGeometry) -> _Found:
    near = [figure for one in geometry.comparisons for figure in one.local]
    none = "no neighbours were compared"
    found: _Found = {
        ("weights", "mean cosine"): [
            _of("LLE weights, mean cosine", _PAIRS, (one.mean for one in near), none),
            _of(
                "share of tokens with a cosine of 0.5 or more",
                _PAIRS,
                (sum(one.histogram[_HALF:]) / one.tokens for one in near),
                none,
            ),
        ]
    }
    flat = [figure for one in geometry.comparisons for figure in one.dimensions]
    found["dimension", "Spearman"] = [
        _of(
            f"intrinsic dimension, Spearman, k = {k}",
            _PAIRS,
            (one.spearman for one in flat if one.k == k),
            "undefined: all tokens have one dimension",
        )
        for k in sorted({one.k for one in flat})
    ]
    return found


_HALF = 30
"""Bin of ``EDGES`` that begins at 0.5."""


def _words(geometry: TokenGeometry) -> _Found:
    return {
        ("coherence", "star"): [
            _of(
                f"coherence ({name}) and dimension, Spearman",
                ("model", "models"),
                (getattr(one, f"{name}_spearman") for one in geometry.coherence),
                "not asked for" if not geometry.coherence else "undefined: one of them is constant",
            )
            for name in ("star", "pair")
        ]
    }


def _few(geometry: TokenGeometry) -> _Found:
    near = [figure for one in geometry.comparisons for figure in one.local]
    listed = [
        one
        for few in geometry.undertrained
        for one in few.recoveries
        if one.reference in ("tested", "verified") and one.method.startswith("apart")
    ]
    found: _Found = {
        ("undertrained", "apart"): [
            _of(
                "tokens apart, share of those compared",
                _PAIRS,
                (one.apart_share for one in near),
                "no neighbours were compared",
            )
        ]
    }
    none = "no reference list was given"
    for name in ("recall", "precision"):
        found["undertrained", name] = [
            _of(
                f"{name} of tokens apart, list: {which}",
                ("list", "lists"),
                (getattr(one, name) for one in listed if one.reference == which),
                none,
            )
            for which in ("tested", "verified")
        ][: 2 if listed else 1]
    return found


def _carried(steering: Sequence[Steered]) -> list[_Ours]:
    shares = [
        each.recovered
        for one in steering
        for each in (one.sweep.transfer(name) for name in one.sweep.names)
    ]
    figure = "span of the carried vector over that of the model’s own"
    none = "undefined: the own vectors move nothing" if steering else "no vector was carried"
    return [_of(figure, ("transfer", "transfers"), shares, none)]
