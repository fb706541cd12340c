"""``cospace affine``: how far one space is from the affine images of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cospace.cli.console import (
    check_writable,
    command_line,
    print_json,
    progress_bar,
    say,
    typed,
    write,
)
from cospace.cli.inputs import (
    Accept,
    BatchTokens,
    Columns,
    Device,
    Dtype,
    Folder,
    Inputs,
    Limit,
    NoSink,
    Poolings,
    Reading,
    Sites,
    Special,
    Texts,
    Truncate,
    Trust,
    spaces_of,
)
from cospace.cli.tables import aligned, wrapped
from cospace.cli.visible import visible
from cospace.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from cospace.homotopy import AffineDistance, LegacyDistance
    from cospace.space import Space

__all__ = ["affine"]

OUTPUT = "What comes out"
OF_GROUPS = ("group", "rank", "reduced", "gap", "held_out")


def affine(
    ctx: typer.Context,
    references: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET SOURCE",
            help="Two array files or two models (packaged name, folder, GGUF file, hub id), the target "
            "first; or one store or model, with --target and --source.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which space is to be reached, where there are several."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which space is mapped, where there are several."),
    ] = None,
    group: Annotated[
        str,
        typer.Option(
            metavar="MAPS", help="Maps allowed: affine, translation, orthogonal, low_rank."
        ),
    ] = "affine",
    rank: Annotated[
        int | None, typer.Option(metavar="K", min=1, help="Most rank of low_rank maps.")
    ] = None,
    reduced: Annotated[
        int | None,
        typer.Option(
            metavar="K", min=1, help="Let maps see K leading principal components of the source."
        ),
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="SHARE", help="Relative width of the interval at most.")
    ] = 0.01,
    held_out: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Rows that a second fit is scored on; 0 for no such fit."
        ),
    ] = 0.2,
    legacy: Annotated[
        bool,
        typer.Option(
            "--legacy", help="The published recipe (descent on the batch maximum) instead."
        ),
    ] = False,
    align: Annotated[
        bool, typer.Option("--align", help="Keep the ids that both spaces share.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Of the held-out rows (0), of the published recipe (42)."
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Save result and map.", rich_help_panel=OUTPUT),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT)
    ] = False,
    texts: Texts = "plain",
    limit: Limit = None,
    columns: Columns = None,
    sites: Sites = "last",
    pooling: Poolings = "mean",
    store: Folder = None,
    special: Special = False,
    no_sink: NoSink = False,
    truncate: Truncate = False,
    dtype: Dtype = "float32",
    device: Device = "auto",
    batch_tokens: BatchTokens = 4096,
    accept: Accept = None,
    trust_remote_code: Trust = False,
) -> None:
    """Bound the largest row error of the best affine map from source to target, on both sides."""
    options = typed(ctx)
    saved = check_writable(save, [*references, texts])
    _check(references, options, group, rank, gap, held_out, legacy=legacy)
    inputs = spaces_of(
        references,
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
            typed=options,
        ),
    )
    goal, given = _sides(inputs.spaces, target, source, align=align)
    result: AffineDistance | LegacyDistance
    try:
        with progress_bar() as progress:
            if legacy:
                from cospace.homotopy import legacy_distance

                result = legacy_distance(
                    target=goal, source=given, rng=42 if seed is None else seed, progress=progress
                )
            else:
                from cospace.homotopy import affine_distance

                result = affine_distance(
                    target=goal,
                    source=given,
                    gap=gap,
                    group=group,  # type: ignore[arg-type]  # checked above
                    rank=rank,
                    reduced=reduced,
                    held_out=held_out or None,
                    rng=seed or 0,
                    progress=progress,
                ).with_provenance(command=command_line(ctx), **inputs.provenance)
    except KeyboardInterrupt:
        kept = " Activations are kept: the same command uses them."
        kept = kept if "store" in inputs.provenance else ""
        raise KeyboardInterrupt(f"Stopped while fitting, nothing was written.{kept}") from None
    try:
        if saved is not None:
            result.save(saved)
            say(f"saved: {saved}")
    finally:
        # A file that cannot be written must not cost the result.
        if json:
            print_json(result)
        else:
            _print(result, inputs)


def _check(
    references: Sequence[str],
    options: dict[str, str],
    group: str,
    rank: int | None,
    gap: float,
    held_out: float,
    *,
    legacy: bool,
) -> None:
    """Refuse what makes no sense before anything is read."""
    from cospace.homotopy.distance import check_options
    from cospace.homotopy.solve import Task

    if len(references) > 2:
        raise InputError(
            f"A distance is between two spaces, and {len(references)} inputs were given: name the target, "
            "then the source."
        )
    if legacy:
        for name in OF_GROUPS:
            if name in options:
                raise InputError(f"{options[name]} has no part in --legacy: leave it out.")
    check_options(
        Task(group, rank, gap, 1),  # type: ignore[arg-type]  # an unknown group is refused here
        None,
        held_out or None,
    )


def _sides(
    spaces: Sequence[Space], target: str | None, source: str | None, *, align: bool
) -> tuple[Space, Space]:
    from cospace.space import align_rows

    names = [space.name for space in spaces]
    if target is None and source is None and len(spaces) == 2:
        goal, given = spaces
    elif target is None or source is None:
        raise InputError(
            f"{len(spaces)} spaces were read ({', '.join(names[:8])}{', ...' if len(names) > 8 else ''}): "
            "name two of them with --target and --source."
        )
    else:
        for name in (target, source):
            if name not in names:
                raise UnknownNameError.among(name, names, "space among those read")
        goal, given = spaces[names.index(target)], spaces[names.index(source)]
    if align:
        both = max(goal.n, given.n)
        goal, given = align_rows([goal, given])
        if goal.n < both:
            say(f"aligned: {goal.n:,} shared ids kept")
    return goal, given


def _print(result: AffineDistance | LegacyDistance, inputs: Inputs) -> None:
    from cospace.homotopy import AffineDistance

    if not isinstance(result, AffineDistance):
        write(
            [
                f"{result.source} → {result.target}, the published recipe; {result.n:,} rows",
                "",
                *aligned(
                    [
                        ["learning rate", "largest row error"],
                        *(
                            [
                                f"{one.rate:g}",
                                "diverged"
                                if one.loss is None
                                else _number((one.loss * result.width) ** 0.5),
                            ]
                            for one in result.rates
                        ),
                    ],
                    right=[0, 1],
                ),
                "",
                *wrapped(
                    f"{_number(result.value)} by the recipe. It bounds nothing: without --legacy the problem is "
                    "solved."
                ),
            ]
        )
        return
    radius = result.radius
    write(
        [
            f"{result.source} → {result.target}, {result.group.replace('_', '-')} maps; {result.n:,} rows",
            "",
            f"largest row error of the best map: {_number(result.lower)} to {_number(result.upper)}",
            f"divided by the target's radius ({_number(radius.lower)} to {_number(radius.upper)}): "
            f"{result.normalised.lower:.4f} to {result.normalised.upper:.4f}",
            "",
        ]
    )
    rows = [["row errors", "rows", "mean", "95 %", "99 %", "largest"]]
    for name, errors in (("in-sample", result.in_sample), ("held out", result.held_out)):
        if errors is not None:
            numbers = (errors.mean, errors.p95, errors.p99, errors.maximum)
            rows.append([name, f"{errors.n:,}", *map(_number, numbers)])
    texts = inputs.texts or {}
    worst = [f"{name}: {texts[name]}" if name in texts else name for name in result.worst_ids]
    lines = [
        *aligned(rows, right=range(1, 6)),
        "",
        f"rank: source {result.rank_source}, target {result.rank_target}",
        f"rows that attain it: {result.attaining:,}; the largest errors are those of",
        *(line for text in worst for line in wrapped(visible(text), indent="    ", first="  ")),
    ]
    if result.warnings:
        lines.append("")
    for note in result.warnings:
        lines += wrapped(note, indent="  ", first="! ")
    write(lines)


def _number(value: float) -> str:
    return f"{value:.4g}"
