"""The study file of the affine-homotopy study."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from cospace.studies.settings import Settings

__all__ = ["AffineHomotopySettings"]

_Depth = Annotated[float, Field(ge=0.0, le=1.0)]
_Share = Annotated[int, Field(ge=1, le=100)]


class AffineHomotopySettings(Settings):
    """Encoders, texts, tasks and layers of a study."""

    encoders: tuple[str, ...]
    """Packaged names, folders, hub ids; a pattern such as ``ensemble/seed-*`` names its folders."""
    title: str = "Affine homotopy between encoders"
    """Title of the report."""
    texts: str = "wordnet-examples"
    """Unlabelled texts for the intrinsic distance: a real text by name, or a file."""
    rows: Annotated[int, Field(ge=10)] | None = None
    """How many of them; by default 6 times the largest width, of which a sixth is held out."""
    tasks: tuple[str, ...] = ("sentiment", "acceptability")
    """Labelled tasks: packaged, a file, or a GLUE name."""
    limit: Annotated[int, Field(ge=40)] | None = None
    """Most texts of each side of a task, drawn once; by default all."""
    depths: tuple[_Depth, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    """Relative depths of the intrinsic distance."""
    extrinsic_depths: tuple[_Depth, ...] = (1.0,)
    """Those of them at which probes are imitated."""
    pooling: Literal["mean", "last", "first", "max"] = "mean"
    """How token vectors become a row."""
    truncate: bool = False
    """Whether texts that are too long for an encoder are cut, and counted, instead of refused."""
    components: Annotated[int, Field(ge=2)] | None = None
    """Principal components on which tasks are probed and imitated; by default a tenth of the
    training rows, at most."""
    gap: Annotated[float, Field(ge=1e-4, lt=1.0)] = 0.01
    """Largest relative gap between the bounds of a distance."""
    directions: Annotated[int, Field(ge=0)] = 6
    """Random classifiers that the worst case is sought among, beside the task's probe."""
    steps: Annotated[int, Field(ge=0)] = 8
    """Steps of gradient ascent from the worst of them."""
    truncations: tuple[_Share, ...] = (20, 30, 40, 50, 60, 70, 80, 90)
    """Ranks of truncated copies, in percent of full rank."""
    truncated_encoders: Annotated[int, Field(ge=0)] = 4
    """How many encoders, of the first, the truncation grid takes in pairs; 0 leaves it out."""
    permutations: Annotated[int, Field(ge=1, le=1_000_000)] = 9_999
    """Relabellings of encoders for p-values."""
    samples: Annotated[int, Field(ge=0, le=100_000)] = 1_000
    """Bootstrap samples of encoders, and of texts."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of every draw."""
    dtype: str = "float32"
    """Number type of the forward pass."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where models run."""
    accept: tuple[str, ...] = ()
    """Terms of use accepted, by name."""

    @field_validator("encoders")
    @classmethod
    def _some(cls, encoders: tuple[str, ...]) -> tuple[str, ...]:
        if not encoders:
            raise ValueError("name the encoders to compare")
        return encoders

    @field_validator("truncations")
    @classmethod
    def _different(cls, shares: tuple[int, ...]) -> tuple[int, ...]:
        if not shares or len(set(shares)) < len(shares):
            raise ValueError("name at least one share, and each once")
        return shares

    @field_validator("truncated_encoders")
    @classmethod
    def _pairs(cls, count: int) -> int:
        if count == 1:
            raise ValueError("2 or more make pairs, and 0 leaves the grid out")
        return count

    @field_validator("depths", "extrinsic_depths")
    @classmethod
    def _ascending(cls, depths: tuple[float, ...]) -> tuple[float, ...]:
        if not depths:
            raise ValueError("name at least one depth")
        return tuple(sorted(set(depths)))
