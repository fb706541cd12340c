"""Shuffled inner products equal those in float64, whatever the number of spaces, rows and cores."""

from __future__ import annotations

import numpy as np
import pytest

from cospace import _threads
from cospace.comparison import planes
from cospace.comparison.planes import Planes
from cospace.comparison.stack import Dense
from cospace.stats import Permutations
from cospace.summaries import Relation


def quiet():
    pass


def matrices(n, count, *, symmetric=True, level=0.0, seed=0):
    """Unit matrices with a level and with a larger one on the diagonal."""
    rng = np.random.default_rng(seed)
    made = rng.standard_normal((count, n, n))
    if symmetric:
        made = made + made.transpose(0, 2, 1)
    made += level * np.arange(1, count + 1)[:, None, None]
    made += 2 * level * np.eye(n)
    return made / np.linalg.norm(made, axis=(1, 2), keepdims=True)


def dense(made, *, symmetric=True):
    form = Relation.symmetric(made[0], interval="none") if symmetric else Relation.directed(made[0])
    take = (lambda a: Relation.symmetric(a, interval="none")) if symmetric else Relation.directed
    return Dense(np.stack([take(a).vector for a in made], axis=1), form, (None,) * len(made))


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("n", [3, 64, 131])
@pytest.mark.parametrize("count", [2, 3, 4, 6, 13])
def test_equal_the_sum_over_the_entries(count, n, symmetric):
    made = matrices(n, count, symmetric=symmetric)
    drawn = Permutations.of(n, 11, rng=np.random.default_rng(1))
    draws = dense(made, symmetric=symmetric).null(drawn, quiet)
    for at, order in enumerate(drawn.orders):
        moved = made[:, order][:, :, order]
        for i in range(count):
            assert np.isnan(draws[at, i, i])
            for j in range(i + 1, count):
                expected = float(np.sum(made[i] * moved[j]))
                assert draws[at, i, j] == pytest.approx(expected, abs=5e-7)
                assert draws[at, j, i] == draws[at, i, j]


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_level_a_million_times_the_spread_is_no_rounding(symmetric):
    made = matrices(40, 3, symmetric=symmetric, level=1e6)
    drawn = Permutations.of(40, 5, rng=np.random.default_rng(1))
    draws = dense(made, symmetric=symmetric).null(drawn, quiet)
    for at, order in enumerate(drawn.orders):
        expected = float(np.sum(made[0] * made[2][np.ix_(order, order)]))
        assert draws[at, 0, 2] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("entries", [1, 700, 10**9])
def test_the_size_of_a_block_does_not_show(monkeypatch, entries):
    made = dense(matrices(50, 4))
    drawn = Permutations.of(50, 3, rng=np.random.default_rng(1))
    expected = made.null(drawn, quiet)
    monkeypatch.setattr(planes, "_ENTRIES", entries)
    np.testing.assert_allclose(made.null(drawn, quiet), expected, atol=5e-7)


def test_the_same_bytes_whatever_the_number_of_cores_and_draws(monkeypatch):
    made = dense(matrices(90, 5))
    drawn = Permutations.of(90, 19, rng=np.random.default_rng(1))
    found = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(_threads, "free_cores", lambda cores=cores: cores)
        found.append(made.null(drawn, quiet).tobytes())
    assert found[0] == found[1] == found[2]
    one = made.null(Permutations(drawn.orders[7:8], exact=False), quiet)
    assert one.tobytes() == made.null(drawn, quiet)[7:8].tobytes()


def test_every_shuffle_is_told():
    seen = []
    drawn = Permutations.of(30, 19, rng=np.random.default_rng(1))
    dense(matrices(30, 2)).null(drawn, lambda: seen.append(None))
    assert len(seen) == 19


def test_one_space_and_no_shuffles():
    few = Permutations.of(30, 2, rng=np.random.default_rng(1))
    none = Permutations.of(30, 0, rng=np.random.default_rng(1))
    assert np.isnan(dense(matrices(30, 1)).null(few, quiet)).all()
    assert dense(matrices(30, 3)).null(none, quiet).shape == (0, 3, 3)


def test_planes_are_the_matrices_less_their_means():
    made = matrices(20, 3, level=1.0)
    stacked = dense(made)
    found = Planes.of(stacked.columns, stacked.first)
    off = ~np.eye(20, dtype=bool)
    for at, table in enumerate([found.first, found.later[:, :, 0], found.later[:, :, 1]]):
        expected = np.where(off, made[at] - made[at][off].mean(), 0.0)
        np.fill_diagonal(expected, made[at].diagonal() - made[at].diagonal().mean())
        np.testing.assert_allclose(table, expected, atol=1e-8)
