"""The yardstick beside a value: its level by chance, its p-value, its interval."""

from cospace.stats.adjust import benjamini_hochberg, holm, max_statistic
from cospace.stats.closed_form import (
    Invariants,
    MomentTable,
    PermutationMoments,
    permutation_moments,
)
from cospace.stats.effect import effect
from cospace.stats.permutation import Null, Permutations
from cospace.stats.resampling import Weights

__all__ = [
    "Invariants",
    "MomentTable",
    "Null",
    "PermutationMoments",
    "Permutations",
    "Weights",
    "benjamini_hochberg",
    "effect",
    "holm",
    "max_statistic",
    "permutation_moments",
]
