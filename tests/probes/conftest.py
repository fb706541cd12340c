"""Spaces with a known relation, and labels that one of them explains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import cospace as cs


class Pair(NamedTuple):
    target: cs.Space
    source: cs.Space
    labels: dict[str, str]
    affine: tuple[np.ndarray, np.ndarray]


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.fixture(scope="session")
def pair() -> Pair:
    """A source that holds the target up to noise, 240 rows of width 8 and 6, three classes."""
    rng = np.random.default_rng(7)
    n = 240
    target = rng.standard_normal((n, 8)) * np.linspace(3.0, 0.5, 8) + 5.0
    source = target @ rng.standard_normal((8, 6)) + 0.3 * rng.standard_normal((n, 6))
    score = (target - 5.0) @ rng.standard_normal((8, 3)) + rng.gumbel(size=(n, 3))
    ids = tuple(f"t{i:03d}" for i in range(n))
    labels = {name: "abc"[k] for name, k in zip(ids, score.argmax(axis=1), strict=True)}
    design = np.column_stack([source, np.ones(n)])
    fit = np.linalg.lstsq(design[:180], target[:180], rcond=None)[0]
    return Pair(
        cs.Space(target, ids=ids, name="target model"),
        cs.Space(source, ids=ids, name="source model"),
        labels,
        (fit[:-1], fit[-1]),
    )


@pytest.fixture(scope="session")
def split(pair: Pair) -> cs.probes.Split:
    ids = pair.target.ids or ()
    return cs.probes.Split(ids[:180], ids[180:])
