"""The yardstick beside a value: its level by chance, its p-value, its interval."""

from cospace.stats.permutation import Null, Permutations
from cospace.stats.resampling import Weights

__all__ = ["Null", "Permutations", "Weights"]
