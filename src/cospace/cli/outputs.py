"""Where a result goes: a file, a report, standard output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from cospace.cli.console import print_json, say
from cospace.result import Result

__all__ = ["Json", "Report", "Save", "give"]

Report = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE", help="Write an HTML report.", show_default=False),
]
Save = Annotated[
    str | None,
    typer.Option("--save", metavar="FILE", help="Save the result as JSON.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

_Any = TypeVar("_Any", bound=Result)


def give(
    result: _Any,
    saved: Path | None,
    page: Path | None,
    shown: Callable[[_Any], None],
    *,
    json: bool,
) -> None:
    """Save a result and write its report where files are named, and print it: in words, or as JSON."""
    if saved is not None:
        result.save(saved)
    if page is not None:
        from cospace.report import write_report

        write_report(result, page)
    if json:
        print_json(result)
    else:
        shown(result)
    for path, what in ((saved, "saved"), (page, "report")):
        if path is not None:
            say(f"{what}: {path}")
