"""The page of a correspondence: curves over depth, every pair, and what other texts gave."""

from __future__ import annotations

from typing import Any

from cospace.correspondence.match import LEVEL, REPEATED, strongest
from cospace.correspondence.result import Agreement, Correspondence, Profile
from cospace.measures import CATALOGUE
from cospace.report.facts import embed, repeated
from cospace.report.homotopy_tables import Table, table
from cospace.report.words import EMPTY, count, joined, number, p_text, plus_minus

__all__ = ["correspondence_page", "findings", "title_of"]

_TITLES = {measure.name: measure.title for measure in CATALOGUE}


def title_of(measure: str) -> str:
    """Title of a measure."""
    return _TITLES.get(measure, measure)


def correspondence_page(result: Correspondence) -> dict[str, Any]:
    """Reduce a correspondence to a page; README.md of this package lists its keys."""
    result = Correspondence.from_dict(result.to_dict())  # numbers that are not finite become None
    told = findings(result)
    sections: list[dict[str, Any]] = []
    for i, measure in enumerate(result.settings["measures"]):
        blocks: list[dict[str, Any]] = [_profile_table(result, measure)]
        panels = _panels(result, measure)
        if panels:
            blocks.insert(0, {"kind": "curves", "panels": panels, "caption": _caption(result)})
        pairs = {
            "kind": "details",
            "summary": "Every pair of models",
            "blocks": [_pair_table(result, measure)],
        }
        sections.append(
            {"id": f"measure-{i}", "title": title_of(measure), "blocks": [*blocks, pairs]}
        )
    if result.replications:
        sections.append(
            {
                "id": "again",
                "title": "Again, on other texts",
                "intro": "Depth and pooling were chosen on the first texts, for the largest mean effect; "
                "nothing was chosen on the second.",
                "blocks": [_again_table(result)],
            }
        )
    sections.append(repeated(dict(result.settings), result.provenance, len(result.agreements)))
    texts = [
        count(facts["rows"], "text") + (f" of {facts['name']}" if facts.get("name") else "")
        for facts in result.texts.values()
    ]
    return {
        "kind": result.kind,
        "title": "Correspondence · cospace",
        "headline": told[0]["text"] if told else "No measure has a value.",
        "lead": f"{count(len(result.models), 'model')}: {joined(list(result.models))}; {' and '.join(texts)}.",
        "findings": told[1:],
        "warnings": list(result.warnings),
        "sections": sections,
        "data": {
            **embed(result.records(), kind=result.kind, schema=result.schema, levels={}),
            "key": ["measure", "source", "target"],
            "told": [
                "measure",
                "pooling",
                "depth",
                "source",
                "target",
                "value",
                "chance",
                "p_corrected",
            ],
        },
    }


def findings(result: Correspondence) -> list[dict[str, str]]:
    """What the numbers say, in sentences."""
    told = []
    for measure in result.settings["measures"]:
        ones = [one for one in result.profiles if one.measure == measure]
        if not ones:
            told.append({"text": f"{title_of(measure)} has no value.", "tone": "empty"})
            continue
        best = strongest(ones) or max(ones, key=lambda one: one.value)
        clear = sum(one.clear for one in ones)
        pairs = sum(one.pairs for one in ones)
        chance = "" if best.chance is None else f", by chance {number(best.chance)}"
        ratio = _ratios(result, measure, best)
        text = (
            f"{title_of(measure)}: strongest at depth {best.depth:g}, pooled by {best.pooling} (mean over pairs "
            f"{number(best.value)}{chance}{ratio}); told from chance in {clear} of {pairs} cases."
        )
        told.append({"text": text, "tone": "above" if clear else "chance"})
    alike = sorted({(p.pooling, p.depth) for p in result.profiles if p.repeated > REPEATED})
    if alike:
        places = joined([f"{pooling} at depth {depth:g}" for pooling, depth in alike])
        text = (
            f"More than {100 * REPEATED:g} % of some model’s rows repeat others pooled by {places}: models agree there "
            "on what is repeated, as words do. Not called strongest, and not chosen for the second texts."
        )
        told.append({"text": text, "tone": "untested"})
    for one in result.frozen:
        again = [r for r in result.replications if r.measure == one.measure]
        kept = sum(r.p_holm is not None and r.p_holm <= LEVEL for r in again)
        values = [r.value for r in again if r.value is not None]
        first = [r.first for r in again if r.first is not None]
        if not values or not first:
            continue
        text = (
            f"{title_of(one.measure)} on the second texts, at what the first chose (depth {one.depth:g}, "
            f"{one.pooling}): mean {number(sum(values) / len(values))} (first texts "
            f"{number(sum(first) / len(first))}); told from chance in {kept} of {count(len(again), 'pair')} of models."
        )
        told.append({"text": text, "tone": "above" if kept == len(again) else "chance"})
    return told


def _ratios(result: Correspondence, measure: str, best: Profile) -> str:
    found = [
        a.ratio
        for a in result.agreements
        if (a.measure, a.pooling, a.depth) == (measure, best.pooling, best.depth)
        and a.ratio is not None
    ]
    return (
        f", pairs at {number(min(found), 1)} to {number(max(found), 1)} times it" if found else ""
    )


def _caption(result: Correspondence) -> str:
    return (
        "One curve a pair of models, over relative depth; one panel a pooling. Band: level by chance, two standard "
        "deviations. Filled: told from chance after correction over depths (maximum statistic), pairs of models and "
        f"poolings (times {result.settings['families']})."
    )


def _panels(result: Correspondence, measure: str) -> list[dict[str, Any]]:
    mine = [a for a in result.agreements if a.measure == measure and a.value is not None]
    if len({a.depth for a in mine}) < 2:
        return []
    place = {id(a): i for i, a in enumerate(result.agreements)}
    low = min(0.0, *(a.value or 0.0 for a in mine))
    panels = []
    for pooling in dict.fromkeys(a.pooling for a in mine):
        series = []
        here = [a for a in mine if a.pooling == pooling]
        for pair in dict.fromkeys((a.source, a.target) for a in here):
            ones = sorted((a for a in here if (a.source, a.target) == pair), key=lambda a: a.depth)
            series.append(
                {
                    "label": f"{pair[0]}, {pair[1]}",
                    "points": [_point(a, place[id(a)]) for a in ones],
                }
            )
        values = [a.value or 0.0 for a in here]
        panels.append(
            {
                "title": f"Pooled by {pooling}",
                "description": f"{title_of(measure)} from {number(min(values), 2)} to {number(max(values), 2)} over "
                f"{count(len(series), 'pair')} of models.",
                "x_label": "relative depth",
                "low": low,
                "high": 1.0,
                "series": series,
                "width": 560,
                "named": True,
            }
        )
    return panels


def _point(one: Agreement, place: int) -> dict[str, Any]:
    chance = "" if one.chance is None else f", by chance {plus_minus(one.chance, one.spread)}"
    p = "" if one.p_corrected is None else f", corrected p {p_text(one.p_corrected)}"
    clear = one.p_corrected is not None and one.p_corrected <= LEVEL
    point = {
        "x": one.depth,
        "y": one.value,
        "title": f"{one.source}, {one.target} at depth {one.depth:g}: {number(one.value)}{chance}{p}",
        "tone": "above" if clear else "chance",
        "record": place,
    }
    if one.chance is not None and one.spread is not None:
        point |= {
            "null": one.chance,
            "null_low": one.chance - 2 * one.spread,
            "null_high": one.chance + 2 * one.spread,
        }
    return point


def _profile_table(result: Correspondence, measure: str) -> Table:
    groups: dict[str, list[list[Any]]] = {}
    for one in result.profiles:
        if one.measure == measure:
            groups.setdefault(one.pooling, []).append(
                [
                    {
                        "text": f"{one.depth:g}",
                        "note": f"{100 * one.repeated:.0f} % repeated"
                        if one.repeated > REPEATED
                        else "",
                        "head": True,
                    },
                    {"text": number(one.value), "strong": True},
                    number(one.weakest),
                    EMPTY if one.chance is None else number(one.chance),
                    EMPTY if one.effect is None else number(one.effect),
                    f"{one.clear} of {one.pairs}",
                ]
            )
    return table(
        "Means over the pairs of models. Effect: (value less chance) / (1 less chance): 0 by chance, 1 for identical "
        "spaces. Told from chance: pairs whose corrected p is at most 0.05.",
        "Depth",
        (
            ("Mean", "value", ""),
            ("Weakest pair", "rest", "weakest"),
            ("Chance", "rest", "chance"),
            ("Effect", "rest", "effect"),
            ("Told from chance", "rest", "told"),
        ),
        [(f"Pooled by {name}", rows) for name, rows in groups.items()],
    )


def _pair_table(result: Correspondence, measure: str) -> Table:
    groups: dict[str, list[list[Any]]] = {}
    for one in result.agreements:
        if one.measure != measure:
            continue
        value: Any = {"text": number(one.value), "strong": True}
        if one.value is None:
            value = {"text": EMPTY, "note": one.reason or ""}
        groups.setdefault(f"Depth {one.depth:g}, pooled by {one.pooling}", []).append(
            [
                {"text": f"{one.source}, {one.target}", "head": True},
                value,
                EMPTY if one.chance is None else plus_minus(one.chance, one.spread),
                EMPTY if one.ratio is None else f"{number(one.ratio, 1)} ×",
                p_text(one.p),
                p_text(one.p_corrected),
            ]
        )
    return table(
        "Every pair of models. Corrected: over all pairs of depths of the two models, over pairs of models, and over "
        "poolings.",
        "Models",
        (
            ("Value", "value", ""),
            ("Chance", "rest", "chance"),
            ("Of chance", "rest", "of chance"),
            ("p", "rest", "p"),
            ("p, corrected", "rest", "corrected"),
        ),
        list(groups.items()),
    )


def _again_table(result: Correspondence) -> Table:
    groups: dict[str, list[list[Any]]] = {}
    for one in result.replications:
        label = f"{title_of(one.measure)}: depth {one.depth:g}, pooled by {one.pooling}"
        groups.setdefault(label, []).append(
            [
                {"text": f"{one.source}, {one.target}", "head": True},
                number(one.first),
                {"text": number(one.value), "strong": True},
                EMPTY if one.chance is None else number(one.chance),
                EMPTY if one.ratio is None else f"{number(one.ratio, 1)} ×",
                p_text(one.p_holm),
            ]
        )
    return table(
        "p: over shuffles of rows, corrected by Holm over the pairs of models of one measure.",
        "Models",
        (
            ("First texts", "rest", "first"),
            ("Second texts", "value", ""),
            ("Chance", "rest", "chance"),
            ("Of chance", "rest", "of chance"),
            ("p", "rest", "p"),
        ),
        list(groups.items()),
    )
