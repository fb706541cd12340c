"""The study from its file to its result, step by step."""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cospace.corpora import split
from cospace.homotopy.rank import TruncationGrid, rank_sweep, truncation_grid
from cospace.space import Space
from cospace.studies.affine_homotopy.extrinsic import TaskPairs, task_pairs
from cospace.studies.affine_homotopy.intrinsic import BASELINES, Pairs, intrinsic_pairs
from cospace.studies.affine_homotopy.published import published
from cospace.studies.affine_homotopy.reading import Read
from cospace.studies.affine_homotopy.relate import (
    Errors,
    Method,
    agreements,
    mappability,
    rank_link,
    related,
    text_interval,
)
from cospace.studies.affine_homotopy.result import (
    AffineHomotopyStudy,
    Encoder,
    Intrinsic,
    Link,
    Mappability,
    RankLink,
    Truncation,
)
from cospace.studies.affine_homotopy.settings import AffineHomotopySettings
from cospace.studies.steps import Steps

__all__ = ["Progress", "run"]

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Called with what is being done, steps done, and steps in all."""

_FITTED = 5 / 6
_ROUNDING = 1e-9
_METHODS: tuple[Method, ...] = ("spearman", "pearson")


def run(
    read: Read,
    settings: AffineHomotopySettings,
    *,
    into: Path,
    progress: Progress | None = None,
) -> AffineHomotopyStudy:
    """Run the study, or what of it is not done yet.

    Parameters
    ----------
    read
        Encoders, texts and tasks, as ``read_encoders`` gives them.
    settings
        The study file.
    into
        Folder in which steps done are kept, so that an interrupted study goes on from there.
    progress
        Called as (what, steps done, steps in all).

    Raises
    ------
    InputError
        When the folder cannot be written, or a fit is refused.
    """
    work = _Work(settings, read, Steps(into / "steps"), progress)
    pairs = {depth: work.intrinsic(depth) for depth in settings.depths}
    tasks = {
        (task.name, depth): work.extrinsic(task.name, depth)
        for task in read.tasks
        for depth in settings.extrinsic_depths
    }
    easy = _mappability(read.names, pairs, tasks)
    return AffineHomotopyStudy(
        title=settings.title,
        encoders=tuple(e for depth in settings.depths for e in work.encoders(depth, pairs[depth])),
        intrinsic=tuple(record for each in pairs.values() for record in each.records),
        tasks=tuple(fact for each in tasks.values() for fact in each.facts),
        extrinsic=tuple(record for each in tasks.values() for record in each.records),
        links=tuple(
            link
            for (task, depth), each in tasks.items()
            for link in _links(task, depth, pairs[depth], each, settings, read.names)
        ),
        mappability=tuple(easy),
        agreements=tuple(
            agreements(easy, read.names, permutations=settings.permutations, rng=settings.seed)
        ),
        ranks=tuple(r for depth in settings.depths for r in work.ranks(depth, easy)),
        truncations=tuple(work.truncations(pairs[max(settings.depths)])),
        settings={
            **settings.model_dump(mode="json"),
            "rows": len(read.corpus),
            "fitted": len(work.fitted),
            "held_out": len(work.held),
        },
        warnings=tuple(_warnings(read.names, pairs, settings.gap)),
        provenance={
            "texts": {"name": read.corpus.name, "fingerprint": read.corpus.fingerprint},
            "references": dict(read.references),
            "store": read.store.manifest,
            "versions": {
                name: importlib.metadata.version(name) for name in ("cospace", "numpy", "scipy")
            },
        },
    )


@dataclass
class _Work:
    """The steps, with their count."""

    settings: AffineHomotopySettings
    read: Read
    steps: Steps
    progress: Progress | None
    done: int = 0

    def __post_init__(self) -> None:
        fitted, held = split(self.read.corpus, _FITTED, seed=self.settings.seed)
        self.fitted, self.held = fitted.ids, held.ids
        count = len(self.read.names)
        ordered = count * (count - 1)
        self.truncated = self.settings.truncated_encoders * len(self.settings.truncations)
        self.total = (
            ordered * len(self.settings.depths)
            + ordered * len(self.read.tasks) * len(self.settings.extrinsic_depths)
            + self.truncated
        )

    def _tick(self, what: str) -> Callable[[], None]:
        def tick() -> None:
            self.done += 1
            if self.progress is not None:
                self.progress(what, self.done, self.total)

        return tick

    def intrinsic(self, depth: float) -> Pairs:
        """Affine distances at one depth."""
        spaces = {name: self.read.space(name, depth) for name in self.read.names}
        return intrinsic_pairs(
            {name: space.take(self.fitted) for name, space in spaces.items()},
            {name: space.take(self.held) for name, space in spaces.items()},
            depth=depth,
            gap=self.settings.gap,
            steps=self.steps,
            tick=self._tick("affine distances"),
        )

    def extrinsic(self, task: str, depth: float) -> TaskPairs:
        """Imitations on one task at one depth."""
        named = next(each for each in self.read.tasks if each.name == task)
        return task_pairs(
            {name: self.read.space(name, depth, task) for name in self.read.names},
            named,
            self.settings,
            depth=depth,
            steps=self.steps,
            tick=self._tick(f"imitations, {task}"),
        )

    def encoders(self, depth: float, pairs: Pairs) -> list[Encoder]:
        """What every encoder is like at one depth."""
        return [
            Encoder(
                name=name,
                reference=self.read.references[name],
                depth=depth,
                site=str(pairs.targets[name].space.facts.get("site")),
                width=pairs.targets[name].space.width,
                rank=pairs.targets[name].rank,
                radius=pairs.targets[name].radius.upper,
                ranks=_ranks(pairs.targets[name].space),
            )
            for name in self.read.names
        ]

    def ranks(self, depth: float, easy: Sequence[Mappability]) -> list[RankLink]:
        """Rank beside the median distance to an encoder, at one depth."""
        medians = {m.target: m.median for m in easy if m.kind == "affine" and m.depth == depth}
        return rank_link(
            [_ranks(self.read.space(name, depth).take(self.fitted)) for name in self.read.names],
            [medians[name] for name in self.read.names],
            depth=depth,
            permutations=self.settings.permutations,
            rng=self.settings.seed,
        )

    def truncations(self, pairs: Pairs) -> list[Truncation]:
        """Median distance between truncated copies of some encoders, at the last depth."""
        spaces = [t.space for t in pairs.targets.values()][: self.settings.truncated_encoders]
        if not spaces:
            return []
        shares = [share / 100 for share in self.settings.truncations]
        parts = {
            "spaces": [space.fingerprint for space in spaces],
            "shares": shares,
            "gap": self.settings.gap,
        }
        before = self.done

        def tell(what: str, done: int, total: int) -> None:
            self.done = before + done * self.truncated // total
            self._tick(f"truncated copies, {what}")()

        grid = TruncationGrid.from_dict(
            self.steps.once(
                "truncated",
                parts,
                lambda: truncation_grid(
                    spaces, shares, normalised=True, gap=self.settings.gap, progress=tell
                ).to_dict(),
            )
        )
        return [
            Truncation(
                round(100 * cell.source_share),
                round(100 * cell.target_share),
                cell.median,
                cell.pairs,
            )
            for cell in grid.cells
        ]


def _ranks(space: Space) -> dict[str, int]:
    return {
        tolerance if isinstance(tolerance, str) else f"{tolerance:g}": rank
        for tolerance, rank in rank_sweep(space).items()
    }


def _mappability(
    names: Sequence[str],
    pairs: Mapping[float, Pairs],
    tasks: Mapping[tuple[str, float], TaskPairs],
) -> list[Mappability]:
    found = []
    for depth, each in pairs.items():
        table = _table(names, each, lambda r: r.normalised)
        found += mappability(table, names, kind="affine", depth=depth)
    for (task, depth), those in tasks.items():
        found += mappability(Errors(those.errors["fixed"]).largest(), names, kind=task, depth=depth)
    return found


def _baseline(measure: str, record: Intrinsic) -> float:
    return record.baselines[measure]


def _table(names: Sequence[str], pairs: Pairs, read: Callable[[Intrinsic], float]) -> Floats:
    table = np.zeros((len(names), len(names)))
    for record in pairs.records:
        table[names.index(record.source), names.index(record.target)] = read(record)
    return table


def _links(
    task: str,
    depth: float,
    pairs: Pairs,
    imitations: TaskPairs,
    settings: AffineHomotopySettings,
    names: Sequence[str],
) -> list[Link]:
    tables: dict[str, Floats] = {"affine": Errors(pairs.errors).largest()}
    tables["affine_normalised"] = _table(names, pairs, lambda r: r.normalised)
    for measure in BASELINES:
        tables[measure] = _table(names, pairs, partial(_baseline, measure))
    links = []
    for kind, errors in imitations.errors.items():
        extrinsic = Errors(errors)
        for measure, table in tables.items():
            for method in _METHODS:
                found = related(
                    table,
                    extrinsic.largest(),
                    method,
                    permutations=settings.permutations,
                    samples=settings.samples,
                    rng=settings.seed,
                )
                if found is None:
                    continue
                ends = None
                if measure == "affine":
                    ends = text_interval(
                        Errors(pairs.errors),
                        extrinsic,
                        method,
                        samples=settings.samples,
                        rng=settings.seed,
                    )
                theirs, on = published(task, kind, measure, method)
                links.append(
                    Link(
                        task=task,
                        depth=depth,
                        extrinsic=kind,
                        measure=measure,
                        method=method,
                        value=found.value,
                        p=found.p,
                        smallest_p=found.smallest_p,
                        low=found.low,
                        high=found.high,
                        text_low=None if ends is None else ends[0],
                        text_high=None if ends is None else ends[1],
                        published=theirs,
                        published_on=on,
                    )
                )
    return links


def _warnings(names: Sequence[str], pairs: Mapping[float, Pairs], gap: float) -> list[str]:
    found = []
    count = len(names)
    if count < 5:
        ways = math.factorial(count)
        found.append(
            f"{count} encoders have {ways} relabellings: a correlation over their pairs cannot reach a p below "
            f"{1 / ways:.2g}."
        )
    # An exact map leaves rounding on both ends, whose ratio means nothing.
    wide = [
        (r.upper / r.lower - 1.0 if r.lower > 0.0 else math.inf, r)
        for each in pairs.values()
        for r in each.records
        if r.normalised > _ROUNDING and r.upper > r.lower * (1.0 + gap)
    ]
    if wide:
        most, r = max(wide, key=lambda item: item[0])
        found.append(
            f"The interval of {len(wide)} affine distances is wider than the gap of {gap:.2%} that was asked for; "
            f"the widest, {r.source} to {r.target} at depth {r.depth:g}: {most:.2%}."
        )
    return found
