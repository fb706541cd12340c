"""Tables and map of a shared space that was scored."""

from __future__ import annotations

from typing import Any

from cospace.report.homotopy_tables import Table, table
from cospace.report.scale import difference_scale, measure_scale
from cospace.report.words import EMPTY, count, number, span
from cospace.shared import METHODS, Contrast, Score, SharedScore

__all__ = [
    "candidate_table",
    "choice_table",
    "contrast_table",
    "gallery_table",
    "leading_table",
    "method_table",
    "pairs_map",
]

_KINDS = {
    "shared": "Shared: one map a model",
    "pairwise": "Pairwise: one map a pair",
    "floor": "Floors: nothing fitted across models",
    "within": "Beside them",
    "words": "Beside them",
}
_ABOUT = {
    "shared": "the shared space that inner folds chose",
    "within": "each model searched by itself",
    "words": "a bag of words, no model",
}
_AMONG = {"any": "any texts", "group": "same group", "length": "nearest in length"}


def _found(result: SharedScore, label: str) -> dict[tuple[str, str, str, str], Score]:
    """Scores of a set, and those of the rows of the fit, by method, sample, measure and gallery."""
    return {
        (s.method, s.sample, s.measure, s.among): s
        for s in result.scores
        if s.set in (label, "fit")
    }


def _names(result: SharedScore, label: str) -> list[str]:
    return list(dict.fromkeys(s.method for s in result.scores if s.set == label))


def _value(one: Score | None) -> str:
    return EMPTY if one is None else number(one.value)


def method_table(result: SharedScore, label: str) -> Table:
    """Methods by measures, with chance and the controls."""
    known = _found(result, label)
    groups: dict[str, list[list[Any]]] = {}
    for name in _names(result, label):
        main = known[name, "held out", "top1", "all"]
        about = _ABOUT.get(name) or METHODS[name].about
        mixed = known.get((name, "shuffled, held out", "top1", "all"))
        inside = known.get((name, "shuffled, in-sample", "top1", "all"))
        groups.setdefault(_KINDS[main.kind], []).append(
            [
                {"text": name, "note": about, "head": True},
                {"text": number(main.value), "note": span(main.low, main.high), "strong": True},
                *(
                    _value(known.get((name, "held out", measure, "all")))
                    for measure in ("top5", "mrr", "csls", "margin")
                ),
                _value(mixed),
                _value(known.get((name, "in-sample", "top1", "all"))),
                _value(inside),
            ]
        )
    chance = [
        known[_names(result, label)[0], "held out", measure, "all"].chance
        for measure in ("top1", "top5", "mrr", "csls", "margin")
    ]
    by_chance = [EMPTY if one is None else number(one) for one in chance]
    groups["By chance, exactly"] = [
        [{"text": "chance", "head": True}, *by_chance, by_chance[0], by_chance[0], by_chance[0]]
    ]
    return table(
        "Held out unless marked, mean over ordered pairs of models; below top-1 its 95 % interval over texts. CSLS: "
        "top-1 less the closeness to everything. Shuffled: the same fit on rows that do not belong together.",
        "Method",
        (
            ("Top-1", "value", ""),
            ("Top-5", "rest", "top-5"),
            ("MRR", "rest", "MRR"),
            ("CSLS", "rest", "CSLS"),
            ("Margin", "rest", "margin"),
            ("Shuffled, held out", "rest", "shuffled"),
            ("In-sample", "rest", "in-sample"),
            ("Shuffled, in-sample", "rest", "shuffled, in-sample"),
        ),
        list(groups.items()),
    )


def gallery_table(result: SharedScore, label: str) -> Table | None:
    """Top-1 among texts of the same group and of similar length; None where neither is known."""
    known = _found(result, label)
    first = _names(result, label)[0]
    there = [key for key in _AMONG if (first, "held out", "top1", key) in known]
    if not there:
        return None
    rows: list[list[Any]] = []
    for name in _names(result, label):
        found = [known.get((name, "held out", "top1", key)) for key in there]
        cells: list[Any] = [
            EMPTY if one is None else {"text": number(one.value), "note": span(one.low, one.high)}
            for one in found
        ]
        rows.append([{"text": name, "head": True}, *cells])
    facts = [known[first, "held out", "top1", key] for key in there]
    rows.append([{"text": "chance", "head": True}, *(number(one.chance) for one in facts)])
    told = "; ".join(
        f"{_AMONG[key]}, {count(one.n, 'query', 'queries')}"
        for key, one in zip(there, facts, strict=True)
    )
    return table(
        f"Top-1 in galleries of {facts[0].gallery}: {told}. What a method owes to group or length alone is gone where "
        "all texts of a gallery share it.",
        "Method",
        [(_AMONG[key].capitalize(), "rest", _AMONG[key]) for key in there],
        [(None, rows)],
    )


def _reading(one: Contrast) -> str:
    if one.verdict == "neither":
        return "neither is told from chance"
    return f"shared is {one.verdict}" if one.value or one.low else EMPTY


def contrast_table(result: SharedScore, label: str) -> Table:
    """The shared space less every other method."""
    groups: dict[str, list[list[Any]]] = {}
    for measure, title in (("top1", "Top-1"), ("csls", "Top-1 by CSLS"), ("mrr", "MRR")):
        for one in result.contrasts:
            if (one.set, one.measure, one.among) != (label, measure, "all"):
                continue
            groups.setdefault(title, []).append(
                [
                    {"text": one.second, "head": True},
                    {"text": number(one.value), "strong": True},
                    span(one.low, one.high),
                    {"text": _reading(one)},
                ]
            )
    return table(
        "The shared space less each other method on the same texts; interval: paired bootstrap over texts, 95 %, of "
        "one comparison, not corrected for their number.",
        "Against",
        (("Difference", "value", ""), ("95 %", "rest", "95 %"), ("Verdict", "reading", "")),
        list(groups.items()),
    )


def choice_table(result: SharedScore) -> Table:
    """Settings of every method."""
    rows: list[list[Any]] = []
    for one in result.choices:
        ridge = f"{one.ridge:g}"
        if one.by_pair is not None:
            low, high = min(one.by_pair.values()), max(one.by_pair.values())
            ridge = f"{low:g} to {high:g}, by pair"
        rows.append(
            [
                {"text": one.method, "note": METHODS[one.method].about, "head": True},
                one.scaling,
                f"{one.width}",
                ridge,
                EMPTY if one.best is None else number(one.best.score),
                one.why,
            ]
        )
    return table(
        "Penalty: relative to the mean variance of a coordinate. Inner top-1: mean over ordered pairs of models, on "
        "inner folds.",
        "Method",
        (
            ("Scaling", "words", "scaling"),
            ("Width", "rest", "width"),
            ("Penalty", "rest", "penalty"),
            ("Inner top-1", "value", ""),
            ("Why", "words", "why"),
        ),
        [(None, rows)],
    )


def candidate_table(result: SharedScore) -> Table:
    """Every setting that was tried."""
    groups: list[tuple[str | None, list[list[Any]]]] = []
    for one in result.choices:
        ordered = sorted(one.candidates, key=lambda c: -c.score)
        rows: list[list[Any]] = [
            [
                {"text": c.scaling, "head": True},
                f"{c.width}",
                f"{c.ridge:g}",
                {"text": number(c.score), "strong": c is one.best},
                f"{c.folds} of {one.folds}",
            ]
            for c in ordered
        ]
        if rows:
            groups.append((one.method, rows))
    return table(
        "Best first. What was far behind after the first or second fold was given up.",
        "Scaling",
        (
            ("Width", "rest", "width"),
            ("Penalty", "rest", "penalty"),
            ("Inner top-1", "value", ""),
            ("Folds", "rest", "folds"),
        ),
        groups,
    )


def leading_table(result: SharedScore) -> Table:
    """Share of the leading direction of every model."""
    rows: list[list[Any]] = [
        [
            {"text": one.model, "head": True},
            f"{one.width}",
            {"text": f"{one.share:.1%}", "strong": True},
        ]
        for one in result.leading
    ]
    return table(
        "Share of the variance of a model's rows, as they are, along one direction.",
        "Model",
        (("Width", "rest", "width"), ("Leading direction", "value", "")),
        [(None, rows)],
    )


def pairs_map(result: SharedScore, label: str) -> dict[str, Any]:
    """Top-1 of every ordered pair: the shared space, and what the best pairwise maps add."""
    names = [one.model for one in result.leading]
    second = result.best_pairwise()
    known = {(p.method, p.source, p.target): p.top1 for p in result.pairs if p.set == label}
    ours = [[known.get((result.shared, a, b)) for b in names] for a in names]
    scale = measure_scale("similarity", (0.0, 1.0), [])
    views = [_view("null", f"top-1 of {result.shared}", scale, ours)]
    if second is not None:
        apart = [
            [None if a == b else known[result.shared, a, b] - known[second, a, b] for b in names]
            for a in names
        ]
        views.append(_view("effect", f"less that of {second}", difference_scale(scale), apart))
    return {
        "kind": "map",
        "title": f"Pairs of models, {label}",
        "measure": None,
        "rows": [{"label": name, "group": "", "index": i} for i, name in enumerate(names)],
        "columns": [{"label": name, "group": "", "index": i} for i, name in enumerate(names)],
        "state": ["".join("s" if a == b else "v" for b in names) for a in names],
        "views": views[:1],
        "others": views[1:],
        "caption": "Rows: model of the query. Columns: model of the answers. Held-out texts.",
        "keys": [],
        "missing": [],
    }


def _view(
    key: str, words: str, scale: dict[str, Any], grid: list[list[float | None]]
) -> dict[str, Any]:
    values = [v for line in grid for v in line if v is not None]
    told = f"{len(grid)} source rows, {len(grid)} target columns; from {number(min(values))} to {number(max(values))}."
    return {"key": key, "label": words, "scale": scale, "grid": grid, "description": told}
