"""Logistic fits against their gradient, scikit-learn, and a reference written out here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from cospace.probes.logistic import cross_entropy, fit_logistic, log_loss
from cospace.probes.penalty import FOLDS, RIDGES, choose_ridge, inner_folds


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((150, 5))
    y = (z @ rng.standard_normal((5, 3)) + rng.gumbel(size=(150, 3))).argmax(axis=1)
    return z, y, np.eye(3)[y]


def reference(weight, offset, z, wanted, ridge):
    total = 0.0
    for row, want in zip(z, wanted, strict=True):
        logits = [float(w @ row + b) for w, b in zip(weight, offset, strict=True)]
        rest = np.log(sum(np.exp(value) for value in logits))
        total -= sum(float(p) * (value - rest) for p, value in zip(want, logits, strict=True))
    return total / len(z) + ridge / 2 * float((weight**2).sum())


def test_the_objective_is_the_penalised_mean_cross_entropy(problem):
    z, _, wanted = problem
    both = np.random.default_rng(1).standard_normal((3, 6))
    value, _ = cross_entropy(both.ravel(), z, wanted, 0.3)
    assert value == pytest.approx(reference(both[:, :5], both[:, 5], z, wanted, 0.3), rel=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("soft", [False, True])
def test_the_gradient_is_that_of_the_objective(problem, ridge, soft):
    z, _, wanted = problem
    rng = np.random.default_rng(2)
    if soft:
        wanted = rng.dirichlet(np.ones(3), size=len(z))
    point = rng.standard_normal(18)
    numeric = approx_fprime(point, lambda p: cross_entropy(p, z, wanted, ridge)[0], 1e-7)
    np.testing.assert_allclose(cross_entropy(point, z, wanted, ridge)[1], numeric, atol=2e-7)


@pytest.mark.parametrize("ridge", [1e-3, 1e-1])
def test_fits_are_those_of_scikit_learn(problem, ridge):
    z, y, wanted = problem
    fit = fit_logistic(z, wanted, ridge)
    peer = LogisticRegression(C=1 / (len(z) * ridge), tol=1e-12, max_iter=10_000).fit(z, y)
    assert fit.converged
    np.testing.assert_allclose(fit.weight, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(
        fit.offset - fit.offset.mean(), peer.intercept_ - peer.intercept_.mean(), atol=1e-5
    )


def test_two_opposite_labels_of_one_row_give_even_odds():
    fit = fit_logistic(np.array([[1.0], [1.0]]), np.eye(2), 0.1)
    np.testing.assert_allclose(fit.weight, 0.0, atol=1e-9)
    assert fit.loss == pytest.approx(np.log(2), rel=1e-12)


def test_soft_labels_of_an_affine_classifier_are_met(problem):
    z, _, _ = problem
    rng = np.random.default_rng(3)
    logits = z @ rng.standard_normal((5, 3)) + rng.standard_normal(3)
    wanted = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    fit = fit_logistic(z, wanted, 0.0)
    own = z @ fit.weight.T + fit.offset
    np.testing.assert_allclose(
        own - own.mean(axis=1, keepdims=True),
        logits - logits.mean(axis=1, keepdims=True),
        atol=1e-4,
    )


def test_large_logits_do_not_overflow():
    assert log_loss(np.array([[1e4, 0.0]]), np.array([[0.0, 1.0]])) == 1e4


def test_inner_losses_are_those_of_separate_fits(problem):
    z, y, wanted = problem
    folds = inner_folds([str(k) for k in y], None, rng=np.random.default_rng(0))
    tried = choose_ridge(z, wanted, folds)
    assert [point.ridge for point in tried] == list(RIDGES[: len(tried)])
    for point in tried:
        lost = 0.0
        for fold in range(FOLDS):
            out = folds == fold
            fit = fit_logistic(z[~out], wanted[~out], point.ridge)
            lost += log_loss(z[out] @ fit.weight.T + fit.offset, wanted[out]) * out.sum()
        assert point.loss == pytest.approx(lost / len(z), rel=2e-4)


def test_the_search_ends_after_two_penalties_that_are_no_better(problem):
    z, y, wanted = problem
    folds = inner_folds([str(k) for k in y], None, rng=np.random.default_rng(0))
    losses = [point.loss for point in choose_ridge(z, wanted, folds)]
    assert int(np.argmin(losses)) == len(losses) - 3


def test_inner_folds_hold_equal_shares_of_every_class():
    labels = ["a"] * 50 + ["b"] * 25
    folds = inner_folds(labels, None, rng=np.random.default_rng(0))
    table = [
        [sum(f == k and y == name for f, y in zip(folds, labels, strict=True)) for name in "ab"]
        for k in range(FOLDS)
    ]
    assert table == [[10, 5]] * FOLDS


def test_inner_folds_keep_groups_whole():
    groups = [f"g{i // 6}" for i in range(120)]
    folds = inner_folds(["a", "b", "c"] * 40, groups, rng=np.random.default_rng(0))
    assert all(
        len({f for f, g in zip(folds, groups, strict=True) if g == name}) == 1 for name in groups
    )
    assert sorted(set(folds)) == list(range(FOLDS))


def test_whitened_components_are_those_of_scikit_learn():
    from cospace.probes.axes import Axes

    x = np.random.default_rng(0).standard_normal((60, 7)) @ np.diag([5, 4, 3, 2, 1, 0.5, 0.2]) + 9
    axes = Axes.fit(x, 4)
    peer = PCA(4, svd_solver="full").fit(x)
    np.testing.assert_allclose(np.abs(axes.basis), np.abs(peer.components_.T), atol=1e-9)
    ours = np.abs(axes.standardised(x))
    theirs = np.abs(peer.transform(x)) / np.sqrt(peer.explained_variance_ * 59 / 60)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)
    assert axes.share == pytest.approx(peer.explained_variance_ratio_.sum(), rel=1e-12)


def test_axes_of_few_rows_are_those_of_many_columns():
    from cospace.probes.axes import Axes

    x = np.random.default_rng(0).standard_normal((12, 30))
    axes = Axes.fit(x)
    assert axes.rank == 11
    np.testing.assert_allclose(axes.basis.T @ axes.basis, np.eye(11), atol=1e-10)
    np.testing.assert_allclose(axes.coordinates(x) @ axes.basis.T + axes.mean, x, atol=1e-10)
