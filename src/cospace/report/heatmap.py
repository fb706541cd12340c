"""A heat map as static SVG: one path a colour, so that thousands of cells stay light."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from cospace.report.scale import LEVELS, colour, is_dark, level, palette
from cospace.report.svg import document, num, tag, text
from cospace.report.words import brief, number, p_text, shortened

__all__ = ["heat_map", "legend"]

PLOT = 560.0
GAP = 5.0
NARROWEST = 420.0
"""Least width of a drawing: it fills its column, and few cells would be blown up."""
NUMBERS_UP_TO = 14
"""Maps of at most this many columns show the numbers in their cells."""


def heat_map(block: Mapping[str, Any], view: Mapping[str, Any]) -> Markup:
    """Draw one view of a map block (see README.md of this package)."""
    rows, columns = block["rows"], block["columns"]
    size = max(min(PLOT / max(len(rows), len(columns)), 44.0), 4.0)
    ys, xs = _places(rows, size), _places(columns, size)
    banded = any(item["group"] for item in [*rows, *columns])
    longest = max(len(shortened(item["label"], 24)) for item in [*rows, *columns])
    left = (22 if banded else 0) + 12 + 6.6 * longest
    top = (22 if banded else 0) + 12 + 6.6 * longest
    plot_w, plot_h = xs[-1] + size, ys[-1] + size
    parts = [
        *_axis(rows, ys, size, banded=banded, offset=(left, top), down=True),
        *_axis(columns, xs, size, banded=banded, offset=(left, top), down=False),
        f'<g transform="translate({num(left)} {num(top)})" shape-rendering="crispEdges">',
        *_states(block, view, xs, ys, size),
        *_colours(view, xs, ys, size),
        *_frames(rows, columns, xs, ys, size),
        "</g>",
    ]
    if max(len(rows), len(columns)) <= NUMBERS_UP_TO:
        parts += _numbers(view, xs, ys, size, left, top)
    parts.append(tag("rect", cls="cursor", width=size, height=size, x=-99.0, y=-99.0))
    return document(
        parts,
        max(left + plot_w + 4, NARROWEST),
        top + plot_h + 4,
        name=f"{block['title']}: {view['label']}",
        description=view["description"],
        cls="map",
        tabindex=0,
        data_measure=block["measure"],
        data_rows=",".join(str(item["index"]) for item in rows),
        data_columns=",".join(str(item["index"]) for item in columns),
        data_x=",".join(num(left + x) for x in xs),
        data_y=",".join(num(top + y) for y in ys),
        data_size=num(size),
    )


def legend(scale: Mapping[str, Any]) -> Markup:
    """Draw the colour bar of a scale with its ends in words."""
    if scale["type"] == "classes":
        parts = []
        for i, (shade, name) in enumerate(zip(palette(scale), scale["labels"], strict=True)):
            parts.append(
                tag("rect", x=i * 84.0, y=4.0, width=14.0, height=14.0, fill=shade, cls="chip")
            )
            parts.append(text(name, i * 84 + 20, 15))
        return document(
            parts, 336, 24, name="Colours", description=", ".join(scale["labels"]), cls="bar"
        )
    low, high = scale["low"], scale["high"]
    width = 240 / LEVELS
    shades = palette(scale)[::-1] if scale["reverse"] else palette(scale)
    parts = [
        tag("rect", x=i * width, y=0.0, width=width + 0.3, height=12.0, fill=shade)
        for i, shade in enumerate(shades)
    ]
    ends = [
        ("≤ " if scale["open_low"] else "") + brief(low),
        brief((low + high) / 2),
        ("≥ " if scale["open_high"] else "") + brief(high),
    ]
    for place, words, anchor in zip((0, 120, 240), ends, ("start", "middle", "end"), strict=True):
        parts.append(text(words, place, 26, text_anchor=anchor))
    sides = ("more alike", "less alike") if scale["reverse"] else ("less alike", "more alike")
    sides = scale.get("sides", sides)
    parts.append(text(f"{sides[0]}", 0, 40, cls="quiet"))
    parts.append(text(f"{sides[1]}", 240, 40, text_anchor="end", cls="quiet"))
    words = f"From {ends[0]} ({sides[0]}) to {ends[2]} ({sides[1]})"
    return document(parts, 240, 44, name="Colour scale", description=words, cls="bar")


def _places(items: Sequence[Mapping[str, Any]], size: float) -> list[float]:
    places, at = [], 0.0
    for i, item in enumerate(items):
        if i and item["group"] != items[i - 1]["group"]:
            at += GAP
        places.append(at)
        at += size
    return places


def _runs(items: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    starts = [i for i, x in enumerate(items) if not i or x["group"] != items[i - 1]["group"]]
    return list(zip(starts, [*starts[1:], len(items)], strict=True))


def _axis(
    items: Sequence[Mapping[str, Any]],
    places: Sequence[float],
    size: float,
    *,
    banded: bool,
    offset: tuple[float, float],
    down: bool,
) -> list[str]:
    left, top = offset
    parts = []
    for start, stop in _runs(items):
        step = max(1, -(-13 // max(int(size), 1)))
        last = stop - 1
        for i in range(start, stop):
            near = (last - i) * size < 13 and i != last
            if ((i - start) % step and i != last) or (near and i != start):
                continue
            middle = places[i] + size / 2
            words = shortened(items[i]["label"], 24)
            if down:
                parts.append(text(words, left - 6, top + middle + 4, text_anchor="end"))
            else:
                x, y = left + middle + 4, top - 6
                turn = f"rotate(-90 {num(x)} {num(y)})"
                parts.append(text(words, x, y, transform=turn))
        if banded and items[start]["group"]:
            reach = places[last] + size - places[start]
            words = shortened(items[start]["group"], max(int(reach / 7), 3))
            at = (places[start] + places[last] + size) / 2
            if down:
                turn = f"rotate(-90 12 {num(top + at)})"
                parts.append(
                    text(words, 12, top + at, text_anchor="middle", cls="model", transform=turn)
                )
                parts.append(
                    tag("path", d=f"M18.5 {num(top + places[start])}v{num(reach)}", cls="band")
                )
            else:
                parts.append(text(words, left + at, 12, text_anchor="middle", cls="model"))
                parts.append(
                    tag("path", d=f"M{num(left + places[start])} 18.5h{num(reach)}", cls="band")
                )
    return parts


def _states(
    block: Mapping[str, Any],
    view: Mapping[str, Any],
    xs: Sequence[float],
    ys: Sequence[float],
    size: float,
) -> list[str]:
    fills = {".": "url(#not-run)", "x": "url(#undefined)", "s": "url(#itself)"}
    states = [
        ["." if c == "v" and value is None else c for c, value in zip(line, values, strict=True)]
        for line, values in zip(block["state"], view["grid"], strict=True)
    ]
    parts = []
    for state, fill in fills.items():
        d = _path([[c == state for c in line] for line in states], xs, ys, size)
        if d:
            parts.append(tag("path", d=d, fill=fill))
    return parts


def _colours(
    view: Mapping[str, Any], xs: Sequence[float], ys: Sequence[float], size: float
) -> list[str]:
    levels = [
        [None if v is None else level(v, view["scale"]) for v in line] for line in view["grid"]
    ]
    parts = []
    for i, shade in enumerate(palette(view["scale"])):
        d = _path([[found == i for found in line] for line in levels], xs, ys, size)
        if d:
            parts.append(tag("path", d=d, fill=shade))
    return parts


def _path(
    wanted: Sequence[Sequence[bool]], xs: Sequence[float], ys: Sequence[float], size: float
) -> str:
    pieces = []
    for r, line in enumerate(wanted):
        c = 0
        while c < len(line):
            if not line[c]:
                c += 1
                continue
            start = c
            while c + 1 < len(line) and line[c + 1] and xs[c + 1] - xs[c] < size + 0.01:
                c += 1
            width, height = num(xs[c] + size - xs[start]), num(size)
            pieces.append(f"M{num(xs[start])} {num(ys[r])}h{width}v{height}h-{width}z")
            c += 1
    return "".join(pieces)


def _frames(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[Mapping[str, Any]],
    xs: Sequence[float],
    ys: Sequence[float],
    size: float,
) -> list[str]:
    parts = []
    for r0, r1 in _runs(rows):
        for c0, c1 in _runs(columns):
            parts.append(
                tag(
                    "rect",
                    x=xs[c0],
                    y=ys[r0],
                    width=xs[c1 - 1] + size - xs[c0],
                    height=ys[r1 - 1] + size - ys[r0],
                    cls="frame",
                )
            )
    return parts


def _numbers(
    view: Mapping[str, Any],
    xs: Sequence[float],
    ys: Sequence[float],
    size: float,
    left: float,
    top: float,
) -> list[str]:
    parts = []
    write = p_text if view["scale"]["type"] == "classes" else number
    for r, line in enumerate(view["grid"]):
        for c, value in enumerate(line):
            if value is None:
                continue
            words = write(value) if write is p_text else number(value, 2)
            tone = "on-dark" if is_dark(colour(value, view["scale"])) else "on-light"
            x, y = left + xs[c] + size / 2, top + ys[r] + size / 2 + 4
            parts.append(text(words, x, y, text_anchor="middle", cls=tone))
    return parts
