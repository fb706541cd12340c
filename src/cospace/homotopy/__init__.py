"""Affine homotopy: how far spaces are from being affine images of each other, row by row."""

from cospace.homotopy.affine_map import AffineMap
from cospace.homotopy.distance import affine_distance
from cospace.homotopy.result import AffineDistance, Errors, Interval

__all__ = ["AffineDistance", "AffineMap", "Errors", "Interval", "affine_distance"]
