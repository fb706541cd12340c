"""The page of token geometry: what models share of their tokens, and what is told of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cospace.report.facts import embed, repeated
from cospace.report.token_figures import (
    OUTSIDE,
    by_chance,
    dimension_clouds,
    hidden_curves,
    histograms,
    likeness_map,
)
from cospace.report.token_words import coherence_blocks, undertrained_blocks
from cospace.report.words import count, joined, number, span
from cospace.tokens.geometry_result import TokenGeometry
from cospace.tokens.result import GlobalFigure, TokenComparison, TokenSide

__all__ = [
    "geometry_findings",
    "geometry_sections",
    "how_to_read",
    "models_section",
    "tokens_page",
]

SHOWN = 40
"""Tokens apart that are written out."""


def tokens_page(result: TokenGeometry | TokenComparison) -> dict[str, Any]:
    """Reduce the geometry of tokens, or one comparison, to a page; README.md lists its keys."""
    if isinstance(result, TokenComparison):
        result = TokenGeometry.of(result)
    result = TokenGeometry.from_dict(result.to_dict())  # numbers that are not finite become None
    levels = {"a": list(result.models), "b": list(result.models), "figure": []}
    records = result.records()
    sections = [*geometry_sections(result), *models_section(result), how_to_read(result)]
    sections.append(repeated(result.settings, result.provenance, len(records)))
    warnings = [w for one in result.comparisons for w in one.warnings] + list(result.warnings)
    return {
        "kind": "token geometry",
        "title": f"{joined(list(result.models))[:120]} · cospace tokens",
        "headline": _headline(result),
        "lead": _lead(result),
        "findings": geometry_findings(result),
        "warnings": list(dict.fromkeys(warnings)),
        "sections": sections,
        "data": embed(
            records,
            kind=result.kind,
            schema=result.schema,
            levels=levels | {"role_a": [], "role_b": []},
        ),
    }


def geometry_sections(result: TokenGeometry) -> list[dict[str, Any]]:
    """All that was asked of tokens, a section each; for this page and those of studies."""
    sections = [*_pairs(result), *_near(result), *_dimensions(result), *_hidden(result)]
    if result.coherence:
        sections.append(coherence_blocks(result.coherence))
    if result.undertrained:
        sections.append(undertrained_blocks(result.undertrained))
    return sections


def _headline(result: TokenGeometry) -> str:
    found = [(one, figure) for one in result.comparisons for figure in one.overall]
    if not found:
        return f"The tokens of {joined(list(result.models))}"
    one, figure = max(found, key=lambda pair: pair[1].pearson)
    if len(result.comparisons) == 1:
        return (
            f"Cosines of token pairs in {one.a.name} and {one.b.name} correlate at "
            f"{number(figure.pearson, 2)}"
        )
    return (
        f"Of {count(len(result.comparisons), 'pair')} of models the tokens of {one.a.name} and {one.b.name} are most "
        f"alike: cosines correlate at {number(figure.pearson, 2)}"
    )


def _lead(result: TokenGeometry) -> str:
    if not result.comparisons:
        return "One model: nothing is compared."
    shared = sorted({one.shared.n for one in result.comparisons})
    ends = f"{shared[0]:,}" if len(shared) == 1 else f"{shared[0]:,} to {shared[-1]:,}"
    return (
        f"Token embeddings of {joined(list(result.models))}, straight from the weights; {ends} tokens are shared, "
        "matched by the bytes of their text."
    )


def geometry_findings(result: TokenGeometry) -> list[dict[str, str]]:
    """What is found of the first pairs of models, a sentence or two each."""
    found = []
    for one in result.comparisons[:6]:
        figure = one.overall[0]
        words = (
            f"{_pair(one)}: Pearson's correlation of the cosines of all pairs of {figure.tokens:,} shared tokens is "
            f"{number(figure.pearson)}, {by_chance(figure.null_sd)} by chance."
        )
        if one.local:
            near = one.local[0]
            words += (
                f" Near a token: {number(100 * near.apart_share, 1)} % share none of {near.k} neighbours "
                f"({number(100 * near.chance_apart, 1)} % by chance)."
            )
        tone = "above" if figure.pearson > OUTSIDE * figure.null_sd else "chance"
        found.append({"text": words, "tone": tone})
    return found


def _pair(one: TokenComparison) -> str:
    return f"{one.a.name} and {one.b.name}"


def _roles(one: TokenComparison, role_a: str, role_b: str) -> str:
    """Which matrices are meant, where a model has two."""
    both = "untied" in (one.a.tying, one.b.tying)
    return f"{role_a}, {role_b}" if both else ""


def _pairs(result: TokenGeometry) -> list[dict[str, Any]]:
    if not result.comparisons:
        return []
    rows = [
        [
            {"text": _pair(one), "note": _roles(one, f.role_a, f.role_b), "head": True},
            f"{f.tokens:,}",
            {"text": number(f.pearson), "note": _draws(f, f.pearson_low, f.pearson_high)},
            {"text": number(f.spearman), "note": _draws(f, f.spearman_low, f.spearman_high)},
            by_chance(f.null_sd),
            f"{number(f.mean_cosine_a)}, {number(f.mean_cosine_b)}",
        ]
        for one in result.comparisons
        for f in one.overall
    ]
    table = {
        "kind": "table",
        "caption": "Correlation of the cosines of all pairs of shared tokens: 1 for spaces alike up to rotation and "
        "scale. By chance: tokens paired anew, exact. Below a value: its range over samples of tokens.",
        "columns": _columns("Models", "Tokens", "Pearson", "Spearman", "By chance", "Mean cosines"),
        "groups": [{"label": None, "rows": rows}],
    }
    blocks = [likeness_map(result)] if len(result.models) > 2 else []
    return [{"id": "pairs", "title": "All pairs of tokens", "blocks": [*blocks, table]}]


def _draws(figure: GlobalFigure, low: float, high: float) -> str:
    return "" if figure.draws == 1 else span(low, high)


def _columns(first: str, *others: str) -> list[dict[str, Any]]:
    return [{"label": first}, *({"label": label, "align": "num"} for label in others)]


def _near(result: TokenGeometry) -> list[dict[str, Any]]:
    found = [(one, near) for one in result.comparisons for near in one.local]
    if not found:
        return []
    rows = [
        [
            {"text": _pair(one), "note": _roles(one, n.role_a, n.role_b), "head": True},
            f"{n.tokens:,}",
            str(n.k),
            {"text": number(n.mean), "note": f"{n.chance_mean:.1g} by chance"},
            number(n.median),
            {
                "text": f"{number(100 * n.apart_share, 1)} %",
                "note": f"{number(100 * n.chance_apart, 1)} % by chance",
            },
        ]
        for one, n in found
    ]
    table = {
        "kind": "table",
        "caption": "Apart: tokens that share no neighbour; their cosine is exactly 0.",
        "columns": _columns("Models", "Tokens", "k", "Mean cosine", "Median", "Apart"),
        "groups": [{"label": None, "rows": rows}],
    }
    blocks: list[dict[str, Any]] = [histograms(found), table]
    for one, n in found:
        if n.apart_texts:
            blocks.append(
                {
                    "kind": "details",
                    "summary": f"Tokens apart: {_pair(one)} {_roles(one, n.role_a, n.role_b)}".strip(),
                    "blocks": [{"kind": "text", "text": _listed(n.apart_texts)}],
                }
            )
    return [
        {
            "id": "near",
            "title": "Near every token",
            "intro": "Each token is woven from its nearest neighbours (LLE); the cosine of its weights in two models.",
            "blocks": blocks,
        }
    ]


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(repr(text) for text in texts[:SHOWN])
    more = len(texts) - SHOWN
    return f"{shown} and {more:,} more." if more > 0 else f"{shown}."


def _dimensions(result: TokenGeometry) -> list[dict[str, Any]]:
    found = [(one, flat) for one in result.comparisons for flat in one.dimensions]
    if not found:
        return []
    rows = [
        [
            {"text": _pair(one), "note": _roles(one, f.role_a, f.role_b), "head": True},
            str(f.k),
            f"{len(f.ids_a):,}",
            number(f.pearson),
            number(f.spearman),
            by_chance(f.null_sd),
            f"{number(f.mean_a, 1)}, {number(f.mean_b, 1)}",
        ]
        for one, f in found
    ]
    table = {
        "kind": "table",
        "caption": "Correlation over tokens of the number of principal components that hold "
        f"{100 * found[0][1].share:g} % of the variance of the k nearest neighbours. The level depends on k: "
        "only differences between tokens mean anything.",
        "columns": _columns(
            "Models", "k", "Tokens", "Pearson", "Spearman", "By chance", "Mean dimensions"
        ),
        "groups": [{"label": None, "rows": rows}],
    }
    reasons = sorted({f.reason for _, f in found if f.reason})
    blocks = [dimension_clouds(found), table, *({"kind": "text", "text": r} for r in reasons)]
    return [{"id": "dimension", "title": "Intrinsic dimension", "blocks": blocks}]


def _hidden(result: TokenGeometry) -> list[dict[str, Any]]:
    hidden = result.hidden
    if hidden is None:
        return []
    rows = [
        [
            {
                "text": f"{f.a} and {f.b}",
                "note": "alone" if f.context == "alone" else "in texts",
                "head": True,
            },
            number(f.depth, 2),
            f"{f.site_a}, {f.site_b}",
            number(f.pearson),
            number(f.spearman),
            by_chance(f.null_sd),
            f"{number(f.mean_cosine_a)}, {number(f.mean_cosine_b)}",
        ]
        for f in hidden.figures
    ]
    often = joined([f"{name} {number(mean, 1)}" for name, mean in hidden.occurrences.items()])
    told = "Alone: each token is the only one of its text, between the special ones."
    if hidden.text is not None:
        told += (
            f" In texts: mean over its occurrences in {hidden.texts:,} texts of {hidden.text} ({often} a token), "
            "first positions left out."
        )
    table = {
        "kind": "table",
        "caption": f"{told} Mean cosines near 1: all states point nearly one way.",
        "columns": _columns(
            "Models", "Depth", "Sites", "Pearson", "Spearman", "By chance", "Mean cosines"
        ),
        "groups": [{"label": None, "rows": rows}],
        "tall": len(rows) > 40,
    }
    reasons = sorted({f.reason for f in hidden.figures if f.reason})
    return [
        {
            "id": "hidden",
            "title": "Behind the embeddings",
            "intro": f"Cosines of all pairs of {hidden.figures[0].tokens:,} tokens that all models have, at relative "
            "depths.",
            "blocks": [
                hidden_curves(hidden),
                table,
                *({"kind": "text", "text": r} for r in reasons),
            ],
        }
    ]


def models_section(result: TokenGeometry) -> list[dict[str, Any]]:
    """Section of what the models' matrices are; none for one model."""
    sides: dict[str, TokenSide] = {}
    for one in result.comparisons:
        sides.setdefault(one.a.name, one.a)
        sides.setdefault(one.b.name, one.b)
    if not sides:
        return []
    rows = [
        [
            {"text": s.name, "note": s.quantisation or "", "head": True},
            {"text": s.tying, "note": s.tying_reason},
            f"{s.rows:,}",
            f"{s.width:,}",
            *(f"{s.classes[name]:,}" for name in ("used", "special", "reserved", "undecodable")),
            {"text": s.weights_hash[:12], "mono": True},
        ]
        for s in sides.values()
    ]
    labels = ("Rows", "Width", "Used", "Special", "Reserved", "No text")
    table = {
        "kind": "table",
        "caption": "Rows by what they stand for; reserved: kept free, or without a token. The hash is the start of the "
        "SHA-256 of the weights.",
        "columns": [
            {"label": "Model"},
            {"label": "Matrices"},
            *({"label": label, "align": "num"} for label in labels),
            {"label": "Weights"},
        ],
        "groups": [{"label": None, "rows": rows}],
        "loose": True,
    }
    return [{"id": "models", "title": "Models", "blocks": [table]}]


def how_to_read(result: TokenGeometry) -> dict[str, Any]:
    """Section of what the figures mean."""
    k = result.settings.get("k")
    items = [
        [
            "Cosines of pairs",
            "For every two tokens their cosine in one model beside that in the other. Pearson's correlation is over "
            "all pairs; what all pairs share (the mean cosine) does not count.",
        ],
        [
            "Weights",
            f"The weights that weave a token from its {k} nearest neighbours in the whole vocabulary, as a vector over "
            "all tokens: cosine 1 for the same neighbours in the same shares.",
        ],
        [
            "Dimension",
            "How many principal components the neighbours of a token need. At most k − 1.",
        ],
        ["By chance", "Tokens of one model paired anew with those of the other, all ways alike."],
        [
            "Hollow dots",
            f"Within {OUTSIDE} standard deviations of what chance gives, or below it.",
        ],
    ]
    return {
        "id": "reading",
        "title": "How to read this",
        "blocks": [{"kind": "terms", "items": items}],
    }
