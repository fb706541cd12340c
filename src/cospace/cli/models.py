"""``cospace models``: the packaged models."""

from __future__ import annotations

from typing import Annotated

import typer

from cospace.cli.console import print_json, write
from cospace.cli.tables import wrapped

__all__ = ["models"]

_FIELDS = ("name", "title", "source", "licence", "quantisation", "terms", "terms_url", "cached")


def models(
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List the packaged models, which a package index alone is enough to fetch."""
    from cospace.models.cache import readable_size
    from cospace.models.packaged import packaged_models

    known = packaged_models()
    if json:
        print_json([{f: getattr(m, f) for f in _FIELDS} | {"bytes": m.size} for m in known])
        return
    for model in known:
        state = "cached" if model.cached else "not fetched yet"
        write([f"{model.name:<14}{readable_size(model.size):>8}   {state}"])
        lines = [f"{model.title}; {model.licence}"]
        if model.quantisation:
            lines.append(f"{model.quantisation}: results are not of the original, {model.source}")
        if model.terms:
            lines.append(
                f"fetched once you accept its terms, {model.terms_url}: --accept {model.terms}"
            )
        for line in lines:
            write(wrapped(line, indent="    "))
    write(["", "Also understood: a folder, a GGUF file, a hub id such as org/name@revision."])
