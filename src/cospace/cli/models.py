"""``cospace models``: the packaged models."""

from __future__ import annotations

import json as _json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding

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
    console = Console(highlight=False)
    for model in known:
        console.print(f"{model.name}", style="bold", end="")
        console.print(
            f"   {readable_size(model.size)}, {'cached' if model.cached else 'not fetched yet'}"
        )
        console.print(Padding(f"{model.title}; {model.licence}", (0, 0, 0, 4)))
        if model.quantisation:
            console.print(
                Padding(f"{model.quantisation}: not the original checkpoint", (0, 0, 0, 4))
            )
        if model.terms:
            console.print(
                Padding(f"fetched when you accept its terms: --accept {model.name}", (0, 0, 0, 4))
            )
    console.print(
        "\nAlso understood: a folder, a GGUF file, or a hub id such as org/name@revision."
    )
