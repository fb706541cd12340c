"""``cospace study five-architectures``: many models in one space, from a study file to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cospace.cli.console import write
from cospace.cli.outputs import Json
from cospace.cli.study_run import Into, StoreFolder, of_models
from cospace.cli.tables import EMPTY, aligned, wrapped

if TYPE_CHECKING:
    from cospace.studies.five_architectures.result import FiveArchitectures

__all__ = ["five_architectures"]


def five_architectures(
    ctx: typer.Context,
    study: Annotated[Path, typer.Argument(metavar="STUDY.toml", help="Models, texts, layers.")],
    into: Into = None,
    store: StoreFolder = None,
    json: Json = False,
) -> None:
    """Whether models agree, what a shared space of them finds, and whether routing is worth it."""
    from cospace.studies.five_architectures.reading import read_models
    from cospace.studies.five_architectures.settings import FiveArchitecturesSettings
    from cospace.studies.five_architectures.study import run

    of_models(
        ctx,
        study,
        into,
        store,
        kind=FiveArchitecturesSettings,
        read=read_models,
        run=run,
        shown=print_five,
        json=json,
    )


def print_five(result: FiveArchitectures) -> None:
    """Print where the shared space wins, and what every part says."""
    from cospace.report.five_architectures import five_architectures_page
    from cospace.report.words import number, span

    write([*wrapped(f"{result.title}: {', '.join(result.models)}"), ""])
    rows = [["set", "pooling", "depth", "shared", "pairwise", "ahead, 95 %", "", "words", "chance"]]
    for cell in result.sweep.cells:
        rows.append(
            [
                cell.set,
                cell.pooling,
                f"{cell.depth:g}",
                number(cell.value),
                EMPTY if cell.pairwise_value is None else number(cell.pairwise_value),
                EMPTY if cell.ahead_low is None else span(cell.ahead_low, cell.ahead_high),
                cell.verdict or EMPTY,
                EMPTY if cell.words is None else number(cell.words),
                number(cell.chance),
            ]
        )
    write([*aligned(rows, right=(2, 3, 4, 5, 7, 8)), ""])
    page = five_architectures_page(result)
    write(wrapped(page["headline"], indent="  ", first="- "))
    for finding in page["findings"]:
        write(wrapped(finding["text"], indent="  ", first="- "))
    write(
        [
            "",
            *wrapped(
                "Top-1 of held-out texts over all ordered pairs of models. pairwise: maps between two models, the best "
                "on inner folds; ahead: shared less pairwise, paired over texts. Settings of every method are "
                "chosen on rows of the fit."
            ),
        ]
    )
    for warning in page["warnings"]:
        write(wrapped(warning, indent="  ", first="! "))
