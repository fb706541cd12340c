"""Kinds of fault that users of linear and affine maps between spaces have met."""

from __future__ import annotations

import numpy as np
import pytest

from cospace import affine_distance
from cospace.errors import UndefinedMeasureError
from cospace.homotopy.basis import Basis
from cospace.homotopy.certificate import lower_bound
from cospace.homotopy.minmax import minimise_maximum


def rows(seed=0, n=80, d=5):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_fewer_rows_than_coordinates_are_refused():
    """Fault: n < d, and any target at distance 0, because a map through every row always exists."""
    for n, d in ((20, 30), (31, 30)):
        with pytest.raises(
            UndefinedMeasureError, match=f"on {n} rows: an affine map then meets every"
        ):
            affine_distance(target=rows(0, n), source=rows(1, n, d))
    assert affine_distance(target=rows(0, 32), source=rows(1, 32, 30)).normalised.upper > 1e-3


def test_rank_deficient_sources_are_solved_and_their_rank_is_told():
    """Fault: least squares that are silently wrong where the source lacks rank."""
    thin = rows(0, d=3) @ rows(1, 3, 8)
    target = rows(2)
    found = affine_distance(target=target, source=thin)
    assert found.rank_source == 3
    plain = affine_distance(target=target, source=rows(0, d=3))
    assert found.lower <= plain.upper
    assert plain.lower <= found.upper
    assert np.isfinite(found.matrix).all()
    assert np.abs(found.matrix).max() < 10.0


@pytest.mark.parametrize("seed", range(5))
def test_repeated_and_constant_columns_change_nothing(seed):
    """Fault: duplicated columns make a singular system; the value must not depend on them."""
    source, target = rows(seed), rows(seed + 50)
    plain = affine_distance(target=target, source=source)
    for more in (source[:, :2], np.full((80, 1), 0.1), 3.0 * source[:, 1:2] - 7.0):
        found = affine_distance(target=target, source=np.hstack([source, more]))
        assert found.rank_source == 5
        assert (found.lower, found.upper) == pytest.approx((plain.lower, plain.upper), rel=1e-6)


def test_the_order_of_columns_changes_nothing():
    """Fault: sign and order of axes that depend on the order of columns."""
    source, target = rows(0), rows(1)
    plain = affine_distance(target=target, source=source)
    order = np.random.default_rng(0).permutation(5)
    found = affine_distance(target=target[:, order], source=source[:, order[::-1]])
    assert found.upper == pytest.approx(plain.upper, rel=1e-6)


def test_the_direction_is_from_source_to_target():
    """Fault: argument order (A to B, or B to A), and a transposed map."""
    source = rows(0, d=5)
    weights = rows(1, 5, 2)
    found = affine_distance(target=source @ weights, source=source)
    np.testing.assert_allclose(found.matrix, weights, atol=1e-9)
    assert found.matrix.shape == (5, 2)
    back = affine_distance(target=source, source=source @ weights)
    assert back.normalised.lower > 0.2


def test_a_direction_does_not_receive_the_offset():
    """Fault: a steering vector mapped like a point, moved by the offset."""
    source = rows(0)
    found = affine_distance(target=2.0 * source + 100.0, source=source)
    np.testing.assert_allclose(found.directions(np.eye(5)), 2.0 * np.eye(5), atol=1e-8)
    np.testing.assert_allclose(found.points(np.zeros((1, 5))), np.full((1, 5), 100.0), atol=1e-7)


def test_an_offset_costs_no_digits():
    """Fault: sums that are not centred, drowned by a mean far from the origin."""
    source, target = rows(0), rows(1)
    plain = affine_distance(target=target, source=source)
    moved = affine_distance(target=target + 1e7, source=source - 1e7)
    assert moved.upper == pytest.approx(plain.upper, rel=1e-6)
    assert moved.lower == pytest.approx(plain.lower, rel=1e-6)


def test_a_rogue_coordinate_of_the_source_changes_nothing():
    """Fault: outliers that rule a result; an affine distance is blind to the source's scales."""
    source, target = rows(0), rows(1)
    plain = affine_distance(target=target, source=source)
    found = affine_distance(target=target, source=source * [1e4, 1.0, 1.0, 1.0, 1.0])
    assert found.upper == pytest.approx(plain.upper, rel=1e-6)
    assert found.rank_source == 5


def test_an_image_is_never_at_a_negative_or_undefined_distance():
    """Fault: «distances» of -2e-8, or NaN from the root of one."""
    source = rows(0)
    for target in (source, source.copy(), source @ rows(1, 5, 5), source[:, :1]):
        found = affine_distance(target=target, source=source)
        assert 0.0 <= found.lower <= found.upper < 1e-10


def test_one_outlier_does_not_stop_it():
    """Fault: silent non-convergence; heavy tails slow plain reweighting down to a few per cent."""
    target, source = rows(1, 300), rows(0, 300)
    target[7] *= 1e3
    found = affine_distance(target=target, source=source)
    assert found.closed
    assert found.worst_ids[0] is not None
    assert found.upper <= 1.01 * found.lower + 1e-9


def test_a_fit_that_has_not_converged_says_so():
    """Fault: the last iterate handed over as the answer."""
    found = affine_distance(target=rows(1, 300), source=rows(0, 300), gap=1e-4, limit=2)
    assert not found.closed
    assert any("The gap was still open after 2 steps" in note for note in found.warnings)


def test_a_ridge_is_no_lower_bound():
    """Fault: a regularised fit whose weighted error is read as a bound that it does not prove."""
    source, target = rows(0), rows(1)
    centred = target - target.mean(axis=0)
    basis = Basis.of(source)
    best = minimise_maximum(centred, basis, gap=1e-4)
    shrunk = 0.5 * best.coefficients
    rest = centred - basis.q @ shrunk
    plain = np.sqrt(best.weights @ np.sum(rest**2, axis=1))
    assert plain > best.upper
    assert lower_bound(centred, basis.q, best.weights, shrunk) <= best.upper


def test_held_out_rows_are_told_apart():
    """Fault: no held-out data; the in-sample maximum flatters a map with as many parameters as rows."""
    found = affine_distance(target=rows(1, 60, 3), source=rows(0, 60, 30))
    assert found.held_out.maximum > 1.5 * found.in_sample.maximum
    assert any("does not carry over" in note for note in found.warnings)


def test_a_seed_means_the_same_rows_and_the_same_bytes():
    """Fault: results that change with the seed although a seed was given."""
    source, target = rows(0), rows(1)
    one, two = (affine_distance(target=target, source=source, rng=5) for _ in range(2))
    assert one == two
    assert one.matrix.tobytes() == two.matrix.tobytes()
