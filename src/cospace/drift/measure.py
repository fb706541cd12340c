"""Measure drift: spaces of two forms of one model -> ``Drift``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from cospace.drift.figures import Figures, figures_of
from cospace.drift.match import Matched, match_sites, site_of
from cospace.drift.result import Drift, Moved, SiteDrift
from cospace.errors import InputError
from cospace.linalg import RTOL
from cospace.measures.held_out import FOLDS
from cospace.result import plain
from cospace.space import Aligned, Space, matched
from cospace.stats import Permutations, Weights

__all__ = ["measure_drift"]

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

_SHUFFLES = 20
_SAMPLES = 1000
_ROUNDING = 1e-12
_FULL = 0.99
_OF_SITE = ("site", "depth", "order", "pooling", "key")


def measure_drift(
    before: Sequence[Space],
    after: Sequence[Space],
    *,
    k: int = 10,
    worst: int = 10,
    rng: int = 0,
    texts: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Drift:
    """Measure what changed between two forms of one model, site by site and text by text.

    Parameters
    ----------
    before, after
        The spaces of one form each (full precision and quantised, base and fine-tuned), over the
        same texts. Sites are matched by site and pooling where all spaces have them, else by the
        key in their file, else by position. Widths may differ: the relative error is then
        undefined, all else stands.
    k
        Number of neighbours of a text.
    worst
        How many of the texts that moved most are listed, for each site and overall.
    rng
        Seed of the shuffles and of the bootstrap; the same seed gives the same result.
    texts
        id -> text; the texts of the listed ids are kept in the result.
    progress
        Called as (what, sites done, sites in all).

    Returns
    -------
    Drift
        For every site the relative error, the residual after the best rotation and scale,
        held-out R2 in both directions, neighbours kept, and debiased CKA, each beside what it
        would be had nothing changed and by chance (the mean of 20 shuffles, or exact). Where a
        figure would mean nothing it is empty with its reason. Cost of a site of n texts and
        width d: about 60 n d min(n, d).

    Raises
    ------
    InputError
        For options that make no sense, or sites that do not match.
    RowMismatchError
        For rows that are not the same texts.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(40, 3))
    >>> result = measure_drift([Space(rows, name="a")], [Space(1.1 * rows, name="b")])
    >>> site = result.sites[0]
    >>> round(site.error.value, 12), site.retention.value, round(site.residual.value, 12)
    (0.1, 1.0, 0.0)
    """
    if k < 1 or worst < 0:
        raise InputError(f"k is {k} and worst is {worst}; k >= 1 and worst >= 0 are expected.")
    sites = match_sites(before, after)
    rows = matched([*before, *after])
    old, new = rows.spaces[: len(before)], rows.spaces[len(before) :]
    n = old[0].n
    ids = old[0].ids or tuple(map(str, range(n)))
    generator = np.random.default_rng(rng)
    shuffles = Permutations.of(n, _SHUFFLES, rng=generator)
    weights = Weights.of(n, _SAMPLES, rng=generator)
    found: list[SiteDrift] = []
    scores: list[_Score] = []
    for done, (i, j) in enumerate(sites.pairs):
        if progress is not None:
            progress(site_of(old[i]), done, len(sites.pairs))
        figures = figures_of(old[i], new[j], k=k, shuffles=shuffles, weights=weights)
        score = _Score.of(figures)
        scores += [] if score is None else [score]
        moved = () if score is None else score.worst(worst, ids, texts or {})
        found.append(_site(old[i], new[j], figures, score, moved))
    if progress is not None:
        progress("done", len(sites.pairs), len(sites.pairs))
    over_all = _Score.mean(scores)
    return Drift(
        before=_form(before[0]),
        after=_form(after[0]),
        sites=tuple(found),
        moved=() if over_all is None else over_all.worst(worst, ids, texts or {}),
        settings={
            "k": k,
            "worst": worst,
            "seed": rng,
            "shuffles": len(shuffles),
            "bootstrap_samples": len(weights),
            "folds": FOLDS,
            "rank_tolerance": RTOL,
            "matched_by": rows.by,
            "sites_matched_by": sites.by,
            "steps": {"before": list(old[0].steps), "after": list(new[0].steps)},
        },
        warnings=tuple(_warnings(found, [*old, *new], rows, sites)),
        provenance=plain(
            {
                "models": {"before": _facts(old[0]), "after": _facts(new[0])},
                "fingerprints": {
                    site.site + (f" ({site.pooling})" if site.pooling else ""): [
                        old[i].fingerprint,
                        new[j].fingerprint,
                    ]
                    for site, (i, j) in zip(found, sites.pairs, strict=True)
                },
                "versions": {
                    name: importlib.metadata.version(name) for name in ("cospace", "numpy", "scipy")
                },
            }
        ),
    )


class _Score:
    """How far every text moved at one site, or over all sites."""

    def __init__(
        self,
        by: Literal["error", "residual"],
        distance: Floats,
        rank: Floats,
        kept: Floats | None,
    ) -> None:
        self.by = by
        self.distance = distance
        self.rank = rank
        self.kept = kept

    @classmethod
    def of(cls, figures: Figures) -> _Score | None:
        by: Literal["error", "residual"] = "error" if figures.errors is not None else "residual"
        distance = figures.errors if by == "error" else figures.residuals
        if distance is None:
            return None
        return cls(by, distance, rankdata(-distance), figures.kept)

    @classmethod
    def mean(cls, scores: Sequence[_Score]) -> _Score | None:
        """Combine sites: sites differ in the size of their errors, so ranks are averaged."""
        if not scores:
            return None
        kept = [score.kept for score in scores if score.kept is not None]
        return cls(
            scores[0].by,
            np.mean([score.distance for score in scores], axis=0),
            np.mean([score.rank for score in scores], axis=0),
            np.mean(kept, axis=0) if kept else None,
        )

    def worst(self, count: int, ids: Sequence[str], texts: Mapping[str, str]) -> tuple[Moved, ...]:
        kept = np.zeros(len(ids)) if self.kept is None else self.kept
        order = np.lexsort((np.arange(len(ids)), kept, -self.distance, self.rank))
        return tuple(
            Moved(
                id=ids[i],
                error=float(self.distance[i]),
                retention=None if self.kept is None else float(kept[i]),
                rank=float(self.rank[i]),
                text=texts.get(ids[i]),
            )
            for i in order[:count]
            if self.distance[i] > _ROUNDING
        )


def _site(
    before: Space,
    after: Space,
    figures: Figures,
    score: _Score | None,
    moved: tuple[Moved, ...],
) -> SiteDrift:
    depth, pooling = before.facts.get("depth"), before.facts.get("pooling")
    return SiteDrift(
        site=site_of(before),
        depth=None if depth is None else float(depth),
        pooling=None if pooling is None else str(pooling),
        before=before.name,
        after=after.name,
        n=before.n,
        width_before=before.width,
        width_after=after.width,
        identical=figures.identical,
        ranked_by=None if score is None else score.by,
        moved=moved,
        **figures.figures,
    )


def _form(space: Space) -> str:
    return str(space.facts.get("model") or space.facts.get("file") or space.name)


def _facts(space: Space) -> dict[str, Any]:
    return {name: value for name, value in space.facts.items() if name not in _OF_SITE}


def _warnings(
    found: Sequence[SiteDrift], spaces: Sequence[Space], rows: Aligned, sites: Matched
) -> Iterable[str]:
    n, count = spaces[0].n, len(found)
    if rows.by == "position":
        yield "Rows are matched by position: none of the arrays has ids, so nothing checks that row i is the same text."
    if sites.by == "position" and count > 1:
        yield f"The {count} sites are matched by position: nothing checks that they are the same places of the model."
    same = [site.site for site in found if site.identical]
    if len(same) == count:
        where = "the one site" if count == 1 else f"all {count} sites"
        yield f"The two forms are identical, to the last bit, at {where}."
    elif same:
        yield f"The two forms are identical, to the last bit, at {len(same)} of {count} sites ({', '.join(same[:6])})."
    doubled = [(space.duplicates(), space.name) for space in spaces]
    most, fullest = max(doubled)
    if most:
        yield (
            f"{sum(1 for times, _ in doubled if times)} of {len(spaces)} spaces have repeated rows (most: {fullest}, "
            f"{most} of {n}): repeated texts make held-out R² and the neighbours kept too good."
        )
    wide = [site for site in found if n <= max(site.width_before, site.width_after)]
    if wide:
        yield (
            f"{n} texts are no more than the width at {len(wide)} of {count} sites: there the residual is low even by "
            "chance; read it beside its level by chance."
        )
    short = [
        s for s in found if s.r2_forward.unchanged is not None and s.r2_forward.unchanged < _FULL
    ]
    if short:
        least = min(short, key=lambda s: s.r2_forward.unchanged or 0.0)
        yield (
            f"At {len(short)} of {count} sites {n} texts are too few to predict even the space before from itself "
            f"(least: {least.site}, R² {least.r2_forward.unchanged:.2f}): read held-out R² beside its value for an "
            "unchanged space."
        )
    close = [s for s in found if s.error.chance is not None and s.error.chance < 0.5]
    if close:
        yield (
            f"At {len(close)} of {count} sites the rows of different texts differ by less than half of their length "
            f"(least: {min(close, key=lambda s: s.error.chance or 0.0).site}): relative errors are small there "
            "whatever happens; read them beside their level by chance."
        )
