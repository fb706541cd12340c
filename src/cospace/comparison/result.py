"""The result of a comparison: cells with their yardstick, and what they were computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, Self

from cospace.errors import InputError, MissingDependencyError, UnknownNameError
from cospace.result import Result, checked, plain

__all__ = ["Cell", "Comparison", "Interval", "MeasureFacts", "ModelPair", "SpaceFacts"]

Interval = Literal["rows", "groups", "folds"]
"""What an interval draws again, or leaves out."""


@dataclass(frozen=True)
class SpaceFacts:
    """What a comparison records of one space."""

    name: str
    """Name in the cells."""
    model: str
    """Short name of the model; the space's own name for a bare array."""
    site: str | None
    """``embed``, ``block.i``, ``final_norm``; None for a bare array."""
    depth: float | None
    """Relative depth in [0, 1]."""
    pooling: str | None
    """How token vectors became rows."""
    n: int
    """Number of rows."""
    width: int
    """Number of coordinates."""
    rank: int
    """Numerical rank of the centred rows at the tolerance in ``settings``."""
    leading_share: float
    """Share of the variance on the leading principal direction."""
    duplicates: int
    """Rows that equal an earlier row."""
    fingerprint: str
    """SHA-256 of rows and ids."""
    steps: tuple[str, ...] = ()
    """What was done to the rows."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Provenance: model facts, token policy, corpus and the like."""


@dataclass(frozen=True)
class MeasureFacts:
    """The claims of a measure, as the report's captions need them."""

    name: str
    """Name in the cells."""
    title: str
    """Name in captions."""
    kind: str
    """``similarity``, ``distance`` or ``divergence``."""
    bounds: tuple[float | None, float | None]
    """Least and greatest possible value; None for unbounded."""
    identical: float | None
    """Value of a space against itself."""
    symmetric: bool
    """Whether source and target may be swapped."""
    invariant_to: tuple[str, ...]
    """What changes nothing."""
    summary: str
    """One sentence."""
    reference: str
    """Where the definition is from."""
    untested: str | None = None
    """Why its cells have a level by chance and no p; None where shuffles give one."""


@dataclass(frozen=True)
class Cell:
    """One measure on one ordered pair, beside its yardstick."""

    measure: str
    """Name of the measure."""
    source: str
    """Name of the source space."""
    target: str
    """Name of the target space."""
    value: float | None
    """The value; None where it would mean nothing, see ``reason``."""
    n: int
    """Rows compared."""
    width_source: int
    """Coordinates of the source."""
    width_target: int
    """Coordinates of the target."""
    rank_source: int
    """Numerical rank of the source as it was compared."""
    rank_target: int
    """Numerical rank of the target as it was compared."""
    null_mean: float | None = None
    """Mean of the measure over shuffles of the target's rows: its level by chance. Exact for measures
    inside groups."""
    null_sd: float | None = None
    """Standard deviation over the same shuffles."""
    null_exact: bool = False
    """Whether ``null_mean`` and ``null_sd`` are over all permutations, in closed form."""
    effect: float | None = None
    """(value - null_mean) / (value of identical spaces - null_mean): 0 by chance, 1 for identical."""
    draws: int = 0
    """Number of shuffles."""
    p: float | None = None
    """(1 + shuffles at least as alike) / (1 + draws); without shuffles, where the null is exact, the
    Pearson type III tail of its mean, spread and skewness, from 12 rows on and where no single rows
    hold much of both spaces: otherwise None, see ``note``."""
    p_search: float | None = None
    """The same against the most surprising of all cells of the two models (maximum statistic, each
    cell at its own level and spread): corrected for a search over sites."""
    low: float | None = None
    """Lower end of the 95 % interval; None where the measure has none of the kind asked for."""
    high: float | None = None
    """Upper end of the same interval."""
    interval: Interval | None = None
    """What was drawn again or left out for it: ``rows`` or ``groups`` (bootstrap), ``folds`` (jackknife
    about the value with its bias taken off)."""
    ceiling: float | None = None
    """Noise ceiling by split halves of the coordinates: the value that another random sample of as
    many coordinates of the same kind would reach. The same coordinates under fresh noise may stand
    above it. None where it was not asked for, or where there is
    none: distances, biased measures, and spaces in which nothing repeats."""
    reduced: int | None = None
    """Number of leading principal components compared; None at full width."""
    held_out: bool = False
    """Whether fitted and scored rows are disjoint."""
    reason: str | None = None
    """Why there is no value."""
    note: str | None = None
    """Why there is no p, or what the cell goes without."""


@dataclass(frozen=True)
class ModelPair:
    """One measure on two models: whether they are alike at any of their sites."""

    measure: str
    """Name of the measure."""
    source_model: str
    """Model of the source; for a symmetric measure the first of the two."""
    target_model: str
    """Model of the target."""
    source: str
    """Source space of the most surprising cell."""
    target: str
    """Its target space."""
    value: float
    """Its value."""
    searched: int
    """Cells tested."""
    p_search: float
    """Its p, corrected for the search over sites: by the maximum statistic or, without shuffles, times
    the number of cells."""
    p_adjusted: float | None
    """The same corrected over the pairs of models, for each measure by itself (Holm, or Benjamini and
    Hochberg). It is about the two models, not about the cell. None where only the search is corrected."""


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """All cells of a comparison. Read it, draw it, save it; it computes nothing."""

    kind: ClassVar[str] = "comparison"

    spaces: tuple[SpaceFacts, ...]
    """The spaces, in the order given."""
    measures: tuple[MeasureFacts, ...]
    """The measures, in the order asked."""
    cells: tuple[Cell, ...]
    """One for each measure and ordered pair that was run."""
    settings: Mapping[str, Any]
    """Permutations, seed, rank tolerance, corrections, intervals, how rows were matched."""
    pairs: tuple[ModelPair, ...] = ()
    """One for each measure and pair of models that was tested."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Versions, command, manifests: what it takes to repeat the comparison."""

    def __repr__(self) -> str:
        return f"Comparison({len(self.spaces)} spaces, {len(self.measures)} measures, {len(self.cells)} cells)"

    def records(self) -> list[dict[str, Any]]:
        """One dictionary a cell, in the order of ``cells``."""
        return [asdict(cell) for cell in self.cells]

    def to_dict(self) -> dict[str, Any]:
        """Everything, with the cells under ``records``."""
        data = super().to_dict()
        data["records"] = data.pop("cells")
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a comparison from ``to_dict``."""
        try:
            made = cls(
                spaces=tuple(checked(SpaceFacts, s) for s in data["spaces"]),
                measures=tuple(checked(MeasureFacts, m) for m in data["measures"]),
                cells=tuple(checked(Cell, record) for record in data["records"]),
                settings=data["settings"],
                pairs=tuple(checked(ModelPair, pair) for pair in data.get("pairs", ())),
                warnings=tuple(map(str, data["warnings"])),
                provenance=data["provenance"],
            )
            for key in ("settings", "provenance"):
                if not isinstance(data[key], Mapping):
                    raise TypeError(f"{key} is {data[key]!r}")
            made._check_names()
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError(
                f"This is not a comparison that this version wrote: {error}."
            ) from None
        return made

    def _check_names(self) -> None:
        """Refuse cells and pairs of spaces, measures or models that are not in their tables."""
        spaces = {space.name for space in self.spaces}
        models = {space.model for space in self.spaces}
        measures = {measure.name for measure in self.measures}
        records: tuple[Cell | ModelPair, ...] = (*self.cells, *self.pairs)
        for what, known, named in (
            ("space", spaces, {name for r in records for name in (r.source, r.target)}),
            ("measure", measures, {r.measure for r in records}),
            ("model", models, {m for p in self.pairs for m in (p.source_model, p.target_model)}),
        ):
            for name in sorted(named - known):
                raise KeyError(f"the {what} {name!r} that a record is of")
        if not self.spaces or not self.measures:
            raise KeyError("spaces" if not self.spaces else "measures")

    def with_provenance(self, **facts: Any) -> Comparison:
        """Add ``facts`` to the provenance."""
        from dataclasses import replace

        return replace(self, provenance={**self.provenance, **plain(facts)})

    def value(self, measure: str, *, source: str, target: str) -> float | None:
        """Look up one value by names."""
        for cell in self.cells:
            if (cell.measure, cell.source, cell.target) == (measure, source, target):
                return cell.value
        for name, known, what in (
            (measure, [m.name for m in self.measures], "measure of this comparison"),
            (source, [s.name for s in self.spaces], "space of this comparison"),
            (target, [s.name for s in self.spaces], "space of this comparison"),
        ):
            if name not in known:
                raise UnknownNameError.among(name, known, what)
        return None

    def plot(self, measure: str | None = None, ax: Any = None) -> Any:
        """Draw the heat map of one measure (the first by default) and return the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise MissingDependencyError.needs("matplotlib", "A figure", "plot") from None
        known = {m.name: m for m in self.measures}
        measure = measure or next(iter(known))
        if measure not in known:
            raise UnknownNameError.among(measure, known, "measure of this comparison")
        names = [s.name for s in self.spaces]
        at = {name: i for i, name in enumerate(names)}
        grid = [[float("nan")] * len(names) for _ in names]
        for cell in self.cells:
            if cell.measure == measure and cell.value is not None:
                grid[at[cell.source]][at[cell.target]] = cell.value
        axes = ax if ax is not None else plt.subplots()[1]
        image = axes.imshow(grid, interpolation="nearest")
        axes.set_xticks(range(len(names)), names, rotation=90)
        axes.set_yticks(range(len(names)), names)
        axes.set(
            xlabel="target",
            ylabel="source",
            title=f"{known[measure].title} ({known[measure].kind})",
        )
        axes.figure.colorbar(image, ax=axes)
        return axes
