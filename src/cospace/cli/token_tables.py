"""Comparisons of token embeddings as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cospace.cli.console import write
from cospace.cli.tables import EMPTY, aligned, wrapped

if TYPE_CHECKING:
    from cospace.tokens import (
        DimensionFigure,
        GlobalFigure,
        LocalFigure,
        TokenComparison,
        TokenSide,
    )

__all__ = ["print_tokens"]

_BARS = " ▁▂▃▄▅▆▇█"
_SHOWN = 12


def print_tokens(result: TokenComparison) -> None:
    """Print what the models are, what they share, and every figure beside its level by chance."""
    write([*wrapped(f"{result.a.name} and {result.b.name}: token embeddings"), ""])
    write([*aligned([_HEAD, *map(_side, (result.a, result.b))], right=range(2, 7)), ""])
    shared = result.shared
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in shared.kinds.items())
    ids = "with the same ids" if shared.same_ids else "by their text"
    write([*wrapped(f"{shared.n:,} shared tokens, {ids}: {kinds}", indent="  ", first=""), ""])
    rows = [["", "matrices", "tokens", "k", "value", "by chance", "range"]]
    for whole in result.overall:
        rows += _overall(whole)
    for near in result.local:
        rows += _local(near)
    for flat in result.dimensions:
        rows += _dimension(flat)
    write([*aligned(rows, right=range(2, 7)), ""])
    for near in result.local:
        write(_histogram(near))
    write(
        wrapped(
            "By chance: tokens paired anew, mean or mean ± standard deviation. Weights: cosine of the LLE "
            "weights of a token, over the whole vocabulary; apart: tokens that share no neighbour. Dimension: "
            "correlation over tokens; its level depends on k. Range: over draws."
        )
    )
    for warning in result.warnings:
        write(wrapped(warning, indent="  ", first="! "))
    write([""])


_HEAD = ["model", "matrices", "rows", "width", "special", "reserved", "no text"]


def _side(side: TokenSide) -> list[str]:
    classes = side.classes
    numbers = (classes["special"], classes["reserved"], classes["undecodable"])
    return [side.name, side.tying, f"{side.rows:,}", str(side.width), *(f"{n:,}" for n in numbers)]


def _roles(figure: GlobalFigure | LocalFigure | DimensionFigure) -> str:
    return f"{figure.role_a}, {figure.role_b}"


def _overall(one: GlobalFigure) -> list[list[str]]:
    chance = f"0 ± {one.null_sd:.1g}"
    rows = []
    for name in ("pearson", "spearman"):
        low, high = getattr(one, f"{name}_low"), getattr(one, f"{name}_high")
        span = EMPTY if one.draws == 1 else f"{low:.3f} to {high:.3f}"
        value = f"{getattr(one, name):.3f}"
        title = f"cosines of pairs, {name.capitalize()}"
        rows.append([title, _roles(one), f"{one.tokens:,}", EMPTY, value, chance, span])
    return rows


def _local(one: LocalFigure) -> list[list[str]]:
    at = [_roles(one), f"{one.tokens:,}", str(one.k)]
    return [
        ["weights, mean cosine", *at, f"{one.mean:.3f}", f"{one.chance_mean:.2g}", EMPTY],
        ["weights, median cosine", *at, f"{one.median:.3f}", EMPTY, EMPTY],
        [
            "apart, share of tokens",
            *at,
            f"{one.apart_share:.1%}",
            f"{one.chance_apart:.1%}",
            EMPTY,
        ],
    ]


def _dimension(one: DimensionFigure) -> list[list[str]]:
    rows = []
    for name in ("pearson", "spearman"):
        value = getattr(one, name)
        shown = EMPTY if value is None else f"{value:.3f}"
        chance = EMPTY if one.null_sd is None else f"0 ± {one.null_sd:.1g}"
        title = f"dimension, {name.capitalize()}"
        rows.append([title, _roles(one), str(len(one.ids_a)), str(one.k), shown, chance, EMPTY])
    return rows


def _histogram(one: LocalFigure) -> list[str]:
    """Bars of the tokens that share a neighbour; the others, all at 0, would dwarf them."""
    counts = list(one.histogram)
    counts[len(counts) // 2] -= len(one.apart_a)
    top = max(*counts, 1)
    bars = "".join(_BARS[-(-8 * count // top)] for count in counts)
    texts = ", ".join(repr(text) for text in one.apart_texts[:_SHOWN])
    more = ", ..." if len(one.apart_texts) > _SHOWN else ""
    lines = [f"cosines of weights ({_roles(one)}), tokens not apart   -1 |{bars}| 1"]
    if texts:
        lines += wrapped(
            f"apart: {len(one.apart_texts):,} tokens, such as {texts}{more}", indent="  "
        )
    return [*lines, ""]
