"""The page of continuations: what a model writes at every coefficient, scored, and side by side."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from cospace.report.facts import embed, repeated
from cospace.report.steering_curve import vector_facts, vector_warnings
from cospace.report.words import brief, count, number, shortened, span

if TYPE_CHECKING:
    from cospace.steering.generation import ContinuationPoint, Continuations

__all__ = ["continuations_page"]

SHOWN = 200
"""Most prompts whose continuations stand on the page; the caption says so."""
_LEVELS = ("model", "site", "method", "scorer")
_TOLD = ("coefficient", "score", "low", "high", "change", "distinct", "perplexity")


def continuations_page(result: Continuations) -> dict[str, Any]:
    """Reduce continuations to a page; README.md of this package lists its keys."""
    kept = type(result).from_dict(result.to_dict())  # numbers that are not finite become None
    records = kept.records()
    data = embed(records, kind=kept.kind, schema=kept.schema, levels={name: [] for name in _LEVELS})
    data["told"] = list(_TOLD)
    vector = kept.provenance.get("vector")
    sections = [
        {
            "id": "scores",
            "title": "Scores of what is written",
            "intro": "Of the continuations alone, never of the prompts; at 0 the model is as it is.",
            "blocks": [*_figure(kept), _table(kept)],
        },
        _texts(kept),
        *([] if kept.site is None else [vector_facts(vector)]),
        _reading(kept),
        repeated(
            {**kept.settings, "new_tokens": kept.new_tokens, "prompts_hash": kept.prompts_hash},
            {key: value for key, value in kept.provenance.items() if key != "vector"},
            len(records),
        ),
    ]
    return {
        "kind": "continuations",
        "title": f"{shortened(kept.model, 60)} writes · cospace steering",
        "headline": _headline(kept),
        "lead": _lead(kept),
        "findings": [_finding(p) for p in kept.points if p.coefficient],
        "warnings": [*vector_warnings(vector), *_cautions(kept)],
        "sections": sections,
        "data": data,
    }


def _plain(result: Continuations) -> ContinuationPoint | None:
    return next((p for p in result.points if not p.coefficient), None)


def _tone(point: ContinuationPoint) -> str:
    """Outside: the change from 0 is told from none over prompts; no random push is run here."""
    if point.change_low is None or point.change_high is None:
        return "untested"
    return "outside" if point.change_low > 0.0 or point.change_high < 0.0 else "chance"


def _headline(result: Continuations) -> str:
    plain = _plain(result)
    at_zero = number(None if plain is None else plain.score)
    others = [p for p in result.points if p.coefficient and p.change is not None]
    text = f"What {result.model} writes scores {at_zero}"
    if others:
        most = max(others, key=lambda p: abs(p.change or 0.0))
        text += f" as it is, and {number(most.score)} at {brief(most.coefficient)}"
    return f"{text} ({result.scorer})"


def _lead(result: Continuations) -> str:
    how = (
        "the model as it is"
        if result.site is None
        else f"{result.method} at {result.site}, in units of the {result.unit} of the states"
    )
    return (
        f"{count(result.n, 'prompt')} continued by at most {count(result.new_tokens, 'token')}, the likeliest each "
        f"time: {how}. Scored by {result.scorer}."
    )


def _finding(point: ContinuationPoint) -> dict[str, str]:
    tone = _tone(point)
    text = f"At {brief(point.coefficient)} the score changes by {number(point.change)}"
    if tone != "untested":
        text += f" ({span(point.change_low, point.change_high)}, 95 % over prompts)"
    told = {
        "outside": "told from no change, prompt by prompt; that another push of this size does less was not looked at",
        "chance": "not told from no change",
        "untested": "too few scored prompts for an interval",
    }[tone]
    return {"text": f"{text}: {told}.", "tone": tone}


def _cautions(result: Continuations) -> list[str]:
    found = list(result.warnings)
    if result.cut:
        found.append(
            f"{count(result.cut, 'prompt was', 'prompts were')} cut to {result.settings.get('prompt_tokens')} tokens "
            "before the model continued."
        )
    lost = max((p.unscored for p in result.points), default=0)
    if lost:
        found.append(
            f"Up to {count(lost, 'continuation')} of {result.n:,} at a coefficient could not be scored: means are of "
            "the others."
        )
    return found


def _figure(result: Continuations) -> list[dict[str, Any]]:
    """Mean score over coefficients with its interval; nothing for one coefficient."""
    if len(result.points) < 2:
        return []
    first, last = result.points[0].coefficient, result.points[-1].coefficient
    ends = [v for p in result.points for v in (p.score, p.low, p.high) if v is not None]
    if not ends:
        return []
    low, high = min(0.0, *ends), max(ends)
    points = [
        {
            "x": (p.coefficient - first) / (last - first),
            "y": p.score,
            "low": p.low,
            "high": p.high,
            "title": f"{brief(p.coefficient)}: {number(p.score)} ({span(p.low, p.high)})",
            "tone": _tone(p) if p.coefficient else "above",
            "record": i,
        }
        for i, p in enumerate(result.points)
    ]
    panel = {
        "title": shortened(f"{result.model}: {result.scorer}", 60),
        "description": f"Mean score at {count(len(points), 'coefficient')}, with intervals over prompts.",
        "x_label": f"coefficient, in units of the states’ {result.unit}",
        "x_marks": [
            (point["x"], brief(p.coefficient))
            for point, p in zip(points, result.points, strict=True)
        ],
        "low": low,
        "high": high if high > low else low + 1.0,
        "width": 560,
        "height": 280,
        "series": [{"label": "score", "points": points}],
    }
    return [
        {
            "kind": "curves",
            "caption": "Lines: 95 % intervals over prompts. Filled: at 0, and where the change from 0 is told from "
            "none; hollow: not.",
            "panels": [panel],
        }
    ]


def _table(result: Continuations) -> dict[str, Any]:
    above = "Above" if result.threshold is None else f"Above {number(result.threshold, 2)}"
    rows = [
        [
            {"text": brief(p.coefficient), "head": True},
            {"text": number(p.score), "note": _interval(p.low, p.high)},
            {"text": number(p.change), "note": _interval(p.change_low, p.change_high)},
            number(p.above),
            f"{p.unscored:,}",
            number(p.words, 1),
            number(p.distinct),
            number(p.perplexity, 1),
        ]
        for p in result.points
    ]
    labels = ("Score", "Change from 0", above, "Not scored", "Words", "Distinct", "Perplexity")
    return {
        "kind": "table",
        "caption": "Means over prompts with 95 % intervals. Distinct: different words over words; low where the model "
        "repeats itself. Perplexity: of neutral sentences.",
        "columns": [
            {"label": "Coefficient"},
            *({"label": label, "align": "num"} for label in labels),
        ],
        "groups": [{"label": None, "rows": rows}],
    }


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else span(low, high)


def _texts(result: Continuations) -> dict[str, Any]:
    """One row a prompt, one column a coefficient: the text, and its score."""
    section: dict[str, Any] = {"id": "texts", "title": "The texts beside each other"}
    held = [p for p in result.points if p.texts]
    if not held:
        words = "The continuations were not kept with this result."
        return {**section, "blocks": [{"kind": "text", "text": words}]}
    shown = min(len(held[0].texts), SHOWN)
    rows: list[list[Any]] = []
    for i in range(shown):
        prompt = result.prompts[i] if result.prompts else None
        head: dict[str, Any] = {"text": f"{i + 1:,}", "head": True}
        if prompt is not None:
            head["note"] = printable(prompt)
        rows.append([head, *(_text(p, i) for p in held)])
    caption = "Beside each prompt what the model adds to it, and its score."
    if shown < len(held[0].texts):
        caption += (
            f" The first {shown:,} of {len(held[0].texts):,} prompts; the saved result has all."
        )
    table = {
        "kind": "table",
        "caption": caption,
        "columns": [
            {"label": "Prompt"},
            *(
                {"label": f"At {brief(p.coefficient)}" + ("" if p.coefficient else ", as it is")}
                for p in held
            ),
        ],
        "groups": [{"label": None, "rows": rows}],
        "loose": True,
        "tall": shown > 12,
    }
    return {**section, "blocks": [table]}


def _text(point: ContinuationPoint, place: int) -> dict[str, Any]:
    text = printable(point.texts[place])
    score = point.by_prompt[place]
    note = "not scored" if score is None else number(score)
    return {"text": text or "nothing", "quiet": not text, "note": note}


def printable(text: str) -> str:
    r"""Text in one line: breaks are marked, and what has no sign of its own is replaced.

    Examples
    --------
    >>> printable(" a\nb\x00")
    'a ⏎ b�'
    """
    marked = text.strip().replace("\r\n", "\n").replace("\n", " ⏎ ")
    return "".join(
        " " if sign == "\t" else "\ufffd" if unicodedata.category(sign) in ("Cc", "Cs") else sign
        for sign in marked
    )


def _reading(result: Continuations) -> dict[str, Any]:
    items = [
        [
            "score",
            f"What {result.scorer} gives a continuation; the mean over those that it can score.",
        ],
        ["change", "Mean difference from the same prompts’ continuations at 0."],
        [
            "95 %",
            "Percentiles over samples of the prompts; for each coefficient by itself, not corrected for their number.",
        ],
    ]
    return {
        "id": "reading",
        "title": "How to read it",
        "blocks": [{"kind": "terms", "items": items}],
    }
