"""Figures of an affine-homotopy study: maps of pairs, scatters, the grid of truncated copies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cospace.report.homotopy_findings import share_of_bound
from cospace.report.homotopy_prediction import encoder_names, there
from cospace.report.scale import measure_scale
from cospace.report.words import number
from cospace.studies.affine_homotopy.result import AffineHomotopyStudy, Extrinsic, Intrinsic

__all__ = ["depths_of", "extrinsic_map", "intrinsic_map", "radii", "truncation_map"]

Grid = list[list[float | None]]

_KEYS = {
    "s": {"pattern": "itself", "words": "the encoder itself"},
    ".": {"pattern": "not-run", "words": "not computed"},
}


def depths_of(result: AffineHomotopyStudy) -> list[float]:
    """Depths of the intrinsic distances, ascending."""
    return sorted({pair.depth for pair in result.intrinsic})


def radii(result: AffineHomotopyStudy) -> dict[tuple[str, float], float]:
    """Encoder and depth -> radius of the smallest ball around its rows, where it is not 0."""
    return {(e.name, e.depth): e.radius for e in result.encoders if there(e.radius) and e.radius}


def intrinsic_map(result: AffineHomotopyStudy, depth: float) -> dict[str, Any]:
    """Affine distances at one depth, beside the held-out error and the two directions' difference."""
    names, radius = encoder_names(result), radii(result)
    pairs = {(p.source, p.target): p for p in result.intrinsic if p.depth == depth}

    def held_out(pair: Intrinsic) -> float | None:
        size = radius.get((pair.target, depth))
        return pair.held_out / size if there(pair.held_out) and size else None

    def difference(pair: Intrinsic) -> float | None:
        back = pairs.get((pair.target, pair.source))
        if back is None or not (there(pair.normalised) and there(back.normalised)):
            return None
        return pair.normalised - back.normalised

    fitted = _grid(names, pairs, lambda p: p.normalised)
    views = [_view("value", f"Depth {depth:g}", _distances(fitted, 1.0), fitted)]
    unseen = _grid(names, pairs, held_out)
    others = []
    if _values(unseen):
        others.append(_view("held-out", "Held out", _distances(unseen, 1.0), unseen))
    apart = _grid(names, pairs, difference)
    reach = max((abs(v) for v in _values(apart)), default=0.0) or 1.0
    scale = {
        **measure_scale("distance", (-reach, reach), []),
        "sides": ("this way easier", "way back easier"),
    }
    others.append(_view("asymmetry", "Difference of directions", scale, apart))
    return {
        **_map(names, names, fitted, f"Affine distance at depth {depth:g}", square=True),
        "measure": depths_of(result).index(depth),
        "views": views,
        "others": others,
        "caption": f"As above, at depth {depth:g}: row is source, column is target; dark blue is more alike."
        if depth != depths_of(result)[0]
        else f"Affine distance at depth {depth:g}. Row: source, the encoder that is mapped; column: "
        "target, mapped onto. Largest error over the texts of the best affine map, divided by the radius "
        "of the target’s smallest ball: 0 is an exact map, 1 no better than a constant; dark blue is more "
        "alike. A light column is hard to map onto. Held out: the same map’s largest error on texts that it "
        "was not fitted on, in the same unit; it can exceed 1. Difference: this direction less the way back.",
    }


def extrinsic_map(
    result: AffineHomotopyStudy, task: str, depth: float, measure: int | None
) -> dict[str, Any]:
    """Extrinsic distances on one task at one depth, and how near they come to the bound."""
    names = encoder_names(result)
    pairs = {
        (p.source, p.target): p for p in result.extrinsic if (p.task, p.depth) == (task, depth)
    }
    fixed = _grid(names, pairs, lambda p: p.fixed)
    worst = _grid(names, pairs, lambda p: p.worst)
    share = _grid(names, pairs, _finite_share)
    most = math.sqrt(2.0)
    bound = {**_distances(share, 1.0), "sides": ("far from the bound", "at it")}
    return {
        **_map(names, names, fixed, f"Imitation on {task} at depth {depth:g}", square=True),
        "measure": measure,
        "views": [_view("value", "Fixed classifier", _distances(fixed, most), fixed)],
        "others": [
            _view("worst", "Worst case", _distances(worst, most), worst),
            _view("share", "Share of the bound", bound, share),
        ],
        "caption": f"Extrinsic distance on {task} at depth {depth:g}. Row: source, which imitates; column: "
        "target, whose classifier is imitated. Largest difference of probabilities over the texts of the fit "
        "(0: the same; √2 at most); dark blue is more alike. Fixed: the target’s task probe. Worst case: the "
        "classifier within the cap that was found to be imitated worst. Share: the larger of the two, divided "
        "by the bound.",
    }


def truncation_map(result: AffineHomotopyStudy) -> dict[str, Any]:
    """Median distance between copies of lower rank, as a grid."""
    cells = {(t.source, t.target): t.median for t in result.truncations}
    sources = sorted({t.source for t in result.truncations})
    targets = sorted({t.target for t in result.truncations})
    grid = [[_known(cells.get((s, t))) for t in targets] for s in sources]
    pairs = sorted({t.pairs for t in result.truncations})
    amount = f"{pairs[0]:,}" if len(pairs) == 1 else f"{pairs[0]:,} to {pairs[-1]:,}"
    return {
        **_map(
            [f"{s} %" for s in sources],
            [f"{t} %" for t in targets],
            grid,
            "Truncated copies",
            square=False,
        ),
        "measure": None,
        "views": [_view("value", "Median distance of copies", _distances(grid, 1.0), grid)],
        "others": [],
        "caption": "Row: rank that the source’s copy keeps, in percent of full rank; column: that of the "
        f"target’s copy. Median over {amount} pairs of encoders of the affine distance, divided by the radius "
        "of the target’s copy; dark blue is more alike. In a symmetric grid it does not matter which side loses "
        "rank.",
    }


def _grid(names: Sequence[str], pairs: Mapping[tuple[str, str], Any], read: Any) -> Grid:
    take: Callable[[Intrinsic | Extrinsic], float | None] = read
    return [[_known(take(pairs[a, b])) if (a, b) in pairs else None for b in names] for a in names]


def _known(value: float | None) -> float | None:
    return value if there(value) else None


def _finite_share(pair: Extrinsic) -> float | None:
    return _known(share_of_bound(pair))


def _values(grid: Grid) -> list[float]:
    return [v for line in grid for v in line if v is not None]


def _distances(grid: Grid, most: float) -> dict[str, Any]:
    """Scale from 0 to the largest possible distance; what lies beyond has the end colour."""
    scale = measure_scale("distance", (0.0, most), [])
    return {**scale, "open_high": any(v > most for v in _values(grid))}


def _map(
    rows: Sequence[str], columns: Sequence[str], grid: Grid, title: str, *, square: bool
) -> dict[str, Any]:
    state = [
        "".join(
            "s" if square and r == c else "." if value is None else "v"
            for c, value in enumerate(line)
        )
        for r, line in enumerate(grid)
    ]
    marks = set("".join(state))
    return {
        "kind": "map",
        "title": title,
        "rows": [{"label": name, "group": "", "index": i} for i, name in enumerate(rows)],
        "columns": [{"label": name, "group": "", "index": i} for i, name in enumerate(columns)],
        "state": state,
        "keys": [key for mark, key in _KEYS.items() if mark in marks],
        "missing": [],
    }


def _view(key: str, words: str, scale: Mapping[str, Any], grid: Grid) -> dict[str, Any]:
    found = _values(grid)
    told = f"{len(grid)} source rows, {len(grid[0])} target columns"
    told += (
        f"; from {number(min(found))} to {number(max(found))}."
        if found
        else "; no cell has a value."
    )
    return {"key": key, "label": words, "scale": scale, "grid": grid, "description": told}
