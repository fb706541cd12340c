"""Min-max fits against independent solvers, known optima, and deliberately wrong fits."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.homotopy.basis import Basis
from cospace.homotopy.certificate import lower_bound, row_errors
from cospace.homotopy.minmax import minimise_maximum
from cospace.homotopy.newton import Interior

ROUNDING = 1e-9


def solved(target, source, **options):
    return minimise_maximum(target - target.mean(axis=0), Basis.of(source), **options)


def draw(seed, d=None):
    """A small problem: Gaussian, heavy-tailed, on a grid, or with repeated rows, far from centred."""
    rng = np.random.default_rng(seed)
    p, d = int(rng.integers(1, 4)), d or int(rng.integers(2, 4))
    n = int(rng.integers(p + 3, 30))
    kind = seed % 4
    source = rng.integers(0, 4, (n, p)) * 1.0 if kind == 2 else rng.normal(size=(n, p))
    errors = rng.standard_t(3, (n, d)) if kind == 1 else rng.normal(size=(n, d))
    if kind == 3:
        rows = rng.integers(0, n, n)
        rows[: p + 2] = np.arange(p + 2)
        source, errors = source[rows], errors[rows]
    return source @ rng.normal(size=(p, d)) + errors + 10.0, source + 5.0


@pytest.mark.parametrize("block", range(4))
def test_the_interval_contains_the_optimum_of_the_cone_program(cone, block):
    for seed in range(25 * block, 25 * block + 25):
        target, source = draw(seed)
        if np.linalg.matrix_rank(source - source.mean(axis=0)) + 1 >= len(source):
            continue
        found = solved(target, source)
        low, high = cone(target, source)
        assert high <= low * (1.0 + 1e-6), seed
        assert found.lower <= high * (1.0 + ROUNDING), seed
        assert found.upper >= low * (1.0 - ROUNDING), seed
        assert found.within(0.01), seed


@pytest.mark.parametrize("block", range(4))
def test_the_interval_contains_the_optimum_of_the_linear_program(line, block):
    for seed in range(100 + 25 * block, 100 + 25 * block + 25):
        target, source = draw(seed, d=1)
        found = solved(target, source)
        optimum = line(target, source)
        assert found.lower <= optimum * (1.0 + ROUNDING), seed
        assert found.upper >= optimum * (1.0 - ROUNDING), seed
        assert found.within(0.01), seed


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("gap", [0.01, 1e-4])
def test_the_interval_contains_a_constructed_optimum(known, seed, gap):
    target, source = known(seed, n=40 + 10 * seed, p=1 + seed % 7, d=1 + seed % 5)
    found = solved(target, source, gap=gap)
    assert found.lower <= 2.0 * (1.0 + ROUNDING)
    assert found.upper >= 2.0 * (1.0 - ROUNDING)
    assert found.within(gap)


@pytest.mark.parametrize("tails", ["gaussian", "heavy"])
@pytest.mark.parametrize(("n", "d"), [(400, 20), (1500, 100)])
def test_the_gap_is_closed_whatever_the_tails(noisy, tails, n, d):
    target, source = noisy(0, n, d, tails)
    found = solved(target, source)
    assert found.within(0.01)
    assert found.steps <= 40
    least_squares = np.linalg.lstsq(np.column_stack([source, np.ones(n)]), target, rcond=None)[0]
    rest = target - np.column_stack([source, np.ones(n)]) @ least_squares
    assert found.upper < np.linalg.norm(rest, axis=1).max()


@pytest.mark.parametrize("tails", ["gaussian", "heavy"])
def test_a_narrow_gap_is_closed_as_well(noisy, tails):
    target, source = noisy(1, 600, 30, tails)
    found = solved(target, source, gap=1e-4)
    assert found.within(1e-4)
    assert found.steps <= 60


def test_newton_steps_on_many_rows_in_single_precision(noisy):
    """More than 1,500 coupled rows: the direction is rounded, the bounds are not."""
    target, source = noisy(2, 2000, 40, "heavy")
    found = solved(target, source, gap=1e-3)
    assert found.within(1e-3)
    narrow = solved(target, source, gap=1e-4)
    assert found.lower <= narrow.upper
    assert narrow.lower <= found.upper


@pytest.mark.parametrize("most", [3, 40])
def test_more_matters_than_may_be_coupled(noisy, monkeypatch, most):
    """Newton steps then couple the rows that matter most, and the gap is closed all the same."""
    sizes = []
    coupled = Interior.coupled

    def watched(self, v, errors, leverage, cap):
        rows = coupled(self, v, errors, leverage, cap)
        matter = 2.0 * v * errors * leverage / self.slack
        sizes.append((len(rows), len(coupled(self, v, errors, leverage, len(v)))))
        assert matter[rows].min(initial=np.inf) >= np.delete(matter, rows).max(initial=0.0) or (
            len(rows) < cap
        )
        return rows

    monkeypatch.setattr("cospace.homotopy.minmax.most_rows", lambda n, width: most)
    monkeypatch.setattr(Interior, "coupled", watched)
    target, source = noisy(3, 300, 10, "heavy")
    found = solved(target, source, gap=0.001)
    assert found.newton > 0
    assert found.within(0.001)
    assert any(kept < wanted for kept, wanted in sizes)


def test_a_target_that_one_direction_rules(noisy, monkeypatch):
    """Nearly every row matters in such a space, as half way through decoders; it is closed in few steps."""
    monkeypatch.setattr("cospace.homotopy.minmax.most_rows", lambda n, width: 300)
    target, source = noisy(5, 900, 40, "heavy")
    target[:, 0] += 1000.0 * np.abs(target[:, 0]) ** 1.5
    found = solved(target, source)
    assert found.within(0.01)
    assert found.steps <= 60


def test_an_indefinite_curvature_is_survived(noisy, monkeypatch):
    def broken(*_, **__):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr("cospace.homotopy.newton._curvature", broken)
    target, source = noisy(4, 300, 10, "heavy")
    found = solved(target, source, gap=0.001)
    assert found.newton == 0
    assert found.within(0.001)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_the_smallest_ball(d):
    """Corners of a cross: radius 3 about its centre, whatever lies inside."""
    rng = np.random.default_rng(d)
    inside = rng.normal(size=(50, d))
    inside /= np.maximum(1.0, np.linalg.norm(inside, axis=1, keepdims=True))
    points = np.concatenate([3.0 * np.eye(d), -3.0 * np.eye(d), inside]) + 100.0
    found = minimise_maximum(points, Basis.constant(len(points)), gap=1e-3)
    assert found.lower <= 3.0 * (1.0 + ROUNDING)
    assert found.upper >= 3.0 * (1.0 - ROUNDING)
    assert found.within(1e-3)


def test_the_reported_errors_are_those_of_the_reported_map(known):
    target, source = known(3)
    found = solved(target, source)
    basis = Basis.of(source)
    rest = target - target.mean(axis=0) - basis.q @ found.coefficients
    np.testing.assert_allclose(found.errors, np.linalg.norm(rest, axis=1), rtol=1e-12)
    assert found.upper == found.errors.max()
    assert found.weights.min() > 0.0
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_the_reported_weights_prove_the_reported_bound(known):
    """Independently: the weighted least squares error at the weights, by ``lstsq``."""
    target, source = known(4, n=80)
    found = solved(target, source)
    root = np.sqrt(found.weights)[:, None]
    design = root * np.column_stack([source, np.ones(80)])
    best = np.linalg.lstsq(design, root * target, rcond=None)[0]
    value = np.linalg.norm(root * target - design @ best)
    assert found.lower == pytest.approx(value, rel=1e-5)
    assert found.lower <= value * (1.0 + ROUNDING)


def test_steps_stop_at_the_limit_and_the_interval_still_holds(known):
    target, source = known(5)
    found = solved(target, source, gap=1e-4, limit=3)
    assert found.steps == 3
    assert not found.within(1e-4)
    assert found.lower <= 2.0 <= found.upper


def test_progress_ends_at_all(noisy):
    target, source = noisy(6, 200, 6)
    told = []
    solved(target, source, progress=lambda *step: told.append(step))
    assert told[-1][1:] == (100, 100)
    assert all(0 <= done <= 100 for _, done, _ in told)
    assert told[0][0].startswith("gap ")


@pytest.mark.parametrize("ridge", [1e-3, 1e-1, 10.0])
def test_a_damped_solver_breaks_the_plain_bound_and_not_the_certificate(known, ridge):
    """Fault: the weighted error of a ridge-damped fit taken for a lower bound, which it is not."""
    target, source = known(6, n=50)
    centred = target - target.mean(axis=0)
    q = Basis.of(source).q
    found = minimise_maximum(centred, Basis.of(source), gap=1e-4)
    root = np.sqrt(found.weights)[:, None]
    gram = (root * q).T @ (root * q)
    damped = np.linalg.solve(
        gram + ridge * np.trace(gram) * np.eye(len(gram)), (root * q).T @ (root * centred)
    )
    plain = np.sqrt(found.weights @ row_errors(centred, q, damped))
    assert plain > 2.0 + 1e-6
    assert lower_bound(centred, q, found.weights, damped) <= 2.0 * (1.0 + ROUNDING)


@pytest.mark.parametrize("seed", range(30))
def test_the_certificate_holds_for_any_weights_and_any_fit(known, seed):
    target, source = known(seed, n=40)
    rng = np.random.default_rng(seed)
    centred = target - target.mean(axis=0)
    q = Basis.of(source).q
    weights = rng.random(40) ** rng.integers(1, 30)
    weights[rng.random(40) < 0.5] = 0.0
    wrong = rng.normal(size=(q.shape[1], 3)) * 10.0 ** rng.integers(-3, 3)
    assert 0.0 <= lower_bound(centred, q, weights, wrong) <= 2.0 * (1.0 + ROUNDING)


def test_scale_is_divided_out(noisy):
    target, source = noisy(7, 100, 4)
    found = solved(target, source)
    for scale in (1e-80, 1e80):
        scaled = solved(target * scale, source)
        assert scaled.lower == pytest.approx(found.lower * scale, rel=1e-6)
        assert scaled.upper == pytest.approx(found.upper * scale, rel=1e-6)


def test_an_image_is_told_from_its_rounding():
    rng = np.random.default_rng(0)
    source = rng.normal(size=(50, 3))
    found = solved(source @ rng.normal(size=(3, 5)), source)
    assert found.steps == 1
    assert found.within(0.01)
    assert found.upper < 1e-13


def test_memory_stays_under_four_copies_of_the_data(noisy):
    """Beside source and target themselves: fewer than three more."""
    import tracemalloc

    target, source = noisy(8, 5000, 200, "heavy")
    data = target.nbytes + source.nbytes
    from cospace.homotopy import affine_distance

    tracemalloc.start()
    try:
        found = affine_distance(target=target, source=source)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.closed
    assert data + peak < 4 * data


def test_basis_is_orthonormal_and_leads_back_to_the_source():
    rng = np.random.default_rng(0)
    thin = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + 30.0
    for rows, rank in ((rng.normal(size=(60, 5)) + 3.0, 5), (thin, 2)):
        for most in (None, 1, 9):
            basis = Basis.of(rows, most=most)
            kept = min(rank, most or rank)
            assert basis.rank == kept
            np.testing.assert_allclose(basis.q.T @ basis.q, np.eye(kept + 1), atol=1e-12)
            back = (rows - rows.mean(axis=0)) @ basis.back
            np.testing.assert_allclose(back, basis.q[:, :-1], atol=1e-10)


def test_leading_components_are_those_of_the_singular_vectors():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 6)) * [9, 7, 5, 3, 2, 1]
    basis = Basis.of(rows, most=6).leading(2)
    u = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[0][:, :2]
    np.testing.assert_allclose(np.abs(u.T @ basis.q[:, :2]), np.eye(2), atol=1e-10)
    assert basis.rank == 2
