"""Areas under the curve, pooled and within strata."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError
from cospace.routing.disguise import area, stratified_area
from cospace.stats.resampling import Weights


def naive(scores, right, strata, weights):
    """Every pair in turn."""
    top = bottom = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if right[i] and not right[j] and strata[i] == strata[j]:
                won = 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
                top += weights[i] * weights[j] * won
                bottom += weights[i] * weights[j]
    return top / bottom


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=40), 1)
    return scores, rng.random(40) < 0.4, rng.integers(3, size=40).tolist()


def test_an_area_is_that_of_scikit_learn(drawn):
    from sklearn.metrics import roc_auc_score

    scores, right, _ = drawn
    assert area(scores, right) == pytest.approx(roc_auc_score(right, scores), abs=1e-14)


def test_a_stratified_area_is_the_sum_over_pairs(drawn):
    scores, right, strata = drawn
    counts = Weights.of(40, 60, rng=np.random.default_rng(1)).counts
    found = stratified_area(scores, right, strata, counts, level=0.9)
    assert found.value == pytest.approx(naive(scores, right, strata, np.ones(40)), abs=1e-14)
    samples = [naive(scores, right, strata, w) for w in counts]
    low, high = np.quantile(samples, [0.05, 0.95])
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert found.level == 0.9
    one = stratified_area(scores, right, [0] * 40, counts)
    assert one.value == pytest.approx(area(scores, right), abs=1e-14)
    assert one.pairs == right.sum() * (~right).sum()


def test_shares_that_differ_between_folds_are_no_skill():
    """A constant per fold, the training share, is anti-correlated with the fold's own share."""
    rng = np.random.default_rng(0)
    fold = np.arange(100) % 5
    right = rng.random(100) < 0.5
    share = np.array([right[fold != f].mean() for f in range(5)])[fold]
    assert area(share, right) < 0.45
    counts = Weights.of(100, 50, rng=rng).counts
    assert stratified_area(share, right, fold.tolist(), counts).value == 0.5


def test_what_cannot_be_compared_has_no_area():
    counts = Weights.of(4, 50, rng=np.random.default_rng(0)).counts
    right = np.array([True, True, False, False])
    found = stratified_area(np.zeros(4), right, [0, 0, 1, 1], counts)
    assert (found.value, found.low, found.pairs) == (None, None, 0)
    assert not found.above
    assert not found.below
    with pytest.raises(InputError, match="All items are right, or all are wrong"):
        area(np.zeros(2), np.array([True, True]))


def test_few_items_have_an_area_and_no_interval():
    """One right and one wrong: two of three samples lack one of them."""
    counts = Weights.of(20, 200, rng=np.random.default_rng(0)).counts
    right = np.arange(20) == 0
    strata = [0, 0, *range(1, 19)]
    found = stratified_area(np.arange(20.0), right, strata, counts)
    assert (found.value, found.low) == (0.0, None)
