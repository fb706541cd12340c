"""The heat map of one measure: its grid, its null, and what is missing, with the reason."""

from __future__ import annotations

from collections import Counter
from typing import Any

from cospace.comparison.result import Cell, Comparison, MeasureFacts, SpaceFacts
from cospace.report.findings import label
from cospace.report.scale import difference_scale, effect_scale, measure_scale, p_scale
from cospace.report.verdicts import Readings
from cospace.report.words import count, number

__all__ = ["map_block"]

KEYS = (
    (".", "not-run", "not run, or not tested"),
    ("x", "undefined", "run, no value"),
    ("s", "itself", "the space itself"),
)


def map_block(result: Comparison, index: int, judge: Readings) -> dict[str, Any] | None:
    """Build the map of measure ``index``; None where no cell of it was run.

    Spaces that take no part in any cell of this measure are left out.
    """
    measure = result.measures[index]
    cells = {(c.source, c.target): c for c in result.cells if c.measure == measure.name}
    if not cells:
        return None
    rows = [(i, s) for i, s in enumerate(result.spaces) if any(k[0] == s.name for k in cells)]
    columns = [(i, s) for i, s in enumerate(result.spaces) if any(k[1] == s.name for k in cells)]
    grid = [[cells.get((r.name, c.name)) for _, c in columns] for _, r in rows]
    state = [
        "".join(
            _state(cell, same=r.name == c.name) for cell, (_, c) in zip(line, columns, strict=True)
        )
        for line, (_, r) in zip(grid, rows, strict=True)
    ]
    items = _items(result.spaces)
    searched = len({s.model for s in result.spaces}) < len(result.spaces)
    views = _views(measure, grid, judge, searched=searched)
    return {
        "kind": "map",
        "title": measure.title,
        "measure": index,
        "rows": [items[i] for i, _ in rows],
        "columns": [items[i] for i, _ in columns],
        "state": state,
        "keys": _keys(state, views),
        **views,
        "caption": _caption(measure, views),
        "missing": _missing(result, measure, list(cells.values()), state),
    }


def _keys(state: list[str], views: dict[str, Any]) -> list[dict[str, str]]:
    marks = set("".join(state))
    for view in [*views["views"], *views["others"]]:
        for line, values in zip(state, view["grid"], strict=True):
            if any(c == "v" and v is None for c, v in zip(line, values, strict=True)):
                marks.add(".")
    return [{"pattern": pattern, "words": words} for mark, pattern, words in KEYS if mark in marks]


def _state(cell: Cell | None, *, same: bool) -> str:
    if cell is None:
        return "s" if same else "."
    return "v" if cell.value is not None else "x"


def _items(spaces: tuple[SpaceFacts, ...]) -> list[dict[str, Any]]:
    sizes = Counter(space.model for space in spaces)
    poolings = {(space.model, space.pooling) for space in spaces}
    several = {model for model, _ in poolings if sum(m == model for m, _ in poolings) > 1}
    alone = all(size == 1 for size in sizes.values())
    return [
        {
            "label": label(space, alone=alone, poolings=space.model in several),
            "group": "" if alone else space.model,
            "index": i,
        }
        for i, space in enumerate(spaces)
    ]


def _views(
    measure: MeasureFacts, grid: list[list[Cell | None]], judge: Readings, *, searched: bool
) -> dict[str, Any]:
    there = [cell for line in grid for cell in line if cell is not None and cell.value is not None]
    values = [v for c in there for v in (c.value, c.null_mean) if v is not None]
    scale = measure_scale(measure.kind, measure.bounds, values)
    shown = [c.value for c in there if c.value is not None]
    views = [_view("value", "Value", scale, grid, lambda c: c.value)]
    if any(cell.null_mean is not None for cell in there):
        views.append(_view("null", "Null mean", scale, grid, lambda c: c.null_mean))
    if any(cell.effect is not None for cell in there):
        views.append(_view("effect", "Effect", effect_scale(), grid, lambda c: c.effect))
    elif len(views) > 1:
        views.append(_view("gain", "Value − null", difference_scale(scale), grid, _gain))
    if searched and any(cell.p_search is not None for cell in there):
        views.append(_view("p-search", "p (search)", p_scale(), grid, lambda c: c.p_search))
    if any(cell.p is not None for cell in there):
        views.append(_view("p", "p", p_scale(), grid, lambda c: c.p))
    keys = Counter(judge(cell).key for cell in there)
    if shown:
        told = f"{keys['above']:,} of {count(len(shown), 'cell')} can be told from chance"
        if keys["outside"]:
            told = f"{keys['outside']:,} of {count(len(shown), 'cell')} lie outside their null, not tested"
        views[0]["description"] += f" {told}."
    return {"views": views[:1], "others": views[1:]}


def _view(key: str, words: str, scale: dict[str, Any], grid: Any, read: Any) -> dict[str, Any]:
    cells = [
        [read(cell) if cell is not None and cell.value is not None else None for cell in line]
        for line in grid
    ]
    found = [v for line in cells for v in line if v is not None]
    told = (
        f"{len(cells)} source rows, {len(cells[0])} target columns; from {number(min(found))} to "
        f"{number(max(found))}."
        if found
        else "No cell has a value."
    )
    return {"key": key, "label": words, "scale": scale, "grid": cells, "description": told}


def _gain(cell: Cell) -> float | None:
    if cell.value is None or cell.null_mean is None:
        return None
    return cell.value - cell.null_mean


def _caption(measure: MeasureFacts, views: dict[str, Any]) -> str:
    effect = ""
    if any(view["key"] == "effect" for view in views["others"]):
        effect = " Effect: the share of the way from the null (0) to identical spaces (1)."
    side = (
        "Symmetric: both halves are the same."
        if measure.symmetric
        else ("Not symmetric: the value says how well the target is had from the source.")
    )
    return (
        "Rows are sources, columns are targets. Dark blue is more alike. The null, on the same "
        f"colours, is what shuffled rows give: look for where the two maps differ.{effect} {side}"
    )


def _missing(
    result: Comparison, measure: MeasureFacts, cells: list[Cell], state: list[str]
) -> list[str]:
    told = []
    reasons = Counter(cell.reason or "no reason recorded" for cell in cells if cell.value is None)
    for reason, size in reasons.most_common():
        told.append(f"{count(size, 'cell')} without a value: {reason}")
    size = len(result.spaces)
    ordered = sum(cell.source != cell.target for cell in cells)
    if ordered < size * (size - 1):
        told.append(
            f"{measure.title} was run on {ordered:,} of {size * (size - 1):,} ordered pairs, at matched depths; "
            "grid=True (--grid) runs it on all."
        )
    notes = Counter(
        (cell.note, cell.p is None) for cell in cells if cell.note and cell.value is not None
    )
    for (note, bare), times in notes.most_common(3):
        told.append(f"{'No p in ' if bare else ''}{count(times, 'cell')}: {note}")
    return told
