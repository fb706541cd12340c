"""``cospace measures``: the catalogue with its claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from cospace.cli.console import print_json, write
from cospace.cli.tables import wrapped
from cospace.errors import InputError

if TYPE_CHECKING:
    from cospace.measures import Description, Measure

__all__ = ["measures"]


def measures(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print as tables in Markdown.")
    ] = False,
) -> None:
    """List the measures: what they mean, their range, and what changes nothing."""
    from cospace.comparison import facts_of
    from cospace.measures import CATALOGUE, DEFAULT, DESCRIPTIONS
    from cospace.measures.inside import INSIDE_GROUPS
    from cospace.result import plain

    if json and markdown:
        raise InputError("--json and --markdown are two forms of one list: name one.")
    if json:
        print_json([plain(facts_of(m)) for m in CATALOGUE])
        return
    if markdown:
        write(list(_page(CATALOGUE, DESCRIPTIONS)))
        return
    for m in CATALOGUE:
        write([f"{m.name}{' *' if m.name in DEFAULT else ''}"])
        for line in (
            m.summary,
            f"{m.kind} {_range(m)}, {_same(m)} for identical spaces, "
            f"{'symmetric' if m.symmetric else 'source -> target'}, "
            f"{'held out' if m.held_out else 'in-sample'}",
            f"unchanged by {', '.join(sorted(m.invariant_to))}",
            f"cost {m.cost}; {m.reference}",
        ):
            write(wrapped(line, indent="    "))
    write(["", "* run when no measure is named"])
    write(wrapped(f"Of texts with groups there are also {' and '.join(INSIDE_GROUPS)}."))
    write(wrapped("RSA beyond length, words or groups of the texts: compare --beyond."))


def _range(m: Measure | Description) -> str:
    low, high = ("…" if b is None else f"{b:.4g}" for b in m.bounds)
    return f"from {low} to {high}"


def _page(catalogue: tuple[Measure, ...], descriptions: tuple[Description, ...]) -> Iterator[str]:
    yield from (
        "# Measures",
        "",
        "Made by `cospace measures --markdown` from the claims of the catalogue, all of which are tested, in both "
        "senses: what is said to change nothing does not, and everything else does.",
        "",
        "*Alike* is the end of the range that means alike, and the value of a space against itself. *Kept*: what is "
        "computed once a space. *Null*: `closed form` has its mean and spread over all permutations exactly "
        "computed, and without shuffles p from them where no single rows rule it; `shuffles` are drawn; "
        "`on request` needs a fit or a decomposition for every shuffle "
        "(`--permute-fits`). *Arrays*: `any` runs on the arrays of other libraries, such as torch, where they are.",
        "",
    )
    yield from _table(
        "name|what it says|kind, range|alike|direction|unchanged by|kept|cost|null|rows|arrays|source",
        (
            (
                f"`{m.name}`",
                m.summary,
                f"{m.kind} {_range(m)}",
                f"{'high' if m.kind == 'similarity' else 'low'}, {_same(m)}",
                "symmetric" if m.symmetric else "source → target",
                ", ".join(sorted(m.invariant_to)),
                m.needs,
                m.cost,
                _null(m),
                "held out" if m.held_out else "in-sample",
                m.arrays,
                m.reference,
            )
            for m in catalogue
        ),
    )
    yield from ("", "## Of one space", "")
    yield from _table(
        "name|what it says|range|unchanged by|cost|source",
        (
            (
                f"`{d.name}`",
                d.summary,
                _range(d),
                ", ".join(sorted(d.invariant_to)),
                d.cost,
                d.reference,
            )
            for d in descriptions
        ),
    )


def _same(m: Measure) -> str:
    return "no fixed value" if m.identical is None else f"{m.identical:g}"


def _null(m: Measure) -> str:
    import numpy as np

    if m.decomposes:
        return "on request"
    rows = np.random.default_rng(0).standard_normal((24, 4))
    related = None if m.relation is None else m.relation(rows)
    return "shuffles" if related is None or related.form == "square" else "closed form"


def _table(head: str, lines: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {head.replace('|', ' | ')} |"
    yield "|---" * (head.count("|") + 1) + "|"
    for line in lines:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |"
