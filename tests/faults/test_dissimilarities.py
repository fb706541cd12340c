"""Kinds of fault that users of RSA have met."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from cospace.comparison import compare
from cospace.errors import UndefinedMeasureError
from cospace.measures import CATALOGUE, dissimilarities, find, rsa

RSA = [m for m in CATALOGUE if m.name.startswith("rsa_")]
BY_NAME = pytest.mark.parametrize("measure", RSA, ids=lambda m: m.name)


def peak_of(call):
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@BY_NAME
def test_five_texts_have_a_p_value(measure):
    """Fault: every p-value is NaN with five stimuli."""
    x, y = np.random.default_rng(0).normal(size=(2, 5, 6))
    for cell in compare({"a": x, "b": y}, [measure], permutations=200).cells:
        assert 1 / 120 <= cell.p <= 1
        assert math.isfinite(cell.null_mean)


@BY_NAME
def test_fewer_texts_than_a_value_needs_are_told(measure):
    """Fault: NaN where a minimum should have been stated."""
    x, y = np.random.default_rng(1).normal(size=(2, 2, 6))
    with pytest.raises(UndefinedMeasureError, match=r"RSA needs at least 3 rows .*, got 2"):
        measure(x, y)


@BY_NAME
def test_one_bad_space_does_not_stop_the_others(measure):
    """Fault: the same error for one region stops a whole search."""
    rng = np.random.default_rng(2)
    spaces = {name: rng.normal(size=(12, 4)) for name in "abc"}
    spaces["flat"] = np.ones((12, 4))
    cells = compare(spaces, [measure], permutations=0).cells
    for cell in cells:
        assert (cell.value is None) == ("flat" in (cell.source, cell.target))
        assert (cell.reason is None) == (cell.value is not None)


@BY_NAME
def test_memory_is_that_of_the_dissimilarities(measure):
    """Fault: contrast matrices of pairs by rows, or differences of every pair by coordinates."""
    n, d = 160, 200
    x, y = np.random.default_rng(3).normal(size=(2, n, d))
    measure(x[:20], y[:20])  # what is imported or cached once
    assert (
        peak_of(lambda: measure(x, y))
        < 8 * (16 * n * n + 6 * n * d + 4 * d * d)
        < 8 * n * n * d / 5
    )


def test_noise_takes_the_square_of_the_width():
    """Fault: 657 GiB for the noise of 1,800 rows of 7,000 coordinates."""
    n, d = 300, 80
    x = np.random.default_rng(4).normal(size=(n, d))
    peak = peak_of(lambda: dissimilarities(x, "mahalanobis"))
    assert peak < 8 * (8 * d * d + 8 * n * d + 6 * n * n) < 8 * n * d * d / 2


def test_spearman_takes_ranks_and_says_so():
    """Fault: documentation that leaves out the rank transform."""
    assert "ranks" in rsa.__doc__
    assert "rank" in find("rsa_spearman", CATALOGUE).summary
    x, y = np.random.default_rng(5).normal(size=(2, 30, 6))
    above = np.triu_indices(30, 1)
    a, b = (dissimilarities(rows)[above] for rows in (x, y))
    by_hand = np.corrcoef(np.argsort(np.argsort(a)), np.argsort(np.argsort(b)))[0, 1]
    assert rsa(x, y) == pytest.approx(by_hand, abs=1e-12)


def test_a_high_baseline_has_its_null_beside_it():
    """Fault: a cosine of dissimilarities that is high for any two spaces, reported alone."""
    x, y = np.random.default_rng(6).normal(size=(2, 40, 30))
    (cell, _) = compare({"a": x, "b": y}, ["rsa_whitened"], permutations=99, rng=0).cells
    assert cell.value > 0.2
    assert cell.null_mean == pytest.approx(cell.value, abs=0.1)
    assert cell.p > 0.01
