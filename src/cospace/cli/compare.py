"""``cospace compare``: models, stores or array files, to a table, a report or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cospace.cli.console import (
    check_writable,
    command_line,
    print_json,
    progress_bar,
    say,
    typed,
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
    check_neighbours,
    spaces_of,
    split,
)
from cospace.cli.tables import print_comparison, print_drift
from cospace.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from cospace.comparison import Comparison
    from cospace.comparison.budget import Estimate
    from cospace.drift import Drift

__all__ = ["compare"]

YARDSTICK = "What stands beside a value"
OUTPUT = "What comes out"
DRIFT = "One model in two forms"
SCALINGS = ("none", "unit", "standardize", "drop", "whiten")
OF_COMPARISONS = (
    "measures",
    "beyond",
    "grid",
    "reduced",
    "permutations",
    "permute_fits",
    "within_groups",
    "correct",
    "intervals",
    "ceiling",
)


def _yardstick(name: str, *, help: str, metavar: str | None = None) -> Any:
    return typer.Option(name, metavar=metavar, help=help, rich_help_panel=YARDSTICK)


def compare(
    ctx: typer.Context,
    references: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT",
            help="Models (packaged name, folder, GGUF file, hub id); or array files (.npy, .npz, "
            ".safetensors, .parquet); or one store of activations.",
        ),
    ],
    measures: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="By commas, out of 'cospace measures'."),
    ] = None,
    beyond: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Add RSA beyond length, words or group of the texts, by commas; p beyond group alone.",
        ),
    ] = None,
    grid: Annotated[
        bool, typer.Option("--grid", help="Every measure on every pair of sites.")
    ] = False,
    reduced: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Compare K leading principal components."),
    ] = None,
    scale: Annotated[
        str,
        typer.Option(
            metavar="HOW", help="Of every space: none, unit, standardize, drop:k or whiten:a."
        ),
    ] = "none",
    align: Annotated[
        bool, typer.Option("--align", help="Keep the ids that all spaces share.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of shuffles and samples.")] = 0,
    permutations: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Shuffles for the level by chance and p.",
            rich_help_panel=YARDSTICK,
        ),
    ] = 199,
    permute_fits: Annotated[
        bool, _yardstick("--permute-fits", help="All shuffles also where each needs its own fit.")
    ] = False,
    within_groups: Annotated[
        bool, _yardstick("--within-groups", help="Shuffle inside groups of texts only.")
    ] = False,
    correct: Annotated[
        str,
        _yardstick(
            "--correct",
            metavar="HOW",
            help="p corrected over the sites of two models (max), and over the pairs of models too (holm, bh).",
        ),
    ] = "max",
    intervals: Annotated[
        str,
        _yardstick(
            "--intervals",
            metavar="OVER",
            help="Bootstrap over rows or groups; or folds, a jackknife where rows cannot be drawn again.",
        ),
    ] = "rows",
    ceiling: Annotated[
        bool, _yardstick("--ceiling", help="Noise ceiling by split halves of the coordinates.")
    ] = False,
    drift: Annotated[
        bool,
        typer.Option(
            "--drift", help="What changed from A to B, text by text.", rich_help_panel=DRIFT
        ),
    ] = False,
    k: Annotated[
        int, typer.Option("--k", metavar="N", min=1, help="Neighbours.", rich_help_panel=DRIFT)
    ] = 10,
    report: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write a report in HTML.", rich_help_panel=OUTPUT),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Save the result, for 'cospace report'.", rich_help_panel=OUTPUT
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUTPUT)
    ] = False,
    texts: Texts = "plain",
    limit: Limit = None,
    columns: Columns = None,
    sites: Sites = "all",
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
    """Compare models, or spaces that you have as arrays, each value beside its level by chance."""
    options = typed(ctx)
    page, saved = (check_writable(path, [*references, texts]) for path in (report, save))
    if page is not None and saved is not None and page.resolve() == saved.resolve():
        raise InputError(f"--report and --save both name {report}: name two files.")
    chosen = None if measures is None else _measures(measures)
    confounds = split(beyond)
    _check_words(scale, correct, intervals, beyond)
    _check_drift(references, options, drift=drift)
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
            groups=_needs_groups(chosen or (), confounds, intervals, within=within_groups),
            beyond=set(confounds) & {"length", "words"} != set(),
            same_sites=drift,
            neighbours=k if drift and "k" in options else None,
            typed=options,
        ),
    )
    inputs = _prepared(inputs, scale, align=align)
    if drift and "k" in options:
        check_neighbours(k, min(space.n for space in inputs.spaces))
    result: Comparison | Drift
    try:
        with progress_bar() as progress:
            if drift:
                result = _drift(inputs, k, seed, progress)
            else:
                from cospace.comparison import compare as compare_spaces

                result = compare_spaces(
                    inputs.spaces,
                    chosen,
                    permutations=permutations,
                    correct=correct,  # type: ignore[arg-type]  # checked above
                    grid=grid,
                    reduced=reduced,
                    within=within_groups,
                    permute_fits=permute_fits,
                    intervals=intervals,  # type: ignore[arg-type]  # checked above
                    ceiling=ceiling,
                    beyond=confounds,
                    texts=inputs.texts,
                    rng=seed,
                    progress=progress,
                    estimated=_told,
                )
    except KeyboardInterrupt:
        kept = " Activations are kept: the same command uses them."
        kept = kept if "store" in inputs.provenance else ""
        raise KeyboardInterrupt(f"Stopped while comparing, nothing was written.{kept}") from None
    result = result.with_provenance(command=command_line(ctx), **inputs.provenance)
    try:
        _write(result, saved, page)
    finally:
        # A file that cannot be written must not cost the result.
        whole = _print(result, json=json, intervals="intervals" in options)
    if not (whole or json or save or report):
        say("The rest: --report out.html to look at, --save out.json or --json to use.")


def _told(needed: Estimate) -> None:
    """Say what takes long, before it does."""
    if needed.long:
        say(f"{needed}")


def _measures(names: str) -> list[str]:
    from cospace.measures import CATALOGUE
    from cospace.measures.confound import BEYOND
    from cospace.measures.inside import INSIDE_GROUPS

    chosen = split(names)
    if not chosen:
        raise InputError("--measures names nothing: see 'cospace measures', or leave it out.")
    if len(set(chosen)) < len(chosen):
        raise InputError("--measures names one twice: name each once.")
    known = [*(measure.name for measure in CATALOGUE), *INSIDE_GROUPS]
    for name in chosen:
        if name == BEYOND:
            raise InputError(
                f"{BEYOND} must be told beyond what: leave it out of --measures and add --beyond length, words or "
                "group."
            )
        if name not in known:
            raise UnknownNameError.among(name, known, "measure")
    return chosen


def _check_words(scale: str, correct: str, intervals: str, beyond: str | None) -> None:
    """Refuse an unknown word before anything is read; what it needs is checked on the rows."""
    from cospace.comparison.asked import INTERVALS
    from cospace.comparison.search import CORRECTIONS
    from cospace.measures.nuisance import NUISANCES

    verb = scale.partition(":")[0]
    if beyond is not None and not split(beyond):
        raise InputError("--beyond names nothing: name length, words or group, or leave it out.")
    for word, known, what in (
        (verb, SCALINGS, "scaling"),
        (correct, CORRECTIONS, "correction"),
        (intervals, INTERVALS, "kind of interval"),
        *((name, NUISANCES, "confound") for name in split(beyond)),
    ):
        if word not in known:
            raise UnknownNameError.among(word, known, what)


def _needs_groups(
    measures: Sequence[str], confounds: Sequence[str], intervals: str, *, within: bool
) -> str | None:
    """What needs groups of texts, as it is typed."""
    from cospace.measures.inside import INSIDE_GROUPS

    inside = next((name for name in measures if name in INSIDE_GROUPS), None)
    for needed, word in (
        (within, "--within-groups"),
        (inside, f"--measures {inside}"),
        ("group" in confounds, "--beyond group"),
        (intervals == "groups", "--intervals groups"),
    ):
        if needed:
            return word
    return None


def _check_drift(references: Sequence[str], options: dict[str, str], *, drift: bool) -> None:
    if not drift:
        if "k" in options:
            raise InputError("--k is for --drift: add --drift, or leave it out.")
        return
    if len(references) > 2 or (len(references) == 1 and not Path(references[0]).is_dir()):
        count = len(references)
        what = "reference" if count == 1 else "references"
        raise InputError(
            f"--drift takes two forms of one model, got {count} {what}: name the form before, then "
            "the form after."
        )
    for name in OF_COMPARISONS:
        if name in options:
            raise InputError(f"{options[name]} has no part in --drift: leave it out.")


def _prepared(inputs: Inputs, scale: str, *, align: bool) -> Inputs:
    from cospace.space import align_rows

    spaces = inputs.spaces
    if align:
        spaces = align_rows(spaces)
        if spaces[0].n < max(space.n for space in inputs.spaces):
            say(f"aligned: {spaces[0].n:,} shared ids kept")
    return replace(inputs, spaces=[space.scale(scale) for space in spaces])


def _drift(inputs: Inputs, k: int, seed: int, progress: Any) -> Drift:
    from cospace.drift import measure_drift

    forms: dict[str, list[Any]] = {}
    for space in inputs.spaces:
        facts = space.facts
        forms.setdefault(str(facts.get("model") or facts.get("file") or space.name), []).append(
            space
        )
    if len(forms) != 2:
        raise InputError(
            f"--drift takes two forms of one model, and here are {len(forms)}: {', '.join(forms)}."
        )
    before, after = forms.values()
    return measure_drift(before, after, k=k, rng=seed, texts=inputs.texts, progress=progress)


def _write(result: Comparison | Drift, save: Path | None, report: Path | None) -> None:
    if save is not None:
        result.save(save)
        say(f"saved: {save}")
    if report is not None:
        from cospace.report import write_report

        say(f"report: {write_report(result, report)}")


def _print(result: Comparison | Drift, *, json: bool, intervals: bool) -> bool:
    """Print the result, and return whether that was all of it."""
    from cospace.comparison import Comparison

    if json:
        print_json(result)
        return True
    if isinstance(result, Comparison):
        return print_comparison(result, intervals=intervals)
    print_drift(result)
    return True
