"""``cospace steer transfer``: carry a steering vector to another model, beside its controls."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cospace.cli.console import check_writable, command_line, print_json, say, write
from cospace.cli.inputs import Accept, Device, Dtype, split
from cospace.cli.steer import (
    AsJson,
    Compared,
    Positions,
    Questions,
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
    from cospace.steering import MapSummary, SteeringVector, Transfer, TransferSweep

__all__ = ["transfer"]

MAPS = "Maps between the models"
PLAIN = "plain"
"""The set whose texts maps of activations are fitted on, unless others are named."""


def transfer(
    ctx: typer.Context,
    vector: Annotated[
        Path, typer.Argument(metavar="VECTOR", help="A file that 'cospace steer build' wrote.")
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET_MODEL",
            help="The decoder that it is carried to: packaged name, folder, GGUF file, or hub id.",
        ),
    ],
    items: Questions,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="MODEL",
            help="The vector's own model, where it lies elsewhere now.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Pairs of texts that the vector was made from, to make the target's own vector from; by "
            "default the questions that it was made from.",
            show_default=False,
        ),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            "--layers",
            metavar="SITES",
            help="Sites of the target: block.3, block.-1, depths such as 0.5; several, by commas, are all "
            "scored. By default that of the same relative depth.",
            show_default=False,
        ),
    ] = None,
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
    ] = 10,
    most: Annotated[
        int | None,
        typer.Option(
            "--questions",
            metavar="N",
            help="Score N of the questions that the vector has not seen; by default all.",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        int, typer.Option(metavar="N", help="Random maps, and random directions.")
    ] = 1,
    rng: Annotated[int, typer.Option("--rng", metavar="SEED", help="Seed.")] = 0,
    kinds: Annotated[
        str,
        typer.Option(
            "--map",
            metavar="KINDS",
            help="By commas: embeddings, of the tokens that the models share; activations, of shared texts.",
            rich_help_panel=MAPS,
        ),
    ] = "embeddings",
    method: Annotated[
        str | None,
        typer.Option(
            "--map-method",
            metavar="NAME",
            help="least_squares, affine, ridge or orthogonal; by default least_squares of embeddings, "
            "ridge of activations.",
            show_default=False,
            rich_help_panel=MAPS,
        ),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            "--tokens",
            metavar="N",
            help="Shared tokens drawn for the fit; by default all.",
            show_default=False,
            rich_help_panel=MAPS,
        ),
    ] = None,
    texts: Annotated[
        str,
        typer.Option(
            "--texts",
            metavar="FILE",
            help="Texts of the fit on activations: a file, or a name that 'cospace corpus' lists.",
            rich_help_panel=MAPS,
        ),
    ] = PLAIN,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            help="Read a random subset of N of them.",
            show_default=False,
            rich_help_panel=MAPS,
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            "--into",
            metavar="FILE",
            help="Write the carried vector, through the first map, at the chosen site.",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        str | None, typer.Option(metavar="FILE", help="Save the result.", show_default=False)
    ] = None,
    report: Report = None,
    json: AsJson = False,
    dtype: Dtype = "float32",
    device: Device = "auto",
    accept: Accept = None,
) -> None:
    """Carry a steering vector to another model, and score it there beside its controls.

    A random map, shuffled rows and a random direction should do less; the target's own vector is
    the ceiling.
    """
    from cospace.corpora import open_corpus
    from cospace.steering import MapPlan, carry, read_items, read_pairs, unseen_items
    from cospace.steering.carry import check_rows
    from cospace.steering.score import check_answers
    from cospace.steering.transfer import check_draws
    from cospace.steering.vector import SteeringVector

    read: list[str | Path] = [vector, items, *([pairs] if pairs else [])]
    outputs: list[Path | None] = [check_writable(path, read) for path in (into, save, report)]
    values = numbers_of(coefficients, "--coefficients", float)
    where = positions_of(positions)
    check_draws(draws)
    check_answers(answers)
    plain = neutral_texts(neutral)
    wanted = tuple(split(kinds))
    needs_texts = "activations" in wanted
    _check_options(wanted, tokens=tokens, texts=texts, limit=limit)
    known = SteeringVector.load(vector)
    questions = read_items(items)
    contrast = None if pairs is None else read_pairs(pairs, token=known.token)
    if contrast is None and len(unseen_items(known, questions)) == len(questions):
        raise InputError(
            f"{vector} was made from none of the questions of {items}: name the texts that it was made from with "
            "--pairs, to make the target's own vector from."
        )
    plan = MapPlan(
        kinds=wanted,  # type: ignore[arg-type]  # told by the library
        embedding_method=method or "least_squares",  # type: ignore[arg-type]
        activation_method=method or "ridge",  # type: ignore[arg-type]
        tokens=tokens,
        texts=open_corpus(texts, limit=limit).texts if needs_texts else (),
        accept=tuple(accept or ()),
    )
    check_rows(plan, known.width)
    own = source or known.provenance.get("reference")
    if own is None:
        raise InputError(f"{vector} does not say where its model lies: name it with --source.")
    first = decoder_of(str(own), dtype, device, accept)
    found, vectors = carry(
        known,
        source=first,
        target=decoder_of(target, dtype, device, accept),
        questions=questions,
        coefficients=values,
        contrast=contrast,
        sites=None if layers is None else split(layers),
        plan=plan,
        most=most,
        seed=rng,
        progress=say,
        neutral=plain,
        positions=where,
        answers=answers,
        draws=draws,
    )
    found = found.with_provenance(command=command_line(ctx))
    _keep(found, vectors[plan.kinds[0]], outputs)
    for warning in found.warnings:
        say(warning)
    if json:
        print_json(found)
    else:
        write(_told(found))


def _check_options(
    wanted: Collection[str], *, tokens: int | None, texts: str, limit: int | None
) -> None:
    """Refuse what belongs to a map that is not asked for."""
    told = {
        "--tokens": ("embeddings", None if tokens is None else str(tokens)),
        "--texts": ("activations", None if texts == PLAIN else texts),
        "--limit": ("activations", None if limit is None else str(limit)),
    }
    for option, (kind, value) in told.items():
        if value is not None and kind not in wanted:
            raise InputError(
                f"{option} {value} is for a map of {kind}, which is not asked for: add it to --map, or leave {option} "
                "out."
            )


def _keep(found: TransferSweep, vector: SteeringVector, outputs: list[Path | None]) -> None:
    into, save, report = outputs
    if into is not None:
        vector.save(into)
        say(f"saved: {into}")
    keep(found, save, report)


def _told(found: TransferSweep) -> list[str]:
    first = found.transfers[0]
    curve = first.conditions[0].curve
    way = f"{found.source}, {found.source_site} → {found.target}: {found.vector['method']}"
    lines = [
        *wrapped(
            f"{visible(way)}, {curve.n} questions by their {curve.answers}, coefficients in units of the {curve.unit}"
        ),
        "",
        *aligned([_MAP_HEAD, *map(_map_row, found.maps)], range(3, 9)),
        *(
            line
            for one in found.maps
            for warning in one.warnings
            for line in wrapped(f"{one.name}: {warning}", indent="  ", first="! ")
        ),
        *wrapped("R2 says how well rows are mapped, and nothing of how well the vector steers."),
        "",
    ]
    lines += aligned(_curve_rows(found), range(3, 20))
    lines += ["", *_reading(found), ""]
    lines += _nearest(found)
    return lines


_MAP_HEAD = [
    "map",
    "to",
    "fit",
    "rows",
    "rank",
    "condition",
    "R2 fitted",
    "R2 held out",
    "retrieval (chance)",
]


def _map_row(one: MapSummary) -> list[str]:
    retrieval = EMPTY
    if one.retrieval is not None and one.retrieval_chance is not None:
        retrieval = f"{one.retrieval:.3f} ({one.retrieval_chance:.2g})"
    return [
        one.name,
        one.site or "any site",
        one.method,
        f"{one.n:,}",
        f"{one.rank} of {min(one.width, one.target_width)}",
        f"{one.condition:.3g}",
        f"{one.r2:.3f}",
        EMPTY if one.held_out_r2 is None else f"{one.held_out_r2:.3f}",
        retrieval,
    ]


def _curve_rows(found: TransferSweep) -> list[list[str]]:
    points = found.transfers[0].conditions[0].curve.points
    side = any(p.perplexity is not None for p in points)
    rows = [["map", "layer", "vector", "cosine", *(f"{p.coefficient:g}" for p in points)]]
    rows[0] += ["span", "Spearman", *(["perplexity"] if side else [])]
    for each in found.transfers:
        mark = " *" if found.chosen.get(each.map_name) == each.site else ""
        for one in each.conditions:
            rank = EMPTY if one.curve.spearman is None else f"{one.curve.spearman:.2f}"
            row = [each.map_name, f"{each.site}{mark}", one.condition, f"{one.cosine:.2f}"]
            row += [f"{p.score:.3f}" for p in one.curve.points]
            row += [f"{one.curve.span:+.3f}", rank]
            if side:
                ends = [p.perplexity or 0.0 for p in (one.curve.points[0], one.curve.points[-1])]
                row.append(f"{ends[0]:.1f}, {ends[1]:.1f}")
            rows.append(row)
    return rows


def _reading(found: TransferSweep) -> list[str]:
    lines = []
    for name in found.names:
        each = found.transfer(name)
        lines += wrapped(_verdict(each))
    if found.chosen:
        lines += wrapped(
            f"*: the layer where the carried vector moves {found.chosen_on} other questions most; the target's own "
            f"does so at {found.chosen['native']}."
        )
    if not found.same_texts:
        lines += wrapped(
            "The target's own vector was not made from the very texts of this vector: it is a ceiling of another make."
        )
    return lines


def _verdict(each: Transfer) -> str:
    moved = each.condition("transferred").curve
    text = f"{each.map_name}, {each.site}: span {moved.span:+.3f}"
    if moved.span_interval is not None:
        low, high = moved.span_interval
        text += f" ({low:+.3f} to {high:+.3f} over questions)"
    if each.recovered is not None:
        text += f", {each.recovered:.2f} of the target's own"
    gaps = []
    for control in each.conditions:
        gap = each.excess(control.condition)
        if control.condition not in ("transferred", "native") and gap is not None:
            gaps.append(f"{control.condition} {gap[0]:+.3f} ({gap[1]:+.3f} to {gap[2]:+.3f})")
    text += f"; above {'; '.join(gaps)}." if gaps else "."
    number = sum(one.condition.startswith("random_") for one in each.conditions)
    return f"{text} Against {number} random pushes: p = {each.p_random:.2g} (--draws for more)."


def _nearest(found: TransferSweep) -> list[str]:
    def words(tokens: tuple[str, ...]) -> str:
        return " ".join(visible(token) for token in tokens)

    each = found.transfers[0]
    lines = ["nearest tokens"]
    rows = [[f"  in {found.source}", words(each.nearest_at_source)]]
    for name in found.names:
        one = found.transfer(name).condition("transferred")
        rows.append([f"  carried by {name}", words(one.nearest)])
    own = found.transfer(found.names[0]).condition("native")
    rows.append([f"  {found.target}'s own", words(own.nearest)])
    return lines + aligned(rows, [])
