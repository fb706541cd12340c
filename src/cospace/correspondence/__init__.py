"""Do models agree on who is near whom: every pair, depth and pooling, and again on other texts."""

from cospace.correspondence.match import DEPTHS, MEASURES, correspond
from cospace.correspondence.reading import Grid, read_grid
from cospace.correspondence.result import Agreement, Correspondence, Frozen, Profile, Replication

__all__ = [
    "DEPTHS",
    "MEASURES",
    "Agreement",
    "Correspondence",
    "Frozen",
    "Grid",
    "Profile",
    "Replication",
    "correspond",
    "read_grid",
]
