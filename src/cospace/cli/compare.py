"""``cospace compare``: models, stores or array files, to a table, a report or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cospace.cli.console import check_writable, command_line, print_json, progress_bar, say
from cospace.cli.inputs import (
    Accept,
    BatchTokens,
    Device,
    Dtype,
    Folder,
    Inputs,
    NoSink,
    Poolings,
    Reading,
    Sites,
    Special,
    Texts,
    Truncate,
    Trust,
    spaces_of,
    split,
)
from cospace.cli.tables import print_comparison, print_drift
from cospace.comparison import compare as compare_spaces
from cospace.errors import InputError
from cospace.measures import CATALOGUE, find
from cospace.models.base import TokenPolicy
from cospace.space import align_rows

__all__ = ["compare"]


def compare(
    references: Annotated[
        list[str],
        typer.Argument(
            metavar="A B ...",
            help="Models (packaged name, folder, GGUF file, hub id), or array files (.npy, .npz, .safetensors, "
            ".parquet), or one store.",
        ),
    ],
    texts: Texts = "plain",
    sites: Sites = "all",
    pooling: Poolings = "mean",
    measures: Annotated[
        str | None, typer.Option(help="Measures, separated by commas; see 'cospace measures'.")
    ] = None,
    permutations: Annotated[int, typer.Option(min=0, help="Shuffles for the null and p.")] = 199,
    permute_fits: Annotated[
        bool, typer.Option("--permute-fits", help="All shuffles also where each needs its own fit.")
    ] = False,
    within_groups: Annotated[
        bool, typer.Option("--within-groups", help="Shuffle inside groups of texts only.")
    ] = False,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Every measure on every pair of sites.")
    ] = False,
    reduced: Annotated[
        int | None, typer.Option(min=1, help="Compare this many leading principal components.")
    ] = None,
    scale: Annotated[
        str, typer.Option(help="none, unit, standardize, drop:k, whiten:a; done to every space.")
    ] = "none",
    align: Annotated[
        bool, typer.Option("--align", help="Keep the ids that all spaces share.")
    ] = False,
    drift: Annotated[
        bool, typer.Option("--drift", help="What changed between two forms of one model.")
    ] = False,
    k: Annotated[int, typer.Option(min=1, help="Neighbours, for --drift.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of shuffles and samples.")] = 0,
    report: Annotated[Path | None, typer.Option(help="Write a report to this HTML file.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the result to this JSON file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
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
    """Compare models, or spaces that you have as arrays, each value beside its level by chance."""
    check_writable(report)
    check_writable(save)
    chosen = [find(name, CATALOGUE) for name in split(measures)]
    if drift and len(references) != 2:
        raise InputError(f"--drift takes two forms of one model, got {len(references)} references.")
    inputs = spaces_of(
        references,
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
    spaces = align_rows(inputs.spaces) if align else inputs.spaces
    if align and spaces[0].n < max(space.n for space in inputs.spaces):
        say(f"aligned: {spaces[0].n} shared ids kept")
    spaces = [space.scale(scale) for space in spaces]
    if drift:
        _drift(Inputs(spaces, inputs.provenance, inputs.corpus), k, seed, report, save, json=json)
        return
    with progress_bar() as progress:
        result = compare_spaces(
            spaces,
            chosen or None,
            permutations=permutations,
            pairs="all" if all_pairs else "auto",
            reduced=reduced,
            within=within_groups,
            permute_fits=permute_fits,
            rng=seed,
            progress=progress,
        )
    result = result.with_provenance(command=command_line(), **inputs.provenance)
    if save is not None:
        result.save(save)
        say(f"saved: {save}")
    if report is not None:
        from cospace.report import write_report

        say(f"report: {write_report(result, report)}")
    if json:
        print_json(result)
    else:
        print_comparison(result)


def _drift(
    inputs: Inputs, k: int, seed: int, report: Path | None, save: Path | None, *, json: bool
) -> None:
    from cospace.comparison.plan import model_of
    from cospace.drift import measure_drift

    models = list(dict.fromkeys(map(model_of, inputs.spaces)))
    if len(models) != 2:
        raise InputError(f"--drift needs spaces of two models, found those of {len(models)}.")
    before, after = ([s for s in inputs.spaces if model_of(s) == model] for model in models)
    corpus = inputs.corpus
    words = None if corpus is None else dict(zip(corpus.ids, corpus.texts, strict=True))
    result = measure_drift(before, after, k=k, rng=seed, texts=words)
    result = result.with_provenance(command=command_line(), **inputs.provenance)
    if save is not None:
        result.save(save)
        say(f"saved: {save}")
    if report is not None:
        from cospace.report import write_report

        say(f"report: {write_report(result, report)}")
    if json:
        print_json(result)
    else:
        print_drift(result)
