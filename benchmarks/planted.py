"""Rows with a known kinship: for the conformance page, and at the size of language models."""

from __future__ import annotations

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]


def audit_pair(seed: int = 0, n: int = 600, d: int = 40, shared: int = 20) -> Pair:
    """Two spaces of width d with ``shared`` latent directions in common and noise of their own."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, shared)) * np.linspace(3.0, 0.5, shared)
    return tuple(
        latent @ rng.normal(size=(shared, d)) / np.sqrt(shared) + 0.4 * rng.normal(size=(n, d))
        for _ in range(2)
    )


def stress(seed: int = 0) -> dict[str, Pair]:
    """Twelve variants on which tools of this field have been seen to fail."""
    x, y = audit_pair(seed)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    rng = np.random.default_rng(seed + 1)
    twice = np.concatenate([np.arange(550), np.arange(50)])
    noise = rng.normal(size=(100, 40)), rng.normal(size=(100, 40))
    return {
        "centred": (x, y),
        "constant offset": (x + 5 * rng.normal(size=40), y - 5 * rng.normal(size=40)),
        "× 1e-3": (x * 1e-3, y * 1e-3),
        "× 1e4": (x * 1e4, y * 1e4),
        "n < d (30 rows)": (x[:30], y[:30]),
        "50 rows repeated": (x[twice], y[twice]),
        "a constant column": (np.insert(x[:, 1:], 3, 0.1, axis=1), y),
        "rank 15 of 40": (x[:, :15] @ rng.normal(size=(15, 40)), y),
        "x with itself": (x, x.copy()),
        "widths 25 and 40": (x[:, :25].copy(), y),
        "widths 40 and 25": (y, x[:, :25].copy()),
        "independent (100 rows)": noise,
    }


def language_like(n: int, d: int, seed: int = 0, dtype: type = np.float64) -> Pair:
    """Power-law latent in common, noise, a mean offset, three rogue coordinates."""
    rng = np.random.default_rng(seed)
    width = d // 2
    latent = rng.normal(size=(n, width)) * np.arange(1, width + 1) ** -0.5

    def space() -> np.ndarray:
        rows = latent @ rng.normal(size=(width, d)) / np.sqrt(width)
        rows += 0.1 * rng.normal(size=(n, d)) + 0.5 * rng.normal(size=d)
        rows[:, rng.choice(d, 3, replace=False)] *= 20.0
        return rows.astype(dtype)

    return space(), space()
