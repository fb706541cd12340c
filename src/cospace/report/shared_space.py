"""The page of a shared space that was scored: does it win, what stands beside it, what was chosen."""

from __future__ import annotations

from typing import Any

from cospace.report.facts import embed, repeated
from cospace.report.shared_space_tables import (
    candidate_table,
    choice_table,
    contrast_table,
    gallery_table,
    leading_table,
    method_table,
    pairs_map,
)
from cospace.report.words import count, joined, number, span
from cospace.shared import Contrast, Score, SharedScore

__all__ = ["called", "findings", "score_page"]

_TONES = {"better": "above", "worse": "outside", "not told apart": "chance", "neither": "chance"}
_ALIKE = 2.0


def score_page(result: SharedScore) -> dict[str, Any]:
    """Reduce a score to a page; README.md of this package lists its keys."""
    told = findings(result)
    sections: list[dict[str, Any]] = []
    for i, one in enumerate(result.sets):
        blocks: list[dict[str, Any]] = [method_table(result, one.name)]
        if small := gallery_table(result, one.name):
            blocks.append(small)
        blocks += [pairs_map(result, one.name), contrast_table(result, one.name)]
        sections.append(
            {
                "id": f"set-{i}",
                "title": called(one.name).capitalize(),
                "intro": _about(result, one.name, paraphrases=one.paraphrases, n=one.n),
                "blocks": blocks,
            }
        )
    sections += [
        {
            "id": "chosen",
            "title": "What was chosen, and why",
            "intro": "On inner folds of the texts of the fit, for every method on its own; no held-out text took part.",
            "blocks": [
                choice_table(result),
                {
                    "kind": "details",
                    "summary": "Every setting that was tried",
                    "blocks": [candidate_table(result)],
                },
            ],
        },
        {
            "id": "leading",
            "title": "One direction",
            "intro": "Where one direction holds nearly all variance of a model's rows, maps of rows as they are follow "
            "it and little else; scaling or dropping it is what brings the rest back.",
            "blocks": [leading_table(result)],
        },
    ]
    settings = {
        "texts of the fit": result.n,
        "gallery": result.gallery,
        "rows matched by": result.matched,
        "bootstrap samples": result.draws,
        "seed": result.rng,
    }
    sections.append(repeated(settings, result.provenance, len(result.scores)))
    return {
        "kind": result.kind,
        "title": "Shared space · cospace",
        "headline": told[0]["text"],
        "lead": f"{count(len(result.leading), 'model')}: {joined([one.model for one in result.leading])}; fitted on "
        f"{count(result.n, 'text')}, searched in galleries of {result.gallery}.",
        "findings": told[1:],
        "warnings": list(result.warnings),
        "sections": sections,
        "data": {
            **embed(
                result.records(),
                kind=result.kind,
                schema=result.schema,
                levels={k: [] for k in ("method", "kind", "set", "sample", "measure", "among")},
            ),
            "key": ["set", "method", "measure"],
        },
    }


def findings(result: SharedScore) -> list[dict[str, str]]:
    """What the numbers say, in sentences."""
    told = [_against(result, one.name) for one in result.sets]
    for one in result.sets:
        told += _controls(result, one.name)
    worst = max(result.leading, key=lambda one: one.share)
    choice = result.choice(result.shared)
    told.append(
        {
            "text": f"{result.shared} was chosen on inner folds, scaling {choice.scaling}, width {choice.width}; one "
            f"direction holds up to {worst.share:.1%} of the variance of a model's rows ({worst.model}).",
            "tone": "untested",
        }
    )
    return told


def _against(result: SharedScore, label: str) -> dict[str, str]:
    """Verdict on a set, against the pairwise maps that inner folds chose."""
    ours, second = result.get("shared", set=label), result.best_pairwise()
    name = f"one shared space ({result.shared})"
    reached = (
        f"top-1 {number(ours.value)} ({span(ours.low, ours.high)}; chance {number(ours.chance)})"
    )
    if second is None:
        text = (
            f"On {called(label)}, {name} reaches {reached}; no pairwise maps were fitted beside it."
        )
        return {"text": text, "tone": "untested"}
    one = result.contrast(second, set=label)
    theirs = result.get(second, set=label).value
    if one.verdict == "neither":
        text = (
            f"On {called(label)}, neither {name} nor the best pairwise maps ({second}) can be told from chance: "
            f"{reached} and {number(theirs)}."
        )
        return {"text": text, "tone": _TONES[one.verdict]}
    verb = {
        "better": "beats",
        "worse": "loses to",
        "not told apart": "ties with",
    }[one.verdict]
    text = (
        f"On {called(label)}, {name} {verb} the best pairwise maps ({second}): {reached} against {number(theirs)}, "
        f"{_more(one)}."
    )
    hardest = max(
        (c.method for c in result.choices if result.kind_of(c.method) == "pairwise"),
        key=lambda m: result.get(m, set=label).value,
    )
    above = result.contrast(hardest, set=label)
    if hardest != second and above.verdict == "worse":
        text += (
            f" It loses to {hardest}, which happened to do best on these texts ({_more(above)})."
        )
    return {"text": text, "tone": _TONES[one.verdict]}


def _more(one: Contrast) -> str:
    side = "more" if one.value >= 0.0 else "less"
    return (
        f"{number(abs(one.value))} {side} (difference {span(one.low, one.high)}, paired over texts)"
    )


def _controls(result: SharedScore, label: str) -> list[dict[str, str]]:
    known = {
        (s.method, s.sample, s.among): s
        for s in result.scores
        if s.set == label and s.measure == "top1"
    }
    ours = known["shared", "held out", "all"]
    told = []
    mixed = known.get(("shared", "shuffled, held out", "all"))
    inside = next(
        (
            s
            for s in result.scores
            if (s.method, s.sample, s.measure) == ("shared", "shuffled, in-sample", "top1")
        ),
        None,
    )
    if mixed is not None and inside is not None:
        lesson = (
            ""
            if _near(inside)
            else ", where there is nothing to find: in-sample numbers show nothing"
        )
        text = (
            f"After a fit on shuffled rows, {called(label)} are found with {number(mixed.value)} (chance "
            f"{number(mixed.chance)}), and the shuffled rows themselves with {number(inside.value)}{lesson}."
        )
        told.append({"text": text, "tone": "chance" if _near(mixed) else "outside"})
    words = known.get(("words", "held out", "all"))
    if words is not None:
        text = (
            f"Words alone find {called(label)} with {number(words.value)}, the shared space with "
            f"{number(ours.value)}."
        )
        tone = "above" if ours.low > words.high else "chance"
        told.append({"text": text, "tone": tone})
    within = known.get(("within", "held out", "all"))
    if within is not None:
        text = (
            f"Inside every model its own paraphrases are found with {number(within.value)}: across models "
            f"{number(ours.value)} is {ours.value / within.value:.0%} of that."
            if within.value > 0.0
            else "Inside every model none of its own paraphrases is found."
        )
        told.append({"text": text, "tone": "untested"})
    few = known.get(("shared", "held out", "any"))
    for among, word in (("group", "of the same group"), ("length", "nearest in length")):
        one = known.get(("shared", "held out", among))
        if one is None or few is None:
            continue
        there = (
            "still there"
            if one.chance is not None and one.low > one.chance
            else "not told from chance"
        )
        text = (
            f"Among {one.gallery} texts {word}, {called(label)} are found with {number(one.value)} (any "
            f"{few.gallery} texts: {number(few.value)}; chance {number(one.chance)}): what is shared is {there}."
        )
        told.append({"text": text, "tone": "above" if there == "still there" else "chance"})
    return told


def called(label: str) -> str:
    """A set inside a sentence."""
    return {"new": "new texts", "paraphrase": "paraphrases"}.get(label, f"texts of {label}")


def _near(one: Score) -> bool:
    return one.chance is not None and one.low <= _ALIKE * one.chance


def _about(result: SharedScore, label: str, *, paraphrases: bool, n: int) -> str:
    what = "the answer is its paraphrase" if paraphrases else "the answer is the same text"
    return (
        f"{count(n, 'query', 'queries')} that no fit saw, over all ordered pairs of models: a text in one, and {what} "
        f"in the other, among {result.gallery}."
    )
