"""The page of shared spaces over depths and poolings: where one wins, ties and loses."""

from __future__ import annotations

from typing import Any

from cospace.report.facts import embed, repeated
from cospace.report.homotopy_tables import Table, table
from cospace.report.shared_space import called
from cospace.report.words import EMPTY, count, joined, number, span
from cospace.shared import SharedSweep, SweepCell
from cospace.shared.sweep import VERDICTS

__all__ = ["sweep_findings", "sweep_page"]

_TONES = {"wins": "above", "ties": "chance", "loses": "outside", "neither": "chance"}
_SERIES = (
    ("shared space", "value"),
    ("pairwise maps", "pairwise_value"),
    ("inside a model", "within"),
    ("words", "words"),
    ("raw", "raw"),
)


def sweep_page(result: SharedSweep) -> dict[str, Any]:
    """Reduce a sweep to a page; README.md of this package lists its keys."""
    told = sweep_findings(result)
    place = {id(cell): i for i, cell in enumerate(result.cells)}
    sections: list[dict[str, Any]] = []
    for i, label in enumerate(dict.fromkeys(one.set for one in result.cells)):
        cells = [one for one in result.cells if one.set == label]
        blocks: list[dict[str, Any]] = [_verdict_table(cells), _control_table(cells)]
        if panels := _panels(cells, place):
            caption = "Top-1 on held-out texts over relative depth, one panel a pooling; bars: 95 % interval."
            blocks.insert(0, {"kind": "curves", "panels": panels, "caption": caption})
        intro = f"{count(cells[0].n, 'query', 'queries')} that no fit saw, galleries of {cells[0].gallery}."
        sections.append(
            {
                "id": f"set-{i}",
                "title": called(label).capitalize(),
                "intro": intro,
                "blocks": blocks,
            }
        )
    if result.refused:
        rows = [
            [{"text": f"{r.pooling}, depth {r.depth:g}", "head": True}, r.reason]
            for r in result.refused
        ]
        sections.append(
            {
                "id": "refused",
                "title": "No space",
                "blocks": [
                    table("Refused, and why.", "Where", (("Why", "words", "why"),), [(None, rows)])
                ],
            }
        )
    sections.append(repeated(dict(result.settings), result.provenance, len(result.cells)))
    return {
        "kind": result.kind,
        "title": "Shared spaces over depth · cospace",
        "headline": told[0]["text"],
        "lead": f"{count(len(result.models), 'model')}: {joined(list(result.models))}; every fit on "
        f"{count(result.n, 'text')}.",
        "findings": told[1:],
        "warnings": [],
        "sections": sections,
        "data": {
            **embed(result.records(), kind=result.kind, schema=result.schema, levels={}),
            "key": ["set", "pooling", "depth"],
            "told": ["set", "pooling", "depth", "shared", "scaling", "value", "pairwise", "ahead"],
        },
    }


def sweep_findings(result: SharedSweep) -> list[dict[str, str]]:
    """What the numbers say, in sentences."""
    told = []
    for label in dict.fromkeys(one.set for one in result.cells):
        ours = [one for one in result.cells if one.set == label]
        found = {word: result.count(label, word) for word in VERDICTS}
        hard = {word: result.count(label, word, hardest=True) for word in VERDICTS}
        if not sum(found.values()):
            told.append(
                {"text": f"On {called(label)}, no pairwise maps were fitted.", "tone": "untested"}
            )
            continue
        text = (
            f"On {called(label)}, one shared space wins {found['wins']}, ties {found['ties']} and loses "
            f"{found['loses']} of {count(len(ours), 'place')} against the pairwise maps that inner folds chose; "
            f"against those that happened to be best on these texts {hard['wins']}, {hard['ties']} and {hard['loses']}."
        )
        if found["neither"] or hard["neither"]:
            text += f" In {found['neither']} and {hard['neither']} neither side can be told from chance."
        tone = "outside" if found["loses"] else "above" if found["wins"] else "chance"
        told.append({"text": text, "tone": tone})
        for one in ours:
            if one.verdict == "loses":
                told.append(
                    {
                        "text": f"On {called(label)}, {_where(one)}, it loses: {_ahead(one)}",
                        "tone": "outside",
                    }
                )
    if not told:
        told.append({"text": "No depth and pooling has a shared space.", "tone": "empty"})
    return told


def _where(one: SweepCell) -> str:
    return f"{one.pooling}, depth {one.depth:g}"


def _ahead(one: SweepCell) -> str:
    return (
        f"{number(one.value)} against {number(one.pairwise_value)} ({one.pairwise}), difference "
        f"{span(one.ahead_low, one.ahead_high)}."
    )


def _panels(cells: list[SweepCell], place: dict[int, int]) -> list[dict[str, Any]]:
    panels = []
    for pooling in dict.fromkeys(one.pooling for one in cells):
        here = sorted((c for c in cells if c.pooling == pooling), key=lambda c: c.depth)
        if len(here) < 2:
            continue
        series = []
        for label, key in _SERIES:
            points = []
            for one in here:
                value = getattr(one, key)
                if value is None:
                    continue
                point = {
                    "x": one.depth,
                    "y": value,
                    "title": f"{label}, {_where(one)}: {number(value)} (chance {number(one.chance)})",
                    "record": place[id(one)],
                }
                if key == "value":
                    point |= {
                        "low": one.low,
                        "high": one.high,
                        "tone": _TONES.get(one.verdict or "", "above"),
                    }
                points.append(point)
            if points:
                series.append({"label": label, "points": points})
        values = [one.value for one in here]
        panels.append(
            {
                "title": f"Pooled by {pooling}",
                "description": f"Top-1 of the shared space from {number(min(values))} to {number(max(values))} over "
                f"{count(len(here), 'depth')}.",
                "x_label": "relative depth",
                "low": 0.0,
                "high": 1.0,
                "series": series,
                "named": True,
            }
        )
    return panels


def _verdict_table(cells: list[SweepCell]) -> Table:
    groups: dict[str, list[list[Any]]] = {}
    for one in cells:
        verdict = one.verdict or EMPTY
        hardest = (
            EMPTY
            if one.hardest is None
            else f"{one.hardest_verdict} ({one.hardest}, {number(one.hardest_value)})"
        )
        groups.setdefault(f"Pooled by {one.pooling}", []).append(
            [
                {"text": f"{one.depth:g}", "head": True},
                {"text": number(one.value), "note": span(one.low, one.high), "strong": True},
                f"{one.shared}, {one.scaling}, {one.width}",
                {"text": number(one.pairwise_value), "note": one.pairwise or ""},
                EMPTY
                if one.ahead is None
                else {"text": number(one.ahead), "note": span(one.ahead_low, one.ahead_high)},
                {"text": verdict, "tone": _TONES.get(verdict, "untested")},
                hardest,
            ]
        )
    return table(
        "Top-1. Pairwise: the maps that did best on inner folds. Verdict: by the paired 95 % interval over texts; "
        "neither: no interval of the two lies above chance. "
        "Hardest: against the pairwise maps that happened to do best on these texts, which is biased against the "
        "shared space.",
        "Depth",
        (
            ("Shared", "value", ""),
            ("Chosen", "words", "chosen"),
            ("Pairwise", "rest", "pairwise"),
            ("Difference", "rest", "difference"),
            ("Verdict", "reading", ""),
            ("Hardest", "words", "hardest"),
        ),
        list(groups.items()),
    )


def _control_table(cells: list[SweepCell]) -> Table:
    groups: dict[str, list[list[Any]]] = {}
    for one in cells:
        groups.setdefault(f"Pooled by {one.pooling}", []).append(
            [
                {"text": f"{one.depth:g}", "head": True},
                *(
                    number(v)
                    for v in (
                        one.chance,
                        one.raw,
                        one.words,
                        one.within,
                        one.few_chance,
                        one.few,
                        one.group,
                        one.length,
                        one.shuffled,
                        one.shuffled_in_sample,
                    )
                ),
                f"{one.leading:.0%}",
            ]
        )
    return table(
        "Beside them. Small galleries: of any texts, of the query's group, of its length. Shuffled: after a fit on "
        "rows that do not belong together. Leading: largest share of variance along one direction in any model.",
        "Depth",
        (
            ("Chance", "rest", "chance"),
            ("Raw", "rest", "raw"),
            ("Words", "rest", "words"),
            ("Inside a model", "rest", "inside"),
            ("Chance, small", "rest", "chance, small"),
            ("Any", "rest", "any"),
            ("Group", "rest", "group"),
            ("Length", "rest", "length"),
            ("Shuffled, held out", "rest", "shuffled"),
            ("Shuffled, in-sample", "rest", "shuffled, in-sample"),
            ("Leading", "rest", "leading"),
        ),
        list(groups.items()),
    )
