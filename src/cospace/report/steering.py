"""The page of a transfer: a steering vector carried to another model, beside its controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cospace.report.facts import embed, repeated
from cospace.report.words import brief, count, joined, number, p_text, span

if TYPE_CHECKING:
    from cospace.steering.curve import SteeringCurve
    from cospace.steering.transfer import Carried, Transfer
    from cospace.steering.transfer_sweep import MapSummary, TransferSweep

__all__ = [
    "steering_panel",
    "steering_terms",
    "transfer_blocks",
    "transfer_finding",
    "transfer_page",
]

_WORDS = {
    "transferred": "carried",
    "native": "own vector",
    "shuffled_rows": "shuffled rows",
    "random_map": "random map",
    "random_direction": "random vector",
}
LEVEL = 0.05
"""Largest p at which a carried vector is said to steer."""
DRAWN = 3
"""Random controls of a kind, at most, that are drawn one by one."""
_TOLD = ("map", "site", "condition", "cosine", "coefficient", "score", "perplexity")
_LEVELS = ("map", "map_method", "condition", "model", "site", "method")


def transfer_page(result: TransferSweep) -> dict[str, Any]:
    """Reduce a transfer to a page; README.md of this package lists its keys."""
    kept = type(result).from_dict(result.to_dict())  # numbers that are not finite become None
    records = kept.records()
    data = embed(records, kind=kept.kind, schema=kept.schema, levels={name: [] for name in _LEVELS})
    data["told"] = list(_TOLD)
    sections = [
        {
            "id": "curves",
            "title": "What the vectors do",
            "intro": "Score of the same questions at every coefficient, for the carried vector and for everything that "
            "should do less (controls) or more (the model’s own vector). 0.5 is no preference.",
            "blocks": [_curves(kept), _spans(kept)],
        },
        {
            "id": "maps",
            "title": "The maps",
            "intro": "How well rows are mapped says nothing of how well a vector steers: the curves do.",
            "blocks": [_maps(kept)],
        },
        {
            "id": "tokens",
            "title": "Nearest tokens",
            "intro": "Tokens by which the models predict, nearest to the vectors by cosine.",
            "blocks": [_tokens(kept)],
        },
        _reading(kept),
        repeated(kept.settings, kept.provenance, len(records)),
    ]
    return {
        "kind": "transfer",
        "title": f"{kept.source} → {kept.target}"[:120] + " · cospace steering",
        "headline": _headline(kept),
        "lead": _lead(kept),
        "findings": [transfer_finding(kept.transfer(name)) for name in kept.names],
        "warnings": [*kept.warnings, *_cautions(kept)],
        "sections": sections,
        "data": data,
    }


def transfer_blocks(result: TransferSweep, *, first: int = 0) -> list[dict[str, Any]]:
    """Curves, spans, maps and nearest tokens of a transfer, for the pages of studies.

    Parameters
    ----------
    result
        The transfer.
    first
        Place in the page's data of its first record.
    """
    return [_curves(result, first), _spans(result), _maps(result), _tokens(result)]


def steering_panel(
    curves: Mapping[str, SteeringCurve],
    *,
    title: str,
    description: str,
    first_record: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """One panel of scores over coefficients, a curve a label; for a block of kind ``curves``.

    Parameters
    ----------
    curves
        Label -> curve; all over the same range of coefficients, or the widest gives the axis.
    title, description
        Of the panel.
    first_record
        Label -> place in the page's data of the curve's first point, for tooltips.
    """
    values = sorted({p.coefficient for curve in curves.values() for p in curve.points})
    low, high = values[0], values[-1]
    width = high - low or 1.0
    unit = next(iter(curves.values())).unit
    series = []
    for label, curve in curves.items():
        points = []
        for i, p in enumerate(curve.points):
            told = f"{label}, {brief(p.coefficient)}: {number(p.score)}"
            if p.perplexity is not None:
                told += f", perplexity {number(p.perplexity, 1)}"
            point: dict[str, Any] = {
                "x": (p.coefficient - low) / width,
                "y": p.score,
                "title": told,
                "tone": "chance" if label not in ("carried", "own vector") else "above",
            }
            if first_record is not None:
                point["record"] = first_record[label] + i
            points.append(point)
        series.append({"label": label, "points": points})
    return {
        "title": title,
        "description": description,
        "x_label": f"coefficient, in units of the states’ {unit}",
        "x_marks": [((v - low) / width, brief(v)) for v in _thinned(values)],
        "low": 0.0,
        "high": 1.0,
        "width": 560,
        "height": 280,
        "named": True,
        "series": series,
    }


def _thinned(values: Sequence[float]) -> list[float]:
    """At most nine of the values, the ends among them."""
    step = -(-(len(values) - 1) // 8) or 1
    return [*values[:-1:step], values[-1]] if len(values) > 1 else list(values)


def _named(condition: str) -> str:
    name, _, draw = condition.partition(".")
    return _WORDS[name] + (f" {int(draw) + 1}" if draw else "")


def _curves(result: TransferSweep, place: int = 0) -> dict[str, Any]:
    panels = []
    for each in result.transfers:
        curves, first, shown = {}, {}, _shown(each)
        for one in each.conditions:
            label = _named(one.condition)
            if one.condition in shown:
                curves[label], first[label] = one.curve, place
            place += len(one.curve.points)
        moved = each.condition("transferred").curve
        panels.append(
            steering_panel(
                curves,
                title=f"{each.map_name}, {each.site}",
                description=f"The carried vector moves the score by {number(moved.span)} from the smallest to the "
                f"largest coefficient, the model’s own by {number(each.condition('native').curve.span)}.",
                first_record=first,
            )
        )
    many = any(len(_shown(each)) < len(each.conditions) for each in result.transfers)
    left = (
        " Of each kind of random control the one that moves it most; the table has all."
        if many
        else ""
    )
    return {
        "kind": "curves",
        "caption": "All vectors are added at the same norms. Filled dots: the carried vector and the model’s own; "
        f"hollow: controls.{left}",
        "panels": panels,
    }


def _shown(each: Transfer) -> set[str]:
    """Conditions that are drawn: of many random ones of a kind that which moves the score most."""
    kinds: dict[str, list[Carried]] = {}
    for one in each.conditions:
        kinds.setdefault(one.condition.partition(".")[0], []).append(one)
    return {
        one.condition
        for same in kinds.values()
        for one in (
            same if len(same) <= DRAWN else [max(same, key=lambda one: abs(one.curve.span))]
        )
    }


def _spans(result: TransferSweep) -> dict[str, Any]:
    groups = []
    for each in result.transfers:
        mark = ", chosen" if result.chosen.get(each.map_name) == each.site else ""
        rows = [_row(each, one) for one in each.conditions]
        groups.append({"label": f"{each.map_name}, {each.site}{mark}", "rows": rows})
    return {
        "kind": "table",
        "caption": "Span: score at the largest coefficient less that at the smallest, with its 95 % interval over "
        "questions. Carried less it: the carried vector’s span above this one’s, question by question. Perplexity: of "
        "neutral sentences, at the two ends; far above that at 0 the model is broken rather than steered.",
        "columns": [
            {"label": "Vector"},
            *(
                {"label": label, "align": "num"}
                for label in ("Cosine to own", "Span", "Rank correlation", "Carried less it")
            ),
            {"label": "Perplexity at the ends", "align": "num"},
        ],
        "groups": groups,
    }


def _row(each: Transfer, one: Carried) -> list[Any]:
    curve = one.curve
    ends = curve.span_interval or (None, None)
    gap = None if one.condition == "transferred" else each.excess(one.condition)
    sides = [p.perplexity for p in (curve.points[0], curve.points[-1])]
    plain = next((p.perplexity for p in curve.points if p.coefficient == 0.0), None)
    side: Any = number(None)
    if None not in sides:
        side = {"text": f"{number(sides[0], 1)}; {number(sides[1], 1)}"}
        if plain is not None:
            side["note"] = f"at 0 {number(plain, 1)}"
    return [
        {"text": _named(one.condition), "head": True},
        number(one.cosine, 2),
        {"text": number(curve.span), "note": span(*ends) if curve.span_interval else ""},
        number(curve.spearman, 2),
        {"text": number(None)}
        if gap is None
        else {"text": number(gap[0]), "note": span(gap[1], gap[2])},
        side,
    ]


def _maps(result: TransferSweep) -> dict[str, Any]:
    return {
        "kind": "table",
        "caption": "Held out: on rows that were not fitted. Retrieval: share of unseen rows whose image is nearest to "
        "their own target. Conditioning: largest over smallest singular value of the source’s rows.",
        "columns": [
            {"label": "Map"},
            {"label": "Fit"},
            *(
                {"label": label, "align": "num"}
                for label in ("Rows", "Rank", "Conditioning", "R²", "R² held out", "Retrieval")
            ),
        ],
        "groups": [{"label": None, "rows": [_map(one) for one in result.maps]}],
    }


def _map(one: MapSummary) -> list[Any]:
    fit = one.method.replace("_", " ")
    if one.penalty is not None:
        fit += f", penalty {one.penalty:.2g}"
    chance = "" if one.retrieval_chance is None else f"chance {number(one.retrieval_chance, 4)}"
    return [
        {"text": one.name, "note": f"to {one.site or 'any site'}", "head": True},
        fit,
        f"{one.n:,}",
        {"text": f"{one.rank:,}", "note": f"of {one.width:,} → {one.target_width:,}"},
        number(one.condition, 1),
        number(one.r2),
        number(one.held_out_r2),
        {"text": number(one.retrieval), "note": chance},
    ]


def _tokens(result: TransferSweep) -> dict[str, Any]:
    def line(name: str, tokens: Sequence[str]) -> list[Any]:
        return [{"text": name, "head": True}, " · ".join(tokens)]

    rows = [line(f"in {result.source}", result.transfers[0].nearest_at_source)]
    for name in result.names:
        each = result.transfer(name)
        where = f"{name}, {each.site}"
        rows.append(line(f"carried by {where}", each.condition("transferred").nearest))
        rows.append(line(f"shuffled rows, {where}", each.condition("shuffled_rows").nearest))
    own = result.transfer(result.names[0]).condition("native")
    rows.append(line(f"{result.target}’s own", own.nearest))
    return {
        "kind": "table",
        "caption": "As the tokenizers write them.",
        "columns": [{"label": "Vector"}, {"label": "Tokens"}],
        "groups": [{"label": None, "rows": rows}],
        "loose": True,
    }


def _headline(result: TransferSweep) -> str:
    best = max(
        (result.transfer(name) for name in result.names),
        key=lambda each: each.condition("transferred").curve.span,
    )
    moved = best.condition("transferred").curve.span
    verb = {"above": "steers", "outside": "seems to steer"}.get(
        _tone(best), "is not shown to steer"
    )
    return (
        f"A vector of {result.source} {verb} {result.target}: span {number(moved)} through {best.map_name}, "
        f"{number(best.condition('native').curve.span)} by its own"
    )


def _lead(result: TransferSweep) -> str:
    curve = result.transfers[0].conditions[0].curve
    maps = f"{count(len(result.names), 'map')} ({joined(list(result.names))})"
    return (
        f"{result.vector['method']} at {result.source_site} of {result.source}, carried to "
        f"{joined(list(result.sites))} of {result.target} through {maps}: "
        f"{count(curve.n, 'question')} that no vector was made from, by their {curve.answers}, at "
        f"{count(len(curve.points), 'coefficient')}."
    )


def _controls(each: Transfer) -> list[Carried]:
    return [one for one in each.conditions if one.condition not in ("transferred", "native")]


def _tone(each: Transfer) -> str:
    """Above: the carried span lies above that of every control, intervals over questions included.

    And of enough random pushes for p at most 0.05; with fewer it is outside, and not tested.
    """
    gaps = [each.excess(one.condition) for one in _controls(each)]
    if any(gap is None for gap in gaps):
        return "untested"
    if not all(gap is not None and gap[1] > 0.0 for gap in gaps):
        return "chance"
    return "above" if each.p_random <= LEVEL else "outside"


def transfer_finding(each: Transfer) -> dict[str, str]:
    """What a carried vector does beside its controls, in a sentence, and how sure that is."""
    moved = each.condition("transferred").curve
    text = f"Through {each.map_name} at {each.site} the score moves by {number(moved.span)}"
    if moved.span_interval is not None:
        text += f" ({span(*moved.span_interval)})"
    if each.recovered is not None:
        text += f", {number(each.recovered, 2)} of what the model’s own vector does"
    tone = _tone(each)
    controls = _controls(each)
    most = max(controls, key=lambda one: abs(one.curve.span))
    told = {
        "above": "more than every control",
        "outside": "more than every control, and too few random pushes to test it",
        "chance": "not told apart from every control",
        "untested": "too few questions to tell it from the controls",
    }[tone]
    return {
        "text": f"{text}: {told} (p = {p_text(each.p_random)} against random pushes); of the controls "
        f"{_named(most.condition)} moves it most, by {number(most.curve.span)}.",
        "tone": tone,
    }


def _cautions(result: TransferSweep) -> list[str]:
    found = []
    if not result.same_texts:
        found.append(
            "The model’s own vector was not made from the very texts of the carried one: a ceiling of another make."
        )
    if result.transfers[0].conditions[0].curve.seen:
        found.append(
            "Some of the questions were seen when the vector was made: these scores are in-sample."
        )
    return found


def steering_terms(result: TransferSweep) -> list[list[str]]:
    """What the curves of a transfer are called, term and explanation."""
    items = [
        ["carried", "The vector through the map, at the norm of a coefficient."],
        ["own vector", "Made on the target itself, at the same site: the ceiling."],
        ["shuffled rows", "Through the same fit on rows that do not belong together."],
        ["random map", "Through a map of random numbers."],
        ["random vector", "A random direction: what any push of this size does."],
    ]
    if result.chosen:
        places = [f"{name} {site}" for name, site in result.chosen.items()]
        items.append(
            [
                "chosen",
                f"The site where a vector moves {result.chosen_on} other questions most: {joined(places)}.",
            ]
        )
    return items


def _reading(result: TransferSweep) -> dict[str, Any]:
    return {
        "id": "reading",
        "title": "How to read it",
        "blocks": [{"kind": "terms", "items": steering_terms(result)}],
    }
