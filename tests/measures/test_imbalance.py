from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures.imbalance import MEASURES, Ranks, imbalance_of, information_imbalance
from cospace.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_claims(measure):
    assert check_measure(measure, rng=3) is None


def delta(x, y):
    """2 / n times the mean rank, from 1, in y of the nearest neighbour in x."""
    n = len(x)
    a, b = cdist(x, x), cdist(y, y)
    np.fill_diagonal(a, np.inf)
    np.fill_diagonal(b, np.inf)
    ranks = np.array([rankdata(line) for line in b])
    return 2 / n * ranks[np.arange(n), a.argmin(axis=1)].mean()


@pytest.mark.parametrize("n", [3, 4, 40, 61])
def test_equals_the_published_formula_but_for_the_first_rank(pair, n):
    x, y = pair(n=n)
    for a, b in ((x, y), (y, x), (x, x)):
        assert (2 + (n - 2) * information_imbalance(a, b)) / n == pytest.approx(delta(a, b))


def test_identical_is_0_and_chance_is_1():
    rng = np.random.default_rng(0)
    values = [information_imbalance(*rng.normal(size=(2, 12, 3))) for _ in range(300)]
    assert np.mean(values) == pytest.approx(1.0, abs=3 * np.std(values) / 300**0.5)
    x = rng.normal(size=(12, 3))
    assert information_imbalance(x, x) == 0.0


def test_a_part_is_told_by_the_whole():
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(300, 2))
    part = whole[:, :1]
    assert information_imbalance(whole, part) < 0.6 * information_imbalance(part, whole)


def test_repeated_rows_are_all_nearest():
    """Where two rows are nearest, both count, and the order of rows does not."""
    x = np.array([[0.0], [1.0], [1.0], [5.0], [9.0]])
    y = np.array([[0.0], [1.0], [4.0], [9.0], [20.0]])
    # Row 0: rows 1 and 2 are nearest, of rank 0 and 1; rows 1 and 2: each other, of rank 1 and 0;
    # row 3: row 1, 2 or 4 at distance 4, of rank 1, 0 and 3; row 4: row 3, of rank 0.
    expected = 2 / 3 * (0.5 + 1 + 0 + 4 / 3 + 0) / 5
    assert information_imbalance(x, y) == pytest.approx(expected)
    order = [3, 0, 4, 2, 1]
    assert information_imbalance(x[order], y[order]) == pytest.approx(expected)
    assert information_imbalance(x, x) == 0.0


def test_opposed_spaces_are_beyond_chance():
    x = np.array([[0.0], [1.0], [10.0], [11.0]])
    y = np.array([[0.0], [11.0], [1.5], [10.0]])
    assert information_imbalance(x, y) > 1.0


def test_permuting_twice_is_permuting_once(pair):
    x, y = pair()
    rng = np.random.default_rng(0)
    a, b = rng.permutation(40), rng.permutation(40)
    twice = Ranks.of(y).permuted(a).permuted(b)
    assert imbalance_of(Ranks.of(x), twice) == information_imbalance(x, y[a][b])
    assert imbalance_of(Ranks.of(x).permuted(a), twice) == information_imbalance(x[a], y[a][b])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x: information_imbalance(x[:2], x[:2]),
            UndefinedMeasureError,
            "Ranks of neighbours need at least 3 rows, got 2",
        ),
        (
            lambda x: information_imbalance(np.eye(9), np.eye(9)),
            UndefinedMeasureError,
            "All rows are equally near: there are no neighbours",
        ),
        (
            lambda x: imbalance_of(Ranks.of(x), Ranks.of(x[:30])),
            InputError,
            "Ranks of 40 and 30 rows cannot be compared",
        ),
    ],
)
def test_refusals(pair, call, error, text):
    with pytest.raises(error, match=text):
        call(pair()[0])
