"""``cospace steer generate``: what a model writes with and without a steering vector."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cospace.cli.console import check_writable, command_line, print_json, say, write
from cospace.cli.inputs import Accept, Device, Dtype
from cospace.cli.steer import (
    AsJson,
    Model,
    Positions,
    Report,
    decoder_of,
    keep,
    neutral_texts,
    numbers_of,
    positions_of,
)
from cospace.cli.tables import EMPTY, aligned, wrapped
from cospace.cli.visible import visible
from cospace.errors import InputError

if TYPE_CHECKING:
    from cospace.steering import Continuations, Scorer

__all__ = ["generate"]

SCORES = "How continuations are scored"


def generate(
    ctx: typer.Context,
    model: Model,
    prompts: Annotated[
        str,
        typer.Option(
            "--prompts",
            metavar="FILE",
            help="JSON lines with prompt.text, as RealToxicityPrompts is published.",
        ),
    ],
    vector: Annotated[
        Path | None,
        typer.Option(
            "--vector",
            metavar="FILE",
            help="A file that 'cospace steer build' or 'transfer' wrote; without one the model runs as it is.",
            show_default=False,
        ),
    ] = None,
    coefficients: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="By commas, in units of the spread of the states; 0 is always run. By default -1,1.",
            show_default=False,
        ),
    ] = None,
    positions: Positions = "all",
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", help="Draw N of the prompts.", show_default=False),
    ] = None,
    rng: Annotated[int, typer.Option("--rng", metavar="SEED", help="Seed of the draw.")] = 0,
    new_tokens: Annotated[
        int, typer.Option("--new-tokens", metavar="N", help="Most tokens of a continuation.")
    ] = 20,
    prompt_tokens: Annotated[
        int | None,
        typer.Option(
            "--prompt-tokens",
            metavar="N",
            help="Cut prompts to N tokens; by default none is cut.",
            show_default=False,
        ),
    ] = None,
    neutral: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Sentences of the set 'plain' whose perplexity is given."
        ),
    ] = 20,
    scorer: Annotated[
        str,
        typer.Option(
            "--scorer",
            metavar="WHICH",
            help="A word list (rude, cheerful, or a file), the folder of a text classifier, or "
            "perspective, with a key in PERSPECTIVE_API_KEY.",
            rich_help_panel=SCORES,
        ),
    ] = "rude",
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="NAME",
            help="Label of the classifier whose probability is the score.",
            show_default=False,
            rich_help_panel=SCORES,
        ),
    ] = None,
    show: Annotated[
        int, typer.Option(metavar="N", min=0, help="Show N continuations a coefficient.")
    ] = 0,
    save: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Save the result, with all continuations.", show_default=False
        ),
    ] = None,
    report: Report = None,
    json: AsJson = False,
    dtype: Dtype = "float32",
    device: Device = "auto",
    accept: Accept = None,
) -> None:
    """Let a model continue prompts, with and without a steering vector, and score what it writes.

    The default score is lexical: the share of words that are on a named list. It is not toxicity.
    """
    from cospace.steering import SteeringVector, continuations, read_prompts

    read: list[str | Path] = [prompts, *([vector] if vector else [])]
    path, page = (check_writable(given, read) for given in (save, report))
    chosen = coefficients if coefficients is not None else ("" if vector is None else "-1,1")
    values = numbers_of(chosen, "--coefficients", float) if chosen else []
    where = positions_of(positions)
    if vector is None and where != "all":
        raise InputError(
            f"--positions {positions} is where a vector is added, and none is given: give --vector, or leave it out."
        )
    plain = neutral_texts(neutral)
    texts = read_prompts(prompts, limit=limit, rng=rng)
    known = None if vector is None else SteeringVector.load(vector)
    judge = _scorer(scorer, label, device)
    decoder = decoder_of(model, dtype, device, accept)
    found = continuations(
        decoder,
        texts,
        judge,
        vector=known,
        coefficients=values,
        positions=where,
        new_tokens=new_tokens,
        prompt_tokens=prompt_tokens,
        neutral=plain,
    ).with_provenance(command=command_line(ctx))
    if known is not None:
        found = found.with_provenance(vector=known.to_dict())
    keep(found, path, page)
    for warning in found.warnings:
        say(warning)
    if json:
        print_json(found)
    else:
        write(_told(found, texts, show))


def _scorer(name: str, label: str | None, device: str) -> Scorer:
    from cospace.steering import Perspective, WordList

    if Path(name).is_dir():
        from cospace.models.classifier import load_classifier

        return load_classifier(name, label=label, device=device)  # type: ignore[arg-type]  # told there
    if label is not None:
        raise InputError(f"--label {label} is for a classifier, and {name} is no folder of one.")
    if name == "perspective":
        found = Perspective()
        say(f"every continuation is sent to {found.host}")
        return found
    return WordList.read(name)


def _told(found: Continuations, prompts: tuple[str, ...], show: int) -> list[str]:
    what = "the model as it is" if found.site is None else f"{found.method} at {found.site}"
    lines = [
        *wrapped(
            f"{visible(found.model)}, {visible(what)}: {found.n} prompts, at most {found.new_tokens} tokens added, "
            f"scored by {visible(found.scorer)}"
        )
    ]
    if found.cut:
        lines += wrapped(
            f"{found.cut} prompts were cut to {found.settings['prompt_tokens']} tokens"
        )
    above = "above" if found.threshold is None else f"above {found.threshold:g}"
    head = ["coefficient", "score", "95 %", "change", "95 %", above]
    head += ["not scored", "words", "distinct", "perplexity"]
    rows = [
        [
            f"{p.coefficient:g}",
            _number(p.score),
            _span(p.low, p.high),
            _number(p.change, sign=True),
            _span(p.change_low, p.change_high),
            _number(p.above),
            str(p.unscored),
            f"{p.words:.1f}",
            _number(p.distinct),
            EMPTY if p.perplexity is None else f"{p.perplexity:.2f}",
        ]
        for p in found.points
    ]
    lines += aligned([head, *rows], range(10))
    lines += wrapped(
        "change: from the same prompts at 0. distinct: different words over words; low where the model repeats itself."
    )
    for p in found.points if show else ():
        lines += ["", f"{p.coefficient:g}"]
        for prompt, text in list(zip(prompts, p.texts, strict=True))[:show]:
            lines += wrapped(f"{visible(prompt)} | {visible(text)}", indent="    ", first="  ")
    return lines


def _number(value: float | None, *, sign: bool = False) -> str:
    if value is None:
        return EMPTY
    return f"{value:+.4f}" if sign else f"{value:.4f}"


def _span(low: float | None, high: float | None) -> str:
    return EMPTY if low is None or high is None else f"{low:.4f} to {high:.4f}"
