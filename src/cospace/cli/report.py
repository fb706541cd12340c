"""``cospace report``: the report of a saved result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cospace.cli.console import check_writable, say
from cospace.comparison import Comparison
from cospace.errors import InputError
from cospace.result import Result

__all__ = ["report"]


def report(
    result: Annotated[Path, typer.Argument(metavar="RESULT.json", help="What --save wrote.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")],
) -> None:
    """Write the report of a saved result."""
    from cospace.report import write_report

    check_writable(out)
    say(f"report: {write_report(_load(result), out)}")


def _load(path: Path) -> Result:
    from cospace.drift import Drift

    try:
        kind = json.loads(path.read_text(encoding="utf-8")).get("kind")
    except (OSError, ValueError, AttributeError):
        kind = None
    known: dict[str, type[Result]] = {r.kind: r for r in (Comparison, Drift)}
    if path.exists() and kind not in known:
        raise InputError(
            f"{path} is not a saved result ({' or '.join(known)}): give a file that --save wrote."
        )
    return known.get(str(kind), Comparison).load(path)
