"""What a comparison of token embeddings found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from cospace.errors import ContradictionError, InputError
from cospace.result import Result, checked, plain
from cospace.whole import check_lengths, check_order, check_p

__all__ = [
    "EDGES",
    "DimensionFigure",
    "GlobalFigure",
    "LocalFigure",
    "SharedTokens",
    "TokenComparison",
    "TokenSide",
]

EDGES: tuple[float, ...] = tuple(np.linspace(-1.0, 1.0, 41).round(2).tolist())
"""Edges of the bins of a histogram of cosines, 0.05 wide."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class TokenSide:
    """One model: its matrices, and what their rows stand for."""

    name: str
    """Short name."""
    reference: str
    """As it was given."""
    weights_hash: str
    """SHA-256 of the weights."""
    revision: str | None
    """Commit or version, where there is one."""
    quantisation: str | None
    """Such as ``Q4, dequantised``: figures are of these weights, not of the original's."""
    tensors: Mapping[str, str]
    """Name of the tensor by role, ``input`` and, where it is another one, ``output``."""
    dtype: str
    """Number type of the input matrix in the file."""
    tying: str
    """``tied``, ``untied`` or ``input only``."""
    tying_reason: str
    """What says so."""
    rows: int
    """Rows of the input matrix."""
    width: int
    """Its coordinates."""
    marker: str
    """How the tokenizer marks words."""
    classes: Mapping[str, int]
    """Rows that are used, special, reserved (or no token's), undecodable."""
    nameless: int
    """Rows, out of the reserved, for which the tokenizer has no token."""
    rowless: int
    """Tokens without a row."""


@dataclass(frozen=True)
class SharedTokens:
    """Tokens that both models have."""

    n: int
    """How many."""
    kinds: Mapping[str, int]
    """How many of each kind of text, see `cospace.tokens.matching.KINDS`."""
    same_ids: bool
    """Whether all of them have the same id in both."""
    candidates_a: int
    """Used tokens of the first model."""
    candidates_b: int
    """Used tokens of the second."""
    repeats_a: int
    """Left out in the first because another token has the same text."""
    repeats_b: int
    """The same in the second."""


@dataclass(frozen=True)
class GlobalFigure:
    """How alike the cosines of all pairs of shared tokens are."""

    role_a: str
    """Matrix of the first model."""
    role_b: str
    """Matrix of the second model."""
    tokens: int
    """Tokens in one draw."""
    draws: int
    """Draws; 1 where all shared tokens take part."""
    pearson: float
    """Pearson's correlation, mean over draws; 0 expected by chance."""
    pearson_low: float
    """Its least over draws."""
    pearson_high: float
    """Its largest over draws."""
    spearman: float
    """Spearman's correlation, mean over draws; 0 expected by chance."""
    spearman_low: float
    """Its least over draws."""
    spearman_high: float
    """Its largest over draws."""
    spearman_error: float | None
    """Largest standard error of a draw, from sampling pairs; None where all pairs were taken."""
    null_sd: float
    """Standard deviation over all ways to pair the tokens anew, exact for Pearson's; mean over draws."""
    p_at_most: float
    """Bound of the share of such pairings that reach Pearson's correlation; largest over draws."""
    mean_cosine_a: float
    """Mean cosine of two tokens of the first model: what all pairs share says nothing."""
    mean_cosine_b: float
    """The same of the second model."""


@dataclass(frozen=True)
class LocalFigure:
    """How alike the weights are that weave tokens from their nearest neighbours."""

    role_a: str
    """Matrix of the first model."""
    role_b: str
    """Matrix of the second model."""
    tokens: int
    """Tokens compared."""
    k: int
    """Neighbours of each."""
    rows_a: int
    """Rows of the first model among which neighbours were searched."""
    rows_b: int
    """The same of the second."""
    mean: float
    """Mean cosine of the weights; 1 for the same weights at the same neighbours."""
    median: float
    """Their median."""
    chance_mean: float
    """Mean cosine over all ways to pair the tokens anew, exact."""
    histogram: tuple[int, ...]
    """Tokens in each bin of ``EDGES``; the last bin has both its edges."""
    apart_share: float
    """Share of tokens that share no neighbour: their cosine is exactly 0."""
    chance_apart: float
    """The same share over all ways to pair the tokens anew, exact."""
    known_a: float
    """Share of the neighbours in the first model that the second model has as tokens at all."""
    known_b: float
    """The same of the second model."""
    apart_a: tuple[int, ...]
    """Rows of the first model, ascending, that share no neighbour."""
    apart_b: tuple[int, ...]
    """The same tokens' rows of the second model."""
    apart_texts: tuple[str, ...]
    """Their texts."""


@dataclass(frozen=True)
class DimensionFigure:
    """Intrinsic dimension near the same tokens in both models; only differences mean anything."""

    role_a: str
    """Matrix of the first model."""
    role_b: str
    """Matrix of the second model."""
    k: int
    """Neighbours whose principal components are counted."""
    share: float
    """Share of their variance that the counted components hold."""
    pearson: float | None
    """Pearson's correlation over tokens; None where all have one dimension."""
    spearman: float | None
    """Spearman's."""
    null_sd: float | None
    """Standard deviation of both over all ways to pair the tokens anew; their mean is 0."""
    mean_a: float
    """Mean dimension in the first model; at most k - 1."""
    mean_b: float
    """The same in the second."""
    ids_a: tuple[int, ...]
    """Rows of the tokens in the first model."""
    ids_b: tuple[int, ...]
    """Rows of the same tokens in the second."""
    values_a: tuple[int, ...]
    """Their dimensions in the first model."""
    values_b: tuple[int, ...]
    """Their dimensions in the second."""
    reason: str | None = None
    """Why there is no correlation."""


@dataclass(frozen=True)
class TokenComparison(Result):
    """Token embeddings of two models compared. Read it, save it; it computes nothing."""

    kind: ClassVar[str] = "token comparison"

    a: TokenSide
    """The first model."""
    b: TokenSide
    """The second model."""
    shared: SharedTokens
    """What is compared."""
    overall: tuple[GlobalFigure, ...]
    """One for each matrix of the first model with each of the second."""
    local: tuple[LocalFigure, ...]
    """The same pairs, near every token; none where they were not asked for."""
    dimensions: tuple[DimensionFigure, ...]
    """The same pairs, one for each number of neighbours."""
    settings: Mapping[str, Any]
    """Options of the comparison."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Versions, command: what it takes to repeat the comparison."""

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a figure: what, of which matrices, and its value beside chance."""
        names = {"a": self.a.name, "b": self.b.name}
        rows: list[dict[str, Any]] = []
        for one in self.overall:
            at = {**names, "role_a": one.role_a, "role_b": one.role_b, "tokens": one.tokens}
            for figure in ("pearson", "spearman"):
                value = getattr(one, figure)
                row = {**at, "figure": f"cosines, {figure}", "k": None, "value": value}
                rows.append({**row, "chance": 0.0, "chance_sd": one.null_sd})
        for near in self.local:
            at = {**names, "role_a": near.role_a, "role_b": near.role_b, "tokens": near.tokens}
            for figure, value, chance in (
                ("weights, mean cosine", near.mean, near.chance_mean),
                ("no shared neighbour", near.apart_share, near.chance_apart),
            ):
                row = {**at, "figure": figure, "k": near.k, "value": value}
                rows.append({**row, "chance": chance, "chance_sd": None})
        for flat in self.dimensions:
            at = {**names, "role_a": flat.role_a, "role_b": flat.role_b}
            for figure in ("pearson", "spearman"):
                row = {**at, "tokens": len(flat.ids_a), "figure": f"dimension, {figure}"}
                row |= {"k": flat.k, "value": getattr(flat, figure), "chance": 0.0}
                rows.append({**row, "chance_sd": flat.null_sd})
        return rows

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a comparison from ``to_dict``.

        Raises
        ------
        InputError
            For another dictionary.
        """
        try:
            values: dict[str, Any] = {
                "a": _built(TokenSide, data["a"]),
                "b": _built(TokenSide, data["b"]),
                "shared": _built(SharedTokens, data["shared"]),
                "overall": [_built(GlobalFigure, one) for one in data["overall"]],
                "local": [_built(LocalFigure, one) for one in data["local"]],
                "dimensions": [_built(DimensionFigure, one) for one in data["dimensions"]],
            }
            for name in ("settings", "warnings", "provenance"):
                values[name] = data[name]
            made: Self = checked(cls, values)
            made._check()
            return made
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"This is not a token comparison that this version wrote: {error}."
            ) from None

    def _check(self) -> None:
        """Refuse figures that cannot be, or do not go together."""
        if not self.overall:
            raise ContradictionError("overall: no figure is there")
        for one in self.overall:
            where = f"cosines, {one.role_a} and {one.role_b}"
            for name in ("pearson", "spearman"):
                low, value, high = (getattr(one, f"{name}{end}") for end in ("_low", "", "_high"))
                check_order(where, least=-1.0, **{f"{name}_low": low, name: value}, slack=_ROUNDING)
                check_order(where, **{name: value, f"{name}_high": high}, most=1.0, slack=_ROUNDING)
            check_p(where, p_at_most=one.p_at_most)
        for near in self.local:
            where = f"weights, {near.role_a} and {near.role_b}"
            check_p(where, apart_share=near.apart_share, chance_apart=near.chance_apart)
            check_order(where, least=-1.0, mean=near.mean, most=1.0, slack=_ROUNDING)
            check_lengths(where, EDGES[:-1], histogram=near.histogram)
            if sum(near.histogram) != near.tokens:
                raise ContradictionError(
                    f"{where}: the histogram holds {sum(near.histogram)} of {near.tokens} tokens"
                )
            check_lengths(where, near.apart_a, apart_b=near.apart_b, apart_texts=near.apart_texts)
        for flat in self.dimensions:
            where = f"dimensions, {flat.role_a} and {flat.role_b}, k {flat.k}"
            lists = {name: getattr(flat, name) for name in ("ids_b", "values_a", "values_b")}
            check_lengths(where, flat.ids_a, **lists)

    def with_provenance(self, **facts: Any) -> TokenComparison:
        """Add ``facts`` to the provenance."""
        return replace(self, provenance={**self.provenance, **plain(facts)})


def _built(kind: type[Any], data: Mapping[str, Any]) -> Any:
    known = {f.name for f in fields(kind)}
    if set(data) != known:
        raise KeyError(f"a {kind.__name__} of {', '.join(sorted(set(data) ^ known))}")
    return checked(kind, data)
