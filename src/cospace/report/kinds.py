"""Which results have a page: where their class is, and where their page is made; loaded on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from cospace.result import Result

__all__ = ["KINDS", "page_of", "result_class"]

KINDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "comparison": (
            "cospace.comparison:Comparison",
            "cospace.report.comparison:comparison_page",
        ),
        "drift": ("cospace.drift:Drift", "cospace.report.drift:drift_page"),
        "correspondence": (
            "cospace.correspondence:Correspondence",
            "cospace.report.correspondence:correspondence_page",
        ),
        "affine-homotopy study": (
            "cospace.studies.affine_homotopy.result:AffineHomotopyStudy",
            "cospace.report.homotopy:study_page",
        ),
        "shared-geometry study": (
            "cospace.studies.shared_geometry.result:SharedGeometryStudy",
            "cospace.report.shared_geometry:geometry_study_page",
        ),
        "five-architectures study": (
            "cospace.studies.five_architectures.result:FiveArchitectures",
            "cospace.report.five_architectures:five_architectures_page",
        ),
        "transfer_sweep": (
            "cospace.steering.transfer_sweep:TransferSweep",
            "cospace.report.steering:transfer_page",
        ),
        "steering_curve": (
            "cospace.steering.curve:SteeringCurve",
            "cospace.report.steering_curve:curve_page",
        ),
        "continuations": (
            "cospace.steering.generation:Continuations",
            "cospace.report.steering_texts:continuations_page",
        ),
        "shared_score": ("cospace.shared:SharedScore", "cospace.report.shared_space:score_page"),
        "shared_sweep": (
            "cospace.shared:SharedSweep",
            "cospace.report.shared_space_sweep:sweep_page",
        ),
        "routing": ("cospace.routing:Routing", "cospace.report.route:route_page"),
        "token geometry": ("cospace.tokens:TokenGeometry", "cospace.report.tokens:tokens_page"),
        "token comparison": ("cospace.tokens:TokenComparison", "cospace.report.tokens:tokens_page"),
    }
)
"""``kind`` of a result -> its class, and the function from it to a page."""


def result_class(kind: str) -> type[Result]:
    """Class of the results of a kind."""
    found: type[Result] = _load(KINDS[kind][0])
    return found


def page_of(kind: str) -> Callable[[Any], dict[str, Any]]:
    """Function from a result of a kind to its page."""
    found: Callable[[Any], dict[str, Any]] = _load(KINDS[kind][1])
    return found


def _load(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
