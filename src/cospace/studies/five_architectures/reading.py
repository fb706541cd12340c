"""From a study file to activations: every model on every set of texts, by pooling and depth."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cospace.corpora import subset
from cospace.corpus import Corpus
from cospace.correspondence import Grid, read_grid
from cospace.errors import InputError
from cospace.extraction import extract
from cospace.models import hf
from cospace.models.base import TokenPolicy
from cospace.models.cache import cache_folder
from cospace.space import Space
from cospace.store import Store
from cospace.studies.five_architectures.settings import FiveArchitecturesSettings
from cospace.studies.reading import check_models, each_model, texts_of
from cospace.studies.settings import models_named

__all__ = ["Read", "Texts", "read_models"]


@dataclass(frozen=True)
class Texts:
    """One set of texts and what the models make of it."""

    corpus: Corpus
    """The texts."""
    store: Store
    """Activations at all depths and poolings."""
    without_sink: Store | None = None
    """The same without the first position, pooled by the mean."""

    def grid(self, depths: tuple[float, ...], poolings: tuple[str, ...]) -> Grid:
        """Spaces for a correspondence; the mean without the first position is one more pooling."""
        found = dict(read_grid(self.store, depths, poolings))
        if self.without_sink is not None:
            found |= read_grid(self.without_sink, depths)
        return found

    def spaces(self, depth: float, pooling: str) -> dict[str, Space]:
        """Model -> rows at one depth and pooling."""
        return {
            run.facts.name: self.store.space(run.facts.name, depth, pooling)
            for run in self.store.runs
        }


@dataclass(frozen=True)
class Read:
    """Everything that the study computes from."""

    references: Mapping[str, str]
    """Name of a model -> what the file calls it."""
    sets: Mapping[str, Texts]
    """``first``, ``replica``, ``paraphrases``, and the sets of transfer by their own names."""
    prompts: Texts | None
    """Prompts of the router, where there is one."""
    answering: tuple[str, ...]
    """References of the decoders that answer them."""


def read_models(
    settings: FiveArchitecturesSettings,
    *,
    base: Path,
    store: Path | None = None,
    load_model: Callable[..., Any] = hf.load_model,
) -> Read:
    """Extract what is not in the store of activations yet.

    Parameters
    ----------
    settings
        The study.
    base
        Folder from which relative paths are seen, that of the study file.
    store
        Folder of activations; by default in the user's cache.
    load_model
        Loads one model.

    Raises
    ------
    InputError
        For fewer than two models, two of one name, depths or poolings of the space that are none
        of the study's, or decoders that are none of the models; and what reading models and texts
        raises.
    """
    references = models_named(settings.models, base)
    _check(settings, references)
    check_models(references, "models")
    folder = store or cache_folder() / "activations"
    corpora = {name: _texts(ref, base, settings) for name, ref in _sets(settings).items()}
    if settings.answering:
        corpora["prompts"] = _texts(settings.prompts, base, settings, settings.prompt_limit)
    pieces: dict[str, list[Store]] = {name: [] for name in corpora}
    bare: dict[str, list[Store]] = {name: [] for name in corpora}
    names: dict[str, str] = {}
    for reference, model in each_model(references, settings, load_model, "models"):
        names[model.facts.name] = reference
        for name, corpus in corpora.items():
            pieces[name].append(_extracted(model, corpus, name, settings, folder, sink=True))
            if settings.without_sink and name in ("first", "replica"):
                bare[name].append(_extracted(model, corpus, name, settings, folder, sink=False))
    found = {
        name: Texts(
            corpora[name],
            functools.reduce(Store.beside, those),
            functools.reduce(Store.beside, bare[name]) if bare[name] else None,
        )
        for name, those in pieces.items()
    }
    prompts = found.pop("prompts", None)
    return Read(
        references=names,
        sets=found,
        prompts=prompts,
        answering=models_named(settings.answering, base) if settings.answering else (),
    )


def _sets(settings: FiveArchitecturesSettings) -> dict[str, str]:
    sets = {"first": settings.texts}
    if settings.replica is not None:
        sets["replica"] = settings.replica
    if settings.paraphrases is not None:
        sets["paraphrases"] = settings.paraphrases
    for name in settings.transfer:
        if name in sets:
            raise InputError(
                f"transfer names {name!r} twice or by a reserved name: rename the file."
            )
        sets[name] = name
    return sets


def _texts(
    reference: str, base: Path, settings: FiveArchitecturesSettings, most: int | None = None
) -> Corpus:
    whole = texts_of(reference, base)
    limit = most or settings.limit
    if limit is None or limit >= len(whole) or whole.pairs is not None:
        return whole
    return subset(whole, limit, seed=settings.seed)


def _extracted(
    model: Any,
    corpus: Corpus,
    name: str,
    settings: FiveArchitecturesSettings,
    folder: Path,
    *,
    sink: bool,
) -> Store:
    poolings: tuple[str, ...] = settings.poolings
    depths: tuple[float, ...] = settings.depths
    if name not in ("first", "replica"):
        poolings, depths = settings.space_poolings, settings.space_depths
    if name == "prompts":
        poolings, depths = ("last",), (1.0,)
    return extract(
        model,
        corpus,
        sites=depths,
        pooling=poolings if sink else "mean",
        store=folder,
        policy=TokenPolicy(sink=sink, truncate=settings.truncate),
    )


def _check(settings: FiveArchitecturesSettings, references: tuple[str, ...]) -> None:
    if len(references) < 2:
        raise InputError(
            f"The study names {len(references)} model{'s' * (len(references) != 1)}; 2 or more share a space."
        )
    for part, whole in (("space_depths", "depths"), ("space_poolings", "poolings")):
        unknown = [v for v in getattr(settings, part) if v not in getattr(settings, whole)]
        if unknown:
            told = ", ".join(v if isinstance(v, str) else f"{v:g}" for v in unknown)
            raise InputError(f"{part} names {told}, and {whole} does not: name it there too.")
    unknown = [name for name in settings.answering if name not in settings.models]
    if unknown:
        raise InputError(
            f"answering names {unknown[0]!r}, which is none of the models: name it there too."
        )
    if len(settings.answering) == 1:
        raise InputError("answering names 1 decoder: a router needs two or more to choose among.")
