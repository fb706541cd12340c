"""``cospace report``: the report of a saved result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cospace.cli.console import check_writable, say

if TYPE_CHECKING:
    from cospace.result import Result

__all__ = ["report"]


def report(
    result: Annotated[Path, typer.Argument(metavar="RESULT.json", help="What --save wrote.")],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.")
    ],
) -> None:
    """Write the report of a saved result."""
    page = check_writable(out, [result])
    saved = _load(result)
    from cospace.report import write_report

    say(f"report: {write_report(saved, page)}")


def _load(path: Path) -> Result:
    import json

    from cospace.errors import InputError
    from cospace.report.kinds import KINDS, result_class

    try:
        kind = json.loads(path.read_text(encoding="utf-8")).get("kind")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, AttributeError, RecursionError):
        kind = None
    if kind not in KINDS:
        raise InputError(
            f"{path} is not a saved result ({' or '.join(KINDS)}): give a file that --save wrote."
        )
    return result_class(kind).load(path)
