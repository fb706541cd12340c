"""Noise ceilings: against spaces whose reliability is known."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures import CATALOGUE, Measure, debiased_cka, find, linear_cka
from cospace.stats.ceiling import Ceiling, split_half_ceiling

CKA = find("debiased_cka", CATALOGUE)


def squared_distances(x):
    above = np.triu_indices(len(x), 1)
    return np.sum((x[above[0]] - x[above[1]]) ** 2, axis=1)


def rsa_squared(x, y):
    return float(np.corrcoef(squared_distances(x), squared_distances(y))[0, 1])


def similarity(function, name="own"):
    return Measure(
        name=name,
        title=name,
        function=function,
        kind="similarity",
        bounds=(-1.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=frozenset(),
        summary="A sum over coordinates.",
        reference="none",
        cost="n² d",
    )


RSA = similarity(rsa_squared)


def sampled(seed, width, *, n=50, noise=1.0):
    """Random exchangeable coordinates that read three hidden directions, and the latter."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    return z @ rng.normal(size=(3, width)) + noise * rng.normal(size=(n, width)), z


@pytest.mark.parametrize("width", [12, 41])
@pytest.mark.parametrize("measure", [CKA, RSA], ids=["cka", "rsa"])
def test_it_is_the_squared_likeness_to_what_all_coordinates_would_say(measure, width):
    """Reliability: the squared correlation with the sum over infinitely many coordinates."""
    ceilings, truths = [], []
    for seed in range(60):
        x, z = sampled(seed, width)
        ceilings.append(split_half_ceiling(x, measure, rng=np.random.default_rng(seed)).corrected)
        truths.append(measure(x, z) ** 2)
    assert np.mean(truths) < 0.9
    assert np.mean(ceilings) == pytest.approx(np.mean(truths), abs=0.04)


def test_of_twice_the_width_it_is_what_spearman_and_brown_foretell():
    few, many = [], []
    for seed in range(60):
        x, _ = sampled(seed, 24)
        rng = np.random.default_rng(seed)
        few.append(split_half_ceiling(x[:, :12], RSA, rng=rng).corrected)
        many.append(split_half_ceiling(x, RSA, rng=rng).halves)
    assert np.mean(few) == pytest.approx(np.mean(many), abs=0.03)


def test_two_spaces_that_differ_in_noise_alone_reach_their_ceiling():
    values, ceilings = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(50, 3))
        x, y = (
            z @ rng.normal(size=(3, d)) + s * rng.normal(size=(50, d))
            for d, s in ((14, 1), (30, 2))
        )
        a, b = (split_half_ceiling(rows, RSA, rng=rng) for rows in (x, y))
        values.append(rsa_squared(x, y))
        ceilings.append(a.of_pair(b))
    assert np.mean(values) == pytest.approx(np.mean(ceilings), abs=0.04)


def test_biased_measures_set_the_ceiling_too_high():
    x, z = sampled(0, 30, n=20, noise=4.0)
    biased = find("linear_cka", CATALOGUE)
    found = split_half_ceiling(x, biased, rng=np.random.default_rng(0)).corrected
    assert found > debiased_cka(x, z) ** 2 + 0.2
    assert found > linear_cka(x, z) ** 2


def test_definition():
    x, _ = sampled(3, 7)
    rng = np.random.default_rng(5)
    values = []
    for _ in range(4):
        order = rng.permutation(7)
        values.append(rsa_squared(x[:, order[:3]], x[:, order[3:6]]))
    r = np.mean(values)
    found = split_half_ceiling(x, RSA, splits=4, rng=np.random.default_rng(5))
    assert found == Ceiling(pytest.approx(r), pytest.approx(2 * r / (1 + r)), 4)


def test_the_order_of_rows_and_the_library_of_the_array_do_not_matter():
    x, _ = sampled(4, 10)
    expected = split_half_ceiling(x, CKA, rng=np.random.default_rng(0))
    for rows in (x[::-1].copy(), torch.asarray(x)):
        found = split_half_ceiling(rows, CKA, rng=np.random.default_rng(0))
        assert found.halves == pytest.approx(expected.halves, abs=1e-12)


make = partial(split_half_ceiling, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: make(np.eye(9), find("procrustes_distance", CATALOGUE)),
            InputError,
            "procrustes_distance is a distance: a ceiling by split halves needs a similarity",
        ),
        (lambda: make(np.eye(9), CKA, splits=0), InputError, "0 splits were asked for"),
        (
            lambda: make(np.arange(9.0)[:, None], CKA),
            UndefinedMeasureError,
            "A space of width 1 has no halves: at least 2 coordinates are needed",
        ),
        (
            lambda: make(np.arange(18.0).reshape(9, 2), similarity(lambda x, y: -0.25, "odd")),
            UndefinedMeasureError,
            r"odd of halves of the coordinates is -0\.25 on average: nothing in this space repeats",
        ),
        (
            lambda: make(np.ones((9, 4)), CKA),
            UndefinedMeasureError,
            "are the same: there is nothing",
        ),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()
