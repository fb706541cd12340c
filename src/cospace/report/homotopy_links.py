"""Whether an intrinsic measure predicts an extrinsic distance: scatters and their correlations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cospace.measures import CATALOGUE
from cospace.report.homotopy_findings import probe_reading
from cospace.report.homotopy_prediction import EXTRINSIC, Prediction, there
from cospace.report.homotopy_tables import Table, table
from cospace.report.words import EMPTY, count, number, p_text, span
from cospace.studies.affine_homotopy.result import AffineHomotopyStudy, Link

__all__ = ["link_table", "measure_title", "scatters"]

Places = Mapping[tuple[float, str, str], int]
"""Depth, source and target of a pair -> its place in the embedded data."""

_TITLES = {
    "affine": "Affine distance",
    "gulp": "GULP distance",
    **{m.name: m.title for m in CATALOGUE},
}


def measure_title(name: str) -> str:
    """Title of a measure of the study."""
    return _TITLES.get(name, name.replace("_", " "))


def scatters(
    result: AffineHomotopyStudy, task: str, depth: float, places: Places
) -> dict[str, Any] | None:
    """Intrinsic against extrinsic distance, one point an ordered pair; None where there is no pair."""
    inner = {(p.source, p.target): p for p in result.intrinsic if p.depth == depth}
    pairs = [p for p in result.extrinsic if (p.task, p.depth) == (task, depth)]
    pairs = [p for p in pairs if there(getattr(inner.get((p.source, p.target)), "upper", None))]
    if not pairs:
        return None
    weak = {
        f.encoder
        for f in result.tasks
        if (f.task, f.depth) == (task, depth) and not probe_reading(f)[1]
    }
    panels = []
    for kind, words in EXTRINSIC.items():
        points = []
        for p in pairs:
            x, y = inner[p.source, p.target].upper, getattr(p, kind)
            if not there(y):
                continue
            points.append(
                {
                    "x": x,
                    "y": y,
                    "title": f"{p.source} → {p.target}: affine {number(x)}, {words} {number(y)}",
                    "record": places.get((depth, p.source, p.target)),
                    "hollow": p.target in weak,
                }
            )
        if points:
            panels.append(_panel(f"{words.capitalize()}", points))
    hollow = " Hollow: the target’s probe is not clearly above the majority class." if weak else ""
    return {
        "kind": "scatter",
        "panels": panels,
        "caption": f"One point an ordered pair of encoders, {task} at depth {depth:g}. Across: affine distance over "
        "the unlabelled texts, in units of the target (not divided by its radius), as it is "
        "correlated. Up: largest difference of probabilities when the "
        f"source imitates the target’s classifier. Pairs that share an encoder are not independent.{hollow}",
    }


def _panel(title: str, points: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    x_range, y_range = (_range(p[axis] for p in points) for axis in ("x", "y"))
    return {
        "title": title,
        "description": f"{count(len(points), 'pair')}; affine distance from {number(x_range[0], 2)} to "
        f"{number(x_range[1], 2)}, extrinsic from {number(y_range[0], 2)} to {number(y_range[1], 2)}.",
        "x_label": "affine distance, in units of the target",
        "y_label": "extrinsic distance",
        "x_range": x_range,
        "y_range": y_range,
        "points": list(points),
    }


def _range(values: Iterable[float]) -> tuple[float, float]:
    shown = list(values)
    low, high = min(shown), max(shown)
    room = 0.04 * (high - low) or 0.04 * abs(high) or 0.04
    return (max(low - room, 0.0) if low >= 0.0 else low - room), high + room


def link_table(result: AffineHomotopyStudy, task: str, depth: float) -> Table:
    """Correlation of every measure with both extrinsic distances, and the paper's beside them."""
    links = [link for link in result.links if (link.task, link.depth) == (task, depth)]
    known = {(link.extrinsic, link.measure, link.method): link for link in links}
    theirs = [link for link in links if there(link.published)]
    prediction = Prediction.of(result)
    groups = []
    for kind in dict.fromkeys(link.extrinsic for link in links):
        rows = []
        for measure in dict.fromkeys(link.measure for link in links if link.extrinsic == kind):
            row: list[Any] = [{"text": measure_title(measure), "head": True}]
            for method in ("spearman", "pearson"):
                link = known.get((kind, measure, method))
                row += _linked(link, prediction, paper=_printed(theirs, method))
            rows.append(row)
        words = EXTRINSIC.get(kind, kind)
        groups.append((words[:1].upper() + words[1:], rows))
    columns: list[tuple[str, str, str]] = []
    for method in ("Spearman", "Pearson"):
        columns.append((method, "value", "") if method == "Spearman" else (method, "rest", method))
        if _printed(theirs, method.lower()):
            columns.append(("Paper’s", "rest", f"{method}, paper’s"))
        columns.append(("p", "rest", f"{method}, p"))
        columns.append(("Over encoders", "rest", f"{method}, encoders"))
        columns.append(("Over texts", "rest", f"{method}, texts"))
    paper = ""
    if theirs:
        on = dict.fromkeys(link.published_on for link in theirs if link.published_on)
        named = f" on {', '.join(on)}" if on else ""
        paper = (
            f" Paper’s: what the paper prints of its own 27 encoders{named}; not computed here, and a dash where "
            "it is not known."
        )
    return table(
        f"Correlation over ordered pairs of each intrinsic measure with the extrinsic distance, {task} at depth "
        f"{depth:g}; the affine distance in units of the target, similarities as 1 − "
        "similarity. p: one-sided, by relabelling encoders; not corrected, but for "
        f"the affine distance also by Holm over its {count(len(prediction.links), 'link')}. Over encoders, over "
        "texts: 95 % bootstrap intervals; over texts the fitted maps are kept, which makes them too narrow, for "
        f"many texts attain the maximum of such a fit; other measures have none.{paper}",
        "Measure",
        columns,
        groups,
    )


def _printed(theirs: Iterable[Link], method: str) -> bool:
    return any(link.method == method for link in theirs)


def _linked(link: Link | None, prediction: Prediction, *, paper: bool) -> list[Any]:
    if link is None:
        return [EMPTY] * (5 if paper else 4)
    corrected = prediction.p(link)
    p: Any = p_text(link.p if there(link.p) else None)
    if corrected is not None:
        p = {"text": p, "note": f"corrected {p_text(corrected)}"}
    return [
        {"text": number(link.value), "strong": True},
        *([{"text": number(link.published), "quiet": True}] if paper else []),
        p,
        span(link.low, link.high, 2),
        span(link.text_low, link.text_high, 2),
    ]
