"""The page of a judgement of routers: what could be won, what was, and the category in disguise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cospace.report.facts import embed, repeated
from cospace.report.words import brief, count, joined, number, p_text, span
from cospace.routing.features import BLOCKS
from cospace.routing.reading import headroom_text, signal_text, verdict_text

if TYPE_CHECKING:
    from cospace.routing import PolicyScore, Routing
    from cospace.routing.disguise import Area
    from cospace.routing.result import Discrimination

__all__ = ["route_page"]

_VERDICTS = {"none": "untested", "better": "above", "worse": "outside", "not shown": "chance"}
_SIGNALS = {"found": "above", "disguise": "chance", "not shown": "chance", "untested": "untested"}
_RULES = {
    "strongest": "always the strongest",
    "lookup": "best model of the group",
    "random": "a random model",
    "oracle": "oracle",
}
_MEANING = (
    ("always the strongest", "The model that is most often right on training rows."),
    ("best model of the group", "The same, by group: a table that knows the category and no more."),
    ("a random model", "Its expected accuracy."),
    ("oracle", "Right where any model is: no rule can do better. Its difference is the headroom."),
    (
        "headroom",
        "What choosing could win. Where models are right by luck (a guess between two words), no rule wins all of it.",
    ),
    (
        "within groups",
        "How often a right item scores above a wrong one of the same group, in the same fold: what is left where the "
        "category cannot help. A signal is claimed only where this interval lies above 0.5.",
    ),
    ("group unseen", "The same, by fits that had no item of the group."),
    ("base rate alone", "The area that the group’s share of right answers has by itself."),
    (
        "McNemar p",
        "Exact and two-sided: whether items that only one of two rules has right divide evenly.",
    ),
)


def route_page(result: Routing) -> dict[str, Any]:
    """Reduce a judgement to a page; README.md of this package lists its keys."""
    kept = type(result).from_dict(result.to_dict())  # numbers that are not finite become None
    records = kept.records()
    data = embed(records, kind=kept.kind, schema=kept.schema, levels={"policy": [], "features": []})
    sections = [
        {
            "id": "headroom",
            "title": "What could be won",
            "intro": "How often models are right, and how often they are not right together, before any router.",
            "blocks": [_groups(kept)],
        },
        {
            "id": "rules",
            "title": "What rules of choosing are worth",
            "intro": "Every rule on items that it was neither fitted nor chosen on.",
            "blocks": [_policies(kept)],
        },
        {
            "id": "disguise",
            "title": "Signal, or the category in disguise",
            "intro": "A router may seem to know who is right and only know what kind of prompt it sees. "
            "Pooled areas cannot tell; areas within groups can.",
            "blocks": [_areas(kept)],
        },
    ]
    if kept.curve:
        sections.append(_price(kept))
    sections += [
        {
            "id": "sets",
            "title": "What the routers saw",
            "blocks": [
                _sets(kept),
                {"kind": "terms", "items": [[k, v] for k, v in BLOCKS.items()]},
            ],
        },
        {
            "id": "reading",
            "title": "How to read it",
            "blocks": [{"kind": "terms", "items": [list(each) for each in _MEANING]}],
        },
        repeated(kept.settings, kept.provenance, len(records)),
    ]
    return {
        "kind": "routing",
        "title": f"{joined(list(kept.models))}"[:120] + " · cospace route",
        "headline": _headline(kept),
        "lead": headroom_text(kept),
        "findings": [
            {"text": verdict_text(kept), "tone": _VERDICTS[kept.verdict]},
            {"text": signal_text(kept), "tone": _SIGNALS[kept.signal]},
        ],
        "warnings": list(kept.warnings),
        "sections": sections,
        "data": data,
    }


def _headline(result: Routing) -> str:
    start = {
        "none": "No verdict: there is no headroom to judge a router by",
        "better": "The router beats always the strongest",
        "worse": "The router is worse than always the strongest",
        "not shown": "The router is not shown to beat always the strongest",
    }[result.verdict]
    end = {
        "found": "it knows something beyond the category of the prompt",
        "disguise": "what it seems to know is the category of the prompt",
        "not shown": "no signal of who is right is shown",
        "untested": "whether it knows more than the category is untested",
    }[result.signal]
    return f"{start}; {end}"


def _percent(value: float | None) -> str:
    return number(None if value is None else 100 * value, 1)


def _numbers(*labels: str) -> list[dict[str, str]]:
    return [{"label": label, "align": "num"} for label in labels]


def _groups(result: Routing) -> dict[str, Any]:
    rows: list[list[Any]] = [
        [
            {"text": each.group, "head": True},
            f"{each.n:,}",
            *(_percent(share) for share in each.accuracy),
            _percent(each.disagreement),
        ]
        for each in result.groups
    ]
    own = {each.policy: each for each in result.policies}
    rows.append(
        [
            {"text": "all", "head": True},
            f"{result.n:,}",
            *(_percent(own[f"only {model}"].accuracy) for model in result.models),
            _percent(result.disagreement),
        ]
    )
    return {
        "kind": "table",
        "caption": f"Right answers of {count(len(result.models), 'model')}, in %. Disagreement: some model is right "
        "and some model is wrong.",
        "columns": [{"label": "Group"}, *_numbers("Items", *result.models, "Disagreement")],
        "groups": [{"label": None, "rows": rows}],
    }


def _policies(result: Routing) -> dict[str, Any]:
    routers = [each for each in result.policies if each.policy == "router"]
    others = [each for each in result.policies if each.policy != "router"]
    what = "clusters of items" if result.settings.get("clusters") else "items"
    return {
        "kind": "table",
        "caption": f"In %, with 95 % intervals over {what}; fits are not made anew for them. The first router is the "
        "main one, fixed beforehand. Holm: p corrected over the routers.",
        "columns": [
            {"label": "Rule"},
            *_numbers("Right", "Less the strongest", "Gained", "Lost", "McNemar p", "Of headroom"),
        ],
        "groups": [
            {"label": "Routers", "rows": [_policy(each) for each in routers]},
            {"label": "Without a prompt", "rows": [_policy(each) for each in others]},
        ],
    }


def _policy(each: PolicyScore) -> list[Any]:
    name: dict[str, Any] = {
        "text": each.features or _RULES.get(each.policy, each.policy),
        "head": True,
    }
    if each.needs_answers:
        name["note"] = "every model has to be run first"
    ends = span(100 * each.difference_low, 100 * each.difference_high, 1)
    p: dict[str, Any] = {"text": p_text(each.p)}
    if each.p_adjusted is not None:
        p["note"] = f"Holm {p_text(each.p_adjusted)}"
    return [
        name,
        {"text": _percent(each.accuracy), "note": span(100 * each.low, 100 * each.high, 1)},
        {"text": _percent(each.difference), "note": ends},
        number(None) if each.gained is None else f"{each.gained:,}",
        number(None) if each.lost is None else f"{each.lost:,}",
        p,
        _percent(each.share_of_headroom),
    ]


def _areas(result: Routing) -> dict[str, Any]:
    level = result.discrimination[0].pooled.level
    groups = [
        {
            "label": each.name,
            "rows": [_row(one) for one in result.discrimination if one.features == each.name],
        }
        for each in result.sets
    ]
    return {
        "kind": "table",
        "caption": f"Areas under the ROC curve; 0.5 is chance. Intervals of {100 * level:.3g} % each, 95 % for "
        "the models of a set together. The strip shows the area within groups.",
        "columns": [
            {"label": "Set and model"},
            *_numbers("Pooled", "Within groups"),
            {"label": ""},
            *_numbers("Base rate alone", "Group unseen"),
        ],
        "groups": groups,
    }


def _row(one: Discrimination) -> list[Any]:
    tone = "above" if one.within.above else "chance"
    strip = {
        "value": one.within.value,
        "null_mean": 0.5,
        "null_sd": None,
        "low_end": one.within.low,
        "high_end": one.within.high,
        "low": 0.0,
        "high": 1.0,
        "tone": tone,
    }
    return [
        {"text": one.model, "head": True},
        _area(one.pooled),
        _area(one.within),
        {"text": number(None)} if one.within.value is None else {"strip": strip},
        _area(one.base_rate),
        _area(one.unseen),
    ]


def _area(area: Area) -> dict[str, str]:
    return {
        "text": number(area.value),
        "note": "" if area.low is None else span(area.low, area.high),
    }


def _price(result: Routing) -> dict[str, Any]:
    low, high = min(result.prices.values()), max(result.prices.values())
    width = high - low
    names = list(dict.fromkeys(p.features for p in result.curve))
    series: list[dict[str, Any]] = [
        {
            "label": name,
            "points": [
                {
                    "x": (p.price - low) / width,
                    "y": p.accuracy,
                    "low": p.low,
                    "high": p.high,
                    "tone": "above" if p.gain_low > 0.0 else "chance",
                    "title": f"paid {brief(p.price)}: {_percent(p.accuracy)} % right, {_percent(p.gain)} above the "
                    f"best coin ({span(100 * p.gain_low, 100 * p.gain_high, 1)})",
                }
                for p in result.curve
                if p.features == name
            ],
        }
        for name in names
    ]
    series.append(
        {
            "label": "best coin",
            "points": [
                {
                    "x": (p.price - low) / width,
                    "y": p.mix,
                    "tone": "chance",
                    "title": f"paid {brief(p.price)}: {_percent(p.mix)} % right",
                }
                for p in result.curve
                if p.features == names[0]
            ],
        }
    )
    told = joined([f"{name} {brief(price)}" for name, price in result.prices.items()])
    panel = {
        "title": f"routers on {joined(names)}",
        "description": "Accuracy over the price paid, beside the best coin between fixed models.",
        "x_label": "mean price of an answer, as paid on unseen items",
        "x_marks": [(i / 4, brief(low + i * width / 4)) for i in range(5)],
        "low": 0.0,
        "high": 1.0,
        "width": 560,
        "height": 280,
        "named": True,
        "series": series,
    }
    rows = [
        [
            {"text": brief(p.budget), "head": True},
            p.features,
            brief(p.price),
            {"text": _percent(p.accuracy), "note": span(100 * p.low, 100 * p.high, 1)},
            _percent(p.mix),
            {"text": _percent(p.gain), "note": span(100 * p.gain_low, 100 * p.gain_high, 1)},
        ]
        for p in result.curve
    ]
    return {
        "id": "price",
        "title": "Accuracy at a price",
        "intro": f"Prices of an answer: {told}. Budgets are held on training rows; what unseen rows then cost is "
        "measured. Best coin: a fixed model, or chance between two, for what was paid.",
        "blocks": [
            {
                "kind": "curves",
                "caption": "Filled dots: the interval of the gain over the coin lies above 0.",
                "panels": [panel],
            },
            {
                "kind": "table",
                "caption": "In %, with 95 % intervals over items.",
                "columns": [
                    {"label": "Budget"},
                    {"label": "Router"},
                    *_numbers("Price paid", "Right", "Best coin", "Less the coin"),
                ],
                "groups": [{"label": None, "rows": rows}],
            },
        ],
    }


def _sets(result: Routing) -> dict[str, Any]:
    rows = [
        [
            {"text": each.name, "note": ", ".join(each.blocks), "head": True},
            f"{each.width:,}",
            joined([_times(name, each.chosen) for name in dict.fromkeys(each.chosen)]),
        ]
        for each in result.sets
    ]
    return {
        "kind": "table",
        "caption": "Columns in the first outer fold, and what inner folds chose in each outer fold.",
        "columns": [
            {"label": "Set"},
            *_numbers("Columns"),
            {"label": "Predictor, by outer fold"},
        ],
        "groups": [{"label": None, "rows": rows}],
        "loose": True,
    }


def _times(name: str, chosen: tuple[str, ...]) -> str:
    times = chosen.count(name)
    return name if times == 1 else f"{name} ({times} folds)"
