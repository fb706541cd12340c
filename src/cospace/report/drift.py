"""The page of a drift: what changed between two forms of one model, site by site and text by text."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from cospace.drift.result import FIGURES, Drift, Figure, Moved, SiteDrift
from cospace.report.facts import DIGITS, embed
from cospace.report.words import count, joined, number, span
from cospace.result import plain

__all__ = ["drift_page"]

_TITLES = {name: words[:1].upper() + words[1:] for name, words in FIGURES.items()}
_HEADINGS = {
    "retention": "Neighbours kept",
    "error": "Relative error",
    "residual": "Residual",
    "r2_forward": "R² → after",
    "r2_back": "R² → before",
    "cka": "Debiased CKA",
}
_FRAMES = {"error": "errors are of rows as they are, not centred", "residual": "of centred rows"}
_LEVELS = ("site", "pooling", "reasons")


def drift_page(result: Drift) -> dict[str, Any]:
    """Reduce a drift to a page; README.md of this package lists its keys."""
    result = Drift.from_dict(result.to_dict())  # numbers that are not finite become None
    data = embed(
        result.records(),
        kind=result.kind,
        schema=result.schema,
        levels={column: [] for column in _LEVELS},
    )
    sections = [
        {
            "id": "sites",
            "title": "Site by site",
            "intro": "Every number with its 95 % interval where there is one, what it would be by chance, and, for "
            "held-out R², what it would be had nothing changed.",
            "blocks": [_sites(result), *_reasons(result)],
        }
    ]
    if len(result.sites) > 1:
        sections.append({"id": "depth", "title": "Along the depth", "blocks": [_curves(result)]})
    sections += [_texts(result), _how_to_read(result), _repeat(result)]
    return {
        "kind": "drift",
        "title": f"{result.before} → {result.after}"[:120] + " · cospace drift",
        "headline": _headline(result),
        "lead": _lead(result),
        "findings": _findings(result),
        "warnings": list(result.warnings),
        "sections": sections,
        "data": data,
    }


def _headline(result: Drift) -> str:
    last = result.sites[-1]
    if all(site.identical for site in result.sites):
        return f"{result.after} is identical to {result.before}"
    if last.retention.value is not None:
        share = number(100 * last.retention.value, 1)
        return (
            f"{result.after} keeps {share} % of the neighbours that texts have in {result.before}"
        )
    if last.error.value is not None:
        return (
            f"{result.after} differs from {result.before} by {number(100 * last.error.value, 1)} %"
        )
    return f"{result.before} and {result.after}"


def _lead(result: Drift) -> str:
    settings = result.settings
    texts = count(result.sites[0].n, "text")
    by = "id" if settings.get("matched_by") == "ids" else settings.get("matched_by")
    return (
        f"One model in two forms, {result.before} before and {result.after} after: {count(len(result.sites), 'site')}, "
        f"{texts} matched by {by}, {settings.get('k')} neighbours; the headline is of the last site, "
        f"{result.sites[-1].site}."
    )


def _findings(result: Drift) -> list[dict[str, str]]:
    found = []
    kept = [site for site in result.sites if site.retention.value is not None]
    if kept:
        least = min(kept, key=lambda site: site.retention.value or 0.0)
        figure = least.retention
        found.append(
            {
                "text": f"Fewest neighbours are kept at {_place(least)}: {number(figure.value)} "
                f"({span(figure.low, figure.high)}), {number(figure.chance)} by chance.",
                "tone": _tone(figure),
            }
        )
    wrong = [site for site in result.sites if site.error.value is not None]
    if wrong:
        most = max(wrong, key=lambda site: site.error.value or 0.0)
        text = (
            f"The relative error is greatest at {_place(most)}: {number(most.error.value)} "
            f"({span(most.error.low, most.error.high)}), {number(most.error.chance)} by chance."
        )
        if most.residual.value is not None:
            text += f" The best shift, rotation and scale leave {number(most.residual.value)}."
        found.append({"text": text, "tone": _tone(most.error)})
    if result.moved:
        worst = result.moved[0]
        words = f"“{worst.text}”" if worst.text else worst.id
        found.append({"text": f"The text that moved most: {words}", "tone": "untested"})
    return found


def _tone(figure: Figure) -> str:
    """Say whether a figure lies beyond its level by chance, with its interval where it has one."""
    if figure.value is None:
        return "empty"
    if figure.chance is None or figure.unchanged is None:
        return "untested"
    near = figure.high if figure.unchanged < figure.chance else figure.low
    near = figure.value if near is None else near
    left = near < figure.chance if figure.unchanged < figure.chance else near > figure.chance
    return "above" if left else "chance"


def _place(site: SiteDrift) -> str:
    return f"{site.site} ({site.pooling})" if site.pooling else site.site


def _sites(result: Drift) -> dict[str, Any]:
    rows = []
    for site in result.sites:
        widths = f"{site.width_before:,}"
        if site.width_after != site.width_before:
            widths += f" → {site.width_after:,}"
        note = f"{site.pooling}, " if site.pooling else ""
        note += f"width {widths}" + (", identical" if site.identical else "")
        cells = [_cell(getattr(site, name)) for name in _HEADINGS]
        rows.append([{"text": site.site, "note": note, "head": True}, *cells])
    return {
        "kind": "table",
        "caption": "Relative error: of the rows as they are, not centred. Residual: of centred rows, after the best "
        "shift, rotation and scale. For both 0 is unchanged. Held-out R², neighbours kept and CKA: 1 is unchanged, but "
        "for R² as far as the texts allow. Dashes have their reason below.",
        "columns": [
            {"label": "Site"},
            *({"label": title, "align": "num"} for title in _HEADINGS.values()),
        ],
        "groups": [{"label": None, "rows": rows}],
        "tall": len(rows) > 40,
    }


def _reasons(result: Drift) -> list[dict[str, Any]]:
    """Name every reason for a missing number once, with the sites it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for site in result.sites:
        for name in FIGURES:
            reason = getattr(site, name).reason
            if reason is not None:
                found.setdefault((name, reason), []).append(_place(site))
    items = [
        [
            _TITLES[name],
            f"{reason} ({joined(sites) if len(sites) <= 6 else count(len(sites), 'site')})",
        ]
        for (name, reason), sites in found.items()
    ]
    return [{"kind": "terms", "items": items}] if items else []


def _cell(figure: Figure) -> dict[str, str]:
    if figure.value is None:
        return {"text": number(None), "note": "see below"}
    notes = []
    if figure.low is not None:
        notes.append(span(figure.low, figure.high))
    if figure.unchanged not in (None, 0.0, 1.0):
        notes.append(f"unchanged {number(figure.unchanged)}")
    if figure.chance is not None:
        notes.append(f"chance {number(figure.chance, 2)}")
    return {"text": number(figure.value), "note": "; ".join(notes)}


def _curves(result: Drift) -> dict[str, Any]:
    depths = [site.depth for site in result.sites]
    deep = all(depth is not None for depth in depths)
    last = len(depths) - 1
    at = [(depth or 0.0) if deep else i / last for i, depth in enumerate(depths)]
    return {
        "kind": "curves",
        "caption": "Errors are of the rows as they are, not centred; the residual is of centred rows after the best "
        "rotation and scale. Dashed: by chance. Vertical lines: 95 % intervals, where defined. Hollow dots cannot "
        "be told from chance; a cross marks a site without a value.",
        "panels": [
            _panel(result, name, at, "relative depth" if deep else "sites in order")
            for name in FIGURES
            if any(getattr(site, name).value is not None for site in result.sites)
        ],
    }


def _panel(result: Drift, name: str, at: Sequence[float], x_label: str) -> dict[str, Any]:
    series: dict[str, dict[float, dict[str, Any]]] = {}
    for i, (x, site) in enumerate(zip(at, result.sites, strict=True)):
        figure: Figure = getattr(site, name)
        # Of two sites at one depth (the last block and the final norm) the later one is kept.
        series.setdefault(site.pooling or _TITLES[name], {})[x] = {
            "x": x,
            "y": figure.value,
            "low": figure.low,
            "high": figure.high,
            "null": figure.chance,
            "null_low": figure.chance,
            "null_high": figure.chance,
            "tone": _tone(figure),
            "title": _told(site, name, figure),
            "record": i,
        }
    figures = [getattr(site, name) for site in result.sites]
    shown = [v for f in figures for v in (f.value, f.low, f.high, f.chance) if v is not None]
    values = [f.value for f in figures if f.value is not None]
    least, most = min(shown), max(shown)
    high = 1.0 if most <= 1.0 + 1e-9 else 1.05 * most
    return {
        "title": _TITLES[name],
        "x_label": x_label,
        "low": 0.0 if least >= -0.05 * high else max(-high, 1.05 * least),
        "high": high,
        "description": f"{_TITLES[name]} from {number(min(values), 2)} to {number(max(values), 2)} "
        f"at {count(len(values), 'site')}.",
        "series": [
            {"label": label, "points": list(points.values())} for label, points in series.items()
        ],
        "named": len(series) > 1,
    }


def _told(site: SiteDrift, name: str, figure: Figure) -> str:
    if figure.value is None:
        return f"{_place(site)}: no value. {figure.reason or ''}".strip()
    return f"{_place(site)}, {FIGURES[name]}: {number(figure.value)}; {_cell(figure)['note']}"


def _texts(result: Drift) -> dict[str, Any]:
    section = {"id": "texts", "title": "Texts that moved most"}
    if not result.moved:
        return {**section, "blocks": [{"kind": "text", "text": "No text is listed."}]}
    residual = any(site.ranked_by == "residual" for site in result.sites)
    what = "relative error or, where widths differ, residual" if residual else "relative error"
    blocks = [_moved(result.moved, "over all sites", f"mean {what}", mean="Mean rank")]
    for site in result.sites:
        if site.moved:
            what = "relative error" if site.ranked_by == "error" else "residual"
            table = _moved(site.moved, f"at {_place(site)}", what, mean="Rank")
            blocks.append({"kind": "details", "summary": _place(site), "blocks": [table]})
    return {**section, "blocks": blocks}


def _moved(texts: Sequence[Moved], where: str, what: str, *, mean: str) -> dict[str, Any]:
    by_error = all(a.error >= b.error for a, b in pairwise(texts))
    moved_by, rank = (
        ("Moved by", [number(t.error) for t in texts]),
        (mean, [number(t.rank, 1) for t in texts]),
    )
    first, second = (moved_by, rank) if by_error else (rank, moved_by)
    rows = [
        [
            {"text": text.text or text.id, "note": text.id if text.text else "", "head": True},
            {"text": sorted_by, "strong": True},
            other,
            number(text.retention),
        ]
        for text, sorted_by, other in zip(texts, first[1], second[1], strict=True)
    ]
    order = what if by_error else f"{mean.lower()} (1: moved most at a site)"
    frame = _FRAMES["residual" if what == "residual" else "error"]
    return {
        "kind": "table",
        "caption": f"Texts that moved most {where}, sorted by {order}. Moved by: {what} of the text; {frame}.",
        "columns": [
            {"label": "Text"},
            *(
                {"label": x, "align": "num", "part": "rest", "short": x.rstrip(" ↓↑").lower()}
                for x in (f"{first[0]} {'↓' if by_error else '↑'}", second[0], "Neighbours kept")
            ),
        ],
        "stacks": True,
        "groups": [{"label": None, "rows": rows}],
        "loose": True,
    }


def _how_to_read(result: Drift) -> dict[str, Any]:
    k = result.settings.get("k")
    items = [
        (
            _TITLES["error"],
            "Length of the difference of all rows beside their length before, in the same coordinates; not "
            "centred. By chance: rows of other texts in the place of the same text's.",
        ),
        (_TITLES["text_error"], "The same text by text, then the mean. Long rows do not rule it."),
        (
            _TITLES["residual"],
            "What remains of the error on centred rows when the space after may be shifted, rotated and scaled. "
            "Small beside a large error: what changed is the frame, not how texts lie to one another.",
        ),
        (
            "Held-out R²",
            "Share of the variance of one form that a linear map from the other predicts on texts it has not seen. "
            "Unchanged: a form predicted from itself, which with few texts is below 1 too.",
        ),
        (
            _TITLES["retention"],
            f"Share of a text's {k} nearest neighbours that are the same before and after.",
        ),
        (_TITLES["cka"], "Alike up to rotation and scale, with its bias taken off: 0 by chance."),
        (
            "Interval",
            "95 % bootstrap interval over texts, for errors; none for neighbours, which change with every text drawn.",
        ),
    ]
    return {
        "id": "reading",
        "title": "How to read this",
        "blocks": [{"kind": "terms", "items": [list(item) for item in items]}],
    }


def _repeat(result: Drift) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = []
    rest = dict(result.provenance)
    command = rest.pop("command", None)
    if command:
        words = command if isinstance(command, str) else shlex.join(map(str, command))
        blocks.append({"kind": "pre", "label": "Command", "text": words})
    settings = {**result.settings, "versions": rest.pop("versions", None)}
    items = [[_label(key), _short(value)] for key, value in settings.items() if value is not None]
    blocks.append({"kind": "facts", "items": items})
    for key, value in rest.items():
        text = json.dumps(plain(value), indent=1, ensure_ascii=False)
        inner = [{"kind": "pre", "label": "", "text": text}]
        blocks.append({"kind": "details", "summary": _label(key), "blocks": inner})
    blocks.append({"kind": "download", "rows": len(result.sites), "digits": DIGITS})
    return {"id": "repeat", "title": "Repeat it, and the data", "blocks": blocks}


def _label(key: str) -> str:
    words = str(key).replace("_", " ")
    return words[:1].upper() + words[1:]


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_short(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)
