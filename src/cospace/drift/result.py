"""The result of a drift measurement: figures of every site with their yardstick, and the texts that moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self

from cospace.errors import InputError, MissingDependencyError, UnknownNameError
from cospace.result import Result, plain

__all__ = ["FIGURES", "Drift", "Figure", "Moved", "SiteDrift"]

FIGURES: dict[str, str] = {
    "error": "relative error",
    "text_error": "mean relative error of a text",
    "residual": "residual after the best rotation and scale",
    "r2_forward": "held-out R² before → after",
    "r2_back": "held-out R² after → before",
    "retention": "neighbours kept",
    "cka": "debiased CKA",
}
"""Names of the figures of a site, and how captions call them."""

_COLUMNS: dict[str, tuple[str, ...]] = {
    "error": ("chance", "low", "high"),
    "text_error": ("chance", "low", "high"),
    "residual": ("chance",),
    "r2_forward": ("chance", "unchanged"),
    "r2_back": ("chance", "unchanged"),
    "retention": ("chance", "low", "high"),
    "cka": ("chance",),
}


@dataclass(frozen=True)
class Figure:
    """One number beside its yardsticks."""

    value: float | None
    """The number; None where it would mean nothing, see ``reason``."""
    unchanged: float | None = None
    """What it would be had nothing changed."""
    chance: float | None = None
    """What it would be had row i nothing to do with row i."""
    low: float | None = None
    """Lower end of the 95 % bootstrap interval over texts, where one is defined."""
    high: float | None = None
    """Upper end of the same interval."""
    reason: str | None = None
    """Why there is no value."""


@dataclass(frozen=True)
class Moved:
    """One text, and how far it moved."""

    id: str
    """Its id; the number of its row where the spaces have none."""
    error: float
    """``||a_i - b_i|| / ||a_i||``; mean over sites in the overall list. Where the site says
    ``ranked_by`` residual: of centred rows, after the best rotation and scale."""
    retention: float | None
    """Share of its k nearest neighbours that it kept; mean over sites in the overall list."""
    rank: float
    """1 for the text that moved most; mean over sites in the overall list."""
    text: str | None = None
    """The text, where texts were given."""


@dataclass(frozen=True)
class SiteDrift:
    """What changed at one site.

    A holds the n rows before and B those after; row i of both is the same text.
    """

    site: str
    """``embed``, ``block.i``, ``final_norm``; the key or the name of the space before for arrays."""
    depth: float | None
    """Relative depth in [0, 1]."""
    pooling: str | None
    """How token vectors became rows."""
    before: str
    """Name of the space before."""
    after: str
    """Name of the space after."""
    n: int
    """Number of texts."""
    width_before: int
    """Coordinates before."""
    width_after: int
    """Coordinates after."""
    identical: bool
    """Whether all rows are the same to the last bit."""
    error: Figure
    """``||A - B||_F / ||A||_F`` in the same coordinates, not centred. By chance: exact, over all
    orders of the rows of B, the root of the mean square."""
    text_error: Figure
    """Mean over texts of ``||a_i - b_i|| / ||a_i||``."""
    residual: Figure
    """``min over rotations Q and scales s of ||A - s B Q||_F / ||A||_F`` on centred rows, the
    narrower padded with zeros; in [0, 1], symmetric, fitted on the rows it is measured on."""
    r2_forward: Figure
    """Share of the variance after that a ridge map from before explains on unseen texts. Where
    rows are few beside the width even an unchanged space does not reach 1: see ``unchanged``."""
    r2_back: Figure
    """The same from after to before."""
    retention: Figure
    """Mean share of each text's k nearest neighbours (cosine) that are the same; by chance exactly
    k / (n - 1). The interval resamples texts, not their neighbours."""
    cka: Figure
    """Debiased linear CKA; by chance 0."""
    ranked_by: Literal["error", "residual"] | None
    """By which distance the texts of this site are ranked; None where neither is defined."""
    moved: tuple[Moved, ...] = ()
    """The texts that moved most, furthest first; none where nothing moved."""


@dataclass(frozen=True)
class Drift(Result):
    """One model in two forms. Read it, draw it, save it; it computes nothing."""

    kind: ClassVar[str] = "drift"

    before: str
    """Name of the form before."""
    after: str
    """Name of the form after."""
    sites: tuple[SiteDrift, ...]
    """One for each site, in the order of the spaces before."""
    moved: tuple[Moved, ...]
    """The texts that moved most over all sites, by the mean of their ranks."""
    settings: Mapping[str, Any]
    """Neighbours, seed, shuffles, bootstrap samples, rank tolerance, how rows and sites matched."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing a number."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Models, fingerprints, versions: what it takes to repeat the measurement."""

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a site: every figure, and beside it those yardsticks that vary."""
        rows = []
        for site in self.sites:
            row: dict[str, Any] = {
                "site": site.site,
                "depth": site.depth,
                "pooling": site.pooling,
                "n": site.n,
                "width_before": site.width_before,
                "width_after": site.width_after,
                "identical": site.identical,
            }
            reasons = []
            for name, columns in _COLUMNS.items():
                figure: Figure = getattr(site, name)
                row[name] = figure.value
                row |= {f"{name}_{column}": getattr(figure, column) for column in columns}
                if figure.reason is not None:
                    reasons.append(f"{name}: {figure.reason}")
            rows.append({**row, "reasons": " ".join(reasons) or None})
        return rows

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a drift from ``to_dict``."""
        try:
            return cls(
                before=data["before"],
                after=data["after"],
                sites=tuple(_site(site) for site in data["sites"]),
                moved=tuple(Moved(**text) for text in data["moved"]),
                settings=data["settings"],
                warnings=tuple(data["warnings"]),
                provenance=data["provenance"],
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"This is not a drift that this version wrote: {error}.") from None

    def with_provenance(self, **facts: Any) -> Drift:
        """Add ``facts`` to the provenance."""
        return replace(self, provenance={**self.provenance, **plain(facts)})

    def plot(self, figures: tuple[str, ...] | None = None, ax: Any = None) -> Any:
        """Draw figures over depth, their level by chance dashed, and return the axes.

        Parameters
        ----------
        figures
            Names out of ``FIGURES``; by default ``error``, ``retention``, ``r2_forward``, ``cka``.
        ax
            Axes to draw on; new ones by default.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise MissingDependencyError.needs("matplotlib", "A figure", "plot") from None
        names = figures or ("error", "retention", "r2_forward", "cka")
        for name in names:
            if name not in FIGURES:
                raise UnknownNameError.among(name, FIGURES, "figure of a drift")
        depths = [site.depth for site in self.sites]
        deep = all(depth is not None for depth in depths) and len(set(depths)) == len(depths)
        at = [float(depth or 0.0) for depth in depths] if deep else list(range(len(self.sites)))
        axes = ax if ax is not None else plt.subplots()[1]
        for name in names:
            found: list[Figure] = [getattr(site, name) for site in self.sites]
            (line,) = axes.plot(at, [_nan(f.value) for f in found], "o-", label=FIGURES[name])
            axes.plot(at, [_nan(f.chance) for f in found], "--", color=line.get_color(), lw=1)
            low, high = [_nan(f.low) for f in found], [_nan(f.high) for f in found]
            axes.fill_between(at, low, high, color=line.get_color(), alpha=0.2, lw=0)
        if not deep:
            axes.set_xticks(at, [site.site for site in self.sites], rotation=90)
        axes.set(
            xlabel="relative depth" if deep else "site",
            title=f"{self.before} → {self.after} (dashed: by chance)",
        )
        axes.legend()
        return axes


def _site(data: Mapping[str, Any]) -> SiteDrift:
    known = {f.name for f in fields(SiteDrift)}
    if set(data) != known:
        raise KeyError(f"a site of {', '.join(sorted(set(data) ^ known))}")
    values = dict(data)
    values |= {name: Figure(**data[name]) for name in FIGURES}
    values["moved"] = tuple(Moved(**text) for text in data["moved"])
    return SiteDrift(**values)


def _nan(value: float | None) -> float:
    return float("nan") if value is None else value
