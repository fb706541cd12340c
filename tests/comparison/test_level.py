"""Planted nulls and signals: p-values keep their level, intervals cover, searches are corrected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, kstest

from cospace.comparison import compare
from cospace.comparison.stack import stack
from cospace.measures import CATALOGUE, find
from cospace.space import Space
from cospace.stats import Weights

REPEATS = 200


def quiet():
    pass


def most(level, repeats=REPEATS):
    """Rejections that a test of that level exceeds once in a thousand."""
    return int(binom.ppf(0.999, repeats, level))


@pytest.fixture(scope="module")
def independent():
    """p of four measures over repeated pairs of independent Gaussian arrays."""
    names = [
        "linear_cka",
        "rsa_spearman",
        "mutual_knn",
        "procrustes_distance",
    ]
    p: dict[str, list[float]] = {name: [] for name in names}
    for repeat in range(REPEATS):
        rng = np.random.default_rng([7, repeat])
        arrays = {"a": rng.standard_normal((16, 3)), "b": rng.standard_normal((16, 5))}
        result = compare(arrays, names, permutations=19, permute_fits=True, rng=repeat)
        for cell in result.cells:
            if cell.source == "a":
                p[cell.measure].append(cell.p)
    return p


@pytest.mark.parametrize(
    "name",
    [
        "linear_cka",
        "rsa_spearman",
        "mutual_knn",
        "procrustes_distance",
    ],
)
def test_p_of_independent_spaces_is_uniform(independent, name):
    p = np.asarray(independent[name])
    for level in (0.05, 0.1, 0.25, 0.5):
        assert (p <= level + 1e-12).sum() <= most(level)
    assert p.min() == 0.05  # of 19 shuffles and the value itself
    if name != "mutual_knn":  # ties count there, so that p leans upwards
        spread = np.random.default_rng(0).uniform(-0.05, 0.0, len(p))
        assert kstest(p + spread, "uniform").pvalue > 0.001


def grid(rng, *, sites=4, n=16, signal=0.0):
    """Two models of several sites whose noise differs; they share a signal at one site each."""
    shared = rng.standard_normal((n, 3))
    spaces = []
    for model in "ab":
        base = rng.standard_normal((n, 6))
        for at in range(sites):
            rows = 0.7 * base + rng.standard_normal((n, 6)) * (1 + at / 2)
            if at == 2:
                rows[:, :3] += signal * shared
            facts = {"model": model, "site": f"block.{at}", "depth": at / (sites - 1)}
            spaces.append(Space(rows, name=f"{model}{at}", facts=facts))
    return spaces


def smallest(result):
    cells = [c for c in result.cells if (c.source[0], c.target[0]) == ("a", "b")]
    return min(c.p for c in cells), min(c.p_search for c in cells)


def test_the_best_of_many_sites_keeps_its_level_only_when_corrected():
    found = []
    for repeat in range(REPEATS):
        rng = np.random.default_rng([11, repeat])
        result = compare(grid(rng), ["debiased_cka"], permutations=19, rng=repeat)
        found.append(smallest(result))
    single, searched = np.asarray(found).T
    assert (single <= 0.05).sum() > 2 * most(0.05)  # the best of 16 cells, not corrected
    assert (searched <= 0.05).sum() <= most(0.05)
    assert (searched <= 0.25).sum() <= most(0.25)
    assert (searched <= 0.05).sum() >= int(binom.ppf(0.001, REPEATS, 0.05))  # nor is it idle


def test_a_shared_signal_is_found_after_correction():
    found = []
    for repeat in range(25):
        rng = np.random.default_rng([13, repeat])
        result = compare(grid(rng, n=40, signal=3.0), ["debiased_cka"], permutations=19, rng=repeat)
        found.append(smallest(result)[1])
    assert np.mean(np.asarray(found) <= 0.05) > 0.9


def test_shuffles_within_groups_take_the_groups_own_likeness_off():
    """Spaces that share nothing but the groups' centres: alike, but not more than the groups."""
    free, inside = [], []
    for repeat in range(60):
        rng = np.random.default_rng([17, repeat])
        groups = tuple("abcd"[i % 4] for i in range(24))
        at = np.array(["abcd".index(g) for g in groups])
        spaces = [
            Space(
                3 * rng.standard_normal((4, 5))[at] + rng.standard_normal((24, 5)),
                name=name,
                groups=groups,
            )
            for name in "xy"
        ]
        for within, found in ((False, free), (True, inside)):
            result = compare(spaces, ["debiased_cka"], permutations=19, within=within, rng=repeat)
            found.append(result.cells[0].p)
    assert np.mean(np.asarray(free) <= 0.05) > 0.8
    assert (np.asarray(inside) <= 0.05).sum() <= most(0.05, 60)


MIX = np.random.default_rng(99)
TO_X, TO_Y = MIX.standard_normal((6, 12)), MIX.standard_normal((6, 8))
LATENT = np.array([3.0, 2.0, 1.5, 1.0, 1.0, 1.0])


def population(rng, n, strength):
    """Two noisy views of six hidden directions."""
    z = rng.standard_normal((n, 6)) * LATENT
    x = z @ TO_X + 1.5 * rng.standard_normal((n, 12))
    return x, strength * z @ TO_Y + 2.0 * rng.standard_normal((n, 8))


@pytest.mark.parametrize(
    ("name", "strength"),
    [
        ("debiased_cka", 0.25),
        ("debiased_cka", 3.0),
        ("rsa_pearson", 0.8),
        ("rsa_spearman", 0.25),
        ("rsa_spearman", 3.0),
        ("rsa_cosine", 0.8),
        ("rsa_euclidean", 3.0),
        ("debiased_rbf_cka", 0.25),
        ("debiased_rbf_cka", 3.0),
        ("debiased_polynomial_cka", 0.8),
    ],
)
def test_bootstrap_intervals_cover_the_population(name, strength):
    n, repeats = 100, 120
    measure = find(name, CATALOGUE)
    rng = np.random.default_rng(5)
    truth = np.mean([measure(*population(rng, 1000, strength)) for _ in range(6)])
    values, spreads, covered = [], [], 0
    for _ in range(repeats):
        spaces = [Space(rows, name="s") for rows in population(rng, n, strength)]
        stacked = stack(measure, spaces, quiet)
        samples = stacked.bootstrap(Weights.of(n, 200, rng=rng), quiet)[:, 0, 1]
        low, high = np.quantile(samples, [0.025, 0.975])
        values.append(stacked.values()[0, 1])
        spreads.append(samples.std())
        covered += low <= truth <= high
    assert np.mean(spreads) == pytest.approx(np.std(values), rel=0.25)
    assert covered >= 0.88 * repeats


def test_mahalanobis_distances_have_no_interval():
    """Their covariance is shrunk the less the more rows there are, and the value falls with it."""
    rng = np.random.default_rng(5)
    measure = find("rsa_mahalanobis", CATALOGUE)
    few, many = (np.mean([measure(*population(rng, n, 3.0)) for _ in range(8)]) for n in (60, 1000))
    assert few > many + 0.05
    stacked = stack(measure, [Space(rows) for rows in population(rng, 60, 3.0)], quiet)
    assert stacked.bootstrap(Weights.of(60, 9, rng=rng), quiet) is None


def test_bootstrap_intervals_of_independent_spaces_hold_zero():
    """There the first order vanishes, and the interval is too wide rather than too narrow."""
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(100):
        arrays = {"a": rng.standard_normal((50, 4)), "b": rng.standard_normal((50, 6))}
        cell = compare(arrays, ["debiased_cka"], permutations=1).cells[0]
        held += cell.low <= 0.0 <= cell.high
    assert held >= 95
