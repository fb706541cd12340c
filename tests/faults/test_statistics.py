"""Kinds of fault that users of p-values and nulls have met."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.comparison import compare
from cospace.measures import heldout_r2, predictive_r2
from cospace.stats import Permutations
from cospace.stats.adjust import benjamini_hochberg, holm, max_statistic
from cospace.stats.closed_form import Invariants, permutation_moments


@pytest.mark.parametrize("kind", ["similarity", "distance"])
@pytest.mark.parametrize("n", [3, 30])
def test_p_is_never_zero(kind, n):
    """Fault: p = 0 where no shuffle reached the value."""
    shuffles = Permutations.of(n, 99, rng=np.random.default_rng(0))
    draws = np.zeros(len(shuffles))
    value = 9.0 if kind == "similarity" else -9.0
    least = 1 / 6 if n == 3 else 1 / 100
    assert shuffles.p(value, draws, kind) == pytest.approx(least)
    (searched,) = max_statistic([value], draws[:, None], kind, exact=n == 3, studentised=False)
    assert searched == pytest.approx(least)
    assert min(holm([least, 1.0]).min(), benjamini_hochberg([least, 1.0]).min()) > 0


def test_p_of_a_closed_form_is_never_zero():
    """Fault: p = 0, from a tail that ends or is too small for a float."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 5))
    gram = x @ x.T
    gram -= gram.mean(axis=0)[:, None] + gram.mean(axis=0)[None, :] - gram.mean()
    moments = permutation_moments(Invariants.of(gram), Invariants.of(gram))
    for value in (float(np.sum(gram * gram)), 1e3 * float(np.sum(gram * gram))):
        assert moments.p(value) > 0.0


def test_ties_count_as_at_least_as_alike():
    """Fault: strictly greater in place of greater or equal, so that a constant looks significant."""
    shuffles = Permutations.of(30, 99, rng=np.random.default_rng(2))
    draws = np.full(99, 0.25)
    assert shuffles.p(0.25, draws, "similarity") == shuffles.p(0.25, draws, "distance") == 1.0
    for studentised in (True, False):
        assert max_statistic(
            [0.25], draws[:, None], "similarity", studentised=studentised
        ).tolist() == [1.0]


def test_the_best_of_all_pairs_of_layers_is_corrected_for_the_choice():
    """Fault: the maximum over all pairs of layers, reported as if it had been the only one."""
    single, searched = 0, 0
    for repeat in range(200):
        rng = np.random.default_rng([3, repeat])
        draws = rng.normal(size=(99, 36)) + rng.normal(size=(99, 1))
        values = rng.normal(size=36) + rng.normal()
        single += (1 + (draws >= values).sum(axis=0)).min() <= 5
        searched += max_statistic(values, draws, "similarity").min() <= 0.05
    assert single > 50
    assert searched <= 20


def test_a_fit_of_shuffled_rows_stands_beside_the_fit():
    """Fault: a supervised fit of shuffled labels fits as well, and nobody looked."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(40, 25)), rng.normal(size=(40, 3))
    assert predictive_r2(x, y) > 0.4
    assert heldout_r2(x, y) < 0.1
    cells = compare(
        {"a": x, "b": y}, ["predictive_r2", "heldout_r2"], permutations=19, permute_fits=True, rng=0
    ).cells
    forward = {cell.measure: cell for cell in cells if cell.source == "a"}
    assert forward["predictive_r2"].null_mean > 0.4  # shuffled rows fit as well
    assert forward["predictive_r2"].p > 0.05
    assert forward["heldout_r2"].null_mean < 0.1
    assert forward["heldout_r2"].held_out
