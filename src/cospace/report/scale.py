"""Colour scales: fixed by the bounds of a measure, dark blue always the more alike end.

Both ramps are monotone in lightness on each side and safe for the common kinds of colour blindness.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "LEVELS",
    "colour",
    "difference_scale",
    "effect_scale",
    "level",
    "measure_scale",
    "p_scale",
    "palette",
]

LEVELS = 41
_SEQUENTIAL = ("#f3f3d6", "#cfe6bd", "#8fd0ba", "#4cb0bf", "#2f85b4", "#29599c", "#1c2b66")
_DIVERGING = ("#6e3406", "#b96b22", "#e6b877", "#f5f2ea", "#a5cbdf", "#4189b8", "#1a3470")
_CLASSES = ("#1c2b66", "#2f85b4", "#a5d5c4", "#f3f3d6")
_P_EDGES = (0.01, 0.05, 0.2)


def measure_scale(
    kind: str, bounds: Sequence[float | None], values: Iterable[float]
) -> dict[str, Any]:
    """Scale of a measure: its bounds where it has them, else the values shown.

    A measure that can fall below 0 gets a diverging scale around 0. Where only one side is
    bounded the scale ends at the mirror of that bound and what lies beyond has the end colour.
    """
    low, high = bounds
    shown = list(values)
    open_low, open_high = low is None, high is None
    if high is None:
        high = max([*shown, 0.0]) or 1.0
    if low is None:
        low = -abs(high)
    if high <= low:
        high = low + 1.0
    kept = low < 0
    if kept:
        low, high = min(low, -high), max(high, -low)
    return {
        "type": "diverging" if kept else "sequential",
        "low": low,
        "high": high,
        "reverse": kind != "similarity",
        "open_low": open_low and any(v < low for v in shown),
        "open_high": open_high and any(v > high for v in shown),
        "data_high": open_high,
    }


def difference_scale(scale: Mapping[str, Any]) -> dict[str, Any]:
    """Scale of value minus null mean on a measure of scale ``scale``."""
    reach = scale["high"] if scale["type"] == "diverging" else scale["high"] - scale["low"]
    return {**scale, "type": "diverging", "low": -reach, "high": reach, "data_high": False}


def effect_scale() -> dict[str, Any]:
    """Scale of the effect: 0 by chance, 1 for identical spaces, of every measure."""
    return {
        "type": "diverging",
        "low": -1.0,
        "high": 1.0,
        "reverse": False,
        "open_low": True,
        "open_high": False,
        "data_high": False,
    }


def p_scale() -> dict[str, Any]:
    """Four classes of p-values."""
    return {
        "type": "classes",
        "edges": list(_P_EDGES),
        "labels": ["p ≤ 0.01", "p ≤ 0.05", "p ≤ 0.2", "p > 0.2"],
        "reverse": False,
    }


def level(value: float, scale: Mapping[str, Any]) -> int:
    """Index into ``palette(scale)``.

    Examples
    --------
    >>> level(1.0, measure_scale("similarity", (0.0, 1.0), []))
    40
    >>> level(1.0, measure_scale("distance", (0.0, 1.0), []))
    0
    """
    if scale["type"] == "classes":
        return sum(1 for edge in scale["edges"] if value > edge)
    share = float((value - scale["low"]) / (scale["high"] - scale["low"]))
    step = round(min(max(share, 0.0), 1.0) * (LEVELS - 1))
    return LEVELS - 1 - step if scale["reverse"] else step


def palette(scale: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the colours of a scale, least alike first."""
    if scale["type"] == "classes":
        return _CLASSES
    return _RAMPS[scale["type"]]


def colour(value: float, scale: Mapping[str, Any]) -> str:
    """Colour of one value."""
    return palette(scale)[level(value, scale)]


def is_dark(hex_colour: str) -> bool:
    """Whether white text reads better than black on this colour."""
    r, g, b = _rgb(hex_colour)
    return 0.299 * r + 0.587 * g + 0.114 * b < 140


def _rgb(text: str) -> tuple[int, int, int]:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _ramp(stops: Sequence[str]) -> tuple[str, ...]:
    colours = []
    for i in range(LEVELS):
        place = i / (LEVELS - 1) * (len(stops) - 1)
        k = min(int(place), len(stops) - 2)
        a, b = _rgb(stops[k]), _rgb(stops[k + 1])
        mixed = [round(p + (q - p) * (place - k)) for p, q in zip(a, b, strict=True)]
        colours.append("#{:02x}{:02x}{:02x}".format(*mixed))
    return tuple(colours)


_RAMPS = {"sequential": _ramp(_SEQUENTIAL), "diverging": _ramp(_DIVERGING)}
