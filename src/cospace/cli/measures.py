"""``cospace measures``: the catalogue with its claims."""

from __future__ import annotations

import json as _json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from cospace.compare import facts_of
from cospace.measures import CATALOGUE, DEFAULT
from cospace.result import plain

__all__ = ["measures"]


def measures(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the measures: what they mean, their range, and what changes nothing."""
    if json:
        sys.stdout.write(_json.dumps([plain(facts_of(m)) for m in CATALOGUE]) + "\n")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0))
    for heading in ("name", "kind", "range", "same", "symmetric", "unchanged by", "meaning"):
        table.add_column(heading)
    for m in CATALOGUE:
        low, high = ("…" if b is None else f"{b:.4g}" for b in m.bounds)
        table.add_row(
            f"{m.name}{' *' if m.name in DEFAULT else ''}",
            m.kind,
            f"{low} to {high}",
            f"{m.identical:g}",
            "yes" if m.symmetric else "no",
            ", ".join(sorted(m.invariant_to)),
            f"{m.summary} [{m.reference}]",
        )
    console = Console(highlight=False)
    console.print(table, markup=False)
    console.print("* run when no measure is named")
