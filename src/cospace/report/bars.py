"""A histogram as static SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from cospace.report.curve import tick_text, ticks
from cospace.report.svg import document, num, tag, text

__all__ = ["bars"]

WIDTH, HEIGHT = 380.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 40.0, 38.0


def bars(block: Mapping[str, Any]) -> Markup:
    """Draw one panel of a bars block (see README.md of this package).

    The axis ends at the highest bar; what is set aside of a bin is drawn behind, cut where it does
    not fit, and written above.
    """
    edges, counts = block["edges"], block["counts"]
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    top = 1.1 * max(*counts, 1)
    low, high = edges[0], edges[-1]

    def x_at(value: float) -> float:
        return float(LEFT + (value - low) / (high - low) * across)

    def height(value: float) -> float:
        return float(min(value / top, 1.0) * down)

    parts = [text(block["title"], LEFT, 14, cls="panel-title")]
    marks, digits = ticks(0.0, top)
    for value in marks:
        y = TOP + down - height(value)
        parts.append(tag("path", d=f"M{num(LEFT)} {num(y)}h{num(across)}", cls="axis"))
        parts.append(text(tick_text(value, digits), LEFT - 6, y + 4, text_anchor="end"))
    marks, digits = ticks(low, high)
    for value in marks:
        parts.append(
            text(tick_text(value, digits), x_at(value), TOP + down + 15, text_anchor="middle")
        )
    parts.append(
        text(block["x_label"], LEFT + across / 2, HEIGHT - 5, text_anchor="middle", cls="quiet")
    )
    aside = block.get("aside")
    if aside:
        at = aside["bin"]
        tall = height(aside["count"] + counts[at])
        parts.append(_bar(x_at(edges[at]), x_at(edges[at + 1]), tall, aside["words"], "rest"))
        anchor = "end" if x_at(edges[at]) > LEFT + across / 2 else "start"
        parts.append(
            text(aside["words"], x_at(edges[at]), TOP - 6, text_anchor=anchor, cls="quiet")
        )
    for at, count in enumerate(counts):
        if count:
            ends = f"{tick_text(edges[at], 2)} to {tick_text(edges[at + 1], 2)}: {count:,}"
            parts.append(_bar(x_at(edges[at]), x_at(edges[at + 1]), height(count), ends, ""))
    return document(
        parts, WIDTH, HEIGHT, name=block["title"], description=block["description"], cls="panel"
    )


def _bar(start: float, stop: float, tall: float, title: str, kind: str) -> str:
    return tag(
        "rect",
        tag("title", Markup.escape(title)),
        x=start + 0.5,
        y=HEIGHT - BOTTOM - tall,
        width=max(stop - start - 1.0, 1.0),
        height=tall,
        cls=f"column {kind}".strip(),
    )
