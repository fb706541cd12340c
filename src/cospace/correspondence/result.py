"""The result of a correspondence: agreements with their yardsticks, what was frozen, what it gave again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from cospace.errors import ContradictionError
from cospace.result import Result, checked, plain
from cospace.whole import check_names, check_once, check_p, check_pairs

__all__ = ["Agreement", "Correspondence", "Frozen", "Profile", "Replication"]


@dataclass(frozen=True)
class Agreement:
    """One measure on two models at one relative depth and pooling."""

    measure: str
    """Name of the measure."""
    pooling: str
    """How token vectors became rows."""
    depth: float
    """Relative depth of both."""
    source: str
    """One model."""
    target: str
    """The other; the measures are symmetric."""
    value: float | None
    """The value; None where it would mean nothing, see ``reason``."""
    chance: float | None
    """Mean over pairings of rows."""
    spread: float | None
    """Standard deviation over pairings of rows: all of them, or those of the shuffles."""
    exact: bool
    """Whether chance is over all pairings, in closed form, and no mean over shuffles."""
    ratio: float | None
    """value / chance of measures that are shares of neighbours; None of others, whose chance is 0 or no
    share."""
    p: float | None
    """(1 + shuffles at least as alike) / (1 + shuffles)."""
    p_corrected: float | None
    """p against the most surprising pair of depths of the two models (maximum statistic), times the
    number of pairs of models and poolings (Bonferroni), at most 1."""
    reason: str | None = None
    """Why there is no value."""


@dataclass(frozen=True)
class Profile:
    """One measure at one depth and pooling: mean over pairs of models."""

    measure: str
    """Name of the measure."""
    pooling: str
    """How token vectors became rows."""
    depth: float
    """Relative depth."""
    pairs: int
    """Pairs of models with a value."""
    value: float
    """Mean value."""
    chance: float | None
    """Mean level by chance."""
    effect: float | None
    """Mean of (value - chance) / (1 - chance): 0 by chance, 1 for identical spaces."""
    weakest: float
    """Least value of a pair."""
    repeated: float
    """Largest share of rows that equal an earlier row, over the models: such rows agree as words do."""
    clear: int
    """Pairs whose corrected p is at most 0.05."""


@dataclass(frozen=True)
class Frozen:
    """Depth and pooling that a measure is repeated at: where its mean effect is largest on the first texts.

    Not among those where more than a twentieth of a model's rows repeat others, if there are others.
    """

    measure: str
    """Name of the measure."""
    pooling: str
    """The pooling."""
    depth: float
    """The relative depth."""


@dataclass(frozen=True)
class Replication:
    """One pair of models on the second texts, at what the first texts froze."""

    measure: str
    """Name of the measure."""
    pooling: str
    """Frozen by the first texts."""
    depth: float
    """Frozen by the first texts."""
    source: str
    """One model."""
    target: str
    """The other."""
    first: float | None
    """Value on the first texts, where depth and pooling were chosen."""
    value: float | None
    """Value on the second texts, where nothing was chosen."""
    chance: float | None
    """Mean over pairings of the second texts."""
    ratio: float | None
    """As of an agreement."""
    p: float | None
    """(1 + shuffles at least as alike) / (1 + shuffles)."""
    p_holm: float | None
    """The same, corrected by Holm over the pairs of models."""


@dataclass(frozen=True)
class Correspondence(Result):
    """What was computed. Read it, draw it, save it; it computes nothing."""

    kind: ClassVar[str] = "correspondence"

    models: tuple[str, ...]
    """The models, in order."""
    agreements: tuple[Agreement, ...]
    """Every measure, pooling, depth and pair of models."""
    profiles: tuple[Profile, ...]
    """Means over the pairs of models."""
    frozen: tuple[Frozen, ...]
    """One a measure; empty without second texts."""
    replications: tuple[Replication, ...]
    """Every measure and pair of models on the second texts."""
    texts: Mapping[str, Any]
    """Names and numbers of the texts, first and second."""
    settings: Mapping[str, Any]
    """Measures, depths, shuffles, seed."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Spaces, versions."""

    def with_provenance(self, **facts: Any) -> Correspondence:
        """Add ``facts`` to the provenance."""
        return replace(self, provenance={**self.provenance, **plain(facts)})

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary an agreement."""
        return [plain(one) for one in self.agreements]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a result from ``to_dict``.

        Raises
        ------
        ContradictionError
            For tables that do not go together.
        """
        tables = {
            "agreements": Agreement,
            "profiles": Profile,
            "frozen": Frozen,
            "replications": Replication,
        }
        for key in ("texts", "settings", "provenance"):
            if not isinstance(data[key], Mapping):
                raise TypeError(f"{key} is {data[key]!r}")
        rest: dict[str, Any] = {
            key: tuple(checked(kind, one) for one in data[key]) for key, kind in tables.items()
        }
        found = cls(
            models=tuple(map(str, data["models"])),
            warnings=tuple(map(str, data["warnings"])),
            texts=data["texts"],
            settings=data["settings"],
            provenance=data["provenance"],
            **rest,
        )
        found._check()
        return found

    def _check(self) -> None:
        """Refuse tables that do not go together."""
        check_once(self.models, "models")
        for name, facts in self.texts.items():
            rows = facts.get("rows") if isinstance(facts, Mapping) else None
            if not isinstance(rows, int):
                raise ContradictionError(f"texts: {name} says no number of rows")
        check_names(["first"], list(self.texts), "texts")
        measures = self.settings.get("measures")
        if not isinstance(measures, list | tuple) or {type(name) for name in measures} != {str}:
            raise ContradictionError("settings: measures are no names")
        pairs: dict[str, list[tuple[str, str]]] = {}
        for one in self.agreements:
            where = f"{one.measure}, {one.pooling}, depth {one.depth:g}"
            pairs.setdefault(where, []).append((one.source, one.target))
            check_p(where, p=one.p, p_corrected=one.p_corrected)
        for where, those in pairs.items():
            check_pairs(those, self.models, where, ordered=False)
        profiles = [f"{p.measure}, {p.pooling}, depth {p.depth:g}" for p in self.profiles]
        check_once(profiles, "profiles")
        check_names(profiles, list(pairs), "profiles")
        frozen = [f"{f.measure}, {f.pooling}, depth {f.depth:g}" for f in self.frozen]
        check_names(frozen, profiles, "frozen")
        again: dict[str, list[tuple[str, str]]] = {where: [] for where in frozen}
        for other in self.replications:
            where = f"{other.measure}, {other.pooling}, depth {other.depth:g}"
            check_names([where], frozen, "replications")
            again[where].append((other.source, other.target))
            check_p(f"replications, {where}", p=other.p, p_holm=other.p_holm)
        for where, those in again.items():
            check_pairs(those, self.models, f"replications, {where}", ordered=False)
