"""``cospace steer``: make a steering vector of a behaviour, and see what it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cospace.cli.console import check_writable, command_line, print_json, say, write
from cospace.cli.inputs import Accept, Device, Dtype
from cospace.cli.tables import aligned, wrapped
from cospace.errors import InputError

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder
    from cospace.result import Result
    from cospace.steering import SteeringCurve, SteeringVector

__all__ = ["build", "decoder_of", "keep", "neutral_texts", "numbers_of", "positions_of", "score"]

Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A decoder: packaged name, folder, GGUF file, or hub id."),
]
Questions = Annotated[
    str,
    typer.Option(
        "--items",
        metavar="FILE",
        help="Questions with two answers: a packaged behaviour, or a JSON file of question, "
        "answer_matching_behavior, answer_not_matching_behavior.",
    ),
]
Compared = Annotated[
    str,
    typer.Option(
        "--answers",
        metavar="HOW",
        help="Compare answers by their letters, or by their texts (for models too small for letters).",
    ),
]
Positions = Annotated[
    str,
    typer.Option(
        "--positions",
        metavar="WHICH",
        help="Tokens: all, or by commas; -1 is the last of a prompt.",
    ),
]
Report = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE", help="Write the report, an HTML file.", show_default=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def build(
    model: Model,
    into: Annotated[
        str, typer.Option("--into", metavar="FILE", help="Where the vector is written.")
    ],
    items: Questions,
    sites: Annotated[
        str,
        typer.Option(
            metavar="SITES",
            help="block.3, block.-1, a depth such as 0.5; several, by commas, are compared on some of "
            "the questions, and the best is taken.",
        ),
    ] = "0.5",
    method: Annotated[
        str,
        typer.Option(metavar="NAME", help="mean_difference, trimmed_difference, pca, or probe."),
    ] = "mean_difference",
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Pairs of texts to build from instead: a packaged behaviour, or a JSONL file of positive "
            "and negative. The questions then only choose the site.",
            show_default=False,
        ),
    ] = None,
    share: Annotated[
        float,
        typer.Option(
            metavar="SHARE", help="Of the questions; the rest is left for 'cospace steer score'."
        ),
    ] = 0.7,
    answers: Compared = "letters",
    json: AsJson = False,
    dtype: Dtype = "float32",
    device: Device = "auto",
    accept: Accept = None,
) -> None:
    """Make a steering vector from questions with two answers."""
    from cospace.steering import build_chosen, read_items, read_pairs
    from cospace.steering.score import check_answers

    path = check_writable(into, [items, *([pairs] if pairs else [])])
    check_answers(answers)
    questions = read_items(items)
    contrast = None if pairs is None else read_pairs(pairs)
    decoder = decoder_of(model, dtype, device, accept)
    vector, curves = build_chosen(
        decoder,
        questions,
        sites=[site.strip() for site in sites.split(",")],
        method=method,  # type: ignore[arg-type]  # told by the library
        share=share,
        answers=answers,  # type: ignore[arg-type]
        contrast=contrast,
    )
    vector.save(path)
    for warning in vector.warnings:
        say(warning)
    say(f"saved: {path}")
    if json:
        print_json([{**vector.to_dict(), "sites": [curve.to_dict() for curve in curves]}])
        return
    write(
        [
            f"{vector.model}, {vector.site}: {vector.method} of {vector.provenance['positive']} pairs",
            f"norm {vector.norm:.4g}, {vector.norm / vector.spread:.3f} of the states' spread; cosine to the mean "
            f"difference {vector.provenance['cosine_to_mean_difference']:.3f}",
            *_held_out(vector),
        ]
    )
    if curves:
        rows = [[curve.site, f"{curve.span:+.4f}"] for curve in curves]
        number = curves[0].n
        write(
            [
                "",
                f"score at 1 minus score at -1, on {number} questions that it was not made from:",
            ]
        )
        write(aligned([["site", "span"], *rows], [1]))


def _held_out(vector: SteeringVector) -> list[str]:
    """What a probe does to pairs that it did not see; nothing for other methods."""
    made = vector.provenance
    if made.get("held_out_separation") is None:
        return []
    return wrapped(
        f"probe on {made['probe_components']} components; of {made['held_out_pairs']} held-out pairs "
        f"{made['held_out_separation']:.3f} in the right order, p = {made['held_out_p']:.2g}"
    )


def score(
    ctx: typer.Context,
    model: Model,
    vector: Annotated[
        Path, typer.Argument(metavar="VECTOR", help="A file that 'cospace steer build' wrote.")
    ],
    items: Questions,
    coefficients: Annotated[
        str,
        typer.Option(metavar="NUMBERS", help="By commas, in units of the spread of the states."),
    ] = "-3,-2,-1,0,1,2,3",
    positions: Positions = "all",
    answers: Compared = "letters",
    neutral: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Sentences of the set 'plain' whose perplexity is given."
        ),
    ] = 20,
    draws: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Random directions beside it, at the same norms and the two end coefficients; 19 or more test it.",
        ),
    ] = 0,
    rng: Annotated[int, typer.Option("--rng", metavar="SEED", help="Seed of these.")] = 0,
    save: Annotated[
        str | None, typer.Option(metavar="FILE", help="Save the result.", show_default=False)
    ] = None,
    report: Report = None,
    json: AsJson = False,
    dtype: Dtype = "float32",
    device: Device = "auto",
    accept: Accept = None,
) -> None:
    """Score a steering vector on questions that it was not made from."""
    from cospace.steering import SteeringVector, read_items, steering_curve, unseen_items
    from cospace.steering.score import check_answers

    path, page = (check_writable(given, [vector, items]) for given in (save, report))
    values = numbers_of(coefficients, "--coefficients", float)
    where = positions_of(positions)
    check_answers(answers)
    known = SteeringVector.load(vector)
    questions = unseen_items(known, read_items(items))
    texts = neutral_texts(neutral)
    decoder = decoder_of(model, dtype, device, accept)
    found = steering_curve(
        decoder,
        known,
        questions,
        values,
        neutral=texts,
        positions=where,
        answers=answers,  # type: ignore[arg-type]
        draws=draws,
        seed=rng,
    ).with_provenance(command=command_line(ctx), vector=known.to_dict())
    keep(found, path, page)
    for warning in found.warnings:
        say(warning)
    if json:
        print_json(found)
    else:
        write(_table(found))


def _table(curve: SteeringCurve) -> list[str]:
    rows = [
        [
            f"{p.coefficient:g}",
            f"{p.score:.4f}",
            "" if p.mass is None else f"{p.mass:.3f}",
            "" if p.perplexity is None else f"{p.perplexity:.2f}",
        ]
        for p in curve.points
    ]
    lines = [
        f"{curve.model}, {curve.site}: {curve.method}, {curve.n} questions by their {curve.answers}",
        *aligned([["coefficient", "score", "P(A) + P(B)", "perplexity"], *rows], range(4)),
        f"{_rank(curve)}; a score of 0.5 is no preference",
    ]
    p = curve.p_random
    if p is not None:
        spans = curve.random_spans
        lines += wrapped(
            f"span {curve.span:+.4f}; {len(spans)} random directions at the same norms {min(spans):+.4f} to "
            f"{max(spans):+.4f}: p = {p:.2g}"
        )
    return lines


def _rank(curve: SteeringCurve) -> str:
    from cospace.steering.curve import RANKED

    number = len(curve.points)
    if number < RANKED:
        given = "1 coefficient was" if number == 1 else f"{number} coefficients were"
        return f"no rank correlation: {given} scored, and it needs at least {RANKED}"
    if curve.spearman is None:
        return "rank correlation of score and coefficient: none, the score does not move"
    return f"rank correlation of score and coefficient: {curve.spearman:.3f}"


def keep(found: Result, path: Path | None, page: Path | None) -> None:
    """Save a result, and write its report, where they were asked for."""
    if path is not None:
        found.save(path)
        say(f"saved: {path}")
    if page is not None:
        from cospace.report import write_report

        say(f"report: {write_report(found, page)}")


def decoder_of(model: str, dtype: str, device: str, accept: list[str] | None) -> Decoder:
    """Load the decoder that was named."""
    from cospace.models.decoder import load_decoder

    return load_decoder(model, dtype=dtype, device=device, accept=accept or ())  # type: ignore[arg-type]


def positions_of(text: str) -> Any:
    """Read tokens: ``all``, or numbers, each once.

    Raises
    ------
    InputError
        For what is no number, or one that is named twice.
    """
    from cospace.steering.reach import named_tokens

    if text == "all":
        return text
    found = numbers_of(text, "--positions", int)
    named_tokens(found)
    return found


def neutral_texts(number: int) -> tuple[str, ...]:
    """Sentences of the set ``plain``.

    Raises
    ------
    InputError
        For more than there are.
    """
    from cospace.corpus import Corpus

    found = Corpus.read("plain").texts
    if number > len(found):
        raise InputError(
            f"--neutral {number}: the set 'plain' has {len(found)} sentences; ask for that many or fewer."
        )
    return found[:number]


def numbers_of(text: str, option: str, kind: Any) -> list[Any]:
    """Read numbers that are separated by commas.

    Raises
    ------
    InputError
        For what is no number.
    """
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise InputError(f"{option} {text}: {what}, separated by commas, are expected.") from None
