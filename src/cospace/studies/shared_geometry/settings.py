"""The study file of the shared-geometry study."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from cospace.steering.score import Answers
from cospace.studies.settings import Settings
from cospace.tokens.neighbors import Metric

__all__ = ["SharedGeometrySettings", "SteeringSettings"]

_Depth = Annotated[float, Field(ge=0.0, le=1.0)]
_Site = _Depth | str


class SteeringSettings(Settings):
    """Behaviours, models, maps and layers of the section ``[steering]``."""

    source: str
    """Decoder that vectors are made on: packaged name, folder, GGUF file, or hub id."""
    targets: tuple[str, ...]
    """Decoders that they are carried to."""
    behaviours: tuple[str, ...] = ("formality", "positivity")
    """Questions with two answers: packaged behaviours, or files."""
    made_from: Literal["questions", "pairs"] = "questions"
    """Whether vectors are made from questions, or from the pairs of texts of packaged behaviours."""
    method: Literal["mean_difference", "trimmed_difference", "pca", "probe"] = "mean_difference"
    """How a direction is found."""
    source_layers: tuple[_Site, ...] = (0.3, 0.4, 0.5, 0.6, 0.7)
    """Sites of the source, by name or relative depth; of several one is chosen."""
    layers: tuple[_Site, ...] | None = None
    """Sites of the target; by default the one of the same relative depth."""
    maps: tuple[Literal["embeddings", "activations"], ...] = ("embeddings",)
    """What maps are fitted on."""
    tokens: Annotated[int, Field(ge=4)] | None = None
    """Shared tokens drawn for maps of embeddings; by default all."""
    texts: str = "plain"
    """Texts for maps of activations."""
    limit: Annotated[int, Field(ge=4)] | None = None
    """How many of them; by default all."""
    coefficients: tuple[float, ...] = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
    """In units of the spread of the states."""
    answers: Answers = "letters"
    """Whether answers are compared by their letters, or by their texts."""
    share: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.7
    """Share of the questions to build from and choose layers on; the rest is scored."""
    questions: Annotated[int, Field(ge=1)] | None = None
    """Most questions that are scored; by default all that are left."""
    neutral: Annotated[int, Field(ge=0)] = 10
    """Sentences of the set ``plain`` whose perplexity is given."""
    draws: Annotated[int, Field(ge=1)] = 1
    """Random maps, and random directions."""

    @field_validator("targets", "behaviours", "source_layers", "layers", "maps", "coefficients")
    @classmethod
    def _some(cls, values: tuple[object, ...] | None) -> tuple[object, ...] | None:
        if values is not None and (not values or len(set(values)) < len(values)):
            raise ValueError("name at least one, and each once")
        return values


class SharedGeometrySettings(Settings):
    """Models, and what is asked of their tokens and of their steering vectors."""

    models: tuple[str, ...]
    """Packaged names, folders, GGUF files, hub ids; a pattern names its folders."""
    title: str = "Shared geometry of token embeddings"
    """Title of the report."""
    accept: tuple[str, ...] = ()
    """Terms of use accepted, by name."""
    sample: Annotated[int, Field(ge=4)] = 20_000
    """Shared tokens whose cosines are compared in one draw."""
    draws: Annotated[int, Field(ge=1)] = 3
    """Draws."""
    tokens: Annotated[int, Field(ge=1)] | None = None
    """Shared tokens whose neighbours are compared; by default all."""
    k: Annotated[int, Field(ge=1)] = 10
    """Neighbours of a token."""
    reg: Annotated[float, Field(gt=0.0)] = 1e-3
    """Regularisation of LLE weights."""
    metric: Metric = "euclidean"
    """Metric of neighbours."""
    dimension_tokens: Annotated[int, Field(ge=2)] = 500
    """Shared tokens whose dimension is compared."""
    dimension_k: tuple[Annotated[int, Field(ge=2)], ...] = (50, 100, 200)
    """Numbers of neighbours whose principal components are counted."""
    coherence: str = "wordnet"
    """Graph of words: ``wordnet``, a folder of its files, ConceptNet's assertions, or ``none``."""
    coherence_tokens: Annotated[int, Field(ge=10)] = 500
    """Whole words of the graph that are sampled."""
    frequency: str = "wordnet-definitions"
    """Text in which tokens are counted."""
    undertrained: bool = True
    """Whether candidates for undertrained tokens are looked for."""
    references: dict[str, str] = Field(default_factory=dict)
    """Model -> file of published verifications, JSON lines in magikarp's format."""
    unused: dict[str, tuple[Annotated[int, Field(ge=0)], ...]] = Field(default_factory=dict)
    """Model -> rows known to be unused; by default the reserved ones."""
    verify: Annotated[int, Field(ge=0)] = 0
    """Candidates of each method that a model is asked to repeat; all models must be decoders."""
    depths: tuple[_Depth, ...] = ()
    """Relative depths at which states are compared, too."""
    contexts: tuple[Literal["alone", "text"], ...] = ("alone",)
    """Tokens run alone, or in a text."""
    text: str = "wordnet-examples"
    """That text."""
    hidden_tokens: Annotated[int, Field(ge=4)] = 500
    """Shared tokens whose states are compared."""
    steering: SteeringSettings | None = None
    """Steering vectors; left out where the section is not there."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of every draw."""
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    """Number type of forward passes."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where models run."""

    @field_validator("models")
    @classmethod
    def _two(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if not models:
            raise ValueError("name the models to compare, two or more")
        return models

    @field_validator("dimension_k", "contexts")
    @classmethod
    def _each_once(cls, values: tuple[object, ...]) -> tuple[object, ...]:
        if not values or len(set(values)) < len(values):
            raise ValueError("name at least one, and each once")
        return values
