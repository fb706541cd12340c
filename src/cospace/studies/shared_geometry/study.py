"""The study from its file to its result, part by part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cospace.errors import InputError
from cospace.studies.settings import models_named
from cospace.studies.shared_geometry.carried import Steering
from cospace.studies.shared_geometry.claims import claims
from cospace.studies.shared_geometry.result import SharedGeometryStudy
from cospace.studies.shared_geometry.settings import SharedGeometrySettings
from cospace.studies.steps import Steps
from cospace.tokens import GeometryOptions, TokenOptions, measure_geometry, read_reference

__all__ = ["Progress", "run"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, steps done, and steps in all."""


def run(
    settings: SharedGeometrySettings,
    *,
    base: Path,
    into: Path,
    neighbors: Path | None = None,
    progress: Progress | None = None,
) -> SharedGeometryStudy:
    """Run the study, or what of it is not done yet.

    Parameters
    ----------
    settings
        The study file.
    base
        Folder from which relative paths are seen, that of the study file.
    into
        Folder in which parts done are kept, so that an interrupted study goes on from there.
    neighbors
        Folder of finished blocks of neighbours; None to keep none.
    progress
        Called as (what, steps done, steps in all).

    Raises
    ------
    InputError
        For fewer than 2 models, a file that cannot be read, or a folder that cannot be written.
    AcquisitionError, UnknownNameError, UndefinedMeasureError
        As for what is asked.
    """
    models = models_named(settings.models, base)
    if len(models) < 2:
        raise InputError(f"The study names {len(models)} model; 2 or more are compared.")
    steps = Steps(into / "steps")
    references = {name: read_reference(base / file) for name, file in settings.references.items()}
    extra = _extra(settings, base)
    # What is wrong with the last part is told before the first one is computed.
    steering = Steering.of(settings, base=base, steps=steps)
    geometry = measure_geometry(
        models,
        options=TokenOptions(
            sample=settings.sample,
            draws=settings.draws,
            tokens=settings.tokens,
            k=settings.k,
            reg=settings.reg,
            metric=settings.metric,
            dimension_tokens=settings.dimension_tokens,
            dimension_k=settings.dimension_k,
            rng=settings.seed,
        ),
        extra=extra,
        references=references,
        unused=settings.unused,
        accept=settings.accept,
        folder=neighbors,
        progress=progress,
        keep=steps.once,
    )
    carried = () if steering is None else steering.run(_ticker(len(steering), progress))
    return SharedGeometryStudy(
        title=settings.title,
        geometry=geometry,
        steering=carried,
        claims=claims(geometry, carried),
        settings=settings.model_dump(mode="json"),
        warnings=(),
        provenance=geometry.provenance,
    )


def _extra(settings: SharedGeometrySettings, base: Path) -> GeometryOptions:
    def at(reference: str) -> str:
        path = base / reference
        return str(path) if reference != "wordnet" and path.exists() else reference

    return GeometryOptions(
        coherence=None if settings.coherence == "none" else at(settings.coherence),
        coherence_tokens=settings.coherence_tokens,
        frequency=at(settings.frequency),
        undertrained=settings.undertrained,
        verify=settings.verify,
        depths=settings.depths,
        contexts=settings.contexts,
        text=at(settings.text),
        hidden_tokens=settings.hidden_tokens,
    )


def _ticker(total: int, progress: Progress | None) -> Callable[[str], None]:
    done = 0

    def tick(what: str) -> None:
        nonlocal done
        done += not what
        if progress is not None:
            progress(what or "steering", done, total)

    return tick
