"""Measure how alike the spaces are in which language models represent text.

The names below load their modules on first use: ``import cospace`` brings in neither torch nor
pandas nor matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cospace import corpora, errors, measures, probes, routing, shared, steering, tokens
    from cospace.comparison import Cell, Comparison, compare
    from cospace.corpus import Corpus
    from cospace.drift import Drift, measure_drift
    from cospace.extraction import extract
    from cospace.homotopy import AffineDistance, affine_distance
    from cospace.maps import LinearMap, fit_map
    from cospace.measures import Measure
    from cospace.models.base import LanguageModel, Site, TokenPolicy
    from cospace.models.hf import load_model
    from cospace.models.packaged import packaged_models
    from cospace.moments import Moments
    from cospace.report import write_report
    from cospace.shared import SharedScore, SharedSpace, score_shared
    from cospace.space import Space, align_rows
    from cospace.spacefile import read_spaces
    from cospace.store import Store, open_store
    from cospace.summaries import Factor, Gram, Neighbors, Overlap

__version__ = "0.1.0"

_HOME = {
    "AffineDistance": "homotopy",
    "Cell": "comparison",
    "Comparison": "comparison",
    "Corpus": "corpus",
    "Drift": "drift",
    "Factor": "summaries",
    "Gram": "summaries",
    "LanguageModel": "models.base",
    "LinearMap": "maps",
    "Measure": "measures",
    "Moments": "moments",
    "Neighbors": "summaries",
    "Overlap": "summaries",
    "SharedScore": "shared",
    "SharedSpace": "shared",
    "Site": "models.base",
    "Space": "space",
    "Store": "store",
    "TokenPolicy": "models.base",
    "affine_distance": "homotopy",
    "align_rows": "space",
    "compare": "comparison",
    "extract": "extraction",
    "fit_map": "maps",
    "load_model": "models.hf",
    "measure_drift": "drift",
    "open_store": "store",
    "packaged_models": "models.packaged",
    "read_spaces": "spacefile",
    "score_shared": "shared",
    "write_report": "report",
}
_MODULES = ("corpora", "errors", "measures", "probes", "routing", "shared", "steering", "tokens")

__all__ = [
    "AffineDistance",
    "Cell",
    "Comparison",
    "Corpus",
    "Drift",
    "Factor",
    "Gram",
    "LanguageModel",
    "LinearMap",
    "Measure",
    "Moments",
    "Neighbors",
    "Overlap",
    "SharedScore",
    "SharedSpace",
    "Site",
    "Space",
    "Store",
    "TokenPolicy",
    "affine_distance",
    "align_rows",
    "compare",
    "corpora",
    "errors",
    "extract",
    "fit_map",
    "load_model",
    "measure_drift",
    "measures",
    "open_store",
    "packaged_models",
    "probes",
    "read_spaces",
    "routing",
    "score_shared",
    "shared",
    "steering",
    "tokens",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"cospace.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'cospace' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"cospace.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
