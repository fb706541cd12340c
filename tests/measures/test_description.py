from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures import TRANSFORMS, description
from cospace.measures.description import (
    DESCRIPTIONS,
    effective_rank,
    local_pca_dimension,
    participation_ratio,
    two_nn_dimension,
)


def transformed(name, x, rng):
    d = x.shape[1]
    turn, other = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    return {
        "translation": x + rng.normal(size=d),
        "scaling": 3.0 * x,
        "permutation": np.roll(x, 1, axis=1),
        "orthogonal": x @ turn,
        "invertible": x @ (turn * np.logspace(-1, 1, d)) @ other,
    }[name]


@pytest.mark.parametrize("description", DESCRIPTIONS, ids=lambda d: d.name)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_claimed_invariances_hold_and_others_visibly_do_not(description, name):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 6)) * np.linspace(1, 2, 6)
    changed = description(transformed(name, x, rng))
    claimed = name in description.invariant_to or name == "permutation"
    assert (abs(changed - description(x)) < 1e-8) == claimed


@pytest.mark.parametrize("description", DESCRIPTIONS, ids=lambda d: d.name)
def test_bounds_rows_and_precision(description):
    rng = np.random.default_rng(0)
    low, _ = description.bounds
    for x in (
        rng.normal(size=(80, 6)),
        rng.normal(size=(60, 90)),
        rng.normal(size=(80, 1)),
        rng.normal(size=(80, 6)) * 1e-30,
        rng.normal(size=(80, 6)) * 1e30 + 1e32,
    ):
        value = description(x)
        assert type(value) is float
        assert low <= value <= min(len(x) - 1, x.shape[1]) + 1e-9 or "TwoNN" in description.title
        assert description(x[rng.permutation(len(x))]) == pytest.approx(value, abs=1e-9)
    x = rng.normal(size=(80, 6))
    assert description(x.astype(np.float32)) == pytest.approx(description(x), rel=1e-4)


# Ranks ------------------------------------------------------------------------------------------


def test_ranks_equal_their_formulas():
    rng = np.random.default_rng(0)
    for shape in ((50, 8), (20, 40)):
        x = rng.normal(size=shape) * np.logspace(0, -2, shape[1])
        s = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
        s = s[s > 1e-12 * s[0]]
        p = s / s.sum()
        assert effective_rank(x) == pytest.approx(np.prod(p**-p), rel=1e-10)
        variances = s**2
        expected = variances.sum() ** 2 / np.sum(variances**2)
        assert participation_ratio(x) == pytest.approx(expected, rel=1e-10)
        assert 1 <= participation_ratio(x) <= effective_rank(x) <= min(shape)


def test_equal_directions_count_in_full():
    x = np.vstack([np.eye(7), -np.eye(7)])
    assert effective_rank(x) == pytest.approx(7.0)
    assert participation_ratio(x) == pytest.approx(7.0)
    assert effective_rank(x[:, :1]) == pytest.approx(1.0)
    assert participation_ratio(np.outer(np.arange(9.0), [1.0, 3.0])) == pytest.approx(1.0)


def test_one_direction_that_rules():
    x = np.random.default_rng(0).normal(size=(500, 50)) * ([70.0] + [1.0] * 49)
    assert participation_ratio(x) < 1.05


# TwoNN ------------------------------------------------------------------------------------------


def test_two_nn_by_hand():
    """Fault: an empirical distribution that starts at 0 instead of 1 / n.

    Rows 0, 1, 3, 7, 15 on a line: mu = 3/1, 2/1, 3/2, 6/4, 12/8. Kept are the four least, against
    1/5, 2/5, 3/5, 4/5.
    """
    mu = [1.5, 1.5, 1.5, 2.0]
    f = [0.2, 0.4, 0.6, 0.8]
    up = sum(-math.log(1 - b) * math.log(a) for a, b in zip(mu, f, strict=True))
    expected = up / sum(math.log(a) ** 2 for a in mu)
    x = np.array([[0.0], [1.0], [3.0], [7.0], [15.0]])
    assert two_nn_dimension(x) == pytest.approx(expected, rel=1e-12)
    assert two_nn_dimension(x, discard=0.0) == pytest.approx(expected, rel=1e-12)
    half = (-math.log(0.8) - math.log(0.6)) * math.log(1.5) / (2 * math.log(1.5) ** 2)
    assert two_nn_dimension(x, discard=0.5) == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize(("dimension", "least"), [(1, 0.9), (2, 1.8), (5, 4.2), (10, 7.5)])
def test_two_nn_finds_the_dimension(dimension, least):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(1500, dimension)) @ rng.normal(size=(dimension, 30))
    assert least < two_nn_dimension(x) < 1.1 * dimension


def test_repeated_rows_are_counted_once():
    """Fault: dimension 0, or another one, because a sentence occurs twice."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6)) + 100.0
    for repeats in (np.arange(200), np.arange(10), np.zeros(150, dtype=int)):
        y = np.vstack([x, x[repeats]])
        assert two_nn_dimension(y) == pytest.approx(two_nn_dimension(x), rel=1e-9)
        assert local_pca_dimension(y, k=20) == pytest.approx(local_pca_dimension(x, k=20))


def test_rows_that_repeat_to_rounding_are_counted_once():
    """Texts that repeat in another batch come back with other last digits."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(300, 5)) + 3.0).astype(np.float32)
    nearly = [x[:40] * (1 + np.float32(i) * np.float32(1.2e-7)) for i in (1, 2, 3)]
    y = np.vstack([x, *nearly])
    assert two_nn_dimension(y) == pytest.approx(two_nn_dimension(x), rel=1e-4)
    assert local_pca_dimension(y, k=20) == pytest.approx(local_pca_dimension(x, k=20), rel=1e-2)


# Local PCA --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "d"), [(10, 4), (12, 30)])
@pytest.mark.parametrize("share", [0.5, 0.95])
def test_local_pca_is_scikit_learns(k, d, share):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)) @ rng.normal(size=(3, d)) + 0.3 * rng.normal(size=(60, d))
    index = NearestNeighbors(n_neighbors=k).fit(x).kneighbors()[1]
    expected = [
        1 + np.sum(np.cumsum(PCA().fit(x[near]).explained_variance_ratio_) < share)
        for near in index
    ]
    assert local_pca_dimension(x, k=k, share=share) == pytest.approx(np.mean(expected))


def test_local_pca_finds_flat_manifolds(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20))
    assert local_pca_dimension(x, k=30, share=1.0) == 3.0
    expected = local_pca_dimension(x, k=30)
    monkeypatch.setattr(description, "_BLOCK_BYTES", 8 * 30 * 50 * 7)
    assert local_pca_dimension(x, k=30) == expected


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x: two_nn_dimension(x, discard=1.0),
            InputError,
            "The share to discard is 1.0; at least 0 and below 1 is needed",
        ),
        (
            lambda x: two_nn_dimension(np.repeat(x[:3], 5, axis=0)),
            UndefinedMeasureError,
            "TwoNN needs at least 4 different rows, got 3: repeats say nothing about dimension",
        ),
        (
            lambda x: two_nn_dimension(np.arange(10.0)[:, None] % 10, discard=0.5),
            UndefinedMeasureError,
            "Every row is as far from its second neighbour as from its first",
        ),
        (
            lambda x: local_pca_dimension(x, share=0.0),
            InputError,
            "The share of variance is 0.0; above 0 and at most 1 is needed",
        ),
        (
            lambda x: local_pca_dimension(x, k=1),
            InputError,
            "1 neighbours were asked for; at least 2 are needed",
        ),
        (
            lambda x: local_pca_dimension(x[:20]),
            UndefinedMeasureError,
            "50 neighbours of 20 rows are all or nearly all of them",
        ),
        (lambda x: effective_rank(0 * x), UndefinedMeasureError, "All rows are the same"),
        (lambda x: participation_ratio(0 * x), UndefinedMeasureError, "All rows are the same"),
        (lambda x: local_pca_dimension(0 * x), UndefinedMeasureError, "All rows are the same"),
    ],
)
def test_refusals(pair, call, error, text):
    with pytest.raises(error, match=text):
        call(pair()[0])
