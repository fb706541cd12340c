"""Comparisons of token embeddings as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cospace.cli.console import write
from cospace.cli.tables import EMPTY, aligned, wrapped
from cospace.cli.visible import visible

if TYPE_CHECKING:
    from cospace.tokens import (
        Coherence,
        DimensionFigure,
        GlobalFigure,
        Hidden,
        LocalFigure,
        Recovery,
        TokenComparison,
        TokenGeometry,
        TokenSide,
        Undertrained,
    )

__all__ = ["print_geometry", "print_tokens"]

_BARS = " ▁▂▃▄▅▆▇█"
_SHOWN = 12


def print_geometry(result: TokenGeometry) -> None:
    """Print every comparison, and what else was asked."""
    for comparison in result.comparisons:
        print_tokens(comparison)
    if result.hidden is not None:
        write(_hidden(result.hidden))
    for coherent in result.coherence:
        write(_coherence(coherent))
    for candidates in result.undertrained:
        write(_undertrained(candidates))
    for warning in result.warnings:
        write(wrapped(warning, indent="  ", first="! "))


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


def _hidden(found: Hidden) -> list[str]:
    head = [
        "models",
        "tokens",
        "depth",
        "sites",
        "Pearson",
        "Spearman",
        "by chance",
        "mean cosines",
    ]
    rows = [head]
    for one in found.figures:
        context = "alone" if one.context == "alone" else "in texts"
        at = [f"{one.a}, {one.b}", context, f"{one.depth:g}", f"{one.site_a}, {one.site_b}"]
        chance = EMPTY if one.null_sd is None else f"0 ± {one.null_sd:.1g}"
        means = f"{_value(one.mean_cosine_a)}, {_value(one.mean_cosine_b)}"
        rows.append([*at, _value(one.pearson), _value(one.spearman), chance, means])
    tokens = found.figures[0].tokens
    title = f"States of {tokens:,} shared tokens: cosines of pairs"
    lines = [*wrapped(title), "", *aligned(rows, right=(2, 4, 5, 6, 7))]
    if found.text is not None:
        often = ", ".join(f"{name} {mean:.1f}" for name, mean in found.occurrences.items())
        lines += [
            "",
            *wrapped(
                f"In texts: mean over occurrences in {found.texts:,} texts of {visible(found.text)} ({often} a token)."
            ),
        ]
    reasons = {one.reason for one in found.figures if one.reason is not None}
    return [*lines, *(line for reason in sorted(reasons) for line in wrapped(reason)), ""]


def _coherence(found: Coherence) -> list[str]:
    """Both scores beside the dimension, and the tables that are there to be read."""
    rows = [["", "score", "shuffled", "with dimension", "less length", "and frequency", "p"]]
    for name in ("star", "pair"):
        figures = [getattr(found, name), getattr(found, f"null_{name}")]
        both = [f"{name}_spearman", f"{name}_partial", f"{name}_both", f"{name}_p"]
        values = [*figures, *(getattr(found, one) for one in both)]
        rows.append([name, *map(_value, values)])
    lines = [
        *wrapped(
            f"{found.model}: coherence of neighbours by {found.graph}, {found.tokens:,} of {found.usable:,} words, "
            f"{found.k} neighbours, dimension of {found.dimension_k}"
        ),
        "",
        *aligned(rows, right=range(1, 7)),
        "",
        *wrapped(
            "star: share of neighbours joined to the word; pair: share of pairs of neighbours that are joined. "
            "Correlations are Spearman's."
        ),
    ]
    if found.frequency is not None:
        lines += wrapped(
            f"Frequency: tokens counted in {visible(found.frequency)}, where {found.unseen:,} of the words do not "
            f"stand; with the dimension {_value(found.frequency_spearman)}."
        )
    for name, words in (("lowest", found.lowest), ("highest", found.highest)):
        table = [[f"{name} dimension", "", "star", "pair", "neighbours"]]
        for one in words:
            near = visible(", ".join(text.strip() for text in one.neighbours))
            scores = [f"{one.star:.2f}", f"{one.pair:.2f}"]
            table.append([visible(one.text.strip()), str(one.dimension), *scores, near])
        lines += ["", *aligned(table, right=(1, 2, 3))]
    return [*lines, ""]


def _undertrained(found: Undertrained) -> list[str]:
    counts = ", ".join(f"{len(ids):,} {name}" for name, ids in found.candidates.items())
    by = f"indicator: {found.indicator}" if found.indicator else "no indicator"
    lines = [
        *wrapped(
            f"{found.model} ({found.tying}): candidates for undertrained tokens among {found.tokens:,} used ones: "
            f"{counts} ({by})"
        ),
        "",
    ]
    if found.recoveries:
        head = [
            "method",
            "list",
            "candidates",
            "listed",
            "both",
            "precision",
            "recall",
            "lift",
            "p",
        ]
        lines += aligned([head, *map(_recovery, found.recoveries)], right=range(2, 9))
        lines += [
            "",
            *wrapped(
                "Precision: of the candidates; recall: of those listed; lift: precision over the share of the list in "
                "all tokens; p: of as many in both by chance. Lists: tested (all that others looked at), verified "
                "(below their threshold), prompted (verified here, out of the tokens tested here)."
            ),
        ]
    for name, count in found.left_out.items():
        if count:
            lines += wrapped(f"{count:,} tokens of the list {name} are no used tokens here.")
    if found.verification is not None:
        rows = [["token", "candidate of", "most", "verdict"]]
        for one in found.verification.tokens:
            methods = ", ".join(one.methods) or "none"
            most = f"{max(one.probabilities):.4f}"
            rows.append([visible(repr(one.text)), methods, most, one.verdict])
        lines += ["", "Repeated when asked, largest probability over three prompts:", ""]
        lines += aligned(rows, right=(2,))
    return [*lines, ""]


def _recovery(one: Recovery) -> list[str]:
    counts = [f"{n:,}" for n in (one.candidates, one.listed, one.hits)]
    shares = [_value(one.precision), _value(one.recall)]
    lift = EMPTY if one.lift is None else f"{one.lift:.1f}"
    return [
        one.method,
        one.reference,
        *counts,
        *shares,
        lift,
        f"{one.p:.2g}" if one.p else "< 1e-300",
    ]


def _value(value: float | None) -> str:
    return EMPTY if value is None else f"{value:.3f}"
