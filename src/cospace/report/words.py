"""Numbers and lists as a reader meets them in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["brief", "count", "joined", "number", "p_text", "plus_minus", "shortened", "span"]

EMPTY = "–"


def number(value: float | None, digits: int = 3) -> str:
    """Write a value with ``digits`` decimals; large ones with four figures, none as a dash.

    Examples
    --------
    >>> number(0.7126), number(-0.0001), number(-0.25, 2), number(12345.678), number(None)
    ('0.713', '0.000', '−0.25', '12,346', '–')
    """
    if value is None:
        return EMPTY
    size = abs(value)
    if size >= 1e6:
        text = f"{value:.3g}"
    elif size >= 1000:
        text = f"{value:,.0f}"
    elif size >= 10:
        text = f"{value:.{max(digits - 1, 1)}f}"
    else:
        text = f"{value:.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", "−") if "e" not in text else text


def brief(value: float) -> str:
    """Write the end of an axis: two decimals at most, no needless zeros.

    Examples
    --------
    >>> brief(1.0), brief(-0.5), brief(0.816)
    ('1', '−0.5', '0.82')
    """
    text = number(value, 2)
    return (text.rstrip("0").rstrip(".") or "0") if "." in text else text


def p_text(p: float | None) -> str:
    """Write a p-value: three decimals, or one figure where they would say zero.

    Examples
    --------
    >>> p_text(0.005), p_text(0.0002), p_text(None)
    ('0.005', '0.0002', '–')
    """
    if p is None:
        return EMPTY
    return f"{p:.3f}" if p >= 0.0005 else f"{p:.1g}"


def plus_minus(mean: float | None, sd: float | None, digits: int = 3) -> str:
    """Write a mean with its standard deviation, where there is one."""
    if mean is None or sd is None:
        return number(mean, digits)
    return f"{number(mean, digits)} ± {number(sd, digits)}"


def span(low: float | None, high: float | None, digits: int = 3) -> str:
    """Write an interval; a dash where it is not defined."""
    if low is None or high is None:
        return EMPTY
    return f"{number(low, digits)} to {number(high, digits)}"


def joined(items: Sequence[str], last: str = "and") -> str:
    """Write a list as a sentence has it.

    Examples
    --------
    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def count(n: int, one: str, many: str | None = None) -> str:
    """Write a number of things.

    Examples
    --------
    >>> count(1, "model"), count(2652, "pair")
    ('1 model', '2,652 pairs')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def shortened(text: str, most: int) -> str:
    """Cut a label to ``most`` characters, the cut being visible.

    Examples
    --------
    >>> shortened("sentence-encoder", 9)
    'sentence…'
    """
    return text if len(text) <= most else text[: max(most - 1, 1)] + "…"
