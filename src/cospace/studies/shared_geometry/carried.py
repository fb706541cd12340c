"""Steering vectors of the study: every behaviour made on the source and carried to every target."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cospace.corpora import open_corpus
from cospace.corpus import Corpus
from cospace.errors import InputError
from cospace.models.cache import files_hash
from cospace.models.decoder import Decoder, load_decoder
from cospace.models.weights import Weights, resolve_weights
from cospace.steering import (
    ChoiceItem,
    Contrast,
    MapPlan,
    SteeringCurve,
    SteeringVector,
    TransferSweep,
    build_chosen,
    carry,
    packaged_behaviours,
    read_items,
    read_pairs,
    steering_curve,
    unseen_items,
)
from cospace.steering.carry import draw_items
from cospace.studies.settings import models_named
from cospace.studies.shared_geometry.result import Steered
from cospace.studies.shared_geometry.settings import SharedGeometrySettings, SteeringSettings
from cospace.studies.steps import Steps

__all__ = ["Steering"]

Tick = Callable[[str], None]
_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json")
_LESS = {"targets", "behaviours"}
"""What does not decide the result of one behaviour and one target."""


@dataclass(frozen=True)
class _Behaviour:
    name: str
    items: tuple[ChoiceItem, ...]
    contrast: Contrast | None

    @property
    def parts(self) -> dict[str, Any]:
        said = [f"{item.question}\0{item.matching}" for item in self.items]
        return {
            "behaviour": self.name,
            "items": hashlib.sha256("\0".join(said).encode()).hexdigest(),
            "pairs": None if self.contrast is None else self.contrast.fingerprint,
        }


@dataclass
class Steering:
    """The steps of the section ``[steering]``; models are loaded where one is not done yet."""

    settings: SteeringSettings
    study: SharedGeometrySettings
    steps: Steps
    behaviours: tuple[_Behaviour, ...]
    source: Weights
    targets: tuple[Weights, ...]
    plan: MapPlan
    texts: str | None
    decoders: dict[str, Decoder] = field(default_factory=dict)

    @classmethod
    def of(cls, study: SharedGeometrySettings, *, base: Path, steps: Steps) -> Steering | None:
        """Read behaviours and texts and find the models; None where nothing is to be steered.

        Raises
        ------
        InputError
            For files that cannot be read, pairs of a behaviour that has none, or a model that is
            its own target.
        AcquisitionError, UnknownNameError
            For models that there are not.
        """
        settings = study.steering
        if settings is None:
            return None
        behaviours = tuple(_read(name, settings, base) for name in settings.behaviours)
        names = models_named((settings.source, *settings.targets), base)
        found = [resolve_weights(name, accept=study.accept) for name in names]
        corpus = None
        if "activations" in settings.maps:
            path = base / settings.texts
            corpus = open_corpus(path if path.is_file() else settings.texts, limit=settings.limit)
        plan = MapPlan(
            kinds=settings.maps,
            tokens=settings.tokens,
            texts=() if corpus is None else corpus.texts,
            accept=study.accept,
        )
        made = cls(
            settings,
            study,
            steps,
            behaviours,
            found[0],
            tuple(found[1:]),
            plan,
            None if corpus is None else corpus.fingerprint,
        )
        made._check_models()
        return made

    def __len__(self) -> int:
        return len(self.behaviours) * len(self.targets)

    def run(self, tick: Tick) -> tuple[Steered, ...]:
        """Carry every behaviour to every target, or what of it is not done yet.

        Parameters
        ----------
        tick
            Told what is done next; with an empty text after each transfer.
        """
        found = []
        for behaviour in self.behaviours:
            for target in self.targets:
                made = self.steps.once(
                    "steering",
                    self._parts(behaviour, target),
                    lambda b=behaviour, t=target: self._steered(b, t, tick),  # type: ignore[misc]
                )
                found.append(
                    Steered(
                        behaviour.name,
                        SteeringCurve.from_dict(made["own"]),
                        TransferSweep.from_dict(made["sweep"]),
                    )
                )
                tick("")
        self.decoders.clear()
        return tuple(found)

    def _parts(self, behaviour: _Behaviour, target: Weights) -> dict[str, Any]:
        return {
            **behaviour.parts,
            "source": _identity(self.source),
            "target": _identity(target),
            "texts": self.texts,
            "seed": self.study.seed,
            "dtype": self.study.dtype,
            **self.settings.model_dump(mode="json", exclude={"source", *_LESS}),
        }

    def _check_models(self) -> None:
        """Load what is needed: a model without a head is told before anything is computed."""
        for behaviour in self.behaviours:
            for target in self.targets:
                if not self.steps.has("steering", self._parts(behaviour, target)):
                    self._decoder(self.source)
                    self._decoder(target)

    def _decoder(self, weights: Weights) -> Decoder:
        name = weights.reference
        if name not in self.decoders:
            self.decoders[name] = load_decoder(
                name, dtype=self.study.dtype, device=self.study.device, accept=self.study.accept
            )
        return self.decoders[name]

    def _steered(self, behaviour: _Behaviour, target: Weights, tick: Tick) -> Mapping[str, Any]:
        settings, seed = self.settings, self.study.seed
        source = self._decoder(self.source)
        tick(f"{behaviour.name}: a vector of {self.source.name}")
        vector = self._vector(behaviour, source)
        neutral = Corpus.read("plain").texts[: settings.neutral]
        asked = draw_items(unseen_items(vector, behaviour.items), settings.questions, seed)
        own = steering_curve(
            source,
            vector,
            asked,
            settings.coefficients,
            unit="spread",
            neutral=neutral,
            answers=settings.answers,
        )
        sweep, _ = carry(
            vector,
            source=source,
            target=self._decoder(target),
            questions=behaviour.items,
            coefficients=settings.coefficients,
            contrast=behaviour.contrast,
            sites=settings.layers,
            plan=self.plan,
            most=settings.questions,
            seed=seed,
            progress=lambda what: tick(f"{behaviour.name}: {what}"),
            neutral=neutral,
            answers=settings.answers,
            draws=settings.draws,
        )
        return {"own": own.to_dict(), "sweep": sweep.to_dict()}

    def _vector(self, behaviour: _Behaviour, source: Decoder) -> SteeringVector:
        vector, _ = build_chosen(
            source,
            behaviour.items,
            sites=self.settings.source_layers,
            method=self.settings.method,
            share=self.settings.share,
            answers=self.settings.answers,
            contrast=behaviour.contrast,
        )
        return vector


def _read(name: str, settings: SteeringSettings, base: Path) -> _Behaviour:
    if name in packaged_behaviours():
        pairs = read_pairs(name) if settings.made_from == "pairs" else None
        return _Behaviour(name, read_items(name), pairs)
    if settings.made_from == "pairs":
        raise InputError(
            f"made_from is 'pairs', and {name} is none of the packaged behaviours "
            f"{', '.join(packaged_behaviours())}, which have pairs: make vectors from questions, or name these."
        )
    path = base / name
    return _Behaviour(name, read_items(path if path.is_file() else name), None)


def _identity(weights: Weights) -> dict[str, Any]:
    files = [path for name in _FILES if (path := weights.folder / name).is_file()]
    return {
        "name": weights.name,
        "reference": weights.reference,
        "weights": weights.weights_hash,
        "files": files_hash(files),
    }
