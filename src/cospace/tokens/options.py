"""How token embeddings are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from cospace.errors import InputError
from cospace.tokens.local import VARIANCE
from cospace.tokens.neighbors import Metric

__all__ = ["LEAST", "TokenOptions"]

LEAST = 4
"""Fewest tokens whose cosines can be compared."""
_SAMPLE = 20_000


@dataclass(frozen=True)
class TokenOptions:
    """How token embeddings are compared; what is not stated in the literature is an option here."""

    sample: int | None = None
    """Shared tokens whose cosines are compared in one draw; all of them where there are fewer. None
    for 20,000, or for all where the draws would look at as many."""
    draws: int = 3
    """Draws, each with a seed of its own."""
    tokens: int | None = None
    """Shared tokens whose neighbours are compared: a random sample; None for all, 0 for none."""
    k: int = 10
    """Neighbours from which a token is woven."""
    reg: float = 1e-3
    """Regularisation of the weights, relative to the trace."""
    metric: Metric = "euclidean"
    """Metric of the neighbours."""
    among: Literal["named", "all"] = "named"
    """Rows among which neighbours are searched: those that stand for a token which is not reserved,
    or all."""
    dimension_tokens: int = 500
    """Shared tokens, a random sample, whose intrinsic dimension is compared; 0 for none."""
    dimension_k: tuple[int, ...] = (50, 100, 200)
    """Numbers of neighbours whose principal components are counted."""
    share: float = VARIANCE
    """Share of the neighbours' variance that the dimension holds."""
    rng: int = 0
    """Seed."""

    def __post_init__(self) -> None:
        for name, least in (("sample", LEAST), ("draws", 1), ("k", 1), ("rng", 0)):
            if getattr(self, name) is not None and getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; {least} or more is expected.")
        for name in ("tokens", "dimension_tokens"):
            if (getattr(self, name) or 0) < 0:
                raise InputError(f"{name} is {getattr(self, name)}; 0 or more is expected.")
        if not (math.isfinite(self.reg) and self.reg > 0):
            raise InputError(f"reg is {self.reg}; a number above 0 is expected.")
        if not 0 < self.share < 1:
            raise InputError(f"share is {self.share}; a number between 0 and 1 is expected.")
        if self.metric not in ("euclidean", "cosine"):
            raise InputError(f"metric is {self.metric!r}; 'euclidean' or 'cosine' is expected.")
        if self.among not in ("named", "all"):
            raise InputError(f"among is {self.among!r}; 'named' or 'all' is expected.")
        if self.dimension_tokens and min(self.dimension_k, default=0) < 2:
            raise InputError(
                f"dimension_k is {list(self.dimension_k)}; numbers of 2 or more are expected."
            )

    def sampled(self, n: int) -> tuple[int, int]:
        """Tokens, of n, in one draw whose cosines are compared, and the number of draws."""
        if self.sample is None:
            return (n, 1) if n <= _SAMPLE * self.draws else (_SAMPLE, self.draws)
        return (n, 1) if n <= self.sample else (self.sample, self.draws)
