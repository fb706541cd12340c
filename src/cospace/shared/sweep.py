"""Where a shared space wins, ties and loses: one summary of every depth and pooling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Self

from cospace.errors import ContradictionError, InputError
from cospace.result import Result, checked, plain
from cospace.shared.result import SharedScore
from cospace.whole import check_once, check_order

__all__ = ["VERDICTS", "Refusal", "SharedSweep", "SweepCell", "summarise"]

VERDICTS = ("wins", "ties", "loses", "neither")
"""What a shared space does beside pairwise maps; ``neither``: no interval of the two is above chance."""
_WORDS = {"better": "wins", "not told apart": "ties", "worse": "loses", "neither": "neither"}


@dataclass(frozen=True)
class SweepCell:
    """A shared space at one depth and pooling, on one set of held-out texts; top-1 throughout."""

    depth: float
    """Relative depth."""
    pooling: str
    """Pooling."""
    set: str
    """Name of the set."""
    shared: str
    """Method of the shared space, chosen on inner folds."""
    scaling: str
    """Its scaling."""
    width: int
    """Its width."""
    ridge: float
    """Its penalty."""
    value: float
    """Its top-1."""
    low: float
    """Lower end of the 95 % interval over texts."""
    high: float
    """Upper end."""
    chance: float
    """Exact value by chance."""
    gallery: int
    """Texts that are searched."""
    n: int
    """Queries."""
    pairwise: str | None
    """Pairwise maps that did best on inner folds."""
    pairwise_value: float | None
    """Their top-1."""
    ahead: float | None
    """Shared space less these."""
    ahead_low: float | None
    """Lower end of the paired 95 % interval over texts."""
    ahead_high: float | None
    """Upper end."""
    verdict: str | None
    """``wins``, ``ties`` (not told apart), ``loses``, or ``neither`` where no interval of the two lies
    above chance."""
    hardest: str | None
    """Pairwise maps that happened to do best on these held-out texts."""
    hardest_value: float | None
    """Their top-1."""
    hardest_verdict: str | None
    """Verdict against these, which is biased against the shared space."""
    raw: float | None
    """Top-1 of principal coordinates as they are."""
    words: float | None
    """Top-1 of words alone."""
    within: float | None
    """Top-1 inside every model, for paraphrases."""
    few: float | None
    """Top-1 in small galleries of any texts."""
    few_chance: float | None
    """Their chance, which is that of the next two as well."""
    group: float | None
    """Top-1 in galleries of the query's group."""
    length: float | None
    """Top-1 in galleries of texts of its length."""
    shuffled: float | None
    """Top-1 on these texts after a fit on shuffled rows."""
    shuffled_in_sample: float | None
    """Top-1 on the shuffled rows themselves."""
    leading: float
    """Largest share, over models, of the variance that one direction holds."""


@dataclass(frozen=True)
class Refusal:
    """A depth and pooling that has no shared space."""

    depth: float
    """Relative depth."""
    pooling: str
    """Pooling."""
    reason: str
    """Why."""


@dataclass(frozen=True)
class SharedSweep(Result):
    """Shared spaces over depths and poolings."""

    kind: ClassVar[str] = "shared_sweep"
    schema: ClassVar[int] = 1

    cells: tuple[SweepCell, ...]
    """Every depth, pooling and set."""
    refused: tuple[Refusal, ...]
    """Depths and poolings without a space, and why."""
    models: tuple[str, ...]
    """Names of the models."""
    n: int
    """Rows of every fit."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Options of every score."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from."""

    def count(self, set: str, verdict: str, *, hardest: bool = False) -> int:
        """Number of depths and poolings with that verdict, one of ``VERDICTS``."""
        ours = [one for one in self.cells if one.set == set]
        return sum((one.hardest_verdict if hardest else one.verdict) == verdict for one in ours)

    def records(self) -> list[dict[str, Any]]:
        """One row a depth, pooling and set."""
        return [asdict(one) for one in self.cells]

    def with_provenance(self, **told: Any) -> Self:
        """Return the same result with more in its ``provenance``."""
        return replace(self, provenance={**self.provenance, **plain(told)})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from what ``to_dict`` gave.

        Raises
        ------
        InputError
            For a dictionary that lacks something, or contradicts itself.
        """
        values = {k: v for k, v in data.items() if k not in ("kind", "schema")}
        try:
            values["cells"] = tuple(checked(SweepCell, one) for one in values["cells"])
            values["refused"] = tuple(checked(Refusal, one) for one in values["refused"])
            found: Self = checked(cls, values)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError("This is no whole shared_sweep: build it anew.") from error
        found._check()
        return found

    def _check(self) -> None:
        """Refuse cells that do not go together."""
        check_once(
            [f"{one.set}, {one.pooling}, depth {one.depth:g}" for one in self.cells], "cells"
        )
        for one in self.cells:
            where = f"{one.set}, {one.pooling}, depth {one.depth:g}"
            check_order(where, low=one.low, high=one.high)
            check_order(where, ahead_low=one.ahead_low, ahead_high=one.ahead_high)
            for verdict, against in (
                (one.verdict, one.pairwise),
                (one.hardest_verdict, one.hardest),
            ):
                if (verdict is None) != (against is None) or verdict not in (None, *VERDICTS):
                    raise ContradictionError(f"{where}: the verdict against {against} is {verdict}")
        for other in self.refused:
            if any((one.depth, one.pooling) == (other.depth, other.pooling) for one in self.cells):
                raise ContradictionError(
                    f"{other.pooling}, depth {other.depth:g}: is refused and has a score"
                )


def summarise(score: SharedScore, *, depth: float, pooling: str) -> list[SweepCell]:
    """Reduce a score to one cell a set.

    Parameters
    ----------
    score
        Of one depth and pooling.
    depth, pooling
        Which.
    """
    return [_cell(score, one.name, depth, pooling) for one in score.sets]


def _cell(score: SharedScore, label: str, depth: float, pooling: str) -> SweepCell:
    known = {(s.method, s.sample, s.set, s.among): s for s in score.scores if s.measure == "top1"}

    def top(method: str, sample: str = "held out", among: str = "all") -> float | None:
        at = "fit" if "in-sample" in sample else label
        found = known.get((method, sample, at, among))
        return None if found is None else found.value

    ours, choice = score.get("shared", set=label), score.choice(score.shared)
    pairwise, hardest = score.best_pairwise(), _hardest(score, label)
    ahead = None if pairwise is None else score.contrast(pairwise, set=label)
    above = None if hardest is None else score.contrast(hardest, set=label)
    few = known.get(("shared", "held out", label, "any"))
    return SweepCell(
        depth=depth,
        pooling=pooling,
        set=label,
        shared=score.shared,
        scaling=choice.scaling,
        width=choice.width,
        ridge=choice.ridge,
        value=ours.value,
        low=ours.low,
        high=ours.high,
        chance=1.0 / ours.gallery,
        gallery=ours.gallery,
        n=ours.n,
        pairwise=pairwise,
        pairwise_value=None if pairwise is None else top(pairwise),
        ahead=None if ahead is None else ahead.value,
        ahead_low=None if ahead is None else ahead.low,
        ahead_high=None if ahead is None else ahead.high,
        verdict=None if ahead is None else _WORDS[ahead.verdict],
        hardest=hardest,
        hardest_value=None if hardest is None else top(hardest),
        hardest_verdict=None if above is None else _WORDS[above.verdict],
        raw=top("raw"),
        words=top("words"),
        within=top("within"),
        few=top("shared", among="any"),
        few_chance=None if few is None else few.chance,
        group=top("shared", among="group"),
        length=top("shared", among="length"),
        shuffled=top("shared", "shuffled, held out"),
        shuffled_in_sample=top("shared", "shuffled, in-sample"),
        leading=max(one.share for one in score.leading),
    )


def _hardest(score: SharedScore, label: str) -> str | None:
    names: Sequence[str] = [
        one.method for one in score.choices if score.kind_of(one.method) == "pairwise"
    ]
    return max(names, key=lambda name: score.get(name, set=label).value, default=None)
