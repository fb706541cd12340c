"""Which cells a curve over depth is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cospace.comparison.result import Cell, Comparison, MeasureFacts, SpaceFacts
from cospace.report.verdicts import Readings
from cospace.report.words import number, p_text, plus_minus, span

__all__ = ["depth_panels", "leading_panel", "matched_cells"]


def matched_cells(
    cells: Mapping[tuple[str, str, str], Cell],
    measure: str,
    sources: Sequence[SpaceFacts],
    targets: Sequence[SpaceFacts],
) -> list[tuple[float, Cell]]:
    """Pair each source site with the target site nearest in relative depth.

    A partner further away than half a step of the coarser model is no match. Of two sites at one
    depth (the last block and the final norm) the later one is kept.
    """
    deep = [s for s in targets if s.depth is not None]
    fewest = min(len({s.depth for s in sources}), len({s.depth for s in deep}))
    reach = 0.5 / max(fewest - 1, 1) + 1e-9
    found: dict[tuple[float, str | None], Cell] = {}
    for source in sources:
        if source.depth is None:
            continue
        near: list[tuple[float, int, Cell]] = []
        for i, target in enumerate(deep):
            cell = cells.get((measure, source.name, target.name))
            gap = abs((target.depth or 0.0) - source.depth)
            alike = source.pooling == target.pooling
            if cell is not None and alike and target.name != source.name and gap <= reach:
                near.append((gap, -i, cell))
        if near:
            found[source.depth, source.pooling] = min(near, key=lambda item: item[:2])[2]
    first = next((s.pooling for s in sources), None)
    return sorted(
        ((depth, cell) for (depth, pooling), cell in found.items() if pooling == first),
        key=lambda item: item[0],
    )


def depth_panels(
    result: Comparison,
    measure: MeasureFacts,
    groups: Mapping[str, Sequence[SpaceFacts]],
    judge: Readings,
) -> list[dict[str, Any]]:
    """One panel for each ordered pair of models; one direction where the measure is symmetric.

    A symmetric measure is drawn from the model with more sites, which gives the finer curve.
    """
    cells = {(c.measure, c.source, c.target): c for c in result.cells if c.measure == measure.name}
    record = {id(cell): i for i, cell in enumerate(result.cells)}
    names = list(groups)
    drawn = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            ways = [(a, b), (b, a)]
            if measure.symmetric:
                ways = [max(ways, key=lambda way: len(groups[way[0]]))]
            for source, target in ways:
                found = matched_cells(cells, measure.name, groups[source], groups[target])
                if len(found) > 1:
                    drawn.append((source, target, found))
    drawn = [item for item in drawn if any(c.value is not None for _, c in item[2])]
    everything = [cell for _, _, found in drawn for _, cell in found]
    low, high = _limits(measure, everything)
    return [
        {
            "title": f"{source} → {target}" if not measure.symmetric else f"{source} and {target}",
            "x_label": f"relative depth in {source}",
            "low": low,
            "high": high,
            "description": _described(measure, found),
            "series": [{"label": measure.title, "points": _points(judge, found, record)}],
        }
        for source, target, found in drawn
    ]


def leading_panel(groups: Mapping[str, Sequence[SpaceFacts]]) -> dict[str, Any]:
    """Share of variance on the leading direction, one curve a model."""
    series, told = [], []
    for model, spaces in groups.items():
        kept = [s for s in spaces if s.depth is not None and s.pooling == spaces[0].pooling]
        if len(kept) < 2:
            continue
        points = [
            {
                "x": s.depth,
                "y": s.leading_share,
                "title": f"{s.name}: {number(100 * s.leading_share, 1)} % of the variance",
            }
            for s in kept
        ]
        most = max(kept, key=lambda s: s.leading_share)
        told.append(f"{model} at most {number(100 * most.leading_share, 0)} % at {most.site}")
        series.append({"label": model, "points": points})
    return {
        "title": "Share of variance on the leading direction",
        "x_label": "relative depth",
        "low": 0.0,
        "high": 1.0,
        "width": 720,
        "height": 280,
        "named": True,
        "description": "; ".join(told) + ".",
        "series": series,
    }


def _points(
    judge: Readings, found: Sequence[tuple[float, Cell]], record: Mapping[int, int]
) -> list[dict[str, Any]]:
    points = []
    for depth, cell in found:
        band = 2 * (cell.null_sd or 0.0)
        mean = cell.null_mean
        points.append(
            {
                "x": depth,
                "y": cell.value,
                "low": cell.low,
                "high": cell.high if cell.low is not None else None,
                "null": mean,
                "null_low": None if mean is None else mean - band,
                "null_high": None if mean is None else mean + band,
                "tone": judge(cell).key,
                "title": _told(cell),
                "record": record[id(cell)],
            }
        )
    return points


def _told(cell: Cell) -> str:
    pair = f"{cell.source} → {cell.target}"
    if cell.value is None:
        return f"{pair}: no value. {cell.reason or ''}".strip()
    text = f"{pair}: {number(cell.value)}"
    if cell.low is not None:
        text += f", 95 % interval {span(cell.low, cell.high)}"
    if cell.null_mean is not None:
        text += f", null {plus_minus(cell.null_mean, cell.null_sd)}"
    p = cell.p_search if cell.p_search is not None else cell.p
    return text + (f", p = {p_text(p)}" if p is not None else "")


def _described(measure: MeasureFacts, found: Sequence[tuple[float, Cell]]) -> str:
    values = [cell.value for _, cell in found if cell.value is not None]
    nulls = [cell.null_mean for _, cell in found if cell.null_mean is not None]
    if not values:
        return f"{measure.title} has no value at {len(found)} matched depths."
    text = f"{measure.title} from {number(min(values), 2)} to {number(max(values), 2)}"
    if nulls:
        text += f", null from {number(min(nulls), 2)} to {number(max(nulls), 2)}"
    return f"{text}, at {len(found)} matched depths."


def _limits(measure: MeasureFacts, cells: Sequence[Cell]) -> tuple[float, float]:
    shown = [
        value
        for cell in cells
        for value in (cell.value, cell.low, cell.high, cell.null_mean)
        if value is not None
    ]
    low, high = measure.bounds
    least, most = min(shown, default=0.0), max(shown, default=1.0)
    upper = high if high is not None else max(most * 1.05, 1e-9)
    if low is not None and low > 0:
        return low, upper
    if least >= 0:
        return 0.0, upper
    for share in (0.05, 0.25, 0.5):
        if least >= -share * upper:
            return -share * upper, upper
    return -upper if low is None else max(low, -upper), upper
