"""The study from its file to its result, step by step."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cospace.correspondence import Correspondence, correspond
from cospace.errors import UndefinedMeasureError
from cospace.models.decoder import load_decoder
from cospace.result import plain
from cospace.routing import Pool, Routing, answer_prompts, judge_routing
from cospace.shared import RetrievalSet, SharedScore, score_shared, split_texts
from cospace.shared.sweep import Refusal, SharedSweep, SweepCell, summarise
from cospace.studies.five_architectures.reading import Read, Texts
from cospace.studies.five_architectures.result import FiveArchitectures
from cospace.studies.five_architectures.settings import FiveArchitecturesSettings
from cospace.studies.steps import Steps

__all__ = ["Progress", "run"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, steps done, and steps in all."""


def run(
    read: Read,
    settings: FiveArchitecturesSettings,
    *,
    into: Path,
    progress: Progress | None = None,
) -> FiveArchitectures:
    """Run the study, or what of it is not done yet.

    Parameters
    ----------
    read
        Models and texts, as ``read_models`` gives them.
    settings
        The study file.
    into
        Folder in which steps done are kept, so that an interrupted study goes on from there.
    progress
        Called as (what, steps done, steps in all).

    Raises
    ------
    InputError
        When the folder cannot be written, or a part is refused.
    """
    work = _Work(settings, read, Steps(into / "steps"), into, progress)
    agreed = work.correspondence()
    sweep = work.sweep()
    return FiveArchitectures(
        title=settings.title,
        models=tuple(read.references),
        correspondence=agreed,
        sweep=sweep,
        routing=work.routing() if settings.answering else None,
        settings=settings.model_dump(mode="json"),
        provenance=plain(
            {
                "references": dict(read.references),
                "texts": {
                    name: {"name": each.corpus.name, "fingerprint": each.corpus.fingerprint}
                    for name, each in read.sets.items()
                },
                "runs": {run.folder: run.key for run in read.sets["first"].store.runs},
                "versions": {
                    name: importlib.metadata.version(name) for name in ("cospace", "numpy", "scipy")
                },
            }
        ),
    )


@dataclass
class _Work:
    """The steps, with their count."""

    settings: FiveArchitecturesSettings
    read: Read
    steps: Steps
    folder: Path
    progress: Progress | None
    done: int = 0

    @property
    def total(self) -> int:
        """Number of steps."""
        settings = self.settings
        sites = len(settings.space_depths) * len(settings.space_poolings)
        return 1 + sites + (len(settings.answering) + 1 if settings.answering else 0)

    def _tell(self, what: str) -> None:
        if self.progress is not None:
            self.progress(what, self.done, self.total)

    def correspondence(self) -> Correspondence:
        """Whether the models agree, on the first texts and again on the second."""
        settings, sets = self.settings, self.read.sets
        self._tell("correspondence")

        def compute() -> Mapping[str, Any]:
            again = sets.get("replica")
            return correspond(
                sets["first"].grid(settings.depths, settings.poolings),
                replica=None if again is None else again.grid(settings.depths, settings.poolings),
                permutations=settings.permutations,
                rng=settings.seed,
            ).to_dict()

        parts = {
            **self._made_of("first", "replica"),
            "depths": settings.depths,
            "poolings": settings.poolings,
            "without_sink": settings.without_sink,
            "permutations": settings.permutations,
        }
        kept = self.steps.once("correspondence", parts, compute)
        self.done += 1
        return Correspondence.from_dict(kept)

    def sweep(self) -> SharedSweep:
        """A shared space at every depth and pooling, beside pairwise maps and baselines."""
        settings = self.settings
        cells: list[SweepCell] = []
        refused: list[Refusal] = []
        rows = 0
        for pooling in settings.space_poolings:
            for depth in settings.space_depths:
                self._tell(f"shared space, depth {depth:g}, {pooling}")
                kept = self._kept_score(depth, pooling)
                self.done += 1
                if "refused" in kept:
                    refused.append(Refusal(depth, pooling, str(kept["refused"])))
                    continue
                score = SharedScore.from_dict(kept)
                rows = score.n
                cells += summarise(score, depth=depth, pooling=pooling)
        return SharedSweep(
            cells=tuple(cells),
            refused=tuple(refused),
            models=tuple(self.read.references),
            n=rows,
            settings={
                "held_out": settings.held_out,
                "folds": settings.folds,
                "seed": settings.seed,
            },
        )

    def _kept_score(self, depth: float, pooling: str) -> dict[str, Any]:
        def compute() -> Mapping[str, Any]:
            try:
                return self._score(depth, pooling).to_dict()
            except UndefinedMeasureError as error:
                return {"refused": str(error)}

        parts = {
            **self._made_of(*self.read.sets),
            "depth": depth,
            "pooling": pooling,
            "held_out": self.settings.held_out,
            "folds": self.settings.folds,
            "together": "texts",
        }
        return self.steps.once("space", parts, compute)

    def _score(self, depth: float, pooling: str) -> SharedScore:
        first = self.read.sets["first"]
        # Named by its first id, so that texts that differ are drawn as they are without names.
        named: dict[str, str] = {}
        sides = split_texts(
            first.corpus.ids,
            held_out=self.settings.held_out,
            rng=self.settings.seed,
            together=[
                named.setdefault(text, one)
                for text, one in zip(first.corpus.texts, first.corpus.ids, strict=True)
            ],
        )
        fitted = first.corpus.take(sides.fit)
        unseen = first.corpus.take(sides.held_out)
        spaces = first.spaces(depth, pooling)
        sets = [
            RetrievalSet(
                "held out",
                {name: space.take(sides.held_out) for name, space in spaces.items()},
                texts=unseen.texts,
            )
        ]
        for name, each in self.read.sets.items():
            if name == "paraphrases":
                rows = each.spaces(depth, pooling)
                sets.append(RetrievalSet.paraphrases(name, rows, each.corpus))
            elif name != "first":
                rows = each.spaces(depth, pooling)
                sets.append(RetrievalSet(name, rows, texts=each.corpus.texts))
        return score_shared(
            {name: space.take(sides.fit) for name, space in spaces.items()},
            sets,
            folds=self.settings.folds,
            texts=fitted.texts,
            rng=self.settings.seed,
        )

    def routing(self) -> Routing:
        """The judgement of a router among the decoders, on answers that are kept one by one."""
        settings, prompts = self.settings, self.read.prompts
        assert prompts is not None  # noqa: S101  read wherever decoders are named
        answers = {}
        hashes = {}
        for reference in self.read.answering:
            self._tell(f"answers of {reference}")
            decoder = load_decoder(
                reference, dtype=settings.dtype, device=settings.device, accept=settings.accept
            )
            answers[decoder.facts.name] = answer_prompts(
                decoder,
                prompts.corpus,
                new_tokens=settings.new_tokens,
                folder=self.folder / "answers",
            )
            hashes[decoder.facts.name] = decoder.facts.weights_hash
            self.done += 1
        self._tell("router")

        def compute() -> Mapping[str, Any]:
            pool = Pool.of_answers(prompts.corpus, answers)
            spaces = list(prompts.spaces(1.0, "last").values())
            return judge_routing(pool, spaces, rng=settings.seed).to_dict()

        parts = {
            **self._made_of(),
            "prompts": _facts(prompts),
            "answering": hashes,
            "new_tokens": settings.new_tokens,
        }
        kept = self.steps.once("routing", parts, compute)
        self.done += 1
        return Routing.from_dict(kept)

    def _made_of(self, *names: str) -> dict[str, Any]:
        sets = self.read.sets
        return {
            "seed": self.settings.seed,
            "sets": {name: _facts(sets[name]) for name in names if name in sets},
        }


def _facts(texts: Texts) -> dict[str, Any]:
    return {"texts": texts.corpus.fingerprint, "runs": [run.key for run in texts.store.runs]}
