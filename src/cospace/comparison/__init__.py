"""Spaces x measures -> Comparison: everything about one space once, then every pair."""

from cospace.comparison.facts import facts_of
from cospace.comparison.grid import compare
from cospace.comparison.result import Cell, Comparison, MeasureFacts, ModelPair, SpaceFacts

__all__ = [
    "Cell",
    "Comparison",
    "MeasureFacts",
    "ModelPair",
    "SpaceFacts",
    "compare",
    "facts_of",
]
