"""The yardstick beside a value: its level by chance, its p-value, its interval."""

from cospace.stats.closed_form import Invariants, PermutationMoments, permutation_moments
from cospace.stats.permutation import Null, Permutations
from cospace.stats.resampling import Weights

__all__ = [
    "Invariants",
    "Null",
    "PermutationMoments",
    "Permutations",
    "Weights",
    "permutation_moments",
]
