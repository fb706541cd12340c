"""Texts of others on a terminal: control characters are shown, not obeyed."""

from __future__ import annotations

import unicodedata

__all__ = ["visible"]

_HIDDEN = ("Cc", "Zl", "Zp")


def visible(text: str) -> str:
    r"""Escape control characters and ends of lines, so that a text can neither move the cursor nor forge a line.

    Examples
    --------
    >>> print(visible("a\x1b[31mb\x07\tc\x9b"))
    a\x1b[31mb\x07\tc\x9b
    >>> visible("Grüße, 世界")
    'Grüße, 世界'
    """
    if text.isprintable():
        return text
    return "".join(
        sign.encode("unicode_escape").decode() if unicodedata.category(sign) in _HIDDEN else sign
        for sign in text
    )
