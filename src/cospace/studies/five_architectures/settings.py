"""The study file of the five-architectures study."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from cospace.studies.settings import Settings

__all__ = ["FiveArchitecturesSettings"]

_Depth = Annotated[float, Field(ge=0.0, le=1.0)]
_Pooling = Literal["mean", "last", "first", "max"]


class FiveArchitecturesSettings(Settings):
    """Models, texts and layers of a study."""

    models: tuple[str, ...]
    """Packaged names, folders, hub ids; a pattern such as ``ensemble/seed-*`` names its folders."""
    title: str = "Models in one shared space"
    """Title of the report."""
    texts: str = "plain"
    """First probe set, on which everything is chosen and fitted: packaged, a real text, or a file."""
    replica: str | None = "replica"
    """Second probe set, on which the correspondence is repeated as chosen, and the space scored."""
    paraphrases: str | None = "paraphrase"
    """Texts in pairs: a query in one model, its paraphrase in another."""
    transfer: tuple[str, ...] = ("unfamiliar", "notation")
    """Texts of other kinds, which the space fitted on the first set is scored on."""
    limit: Annotated[int, Field(ge=40)] | None = None
    """Most texts of a set, drawn once; by default all."""
    depths: tuple[_Depth, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """Relative depths."""
    poolings: tuple[_Pooling, ...] = ("mean", "last", "first", "max")
    """How token vectors become a row, for the correspondence."""
    without_sink: bool = True
    """Whether the mean without the first position is one more pooling of the correspondence."""
    space_depths: tuple[_Depth, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """Those of the depths at which a shared space is fitted."""
    space_poolings: tuple[_Pooling, ...] = ("mean", "last")
    """Those of the poolings for which one is fitted."""
    held_out: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.3
    """Share of the first set that the space is scored on and not fitted to."""
    folds: Annotated[int, Field(ge=2)] = 3
    """Inner folds on which scaling, method, width and ridge are chosen."""
    permutations: Annotated[int, Field(ge=1, le=1_000_000)] = 1999
    """Shuffles for the correspondence."""
    answering: tuple[str, ...] = ()
    """Decoders, of the models, that answer the prompts for the router; none leaves it out."""
    prompts: str = "gradeable"
    """Prompts with accepted answers as labels."""
    prompt_limit: Annotated[int, Field(ge=40)] | None = None
    """Most prompts, drawn once; by default all."""
    new_tokens: Annotated[int, Field(ge=1)] = 10
    """Most tokens of an answer."""
    truncate: bool = False
    """Whether texts that are too long for a model are cut, and counted, instead of refused."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of every draw."""
    dtype: str = "float32"
    """Number type of the forward pass."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where models run."""
    accept: tuple[str, ...] = ()
    """Terms of use accepted, by name."""

    @field_validator("models")
    @classmethod
    def _some(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if len(models) < 1:
            raise ValueError("name the models to compare")
        return models

    @field_validator("depths", "space_depths")
    @classmethod
    def _ascending(cls, depths: tuple[float, ...]) -> tuple[float, ...]:
        if not depths:
            raise ValueError("name at least one depth")
        return tuple(sorted(set(depths)))

    @field_validator("poolings", "space_poolings")
    @classmethod
    def _once(cls, poolings: tuple[str, ...]) -> tuple[str, ...]:
        if not poolings or len(set(poolings)) < len(poolings):
            raise ValueError("name at least one pooling, and each once")
        return poolings
