"""``cospace study affine-homotopy`` and ``shared-geometry``: a paper's protocol on the models of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cospace.cli.console import command_line
from cospace.cli.outputs import Json, give
from cospace.cli.study_run import Into, StoreFolder, of_models, outputs, resuming

__all__ = ["affine_homotopy", "shared_geometry"]


def affine_homotopy(
    ctx: typer.Context,
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Encoders, texts, tasks, depths.")
    ],
    into: Into = None,
    store: StoreFolder = None,
    json: Json = False,
) -> None:
    """How alike encoders are up to an affine map, and whether that says what probes will do."""
    from cospace.cli.study_tables import print_study
    from cospace.studies.affine_homotopy.reading import read_encoders
    from cospace.studies.affine_homotopy.settings import AffineHomotopySettings
    from cospace.studies.affine_homotopy.study import run

    of_models(
        ctx,
        study,
        into,
        store,
        kind=AffineHomotopySettings,
        read=read_encoders,
        run=run,
        shown=print_study,
        json=json,
    )


def shared_geometry(
    ctx: typer.Context,
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Models, tokens, behaviours, layers.")
    ],
    into: Into = None,
    neighbors: Annotated[
        Path | None,
        typer.Option(
            "--neighbors",
            metavar="FOLDER",
            help="Where neighbours are kept; by default in the user's cache.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """What the token embeddings of models share, and whether steering vectors move between them."""
    from cospace.cli.geometry_tables import print_geometry_study
    from cospace.models.cache import cache_folder
    from cospace.studies.settings import read_settings
    from cospace.studies.shared_geometry.settings import SharedGeometrySettings
    from cospace.studies.shared_geometry.study import run

    settings = read_settings(study, SharedGeometrySettings)
    folder, saved, page = outputs(study, into)
    with resuming(folder) as progress:
        result = run(
            settings,
            base=study.parent,
            into=folder,
            neighbors=neighbors if neighbors is not None else cache_folder() / "neighbors",
            progress=progress,
        )
    result = result.with_provenance(command=command_line(ctx))
    give(result, saved, page, print_geometry_study, json=json)
