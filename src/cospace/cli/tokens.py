"""``cospace tokens``: what the token embeddings of models share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cospace.cli.console import check_writable, command_line, print_json, progress_bar, say, typed
from cospace.cli.inputs import Accept
from cospace.errors import InputError

if TYPE_CHECKING:
    from cospace.models.embeddings import Embeddings

__all__ = ["tokens"]

NEAR = "How neighbours are compared"
WORDS = "Do neighbours mean something to each other"
LITTLE = "Tokens that have hardly been trained"
DEEP = "Behind the embeddings: the models are run"
OUT = "What comes out"
_DIGITS = 18
"""Most digits of a row number that is read."""
_NEEDS = {
    "coherence_tokens": "coherence",
    "frequency": "coherence",
    "reference": "undertrained",
    "unused": "undertrained",
    "verify": "undertrained",
    "context": "depths",
    "text": "depths",
    "hidden_tokens": "depths",
    "occurrences": "depths",
}
"""Options that only say how another thing is done, and that thing."""


def tokens(
    ctx: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL MODEL ...",
            help="Packaged names, folders, GGUF files or hub ids; one alone for --coherence and "
            "--undertrained.",
            show_default=False,
        ),
    ],
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            metavar="N",
            help="Shared tokens whose pairs are compared in a draw; by default 20,000, or all at once where the "
            "draws would look at as many.",
        ),
    ] = None,
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
    coherence: Annotated[
        str | None,
        typer.Option(
            "--coherence",
            metavar="GRAPH",
            help="wordnet, a folder of WordNet's database files, or a file of ConceptNet's assertions.",
            show_default=False,
            rich_help_panel=WORDS,
        ),
    ] = None,
    coherence_tokens: Annotated[
        int,
        typer.Option(
            "--coherence-tokens",
            metavar="N",
            help="Whole words of the graph that are sampled.",
            rich_help_panel=WORDS,
        ),
    ] = 500,
    frequency: Annotated[
        str,
        typer.Option(
            "--frequency",
            metavar="TEXT",
            help="Where tokens are counted, to take frequency out: a name that 'cospace corpus' lists, "
            "or a file.",
            rich_help_panel=WORDS,
        ),
    ] = "wordnet-definitions",
    undertrained: Annotated[
        bool,
        typer.Option(
            "--undertrained",
            help="List candidates: tokens apart, and the published indicators.",
            rich_help_panel=LITTLE,
        ),
    ] = False,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            "--reference",
            metavar="MODEL=FILE",
            help="Published verifications of a model, JSON lines in magikarp's format.",
            show_default=False,
            rich_help_panel=LITTLE,
        ),
    ] = None,
    unused: Annotated[
        list[str] | None,
        typer.Option(
            "--unused",
            metavar="MODEL=ID,ID",
            help="Rows known to be unused, such as 3-16; by default the reserved ones.",
            show_default=False,
            rich_help_panel=LITTLE,
        ),
    ] = None,
    verify: Annotated[
        int,
        typer.Option(
            "--verify",
            metavar="N",
            help="Ask the model to repeat N candidates of each method, and N other tokens.",
            rich_help_panel=LITTLE,
        ),
    ] = 0,
    depths: Annotated[
        str,
        typer.Option(
            "--depths",
            metavar="F,F",
            help="Compare states at relative depths, such as 0,0.5,1.",
            show_default=False,
            rich_help_panel=DEEP,
        ),
    ] = "",
    context: Annotated[
        str,
        typer.Option(
            "--context",
            metavar="KINDS",
            help="By commas: tokens run alone, or in a text (a mean over occurrences).",
            rich_help_panel=DEEP,
        ),
    ] = "alone",
    text: Annotated[
        str,
        typer.Option(
            "--text",
            metavar="TEXT",
            help="That text: a name that 'cospace corpus' lists, or a file.",
            rich_help_panel=DEEP,
        ),
    ] = "wordnet-examples",
    hidden_tokens: Annotated[
        int,
        typer.Option(
            "--hidden-tokens",
            metavar="N",
            help="Shared tokens whose states are compared.",
            rich_help_panel=DEEP,
        ),
    ] = 500,
    occurrences: Annotated[
        int,
        typer.Option(
            "--occurrences",
            metavar="N",
            help="Least occurrences of a token in the text.",
            rich_help_panel=DEEP,
        ),
    ] = 4,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report", metavar="FILE", help="Write a report, one HTML file.", rich_help_panel=OUT
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Save the result.", rich_help_panel=OUT),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=OUT)
    ] = False,
    accept: Accept = None,
) -> None:
    """Compare token embeddings, straight from the weights, of every two of the models."""
    from cospace.models.cache import cache_folder
    from cospace.tokens import GeometryOptions, TokenOptions, measure_geometry, read_reference

    given = typed(ctx)
    for name, needed in _NEEDS.items():
        if name in given and needed not in given:
            raise InputError(
                f"{given[name]} says how, and --{needed} was not asked for: add it, or leave {given[name]} out."
            )
    for name in ("text", "occurrences"):
        if name in given and "text" not in context.split(","):
            raise InputError(
                f"{given[name]} is for tokens in a text, and --context is {context!r}: add text to it, or leave "
                f"{given[name]} out."
            )
    options = TokenOptions(
        sample=sample,
        draws=draws,
        tokens=some,
        k=k,
        reg=reg,
        metric=metric,  # type: ignore[arg-type] # checked there
        among="all" if all_rows else "named",
        dimension_tokens=dimension_tokens,
        dimension_k=_numbers(dimension_k, "--dimension-k", int),
        rng=rng,
    )
    extra = GeometryOptions(
        coherence=coherence,
        coherence_tokens=coherence_tokens,
        frequency=frequency,
        undertrained=undertrained,
        verify=verify,
        depths=_numbers(depths, "--depths", float),
        contexts=tuple(word.strip() for word in context.split(",")),  # type: ignore[misc]
        text=text,
        hidden_tokens=hidden_tokens,
        occurrences=occurrences,
    )
    lists = _named(reference, "--reference", "MODEL=FILE")
    target, page = check_writable(save, list(lists.values())), check_writable(report)
    known_unused = {
        name: _stretches(words) for name, words in _named(unused, "--unused", "MODEL=ID,ID").items()
    }
    read = _read(models, accept) if known_unused else []
    rows = {one.name: one.input.shape[0] for one in read}
    folder = neighbors if neighbors is not None else cache_folder() / "neighbors"
    try:
        with progress_bar() as progress:
            result = measure_geometry(
                read or models,
                options=options,
                extra=extra,
                references={name: read_reference(path) for name, path in lists.items()},
                unused={name: _ids(name, known_unused[name], rows) for name in known_unused},
                accept=accept or (),
                folder=folder,
                progress=_with_kept(progress),
            ).with_provenance(command=command_line(ctx))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped: finished neighbours are kept in {folder}, the same command goes on from them."
        ) from None
    if json:
        print_json(result)
    else:
        from cospace.cli.token_tables import print_geometry

        print_geometry(result)
    if target is not None:
        result.save(target)
        say(f"saved: {target}")
    if page is not None:
        from cospace.report import write_report

        say(f"report: {write_report(result, page)}")


def _with_kept(progress: Callable[[str, int, int], None]) -> Callable[[str, int, int], None]:
    """Say once for each search how much of it was there already."""
    begun: set[str] = set()

    def step(what: str, done: int, total: int) -> None:
        if what.startswith("neighbours") and what not in begun:
            begun.add(what)
            if done:
                say(f"{what}: those of {done:,} of {total:,} tokens are kept from an earlier run")
        progress(what, done, total)

    return step


def _numbers(text: str, option: str, kind: Any) -> tuple[Any, ...]:
    try:
        return tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        example = "50,100" if kind is int else "0,0.5,1"
        raise InputError(
            f"{option} is {text!r}; {what} with commas between them are expected, such as {example}."
        ) from None


def _named(words: list[str] | None, option: str, form: str) -> dict[str, str]:
    found = {}
    for word in words or ():
        name, sign, value = word.partition("=")
        if not (name and sign and value):
            raise InputError(f"{option} is {word!r}; {form} is expected.")
        found[name] = value
    return found


def _stretches(text: str) -> list[tuple[int, int]]:
    """First and last of each stretch of row numbers."""
    found: list[tuple[int, int]] = []
    for part in text.split(","):
        first, sign, last = part.partition("-")
        if not all(_is_row(each) for each in ((first, last) if sign else (first,))):
            raise InputError(
                f"--unused names the rows {text!r}; numbers and stretches such as 0,3-16 are expected."
            )
        if int(last or first) < int(first):
            raise InputError(
                f"--unused names the rows {part!r}, which end before they begin; the lower number goes first, "
                f"as in {last}-{first}."
            )
        found.append((int(first), int(last or first)))
    return found


def _is_row(text: str) -> bool:
    return text.isdecimal() and len(text) <= _DIGITS


def _ids(name: str, stretches: list[tuple[int, int]], rows: Mapping[str, int]) -> list[int]:
    """Row numbers, looked at before they are written out; the library knows names that are told apart."""
    most = rows.get(name, max(rows.values(), default=0))
    last = max(last for _, last in stretches)
    if last >= most and name in rows:
        raise InputError(
            f"--unused names row {last:,} of {name}, which has the rows 0 to {most - 1:,}: name rows among these."
        )
    return [i for first, last in stretches for i in range(first, min(last, most) + 1)]


def _read(models: list[str], accept: list[str] | None) -> list[Embeddings]:
    """Embeddings of the models."""
    from cospace.models.embeddings import read_embeddings

    return [read_embeddings(one, accept=accept or ()) for one in models]
