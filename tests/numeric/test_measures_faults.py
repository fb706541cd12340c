"""One test for each kind of fault that users of such measures have met."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cospace.errors import UndefinedMeasureError
from cospace.measures import (
    CATALOGUE,
    debiased_cka,
    find,
    heldout_r2,
    linear_cka,
    mean_cca,
    mutual_knn,
    predictive_r2,
    procrustes_distance,
    procrustes_similarity,
    pwcca,
    r2_cca,
    rsa,
    svcca,
)
from cospace.summaries import Factor, Neighbors, Overlap

CCA_FAMILY = (mean_cca, svcca, pwcca, r2_cca)
SECOND_ORDER = (linear_cka, debiased_cka, procrustes_similarity, *CCA_FAMILY, predictive_r2)
ALL = pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)


def pair(seed=0, n=80, dx=6, dy=9, noise=0.7):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 4)) * [3, 2, 1, 1]
    return tuple(
        shared @ rng.normal(size=(4, d)) + noise * rng.normal(size=(n, d)) for d in (dx, dy)
    )


def rotation(d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


X, Y = pair()


# NaN, impossible values ------------------------------------------------------------------------------


@ALL
def test_values_stay_within_bounds_to_the_last_bit(measure):
    """Fault: CKA, CCA and the like of 1.0000000000000002 or -2e-8."""
    low, high = measure.bounds
    for seed in range(20):
        x = np.random.default_rng(seed).normal(size=(40, 5)) * 10.0 ** (seed - 10)
        for y in (x, x @ rotation(5), -x, 3 * x + x[0]):
            value = measure(x, y)
            assert low is None or value >= low
            assert high is None or value <= high


@pytest.mark.parametrize("n", [2, 3])
def test_a_small_last_batch(n):
    """Fault: NaN from unbiased HSIC of fewer than 4 rows."""
    for x, y in ((X[:n, :2], Y[:n, :2]), (X[:n], Y[:n])):
        with pytest.raises(
            UndefinedMeasureError, match=f"Debiased HSIC needs at least 4 rows, got {n}"
        ):
            debiased_cka(x, y)
    assert np.isfinite(debiased_cka(X[:4], Y[:4]))
    assert np.isfinite(debiased_cka(X[:4, :2], Y[:4, :2]))


def test_negative_unbiased_hsic_is_kept():
    """Fault: a negative HSIC under a square root, or clipped."""
    rng = np.random.default_rng(0)
    values = [debiased_cka(*rng.normal(size=(2, 20, 6))) for _ in range(50)]
    assert np.isfinite(values).all()
    assert sum(v < 0 for v in values) > 10


@pytest.mark.parametrize(
    "rows", [np.eye(9), np.vstack([np.full((8, 2), 0.1), [[0.5, 0.3]]])], ids=["equal", "one"]
)
def test_a_self_hsic_that_is_not_positive_is_explained(rows):
    for x, y in ((rows, X[:9]), (X[:9], rows), (rows, X[:9, :2]), (rows, rows)):
        with pytest.raises(
            UndefinedMeasureError,
            match="HSIC of a space with itself is not positive: too few distinct rows to compare",
        ):
            debiased_cka(x, y)


def test_what_rounding_leaves_of_a_self_hsic_is_not_compared():
    rng = np.random.default_rng(19)
    for _ in range(30):
        rows = np.tile(rng.normal(size=3), (40, 1))
        rows[7] = rng.normal(size=3)
        with pytest.raises(UndefinedMeasureError, match="with itself is not positive"):
            debiased_cka(rows, X[:40, :3])


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e9])
@ALL
def test_constant_rows_are_refused(measure, value):
    """Fault: what rounding leaves of constant rows is compared, and the CCA of it is 1."""
    constant = np.full((80, 3), value)
    for x, y in ((constant, Y), (X, constant), (constant, constant)):
        with pytest.raises(
            UndefinedMeasureError,
            match=r"All rows |all coordinates equal|Row 0 is zero: it has no direction",
        ):
            measure(x, y)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (linear_cka, "All rows of the {} are the same: there is nothing to compare"),
        (heldout_r2, "All rows of the {} are the same: there is nothing to predict"),
    ],
)
def test_the_constant_side_is_named(function, text):
    constant = np.full((80, 3), 0.1)
    with pytest.raises(UndefinedMeasureError, match=text.format("source")):
        function(constant, Y)
    with pytest.raises(UndefinedMeasureError, match=text.format("target")):
        function(X, constant)


# Scale, offset, precision ------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-30, 1e-3, 1e4, 1e30])
@pytest.mark.parametrize(
    "measure",
    [m for m in CATALOGUE if m.invariant("scaling", "source")],
    ids=lambda m: m.name,
)
def test_scale_changes_nothing(measure, factor):
    """Fault: CKA of 0.000 after x 1e4 in float32, 0.027 instead of 0.633 after x 1e-3."""
    x, y = X.astype(np.float32), Y.astype(np.float32)
    scaled = x * np.float32(factor), y * np.float32(factor)
    assert measure(*scaled) == pytest.approx(measure(x, y), abs=1e-6)
    doubles = X * factor, Y * factor
    assert measure(*doubles) == pytest.approx(measure(X, Y), abs=1e-9)


@pytest.mark.parametrize("factor", [1e-90, 1e90])
def test_fourth_powers_beyond_float64(factor):
    for function in (linear_cka, debiased_cka, procrustes_similarity, procrustes_distance):
        assert function(X * factor, Y) == pytest.approx(function(X, Y), abs=1e-12)


def test_cka_is_homogeneous_of_degree_zero():
    """Fault: a denominator without its square root."""
    for function in (linear_cka, debiased_cka):
        assert function(7 * X, Y / 3) == pytest.approx(function(X, Y), abs=1e-13)


@pytest.mark.parametrize("function", [*SECOND_ORDER, procrustes_distance, heldout_r2])
def test_a_constant_offset_changes_nothing(function):
    """Fault: PWCCA of uncentred activations moves from 0.889 to 0.846 when a constant is added."""
    rng = np.random.default_rng(1)
    x, y = X + 50 * rng.normal(size=6), Y - 30 * rng.normal(size=9)
    assert function(x, y) == pytest.approx(function(X, Y), abs=1e-10)


def offset_rows(n=600, d=64):
    rng = np.random.default_rng(2)
    return (100 + 0.01 * rng.normal(size=(n, d))).astype(np.float32)


def test_neighbours_survive_a_large_common_offset():
    """Fault: float32 distances of rows like 100 +- 0.01 are zero or wrong by a factor of 8."""
    x = offset_rows()
    exact = x.astype(np.longdouble)
    exact /= np.sqrt((exact**2).sum(axis=1, keepdims=True))
    cosine = exact @ exact.T
    np.fill_diagonal(cosine, -2)
    expected = np.sort(np.argsort(-cosine, axis=1)[:, :10], axis=1)
    np.testing.assert_array_equal(Neighbors.of(x, 10).index, expected)


def test_second_order_measures_survive_a_large_common_offset():
    x, y = offset_rows(d=12), offset_rows(d=12)[:, ::-1] * 2
    y = y + offset_rows(d=13)[:, 1:]
    free = [(a.astype(float) - 100 * (1, 3)[i]).copy() for i, a in enumerate((x, y))]
    for function in SECOND_ORDER:
        assert function(x, y) == pytest.approx(function(*free), abs=1e-10)


def test_one_huge_nearly_constant_coordinate():
    """Fault: rogue coordinates around 17,000 wreck uncentred sums."""
    rng = np.random.default_rng(3)
    x = np.column_stack([17_371 + rng.normal(size=80), X])
    expected = np.column_stack([x[:, 0] - 17_371, X])
    for function in SECOND_ORDER:
        assert function(x, Y) == pytest.approx(function(expected, Y), abs=1e-9)


def test_one_massive_row_by_both_routes_of_debiased_cka():
    """Fault: an attention sink among the rows swamps the sums that debias."""
    x, y = X.copy(), Y.copy()
    x[3] *= 1e4
    wide = np.hstack([x, np.zeros((80, 100))])
    assert debiased_cka(x, y) == pytest.approx(debiased_cka(wide, y), abs=1e-8)


# Few rows, deficient ranks ------------------------------------------------------------------------------


@pytest.mark.parametrize("function", CCA_FAMILY)
def test_cca_of_too_few_rows_is_refused(function):
    """Fault: n <= d makes every canonical correlation 1, a distance of -2.5e-8."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(40, 30)), rng.normal(size=(40, 20))
    with pytest.raises(
        UndefinedMeasureError,
        match=r"rank \d+ \+ rank \d+ exceeds n - 1 = 39: \d+ canonical correlations are 1 by dimension",
    ):
        function(x, y)
    assert 0 < function(x[:, :18], y) < 1


def test_in_sample_r2_of_too_few_rows_is_refused():
    """Fault: a fit that passes through every row, reported as R2 = 1."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(20, 19)), rng.normal(size=(20, 3))
    with pytest.raises(
        UndefinedMeasureError,
        match=r"A least squares fit from rank 19 passes through all 20 rows whatever the target: use",
    ):
        predictive_r2(x, y)
    assert predictive_r2(x[:, :18], y) < 1
    assert predictive_r2(y, x) < 1  # the target may be as wide as it likes


@pytest.mark.parametrize("function", [*SECOND_ORDER, heldout_r2])
def test_dependent_columns_change_nothing_that_is_linear(function):
    """Fault: LinAlgError, or 0.39 instead of 0.89, where columns depend on others."""
    repeated = np.hstack([X, X]) / np.sqrt(2)  # the same Gram matrix
    if function is pwcca:  # weights add over columns: twice the same ones, the same weights
        assert function(repeated, Y) == pytest.approx(function(X, Y), abs=1e-10)
    else:
        assert function(repeated, Y) == pytest.approx(function(X, Y), abs=1e-9)
    assert function(X, np.hstack([Y, Y]) / np.sqrt(2)) == pytest.approx(function(X, Y), abs=1e-9)


@pytest.mark.parametrize("function", SECOND_ORDER)
def test_neither_order_of_columns_nor_widths_matter(function):
    """Fault: IndexError where the first side is wider; values that depend on the column order."""
    order = np.random.default_rng(6).permutation(9)
    assert function(Y[:, order], X) == pytest.approx(function(Y, X), abs=1e-12)
    assert function(X, Y[:, order]) == pytest.approx(function(X, Y), abs=1e-12)


def test_a_large_awkward_matrix_decomposes():
    """Fault: 'SVD did not converge' on 256 x 2048."""
    rng = np.random.default_rng(7)
    x = np.outer(rng.normal(size=256), rng.normal(size=2048)) * 1e4
    x += 1e-8 * rng.normal(size=x.shape)
    x[:, 1000:] = 0
    assert Factor.of(x.astype(np.float32)).rank == 1
    assert procrustes_similarity(x, x) == pytest.approx(1.0, abs=1e-12)


def test_held_out_where_in_sample_means_nothing():
    """Fault: correlations of random data that should be 0, with n near d."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(100, 90)), rng.normal(size=(100, 5))
    assert predictive_r2(x, y) > 0.8
    assert heldout_r2(x, y) < 0.05


# CCA family ---------------------------------------------------------------------------------------------


def test_pwcca_weighs_the_first_argument():
    """Fault: (PWCCA(X, Y) + PWCCA(Y, X)) / 2, or the other argument's weights."""
    assert abs(pwcca(X, Y) - pwcca(Y, X)) > 1e-3
    scaled = Y * np.logspace(-1, 1, 9)
    assert pwcca(X, scaled) == pytest.approx(pwcca(X, Y), abs=1e-10)
    assert abs(pwcca(scaled, X) - pwcca(Y, X)) > 1e-3


def test_pwcca_is_not_mean_cca():
    """Fault: weights from an orthonormal basis are all alike."""
    assert abs(pwcca(X, Y) - mean_cca(X, Y)) > 1e-2


@pytest.mark.parametrize("factor", [1e-4, 1e-3, 1e3, 1e4])
def test_svcca_does_not_depend_on_scale(factor):
    """Fault: a share of variance compared with 0.99 x the total variance keeps one direction."""
    assert svcca(factor * X, Y) == pytest.approx(svcca(X, Y), abs=1e-10)
    assert svcca(X, factor * Y) == pytest.approx(svcca(X, Y), abs=1e-10)


def test_svcca_of_a_space_with_itself():
    """Fault: 0.975, or 0.90 and different at every call."""
    assert svcca(X, X) == pytest.approx(1.0, abs=1e-12)
    assert svcca(X, Y) == svcca(X, Y)


def contrasts():
    """Orthonormal, centred columns."""
    q, _ = np.linalg.qr(
        np.column_stack([np.ones(40), np.random.default_rng(9).normal(size=(40, 8))])
    )
    return q[:, 1:]


def test_svcca_keeps_the_component_that_crosses():
    """Fault: the direction that reaches 99 % is dropped, or shares are of s and not of s squared."""
    q = contrasts()
    x = q[:, :3] * np.sqrt([0.6, 0.385, 0.015])  # 98.5 % in two, 100 % in three
    y = np.column_stack([q[:, 0], q[:, 1], 0.5 * q[:, 2] + np.sqrt(0.75) * q[:, 5]])
    assert svcca(x, y) == pytest.approx((1 + 1 + 0.5) / 3, abs=1e-12)
    x = q[:, :3] * np.sqrt([0.6, 0.395, 0.005])  # 99.5 % of variance in two, 95 % of the sum of s
    assert svcca(x, y) == pytest.approx(1.0, abs=1e-12)


def test_cca_divides_by_the_smaller_rank():
    """Fault: whitened spaces padded with zeros give the sum over the larger width."""
    q = contrasts()
    x, y = q[:, :2], np.column_stack([0.6 * q[:, 0] + 0.8 * q[:, 4], q[:, 5:8]])
    assert mean_cca(x, y) == pytest.approx(0.3, abs=1e-12)
    assert mean_cca(y, x) == pytest.approx(0.3, abs=1e-12)
    assert r2_cca(x, y) == pytest.approx(0.18, abs=1e-12)


def test_one_column_gives_the_correlation_without_its_sign():
    """Fault: the CCA statistic squared, or negative."""
    x, y = X[:, :1], -X[:, :1] + Y[:, :1]
    r = np.corrcoef(x[:, 0], y[:, 0])[0, 1]
    assert r < 0
    for function in (mean_cca, svcca, pwcca, procrustes_similarity):
        assert function(x, y) == pytest.approx(-r, abs=1e-12)
    for function in (linear_cka, r2_cca, predictive_r2):
        assert function(x, y) == pytest.approx(r**2, abs=1e-12)


@pytest.mark.parametrize("function", [*CCA_FAMILY, predictive_r2])
def test_identical_inputs_near_the_limit(function):
    """Fault: the last canonical variate is NaN near n = 2 d; identical inputs are not identical."""
    x = np.random.default_rng(10).normal(size=(41, 20))
    assert function(x, x) == pytest.approx(1.0, abs=1e-10)


def test_an_ill_conditioned_space_with_itself():
    """Fault: the square root of a negative eigenvalue."""
    x = X * np.logspace(0, -5, 6)
    for function in (*CCA_FAMILY, predictive_r2):
        assert function(x, x) == pytest.approx(1.0, abs=1e-9)
    assert Factor.of(X * np.logspace(0, -8, 6)).rank < 6


# Procrustes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(80, 6), (20, 50), (300, 30)])
def test_distance_of_a_rotated_copy_is_zero_to_rounding(shape):
    """Fault: sqrt(2 - 2 s) of 1e-8 where 0 is meant, or the square root of a negative number."""
    x = np.random.default_rng(11).normal(size=shape) + 5
    y = 3 * x @ rotation(shape[1]) + 1
    assert procrustes_distance(x, x) < 1e-13
    assert procrustes_distance(x, y) < 1e-12
    measure = find("procrustes_distance", CATALOGUE)
    assert measure.of(measure.summarise(x), measure.summarise(y)) < 1e-12


@pytest.mark.parametrize("epsilon", [1e-2, 1e-3, 1e-6, 1e-9])
def test_small_distances_keep_their_digits(epsilon):
    x = contrasts()[:, :2]  # of norm sqrt(2)
    y = x + epsilon * contrasts()[:, 2:4]
    expected = np.sqrt(2 - 2 / np.sqrt(1 + epsilon**2))
    expected = expected if epsilon > 1e-3 else epsilon  # to relative epsilon squared
    assert procrustes_distance(x, y) == pytest.approx(expected, rel=2e-6)


def test_a_small_distance_to_a_wider_space():
    wide = np.hstack([X, 0.02 * contrasts()[:, :1].repeat(2, axis=0)])
    unit = [(a - a.mean(axis=0)) / np.linalg.norm(a - a.mean(axis=0)) for a in (X, wide)]
    s = np.linalg.svd(unit[0].T @ unit[1], compute_uv=False).sum()
    assert 1e-4 < np.sqrt(2 - 2 * s) < 0.02  # near enough to be computed from the residual
    for pair_ in ((X, wide), (wide, X)):
        assert procrustes_distance(*pair_) == pytest.approx(np.sqrt(2 - 2 * s), rel=1e-7)


def test_distance_and_similarity_are_told_apart():
    """Fault: a function called distance that returns a similarity, or squares it."""
    s, d = procrustes_similarity(X, Y), procrustes_distance(X, Y)
    assert d == pytest.approx(np.sqrt(2 - 2 * s), abs=1e-14)
    assert find("procrustes_distance", CATALOGUE).kind == "distance"
    assert find("procrustes_similarity", CATALOGUE).kind == "similarity"
    assert procrustes_distance(X, Y) == pytest.approx(procrustes_distance(Y, X), abs=1e-14)


def test_reflections_are_allowed():
    """Fault: mirrored rows taken for different ones."""
    mirrored = X * [-1, 1, 1, 1, 1, 1]
    assert procrustes_distance(X, mirrored) < 1e-12


small = st.integers(2, 5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), small, small, small, st.sampled_from([1.0, 1e-2, 1e-5]))
def test_the_distance_is_a_metric(seed, dx, dy, dz, near):
    """Fault: a distance that breaks the triangle inequality, or is not 0 from a space to itself."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(12, 5))
    x, y, z = (base[:, :d] + near * rng.normal(size=(12, d)) for d in (dx, dy, dz))
    xy, yz, xz = procrustes_distance(x, y), procrustes_distance(y, z), procrustes_distance(x, z)
    assert xz <= xy + yz + 1e-12
    assert xy == pytest.approx(procrustes_distance(y, x), abs=1e-12)
    assert procrustes_distance(x, x) < 1e-12


# Neighbours, RSA ----------------------------------------------------------------------------------------


def test_repeated_rows_are_neighbours_and_the_row_itself_never_is():
    """Fault: the first column dropped for the row itself, which with repeated rows it need not be."""
    x = np.repeat(X[:40], 2, axis=0)
    index = Neighbors.of(x, 3).index
    rows = np.arange(80)
    assert not (index == rows[:, None]).any()
    twin = rows ^ 1
    assert (index == twin[:, None]).any(axis=1).all()


def test_repeated_rows_are_chosen_alike_in_every_space():
    """Fault: ties broken by rounding, so that a rotated copy has other neighbours."""
    x = np.repeat(X[:20], 4, axis=0)
    for seed in range(5):
        y = x @ rotation(6, seed) * 3
        for k in (1, 2, 5, 10):
            assert mutual_knn(x, y, k=k) == 1.0


def test_equally_near_rows_are_chosen_alike_whatever_the_rounding():
    rng = np.random.default_rng(18)
    x = np.repeat(X[:20], 4, axis=0)
    expected = Neighbors.of(x, 5).index
    for _ in range(5):
        same_directions = x * rng.uniform(0.1, 10, size=(80, 1))
        np.testing.assert_array_equal(Neighbors.of(same_directions, 5).index, expected)


def test_ties_of_rsa_are_ties_whatever_the_rounding():
    """Fault: ranks of dissimilarities that differ in the last bit only."""
    x, y = np.repeat(X[:20], 4, axis=0), np.repeat(Y[:20], 4, axis=0)
    order = np.random.default_rng(12).permutation(80)
    assert rsa(x[order], y[order]) == pytest.approx(rsa(x, y), abs=1e-13)
    assert rsa(x * 3, y[:, ::-1] / 7) == pytest.approx(rsa(x, y), abs=1e-13)


def test_rsa_by_rank_differs_from_rsa_by_value():
    """Fault: the rank transform left out."""
    assert abs(rsa(X, Y) - rsa(X, Y, comparator="pearson")) > 1e-3
    x = np.array([[0.0, 0, 1], [0, 1, 0.1], [1, 0, 0.2], [1, 0.9, 0]])
    y = x**3 + 0.01 * x
    assert rsa(x, y) > rsa(x, y, comparator="pearson")


def test_two_coordinates_give_only_two_dissimilarities():
    """Correlations over two coordinates are 1 or -1; rounding must not order them."""
    x = np.random.default_rng(13).normal(size=(30, 2))
    above = x[:, 0] > x[:, 1]
    assert rsa(x, x) == pytest.approx(1.0, abs=1e-12)
    assert rsa(x, np.where(above, 1.0, -1.0)[:, None] * [1.0, 0.0]) == pytest.approx(1.0, abs=1e-12)


# Noise, and what it looks like --------------------------------------------------------------------------


def test_biased_measures_in_pure_noise():
    """Fault: CKA 0.30, mean CCA 0.57 for independent rows; the debiased form says nothing is there."""
    rng = np.random.default_rng(14)
    x, y = rng.normal(size=(2, 100, 40))
    assert 0.2 < linear_cka(x, y) < 0.4
    assert 0.5 < mean_cca(x, y) < 0.65
    assert abs(debiased_cka(x, y)) < 0.1
    assert heldout_r2(x, y) < 0.05


@pytest.mark.parametrize("measure", [m for m in CATALOGUE if m.symmetric], ids=lambda m: m.name)
def test_swapping_changes_no_more_than_rounding(measure):
    """Fault: a symmetric measure whose value depends on the order of its arguments."""
    for x, y in ((X, Y), pair(n=300, dx=30, dy=12), (X, X[:, :2])):
        assert measure(x, y) == pytest.approx(measure(y, x), abs=1e-12)


def test_direction_of_r2():
    """Fault: source and target of a map mistaken for each other."""
    rng = np.random.default_rng(15)
    y = rng.normal(size=(200, 1))
    x = np.hstack([y, rng.normal(size=(200, 3))])
    assert predictive_r2(x, y) == pytest.approx(1.0, abs=1e-12)
    assert heldout_r2(x, y) == pytest.approx(1.0, abs=1e-9)
    assert predictive_r2(y, x) < 0.4
    assert heldout_r2(y, x) < 0.4


# Memory -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [linear_cka, debiased_cka, procrustes_similarity])
def test_no_square_of_the_row_count_is_held(function):
    """Fault: n x n Gram matrices where rows are many and columns few."""
    rng = np.random.default_rng(16)
    x, y = rng.normal(size=(20_000, 8)), rng.normal(size=(20_000, 8))
    tracemalloc.start()
    function(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * x.nbytes  # an n x n matrix would be 2,500


@pytest.mark.parametrize("function", [linear_cka, debiased_cka])
def test_no_square_of_the_width_is_held(function):
    rng = np.random.default_rng(17)
    x, y = rng.normal(size=(20, 20_000)), rng.normal(size=(20, 20_000))
    tracemalloc.start()
    function(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * x.nbytes


def test_tensors_stay_tensors_until_the_value():
    overlap = Overlap.of(Factor.of(torch.asarray(X)), Factor.of(torch.asarray(Y)))
    assert isinstance(overlap.weighted_core, torch.Tensor)
    assert type(linear_cka(torch.asarray(X), torch.asarray(Y))) is float
