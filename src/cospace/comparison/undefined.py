"""What counts as "no value here", and how it is said in one line."""

from __future__ import annotations

import math
from typing import Any

from cospace.errors import UndefinedMeasureError

__all__ = ["UNDEFINED", "number", "why"]

UNDEFINED = (ValueError, ArithmeticError)
"""What a measure raises where it has no value: our own errors are ValueErrors, and so is numpy's
of a decomposition that did not converge."""


def why(error: Exception) -> str:
    """Reason for a cell: the first line of the message, or the kind of the error."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else f"The measure raised {type(error).__name__}."


def number(value: Any) -> float:
    """``value`` as a finite float.

    Raises
    ------
    UndefinedMeasureError
        For anything else.
    """
    try:
        found = float(value)
    except TypeError:
        raise UndefinedMeasureError(
            f"The measure returned {type(value).__name__}; one number is expected."
        ) from None
    if not math.isfinite(found):
        raise UndefinedMeasureError(
            f"The measure came out as {found}: it has no value on these rows."
        )
    return found
