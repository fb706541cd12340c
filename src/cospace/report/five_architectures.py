"""The page of a five-architectures study: agreement, shared space, router, each as on a page of its own."""

from __future__ import annotations

from typing import Any

from cospace.report.correspondence import correspondence_page
from cospace.report.facts import embed, repeated
from cospace.report.homotopy_tables import Table, table
from cospace.report.route import route_page
from cospace.report.words import EMPTY, count, joined, number, span
from cospace.shared.sweep import SharedSweep, SweepCell
from cospace.studies.five_architectures.result import FiveArchitectures

__all__ = ["five_architectures_page"]

Page = dict[str, Any]


def five_architectures_page(result: FiveArchitectures) -> Page:
    """Reduce a study to a page; README.md of this package lists its keys."""
    result = type(result).from_dict(result.to_dict())  # numbers that are not finite become None
    parts: dict[str, Page] = {
        "Agreement": correspondence_page(result.correspondence),
        "Shared space": _sweep_page(result.sweep),
    }
    if result.routing is not None:
        parts["Router"] = route_page(result.routing)
    records = result.records()
    sections = [
        _moved(section, f"{name}: ", f"part-{i}-")
        for i, (name, page) in enumerate(parts.items())
        for section in page["sections"]
        if section["id"] != "repeat"
    ]
    sections.append(repeated(dict(result.settings), result.provenance, len(records)))
    told = [
        {"text": f"{name}. {page['headline']}", "tone": "untested"} for name, page in parts.items()
    ]
    return {
        "kind": result.kind,
        "title": f"{result.title[:120]} · cospace",
        "headline": parts["Shared space"]["headline"],
        "lead": f"{result.title.rstrip('.')}: {count(len(result.models), 'model')}, {joined(list(result.models))}.",
        "findings": [told[0], *told[2:], *(f for page in parts.values() for f in page["findings"])],
        "warnings": list(dict.fromkeys(w for page in parts.values() for w in page["warnings"])),
        "sections": sections,
        "data": embed(records, kind=result.kind, schema=result.schema, levels={}),
    }


def _sweep_page(sweep: SharedSweep) -> Page:
    """Where the shared space wins, ties and loses."""
    sets = list(dict.fromkeys(cell.set for cell in sweep.cells))
    found = [{"text": _told(sweep, name), "tone": _tone(sweep, name)} for name in sets]
    blocks: list[dict[str, Any]] = [_sweep_table(sweep, name) for name in sets]
    blocks += [
        {"kind": "text", "text": f"Depth {one.depth:g}, pooled by {one.pooling}: {one.reason}"}
        for one in sweep.refused
    ]
    section = {
        "id": "sweep",
        "title": "against maps between pairs of models",
        "intro": "A space of all models, fitted to some texts, and whether they find each other’s other texts in it.",
        "blocks": blocks,
    }
    return {
        "headline": found[0]["text"] if found else "There is no shared space at any depth.",
        "findings": found[1:],
        "warnings": [],
        "sections": [section],
    }


def _told(sweep: SharedSweep, name: str) -> str:
    cells = [cell for cell in sweep.cells if cell.set == name]
    best = max(cells, key=lambda cell: cell.value)
    counts = joined(
        [f"{word} {sweep.count(name, word)} times" for word in ("wins", "ties", "loses")]
    )
    nothing = sweep.count(name, "neither")
    unseen = f" ({nothing} times neither side is told from chance)" if nothing else ""
    return (
        f"The shared space on {name}: of {count(len(cells), 'depth and pooling', 'depths and poolings')} it {counts} "
        f"against the best maps between pairs{unseen}; most at depth {best.depth:g}, {best.pooling}: "
        f"{number(best.value)}, by chance {number(best.chance)}."
    )


def _tone(sweep: SharedSweep, name: str) -> str:
    if sweep.count(name, "loses"):
        return "outside"
    return "above" if sweep.count(name, "wins") else "chance"


def _sweep_table(sweep: SharedSweep, name: str) -> Table:
    groups: dict[str, list[list[Any]]] = {}
    cells = [cell for cell in sweep.cells if cell.set == name]
    for cell in cells:
        groups.setdefault(f"Pooled by {cell.pooling}", []).append(_row(cell))
    first = cells[0]
    return table(
        f"{name}: top-1 over all ordered pairs of models among {first.gallery:,} texts that no fit has seen. Ahead: "
        "less the maps between pairs that did best on inner folds, with the paired 95 % interval over texts; "
        "neither: no interval of the two lies above chance. Shuffled: after a fit on rows that do not belong "
        "together, in-sample in brackets. Words: a bag of words.",
        "Depth",
        (
            ("Shared", "value", ""),
            ("Interval", "rest", "interval"),
            ("Pairs", "rest", "pairs"),
            ("Ahead", "rest", "ahead"),
            ("Reading", "reading", ""),
            ("Raw", "rest", "raw"),
            ("Words", "rest", "words"),
            ("Shuffled", "rest", "shuffled"),
            ("Chance", "rest", "chance"),
        ),
        list(groups.items()),
    )


def _row(cell: SweepCell) -> list[Any]:
    def text(value: float | None) -> str:
        return EMPTY if value is None else number(value)

    tones = {"wins": "above", "loses": "warn"}
    return [
        {
            "text": f"{cell.depth:g}",
            "note": f"{cell.shared}, {cell.scaling}, width {cell.width}",
            "head": True,
        },
        {"text": number(cell.value), "strong": True},
        span(cell.low, cell.high),
        {"text": text(cell.pairwise_value), "note": cell.pairwise or ""},
        EMPTY if cell.ahead_low is None else span(cell.ahead_low, cell.ahead_high),
        {"text": cell.verdict or EMPTY, "tone": tones.get(cell.verdict or "", "chance")},
        text(cell.raw),
        text(cell.words),
        f"{text(cell.shuffled)} ({text(cell.shuffled_in_sample)})",
        number(cell.chance),
    ]


def _moved(section: Page, title: str, prefix: str) -> Page:
    """A section of another page: under this title, and pointing at none of this page's records."""
    return {
        **section,
        "id": prefix + section["id"],
        "title": title + section["title"],
        "blocks": [_unpointed(block) for block in section["blocks"]],
    }


def _unpointed(value: Any) -> Any:
    """The same block without places in the data of the page that it was made for."""
    if isinstance(value, dict):
        kept = {key: _unpointed(item) for key, item in value.items() if key != "record"}
        if kept.get("kind") == "map":
            kept["measure"] = None
        return kept
    if isinstance(value, list | tuple):
        return [_unpointed(item) for item in value]
    return value
