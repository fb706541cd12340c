"""How well models find each other's texts: every number with its interval, its chance, its control."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import permutations
from typing import Any, ClassVar, Self

from cospace.errors import InputError, UnknownNameError
from cospace.result import Result, checked, plain
from cospace.shared.choose import Candidate, Choice, best_of
from cospace.shared.retrieval import MEASURES
from cospace.whole import check_names, check_once, check_pairs

__all__ = ["Contrast", "Leading", "PairScore", "Score", "SetFacts", "SharedScore"]


KINDS = ("shared", "pairwise", "floor", "within", "words")
"""Kinds of methods: shared spaces, maps between pairs, floors, each model by itself, words alone."""


@dataclass(frozen=True)
class Score:
    """One measure of one method on one set."""

    method: str
    """Name of the method."""
    kind: str
    """``shared``, ``pairwise``, ``floor``, ``within`` (a model searched by itself) or ``words``."""
    set: str
    """Name of the set."""
    sample: str
    """``held out``, ``in-sample`` (rows of the fit), or either after ``shuffled``: the same fit on
    rows that do not belong together."""
    measure: str
    """``top1``, ``top5``, ``mrr``, ``csls`` or ``margin``."""
    value: float
    """Mean over texts and ordered pairs of models."""
    low: float
    """Lower end of the 95 % bootstrap interval over texts."""
    high: float
    """Upper end."""
    chance: float | None
    """Exact value by chance; None for the margin."""
    n: int
    """Number of texts."""
    gallery: int
    """Number of texts that are searched."""
    among: str = "all"
    """What is searched: ``all`` texts of the set, texts of the same ``group``, those nearest in
    ``length``, or as few as these of ``any`` kind."""


@dataclass(frozen=True)
class PairScore:
    """One method on one ordered pair of models, on held-out texts."""

    method: str
    """Name of the method."""
    set: str
    """Name of the set."""
    source: str
    """Model of the queries."""
    target: str
    """Model of the answers."""
    top1: float
    """Share of queries whose own text is nearest."""
    top5: float
    """Share among the 5 nearest."""
    mrr: float
    """Mean of 1 / rank."""
    csls: float
    """Top-1 by CSLS."""
    margin: float
    """Mean cosine to the own text less that to the nearest other."""


@dataclass(frozen=True)
class Contrast:
    """Two methods on the same held-out texts."""

    first: str
    """Name of the first method."""
    second: str
    """Name of the second."""
    set: str
    """Name of the set."""
    measure: str
    """What is compared."""
    value: float
    """First less second."""
    low: float
    """Lower end of the 95 % paired bootstrap interval over texts."""
    high: float
    """Upper end."""
    verdict: str
    """The first against the second: ``better``, ``worse``, ``not told apart``, or ``neither`` where no
    95 % interval of the two lies above chance."""
    among: str = "all"
    """What is searched, as in :class:`Score`."""


@dataclass(frozen=True)
class Leading:
    """How far one direction rules the rows of a model."""

    model: str
    """Name of the model."""
    width: int
    """Coordinates of its rows."""
    share: float
    """Share of the variance of its rows, as they are, along one direction."""


@dataclass(frozen=True)
class SetFacts:
    """A set of texts."""

    name: str
    """Its name."""
    n: int
    """Number of queries."""
    paraphrases: bool
    """Whether answers are other texts than queries."""


@dataclass(frozen=True)
class SharedScore(Result):
    """Retrieval by every method on every set, with baselines, controls and what was chosen."""

    kind: ClassVar[str] = "shared_score"
    schema: ClassVar[int] = 1

    scores: tuple[Score, ...]
    """Every measure of every method on every set."""
    pairs: tuple[PairScore, ...]
    """Ordered pairs of models, on held-out texts."""
    contrasts: tuple[Contrast, ...]
    """The chosen shared space against every other method, on held-out texts."""
    choices: tuple[Choice, ...]
    """Settings of every method, all that was tried, and why these."""
    leading: tuple[Leading, ...]
    """Share of the leading direction of every model."""
    sets: tuple[SetFacts, ...]
    """The sets."""
    n: int
    """Rows of the fit."""
    gallery: int
    """Texts that are searched, the same in every set."""
    matched: str
    """How rows were matched: ``ids`` or ``position``."""
    shared: str
    """Which method ``shared`` stands for: the better of the shared spaces on inner folds."""
    rng: int
    """Seed of the shuffled control, the bootstrap and the random rotations."""
    draws: int
    """Bootstrap samples."""
    warnings: tuple[str, ...]
    """What a reader must know."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Where it comes from: the command, manifests of stores."""

    def with_provenance(self, **told: Any) -> Self:
        """Return the same result with more in its ``provenance``."""
        return replace(self, provenance={**self.provenance, **plain(told)})

    def get(
        self,
        method: str,
        *,
        set: str,
        sample: str = "held out",
        measure: str = "top1",
        among: str = "all",
    ) -> Score:
        """One score.

        Raises
        ------
        UnknownNameError
            For a method, set, sample or gallery that was not scored, or another measure.
        """
        if measure not in MEASURES:
            raise UnknownNameError.among(measure, MEASURES, "measure of retrieval")
        for one in self.scores:
            at = one.method, one.set, one.sample, one.measure, one.among
            if at == (method, set, sample, measure, among):
                return one
        known = {f"{one.method}, {one.set}, {one.sample}, {one.among}" for one in self.scores}
        raise UnknownNameError.among(
            f"{method}, {set}, {sample}, {among}", known, "score of this result"
        )

    def contrast(
        self, second: str, *, set: str, measure: str = "top1", among: str = "all"
    ) -> Contrast:
        """The chosen shared space against another method.

        Raises
        ------
        UnknownNameError
            For what was not compared.
        """
        for one in self.contrasts:
            if (one.second, one.set, one.measure, one.among) == (second, set, measure, among):
                return one
        known = {f"{one.second}, {one.set}, {one.measure}, {one.among}" for one in self.contrasts}
        raise UnknownNameError.among(
            f"{second}, {set}, {measure}, {among}", known, "contrast of this result"
        )

    def best_pairwise(self) -> str | None:
        """Pairwise maps that did best on the inner folds of the fit, so that no held-out text chose them."""
        ours = [c for c in self.choices if self.kind_of(c.method) == "pairwise"]
        return best_of(ours).method if ours else None

    def kind_of(self, method: str) -> str:
        """Kind of a method, as :class:`Score` has it."""
        return next(one.kind for one in self.scores if one.method == method)

    def choice(self, method: str) -> Choice:
        """Settings of a method.

        Raises
        ------
        UnknownNameError
            For a method without any.
        """
        for one in self.choices:
            if one.method == method:
                return one
        raise UnknownNameError.among(
            method, [one.method for one in self.choices], "method with a choice"
        )

    def records(self) -> list[dict[str, Any]]:
        """One row a method, set, sample and measure."""
        return [asdict(one) for one in self.scores]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from what ``to_dict`` gave.

        Raises
        ------
        InputError
            For a dictionary that lacks something.
        """
        values = {k: v for k, v in data.items() if k not in ("kind", "schema")}
        parts = {
            "scores": Score,
            "pairs": PairScore,
            "contrasts": Contrast,
            "leading": Leading,
            "sets": SetFacts,
        }
        try:
            for name, record in parts.items():
                values[name] = tuple(checked(record, one) for one in values[name])
            values["choices"] = tuple(
                checked(
                    Choice,
                    {**one, "candidates": tuple(checked(Candidate, c) for c in one["candidates"])},
                )
                for one in values["choices"]
            )
            found: Self = checked(cls, values)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError("This is no whole shared_score: build it anew.") from error
        found._check()
        return found

    def _check(self) -> None:
        """Refuse parts that do not go together."""
        models = [one.model for one in self.leading]
        check_once(models, "leading")
        for one in self.pairs:
            check_names([one.source, one.target], models, f"pairs, {one.method}")
        tables: dict[str, list[tuple[str, str]]] = {one.name: [] for one in self.sets}
        for one in self.pairs:
            check_names([one.set], list(tables), "pairs")
            if one.method == self.shared:
                tables[one.set].append((one.source, one.target))
        for name, those in tables.items():
            check_pairs(those, models, f"pairs, {name}", ordered=True)
        check_names([one.kind for one in self.scores], KINDS, "scores")
        methods = [one.method for one in self.choices]
        check_once(methods, "choices")
        check_names(methods, [one.method for one in self.scores], "choices")
        for choice in self.choices:
            if choice.by_pair is not None:
                arrows = [f"{a} -> {b}" for a, b in permutations(models, 2)]
                check_names(arrows, list(choice.by_pair), f"choices, {choice.method}")
