"""``cospace models``: the packaged models."""

from __future__ import annotations

import json as _json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from cospace.models.cache import readable_size
from cospace.models.packaged import packaged_models

__all__ = ["models"]


def models(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the packaged models, which a package index alone is enough to fetch."""
    known = packaged_models()
    if json:
        fields = ("name", "title", "source", "licence", "quantisation", "terms", "cached")
        rows = [{f: getattr(m, f) for f in fields} | {"bytes": m.size} for m in known]
        sys.stdout.write(_json.dumps(rows) + "\n")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "model", "download", "licence", "weights", "cached"):
        table.add_column(heading, justify="right" if heading == "download" else "left")
    for model in known:
        terms = f" (accept with --accept {model.terms.lower().split()[0]})" if model.terms else ""
        table.add_row(
            model.name,
            model.title,
            readable_size(model.size),
            model.licence + terms,
            model.quantisation or "as published",
            "yes" if model.cached else "no",
        )
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "\nAlso understood: a folder, a GGUF file, or a hub id such as org/name@revision."
    )
