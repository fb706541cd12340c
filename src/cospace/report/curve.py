"""Curves over depth, and the small strip that shows one value beside its null."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from cospace.report.svg import document, num, tag, text
from cospace.report.words import number, shortened

__all__ = ["panel", "strip", "tick_text", "ticks"]

LEFT, RIGHT, TOP, BOTTOM = 44.0, 12.0, 24.0, 34.0
FILLED = ("above", "outside")
"""Readings whose dots are filled: told from chance, or outside a null that no test belongs to."""
COLOURS = 8
"""Series colours in the style sheet; further series repeat them with another dash."""


def panel(block: Mapping[str, Any]) -> Markup:
    """Draw one panel of curves (see README.md of this package)."""
    width, height = float(block.get("width", 380)), float(block.get("height", 230))
    low, high = block["low"], block["high"]
    right = RIGHT + (110 if block.get("named") else 0)
    across, down = width - LEFT - right, height - TOP - BOTTOM

    def x_at(value: float) -> float:
        return LEFT + value * across

    def y_at(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return TOP + (1 - min(max(share, 0.0), 1.0)) * down

    parts = [text(block["title"], LEFT, 14, cls="panel-title")]
    marks, digits = ticks(low, high)
    for value in marks:
        y = y_at(value)
        zero = "axis zero" if abs(value) < 1e-12 and low < 0 else "axis"
        parts.append(tag("path", d=f"M{num(LEFT)} {num(y)}h{num(across)}", cls=zero))
        parts.append(text(tick_text(value, digits), LEFT - 6, y + 4, text_anchor="end"))
    for value, words in block.get("x_marks") or [
        (x, f"{x:g}") for x in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]:
        parts.append(text(words, x_at(value), TOP + down + 15, text_anchor="middle"))
    parts.append(
        text(block["x_label"], LEFT + across / 2, height - 4, text_anchor="middle", cls="quiet")
    )
    taken: list[float] = []
    for i, series in enumerate(block["series"]):
        parts += _series(series, i, x_at, y_at, TOP + down)
        points = [p for p in series["points"] if p["y"] is not None]
        if block.get("named") and points:
            y = y_at(points[-1]["y"])
            while any(abs(y - other) < 13 for other in taken):
                y += 1
            taken.append(y)
            words = shortened(series["label"], 16)
            parts.append(text(words, x_at(1) + 10, y + 4, cls=f"label c{i % COLOURS}"))
    return document(
        parts, width, height, name=block["title"], description=block["description"], cls="panel"
    )


def strip(spec: Mapping[str, Any]) -> Markup:
    """Draw a value (dot) with its interval (line) over its null (band of ± 2 sd)."""
    width, height, middle = 132.0, 18.0, 9.0
    low, high = spec["low"], spec["high"]

    def at(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return 4 + min(max(share, 0.0), 1.0) * (width - 8)

    parts = [tag("path", d=f"M4 {num(middle)}h{num(width - 8)}", cls="axis")]
    words = [f"value {number(spec['value'])}"]
    if low < 0 < high:
        parts.append(tag("path", d=f"M{num(at(0))} 2v14", cls="axis"))
    if spec["null_mean"] is not None:
        mean, sd = spec["null_mean"], spec["null_sd"] or 0.0
        start = at(mean - 2 * sd)
        reach = max(at(mean + 2 * sd) - start, 1.0)
        parts.append(tag("rect", x=start, y=3.0, width=reach, height=12.0, cls="null-band"))
        parts.append(tag("path", d=f"M{num(at(mean))} 1v16", cls="null-mark"))
        words.append(f"null {number(mean)}")
    if spec["low_end"] is not None and spec["high_end"] is not None:
        start, stop = at(spec["low_end"]), at(spec["high_end"])
        parts.append(tag("path", d=f"M{num(start)} {num(middle)}H{num(stop)}", cls="whisker"))
    if spec["value"] is not None:
        shape = "dot" if spec["tone"] in FILLED else "dot hollow"
        parts.append(tag("circle", cx=at(spec["value"]), cy=middle, r=4.0, cls=shape))
    return document(
        parts,
        width,
        height,
        name=", ".join(words),
        description=f"Axis from {number(low, 1)} to {number(high, 1)}.",
        cls="strip",
    )


def _series(series: Mapping[str, Any], i: int, x_at: Any, y_at: Any, floor: float) -> list[str]:
    hue = f"c{i % COLOURS}" + (" dashed" if i >= COLOURS else "")
    points = series["points"]
    parts = []
    banded = [p for p in points if p.get("null") is not None]
    if banded:
        upper = [f"{num(x_at(p['x']))} {num(y_at(p['null_high']))}" for p in banded]
        lower = [f"{num(x_at(p['x']))} {num(y_at(p['null_low']))}" for p in reversed(banded)]
        line = [f"{num(x_at(p['x']))} {num(y_at(p['null']))}" for p in banded]
        parts.append(tag("path", d="M" + "L".join([*upper, *lower]) + "z", cls="null-band"))
        parts.append(tag("path", d="M" + "L".join(line), cls="null-line"))
    for run in _unbroken(points):
        line = [f"{num(x_at(p['x']))} {num(y_at(p['y']))}" for p in run]
        parts.append(tag("path", d="M" + "L".join(line), cls=f"curve {hue}"))
    for p in points:
        x = x_at(p["x"])
        note = tag("title", Markup.escape(p["title"]))
        if p["y"] is None:
            d = f"M{num(x - 3.5)} {num(floor - 9)}l7 7m0 -7l-7 7"
            parts.append(tag("path", note, d=d, cls="no-value", data_record=p.get("record")))
            continue
        if p.get("low") is not None:
            d = f"M{num(x)} {num(y_at(p['low']))}V{num(y_at(p['high']))}"
            parts.append(tag("path", d=d, cls=f"whisker {hue}"))
        shape = f"dot {hue}" + ("" if p.get("tone", "above") in FILLED else " hollow")
        size = 2.8 if len(points) <= 40 else 2.0
        parts.append(
            tag(
                "circle",
                note,
                cx=x,
                cy=y_at(p["y"]),
                r=size,
                cls=shape,
                data_record=p.get("record"),
            )
        )
    return parts


def _unbroken(points: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    runs: list[list[Mapping[str, Any]]] = [[]]
    for p in points:
        if p["y"] is None:
            runs.append([])
        else:
            runs[-1].append(p)
    return [run for run in runs if len(run) > 1]


def ticks(low: float, high: float) -> tuple[list[float], int]:
    """Round numbers between two ends, three to seven of them, and the decimals that they need.

    Examples
    --------
    >>> ticks(0.0, 1.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], 1)
    >>> ticks(-0.5, 1.386)
    ([-0.5, 0.0, 0.5, 1.0], 1)
    """
    room = max(high - low, 1e-300)
    power = math.floor(math.log10(room)) - 1
    steps = [(m * 10.0**e, m, e) for e in range(power - 1, power + 3) for m in (1, 2, 2.5, 5)]
    step, mantissa, exponent = next(one for one in steps if room / one[0] <= 5.6)
    digits = max(0, -exponent + (mantissa == 2.5))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)], digits


def tick_text(value: float, digits: int) -> str:
    """Write one of ``ticks``.

    Examples
    --------
    >>> tick_text(-0.5, 2), tick_text(2e-7, 7)
    ('−0.50', '2.0e−07')
    """
    if not value:
        digits = min(digits, 3)
    return (f"{value:.1e}" if digits > 4 else f"{value:,.{digits}f}").replace("-", "−")
