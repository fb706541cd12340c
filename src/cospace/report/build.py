"""From a result to a page: a plain dictionary with every text, number and figure of the report."""

from __future__ import annotations

from typing import Any

from cospace.errors import InputError
from cospace.report.kinds import KINDS, page_of
from cospace.result import Result

__all__ = ["build"]


def build(result: Result) -> dict[str, Any]:
    """Reduce a result to a page: a title, findings, warnings, sections of blocks, and the data.

    The dictionary holds plain values only; README.md of this package lists its keys.

    Raises
    ------
    InputError
        For a result that has no report.
    """
    kind = str(getattr(result, "kind", None))
    if kind not in KINDS or not isinstance(result, Result):
        raise InputError(
            f"A report shows {', '.join(KINDS)}; got {type(result).__name__}. "
            "Pass what cospace.compare, cospace.measure_drift or a study returns."
        )
    return page_of(kind)(result)
