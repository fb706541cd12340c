"""Figures of token geometry: maps, histograms, clouds of dimensions, curves over depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cospace.report.scale import measure_scale
from cospace.report.words import count, number, shortened
from cospace.tokens.geometry_result import TokenGeometry
from cospace.tokens.hidden import Hidden, HiddenFigure
from cospace.tokens.result import (
    EDGES,
    DimensionFigure,
    GlobalFigure,
    LocalFigure,
    TokenComparison,
    TokenSide,
)

__all__ = [
    "OUTSIDE",
    "by_chance",
    "dimension_clouds",
    "hidden_curves",
    "histograms",
    "likeness_map",
]

OUTSIDE = 3
"""Standard deviations beyond which a correlation is told from chance."""
PANELS = 6
"""Histograms and clouds that are drawn; tables have all."""


def by_chance(sd: float | None) -> str:
    """Write what tokens paired anew give: 0, and its standard deviation."""
    return number(None) if sd is None else f"0 ± {sd:.2g}"


def likeness_map(
    result: TokenGeometry,
    only: Callable[[TokenSide], str | None] | None = None,
    title: str = "Cosines of pairs of tokens",
) -> dict[str, Any]:
    """Correlations of the cosines of every two matrices, Pearson's and Spearman's.

    Parameters
    ----------
    result
        The geometry.
    only
        Role of the one matrix of a model that takes part; by default all do.
    title
        Of the map.
    """

    def figures(one: TokenComparison) -> list[GlobalFigure]:
        roles = None if only is None else (only(one.a), only(one.b))
        return [f for f in one.overall if roles in (None, (f.role_a, f.role_b))]

    items: dict[tuple[str, str], int] = {}
    several = set()
    for one in result.comparisons:
        for side in (one.a, one.b):
            for figure in figures(one):
                role = figure.role_a if side is one.a else figure.role_b
                items.setdefault((side.name, role), len(items))
                if role == "output":
                    several.add(side.name)
    order = sorted(items, key=lambda key: (result.models.index(key[0]), key[1]))
    place = {key: i for i, key in enumerate(order)}
    grids: dict[str, list[list[float | None]]] = {
        name: [[None] * len(order) for _ in order] for name in ("pearson", "spearman")
    }
    state = [["." for _ in order] for _ in order]
    for i in range(len(order)):
        state[i][i] = "s"
    for one in result.comparisons:
        for figure in figures(one):
            i, j = place[one.a.name, figure.role_a], place[one.b.name, figure.role_b]
            for name, grid in grids.items():
                grid[i][j] = grid[j][i] = getattr(figure, name)
            state[i][j] = state[j][i] = "v"
    labels = [
        {"label": f"{name}, {role}" if name in several else name, "group": "", "index": i}
        for i, (name, role) in enumerate(order)
    ]
    scale = measure_scale("similarity", (-1.0, 1.0), [])
    views = [
        {
            "key": name,
            "label": f"{name.capitalize()}’s correlation",
            "scale": scale,
            "grid": grid,
            "description": _described(grid),
        }
        for name, grid in grids.items()
    ]
    keys = [{"pattern": "itself", "words": "the matrix itself"}]
    if any("." in line for line in state):
        keys.append({"pattern": "not-run", "words": "not compared"})
    return {
        "kind": "map",
        "title": title,
        "measure": None,
        "rows": labels,
        "columns": labels,
        "state": ["".join(line) for line in state],
        "views": views,
        "others": [],
        "caption": "Each two matrices over the tokens that they share, which are others for other models.",
        "keys": keys,
        "missing": [],
    }


def _described(grid: Sequence[Sequence[float | None]]) -> str:
    found = [value for line in grid for value in line if value is not None]
    ends = f"from {number(min(found))} to {number(max(found))}"
    return f"{count(len(grid), 'matrix', 'matrices')}; {ends}."


def histograms(found: Sequence[tuple[TokenComparison, LocalFigure]]) -> dict[str, Any]:
    """How many tokens have which cosine of their weights; those apart are set aside."""
    panels = []
    middle = len(EDGES) // 2
    for one, near in found[:PANELS]:
        counts = list(near.histogram)
        apart = len(near.apart_a)
        counts[middle] -= apart
        words = f"{apart:,} apart"
        panels.append(
            {
                "title": _titled(one, near.role_a, near.role_b),
                "description": f"{near.tokens:,} tokens, {words}; mean {number(near.mean)}, median "
                f"{number(near.median)}.",
                "x_label": "cosine of the weights",
                "edges": list(EDGES),
                "counts": counts,
                "aside": {"bin": middle, "count": apart, "words": words} if apart else None,
            }
        )
    left = len(found) - PANELS
    more = f" {count(left, 'further pair')}: in the table." if left > 0 else ""
    return {
        "kind": "bars",
        "caption": "Tokens by the cosine of their weights in the two models. Grey: tokens that share no neighbour, "
        f"whose bar is cut where it does not fit.{more}",
        "panels": panels,
    }


def dimension_clouds(
    found: Sequence[tuple[TokenComparison, DimensionFigure]],
) -> dict[str, Any]:
    """Dimensions of the same tokens in two models, at the middle number of neighbours."""
    ks = sorted({flat.k for _, flat in found})
    middle = ks[(len(ks) - 1) // 2]
    chosen = [(one, flat) for one, flat in found if flat.k == middle]
    panels = []
    for one, flat in chosen[:PANELS]:
        texts = zip(flat.ids_a, flat.values_a, flat.values_b, strict=True)
        panels.append(
            {
                "title": _titled(one, flat.role_a, flat.role_b),
                "description": f"{len(flat.ids_a):,} tokens; Spearman {number(flat.spearman)}.",
                "x_label": f"dimension in {one.a.name}",
                "y_label": f"in {one.b.name}",
                "x_range": _range(flat.values_a),
                "y_range": _range(flat.values_b),
                "points": [
                    {"x": x, "y": y, "title": f"row {i}: {x}, {y}", "record": None}
                    for i, x, y in texts
                ],
            }
        )
    return {
        "kind": "scatter",
        "caption": f"Each dot a token, k = {middle}. {count(len(chosen), 'pair')} in all.",
        "panels": panels,
    }


def _range(values: Sequence[int]) -> list[float]:
    return [min(values) - 1.0, max(values) + 1.0]


def _titled(one: TokenComparison, role_a: str, role_b: str) -> str:
    roles = f" ({role_a}, {role_b})" if "untied" in (one.a.tying, one.b.tying) else ""
    return f"{one.a.name} and {one.b.name}{roles}"


def hidden_curves(hidden: Hidden) -> dict[str, Any]:
    """Pearson's correlation over depth, a panel for tokens alone and one in texts."""
    panels: list[dict[str, Any]] = []
    for context in dict.fromkeys(f.context for f in hidden.figures):
        figures = [f for f in hidden.figures if f.context == context]
        pairs = list(dict.fromkeys((f.a, f.b) for f in figures))
        values = [f.pearson for f in figures if f.pearson is not None]
        words = "alone" if context == "alone" else "in texts"
        series = [
            {
                "label": shortened(f"{a}, {b}", 14),
                "points": [
                    _point(f, band=len(pairs) == 1)
                    for f in sorted(figures, key=lambda f: f.depth)
                    if (f.a, f.b) == (a, b)
                ],
            }
            for a, b in pairs
        ]
        ends = f" from {number(min(values), 2)} to {number(max(values), 2)}" if values else ""
        panels.append(
            {
                "title": f"Tokens {words}",
                "description": f"Pearson’s correlation{ends}.",
                "x_label": "relative depth",
                "low": min([0.0, *values]),
                "high": 1.0,
                "series": series,
                "named": len(pairs) > 1,
            }
        )
    if len(panels) == 1:
        panels[0] |= {"width": 760, "height": 320}
    return {
        "kind": "curves",
        "caption": "Pearson’s correlation of the cosines of all pairs of tokens. Dashed: by chance (0), with two "
        "standard deviations, for one pair of models. Hollow dots cannot be told from chance; a cross has no value.",
        "panels": panels,
    }


def _point(f: HiddenFigure, *, band: bool) -> dict[str, Any]:
    sd = f.null_sd
    told = f"{f.a} {f.site_a}, {f.b} {f.site_b}: {number(f.pearson)}"
    point: dict[str, Any] = {"x": f.depth, "y": f.pearson, "title": told, "record": None}
    if f.pearson is None or sd is None:
        return point | {"title": f"{told}. {f.reason or ''}".strip()}
    point["tone"] = "above" if f.pearson > OUTSIDE * sd else "chance"
    if band:
        point |= {"null": 0.0, "null_low": max(-2 * sd, -1.0), "null_high": 2 * sd}
    return point
