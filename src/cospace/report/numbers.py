"""The table of main numbers, and what each measure claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cospace.comparison.result import Cell, Comparison, MeasureFacts, SpaceFacts
from cospace.report.findings import Best
from cospace.report.scale import measure_scale
from cospace.report.verdicts import LEVEL, Reading, Readings, above_ceiling
from cospace.report.words import count, joined, number, p_text, plus_minus, span

__all__ = ["claims", "direction", "measures_table", "numbers_table"]


_OVER = {"groups": "over groups", "folds": "over folds"}
_SEARCH = {"label": "p (search)", "align": "num", "part": "rest", "short": "p (search)"}


def numbers_table(result: Comparison, bests: Sequence[Best], *, all_pairs: bool) -> dict[str, Any]:
    """Best pair of sites per pair of models and measure, or every pair where there are few."""
    spaces = {space.name: space for space in result.spaces}
    found = _all(result) if all_pairs else list(bests)
    groups: dict[str, list[list[Any]]] = {}
    searched = any(best.searched > 1 for best in found)
    scales = {
        m.name: measure_scale(m.kind, m.bounds, _values(result, m.name)) for m in result.measures
    }
    for best in found:
        ordered = sorted(best.models, key=[s.model for s in result.spaces].index)
        title = ordered[0] if ordered[0] == ordered[1] else joined(ordered)
        row = _row(best, spaces, scales[best.measure.name], searched=searched)
        groups.setdefault(title, []).append(row)
    columns = [
        {"label": "Measure"},
        {"label": "Source → target", "part": "ends"},
        {"label": "Value", "align": "num", "part": "value"},
        {"label": "Null, mean ± sd", "align": "num", "part": "rest", "short": "null"},
        {"label": "Dot: value; band: null", "part": "strip-cell"},
        {"label": "95 % interval", "align": "num", "part": "rest", "short": "95 %"},
        {"label": "p", "align": "num", "part": "rest", "short": "p"},
        *([_SEARCH] if searched else []),
        {"label": "n", "align": "num", "part": "rest", "short": "n"},
        {"label": "Reading", "part": "reading"},
    ]
    return {
        "kind": "table",
        "caption": "↑ higher is more alike, ↓ lower is more alike. Hollow dots cannot be told from "
        f"their null. The axis of each strip is the range of its measure.{_ceilings(found)}{_corrected(found)}"
        f"{_exact(found)}{_notes(found)}",
        "columns": columns,
        "stacks": True,
        "groups": [{"label": title, "rows": rows} for title, rows in groups.items()],
        "tall": len(found) > 60,
    }


def direction(measure: MeasureFacts) -> str:
    """Say which end of a measure means alike."""
    same = "" if measure.identical is None else f"{number(measure.identical, 0)} = identical; "
    return f"{same}{'higher' if measure.kind == 'similarity' else 'lower'} is more alike"


def claims(result: Comparison, measure: MeasureFacts) -> dict[str, Any]:
    """Facts of a measure as the catalogue claims them, and how it was run here."""
    cells = [cell for cell in result.cells if cell.measure == measure.name]
    items = [
        ["Kind", f"{measure.kind}: {direction(measure)}"],
        ["Range", _range(measure)],
        ["Symmetric", "yes" if measure.symmetric else "no: source → target"],
        ["Unchanged by", "; ".join(measure.invariant_to) or "nothing is claimed"],
        ["Run", "; ".join(_run(cells)) or "not run"],
        ["Defined in", measure.reference],
    ]
    return {"kind": "facts", "items": items}


def measures_table(result: Comparison) -> dict[str, Any]:
    """Claims of all measures as one table."""
    rows = []
    for measure in result.measures:
        cells = [cell for cell in result.cells if cell.measure == measure.name]
        rows.append(
            [
                {"text": measure.title, "note": measure.summary},
                direction(measure),
                _range(measure),
                "yes" if measure.symmetric else "no",
                "; ".join(measure.invariant_to) or "–",
                "; ".join(_run(cells)) or "not run",
                measure.reference,
            ]
        )
    names = ("Measure", "Direction", "Range", "Symmetric", "Unchanged by", "Run", "Defined in")
    return {
        "kind": "table",
        "caption": "What each measure claims of itself.",
        "columns": [{"label": name} for name in names],
        "groups": [{"label": None, "rows": rows}],
        "loose": True,
    }


def _row(
    best: Best, spaces: dict[str, SpaceFacts], scale: dict[str, Any], *, searched: bool
) -> list[Any]:
    cell, measure, verdict = best.cell, best.measure, best.reading
    arrow = "↑" if measure.kind == "similarity" else "↓"
    ways = [spaces[name].site or spaces[name].name for name in (cell.source, cell.target)]
    sign = "/" if measure.symmetric else "→"
    extra = f"of {count(best.searched, 'pair')}" if best.searched > 1 else ""
    if spaces[cell.source].site and not measure.symmetric and best.models[0] != best.models[1]:
        extra = ", ".join([f"{best.models[0]} → {best.models[1]}", *([extra] if extra else [])])
    low, high = scale["low"], scale["high"]
    if measure.bounds[0] is None or (measure.bounds[0] < 0 and (cell.value or 0) >= 0):
        low = min(0.0, *(v for v in (cell.value, cell.low, cell.null_mean, -0.05) if v is not None))
    return [
        {"text": f"{measure.title}\u00a0{arrow}", "note": "; ".join(_how(cell)), "head": True},
        {"text": f"{ways[0]} {sign} {ways[1]}", "note": extra},
        {
            "text": number(cell.value),
            "strong": True,
            "note": _ceiling(cell),
        },
        {
            "text": plus_minus(cell.null_mean, cell.null_sd),
            "note": "over all permutations" if cell.null_exact else "",
        },
        {
            "strip": {
                "value": cell.value,
                "null_mean": cell.null_mean,
                "null_sd": cell.null_sd,
                "low_end": cell.low,
                "high_end": cell.high,
                "low": low,
                "high": high,
                "tone": verdict.key,
            }
        },
        {"text": span(cell.low, cell.high), "note": _OVER.get(cell.interval or "", "")},
        p_text(cell.p),
        *([p_text(cell.p_search)] if searched else []),
        f"{cell.n:,}",
        {"text": cell.reason or "no reason was recorded", "quiet": True}
        if cell.value is None
        else {"text": verdict.words, "tone": verdict.key, "note": _for(verdict)},
    ]


def _for(verdict: Reading) -> str:
    if verdict.p is None or verdict.tests == 1:
        return ""
    return f"p {p_text(verdict.p)} for {count(verdict.tests, 'measure')}"


def _corrected(found: Sequence[Best]) -> str:
    several = [best.reading for best in found if best.reading.p is not None]
    if not several:
        return ""
    most = max(reading.tests for reading in several)
    level = f" at {LEVEL:g}" if most == 1 else f", corrected by Holm for the up to {most} measures "
    level += "" if most == 1 else f"tested on the same two models, at {LEVEL:g}"
    bare = any(b.cell.p_search is None and b.searched > 1 for b in found if b.cell.p is not None)
    what = "p (search)" if any(b.searched > 1 for b in found) and not bare else "p"
    if bare:
        what = "p times the number of pairs of sites searched"
    return f" Reading: {what}{level}; the columns show p before that correction."


def _ceilings(found: Sequence[Best]) -> str:
    if all(best.cell.ceiling is None for best in found):
        return ""
    return (
        " Ceiling: what other coordinates of the same kind, as many again, would reach, by split halves of the "
        "coordinates."
    )


def _ceiling(cell: Cell) -> str:
    if cell.ceiling is None:
        return ""
    return f"{'above its ' if above_ceiling(cell) else ''}ceiling {number(cell.ceiling)}"


def _exact(found: Sequence[Best]) -> str:
    if not any(best.cell.null_exact for best in found):
        return ""
    drawn = " p counts shuffles." if any(b.cell.null_exact and b.cell.draws for b in found) else ""
    tail = [b for b in found if b.cell.null_exact and b.cell.p is not None and not b.cell.draws]
    if tail:
        drawn += " Without shuffles p is the Pearson type III tail."
    return f" Nulls over all permutations are exact, in closed form.{drawn}"


def _notes(found: Sequence[Best]) -> str:
    notes: dict[tuple[str, bool], list[str]] = {}
    for best in found:
        if best.cell.note and best.cell.value is not None:
            titles = notes.setdefault((best.cell.note, best.cell.p is None), [])
            if best.measure.title not in titles:
                titles.append(best.measure.title)
    return "".join(
        f" {'No p for ' if bare else ''}{joined(titles)}: {note.rstrip('.')}."
        for (note, bare), titles in notes.items()
    )


def _all(result: Comparison) -> list[Best]:
    known = {m.name: m for m in result.measures}
    models = {s.name: s.model for s in result.spaces}
    judge = Readings(result)
    seen, found = set(), []
    order = {s.name: i for i, s in enumerate(result.spaces)}
    for cell in result.cells:
        measure = known[cell.measure]
        pair = (cell.source, cell.target)
        if cell.source == cell.target:
            continue
        mark = (cell.measure, *(sorted(pair) if measure.symmetric else pair))
        if mark not in seen:
            seen.add(mark)
            way = (models[cell.source], models[cell.target])
            found.append(Best(way, measure, cell, 1, judge(cell)))
    return sorted(found, key=lambda b: sorted((order[b.cell.source], order[b.cell.target])))


def _how(cell: Cell) -> list[str]:
    told = []
    if cell.reduced is not None:
        told.append(f"reduced={cell.reduced}")
    if cell.held_out:
        told.append("held out")
    return told


def _run(cells: Sequence[Cell]) -> list[str]:
    if not cells:
        return []
    valued = sum(cell.value is not None for cell in cells)
    told = [f"{valued:,} of {count(len(cells), 'cell')} with a value"]
    reduced = sorted({cell.reduced for cell in cells if cell.reduced is not None})
    if reduced:
        amount = str(reduced[0]) if len(reduced) == 1 else f"{reduced[0]} to {reduced[-1]}"
        told.append(f"on {amount} leading principal components (reduced={amount})")
    told.append("scored on held-out rows" if any(c.held_out for c in cells) else "in-sample")
    draws = sorted({cell.draws for cell in cells if cell.draws})
    if draws:
        told.append(f"{joined([f'{d:,}' for d in draws], 'or')} shuffles")
    return told


def _range(measure: MeasureFacts) -> str:
    low, high = measure.bounds
    start = "unbounded below" if low is None else f"from {number(low, 2 if low % 1 else 0)}"
    end = "unbounded above" if high is None else f"to {number(high, 2 if high % 1 else 0)}"
    return f"{start} {end}" if low is not None and high is not None else f"{start}, {end}"


def _values(result: Comparison, name: str) -> list[float]:
    return [
        v
        for c in result.cells
        if c.measure == name
        for v in (c.value, c.null_mean)
        if v is not None
    ]
