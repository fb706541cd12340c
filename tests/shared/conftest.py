"""Planted spaces: one latent structure, turned and noised for every model."""

from __future__ import annotations

import numpy as np
import pytest


def rotation(rng, d):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def _planted(seed=0, *, models=4, n=200, k=6, widths=None, noise=0.1):
    """Models of given widths: latent (n, k) times a turn, an offset, and noise of their own."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, k)) * np.linspace(2.0, 0.7, k)
    found = {}
    for m in range(models):
        d = (widths or [k] * models)[m]
        turn = rotation(rng, d)[:k]
        found[f"m{m}"] = latent @ turn + noise * rng.normal(size=(n, d)) + 5.0 * rng.normal(size=d)
    return found


@pytest.fixture(scope="session")
def planted():
    """Make planted spaces, see ``_planted``."""
    return _planted


@pytest.fixture(scope="module")
def spaces():
    return _planted(widths=[6, 9, 12, 7])
