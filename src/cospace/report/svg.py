"""Small pieces of SVG; every text passes through ``text`` or ``title`` and is escaped there."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

__all__ = ["attributes", "document", "num", "tag", "text"]


def num(value: float) -> str:
    """Write a coordinate with at most two decimals."""
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def attributes(items: dict[str, object]) -> str:
    """Write attributes; underscores become hyphens, ``cls`` becomes ``class``."""
    parts = []
    for key, value in items.items():
        if value is None:
            continue
        name = "class" if key == "cls" else key.replace("_", "-")
        shown = num(value) if isinstance(value, float) else value
        parts.append(f' {name}="{escape(str(shown))}"')
    return "".join(parts)


def tag(name: str, body: str = "", **items: object) -> str:
    """Write one element; ``body`` is markup already."""
    if body:
        return f"<{name}{attributes(items)}>{body}</{name}>"
    return f"<{name}{attributes(items)}/>"


def text(content: str, x: float, y: float, **items: object) -> str:
    """Write one line of text."""
    return f"<text{attributes({'x': float(x), 'y': float(y), **items})}>{escape(content)}</text>"


def document(
    parts: Iterable[str],
    width: float,
    height: float,
    *,
    name: str,
    description: str,
    **items: object,
) -> Markup:
    """Write a figure with its text alternative."""
    head = f"<desc>{escape(description)}</desc>"
    box = f"0 0 {num(width)} {num(height)}"
    given = attributes(
        {"viewBox": box, "role": "img", "aria_label": f"{name}. {description}", **items}
    )
    return Markup(f"<svg{given}>{head}{''.join(parts)}</svg>")
