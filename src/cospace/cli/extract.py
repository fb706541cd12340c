"""``cospace extract``: activations of models on texts, into a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cospace.cli.console import say
from cospace.cli.inputs import (
    Accept,
    BatchTokens,
    Device,
    Dtype,
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
from cospace.models.base import TokenPolicy

__all__ = ["extract"]


def extract(
    models: Annotated[list[str], typer.Argument(metavar="MODEL ...", help="Models to read.")],
    store: Annotated[Path, typer.Option("--store", help="Folder of activations; made if missing.")],
    texts: Texts = "plain",
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
            sites=sites,
            pooling=pooling,
            store=store,
            policy=TokenPolicy(special=special, sink=not no_sink, truncate=truncate),
            dtype=dtype,
            device=device,
            batch_tokens=batch_tokens,
            accept=accept or (),
            trust_remote_code=trust_remote_code,
        ),
    )
    for one in view.runs:
        cut = f", {one.truncated} cut" if one.truncated else ""
        say(
            f"{one.facts.name}: {one.rows} texts{cut} at {len(one.sites)} sites, "
            f"pooled by {', '.join(one.poolings)}"
        )
    say(f"store: {view.path}   next: cospace compare {view.path}")
