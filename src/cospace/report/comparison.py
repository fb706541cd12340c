"""The page of a comparison: what is alike, beside its yardsticks."""

from __future__ import annotations

import math
from typing import Any

from cospace.comparison.result import Comparison, SpaceFacts
from cospace.report.curves import depth_panels, leading_panel
from cospace.report.facts import data_of, models_section, repeat_section
from cospace.report.findings import (
    Best,
    apparent,
    best_pairs,
    headline,
    outside,
    primary,
    sentence,
)
from cospace.report.maps import map_block
from cospace.report.numbers import claims, measures_table, numbers_table
from cospace.report.pairs import pairs_section
from cospace.report.reading import how_to_read
from cospace.report.verdicts import Readings
from cospace.report.words import count, joined

__all__ = ["comparison_page"]

FEW_PAIRS = 12
"""Up to this many ordered pairs a table with strips says more than a map."""
UNFOLDED = 2
"""Sections of measures that are open; a click opens the others, and print has them all."""
SPELLED = 6
"""Findings written as sentences; the table has them all."""


def comparison_page(result: Comparison) -> dict[str, Any]:
    """Reduce a comparison to a page; README.md of this package lists its keys."""
    result = Comparison.from_dict(result.to_dict())  # numbers that are not finite become None
    groups: dict[str, list[SpaceFacts]] = {}
    for space in result.spaces:
        groups.setdefault(space.model, []).append(space)
    bests = best_pairs(result)
    main = primary(result)
    known = {space.name: space for space in result.spaces}
    told = [best for best in bests if main is not None and best.measure.name == main.name]
    if len(told) > SPELLED:
        told.sort(key=_closeness)
    findings = [
        {"text": sentence(best, known), "tone": best.reading.key} for best in told[:SPELLED]
    ]
    if len(told) > SPELLED:
        rest = (
            f"These are the {SPELLED} most alike of {len(told)} pairs; the table has them all. "
            f"Of {len(told)} unrelated pairs about {round(0.05 * len(told)) or 1} would fall under "
            "p = 0.05 by chance: p is not corrected for the number of pairs."
        )
        if result.settings.get("correct", "max") != "max":
            rest += " The table of pairs of models corrects for it."
        findings.append({"text": rest, "tone": "untested"})
    far = outside(bests) if len(groups) <= 2 else None
    if far:
        findings.append({"text": far, "tone": "outside"})
    loud = apparent(bests) if len(groups) <= 2 else None
    if loud:
        findings.append({"text": loud, "tone": "chance"})
    pairs = {(c.source, c.target) for c in result.cells if c.source != c.target}
    sections = [_numbers(result, bests, all_pairs=len(pairs) <= FEW_PAIRS)]
    sections += [*pairs_section(result), *models_section(result)]
    curve = leading_panel(groups)
    if curve["series"]:
        sections.append(_leading(curve))
    if len(pairs) > FEW_PAIRS:
        sections += _measures(result, groups)
    else:
        block = measures_table(result)
        sections.append({"id": "measures", "title": "The measures", "blocks": [block]})
    sections += [how_to_read(result), repeat_section(result)]
    return {
        "kind": "comparison",
        "title": f"{joined(list(groups))[:120]} · cospace comparison",
        "headline": headline(bests, main, list(groups)),
        "lead": _lead(result, groups),
        "findings": findings,
        "warnings": list(result.warnings),
        "sections": sections,
        "data": data_of(result),
    }


def _closeness(best: Best) -> float:
    value = best.cell.value
    if value is None:
        return math.inf
    return -value if best.measure.kind == "similarity" else value


def _lead(result: Comparison, groups: dict[str, list[SpaceFacts]]) -> str:
    rows = sorted({space.n for space in result.spaces})
    amount = joined([f"{n:,}" for n in rows])
    names = joined(list(groups)) if len(groups) <= 6 else count(len(groups), "model")
    if len(result.spaces) == len(groups):
        what = count(len(groups), "space") + (f", {names}" if len(groups) <= 6 else "")
    else:
        what = f"{names} at {count(len(result.spaces), 'site')} in all"
    by = result.settings.get("matched") or result.settings.get("matched_by")
    match = f", matched by {'id' if by == 'ids' else by}" if isinstance(by, str) else ""
    draws = max((cell.draws for cell in result.cells), default=0)
    exact = any(cell.null_exact for cell in result.cells)
    parts = ["exact over all permutations where there is a closed form"] if exact else []
    parts += [f"from up to {draws:,} shuffles of the rows"] if draws else []
    null = f"; chance level {', else '.join(parts)}" if parts else ""
    measures = count(len(result.measures), "measure")
    return f"Compared: {what}, on {amount} rows{match}, by {measures}{null}."


def _numbers(result: Comparison, bests: list[Best], *, all_pairs: bool) -> dict[str, Any]:
    intro = "Every pair of spaces by every measure, beside what shuffled rows give."
    if not all_pairs and any(best.searched > 1 for best in bests):
        intro = (
            "For each pair of models and each measure the most alike pair of sites, beside what "
            "shuffled rows give. The best of many pairs is high by selection alone: p (search) "
            "allows for it."
        )
    return {
        "id": "numbers",
        "title": "Main numbers",
        "intro": intro,
        "blocks": [numbers_table(result, bests, all_pairs=all_pairs)],
    }


def _leading(curve: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "leading",
        "title": "Leading direction",
        "intro": "Where one direction holds nearly all variance, CKA, RSA and Procrustes compare little "
        "else: two spaces may look alike, or unlike, because of that direction alone.",
        "blocks": [
            {
                "kind": "curves",
                "caption": "Share of the variance of the centred rows on their leading principal "
                "direction, at every site. 1 means that the space is a line.",
                "panels": [curve],
            }
        ],
    }


def _measures(result: Comparison, groups: dict[str, list[SpaceFacts]]) -> list[dict[str, Any]]:
    sections: list[dict[str, Any]] = []
    judge = Readings(result)
    for i, measure in enumerate(result.measures):
        blocks: list[dict[str, Any]] = [claims(result, measure)]
        found = map_block(result, i, judge)
        blocks.append(
            found or {"kind": "text", "text": "This measure was not run on any pair of spaces."}
        )
        panels = depth_panels(result, measure, groups, judge)
        if panels:
            other = "" if measure.symmetric else " The arrow points from source to target."
            blocks.append(
                {
                    "kind": "curves",
                    "caption": "Along the depth: each site with the site of the other model that is "
                    "nearest in relative depth. Grey band: the null, mean ± 2 standard deviations. "
                    "Vertical lines: 95 % intervals, where defined. Hollow dots cannot be told from "
                    f"their null; a cross marks a cell without a value.{other}",
                    "panels": panels,
                }
            )
        sections.append(
            {
                "id": f"measure-{i}",
                "title": measure.title,
                "intro": measure.summary,
                "group": "Measures",
                "folded": len(sections) >= UNFOLDED,
                "blocks": blocks,
            }
        )
    return sections
