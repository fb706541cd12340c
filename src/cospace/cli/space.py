"""``cospace space fit``, ``add`` and ``apply``: one space for many models, in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cospace.cli.console import check_writable, progress_bar, say, typed
from cospace.cli.space_inputs import (
    CorpusName,
    Depth,
    Models,
    Pooling,
    PoolingAsFitted,
    Site,
    Where,
    read,
)
from cospace.cli.space_numbers import ridge_of, width_of
from cospace.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from cospace.shared import SharedSpace
    from cospace.space import Space

__all__ = ["add", "apply", "fit"]

CHOSEN = "What is chosen"

Saved = Annotated[Path, typer.Argument(metavar="SPACE", help="What 'cospace space fit' wrote.")]


def fit(
    ctx: typer.Context,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="STORE|FILE...",
            help="What 'cospace extract' wrote; or array files, one a model.",
            show_default=False,
        ),
    ],
    save: Annotated[
        Path,
        typer.Option(
            "--save", metavar="FILE", help="The space, as safetensors.", show_default=False
        ),
    ],
    depth: Depth = None,
    site: Site = None,
    pooling: Pooling = "mean",
    models: Models = None,
    corpus: CorpusName = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="gpa, rotations to their mean; gcca, canonical variates; auto, the better on inner folds.",
            rich_help_panel=CHOSEN,
        ),
    ] = "auto",
    scaling: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="auto, none, or steps joined by +: standardize, drop:1, whiten:0.5.",
            rich_help_panel=CHOSEN,
        ),
    ] = "auto",
    width: Annotated[
        str,
        typer.Option(metavar="K", help="Coordinates, or auto.", rich_help_panel=CHOSEN),
    ] = "auto",
    ridge: Annotated[
        str,
        typer.Option(metavar="R", help="Penalty of gcca, or auto.", rich_help_panel=CHOSEN),
    ] = "auto",
    folds: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Inner folds that choose.", rich_help_panel=CHOSEN),
    ] = 5,
    scales: Annotated[
        bool, typer.Option("--scales", help="Give every model a scale of its own (gpa).")
    ] = False,
    missing: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="Texts that a model lacks: refuse, or mask and fit on what is there.",
        ),
    ] = "refuse",
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of the control with shuffled rows.")
    ] = 0,
) -> None:
    """Fit one space to all models of a store, and write it to a file."""
    from cospace.shared import SharedSpace

    path = _safetensors(save, inputs)
    if missing not in ("refuse", "mask"):
        raise UnknownNameError.among(missing, ("refuse", "mask"), "way with missing texts")
    how: Literal["refuse", "mask"] = "mask" if missing == "mask" else "refuse"
    space = SharedSpace(
        width=width_of(width),
        scaling=scaling,
        method=method,
        ridge=ridge_of(ridge),
        scales=scales,
        folds=folds,
        missing=how,
        rng=seed,
    )
    spaces = read(inputs, Where.of(depth, site, pooling, models, corpus), typed(ctx))
    try:
        with progress_bar() as progress:
            space.fit(spaces, done=lambda done, many: progress("inner folds", done, many))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Stopped while fitting, nothing was written.") from None
    space.save(path)
    _print(space)
    say(f"saved: {path}")


def add(
    ctx: typer.Context,
    space: Saved,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="STORE|FILE",
            help="Rows of the new model on texts of the fit.",
            show_default=False,
        ),
    ],
    model: Annotated[
        str, typer.Option("--model", metavar="NAME", help="The new model.", show_default=False)
    ],
    depth: Depth = None,
    site: Site = None,
    pooling: PoolingAsFitted = "mean",
    corpus: CorpusName = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="The space with the model; by default SPACE is replaced.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Add a model to a finished space; no other map changes.

    Its rows are read at the depth and with the pooling of the first model, unless told.
    """
    from cospace.shared import SharedSpace

    found = SharedSpace.load(space)
    path = space if save is None else _safetensors(save, [*inputs])
    if model in found.members_:
        raise InputError(
            f"{model!r} is in {space} already: a model is added once, under a name of its own."
        )
    options = typed(ctx)
    source = next(iter(found.members_.values())).source
    where = _where(depth, site, pooling, model, corpus, source, options, key="depth")
    rows = _one(inputs, where, options, model)
    if "site" in rows.facts:
        say(f"{model}: read at {rows.facts['site']}, pooled by {rows.facts['pooling']}")
    found.add(model, rows)
    found.save(path)
    _print(found)
    say(f"saved: {path}")


def apply(
    ctx: typer.Context,
    space: Saved,
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="STORE|FILE", help="Rows of the model.", show_default=False),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="NAME", help="The model that they are of.", show_default=False
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="What comes out: .npz with ids, or .npy.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="OTHER",
            help="Go on to rows of this model; by default coordinates of the space.",
            show_default=False,
        ),
    ] = None,
    depth: Depth = None,
    site: Site = None,
    pooling: PoolingAsFitted = "mean",
    corpus: CorpusName = None,
) -> None:
    """Take rows of a model into the space, or through it to another model.

    Rows of a store are read at the site and with the pooling of the fit, unless told.
    """
    import numpy as np

    from cospace.shared import SharedSpace

    found = SharedSpace.load(space)
    path = check_writable(out, [space, *inputs])
    if path.suffix not in (".npy", ".npz"):
        raise InputError(f"--out is {out}; a file that ends in .npz or .npy is expected.")
    for name in (model, to):
        if name is not None and name not in found.members_:
            raise UnknownNameError.among(name, found.members_, f"model of {space}")
    options = typed(ctx)
    source = found.members_[model].source
    where = _where(depth, site, pooling, model, corpus, source, options, key="site")
    rows = _one(inputs, where, options, model)
    made = (
        found.transform(rows, model)
        if to is None
        else found.translate(rows, source=model, target=to)
    )
    lost = found.inverse_error(rows, model)
    try:
        if path.suffix == ".npy":
            np.save(path, made)
        else:
            ids = {} if rows.ids is None else {"ids": np.asarray(rows.ids, dtype=np.str_)}
            np.savez(path, allow_pickle=False, rows=made, **ids)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
    what = "coordinates of the space" if to is None else f"rows of {to}"
    say(f"{model}: {len(made):,} texts as {what}, width {made.shape[1]}")
    say(f"the way into the space and back loses {lost:.1%} of the variance of these rows")
    say(f"saved: {path}")


def _where(
    depth: float | None,
    site: str | None,
    pooling: str,
    model: str,
    corpus: str | None,
    source: Mapping[str, Any],
    options: Mapping[str, str],
    *,
    key: str,
) -> Where:
    """What was typed, or else where the space says that its rows come from."""
    told = Where.of(depth, site, pooling, None, corpus)
    at, kind = told.site, told.pooling
    if depth is None and site is None and key in source:
        at = source[key]
    if "pooling" not in options and "pooling" in source:
        kind = str(source["pooling"])
    return Where(at, kind, (model,), corpus)


def _one(inputs: list[str], where: Where, options: Mapping[str, str], model: str) -> Space:
    """Rows of one model."""
    from cospace.cli.space_inputs import are_files

    if not are_files(inputs):
        return read(inputs, where, options)[model]
    found = read(inputs, where, options)
    if len(found) == 1:
        return next(iter(found.values()))
    if model not in found:
        raise InputError(
            f"{', '.join(inputs)} hold {len(found)} arrays ({', '.join(found)}), none called {model!r}: give one of "
            "them."
        )
    return found[model]


def _safetensors(path: Path, inputs: list[str]) -> Path:
    if path.suffix != ".safetensors":
        raise InputError(f"--save is {path}; a file that ends in .safetensors is expected.")
    return check_writable(path, inputs)


def _print(space: SharedSpace) -> None:
    from cospace.cli.space_tables import print_space

    print_space(space)
