"""Affine homotopy: how far spaces are from being affine images of each other, row by row."""

from cospace.homotopy.distance import affine_distance
from cospace.homotopy.legacy import LegacyDistance, legacy_distance
from cospace.homotopy.rank import (
    TruncationGrid,
    rank_correlation,
    rank_sweep,
    truncated,
    truncation_grid,
)
from cospace.homotopy.result import AffineDistance, Errors, Interval
from cospace.homotopy.sets import DistanceTable, Homotopy, affine_distances, hausdorff_hoare
from cospace.maps.affine import AffineMap

__all__ = [
    "AffineDistance",
    "AffineMap",
    "DistanceTable",
    "Errors",
    "Homotopy",
    "Interval",
    "LegacyDistance",
    "TruncationGrid",
    "affine_distance",
    "affine_distances",
    "hausdorff_hoare",
    "legacy_distance",
    "rank_correlation",
    "rank_sweep",
    "truncated",
    "truncation_grid",
]
