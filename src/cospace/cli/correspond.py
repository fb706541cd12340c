"""``cospace correspond``: do the models of a store agree on who is near whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cospace.cli.console import check_writable, command_line, progress_bar, write
from cospace.cli.inputs import split
from cospace.cli.outputs import Json, Report, Save, give
from cospace.cli.space_numbers import depths_of
from cospace.cli.tables import EMPTY, aligned, wrapped

if TYPE_CHECKING:
    from cospace.correspondence import Correspondence

__all__ = ["correspond"]


def correspond(
    ctx: typer.Context,
    store: Annotated[
        Path,
        typer.Argument(metavar="STORE", help="What 'cospace extract' wrote.", show_default=False),
    ],
    replica: Annotated[
        Path | None,
        typer.Option(
            metavar="STORE",
            help="The same models on other texts: repeat there what the first texts chose.",
            show_default=False,
        ),
    ] = None,
    depths: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Relative depths, by commas.")
    ] = "0,0.25,0.5,0.75,1",
    pooling: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="By semicolons, such as 'mean; mean, no sink'; by default all that every model has.",
            show_default=False,
        ),
    ] = None,
    measures: Annotated[
        str, typer.Option(metavar="NAMES", help="By commas, out of 'cospace measures'.")
    ] = "rsa_spearman,debiased_cka,mutual_knn,nearest_match",
    scale: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="Of every space: none, unit, standardize, drop:k or whiten:a."
        ),
    ] = "none",
    permutations: Annotated[
        int, typer.Option(metavar="N", min=1, max=1_000_000, help="Shuffles of rows.")
    ] = 999,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the shuffles.")] = 0,
    report: Report = None,
    save: Save = None,
    json: Json = False,
) -> None:
    """Compare all models of a store with each other at every depth and pooling."""
    from cospace import correspondence as rooms
    from cospace.store import open_store

    saved, page = check_writable(save, [store]), check_writable(report, [store])
    wanted = depths_of(depths)
    names = (
        None if pooling is None else [word.strip() for word in pooling.split(";") if word.strip()]
    )
    grid = rooms.read_grid(open_store(store), wanted, names, scale=scale)
    again = None
    if replica is not None:
        again = rooms.read_grid(open_store(replica), wanted, names, scale=scale)
    with progress_bar() as progress:
        result = rooms.correspond(
            grid,
            measures=split(measures),
            permutations=permutations,
            replica=again,
            rng=seed,
            progress=progress,
        ).with_provenance(command=command_line(ctx))
    give(result, saved, page, print_correspondence, json=json)


def print_correspondence(result: Correspondence) -> None:
    """Print means over the pairs of models, and what the second texts gave."""
    from cospace.report.correspondence import findings, title_of
    from cospace.report.words import count, number, p_text

    pairs = len({(one.source, one.target) for one in result.agreements})
    first = result.texts["first"]
    write(
        [
            *wrapped(
                f"{len(result.models)} models ({', '.join(result.models)}), {count(pairs, 'pair')}, "
                f"{first['rows']:,} texts"
            ),
            "",
        ]
    )
    for measure in result.settings["measures"]:
        rows = [["pooling", "depth", "mean", "weakest", "chance", "x chance", "told from chance"]]
        for one in result.profiles:
            if one.measure != measure:
                continue
            ratio = EMPTY
            if any(a.measure == measure and a.ratio is not None for a in result.agreements):
                ratio = number(one.value / one.chance, 1) if one.chance else EMPTY
            rows.append(
                [
                    one.pooling,
                    f"{one.depth:g}",
                    number(one.value),
                    number(one.weakest),
                    number(one.chance) if one.chance is not None else EMPTY,
                    ratio,
                    f"{one.clear} of {one.pairs}",
                ]
            )
        write([title_of(measure), *aligned(rows, right=range(1, 7)), ""])
    if result.replications:
        rows = [["on other texts", "at", "pair", "first", "again", "p (Holm)"]]
        for again in result.replications:
            rows.append(
                [
                    again.measure,
                    f"{again.pooling}, {again.depth:g}",
                    f"{again.source}, {again.target}",
                    number(again.first),
                    number(again.value),
                    p_text(again.p_holm),
                ]
            )
        write([*aligned(rows, right=(3, 4, 5)), ""])
    for finding in findings(result):
        write(wrapped(finding["text"], indent="  ", first="- "))
    write(
        [
            "",
            *wrapped(
                "Told from chance: pairs of models whose p is at most 0.05 after correction over depths (maximum "
                f"statistic), pairs of models and poolings (x {result.settings['families']})."
            ),
        ]
    )
    for warning in result.warnings:
        write(wrapped(warning, indent="  ", first="! "))
