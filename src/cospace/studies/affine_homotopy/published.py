"""Numbers that the paper reports, to stand beside ours.

"On Affine Homotopy between Language Encoders", NeurIPS 2024
(arXiv 2406.02329), Table 1: Spearman correlations over pairs of 27 encoders (25 MultiBERTs,
ELECTRA, RoBERTa), in-sample distances of the task's own texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["RANKS", "published"]

RANKS: Mapping[str, float] = MappingProxyType({"RTE": 0.312, "MRPC": 0.609, "QQP": 0.389})
"""The paper's task -> Spearman correlation of an encoder's rank, at a tolerance that is not told, and
the median distance to it; 27 encoders."""

_TABLE: Mapping[tuple[str, str, str], float] = MappingProxyType(
    {
        ("SST-2", "fixed", "affine"): 0.080,
        ("SST-2", "fixed", "linear_cka"): 0.088,
        ("SST-2", "worst", "affine"): 0.621,
        ("SST-2", "worst", "linear_cka"): 0.295,
        ("MRPC", "fixed", "affine"): 0.309,
        ("MRPC", "fixed", "linear_cka"): 0.214,
        ("MRPC", "worst", "affine"): 0.231,
        ("MRPC", "worst", "linear_cka"): 0.030,
        ("RTE", "fixed", "affine"): 0.534,
        ("RTE", "fixed", "linear_cka"): 0.185,
        ("RTE", "worst", "affine"): 0.234,
        ("RTE", "worst", "linear_cka"): 0.240,
        ("CoLA", "fixed", "affine"): 0.196,
        ("CoLA", "fixed", "linear_cka"): 0.165,
        ("CoLA", "worst", "affine"): 0.348,
        ("CoLA", "worst", "linear_cka"): 0.380,
    }
)

_NEAREST: Mapping[str, str] = MappingProxyType(
    {
        "sst2": "SST-2",
        "mrpc": "MRPC",
        "rte": "RTE",
        "cola": "CoLA",
        "sentiment": "SST-2",
        "acceptability": "CoLA",
    }
)
"""Task -> the paper's task of the same kind."""


def published(
    task: str, extrinsic: str, measure: str, method: str
) -> tuple[float | None, str | None]:
    """The paper's number and its task; None where it is not known.

    Examples
    --------
    >>> published("sentiment", "worst", "affine", "spearman")
    (0.621, 'SST-2')
    >>> published("sentiment", "worst", "affine", "pearson")
    (None, None)
    """
    name = _NEAREST.get(task, "")
    value = _TABLE.get((name, extrinsic, measure)) if method == "spearman" else None
    return (None, None) if value is None else (value, name)
