"""What commands of studies share: where results and steps go, and what an interruption leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from cospace.cli.console import check_writable, command_line, progress_bar, say
from cospace.cli.outputs import give
from cospace.errors import InputError

__all__ = ["Into", "StoreFolder", "of_models", "outputs", "reading", "resuming"]

Into = Annotated[
    Path | None,
    typer.Option(
        "--into",
        metavar="FOLDER",
        help="For results and steps done; by default beside the file, named after it.",
        show_default=False,
    ),
]
StoreFolder = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="FOLDER",
        help="Where activations are kept; by default in the user's cache.",
        show_default=False,
    ),
]


def outputs(study: Path, into: Path | None) -> tuple[Path, Path, Path]:
    """Folder of a study, its result and its report; refused before anything is computed.

    Raises
    ------
    InputError
        For a folder or a file that cannot be made.
    """
    folder = into if into is not None else study.with_suffix("")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be made: {error.strerror}. Name another folder."
        ) from None
    saved = check_writable(folder / "study.json", [study])
    return folder, saved, check_writable(folder / "report.html", [study])


@contextmanager
def reading(store: Path | None) -> Iterator[Path]:
    """Folder of activations; say what is kept there when reading models is interrupted."""
    from cospace.models.cache import cache_folder

    folder = store if store is not None else cache_folder() / "activations"
    try:
        yield folder
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped while reading models: activations that are done are kept in {folder}, the same command goes on "
            "from them."
        ) from None


@contextmanager
def resuming(folder: Path) -> Iterator[Callable[[str, int, int], None]]:
    """Show progress, and say where the steps are kept, now and when interrupted."""
    say(f"results and steps done go to {folder}: an interrupted study goes on from there")
    try:
        with progress_bar() as progress:
            yield progress
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped: what is done is kept in {folder}, the same command goes on from it."
        ) from None


def of_models(
    ctx: typer.Context,
    study: Path,
    into: Path | None,
    store: Path | None,
    *,
    kind: type[Any],
    read: Callable[..., Any],
    run: Callable[..., Any],
    shown: Callable[[Any], None],
    json: bool,
) -> None:
    """Run a study that first reads its models into a folder of activations.

    Parameters
    ----------
    ctx
        Of the command.
    study, into, store
        The study file, and folders that were named.
    kind
        Settings of the study.
    read
        From settings to what it computes from.
    run
        From these to its result.
    shown
        Prints the result.
    json
        Whether it is printed as JSON instead.
    """
    from cospace.studies.settings import read_settings

    settings = read_settings(study, kind)
    folder, saved, page = outputs(study, into)
    with reading(store) as kept:
        made = read(settings, base=study.parent, store=kept)
    with resuming(folder) as progress:
        result = run(made, settings, into=folder, progress=progress)
    give(result.with_provenance(command=command_line(ctx)), saved, page, shown, json=json)
