"""MAXVAR canonical variates, against canonical correlation and its definition."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError
from cospace.shared.blocks import Blocks
from cospace.shared.canonical import canonical_variates


def encoded(blocks, spaces):
    return [e(spaces[e.name]) for e in blocks.encoders]


def test_two_models_give_canonical_correlations(planted):
    spaces = planted(models=2, noise=0.8)
    blocks = Blocks.of_rows(spaces, width=6)
    found = canonical_variates(blocks, width=6, ridge=0.0)
    bases = [np.linalg.svd(z, full_matrices=False)[0] for z in encoded(blocks, spaces)]
    rho = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
    assert np.allclose(found.values, (1 + rho) / 2, rtol=0, atol=1e-10)
    assert np.allclose(found.weights, rho, rtol=0, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.1, 1.0])
def test_variates_solve_the_ridge_form_of_maxvar(spaces, ridge):
    """``sum_a Z_a (Z_a'Z_a + r)^-1 Z_a'`` has the means of the variates as eigenvectors (Carroll)."""
    blocks = Blocks.of_rows(spaces, width=5)
    found = canonical_variates(blocks, width=4, ridge=ridge)
    tables = encoded(blocks, spaces)
    projections = [z @ np.linalg.solve(z.T @ z + ridge / 5 * np.eye(5), z.T) for z in tables]
    values, axes = np.linalg.eigh(np.mean(projections, axis=0))
    assert np.allclose(found.values, values[::-1][:4], rtol=0, atol=1e-10)
    means = np.mean([z @ m for z, m in zip(tables, found.maps, strict=True)], axis=0)
    unit = means / np.linalg.norm(means, axis=0)
    assert np.allclose(np.abs(np.sum(unit * axes[:, ::-1][:, :4], axis=0)), 1.0, atol=1e-8)


def test_variates_that_models_do_not_share_are_not_heard():
    rng = np.random.default_rng(0)
    n = 4000
    common = rng.normal(size=(n, 1))
    spaces = {
        f"m{m}": np.hstack([common, rng.normal(size=(n, 3))]) @ rng.normal(size=(4, 4))
        for m in range(3)
    }
    found = canonical_variates(Blocks.of_rows(spaces, width=4), width=4, ridge=0.0)
    assert found.weights[0] == pytest.approx(1.0, abs=1e-6)
    assert (found.weights[1:] < 0.1).all()


def test_the_order_of_models_changes_nothing(spaces):
    one = canonical_variates(Blocks.of_rows(spaces, width=5), width=4, ridge=0.1)
    turned = {name: spaces[name] for name in reversed(spaces)}
    other = canonical_variates(Blocks.of_rows(turned, width=5), width=4, ridge=0.1)
    for a, b in zip(one.maps, reversed(other.maps), strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-8)


def test_options_that_make_no_sense_are_refused(spaces):
    blocks = Blocks.of_rows(spaces, width=2)
    with pytest.raises(InputError, match=r"ridge is -1\.0; a number, 0 or more"):
        canonical_variates(blocks, width=2, ridge=-1.0)
    with pytest.raises(InputError, match="9 variates were asked for; from 1 to 8"):
        canonical_variates(blocks, width=9, ridge=0.0)
