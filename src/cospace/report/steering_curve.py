"""The page of a scored steering vector: its curve, and what random pushes of the same size do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cospace.report.facts import embed, repeated
from cospace.report.steering import steering_panel
from cospace.report.words import brief, count, joined, number, p_text, shortened, span

if TYPE_CHECKING:
    from cospace.steering.curve import CurvePoint, SteeringCurve

__all__ = ["curve_page", "vector_facts", "vector_warnings"]

LEVEL = 0.05
"""Largest p at which a vector is said to move the score more than any push does."""
_LEVELS = ("model", "site", "method")
_TOLD = ("coefficient", "score", "mass", "perplexity")
_FACTS = (
    ("Model", "model"),
    ("Site", "site"),
    ("Made by", "method"),
    ("Read at", "token"),
    ("Width", "width"),
    ("Norm", "norm"),
    ("Spread of the states", "spread"),
    ("Mean norm of the states", "residual_norm"),
    ("Weights hash", "weights_hash"),
)
_SOURCES = (
    ("Texts of the first kind", "positive"),
    ("Texts of the second kind", "negative"),
    ("Mean over", "mean_over"),
    ("Texts hash", "texts"),
    ("Cosine to the mean difference", "cosine_to_mean_difference"),
    ("Pairs in the right order, in-sample", "separation"),
    ("Pairs in the right order, held out", "held_out_separation"),
    ("Pairs held out", "held_out_pairs"),
    ("p of their order", "held_out_p"),
    ("Chosen among", "chosen_among"),
    ("Questions it was chosen on", "chosen_on"),
)


def curve_page(result: SteeringCurve) -> dict[str, Any]:
    """Reduce a curve to a page; README.md of this package lists its keys."""
    kept = type(result).from_dict(result.to_dict())  # numbers that are not finite become None
    records = kept.records()
    data = embed(records, kind=kept.kind, schema=kept.schema, levels={name: [] for name in _LEVELS})
    data["told"] = list(_TOLD)
    vector = kept.provenance.get("vector")
    sections = [
        {
            "id": "curve",
            "title": "What the vector does",
            "intro": "Score of the same questions at every coefficient; 0.5 is no preference.",
            "blocks": [_figure(kept), _table(kept), *_pushes(kept)],
        },
        vector_facts(vector),
        _reading(kept),
        repeated(
            kept.settings,
            {key: value for key, value in kept.provenance.items() if key != "vector"},
            len(records),
        ),
    ]
    return {
        "kind": "steering curve",
        "title": f"{shortened(kept.model, 60)}, {kept.site} · cospace steering",
        "headline": _headline(kept),
        "lead": f"{kept.method} at {kept.site} of {kept.model}, added at {count(len(kept.points), 'coefficient')} in "
        f"units of the {_unit(kept.unit)}: {count(kept.n, 'question')}, by their {kept.answers}.",
        "findings": _findings(kept),
        "warnings": [*vector_warnings(vector), *_cautions(kept)],
        "sections": sections,
        "data": data,
    }


def vector_facts(vector: Any) -> dict[str, Any]:
    """Section on what a vector is and what it was made from, as far as the result says."""
    items: list[list[str]] = []
    if isinstance(vector, Mapping):
        made = vector.get("provenance")
        made = made if isinstance(made, Mapping) else {}
        for names, values in ((_FACTS, vector), (_SOURCES, made)):
            for label, key in names:
                if values.get(key) is not None:
                    items.append([label, _said(key, values[key])])
    block: dict[str, Any] = {"kind": "facts", "items": items}
    if not items:
        block = {"kind": "text", "text": "What the vector was made from was not recorded."}
    return {"id": "vector", "title": "The vector", "blocks": [block]}


def _said(key: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        words = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        return words[:16] if key in ("texts", "weights_hash") else words
    if isinstance(value, int):
        return f"{value:,}"
    return p_text(value) if key == "held_out_p" else number(value)


def _unit(unit: str) -> str:
    known = {"spread": "states’ spread", "residual": "states’ mean norm", "vector": "vector’s norm"}
    return known.get(unit, unit)


def _ends(result: SteeringCurve) -> tuple[CurvePoint, CurvePoint]:
    return result.points[0], result.points[-1]


def _tone(result: SteeringCurve) -> str:
    """Above: the span lies above 0 over questions, and above that of enough random pushes."""
    ends, p = result.span_interval, result.p_random
    if len(result.points) < 2 or ends is None:
        return "untested"
    if ends[0] <= 0.0:
        return "chance"
    if p is not None and p <= LEVEL:
        return "above"
    return "outside" if 1.0 / (1 + len(result.random)) > LEVEL else "chance"


def _headline(result: SteeringCurve) -> str:
    first, last = _ends(result)
    if len(result.points) < 2:
        return f"The score of {result.model} is {number(last.score)} at {brief(last.coefficient)}"
    ends = result.span_interval
    verb = {"above": "moves", "outside": "seems to move"}.get(_tone(result), "is not shown to move")
    if ends is not None and ends[1] < 0.0:
        verb = "moves the other way"
    return (
        f"The vector {verb} the answers of {result.model}: span {number(result.span)} from {brief(first.coefficient)} "
        f"to {brief(last.coefficient)}"
    )


def _findings(result: SteeringCurve) -> list[dict[str, str]]:
    if len(result.points) < 2:
        text = "One coefficient was scored: there is nothing to compare it with; score two or more."
        return [{"text": text, "tone": "untested"}]
    ends = result.span_interval
    text = f"The score moves by {number(result.span)}"
    if ends is not None:
        text += f" ({span(*ends)}, 95 % over questions)"
    tone, p, m = _tone(result), result.p_random, len(result.random)
    if ends is None:
        told = "too few questions, or no single scores, for an interval"
    elif ends[1] < 0.0:
        told = "away from the behaviour that the vector was made from"
    elif ends[0] <= 0.0:
        told = "not told from 0"
    elif p is None:
        told = "no random push was run, so whether any push of this size does as much is not known"
    else:
        told = {
            "above": "more than random pushes of the same size",
            "outside": "and there are too few random pushes to test it",
            "chance": "not more than random pushes of the same size do",
        }[tone]
    if p is not None:
        most = max(result.random_spans, key=abs)
        told += f" (p = {p_text(p)} against {m:,}; of these the largest moves it by {number(most)})"
    found = [{"text": f"{text}: {told}.", "tone": tone}]
    side = _side(result)
    return found if side is None else [*found, side]


def _side(result: SteeringCurve) -> dict[str, str] | None:
    """How much worse neutral text is predicted at the ends than without the vector."""
    plain = next((p.perplexity for p in result.points if p.coefficient == 0.0), None)
    told = [p for p in _ends(result) if p.coefficient and p.perplexity is not None]
    if not plain or not told:
        return None
    words = [
        f"{number((p.perplexity or 0.0) / plain, 2)} times that at {brief(p.coefficient)}"
        for p in told
    ]
    text = f"Perplexity of neutral sentences is {number(plain, 1)} at 0, {joined(words)}."
    return {"text": text, "tone": "empty"}


def _figure(result: SteeringCurve) -> dict[str, Any]:
    curves = {"vector": result}
    panel = steering_panel(
        curves,
        title=shortened(f"{result.model}, {result.site}", 60),
        description=f"The vector moves the score by {number(result.span)} from the smallest to the largest "
        "coefficient.",
        first_record={"vector": 0},
    )
    panel["x_label"] = f"coefficient, in units of the {_unit(result.unit)}"
    filled = _tone(result)
    for point, p in zip(panel["series"][0]["points"], result.points, strict=True):
        point["tone"] = filled
        point["low"], point["high"] = p.interval or (None, None)
    caption = "Lines: 95 % intervals over questions. Filled dots: a span that is told from 0 over questions; hollow: "
    caption += "not, or not tested."
    if result.random and len(result.points) > 1:
        names = {
            "lowest push": min(result.random, key=lambda one: one[1] - one[0]),
            "highest push": max(result.random, key=lambda one: one[1] - one[0]),
        }
        for label, scores in names.items():
            points = [
                {"x": x, "y": y, "title": f"{label}: {number(y)}", "tone": "chance"}
                for x, y in zip((0.0, 1.0), scores, strict=True)
            ]
            panel["series"].append({"label": label, "points": points})
        pushes = count(len(result.random), "random push", "random pushes")
        caption += f" Of {pushes}, run at the two ends: that which moves the score least, and that which moves it most."
    return {"kind": "curves", "caption": caption, "panels": [panel]}


def _table(result: SteeringCurve) -> dict[str, Any]:
    rows = [
        [
            {"text": brief(p.coefficient), "head": True},
            {"text": number(p.score), "note": "" if p.interval is None else span(*p.interval)},
            number(p.mass),
            number(p.perplexity, 1),
        ]
        for p in result.points
    ]
    return {
        "kind": "table",
        "caption": "P(A) + P(B): near 0 the model would answer something else; none where texts are compared. "
        "Perplexity: of neutral sentences; far above that at 0 the model is broken rather than steered.",
        "columns": [
            {"label": "Coefficient"},
            *({"label": label, "align": "num"} for label in ("Score", "P(A) + P(B)", "Perplexity")),
        ],
        "groups": [{"label": None, "rows": rows}],
    }


def _pushes(result: SteeringCurve) -> list[dict[str, Any]]:
    """Spans of the vector and of every random direction, largest first."""
    if not result.random or len(result.points) < 2:
        return []
    own = _ends(result)
    lines = [("the vector", own[0].score, own[1].score, True)]
    lines += [(f"random {i + 1}", *ends, False) for i, ends in enumerate(result.random)]
    lines.sort(key=lambda line: line[1] - line[2])
    rows = [
        [
            {"text": name, "head": True},
            number(first),
            number(last),
            {"text": number(last - first), "strong": strong},
        ]
        for name, first, last, strong in lines
    ]
    labels = [f"Score at {brief(p.coefficient)}" for p in _ends(result)]
    table = {
        "kind": "table",
        "caption": "All directions at the same norms, by span: score at the largest coefficient less that at the "
        "smallest.",
        "columns": [
            {"label": "Direction"},
            *({"label": label, "align": "num"} for label in (*labels, "Span")),
        ],
        "groups": [{"label": None, "rows": rows}],
    }
    place = 1 + [line[3] for line in lines].index(True)
    summary = f"The vector’s span among random ones: number {place} of {len(lines)}"
    return [{"kind": "details", "summary": summary, "blocks": [table]}]


def vector_warnings(vector: Any) -> list[str]:
    """What was said when the vector was made, as far as the result says."""
    found = vector.get("warnings") if isinstance(vector, Mapping) else None
    return [str(one) for one in found] if isinstance(found, list | tuple) else []


def _cautions(result: SteeringCurve) -> list[str]:
    if not result.seen:
        return list(result.warnings)
    return [
        *result.warnings,
        f"{count(result.seen, 'question')} of {result.n:,} were seen when the vector was made: these scores are "
        "in-sample.",
    ]


def _reading(result: SteeringCurve) -> dict[str, Any]:
    rank = "none" if result.spearman is None else number(result.spearman)
    items = [
        [
            "score",
            "P(matching) / (P(matching) + P(other)), mean over questions; 0.5 without a preference.",
        ],
        ["span", "Score at the largest coefficient less that at the smallest."],
        [
            "95 %",
            "Percentiles over samples of the questions, as if they were drawn from many such.",
        ],
        [
            "random push",
            "A random direction at the same norms: what any push of this size does. p is (1 + as large) / (1 + "
            "number).",
        ],
        [
            "rank correlation",
            f"Of score and coefficient: {rank}. It needs three coefficients, and a score that moves.",
        ],
    ]
    return {
        "id": "reading",
        "title": "How to read it",
        "blocks": [{"kind": "terms", "items": items}],
    }
