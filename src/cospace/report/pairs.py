"""The table of pairs of models: whether two are alike at any site, corrected over the pairs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cospace.comparison.result import Comparison, ModelPair, SpaceFacts
from cospace.report.words import count, number, p_text

__all__ = ["CORRECTIONS", "pairs_section"]

CORRECTIONS = {"holm": "Holm's method", "bh": "Benjamini and Hochberg's method"}
"""Corrections over pairs of models, by their names in the settings."""


def pairs_section(result: Comparison) -> list[dict[str, Any]]:
    """One row for each measure and pair of models, where a correction over pairs was asked for."""
    by = CORRECTIONS.get(str(result.settings.get("correct")))
    if by is None or not result.pairs:
        return []
    spaces = {space.name: space for space in result.spaces}
    over = max(Counter(pair.measure for pair in result.pairs).values())
    groups = []
    for measure in result.measures:
        rows = [
            _row(pair, spaces, symmetric=measure.symmetric)
            for pair in result.pairs
            if pair.measure == measure.name
        ]
        if rows:
            groups.append({"label": measure.title, "rows": rows})
    columns = [
        {"label": "Models"},
        {"label": "Most surprising sites", "part": "ends"},
        {"label": "Value", "align": "num", "part": "value"},
        {"label": "p (search)", "align": "num", "part": "rest", "short": "p (search)"},
        {"label": "p (pairs)", "align": "num", "part": "rest", "short": "p (pairs)"},
    ]
    return [
        {
            "id": "pairs",
            "title": "Pairs of models",
            "intro": f"Whether two models are alike at any of their sites, corrected over {count(over, 'pair')} of "
            f"models by {by}, for each measure by itself.",
            "blocks": [
                {
                    "kind": "table",
                    "caption": "p (pairs) is about the two models, not about the sites beside it: those are where "
                    "they surprise most.",
                    "columns": columns,
                    "stacks": True,
                    "groups": groups,
                    "tall": len(result.pairs) > 60,
                }
            ],
        }
    ]


def _row(pair: ModelPair, spaces: dict[str, SpaceFacts], *, symmetric: bool) -> list[Any]:
    sign = " / " if symmetric else " → "
    sites = [spaces[name].site or name for name in (pair.source, pair.target)]
    return [
        {"text": sign.join((pair.source_model, pair.target_model)), "head": True},
        {
            "text": sign.join(sites),
            "note": f"of {count(pair.searched, 'pair')}" if pair.searched > 1 else "",
        },
        {"text": number(pair.value), "strong": True},
        p_text(pair.p_search),
        {"text": p_text(pair.p_adjusted), "strong": True},
    ]
