"""``cospace extract``: activations of models on texts, into a store."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cospace.cli.console import say, typed
from cospace.cli.inputs import (
    Accept,
    BatchTokens,
    Columns,
    Device,
    Dtype,
    Limit,
    NoSink,
    Poolings,
    Reading,
    Sites,
    Special,
    Texts,
    Truncate,
    Trust,
    run,
)

__all__ = ["extract"]


def extract(
    ctx: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Packaged name, folder, GGUF file or hub id.",
            show_default=False,
        ),
    ],
    store: Annotated[
        Path,
        typer.Option("--store", metavar="FOLDER", help="Folder of activations; made if missing."),
    ],
    texts: Texts = "plain",
    limit: Limit = None,
    columns: Columns = None,
    sites: Sites = "all",
    pooling: Poolings = "mean",
    special: Special = False,
    no_sink: NoSink = False,
    truncate: Truncate = False,
    dtype: Dtype = "float32",
    device: Device = "auto",
    batch_tokens: BatchTokens = 4096,
    accept: Accept = None,
    trust_remote_code: Trust = False,
) -> None:
    """Read activations into a store; what is there already is not computed again."""
    view, _ = run(
        models,
        Reading(
            texts=texts,
            limit=limit,
            columns=columns or (),
            sites=sites,
            pooling=pooling,
            store=store,
            special=special,
            no_sink=no_sink,
            truncate=truncate,
            dtype=dtype,
            device=device,
            batch_tokens=batch_tokens,
            accept=accept or (),
            trust_remote_code=trust_remote_code,
            typed=typed(ctx),
        ),
    )
    for one in view.runs:
        cut = f", {one.truncated} cut" if one.truncated else ""
        sites = f"{len(one.sites)} site{'s' * (len(one.sites) > 1)}"
        say(
            f"{one.facts.name}: {one.rows:,} texts{cut} at {sites}, "
            f"pooled by {', '.join(one.poolings)}"
        )
    say(f"store: {view.path}   next: cospace compare {shlex.quote(str(view.path))}")
