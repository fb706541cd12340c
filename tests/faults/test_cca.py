"""Kinds of fault that users of CCA, SVCCA and PWCCA have met."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cospace.comparison.facts import space_facts
from cospace.errors import UndefinedMeasureError
from cospace.measures import CATALOGUE, DEFAULT, find, ridge_r2
from cospace.space import Space
from cospace.summaries import Factor

FAMILY = [find(name, CATALOGUE) for name in ("mean_cca", "svcca", "pwcca", "r2_cca")]
FACTORED = [m for m in CATALOGUE if m.summarise == Factor.of]


def test_where_cca_is_refused_a_regularised_measure_has_a_value():
    """Fault: an assertion that n exceeds d, and no way on."""
    x, y = np.random.default_rng(0).normal(size=(2, 30, 40))
    for measure in FAMILY:
        with pytest.raises(UndefinedMeasureError, match=r"fewer principal components \(reduced=\)"):
            measure(x, y)
    for name in ("gulp_distance", "partly_whitened_shape_angle", "heldout_r2"):
        assert np.isfinite(find(name, CATALOGUE)(x, y))
    assert 0 < ridge_r2(x, y, penalty=1.0) < 1
    few = [Space(rows, name="s").reduce(8).rows for rows in (x, y)]
    for measure in FAMILY:
        assert 0 < measure(*few) < 1


def test_a_held_out_value_stands_beside_the_in_sample_ones():
    """Fault: in-sample correlations of random rows, with nothing that says they should be 0."""
    assert {measure.name for measure in FAMILY} <= set(DEFAULT)
    assert "heldout_r2" in DEFAULT
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 20)), rng.normal(size=(60, 20))
    assert min(measure(x, y) for measure in FAMILY[:3]) > 0.4
    assert find("heldout_r2", CATALOGUE)(x, y) < 0.05


@pytest.mark.parametrize("measure", FACTORED, ids=lambda m: m.name)
def test_signs_and_turns_of_singular_vectors_change_no_value(pair, measure):
    """Fault: values that differ between libraries by the signs of their singular vectors."""
    x, y = pair()
    a, b = Factor.of(x), Factor.of(y)
    signs = np.where(np.arange(len(a.s)) % 2, 1.0, -1.0)
    flipped = replace(a, u=a.u * signs, v=a.v * signs)
    assert measure.of(flipped, b) == pytest.approx(measure.of(a, b), abs=1e-12)
    assert measure.of(b, flipped) == pytest.approx(measure.of(b, a), abs=1e-12)


def test_shares_of_variance_are_those_of_all_the_data():
    """Fault: variance explained by reduced rows, as if what was cut off had never been there."""
    rows = np.random.default_rng(2).normal(size=(80, 10)) * np.sqrt(np.arange(10, 0, -1.0))
    s = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    whole = space_facts(Space(rows, name="s"))
    assert whole.leading_share == pytest.approx(s[0] ** 2 / np.sum(s**2), rel=1e-9)
    q, _ = np.linalg.qr(np.column_stack([np.ones(80), rows]))
    x = q[:, 1:4] * np.sqrt([0.6, 0.385, 0.015])  # the second reaches 98.5 % of all
    y = np.column_stack([q[:, 1], q[:, 2], q[:, 5]])
    assert find("svcca", CATALOGUE)(x, y) == pytest.approx(2 / 3, abs=1e-9)


def test_single_precision_is_decomposed_in_double():
    """Fault: an eigendecomposition of single precision that fails or loses the small directions."""
    x = (np.random.default_rng(3).normal(size=(60, 6)) * np.logspace(0, -4, 6)).astype(np.float32)
    found = Factor.of(x)
    assert found.s.dtype == found.u.dtype == np.float64
    exact = np.linalg.svd(x.astype(float) - x.astype(float).mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(found.s, exact, rtol=1e-9)
