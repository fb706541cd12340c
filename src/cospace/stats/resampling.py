"""Bootstrap over rows, as weights: how often each row is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Weights"]


@dataclass(frozen=True, eq=False)
class Weights:
    """Multiplicities of the rows in bootstrap samples, shape (draws, n)."""

    counts: npt.NDArray[np.int64]
    """How often each row is drawn; each sample sums to n."""

    @classmethod
    def of(cls, n: int, draws: int, *, rng: np.random.Generator) -> Weights:
        """Draw ``draws`` samples of ``n`` rows with replacement.

        Examples
        --------
        >>> Weights.of(5, 2, rng=np.random.default_rng(0)).counts.sum(axis=1).tolist()
        [5, 5]
        """
        return cls(rng.multinomial(n, np.full(n, 1.0 / n), size=draws))

    def __len__(self) -> int:
        return len(self.counts)
