"""Shared spaces and their scores as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cospace.cli.console import write
from cospace.cli.tables import EMPTY, aligned, wrapped
from cospace.report.words import number

if TYPE_CHECKING:
    from cospace.shared import Score, SharedScore, SharedSpace, SharedSweep, SweepCell

__all__ = ["print_score", "print_space", "print_sweep"]

AMONG = (("any", "any"), ("group", "group"), ("length", "length"))


def print_space(space: SharedSpace) -> None:
    """Print what was chosen, the models, and retrieval beside that of shuffled rows."""
    choice, search = space.choice_, space.search_
    ridge = f", ridge {choice.ridge:g}" if choice.method == "gcca" else ""
    write(
        [
            *wrapped(
                f"{len(space.names_)} models, {choice.n:,} texts: {choice.method}, scaling {choice.scaling}, width "
                f"{space.width_}{ridge}"
            ),
            *wrapped(f"why: {choice.why}"),
            "",
        ]
    )
    rows = [["model", "width", "used", "leading direction", "after scaling", "lost there and back"]]
    for one in space.members_.values():
        name = f"{one.name} (added)" if one.added else one.name
        rows.append(
            [
                name,
                f"{one.width}",
                f"{one.used}",
                f"{one.leading_share:.1%}",
                f"{one.leading_share_used:.1%}",
                f"{one.inverse_error:.1%}",
            ]
        )
    write([*aligned(rows, right=range(1, 6)), ""])
    if search.residual is not None:
        write(
            wrapped(
                f"search: {search.sweeps} sweeps, stopped: {search.stopped}, stationarity residual "
                f"{search.residual:.1e}"
            )
        )
    control = space.control_
    if control is not None:
        write(
            [
                *wrapped(
                    f"top-1 in a gallery of {control.gallery}: held out {number(control.held_out)}, in-sample "
                    f"{number(control.in_sample)}; after a fit on shuffled rows "
                    f"{number(control.shuffled_held_out)} and {number(control.shuffled_in_sample)}; chance "
                    f"{number(control.chance)}"
                )
            ]
        )
    for warning in space.warnings_:
        write(wrapped(warning, indent="  ", first="! "))


def print_score(result: SharedScore) -> None:
    """Print a table a set, small galleries, what was chosen, and warnings."""
    from cospace.report.shared_space import findings

    models = ", ".join(one.model for one in result.leading)
    write(
        [
            *wrapped(
                f"{len(result.leading)} models ({models}), fitted on {result.n:,} texts; galleries of "
                f"{result.gallery}; shared = {result.shared}"
            ),
            "",
        ]
    )
    for one in result.sets:
        what = "paraphrases" if one.paraphrases else "each text its own answer"
        write(wrapped(f"{one.name}: {one.n:,} held-out queries, {what}"))
        write([*_methods(result, one.name), ""])
    for one in result.sets:
        if lines := _galleries(result, one.name):
            write([*lines, ""])
    rows = [["method", "scaling", "width", "ridge", "inner top-1", "tried"]]
    for choice in result.choices:
        ridge = "by pair" if choice.by_pair is not None else f"{choice.ridge:g}"
        best = EMPTY if choice.best is None else number(choice.best.score)
        rows.append(
            [
                choice.method,
                choice.scaling,
                f"{choice.width}",
                ridge,
                best,
                f"{len(choice.candidates)}",
            ]
        )
    write([*aligned(rows, right=range(2, 6)), ""])
    for finding in findings(result):
        write(wrapped(finding["text"], indent="  ", first="- "))
    write(
        [
            "",
            *wrapped(
                "top-1 with its 95 % interval over texts, mean over ordered pairs of models. shared - this: paired "
                "95 % interval. shuffled: the same fit on rows that do not belong together, held out and in-sample."
            ),
        ]
    )
    for warning in result.warnings:
        write(wrapped(warning, indent="  ", first="! "))


def _methods(result: SharedScore, label: str) -> list[str]:
    rows = [
        [
            "method",
            "kind",
            "top-1",
            "95 %",
            "top-5",
            "MRR",
            "CSLS",
            "margin",
            "shared - this",
            "shuffled",
            "in-sample",
        ]
    ]
    known = {(s.method, s.set, s.sample, s.measure, s.among): s for s in result.scores}

    def top(name: str, at: str, sample: str, measure: str = "top1") -> Score | None:
        return known.get((name, at, sample, measure, "all"))

    names = dict.fromkeys(one.method for one in result.scores if one.set == label)
    for name in names:
        main = top(name, label, "held out")
        if main is None:
            continue
        rest = [top(name, label, "held out", m) for m in ("top5", "mrr", "csls", "margin")]
        held, inside = (
            top(name, label, "shuffled, held out"),
            top(name, "fit", "shuffled, in-sample"),
        )
        own = top(name, "fit", "in-sample")
        ahead = EMPTY
        if name != "shared":
            one = result.contrast(name, set=label)
            ahead = f"{_signed(one.value)} [{_signed(one.low)}, {_signed(one.high)}]"
        mixed = (
            EMPTY
            if held is None or inside is None
            else f"{number(held.value)} / {number(inside.value)}"
        )
        rows.append(
            [
                name,
                main.kind,
                number(main.value),
                f"{number(main.low)} to {number(main.high)}",
                *(EMPTY if one is None else number(one.value) for one in rest),
                ahead,
                mixed,
                EMPTY if own is None else number(own.value),
            ]
        )
    any_one = next(one for one in result.scores if one.set == label and one.among == "all")
    chance = {
        one.measure: EMPTY if one.chance is None else number(one.chance)
        for one in result.scores
        if (one.method, one.set, one.sample, one.among)
        == (any_one.method, label, any_one.sample, "all")
    }
    by_chance = [chance[m] for m in ("top5", "mrr", "csls", "margin")]
    rows.append(["chance", "exact", chance["top1"], "", *by_chance, "", "", ""])
    return aligned(rows, right=range(2, 11), indent="  ")


def _galleries(result: SharedScore, label: str) -> list[str]:
    """Top-1 where group or length cannot give the own text away."""
    few = [
        one
        for one in result.scores
        if one.set == label and one.measure == "top1" and one.among != "all"
    ]
    if not few:
        return []
    there = [(key, word) for key, word in AMONG if any(one.among == key for one in few)]
    known = {(one.method, one.among): one for one in few}
    rows = [["method", *(word for _, word in there)]]
    for name in dict.fromkeys(one.method for one in few):
        found = [known.get((name, key)) for key, _ in there]
        rows.append(
            [
                name,
                *(
                    EMPTY
                    if one is None
                    else f"{number(one.value)} [{number(one.low)}, {number(one.high)}]"
                    for one in found
                ),
            ]
        )
    rows.append(["chance", *(number(known[few[0].method, key].chance) for key, _ in there)])
    words = {
        "any": "any texts",
        "group": "texts of the same group",
        "length": "texts nearest in length",
    }
    told = ", ".join(f"{words[key]} ({known[few[0].method, key].n:,} queries)" for key, _ in there)
    head = f"{label}, top-1 in galleries of {few[0].gallery}: {told}"
    return [*wrapped(head), *aligned(rows, right=range(1, len(there) + 1), indent="  ")]


def _signed(value: float) -> str:
    return number(value) if value < 0 else f"+{number(value)}"


def print_sweep(result: SharedSweep) -> None:
    """Print a table a set: where the shared space wins, ties and loses, and where neither finds any."""
    from cospace.shared.sweep import VERDICTS

    write(
        [
            *wrapped(
                f"{len(result.models)} models ({', '.join(result.models)}), {result.n:,} texts in every fit; top-1 on "
                "held-out texts"
            ),
            "",
        ]
    )
    for label in dict.fromkeys(one.set for one in result.cells):
        ours = [one for one in result.cells if one.set == label]
        first = ours[0]
        write(
            wrapped(
                f"{label}: {first.n:,} queries, galleries of {first.gallery} (chance {number(first.chance)})"
            )
        )
        write([*sweep_table(ours), ""])
        told = [f"{result.count(label, v)} {v}" for v in VERDICTS]
        hard = [f"{result.count(label, v, hardest=True)} {v}" for v in VERDICTS]
        write(
            [
                *wrapped(
                    f"{label}: against the pairwise maps that inner folds chose, {', '.join(told)}; against those that "
                    f"happened to be best on these texts, {', '.join(hard)}. neither: no interval of the two is above "
                    "chance.",
                    indent="  ",
                    first="- ",
                ),
                "",
            ]
        )
    for one in result.refused:
        write(
            wrapped(
                f"depth {one.depth:g}, {one.pooling}: no space. {one.reason}",
                indent="  ",
                first="! ",
            )
        )


def sweep_table(cells: list[SweepCell]) -> list[str]:
    """One line a depth and pooling."""
    rows = [
        [
            "pooling",
            "depth",
            "shared",
            "scaling",
            "top-1",
            "pairwise",
            "top-1",
            "shared - pairwise",
            "",
            "raw",
            "words",
            "in group",
            "of length",
            "of any",
            "shuffled",
            "leading",
        ]
    ]
    for one in cells:
        ahead = EMPTY
        if one.ahead is not None and one.ahead_low is not None and one.ahead_high is not None:
            ahead = f"{_signed(one.ahead)} [{_signed(one.ahead_low)}, {_signed(one.ahead_high)}]"
        rows.append(
            [
                one.pooling,
                f"{one.depth:g}",
                one.shared,
                one.scaling,
                number(one.value),
                one.pairwise or EMPTY,
                number(one.pairwise_value),
                ahead,
                one.verdict or EMPTY,
                *(
                    number(v)
                    for v in (
                        one.raw,
                        one.words,
                        one.group,
                        one.length,
                        one.few,
                        one.shuffled,
                        one.leading,
                    )
                ),
            ]
        )
    return aligned(rows, right=(1, 4, 6, 7, *range(9, 16)), indent="  ")
