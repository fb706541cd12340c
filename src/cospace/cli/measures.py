"""``cospace measures``: the catalogue with its claims."""

from __future__ import annotations

import json as _json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding

from cospace.comparison import facts_of
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
    console = Console(highlight=False)
    for m in CATALOGUE:
        low, high = ("…" if b is None else f"{b:.4g}" for b in m.bounds)
        console.print(f"{m.name}{' *' if m.name in DEFAULT else ''}", style="bold", markup=False)
        for line in (
            m.summary,
            f"{m.kind} from {low} to {high}, {m.identical:g} for identical spaces, "
            f"{'symmetric' if m.symmetric else 'source -> target'}, "
            f"{'held out' if m.held_out else 'in-sample'}",
            f"unchanged by {', '.join(sorted(m.invariant_to))}",
            f"cost {m.cost}; {m.reference}",
        ):
            console.print(Padding(line, (0, 0, 0, 4)), markup=False)
    console.print("\n* run when no measure is named")
