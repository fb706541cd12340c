"""The min-max fit by other means, and rows of which its optimum is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize, nnls


@pytest.fixture
def line():
    """A function: smallest largest error of one target coordinate, by linear programming."""

    def solve(target, source):
        design = np.column_stack([source, np.ones(len(source))])
        width = design.shape[1]
        ones = np.ones((len(source), 1))
        done = linprog(
            np.append(np.zeros(width), 1.0),
            A_ub=np.block([[design, -ones], [-design, -ones]]),
            b_ub=np.concatenate([target[:, 0], -target[:, 0]]),
            bounds=[(None, None)] * width + [(0, None)],
        )
        assert done.success
        return float(done.fun)

    return solve


@pytest.fixture
def cone():
    """A function: the second-order cone program, by sequential programming, as an interval.

    Minimises s such that every squared row error is at most s. The upper end is attained; the lower is
    a weighted mean of squared errors, minimised by ``lstsq``, with the multipliers as weights.
    """

    def solve(target, source):
        design = np.column_stack([source, np.ones(len(source))])
        start = np.linalg.lstsq(design, target, rcond=None)[0]

        def slack(z):
            rest = target - design @ z[:-1].reshape(start.shape)
            return z[-1] - np.sum(rest**2, axis=1)

        def slope(z):
            rest = target - design @ z[:-1].reshape(start.shape)
            inner = 2.0 * design[:, :, None] * rest[:, None, :]
            return np.column_stack([inner.reshape(len(target), -1), np.ones(len(target))])

        scale = np.max(np.sum((target - design @ start) ** 2, axis=1))
        z = np.append(start.ravel(), scale)
        for _ in range(4):  # a restart sharpens what the run before has left
            z = minimize(
                lambda z: z[-1] / scale,
                z,
                jac=lambda z: np.append(np.zeros(len(z) - 1), 1.0 / scale),
                constraints={"type": "ineq", "fun": slack, "jac": slope},
                method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-15},
            ).x
            z[-1] -= slack(z).min()
        near = slack(z) < 1e-3 * z[-1]
        columns = slope(z)[near]
        weights = nnls(columns.T, np.append(np.zeros(columns.shape[1] - 1), 1.0))[0]
        root = np.sqrt(weights / weights.sum())[:, None]
        best = np.linalg.lstsq(root * design[near], root * target[near], rcond=None)[0]
        lower = np.linalg.norm(root * (target[near] - design[near] @ best))
        return float(lower), float(z[-1] ** 0.5)

    return solve


@pytest.fixture
def known():
    """A function: target and source whose affine distance is exactly ``radius``.

    Rows come in pairs that share their source and miss it by +- radius u, so that no map does better
    (the midpoint of a pair is at least radius from one of its ends); other rows miss it by less.
    """

    def make(seed=0, n=60, p=4, d=3, radius=2.0, pairs=12):
        rng = np.random.default_rng(seed)
        source = rng.normal(size=(n, p)) * 3.0 + 7.0
        source[pairs : 2 * pairs] = source[:pairs]
        way = rng.normal(size=(n, d))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        way[pairs : 2 * pairs] = -way[:pairs]
        length = radius * rng.uniform(0.0, 0.999, size=n)
        length[: 2 * pairs] = radius
        target = source @ rng.normal(size=(p, d)) - 5.0 + length[:, None] * way
        order = rng.permutation(n)
        return target[order], source[order]

    return make


@pytest.fixture
def noisy():
    """A function: a linear image of Gaussian rows, with Gaussian or heavy-tailed errors."""

    def make(seed=0, n=400, d=20, tails="gaussian"):
        rng = np.random.default_rng(seed)
        source = rng.normal(size=(n, d))
        errors = rng.normal(size=(n, d)) if tails == "gaussian" else rng.standard_t(3, (n, d))
        return source @ rng.normal(size=(d, d)) / d**0.5 + errors, source

    return make
