"""``cospace tokens``: what the token embeddings of models share."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from cospace.cli.console import check_writable, command_line, print_json, progress_bar, say
from cospace.cli.inputs import Accept
from cospace.errors import InputError

__all__ = ["tokens"]

NEAR = "How neighbours are compared"


def tokens(
    ctx: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL MODEL ...",
            help="Packaged names, folders, GGUF files or hub ids.",
            show_default=False,
        ),
    ],
    sample: Annotated[
        int,
        typer.Option("--sample", metavar="N", help="Shared tokens whose pairs are compared."),
    ] = 20_000,
    draws: Annotated[
        int, typer.Option("--draws", metavar="N", help="Samples, each with its seed.")
    ] = 3,
    rng: Annotated[int, typer.Option("--rng", metavar="SEED", help="Seed.")] = 0,
    some: Annotated[
        int | None,
        typer.Option(
            "--tokens",
            metavar="N",
            help="Compare the neighbours of so many shared tokens; by default of all, 0 for none.",
            show_default=False,
            rich_help_panel=NEAR,
        ),
    ] = None,
    k: Annotated[
        int,
        typer.Option("--k", metavar="K", help="Neighbours of a token.", rich_help_panel=NEAR),
    ] = 10,
    reg: Annotated[
        float,
        typer.Option(
            "--reg", metavar="R", help="Regularisation of LLE weights.", rich_help_panel=NEAR
        ),
    ] = 1e-3,
    metric: Annotated[
        str,
        typer.Option("--metric", metavar="NAME", help="euclidean or cosine.", rich_help_panel=NEAR),
    ] = "euclidean",
    all_rows: Annotated[
        bool,
        typer.Option(
            "--all-rows",
            help="Search neighbours among reserved rows too.",
            rich_help_panel=NEAR,
        ),
    ] = False,
    dimension_tokens: Annotated[
        int,
        typer.Option(
            "--dimension-tokens",
            metavar="N",
            help="Shared tokens whose dimension is compared; 0 for none.",
            rich_help_panel=NEAR,
        ),
    ] = 500,
    dimension_k: Annotated[
        str,
        typer.Option(
            "--dimension-k",
            metavar="K,K",
            help="Neighbours whose components are counted.",
            rich_help_panel=NEAR,
        ),
    ] = "50,100,200",
    neighbors: Annotated[
        Path | None,
        typer.Option(
            "--neighbors",
            metavar="FOLDER",
            help="Where neighbours are kept; by default in the user's cache.",
            show_default=False,
            rich_help_panel=NEAR,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Save the result; a folder for many pairs."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    accept: Accept = None,
) -> None:
    """Compare token embeddings, straight from the weights, of every two of the models."""
    from cospace.models.cache import cache_folder
    from cospace.tokens import TokenOptions, compare, read_embeddings

    if len(models) < 2:
        raise InputError(f"Two models or more are compared, and {models[0]} is one: name another.")
    options = TokenOptions(
        sample=sample,
        draws=draws,
        tokens=some,
        k=k,
        reg=reg,
        metric=metric,  # type: ignore[arg-type] # checked there
        among="all" if all_rows else "named",
        dimension_tokens=dimension_tokens,
        dimension_k=_numbers(dimension_k),
        rng=rng,
    )
    pairs = list(combinations(range(len(models)), 2))
    target = _target(save, many=len(pairs) > 1)
    read = [read_embeddings(reference, accept=accept or ()) for reference in models]
    folder = neighbors if neighbors is not None else cache_folder() / "neighbors"
    results = []
    try:
        with progress_bar() as progress:
            for i, j in pairs:
                found = compare(read[i], read[j], options=options, folder=folder, progress=progress)
                results.append(found.with_provenance(command=command_line(ctx)))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped: finished neighbours are kept in {folder}, the same command goes on from them."
        ) from None
    if json and len(results) == 1:
        print_json(results[0])
    elif json:
        print_json([result.to_dict() for result in results])
    else:
        from cospace.cli.token_tables import print_tokens

        for result in results:
            print_tokens(result)
    if target is None:
        return
    for (i, j), result in zip(pairs, results, strict=True):
        path = target if len(pairs) == 1 else target / f"{read[i].name}--{read[j].name}.json"
        result.save(path)
        say(f"saved: {path}")


def _target(save: Path | None, *, many: bool) -> Path | None:
    if save is None or not many:
        return check_writable(save)
    try:
        save.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{save} cannot be a folder ({error.strerror}), and many pairs are saved in one: name another."
        ) from None
    return save


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise InputError(
            f"--dimension-k is {text!r}; whole numbers with commas between them are expected, such as 50,100."
        ) from None
