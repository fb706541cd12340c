"""``cospace measures``: the catalogue with its claims."""

from __future__ import annotations

from typing import Annotated

import typer

from cospace.cli.console import print_json, write
from cospace.cli.tables import wrapped

__all__ = ["measures"]


def measures(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the measures: what they mean, their range, and what changes nothing."""
    from cospace.comparison import facts_of
    from cospace.measures import CATALOGUE, DEFAULT
    from cospace.result import plain

    if json:
        print_json([plain(facts_of(m)) for m in CATALOGUE])
        return
    for m in CATALOGUE:
        low, high = ("…" if b is None else f"{b:.4g}" for b in m.bounds)
        write([f"{m.name}{' *' if m.name in DEFAULT else ''}"])
        for line in (
            m.summary,
            f"{m.kind} from {low} to {high}, {m.identical:g} for identical spaces, "
            f"{'symmetric' if m.symmetric else 'source -> target'}, "
            f"{'held out' if m.held_out else 'in-sample'}",
            f"unchanged by {', '.join(sorted(m.invariant_to))}",
            f"cost {m.cost}; {m.reference}",
        ):
            write(wrapped(line, indent="    "))
    write(["", "* run when no measure is named"])
