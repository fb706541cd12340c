"""``cospace space sweep``: where a shared space wins, ties and loses, over depths and poolings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cospace.cli.console import check_writable, command_line, progress_bar, say, typed
from cospace.cli.inputs import split
from cospace.cli.outputs import Json, Report, Save, give
from cospace.cli.space_inputs import (
    CorpusName,
    Material,
    Models,
    Searched,
    Where,
    material,
)
from cospace.cli.space_numbers import check_gallery, depths_of, settings_of, share_of
from cospace.cli.space_score import (
    Columns,
    Draws,
    Folds,
    GallerySize,
    HeldOut,
    Limit,
    Methods,
    Paraphrases,
    Ridges,
    Scalings,
    Seed,
    Texts,
    Transfer,
    Widths,
)
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError

if TYPE_CHECKING:
    from cospace.shared import SharedScore, SweepCell

__all__ = ["sweep"]


def sweep(
    ctx: typer.Context,
    store: Annotated[
        Path,
        typer.Argument(metavar="STORE", help="What 'cospace extract' wrote.", show_default=False),
    ],
    depths: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Relative depths, by commas.")
    ] = "0,0.25,0.5,0.75,1",
    pooling: Annotated[str, typer.Option(metavar="KINDS", help="Poolings, by commas.")] = "mean",
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            metavar="FOLDER",
            help="For steps done; by default beside the store, named after it.",
            show_default=False,
        ),
    ] = None,
    models: Models = None,
    corpus: CorpusName = None,
    held_out: HeldOut = 0.3,
    paraphrases: Paraphrases = None,
    transfer: Transfer = None,
    texts: Texts = None,
    limit: Limit = None,
    columns: Columns = None,
    methods: Methods = None,
    scalings: Scalings = None,
    widths: Widths = None,
    ridges: Ridges = None,
    folds: Folds = 5,
    gallery: GallerySize = None,
    draws: Draws = 2000,
    seed: Seed = 0,
    report: Report = None,
    save: Save = None,
    json: Json = False,
) -> None:
    """Score a shared space at every depth and pooling; what is done is kept, and found again."""
    from cospace.cli.space_tables import print_sweep
    from cospace.shared import Refusal, SharedSweep, summarise
    from cospace.studies.steps import Steps

    options = typed(ctx)
    saved, page = check_writable(save, [store]), check_writable(report, [store])
    wanted = depths_of(depths)
    kinds = split(pooling)
    if not kinds:
        raise InputError("--pooling names nothing: leave it out for its default.")
    settings = settings_of(methods, scalings, widths, ridges, folds, draws, seed, gallery)
    asked = Searched(
        share_of(held_out),
        paraphrases,
        tuple(transfer or ()),
        texts,
        limit,
        tuple(columns or ()),
        seed,
    )
    folder = into if into is not None else store.with_name(f"{store.name}-space-sweep")
    grid = [
        (kind, depth, Where.of(depth, None, kind, models, corpus))
        for kind in kinds
        for depth in wanted
    ]
    first = material([str(store)], grid[0][2], asked, options)
    check_gallery(gallery, first.sets)
    cells: list[SweepCell] = []
    refused: list[Refusal] = []
    names: tuple[str, ...] = ()
    manifests: dict[str, Any] = {}
    n = 0
    say(f"steps done go to {folder}: an interrupted sweep goes on from there")
    try:
        with progress_bar() as progress:
            for at, (kind, depth, where) in enumerate(grid):
                read = material([str(store)], where, asked, options)
                names, manifests = tuple(read.fit), read.manifests
                n = next(iter(read.fit.values())).n
                told = f"{kind}, depth {depth:g} ({at + 1} of {len(grid)})"
                try:
                    score = _once(Steps(folder), read, settings, _telling(told, progress))
                except (UndefinedMeasureError, RowMismatchError) as error:
                    refused.append(Refusal(depth, kind, str(error)))
                    continue
                cells += summarise(score, depth=depth, pooling=kind)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped: what is done is kept in {folder}, the same command goes on from it."
        ) from None
    result = SharedSweep(
        tuple(cells), tuple(refused), names, n, {**settings, "held_out": held_out}
    ).with_provenance(command=command_line(ctx), **manifests)
    give(result, saved, page, print_sweep, json=json)


def _telling(
    told: str, progress: Callable[[str, int, int], None]
) -> Callable[[str, int, int], None]:
    return lambda what, done, many: progress(f"{told}: {what}", done, many)


def _once(
    steps: Any,
    read: Material,
    settings: Mapping[str, Any],
    done: Callable[[str, int, int], None],
) -> SharedScore:
    """Score one depth and pooling, or find the score that was kept of the same rows and settings."""
    from cospace.shared import SharedScore, score_shared

    def prints(rows: Mapping[str, Any] | None) -> dict[str, str]:
        return {name: space.fingerprint for name, space in (rows or {}).items()}

    parts = {
        "fit": prints(read.fit),
        "groups": [next(iter(read.fit.values())).groups],
        "sets": [
            [one.name, prints(one.queries), prints(one.answers), one.texts, one.answer_texts]
            for one in read.sets
        ],
        "texts": read.texts,
        "settings": settings,
    }
    kept = steps.once(
        "space-score",
        parts,
        lambda: score_shared(
            read.fit, read.sets, texts=read.texts, done=done, **settings
        ).to_dict(),
    )
    return SharedScore.from_dict(kept)
