"""What an affine-homotopy study bears out, in sentences that its numbers decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from cospace.report.homotopy_prediction import (
    NAMED,
    Finding,
    at_depth,
    beside_paper,
    encoder_names,
    predicted,
    rivals,
    there,
)
from cospace.report.verdicts import LEVEL
from cospace.report.words import count, joined, number, p_text
from cospace.stats import holm
from cospace.studies.affine_homotopy.result import (
    AffineHomotopyStudy,
    Extrinsic,
    Intrinsic,
    Mappability,
    TaskFacts,
)

__all__ = ["broken", "findings", "largest_ratio", "probe_reading", "ratio_text", "share_of_bound"]

SLACK = 1e-6
"""Relative excess over a bound that is rounding."""


def findings(result: AffineHomotopyStudy) -> list[Finding]:
    """What is borne out and what is not, in the order of the page."""
    found = [
        _asymmetry(result),
        *_easiest(result),
        *_orders(result),
        predicted(result),
        rivals(result),
        beside_paper(result),
        _ranks(result),
        _bound(result),
        _weak(result),
    ]
    return [one for one in found if one is not None]


def largest_ratio(
    pairs: Sequence[Intrinsic],
) -> tuple[int, int, tuple[Intrinsic, Intrinsic] | None]:
    """Compare the two directions of every two encoders at every depth.

    Returns
    -------
    tuple
        Number of pairs whose certified intervals do not overlap, number of pairs, and the larger
        and smaller direction where their ratio is largest among those; None where there is none.
    """
    known = {(pair.depth, pair.source, pair.target): pair for pair in pairs}
    apart, whole = 0, 0
    most: tuple[Intrinsic, Intrinsic] | None = None
    for pair in pairs:
        back = known.get((pair.depth, pair.target, pair.source))
        if back is None or not (there(pair.normalised) and there(back.normalised)):
            continue
        if (pair.normalised, pair.source) < (back.normalised, back.source):
            continue
        whole += 1
        if pair.normalised_lower <= back.normalised:
            continue
        apart += 1
        if most is None or _ratio(pair, back) > _ratio(*most):
            most = (pair, back)
    return apart, whole, most


def ratio_text(larger: Intrinsic, smaller: Intrinsic) -> str:
    """Write the ratio of two directions."""
    ratio = _ratio(larger, smaller)
    return "no ratio, one direction is 0" if math.isinf(ratio) else f"{number(ratio, 2)} times"


def _ratio(larger: Intrinsic, smaller: Intrinsic) -> float:
    return larger.normalised / smaller.normalised if smaller.normalised > 0 else math.inf


def _asymmetry(result: AffineHomotopyStudy) -> Finding | None:
    apart, whole, most = largest_ratio(result.intrinsic)
    if not whole:
        return None
    several = len({pair.depth for pair in result.intrinsic}) > 1
    over = " over all depths" if several else ""
    if most is None:
        text = (
            f"Affine distances do not tell the two directions apart: in none of {count(whole, 'pair')}"
            f"{over} do their certified intervals lie apart."
        )
        return {"text": text, "tone": "chance"}
    larger, smaller = most
    text = (
        f"Affine distances are asymmetric in {apart:,} of {count(whole, 'pair')}{over}: the certified "
        f"intervals of the two directions lie apart. Most at {larger.source} → {larger.target}, "
        f"{number(larger.normalised)} of the radius, against {number(smaller.normalised)} back "
        f"({ratio_text(larger, smaller)}{at_depth(larger.depth, several=several)})."
    )
    return {"text": text, "tone": "above"}


def _easiest(result: AffineHomotopyStudy) -> list[Finding]:
    first: dict[str, dict[float, list[Mappability]]] = {}
    for one in result.mappability:
        if one.place == 1:
            first.setdefault(one.kind, {}).setdefault(one.depth, []).append(one)
    told = []
    affine = first.pop("affine", {})
    if affine:
        told.append({"text": f"Easiest to map onto: {_by_depth(affine)}", "tone": "untested"})
    if first:
        parts = [f"{task}: {_by_depth(depths)}" for task, depths in first.items()]
        same = _same(first, affine)
        told.append({"text": f"Easiest to imitate. {' '.join(parts)}{same}", "tone": "untested"})
    return told


def _by_depth(depths: dict[float, list[Mappability]]) -> str:
    """Name who comes first at which depths."""
    groups: dict[str, list[float]] = {}
    for depth, ones in depths.items():
        groups.setdefault(_names([one.target for one in ones]), []).append(depth)
    if len(depths) == 1:
        (only,) = groups
        return f"{only}."
    if len(groups) == 1:
        (only,) = groups
        return f"{only}, at all {len(depths)} depths."
    parts = [f"{name} (depth {joined([f'{d:g}' for d in at])})" for name, at in groups.items()]
    return f"{joined(parts)}; it is not the same at all depths."


def _same(
    tasks: dict[str, dict[float, list[Mappability]]], affine: dict[float, list[Mappability]]
) -> str:
    """Count how often the easiest to imitate is the easiest to map onto at the same depth."""
    met = agreed = 0
    for depths in tasks.values():
        for depth, ones in depths.items():
            if depth in affine:
                met += 1
                agreed += bool({x.target for x in ones} & {x.target for x in affine[depth]})
    if not met:
        return ""
    if met == 1:
        return f" It is {'' if agreed else 'not '}the easiest to map onto at that depth."
    return f" In {agreed} of {met} cases it is the easiest to map onto at that depth."


def _orders(result: AffineHomotopyStudy) -> list[Finding]:
    """Whether the order of the encoders as targets is one order, over depths, and over tasks."""
    depths = [one for one in result.agreements if one.first == one.second == "affine"]
    tasks = [one for one in result.agreements if "affine" not in (one.first, one.second)]
    told = []
    for ones, what in ((depths, "over depths, by affine distance"), (tasks, "over tasks")):
        tested = [one for one in ones if there(one.value) and there(one.p)]
        if not tested:
            continue
        corrected = holm([one.p or 0.0 for one in tested])
        clear = sum(bool(p <= LEVEL) for p in corrected)
        values = [one.value or 0.0 for one in tested]
        spread = f"{number(min(values), 2)} to {number(max(values), 2)}, median "
        middle = f"{spread if len(values) > 1 else ''}{number(median(values), 2)}"
        text = (
            f"Order of the encoders as targets {what}: Spearman {middle}; {clear} of "
            f"{count(len(tested), 'comparison')} can be told from chance (Holm)."
        )
        told.append({"text": text, "tone": "above" if clear == len(tested) else "chance"})
    return told


def _ranks(result: AffineHomotopyStudy) -> Finding | None:
    if not result.ranks:
        return None
    tested = [one for one in result.ranks if there(one.value) and there(one.p)]
    if not tested:
        text = (
            "Rank says nothing of who is easy to map onto: all encoders have the same rank at every "
            "tolerance, or all medians are equal."
        )
        return {"text": text, "tone": "chance"}
    several = len({one.depth for one in tested}) > 1
    corrected = [float(p) for p in holm([one.p or 0.0 for one in tested])]
    found = [(one, p) for one, p in zip(tested, corrected, strict=True) if p <= LEVEL]
    tests = f"Holm over {count(len(tested), 'test')}"
    if found:
        named = [
            f"tolerance {one.tolerance}{at_depth(one.depth, several=several)}: Spearman "
            f"{number(one.value, 2)}, corrected p {p_text(p)}"
            for one, p in found[:NAMED]
        ]
        text = (
            f"Encoders of higher rank are harder to map onto in {len(found)} of {len(tested)} "
            f"({tests}): {'; '.join(named)}."
        )
        return {"text": text, "tone": "above"}
    text = (
        "That encoders of higher rank are harder to map onto cannot be told from chance in any of "
        f"{count(len(tested), 'test')} (corrected p {p_text(min(corrected))} at least)."
    )
    encoders = len(encoder_names(result))
    least = len(tested) / math.factorial(encoders)
    if least > LEVEL:
        text += (
            f" {encoders} encoders cannot reach significance in so many tests whatever the data."
        )
    return {"text": text, "tone": "chance"}


def share_of_bound(pair: Extrinsic) -> float | None:
    """The larger of the two extrinsic distances beside the bound that holds for both."""
    values = [value for value in (pair.fixed, pair.worst) if there(value)]
    if not values or not there(pair.bound):
        return None
    if pair.bound > 0:
        return max(values) / pair.bound
    return math.inf if max(values) > 0 else 0.0


def broken(pair: Extrinsic) -> bool:
    """Whether a distance is larger than its bound by more than rounding."""
    share = share_of_bound(pair)
    return share is not None and share > 1.0 + SLACK


def _bound(result: AffineHomotopyStudy) -> Finding | None:
    shares = [(pair, share_of_bound(pair)) for pair in result.extrinsic]
    pairs = [(pair, share) for pair, share in shares if share is not None]
    if not pairs:
        return None
    most, share = max(pairs, key=lambda item: item[1])
    wrong = sum(broken(pair) for pair, _ in pairs)
    several = len({pair.depth for pair in result.extrinsic}) > 1
    where = f"{most.source} → {most.target}, {most.task}{at_depth(most.depth, several=several)}"
    cases = count(len(pairs), "case")
    if wrong:
        text = (
            f"In {wrong:,} of {cases} an extrinsic distance exceeds its bound, which cannot be: the "
            f"computation is at fault, and its numbers are not to be believed. Most at {where}: "
            f"{number(share)} of the bound."
        )
        return {"text": text, "tone": "chance"}
    text = (
        f"The bound holds in all {cases}: no extrinsic distance exceeds half the classifier’s norm times "
        f"the affine distance on the same rows. The nearest comes to {number(share)} of it ({where})."
    )
    return {"text": text, "tone": "above"}


def probe_reading(facts: TaskFacts) -> tuple[str, bool]:
    """Say how a probe does beside the most frequent class, and whether that is clearly more.

    Clearly: by more than two standard errors of a proportion over the held-out texts.
    """
    error = math.sqrt(max(facts.majority * (1.0 - facts.majority), 0.0) / max(facts.test, 1))
    if facts.accuracy <= facts.majority:
        return "not above the majority", False
    if facts.accuracy <= facts.majority + 2.0 * error:
        return "not clearly above", False
    return "clearly above", True


def _weak(result: AffineHomotopyStudy) -> Finding | None:
    weak = [facts for facts in result.tasks if not probe_reading(facts)[1]]
    if not result.tasks:
        return None
    if not weak:
        text = f"All {count(len(result.tasks), 'probe')} do clearly better than the majority class."
        return {"text": text.replace("All 1 probe do", "The probe does"), "tone": "above"}
    groups: dict[str, list[str]] = {}
    several = len({facts.depth for facts in result.tasks}) > 1
    for facts in weak:
        place = f"{facts.task}{at_depth(facts.depth, several=several)}"
        groups.setdefault(place, []).append(facts.encoder)
    parts = [f"{place}: {_names(names)}" for place, names in groups.items()]
    text = (
        f"{count(len(weak), 'probe')} of {len(result.tasks)} cannot be told from the majority class, so "
        f"that the extrinsic distances to {'it' if len(weak) == 1 else 'them'} say little ({'; '.join(parts)})."
    )
    return {"text": text, "tone": "chance"}


def _names(names: Sequence[str]) -> str:
    return joined(list(names)) if len(names) <= NAMED else count(len(names), "encoder")
