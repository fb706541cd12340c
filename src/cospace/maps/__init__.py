"""Linear maps from one space to another, fitted on rows of the same texts or tokens."""

from cospace.maps.affine import AffineMap
from cospace.maps.fit import fit_map
from cospace.maps.linear import HeldOut, LinearMap, PenaltyPoint, PulledBack

__all__ = ["AffineMap", "HeldOut", "LinearMap", "PenaltyPoint", "PulledBack", "fit_map"]
