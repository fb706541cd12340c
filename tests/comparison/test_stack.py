"""The grid as one product: equal to pair by pair and to the plain functions."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest

from cospace.comparison.pairwise import Pairwise
from cospace.comparison.stack import Dense, Sparse, Triangle, stack
from cospace.errors import UndefinedMeasureError
from cospace.measures import CATALOGUE, Measure, find
from cospace.space import Space
from cospace.stats import Permutations, Weights
from cospace.summaries import Relation

RELATIONAL = [m for m in CATALOGUE if m.relation is not None]


def quiet():
    pass


def spaces(n=36, seed=0, widths=(3, 50, 8, 20)):
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 3))
    return [
        Space(
            latent @ rng.standard_normal((3, d)) + rng.standard_normal((n, d)) + 2.0, name=f"s{d}"
        )
        for d in widths
    ]


def shuffles(n=36, draws=5):
    return Permutations.of(n, draws, rng=np.random.default_rng(1))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("measure", RELATIONAL, ids=lambda m: m.name)
def test_one_product_equals_pair_by_pair_equals_the_function(measure, dtype):
    some = [replace(s, rows=s.rows.astype(dtype)) for s in spaces()]
    drawn = shuffles()
    stacked = stack(measure, some, quiet)
    values, draws = stacked.values(), stacked.null(drawn, quiet)
    pairs = [(i, j) for i in range(4) for j in range(4) if i != j]
    paired = Pairwise(some).score(measure, pairs, drawn, quiet)
    assert draws.shape == (5, 4, 4)
    for i, j in pairs:
        x, y = some[i].rows, some[j].rows
        assert values[i, j] == pytest.approx(measure(x, y), abs=1e-12)
        assert paired[i, j].value == pytest.approx(measure(x, y), abs=1e-12)
        a, b = (i, j) if i < j else (j, i)
        for draw, order in enumerate(drawn.orders):
            expected = measure(some[a].rows, some[b].rows[order])
            assert draws[draw, i, j] == pytest.approx(expected, abs=1e-6)
            assert paired[i, j].null.draws[draw] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["mutual_knn", "nearest_match"])
def test_few_neighbours_among_many_rows_have_one_null_a_pair(name):
    """Kept sparse, the lists are shuffled as where they are kept whole: the later space of a pair."""
    measure = find(name, CATALOGUE)
    some, drawn = spaces(n=300), shuffles(n=300, draws=3)
    draws = stack(measure, some, quiet).null(drawn, quiet)
    assert isinstance(stack(measure, some, quiet), Sparse)
    for i, j in itertools.combinations(range(4), 2):
        for draw, order in enumerate(drawn.orders):
            expected = measure(some[i].rows, some[j].rows[order])
            assert draws[draw, i, j] == draws[draw, j, i] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_entries_of_a_permuted_matrix(n):
    rng = np.random.default_rng(n)
    square = rng.standard_normal((n, n))
    square = square + square.T
    order = rng.permutation(n)
    moved = square[np.ix_(order, order)]
    rows, columns = np.triu_indices(n)
    above = square[rows, columns]
    assert (above[Relation.entries(order, "triangle")] == moved[rows, columns]).all()
    assert (above[Triangle.of(n).place] == square).all()
    assert (square.ravel()[Relation.entries(order, "square")] == moved.ravel()).all()


def test_weights_of_the_entries():
    counts = np.array([0.0, 1.0, 3.0], dtype=np.float32)
    assert Triangle.of(3).products(counts)[:, 0].tolist() == [0, 0, 0, 1, 3, 9]


def test_lists_of_neighbours_are_kept_sparse():
    found = stack(find("mutual_knn", CATALOGUE), spaces(200), quiet)
    assert isinstance(found, Sparse)
    assert found.columns.nnz == 4 * 200 * 10
    assert found.bootstrap(Weights.of(200, 3, rng=np.random.default_rng(0)), quiet) is None


def directed(rows):
    """Inner products with every row's own size divided out of its line: not symmetric."""
    square = rows @ rows.T
    return Relation.directed(square / np.abs(square).sum(axis=1, keepdims=True))


def of_directed(x, y):
    return directed(x).inner(directed(y))


DIRECTED = Measure(
    name="directed",
    title="Directed",
    function=of_directed,
    kind="similarity",
    bounds=(-1.0, 1.0),
    identical=1.0,
    symmetric=True,
    invariant_to=frozenset(),
    summary="For tests.",
    reference="here",
    cost="n² d",
    relation=directed,
)


def test_a_dense_directed_relation():
    some, drawn = spaces(), shuffles()
    found = stack(DIRECTED, some, quiet)
    assert isinstance(found, Dense)
    draws = found.null(drawn, quiet)
    assert found.values()[0, 2] == pytest.approx(of_directed(some[0].rows, some[2].rows))
    for draw, order in enumerate(drawn.orders):
        expected = of_directed(some[0].rows, some[2].rows[order])
        assert draws[draw, 0, 2] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["debiased_cka", "mutual_knn"])
@pytest.mark.parametrize("bad", [0, 2])
def test_a_space_without_a_relation_leaves_the_others_alone(name, bad):
    measure, some = find(name, CATALOGUE), spaces()
    good = [s for i, s in enumerate(some) if i != bad]
    some[bad] = Space(np.zeros((36, 4)), name="flat")
    found, alone = stack(measure, some, quiet), stack(measure, good, quiet)
    assert [reason is None for reason in found.reasons] == [i != bad for i in range(4)]
    keep = [i for i in range(4) if i != bad]
    assert found.values()[np.ix_(keep, keep)] == pytest.approx(alone.values(), abs=1e-12)
    weights = Weights.of(36, 3, rng=np.random.default_rng(0))
    samples = found.bootstrap(weights, quiet)
    if samples is not None:
        assert np.isfinite(samples).all()


def test_no_space_has_a_relation():
    flat = [Space(np.ones((9, 2)), name=name) for name in "ab"]
    with pytest.raises(UndefinedMeasureError, match=r"^All rows"):
        stack(find("linear_cka", CATALOGUE), flat, quiet)


def test_large_relations_are_summed_in_blocks():
    """More than one block of lines: the sums do not depend on how lines are cut."""
    measure, some = find("debiased_cka", CATALOGUE), spaces(400, widths=(3, 8))
    found = stack(measure, some, quiet)
    order = np.random.default_rng(0).permutation(400)
    draws = found.null(Permutations((order,), exact=False), quiet)
    expected = measure(some[0].rows, some[1].rows[order])
    assert draws[0, 0, 1] == pytest.approx(expected, abs=1e-6)
    assert found.values()[0, 1] == pytest.approx(measure(some[0].rows, some[1].rows), abs=1e-12)


def test_bootstrap_samples_equal_weighted_sums():
    measure, some = find("rsa_pearson", CATALOGUE), spaces(20)
    found = stack(measure, some, quiet)
    weights = Weights.of(20, 4, rng=np.random.default_rng(2))
    samples = found.bootstrap(weights, quiet)
    rows, columns = np.triu_indices(20)
    for draw, counts in enumerate(weights.counts):
        w = counts[rows] * counts[columns]
        a, b = found.columns[:, 0], found.columns[:, 2]
        expected = (w * a * b).sum() / np.sqrt((w * a * a).sum() * (w * b * b).sum())
        assert samples[draw, 0, 2] == pytest.approx(expected, abs=1e-6)
    assert np.diagonal(samples, axis1=1, axis2=2) == pytest.approx(1.0, abs=1e-12)


def test_biased_cka_and_neighbours_have_no_interval():
    weights = Weights.of(36, 4, rng=np.random.default_rng(2))
    for name in ("linear_cka", "mutual_knn"):
        assert stack(find(name, CATALOGUE), spaces(), quiet).bootstrap(weights, quiet) is None
    no_samples = Weights.of(36, 0, rng=np.random.default_rng(2))
    found = stack(find("debiased_cka", CATALOGUE), spaces(), quiet)
    assert found.bootstrap(no_samples, quiet) is None


def test_relations_are_made_in_threads_and_progress_is_told_in_one():
    seen = []
    stack(find("linear_cka", CATALOGUE), spaces(), lambda: seen.append(threading.get_ident()))
    assert seen == [threading.get_ident()] * 4


def rv_mean(x, y):
    """Mean of the RV coefficient over all permutations (Kazi-Aoual et al. 1995)."""
    n = len(x)

    def complexity(z):
        k = (z - z.mean(0)) @ (z - z.mean(0)).T
        return np.trace(k) ** 2 / np.trace(k @ k)

    return np.sqrt(complexity(x) * complexity(y)) / (n - 1)


def test_null_of_linear_cka_has_the_mean_known_in_closed_form():
    some = spaces(40, widths=(5, 30))
    x, y = (s.rows for s in some)
    drawn = Permutations.of(40, 4000, rng=np.random.default_rng(0))
    draws = stack(find("linear_cka", CATALOGUE), some, quiet).null(drawn, quiet)[:, 0, 1]
    error = draws.std() / np.sqrt(len(draws))
    assert abs(draws.mean() - rv_mean(x, y)) < 4 * error
    assert error < 0.001


def test_exact_null_of_linear_cka_has_exactly_that_mean():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((5, 2)), rng.standard_normal((5, 3))
    some = [Space(x, name="x"), Space(y, name="y")]
    drawn = Permutations.of(5, 199, rng=rng)
    assert drawn.exact
    draws = stack(find("linear_cka", CATALOGUE), some, quiet).null(drawn, quiet)[:, 0, 1]
    assert draws.mean() == pytest.approx(rv_mean(x, y), abs=1e-6)


@pytest.mark.parametrize("name", ["debiased_cka", "rsa_pearson", "rsa_spearman"])
def test_exact_null_of_unbiased_measures_has_mean_zero(name):
    rng = np.random.default_rng(0)
    some = [Space(rng.standard_normal((5, d)), name=str(d)) for d in (3, 4)]
    drawn = Permutations.of(5, 199, rng=rng)
    draws = stack(find(name, CATALOGUE), some, quiet).null(drawn, quiet)[:, 0, 1]
    assert draws.mean() == pytest.approx(0.0, abs=1e-6)


def test_null_of_mutual_neighbours():
    drawn = Permutations.of(60, 2000, rng=np.random.default_rng(0))
    draws = stack(find("mutual_knn", CATALOGUE), spaces(60), quiet).null(drawn, quiet)[:, 0, 1]
    assert abs(draws.mean() - 10 / 59) < 4 * draws.std() / np.sqrt(2000)
