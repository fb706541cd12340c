"""``cospace study``: a paper's whole protocol on the models of a study file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cospace.cli.console import check_writable, command_line, print_json, progress_bar, say
from cospace.errors import InputError

__all__ = ["affine_homotopy"]


def affine_homotopy(
    ctx: typer.Context,
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Encoders, texts, tasks, depths.")
    ],
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            metavar="FOLDER",
            help="For results and steps done; by default beside the file, named after it.",
            show_default=False,
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            "--store",
            metavar="FOLDER",
            help="Where activations are kept; by default in the user's cache.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """How alike encoders are up to an affine map, and whether that says what probes will do."""
    from cospace.studies.affine_homotopy.reading import read_encoders
    from cospace.studies.affine_homotopy.settings import AffineHomotopySettings
    from cospace.studies.affine_homotopy.study import run
    from cospace.studies.settings import read_settings

    settings = read_settings(study, AffineHomotopySettings)
    folder = into if into is not None else study.with_suffix("")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made: {error.strerror}. Name another folder."
        ) from None
    saved = check_writable(folder / "study.json", [study])
    page = check_writable(folder / "report.html", [study])
    read = read_encoders(settings, base=study.parent, store=store)
    say(f"results and steps done go to {folder}: an interrupted study goes on from there")
    try:
        with progress_bar() as progress:
            result = run(read, settings, into=folder, progress=progress)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped: what is done is kept in {folder}, the same command goes on from it."
        ) from None
    result = result.with_provenance(command=command_line(ctx))
    result.save(saved)
    from cospace.report import write_report

    write_report(result, page)
    if json:
        print_json(result)
    else:
        from cospace.cli.study_tables import print_study

        print_study(result)
    say(f"saved: {saved}")
    say(f"report: {page}")
