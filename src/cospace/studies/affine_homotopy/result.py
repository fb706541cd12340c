"""The result of an affine-homotopy study: its tables, as values that do not compute anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from cospace.result import Result, checked, plain, record
from cospace.studies.affine_homotopy.whole import check_study

__all__ = [
    "AffineHomotopyStudy",
    "Agreement",
    "Encoder",
    "Extrinsic",
    "Intrinsic",
    "Link",
    "Mappability",
    "RankLink",
    "TaskFacts",
    "Truncation",
]


@dataclass(frozen=True)
class Encoder:
    """One encoder at one depth."""

    name: str
    """Name of the model."""
    reference: str
    """What the study file calls it."""
    depth: float
    """Relative depth."""
    site: str
    """The site there."""
    width: int
    """Coordinates."""
    rank: int
    """Numerical rank of the centred rows, at the tolerance of the distances."""
    radius: float
    """Radius of the smallest ball around the rows: the distance to the best constant."""
    ranks: Mapping[str, int]
    """Tolerance -> numerical rank of the centred rows."""


@dataclass(frozen=True)
class Intrinsic:
    """How far the source is from the target up to an affine map, over the unlabelled texts."""

    depth: float
    """Relative depth of both."""
    source: str
    """The encoder that is mapped."""
    target: str
    """The encoder that is mapped onto."""
    lower: float
    """Certified lower bound of the affine distance, in units of the target."""
    upper: float
    """Distance that the map attains."""
    normalised_lower: float
    """``lower`` divided by the target's radius: certified."""
    normalised: float
    """``upper`` divided by the target's radius, in [0, 1]: certified."""
    mean: float
    """Mean error over texts, of the same map."""
    p95: float
    """95th percentile of it."""
    p99: float
    """99th percentile of it."""
    held_out: float | None
    """Largest error on texts that the map was not fitted on; in units of the target."""
    held_out_mean: float | None
    """Mean error on these."""
    worst: tuple[str, ...]
    """Ids of the texts that attain the distance, worst first."""
    baselines: Mapping[str, float]
    """Measure -> distance form (1 - similarity, or the distance) on the same rows."""


@dataclass(frozen=True)
class TaskFacts:
    """One task at one depth, and how well each encoder's probe does."""

    task: str
    """Name of the task."""
    depth: float
    """Relative depth."""
    encoder: str
    """The probed encoder."""
    classes: int
    """Number of classes."""
    train: int
    """Texts of the fit."""
    test: int
    """Texts held out."""
    components: int
    """Principal components that the probe sees."""
    accuracy: float
    """Held-out accuracy of the probe."""
    majority: float
    """Held-out accuracy of the most frequent class."""


@dataclass(frozen=True)
class Extrinsic:
    """How far the source is from imitating the target's classifiers on a task."""

    task: str
    """Name of the task."""
    depth: float
    """Relative depth of both."""
    source: str
    """The encoder that imitates."""
    target: str
    """The encoder that is imitated."""
    fixed: float
    """Largest l2 difference of probabilities, the target's task probe being imitated; fitted rows."""
    fixed_mean: float
    """Mean difference over texts, of the likeliest imitation (the tightest flattens most rows)."""
    fixed_held_out: float
    """Largest difference on held-out texts."""
    variation: float
    """Largest total variation on fitted rows."""
    accuracy_gap: float
    """Held-out accuracy of the target's probe less that of the likeliest imitation."""
    worst: float
    """The same for the classifier within ``cap`` that was found to be imitated worst; fitted rows."""
    worst_certified: float
    """What no imitation of that classifier can stay below: a proven lower bound of the worst case."""
    cap: float
    """Largest operator norm of the linear part of a classifier: that of the target's task probe."""
    distance: float
    """Affine distance on the rows of the fit, which the bound starts from."""
    norm: float
    """Operator norm of the linear part of the task probe."""
    bound: float
    """norm / 2 x distance: neither ``fixed`` nor ``worst`` can be larger."""
    gulp: float
    """GULP distance on the rows of the fit: the relative of the worst case in closed form."""


@dataclass(frozen=True)
class Link:
    """How well one intrinsic measure predicts one extrinsic distance over pairs of encoders."""

    task: str
    """Name of the task."""
    depth: float
    """Relative depth."""
    extrinsic: str
    """``fixed`` or ``worst``."""
    measure: str
    """``affine`` or the name of a baseline."""
    method: str
    """``spearman`` or ``pearson``."""
    value: float
    """Correlation over ordered pairs."""
    p: float
    """One-sided p by relabelling encoders."""
    smallest_p: float
    """The least p that so many encoders can give."""
    low: float | None
    """Lower end of the 95 % interval over encoders."""
    high: float | None
    """Upper end of it."""
    text_low: float | None
    """Lower end of the 95 % interval over texts, the fitted maps being kept."""
    text_high: float | None
    """Upper end of it."""
    published: float | None
    """The same number of the paper, on its own 27 encoders, where it is known."""
    published_on: str | None
    """The task that it is of: this one, or the nearest in kind."""


@dataclass(frozen=True)
class Mappability:
    """How easily the others are mapped onto one encoder."""

    kind: str
    """``affine``, or the name of a task: then of imitating its probe."""
    depth: float
    """Relative depth."""
    target: str
    """The encoder."""
    median: float
    """Median distance from the other encoders to it."""
    low: float
    """First quartile."""
    high: float
    """Third quartile."""
    place: int
    """1 for the encoder that is the easiest to map onto."""


@dataclass(frozen=True)
class Agreement:
    """Whether two tables of pairs put the encoders in the same order as targets."""

    first: str
    """``affine``, or the name of a task: as ``Mappability.kind``."""
    first_depth: float
    """Relative depth of the first."""
    second: str
    """The same of the second."""
    second_depth: float
    """Relative depth of the second."""
    value: float | None
    """Spearman correlation over encoders of the median distances to them; None where all are equal."""
    p: float | None
    """One-sided p over permutations of encoders."""


@dataclass(frozen=True)
class RankLink:
    """Whether encoders of higher rank are harder to map onto."""

    depth: float
    """Relative depth."""
    tolerance: str
    """Rank tolerance."""
    value: float | None
    """Spearman correlation of rank and median distance; None where all ranks are equal."""
    p: float | None
    """One-sided p over permutations of encoders."""
    least: int
    """Smallest rank."""
    most: int
    """Largest rank."""


@dataclass(frozen=True)
class Truncation:
    """Median distance between copies of lower rank."""

    source: int
    """Rank of the source's copy, in percent."""
    target: int
    """Rank of the target's copy, in percent."""
    median: float
    """Median over pairs of the affine distance, divided by the radius of the target's copy."""
    pairs: int
    """Number of pairs."""


@dataclass(frozen=True)
class AffineHomotopyStudy(Result):
    """The whole study. Read it, draw it, save it; it computes nothing."""

    kind: ClassVar[str] = "affine-homotopy study"

    title: str
    """Title of the report."""
    encoders: tuple[Encoder, ...]
    """Every encoder at every depth."""
    intrinsic: tuple[Intrinsic, ...]
    """Every ordered pair at every depth."""
    tasks: tuple[TaskFacts, ...]
    """Every probe."""
    extrinsic: tuple[Extrinsic, ...]
    """Every ordered pair, task and extrinsic depth."""
    links: tuple[Link, ...]
    """What predicts what."""
    mappability: tuple[Mappability, ...]
    """Every encoder as a target."""
    agreements: tuple[Agreement, ...]
    """Every two orders of the encoders as targets."""
    ranks: tuple[RankLink, ...]
    """Rank and mappability."""
    truncations: tuple[Truncation, ...]
    """Grid of truncated copies, at the last depth."""
    settings: Mapping[str, Any]
    """The study file, and what defaults became."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Texts, models, versions."""

    def with_provenance(self, **facts: Any) -> AffineHomotopyStudy:
        """Add ``facts`` to the provenance."""
        return replace(self, provenance={**self.provenance, **plain(facts)})

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary an ordered pair and depth: the intrinsic distances."""
        rows = []
        for pair in self.intrinsic:
            row = plain(pair)
            row |= row.pop("baselines")
            rows.append({**row, "worst": " ".join(pair.worst)})
        return rows

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a study from ``to_dict``.

        Raises
        ------
        ContradictionError
            For tables that do not go together.
        """
        if not data["encoders"]:
            raise TypeError("no encoders")
        for key, kind in (("title", str), ("settings", Mapping), ("provenance", Mapping)):
            if not isinstance(data[key], kind):
                raise TypeError(f"{key} is {data[key]!r}")
        found = cls._built(data, checked)
        check_study(found)
        return found

    def finite(self) -> AffineHomotopyStudy:
        """The same study with None for every number that is not finite."""
        return self._built(self.to_dict(), record)

    @classmethod
    def _built(cls, data: Mapping[str, Any], row: Callable[[Any, Mapping[str, Any]], Any]) -> Self:
        tables = {
            "encoders": Encoder,
            "intrinsic": Intrinsic,
            "tasks": TaskFacts,
            "extrinsic": Extrinsic,
            "links": Link,
            "mappability": Mappability,
            "agreements": Agreement,
            "ranks": RankLink,
            "truncations": Truncation,
        }
        return cls(
            title=data["title"],
            settings=data["settings"],
            warnings=tuple(map(str, data["warnings"])),
            provenance=data["provenance"],
            **{
                name: tuple(row(kind, each) for each in data[name]) for name, kind in tables.items()
            },
        )
