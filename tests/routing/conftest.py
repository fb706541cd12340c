"""Pools whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.routing import Pool
from cospace.space import Space

GROUPS = ("sums", "words", "choices", "patterns")
CHANCES = np.array([[0.85, 0.45], [0.5, 0.7], [0.3, 0.15], [0.1, 0.35]])
"""Chance of each of two models to be right, by group."""


def make(seed, *, n=480, inside=0.0, groups=True):
    """A pool, and a space of its prompts that knows the group and, times ``inside``, who is right.

    Inside a group the chance of the first model goes up, and of the second down, along one hidden
    direction, which the space shows.
    """
    rng = np.random.default_rng(seed)
    which = np.arange(n) % len(GROUPS)
    hidden = rng.normal(size=n)
    odds = np.log(CHANCES / (1 - CHANCES))[which] + inside * np.outer(hidden, [1.0, -1.0])
    right = rng.random((n, 2)) < 1 / (1 + np.exp(-odds))
    ids = tuple(f"i{i}" for i in range(n))
    pool = Pool(
        ("one", "two"),
        ids,
        right,
        groups=tuple(GROUPS[i] for i in which) if groups else None,
        lengths=rng.integers(5, 90, n).astype(float),
    )
    rows = np.column_stack([3.0 * np.eye(4)[which], 2.0 * hidden]) + 0.1 * rng.normal(size=(n, 5))
    rows = rows @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    return pool, Space(rows, name="space", ids=ids)


@pytest.fixture
def simulated():
    return make
