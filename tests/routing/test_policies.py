"""Rules of choosing, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError
from cospace.routing.crossfit import known
from cospace.routing.policies import argmax, mcnemar, of_choice, paired, score
from cospace.routing.pool import Pool
from cospace.stats.resampling import Weights


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 1, 2 * (1 + 6) / 64),
        (1, 5, 2 * (1 + 6) / 64),
        (10, 2, 2 * (1 + 12 + 66) / 4096),
        (3, 3, 1.0),
        (0, 6, 2 / 64),
    ],
)
def test_mcnemar_by_hand(gained, lost, p):
    assert mcnemar(gained, lost) == pytest.approx(p, abs=1e-14)


def test_numbers_below_zero_are_no_items():
    with pytest.raises(InputError, match="-1 gained and 2 lost items: numbers from 0"):
        mcnemar(-1, 2)


def test_the_strongest_wins_a_tie():
    p = np.array([[0.3, 0.3, 0.2], [0.1, 0.2, 0.2], [0.5, 0.1, 0.4]])
    assert argmax(p, np.array([1, 2, 1])).tolist() == [1, 2, 0]


def test_a_score_by_hand():
    correct = np.array([[1, 0], [1, 1], [0, 1], [0, 1], [0, 0]], bool)
    strongest = of_choice(correct, np.array([1, 1, 1, 1, 1]))
    router = of_choice(correct, np.array([0, 1, 1, 0, 0]))
    assert strongest.tolist() == [0, 1, 1, 1, 0]
    assert router.tolist() == [1, 1, 1, 0, 0]
    counts = Weights.of(5, 400, rng=np.random.default_rng(0)).counts
    found = score(router, strongest, counts, policy="router", headroom=0.2, features="prompt")
    assert (found.accuracy, found.difference, found.gained, found.lost) == (0.6, 0.0, 1, 1)
    assert found.p == 1.0
    assert found.share_of_headroom == 0.0
    samples = counts @ router / 5
    assert (found.low, found.high) == tuple(np.quantile(samples, [0.025, 0.975]))
    drawn = score(correct.mean(axis=1), strongest, counts, policy="random", headroom=0.0)
    assert (drawn.accuracy, drawn.p, drawn.gained, drawn.share_of_headroom) == (
        0.5,
        None,
        None,
        None,
    )
    both = paired(router, strongest, counts)
    assert (both.difference, both.gained, both.lost, both.p) == (0.0, 1, 1, 1.0)


def test_samples_of_items_of_unequal_number_are_divided_by_their_own():
    counts = np.tile([[2, 0], [1, 3]], (30, 1))
    found = score(np.array([1.0, 0.0]), np.zeros(2), counts, policy="router", headroom=0.5)
    assert (found.low, found.high) == (0.25, 1.0)


def test_strongest_and_lookup_come_from_other_folds():
    """Fault: a rule that is chosen on the items that it is scored on."""
    correct = np.zeros((40, 2), bool)
    fold = np.repeat([0, 1], 20)
    groups = np.tile(["a", "b"], 20)
    correct[(fold == 0), 0] = True  # the first model is right in fold 0 alone
    correct[(fold == 1) & (groups == "a"), 1] = True
    found = known(Pool(("x", "y"), tuple(map(str, range(40))), correct, tuple(groups)), fold)
    assert found.strongest[fold == 0].tolist() == [1] * 20
    assert found.strongest[fold == 1].tolist() == [0] * 20
    assert set(found.lookup[(fold == 0) & (groups == "a")]) == {1}
    # in b both have nothing right in fold 1: the strongest wins the tie
    assert set(found.lookup[(fold == 0) & (groups == "b")]) == {1}
    assert found.base[(fold == 0) & (groups == "a")].tolist() == [[0.0, 1.0]] * 10
    assert found.base[(fold == 1) & (groups == "b")].tolist() == [[1.0, 0.0]] * 10


def test_a_group_without_training_rows_goes_to_the_strongest():
    correct = np.zeros((40, 2), bool)
    correct[:, 1] = True
    groups = ("a",) * 20 + ("b",) * 20
    found = known(
        Pool(("x", "y"), tuple(map(str, range(40))), correct, groups), np.repeat([0, 1], 20)
    )
    assert set(found.lookup) == {1}
    assert found.base.tolist() == [[0.0, 1.0]] * 40
