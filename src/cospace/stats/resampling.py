"""Bootstrap over rows or groups, as weights: how often each row is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Weights"]


@dataclass(frozen=True, eq=False)
class Weights:
    """Multiplicities of the rows in bootstrap samples, shape (draws, n)."""

    counts: npt.NDArray[np.int64]
    """How often each row is drawn."""
    groups: npt.NDArray[np.int64] | None = None
    """Number of the group of every row, where whole groups are drawn. Two rows of one group are then
    together once in each copy of it, and not across its copies: they weigh as often as it is drawn."""

    @classmethod
    def of(cls, n: int, draws: int, *, rng: np.random.Generator) -> Weights:
        """Draw ``draws`` samples of ``n`` rows with replacement; each sums to n.

        Examples
        --------
        >>> Weights.of(5, 2, rng=np.random.default_rng(0)).counts.sum(axis=1).tolist()
        [5, 5]
        """
        return cls(rng.multinomial(n, np.full(n, 1.0 / n), size=draws))

    def __len__(self) -> int:
        return len(self.counts)
