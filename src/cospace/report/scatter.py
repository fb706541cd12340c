"""A cloud of points: one number against another, as static SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from cospace.report.curve import tick_text, ticks
from cospace.report.svg import document, num, tag, text

__all__ = ["scatter"]

WIDTH, HEIGHT = 380.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 12.0, 26.0, 42.0
MANY = 150
"""Points beyond which they are drawn smaller."""


def scatter(block: Mapping[str, Any]) -> Markup:
    """Draw one panel of a scatter block (see README.md of this package)."""
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    (x_low, x_high), (y_low, y_high) = block["x_range"], block["y_range"]

    def x_at(value: float) -> float:
        return LEFT + _share(value, x_low, x_high) * across

    def y_at(value: float) -> float:
        return TOP + (1.0 - _share(value, y_low, y_high)) * down

    parts = [text(block["title"], LEFT, 14, cls="panel-title")]
    marks, digits = ticks(y_low, y_high)
    for value in marks:
        y = y_at(value)
        parts.append(tag("path", d=f"M{num(LEFT)} {num(y)}h{num(across)}", cls="axis"))
        parts.append(text(tick_text(value, digits), LEFT - 6, y + 4, text_anchor="end"))
    marks, digits = ticks(x_low, x_high)
    for value in marks:
        x = x_at(value)
        parts.append(tag("path", d=f"M{num(x)} {num(TOP)}v{num(down)}", cls="axis"))
        parts.append(text(tick_text(value, digits), x, TOP + down + 15, text_anchor="middle"))
    middle = TOP + down / 2
    turn = f"rotate(-90 12 {num(middle)})"
    parts.append(
        text(block["y_label"], 12, middle, text_anchor="middle", cls="quiet", transform=turn)
    )
    parts.append(
        text(block["x_label"], LEFT + across / 2, HEIGHT - 6, text_anchor="middle", cls="quiet")
    )
    size = 2.2 if len(block["points"]) > MANY else 3.4
    for point in block["points"]:
        parts.append(
            tag(
                "circle",
                tag("title", Markup.escape(point["title"])),
                cx=x_at(point["x"]),
                cy=y_at(point["y"]),
                r=size,
                cls="dot hollow" if point.get("hollow") else "dot",
                data_record=point.get("record"),
            )
        )
    return document(
        parts,
        WIDTH,
        HEIGHT,
        name=block["title"],
        description=block["description"],
        cls="panel scatter",
    )


def _share(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5
