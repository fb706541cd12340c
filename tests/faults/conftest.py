"""Made-up rows of two spaces."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def pair():
    """A function: rows of two spaces that share a signal of four dimensions, far from centred."""

    def make(seed=0, n=60, dx=5, dy=7, noise=0.7):
        rng = np.random.default_rng(seed)
        shared = rng.normal(size=(n, 4)) * [3.0, 2.0, 1.0, 0.5]
        return tuple(
            shared @ rng.normal(size=(4, d)) + noise * rng.normal(size=(n, d)) + rng.normal(size=d)
            for d in (dx, dy)
        )

    return make
