"""``cospace space score``: retrieval in a shared space, beside baselines, floors and shuffled rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cospace.cli.console import check_writable, command_line, progress_bar, typed
from cospace.cli.outputs import Json, Report, Save, give
from cospace.cli.space_inputs import (
    CorpusName,
    Depth,
    Models,
    Pooling,
    Searched,
    Site,
    Where,
    material,
)
from cospace.cli.space_numbers import check_gallery, settings_of, share_of

__all__ = ["score"]

SEARCHED = "What is searched"
TRIED = "What is tried"

HeldOut = Annotated[
    float,
    typer.Option(
        "--held-out",
        metavar="N",
        help="Share of the texts, or their number, that no fit sees.",
        rich_help_panel=SEARCHED,
    ),
]
Paraphrases = Annotated[
    Path | None,
    typer.Option(
        "--paraphrases",
        metavar="STORE",
        help="The same models on the packaged paraphrases: query with one text, find the other.",
        show_default=False,
        rich_help_panel=SEARCHED,
    ),
]
Transfer = Annotated[
    list[Path] | None,
    typer.Option(
        "--transfer",
        metavar="STORE",
        help="The same models on other texts; may be given again.",
        show_default=False,
        rich_help_panel=SEARCHED,
    ),
]
GallerySize = Annotated[
    int | None,
    typer.Option(
        "--gallery",
        metavar="N",
        min=2,
        help="Texts that are searched in every set; by default as many as the smallest has.",
        show_default=False,
        rich_help_panel=SEARCHED,
    ),
]
Texts = Annotated[
    str | None,
    typer.Option(
        "--texts",
        metavar="FILE",
        help="The texts of STORE, for the bag of words and for lengths; packaged ones are known.",
        show_default=False,
        rich_help_panel=SEARCHED,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        help="Read a random subset of N of these, as at extraction.",
        show_default=False,
        rich_help_panel=SEARCHED,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="KIND=NAME",
        help="Column of the texts' file, as at extraction.",
        show_default=False,
        rich_help_panel=SEARCHED,
    ),
]
Methods = Annotated[
    str | None,
    typer.Option(
        "--methods",
        metavar="NAMES",
        help="By commas: gpa, gcca, gcpa, least_squares, ridge, procrustes, relative, raw, random; by default all.",
        show_default=False,
        rich_help_panel=TRIED,
    ),
]
Scalings = Annotated[
    str | None,
    typer.Option(
        "--scalings",
        metavar="NAMES",
        help="By commas, steps joined by +: none, standardize, drop:1, whiten:0.5, standardize+whiten:0.5.",
        show_default=False,
        rich_help_panel=TRIED,
    ),
]
Widths = Annotated[
    str | None,
    typer.Option(
        "--widths",
        metavar="NUMBERS",
        help="By commas; by default a 10th, 5th, 3rd and two thirds of the texts.",
        show_default=False,
        rich_help_panel=TRIED,
    ),
]
Ridges = Annotated[
    str | None,
    typer.Option(
        "--ridges",
        metavar="NUMBERS",
        help="Penalties, by commas, relative to the mean variance of a coordinate.",
        show_default=False,
        rich_help_panel=TRIED,
    ),
]
Folds = Annotated[
    int,
    typer.Option(
        "--folds",
        metavar="N",
        min=2,
        help="Inner folds that choose among these.",
        rich_help_panel=TRIED,
    ),
]
Draws = Annotated[
    int,
    typer.Option("--draws", metavar="N", min=1, max=100_000, help="Bootstrap samples over texts."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of all that is drawn.")]


def score(
    ctx: typer.Context,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="STORE|FILE...",
            help="What 'cospace extract' wrote; or array files, one a model.",
            show_default=False,
        ),
    ],
    depth: Depth = None,
    site: Site = None,
    pooling: Pooling = "mean",
    models: Models = None,
    corpus: CorpusName = None,
    held_out: HeldOut = 0.3,
    paraphrases: Paraphrases = None,
    transfer: Transfer = None,
    gallery: GallerySize = None,
    texts: Texts = None,
    limit: Limit = None,
    columns: Columns = None,
    methods: Methods = None,
    scalings: Scalings = None,
    widths: Widths = None,
    ridges: Ridges = None,
    folds: Folds = 5,
    draws: Draws = 2000,
    seed: Seed = 0,
    report: Report = None,
    save: Save = None,
    json: Json = False,
) -> None:
    """Let models find each other's texts: the shared space, pairwise maps, floors and controls."""
    from cospace.cli.space_tables import print_score
    from cospace.shared import score_shared

    saved, page = check_writable(save, inputs), check_writable(report, inputs)
    settings = settings_of(methods, scalings, widths, ridges, folds, draws, seed, gallery)
    read = material(
        inputs,
        Where.of(depth, site, pooling, models, corpus),
        Searched(
            share_of(held_out),
            paraphrases,
            tuple(transfer or ()),
            texts,
            limit,
            tuple(columns or ()),
            seed,
        ),
        typed(ctx),
    )
    check_gallery(gallery, read.sets)
    try:
        with progress_bar() as progress:
            result = score_shared(
                read.fit, read.sets, texts=read.texts, done=progress, **settings
            ).with_provenance(command=command_line(ctx), **read.manifests)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Stopped while scoring, nothing was written.") from None
    give(result, saved, page, print_score, json=json)
