"""Kinds of fault that users of CKA and HSIC have met."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np
import pytest

from cospace.errors import CospaceError
from cospace.measures import (
    CATALOGUE,
    DEFAULT,
    debiased_cka,
    find,
    linear_cka,
    mutual_knn,
    procrustes_similarity,
    representational_similarity,
    rsa,
)
from cospace.moments import Moments

ALL = pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)


@ALL
@pytest.mark.parametrize("n", [8, 16, 32])
@pytest.mark.parametrize("widths", [(3, 4), (24, 40)])
def test_usual_batch_sizes_give_a_finite_value_or_a_named_reason(measure, n, widths):
    """Fault: NaN at batch sizes in common use."""
    rng = np.random.default_rng(n)
    for dtype in (np.float32, np.float64):
        x, y = (rng.normal(size=(n, d)).astype(dtype) for d in widths)
        with suppress(CospaceError):  # whose text says why
            assert math.isfinite(measure(x, y))


def test_hundreds_of_small_single_precision_batches(pair):
    """Fault: NaN after some 150 batches of 32, summed in single precision."""
    x, y = (rows.astype(np.float32) * 1e3 for rows in pair(n=32 * 300))
    batches = [{"x": x[i : i + 32], "y": y[i : i + 32]} for i in range(0, len(x), 32)]
    moments = Moments.accumulate(batches, shifts={"x": x[0], "y": y[0]})
    own = moments.hsic("x", "x"), moments.hsic("y", "y")
    found = moments.hsic("x", "y") / math.sqrt(own[0] * own[1])
    assert found == pytest.approx(debiased_cka(x, y), abs=1e-9)


@ALL
def test_a_record_says_which_end_is_alike(measure):
    """Fault: a function called distance that returns a similarity, for one measure of many."""
    low, high = measure.bounds
    if measure.kind == "similarity":
        assert high == 1.0
        assert measure.identical in (None, 1.0)  # None: it depends on the space
    else:
        assert measure.identical == low == 0.0
    for word, kinds in (("distance", {"distance"}), ("similarity", {"similarity"})):
        if word in measure.name:
            assert measure.kind in kinds
    if measure.kind != "similarity":
        assert any(word in measure.name for word in ("distance", "angle", "imbalance"))


def test_the_debiased_form_is_run_by_default_and_stays_on_its_device():
    """Fault: users must ask for the debiased form, and for the device that they already use."""
    assert DEFAULT[0] == "debiased_cka"
    assert find("debiased_cka", CATALOGUE).arrays == "any"


def test_no_value_is_squared_in_silence():
    """Fault: correlations squared as if they were shares of variance, so that opposites look alike."""
    x = np.array([0.0, 1.0, 2.0, 4.0, 7.0])[:, None]
    apart = representational_similarity(
        x, x[[1, 4, 0, 3, 2]], dissimilarity="euclidean", comparator="pearson"
    )
    assert apart == pytest.approx(-0.484375, abs=1e-12)
    rng = np.random.default_rng(0)
    assert min(debiased_cka(*rng.normal(size=(2, 12, 3))) for _ in range(20)) < 0.0


def layers(rng, z, *, depth=5):
    """Rows at each layer of a random network: each turns the last and adds something of its own."""
    state = z @ rng.normal(size=(z.shape[1], 24))
    found = []
    for at in range(depth):
        drift = np.tanh((at + 1) * z @ MIX[at])
        state = 0.6 * state + 2.0 * drift @ rng.normal(size=(8, 24))
        found.append(state + 0.3 * rng.normal(size=state.shape))
    return found


MIX = [np.random.default_rng([1, at]).normal(size=(4, 8)) for at in range(5)]


@pytest.mark.parametrize(
    "measure", [linear_cka, debiased_cka, procrustes_similarity, rsa, mutual_knn]
)
def test_layers_of_two_seeds_find_their_own_depth(measure):
    """Fault: a measure under which the layers of two runs of one network do not match."""
    z = np.random.default_rng(2).normal(size=(120, 4))
    a, b = (layers(np.random.default_rng(seed), z) for seed in (3, 4))
    table = np.array([[measure(x, y) for y in b] for x in a])
    assert table.argmax(axis=1).tolist() == [0, 1, 2, 3, 4]
    assert table.argmax(axis=0).tolist() == [0, 1, 2, 3, 4]
