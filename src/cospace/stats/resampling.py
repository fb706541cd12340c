"""Bootstrap over rows, as weights: how often each row is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
        """Draw ``draws`` samples of ``n`` rows with replacement."""
        return cls(rng.multinomial(n, np.full(n, 1.0 / n), size=draws))

    def __len__(self) -> int:
        return len(self.counts)

    def roots(self, draw: int, form: Literal["triangle", "square"]) -> npt.NDArray[np.float32]:
        """Square root of the weight of each entry of a relation in one sample.

        Entry (i, j) of a triangle weighs w_i w_j, so that pairs of copies of one row, which are
        on the diagonal, must carry nothing; entry (i, j) of a square weighs w_i.
        """
        root = np.sqrt(self.counts[draw]).astype(np.float32)
        n = len(root)
        if form == "square":
            return np.repeat(root, n)
        rows, columns = np.triu_indices(n)
        return np.asarray(root[rows] * root[columns])
