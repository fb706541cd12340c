"""What judging a router gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

from cospace.errors import ContradictionError, UnknownNameError
from cospace.result import Result, checked
from cospace.routing.disguise import Area
from cospace.routing.policies import Paired, PolicyScore
from cospace.routing.price import PricePoint
from cospace.whole import check_names, check_once

__all__ = ["Discrimination", "GroupFacts", "Routing", "SetFacts"]


VERDICTS = ("none", "better", "worse", "not shown")
"""What is said of the router beside the strongest model."""
SIGNALS = ("found", "disguise", "not shown", "untested")
"""What is said of its knowing who is right."""


@dataclass(frozen=True)
class GroupFacts:
    """A category of items."""

    group: str
    """Its name."""
    n: int
    """Number of items."""
    accuracy: tuple[float, ...]
    """Share that each model has right."""
    disagreement: float
    """Share on which not all models are right, nor all wrong."""


@dataclass(frozen=True)
class SetFacts:
    """A feature set as it was fitted."""

    name: str
    """Its name."""
    blocks: tuple[str, ...]
    """Its blocks."""
    width: int
    """Columns in the first outer fold."""
    needs_answers: bool
    """Whether every model has to be run for it."""
    control: bool
    """Whether it holds nothing but controls."""
    chosen: tuple[str, ...]
    """Predictor of each outer fold."""


@dataclass(frozen=True)
class Discrimination:
    """How well a set tells the items that a model has right from those that it has not."""

    features: str
    """The set."""
    model: str
    """The model."""
    pooled: Area
    """Over all pairs of a fold."""
    within: Area
    """Over pairs of a fold and of one group: what is left of it where the group cannot help."""
    base_rate: Area
    """Of the group's share on training rows alone, over all pairs of a fold."""
    unseen: Area
    """Within groups, by fits that had no item of the group."""


@dataclass(frozen=True)
class Routing(Result):
    """A judgement of routers over a pool of models."""

    kind: ClassVar[str] = "routing"

    models: tuple[str, ...]
    """The pool."""
    n: int
    """Number of items."""
    disagreement: float
    """Share of the items on which not all models are right, nor all wrong."""
    headroom: PolicyScore
    """The oracle: right where any model is. Its ``difference`` is the headroom."""
    policies: tuple[PolicyScore, ...]
    """Every rule; routers in the order of the sets, the main one first."""
    beyond_lookup: Paired | None
    """The main router less looking up the best model of the group; None without groups."""
    groups: tuple[GroupFacts, ...]
    """The categories; empty where none are known."""
    sets: tuple[SetFacts, ...]
    """The feature sets, the main one first."""
    discrimination: tuple[Discrimination, ...]
    """One a set and model."""
    prices: Mapping[str, float]
    """Model -> price; empty where none were given."""
    curve: tuple[PricePoint, ...]
    """Accuracy over budgets, of the first set that needs no answers, and of the group alone beside
    it, where there is such a set; empty without prices."""
    verdict: str
    """``none`` (no headroom to judge by), ``better``, ``worse``, or ``not shown``."""
    signal: str
    """``found``, ``disguise`` (pooled but not within groups), ``not shown``, or ``untested``: no
    groups, or no item that can be compared."""
    signal_p: float | None
    """p of the largest area within groups among the models, who is right shuffled within groups and
    everything fitted anew; None where the intervals claim nothing."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What was asked for."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Command, versions, models."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number."""

    def __post_init__(self) -> None:
        for name in ("prices", "settings", "provenance"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def main(self) -> SetFacts:
        """The set on which the verdict is given."""
        return self.sets[0]

    def policy(self, name: str, features: str | None = None) -> PolicyScore:
        """Score of a rule; of a router by its set, the main one by default.

        Raises
        ------
        UnknownNameError
            For a rule that is not there.
        """
        wanted = features or (self.main.name if name == "router" else None)
        for each in self.policies:
            if (each.policy, each.features) == (name, wanted):
                return each
        known = [p.policy if p.features is None else f"router {p.features}" for p in self.policies]
        raise UnknownNameError.among(
            name if wanted is None else f"router {wanted}", known, "policy of this result"
        )

    def area_of(self, features: str, model: str) -> Discrimination:
        """How well a set knows a model's right items.

        Raises
        ------
        UnknownNameError
            For a set or model that is not there.
        """
        for each in self.discrimination:
            if (each.features, each.model) == (features, model):
                return each
        known = [f"{each.features}, {each.model}" for each in self.discrimination]
        raise UnknownNameError.among(f"{features}, {model}", known, "set and model of this result")

    def with_provenance(self, **told: Any) -> Self:
        """The same result with more in its ``provenance``."""
        return replace(self, provenance={**self.provenance, **told})

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a rule."""
        return [{"n": self.n, "models": len(self.models), **vars(each)} for each in self.policies]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        values["headroom"] = checked(PolicyScore, values["headroom"])
        if values["beyond_lookup"] is not None:
            values["beyond_lookup"] = checked(Paired, values["beyond_lookup"])
        for name, kind in (
            ("policies", PolicyScore),
            ("groups", GroupFacts),
            ("sets", SetFacts),
            ("curve", PricePoint),
        ):
            values[name] = tuple(checked(kind, each) for each in values[name])
        values["discrimination"] = tuple(_discrimination(each) for each in values["discrimination"])
        found: Self = checked(cls, values)
        found._check()
        return found

    def _check(self) -> None:
        """Refuse parts that do not go together."""
        check_once(self.models, "models")
        policies = [one.policy for one in self.policies]
        check_names([f"only {model}" for model in self.models], policies, "policies")
        if len(self.models) < 2 or not self.sets:
            raise ContradictionError(f"{len(self.models)} models and {len(self.sets)} sets")
        check_names([self.verdict], VERDICTS, "verdict")
        check_names([self.signal], SIGNALS, "signal")
        if not self.discrimination:
            raise ContradictionError("discrimination: nothing is there")
        check_names([one.model for one in self.discrimination], self.models, "discrimination")


def _discrimination(values: Mapping[str, Any]) -> Discrimination:
    areas = ("pooled", "within", "base_rate", "unseen")
    return checked(  # type: ignore[no-any-return]
        Discrimination, {**values, **{name: checked(Area, values[name]) for name in areas}}
    )
