"""``cospace study``: a paper's whole protocol on the models of a study file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from cospace.cli.console import check_writable, command_line, print_json, progress_bar, say
from cospace.errors import InputError
from cospace.result import Result

__all__ = ["affine_homotopy", "keep", "outputs", "shared_geometry"]

_Study = TypeVar("_Study", bound=Result)


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
    folder, saved, page = outputs(study, into)
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
    from cospace.cli.study_tables import print_study

    keep(result, saved, page, None if json else print_study)


def shared_geometry(
    ctx: typer.Context,
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Models, tokens, behaviours, layers.")
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
    neighbors: Annotated[
        Path | None,
        typer.Option(
            "--neighbors",
            metavar="FOLDER",
            help="Where neighbours are kept; by default in the user's cache.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """What the token embeddings of models share, and whether steering vectors move between them."""
    from cospace.models.cache import cache_folder
    from cospace.studies.settings import read_settings
    from cospace.studies.shared_geometry.settings import SharedGeometrySettings
    from cospace.studies.shared_geometry.study import run

    settings = read_settings(study, SharedGeometrySettings)
    folder, saved, page = outputs(study, into)
    say(f"results and steps done go to {folder}: an interrupted study goes on from there")
    try:
        with progress_bar() as progress:
            result = run(
                settings,
                base=study.parent,
                into=folder,
                neighbors=neighbors if neighbors is not None else cache_folder() / "neighbors",
                progress=progress,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped: what is done is kept in {folder}, the same command goes on from it."
        ) from None
    result = result.with_provenance(command=command_line(ctx))
    from cospace.cli.geometry_tables import print_geometry_study

    keep(result, saved, page, None if json else print_geometry_study)


def outputs(study: Path, into: Path | None) -> tuple[Path, Path, Path]:
    """Folder of a study, its result and its report; refused before anything is computed."""
    folder = into if into is not None else study.with_suffix("")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made: {error.strerror}. Name another folder."
        ) from None
    saved = check_writable(folder / "study.json", [study])
    return folder, saved, check_writable(folder / "report.html", [study])


def keep(result: _Study, saved: Path, page: Path, shown: Callable[[_Study], None] | None) -> None:
    """Save a study, write its report, and print it: in words, or as JSON."""
    from cospace.report import write_report

    result.save(saved)
    write_report(result, page)
    if shown is None:
        print_json(result)
    else:
        shown(result)
    say(f"saved: {saved}")
    say(f"report: {page}")
