"""The result of a shared-geometry study: its parts, as values that do not compute anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from cospace.result import Result, checked, plain
from cospace.steering import SteeringCurve, TransferSweep
from cospace.tokens import TokenGeometry, TokenSide
from cospace.whole import check_once, check_pairs

__all__ = ["MATRICES", "Claim", "Matrices", "SharedGeometryStudy", "Steered", "role_of"]

Matrices = Literal["embeddings", "unembeddings"]
MATRICES: tuple[Matrices, ...] = ("embeddings", "unembeddings")
"""The two kinds of matrices that the paper compares."""

_COLUMNS = (
    "part",
    "a",
    "b",
    "role_a",
    "role_b",
    "tokens",
    "k",
    "figure",
    "value",
    "chance",
    "chance_sd",
    "behaviour",
    "map",
    "site",
    "condition",
    "coefficient",
    "perplexity",
)


def role_of(side: TokenSide, which: Matrices) -> str | None:
    """Role of the matrix that is meant in a model; None where it has none.

    A tied model has one matrix, which is both.
    """
    if which == "embeddings":
        return "input"
    if "output" in side.tensors:
        return "output"
    return "input" if side.tying == "tied" else None


@dataclass(frozen=True)
class Claim:
    """One statement of the paper beside what was found here."""

    topic: str
    """``cosines``, ``weights``, ``dimension``, ``coherence``, ``undertrained`` or ``steering``."""
    figure: str
    """What is told."""
    theirs_on: str
    """Models of the paper."""
    theirs: str
    """What it says in words; empty for a number alone."""
    theirs_value: float | None
    """Its number, where it tells one."""
    ours_on: str
    """What ours is over; why there is none."""
    ours_low: float | None
    """Least of ours; None for none."""
    ours_high: float | None
    """Largest of ours."""


@dataclass(frozen=True)
class Steered:
    """One behaviour carried to one model."""

    behaviour: str
    """As the study file names it."""
    own: SteeringCurve
    """What the vector does to its own model, on the questions that no vector was made from."""
    sweep: TransferSweep
    """What it does to the other, beside its controls."""


@dataclass(frozen=True)
class SharedGeometryStudy(Result):
    """The whole study. Read it, draw it, save it; it computes nothing."""

    kind: ClassVar[str] = "shared-geometry study"

    title: str
    """Title of the report."""
    geometry: TokenGeometry
    """Tokens of the models: cosines, weights, dimension, coherence, undertrained tokens, states."""
    steering: tuple[Steered, ...]
    """One for every behaviour and target; none where the study file has no such section."""
    claims: tuple[Claim, ...]
    """What the paper says beside ours."""
    settings: Mapping[str, Any]
    """The study file."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number; those of the parts stand there."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Models, versions."""

    def with_provenance(self, **facts: Any) -> SharedGeometryStudy:
        """Add ``facts`` to the provenance."""
        return replace(self, provenance={**self.provenance, **plain(facts)})

    def matrix(
        self, which: Matrices = "embeddings", figure: Literal["pearson", "spearman"] = "pearson"
    ) -> list[list[float | None]]:
        """Correlations of the cosines of every two models, in the order of ``geometry.models``.

        1 on the diagonal; None where a model has no such matrix.
        """
        names = self.geometry.models
        found: list[list[float | None]] = [[None] * len(names) for _ in names]
        for one in self.geometry.comparisons:
            i, j = names.index(one.a.name), names.index(one.b.name)
            roles = role_of(one.a, which), role_of(one.b, which)
            for k, role in ((i, roles[0]), (j, roles[1])):
                if role is not None:
                    found[k][k] = 1.0
            for whole in one.overall:
                if (whole.role_a, whole.role_b) == roles:
                    found[i][j] = found[j][i] = getattr(whole, figure)
        return found

    @property
    def untied(self) -> bool:
        """Whether some model has two matrices, so that embeddings and unembeddings differ."""
        sides = [side for one in self.geometry.comparisons for side in (one.a, one.b)]
        return any("output" in side.tensors for side in sides)

    def all_warnings(self) -> tuple[str, ...]:
        """Warnings of the study and of its parts, each once."""
        parts = [
            *self.warnings,
            *(w for one in self.geometry.comparisons for w in one.warnings),
            *self.geometry.warnings,
            *(w for one in self.steering for w in one.sweep.warnings),
        ]
        return tuple(dict.fromkeys(parts))

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a figure; the steering scores come last, one a coefficient."""
        rows: list[dict[str, Any]] = [{"part": "tokens", **one} for one in self.geometry.records()]
        for coherent in self.geometry.coherence:
            at: dict[str, Any] = {"part": "coherence", "a": coherent.model, "role_a": coherent.role}
            at |= {"tokens": coherent.tokens, "k": coherent.k}
            for name in ("star", "pair"):
                value, null = getattr(coherent, name), getattr(coherent, f"null_{name}")
                rows.append({**at, "figure": name, "value": value, "chance": null})
                for how in ("spearman", "partial", "both"):
                    figure = f"{name} and dimension, {how}"
                    rows.append(
                        {**at, "figure": figure, "value": getattr(coherent, f"{name}_{how}")}
                    )
        for few in self.geometry.undertrained:
            at = {"part": "undertrained", "a": few.model, "tokens": few.tokens}
            for method, ids in few.candidates.items():
                rows.append({**at, "figure": f"{method}, candidates", "value": len(ids)})
            for one in few.recoveries:
                for name in ("precision", "recall", "lift"):
                    figure = f"{one.method} in {one.reference}, {name}"
                    chance = 1.0 if name == "lift" else None
                    rows.append(
                        {**at, "figure": figure, "value": getattr(one, name), "chance": chance}
                    )
        for steered in self.steering:
            rows += [
                {
                    "part": "steering",
                    "a": steered.sweep.source,
                    "b": steered.sweep.target,
                    "behaviour": steered.behaviour,
                    "figure": "score",
                    "value": one["score"],
                    "chance": 0.5,
                    **{name: one[name] for name in _SCORED},
                }
                for one in steered.sweep.records()
            ]
        return [{name: row.get(name) for name in _COLUMNS} for row in rows]

    def to_dict(self) -> dict[str, Any]:
        """Everything the study holds, with the summaries of every curve."""
        return {
            **super().to_dict(),
            "geometry": self.geometry.to_dict(),
            "steering": [
                {
                    "behaviour": one.behaviour,
                    "own": one.own.to_dict(),
                    "sweep": one.sweep.to_dict(),
                }
                for one in self.steering
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a study from ``to_dict``.

        Raises
        ------
        ContradictionError
            For comparisons of other models than every two.
        """
        for key, kind in (("title", str), ("settings", Mapping), ("provenance", Mapping)):
            if not isinstance(data[key], kind):
                raise TypeError(f"{key} is {data[key]!r}")
        found = cls(
            title=data["title"],
            geometry=TokenGeometry.from_dict(data["geometry"]),
            steering=tuple(
                Steered(
                    str(one["behaviour"]),
                    SteeringCurve.from_dict(one["own"]),
                    TransferSweep.from_dict(one["sweep"]),
                )
                for one in data["steering"]
            ),
            claims=tuple(checked(Claim, one) for one in data["claims"]),
            settings=data["settings"],
            warnings=tuple(map(str, data["warnings"])),
            provenance=data["provenance"],
        )
        names = found.geometry.models
        check_once(names, "models")
        pairs = [(one.a.name, one.b.name) for one in found.geometry.comparisons]
        check_pairs(pairs, names, "comparisons", ordered=False)
        return found


_SCORED = ("map", "site", "condition", "coefficient", "perplexity")
