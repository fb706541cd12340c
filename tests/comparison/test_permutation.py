"""Shuffles and p-values."""

from __future__ import annotations

from itertools import permutations as arrangements

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cospace.errors import InputError
from cospace.stats import Null, Permutations, Weights


def draw(n, draws, seed=0, groups=None):
    return Permutations.of(n, draws, rng=np.random.default_rng(seed), groups=groups)


@pytest.mark.parametrize(("n", "draws"), [(2, 1), (3, 5), (4, 23), (4, 199), (5, 119)])
def test_few_rows_are_enumerated_with_the_identity(n, draws):
    found = draw(n, draws)
    assert found.exact
    assert {tuple(order) for order in found.orders} == set(arrangements(range(n)))


@pytest.mark.parametrize(("n", "draws"), [(4, 22), (5, 118), (480, 199)])
def test_many_rows_are_sampled(n, draws):
    found = draw(n, draws)
    assert not found.exact
    assert len(found) == draws
    assert all(sorted(order) == list(range(n)) for order in found.orders)


def test_arrangements_inside_groups_are_enumerated():
    found = draw(5, 11, groups=("a", "b", "a", "b", "a"))
    assert found.exact
    assert len({tuple(order) for order in found.orders}) == len(found) == 12
    for order in found.orders:
        assert set(order[[0, 2, 4]]) == {0, 2, 4}


@given(
    groups=st.lists(st.sampled_from("abc"), min_size=4, max_size=30),
    draws=st.integers(1, 30),
    seed=st.integers(0, 99),
)
def test_rows_stay_inside_their_group(groups, draws, seed):
    names = np.asarray(groups)
    if max(np.unique(names, return_counts=True)[1]) == 1:
        return
    for order in draw(len(groups), draws, seed, groups).orders:
        assert (names[order] == names).all()
        assert sorted(order) == list(range(len(groups)))


def test_the_same_seed_gives_the_same_orders():
    one, two, other = (np.asarray(draw(30, 9, seed).orders) for seed in (4, 4, 5))
    assert (one == two).all()
    assert (one != other).any()


def test_every_arrangement_is_as_likely():
    counts: dict[tuple[int, ...], int] = {}
    rng = np.random.default_rng(3)
    for _ in range(400):
        for order in Permutations.of(4, 10, rng=rng).orders:
            counts[tuple(order)] = counts.get(tuple(order), 0) + 1
    expected = 4000 / 24
    statistic = sum((c - expected) ** 2 / expected for c in counts.values())
    assert len(counts) == 24
    assert statistic < 49.7  # the 0.1 % point of chi squared with 23 degrees of freedom


def test_no_draws():
    assert len(draw(5, 0)) == 0
    assert not draw(5, 0).exact


def test_a_negative_number_is_refused():
    with pytest.raises(InputError, match=r"^-1 permutations were asked for; 0 or more are expec"):
        draw(5, -1)


def test_groups_of_one_row_are_refused():
    with pytest.raises(InputError, match=r"^Every group has one row: there is nothing to shuffle"):
        draw(3, 9, groups=("a", "b", "c"))


def test_p_of_sampled_shuffles_counts_the_value_itself():
    found = draw(9, 4)
    draws = np.array([0.1, 0.2, 0.5, 0.9])
    assert found.p(0.95, draws, "similarity") == 1 / 5
    assert found.p(0.05, draws, "distance") == 1 / 5
    assert found.p(0.05, draws, "divergence") == 1 / 5
    assert found.p(0.0, draws, "similarity") == 1.0


def test_p_is_never_zero_even_where_rounding_hides_the_identity():
    found = draw(3, 9)
    assert found.p(2.0, np.zeros(6), "similarity") == 1 / 6


def test_exact_p_is_the_share_of_all_arrangements():
    found = draw(3, 9)
    draws = np.array([0.9, 0.9, 0.1, 0.2, 0.3, 0.4])
    assert found.p(0.9, draws, "similarity") == 2 / 6
    assert found.p(0.1, draws, "distance") == 1 / 6


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_ties_count_although_rounding_parts_them(kind, single):
    away = (1e-7 if single else 1e-12) * (-1 if kind == "similarity" else 1)
    found = draw(9, 3)
    draws = np.array([0.3 + away, 0.3, 0.3 - away])
    assert found.p(0.3, draws, kind, single=single) == 1.0


def test_ties_are_relative_to_the_size_of_the_values():
    found = draw(9, 3)
    draws = np.array([1e-8, 2e-8, 3e-8])
    assert found.p(5e-9, draws, "distance") == 1 / 4
    assert found.p(2.5e6, np.array([1.0, 2.0, 3.0]) * 1e6, "similarity") == 2 / 4


def test_level_and_spread_of_a_null():
    null = Null(np.array([1.0, 3.0]))
    assert (null.mean, null.sd) == (2.0, 1.0)


def test_bootstrap_weights():
    weights = Weights.of(40, 300, rng=np.random.default_rng(0))
    again = Weights.of(40, 300, rng=np.random.default_rng(0))
    assert len(weights) == 300
    assert (weights.counts == again.counts).all()
    assert (weights.counts.sum(axis=1) == 40).all()
    assert abs(weights.counts.var() - (1 - 1 / 40)) < 0.05  # multinomial: n p (1 - p)
    assert len(Weights.of(40, 0, rng=np.random.default_rng(0))) == 0
