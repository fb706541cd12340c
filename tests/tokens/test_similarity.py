"""Global geometry against plain matrices in double precision."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import ortho_group, rankdata, spearmanr

from cospace.errors import RowMismatchError, UndefinedMeasureError
from cospace.stats.closed_form import Invariants, permutation_moments
from cospace.tokens.ranks import average_ranks
from cospace.tokens.similarity import Cosines, pearson, spearman


def plain(rows):
    """Cosines of all pairs i < j."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return (unit @ unit.T)[np.triu_indices(len(rows), 1)]


def pair(seed=0, m=60, offset=0.0):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(m, 4))
    return [shared @ rng.normal(size=(4, d)) + rng.normal(size=(m, d)) + offset for d in (7, 12)]


@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_correlations_are_those_of_the_matrices(offset):
    x, y = pair(offset=offset)
    a, b = Cosines.of(x), Cosines.of(y)
    expected = np.corrcoef(plain(x), plain(y))[0, 1]
    assert pearson(a, b).value == pytest.approx(expected, abs=1e-11)
    assert pearson(b, a).value == pytest.approx(expected, abs=1e-11)
    assert spearman(a, b).value == pytest.approx(spearmanr(plain(x), plain(y))[0], abs=1e-12)
    assert spearman(a, b).error is None
    assert a.mean == pytest.approx(plain(x).mean(), abs=1e-14)


def test_a_level_that_all_cosines_share_costs_no_digits():
    """Fault: sums of squares of cosines near 1, whose difference is rounding."""
    from mpmath import mp, mpf

    rng = np.random.default_rng(1)
    x = rng.normal(size=(9, 3)) + 1e3
    y = rng.normal(size=(9, 4)) + 1e3
    mp.dps = 40

    def cosines(rows):
        rows = [[mpf(float(v)) for v in row] for row in rows]
        sizes = [mp.sqrt(sum(v * v for v in row)) for row in rows]
        return [
            sum(p * q for p, q in zip(rows[i], rows[j], strict=True)) / sizes[i] / sizes[j]
            for i in range(9)
            for j in range(i + 1, 9)
        ]

    one, other = ([c - sum(cs) / len(cs) for c in cs] for cs in map(cosines, (x, y)))
    cross = sum(p * q for p, q in zip(one, other, strict=True))
    expected = cross / mp.sqrt(sum(p * p for p in one) * sum(q * q for q in other))
    assert pearson(Cosines.of(x), Cosines.of(y)).value == pytest.approx(float(expected), abs=1e-8)


def test_a_rotated_and_rescaled_copy_is_one():
    x = np.random.default_rng(2).normal(size=(500, 20)).astype(np.float32)
    copy = 7.0 * x.astype(np.float64) @ ortho_group.rvs(20, random_state=3)
    a, b = Cosines.of(x), Cosines.of(copy)
    for found in (pearson(a, b), spearman(a, b), spearman(a, b, exact=100)):
        assert found.value == pytest.approx(1.0, abs=1e-9)
        assert found.p_at_most < 1e-3
    assert spearman(a, b, exact=100).error == pytest.approx(0.0, abs=1e-9)


def test_the_null_is_that_of_all_pairings():
    x, y = (rows[:7] for rows in pair(seed=4))
    a, b = Cosines.of(x), Cosines.of(y)
    values = [pearson(a, Cosines.of(y[list(order)])).value for order in permutations(range(7))]
    assert np.mean(values) == pytest.approx(0.0, abs=1e-12)
    assert np.std(values) == pytest.approx(pearson(a, b).null_sd, abs=1e-12)
    value = pearson(a, b)
    assert np.mean(np.asarray(values) >= value.value - 1e-12) <= value.p_at_most + 1e-12


def test_the_null_is_that_of_the_closed_form():
    x, y = pair(seed=5, offset=1.0)
    made = []
    for rows in (x, y):
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        rest = unit @ unit.T
        np.fill_diagonal(rest, 0.0)
        off = rest.sum() / (60 * 59)
        rest -= off * (1 - np.eye(60))
        made.append(Invariants.of(rest / np.linalg.norm(rest)))
    expected = permutation_moments(*made)
    found = pearson(Cosines.of(x), Cosines.of(y))
    assert found.null_sd == pytest.approx(expected.sd, rel=1e-10)


def test_independent_tokens_give_their_null():
    rng = np.random.default_rng(6)
    inside = 0
    for _ in range(40):
        found = pearson(Cosines.of(rng.normal(size=(80, 9))), Cosines.of(rng.normal(size=(80, 9))))
        inside += abs(found.value) < 2 * found.null_sd
    assert 33 <= inside <= 40
    assert found.p_at_most > 0.1


def test_sampled_pairs_estimate_all_pairs_within_their_error(monkeypatch):
    monkeypatch.setattr("cospace.tokens.similarity._PAIRS", 200_000)
    x, y = pair(seed=7, m=1500)
    a, b = Cosines.of(x), Cosines.of(y)
    whole = spearman(a, b)
    misses = [
        (found.value - whole.value) / found.error
        for found in (spearman(a, b, exact=100, rng=seed) for seed in range(10))
    ]
    assert whole.error is None
    assert np.abs(misses).max() < 4.5
    assert np.mean(np.square(misses)) < 4
    assert spearman(a, b, exact=100, rng=3) == spearman(a, b, exact=100, rng=3)


def test_what_cannot_be_compared_is_refused():
    x, _ = pair()
    zero = np.where(np.arange(60)[:, None] == 5, 0.0, x)
    with pytest.raises(
        UndefinedMeasureError, match="Row 5 of those compared is zero: it has no direction"
    ):
        Cosines.of(zero)
    with pytest.raises(
        UndefinedMeasureError, match=r"Token 1005 of m is zero: .*; leave it out of both models"
    ):
        Cosines.of(zero, named=lambda place: f"Token {1000 + place} of m")
    with pytest.raises(UndefinedMeasureError, match=r"3 tokens have too few pairs .* at least 4"):
        Cosines.of(x[:3])
    with pytest.raises(UndefinedMeasureError, match="All pairs have the same cosine"):
        Cosines.of(np.eye(6))
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(300, 300)))[0]
    with pytest.raises(UndefinedMeasureError, match="All pairs have the same cosine"):
        Cosines.of(turned)
    with pytest.raises(UndefinedMeasureError, match="All pairs have the same cosine"):
        Cosines.of(np.ones((6, 2)))
    for correlation in (pearson, spearman):
        with pytest.raises(RowMismatchError, match="60 and 50 tokens cannot be compared"):
            correlation(Cosines.of(x), Cosines.of(x[:50]))


def test_memory_that_is_written_over_leaves_nothing_behind():
    x, y = pair(3)
    room = Cosines.of(100 * x + 5).rows
    again = Cosines.of(x, room)
    assert again.rows is room
    assert pearson(again, Cosines.of(y)) == pearson(Cosines.of(x), Cosines.of(y))


def test_ranks_are_those_of_scipy():
    rng = np.random.default_rng(4)
    for values in (rng.normal(size=300), rng.integers(0, 9, size=300), np.ones(3), [2.0]):
        np.testing.assert_array_equal(average_ranks(values), rankdata(values))
