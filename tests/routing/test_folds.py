"""Folds are alike, and part no cluster."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from cospace.errors import InputError
from cospace.routing.folds import deal


def test_every_stratum_is_spread_evenly():
    strata = ["a"] * 23 + ["b"] * 11 + ["c"] * 2
    fold = deal(strata, 5, rng=np.random.default_rng(0))
    for name in "abc":
        sizes = Counter(fold[[s == name for s in strata]].tolist())
        assert max(sizes[f] for f in range(5)) - min(sizes[f] for f in range(5)) <= 1
    assert max(Counter(fold.tolist()).values()) <= 9


def test_clusters_stay_whole():
    rng = np.random.default_rng(1)
    clusters = rng.integers(30, size=200).tolist()
    strata = rng.integers(3, size=200).tolist()
    fold = deal(strata, 4, clusters=clusters, rng=rng)
    for name in set(clusters):
        assert len({f for f, c in zip(fold.tolist(), clusters, strict=True) if c == name}) == 1
    sizes = Counter(fold.tolist())
    assert max(sizes.values()) - min(sizes.values()) <= 20


@pytest.mark.parametrize("seed", range(20))
def test_no_fold_is_empty(seed):
    rng = np.random.default_rng(seed)
    clusters = [0] * 50 + [1] * 40 + [2, 3]
    fold = deal(list(range(92)), 4, clusters=clusters, rng=rng)
    assert set(fold.tolist()) == {0, 1, 2, 3}
    single = deal([0, 1, 2, 3], 4, rng=rng)
    assert sorted(single.tolist()) == [0, 1, 2, 3]


def test_too_few_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="2 clusters of items cannot be dealt into 3 folds"):
        deal("aaaa", 3, clusters=[0, 0, 1, 1], rng=rng)
    with pytest.raises(InputError, match="4 items cannot be dealt into 5 folds"):
        deal("aaaa", 5, rng=rng)
    with pytest.raises(InputError, match=r"folds is 2\.5; a whole number"):
        deal("aaaa", 2.5, rng=rng)
