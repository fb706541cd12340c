"""Does the intrinsic distance predict the extrinsic one: links with their p corrected, as sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeGuard

from cospace.report.verdicts import LEVEL
from cospace.report.words import count, number, p_text
from cospace.stats import holm
from cospace.studies.affine_homotopy.result import AffineHomotopyStudy, Link

__all__ = [
    "EXTRINSIC",
    "NAMED",
    "Finding",
    "Prediction",
    "at_depth",
    "beside_paper",
    "encoder_names",
    "headline",
    "predicted",
    "rivals",
    "there",
]

EXTRINSIC = {"fixed": "fixed classifier", "worst": "worst case"}
"""Extrinsic distance -> its name in a sentence."""
NAMED = 4
"""Most links, pairs or encoders that a sentence names."""
Finding = dict[str, str]
"""``text`` and ``tone``, as a page has them."""


@dataclass(frozen=True)
class Prediction:
    """The links of the affine distance, with p corrected by Holm over all of them."""

    links: tuple[Link, ...]
    """Every task, depth, extrinsic distance and kind of correlation."""
    corrected: tuple[float, ...]
    """p of each, corrected for their number."""

    @classmethod
    def of(cls, result: AffineHomotopyStudy) -> Prediction:
        """Collect the links of a study; those without a value were not tested."""
        links = tuple(
            link
            for link in result.links
            if link.measure == "affine" and there(link.value) and there(link.p)
        )
        p = holm([link.p for link in links]) if links else ()
        return cls(links, tuple(float(value) for value in p))

    @property
    def found(self) -> list[tuple[Link, float]]:
        """Links whose corrected p is at most 0.05, the surest first."""
        both = zip(self.links, self.corrected, strict=True)
        return sorted(((a, p) for a, p in both if p <= LEVEL), key=lambda item: item[1])

    @property
    def smallest(self) -> float:
        """The least p that any link could have, whatever the data."""
        return min(link.smallest_p for link in self.links)

    @property
    def reachable(self) -> bool:
        """Whether some data could have made a link significant after the correction."""
        return self.smallest * len(self.links) <= LEVEL

    def p(self, link: Link) -> float | None:
        """Corrected p of a link; None for one that is not of the affine distance."""
        both = zip(self.links, self.corrected, strict=True)
        return next((p for one, p in both if one is link), None)


def headline(result: AffineHomotopyStudy) -> str:
    """Say in one line whether the intrinsic distance predicts the extrinsic one."""
    prediction = Prediction.of(result)
    encoders = count(len(encoder_names(result)), "encoder")
    if not prediction.links:
        return f"How far {encoders} are from one another up to an affine map"
    links = count(len(prediction.links), "link")
    if prediction.found:
        return (
            "The affine distance between encoders predicts how badly they imitate each other’s "
            f"probes in {len(prediction.found)} of {links}"
        )
    if not prediction.reachable:
        return f"{encoders} are too few to tell whether the affine distance predicts imitation"
    return (
        "The affine distance does not detectably predict how badly encoders imitate each other’s "
        f"probes, in any of {links}"
    )


def encoder_names(result: AffineHomotopyStudy) -> list[str]:
    """Encoders, in the order of the study."""
    return list(dict.fromkeys(encoder.name for encoder in result.encoders))


def at_depth(depth: float, *, several: bool = True, comma: str = ", ") -> str:
    """Name a depth where there is more than one."""
    return f"{comma}depth {depth:g}" if several else ""


def predicted(result: AffineHomotopyStudy) -> Finding:
    """Say where the affine distance predicts the extrinsic one, or why that cannot be told."""
    prediction = Prediction.of(result)
    links = prediction.links
    if not links:
        text = "Whether the affine distance predicts imitation was not tested: no link has a value."
        return {"text": text, "tone": "empty"}
    encoders = count(len(encoder_names(result)), "encoder")
    several = len({link.depth for link in links}) > 1
    asked = f"after Holm’s correction over {count(len(links), 'link')} of the affine distance"
    found = prediction.found
    if found:
        named = [
            f"{_link(link, several=several)} {number(link.value, 2)}, corrected p {p_text(p)}"
            for link, p in found[:NAMED]
        ]
        more = "" if len(found) <= NAMED else f"; and {len(found) - NAMED} more"
        rest = len(links) - len(found)
        none = f" In the other {rest} nothing can be told from chance." if rest else ""
        text = (
            f"The affine distance predicts the extrinsic distance in {len(found)} of {len(links)} "
            f"(p ≤ {LEVEL:g} {asked}): {'; '.join(named)}{more}.{none}"
        )
        return {"text": text, "tone": "above"}
    if not prediction.reachable:
        few = f"{encoders} give p = {p_text(prediction.smallest)} at least"
        if prediction.smallest <= LEVEL:
            few += f", which is {p_text(min(1.0, prediction.smallest * len(links)))} {asked}"
        text = (
            f"Whether the affine distance predicts the extrinsic distance cannot be told: {few}. "
            "So few encoders cannot reach significance whatever the data."
        )
        return {"text": text, "tone": "chance"}
    text = (
        f"In none of {len(links)} can it be told from chance that the affine distance predicts the "
        f"extrinsic distance: p {asked} is {p_text(min(prediction.corrected))} at least."
    )
    return {"text": text, "tone": "chance"}


def _link(link: Link, *, several: bool) -> str:
    where = f"{link.task}, {EXTRINSIC.get(link.extrinsic, link.extrinsic)}"
    return f"{where}{at_depth(link.depth, several=several)}, {link.method.capitalize()}"


def rivals(result: AffineHomotopyStudy) -> Finding | None:
    """How often another measure has the larger Spearman correlation; differences are not tested."""
    groups: dict[tuple[str, float, str], list[Link]] = {}
    for link in result.links:
        if link.method == "spearman" and there(link.value):
            groups.setdefault((link.task, link.depth, link.extrinsic), []).append(link)
    compared = [
        links
        for links in groups.values()
        if len(links) > 1 and any(link.measure == "affine" for link in links)
    ]
    if not compared:
        return None
    first = sum(max(links, key=lambda link: link.value).measure == "affine" for links in compared)
    others = max(len(links) for links in compared) - 1
    text = (
        f"In {first} of {count(len(compared), 'case')} the affine distance has the largest Spearman "
        f"correlation among it and {count(others, 'other measure')}; differences between measures are "
        "not tested."
    )
    return {"text": text, "tone": "untested"}


def beside_paper(result: AffineHomotopyStudy) -> Finding | None:
    """Put the correlations of the affine distance beside those that the paper prints."""
    known = [
        link
        for link in result.links
        if link.measure == "affine" and there(link.published) and there(link.value)
    ]
    if not known:
        return None
    several = len({link.depth for link in known}) > 1
    parts = []
    for link in known[:NAMED]:
        on = link.published_on
        what = f"{_link(link, several=several)} {number(link.value)}"
        parts.append(f"{what}, theirs {number(link.published)}{f' on {on}' if on else ''}")
    more = "" if len(known) <= NAMED else "; the tables have the others"
    text = f"Beside the paper’s numbers, of its own 27 encoders: {'; '.join(parts)}{more}."
    return {"text": text, "tone": "untested"}


def there(value: float | None) -> TypeGuard[float]:
    """Whether a number is known and finite."""
    return value is not None and math.isfinite(value)
