"""Permutation moments in closed form, against all permutations and against shuffles."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import norm, pearson3

from cospace.entries import Sums, cubed_trace
from cospace.errors import UndefinedMeasureError
from cospace.measures.relational import rsa_relation
from cospace.stats.closed_form import (
    Invariants,
    MomentTable,
    PermutationMoments,
    _patterns,
    permutation_moments,
)
from cospace.summaries import Gram


def symmetric(rng, n, kind):
    if kind == "gram":
        x = rng.standard_normal((n, 3))
        x -= x.mean(0)
        return x @ x.T
    m = rng.standard_normal((n, n))
    m += m.T
    if kind == "hollow":
        np.fill_diagonal(m, 0.0)
    if kind == "offset":
        m += 1e3
    return m


@pytest.mark.parametrize("kind", ["any", "gram", "hollow", "offset"])
@pytest.mark.parametrize("n", [6, 7])
def test_moments_equal_those_of_all_permutations(n, kind):
    rng = np.random.default_rng(n)
    a, b = symmetric(rng, n, kind), symmetric(rng, n, kind)
    orders = [np.array(p) for p in permutations(range(n))]
    values = np.array([np.sum(a * b[np.ix_(p, p)]) for p in orders])
    moments = permutation_moments(Invariants.of(a), Invariants.of(b))
    centred = values - values.mean()
    scale = np.abs(values).max()
    assert abs(moments.mean - values.mean()) < 1e-12 * scale
    # The plain moments of the offset values lose digits to the offset; the closed form does not.
    assert moments.sd == pytest.approx(values.std(), rel=1e-9)
    assert moments.skewness == pytest.approx((centred**3).mean() / values.std() ** 3, abs=1e-8)


def index_sum(matrix, pattern):
    """Sum of a product of entries over all indices, as it is written."""
    letters = "abcdef"
    edges = [letters[i] + letters[j] for i, j in zip(pattern[::2], pattern[1::2], strict=True)]
    return np.einsum(",".join(edges) + "->", *[matrix] * len(edges), optimize="greedy")


@pytest.mark.parametrize("kind", ["any", "gram", "hollow"])
def test_every_pattern_is_the_sum_that_it_names(kind):
    matrix = symmetric(np.random.default_rng(3), 11, kind)
    matrix -= (matrix.sum() - np.trace(matrix)) / 110
    np.fill_diagonal(matrix, np.diagonal(matrix) - np.trace(matrix) / 11)
    found = Invariants.of_sums((0.0, 0.0), Sums.of(matrix))
    assert [len(_patterns(order)) for order in (2, 3)] == [7, 23]
    for order, sums in ((2, found.second), (3, found.third)):
        size = np.linalg.norm(matrix) ** order
        for pattern, value in zip(_patterns(order), sums, strict=True):
            assert value == pytest.approx(index_sum(matrix, pattern), rel=1e-10, abs=1e-12 * size)


@pytest.mark.parametrize("n", [1, 5, 192, 500])
def test_the_trace_of_the_cube_by_tiles(n):
    matrix = symmetric(np.random.default_rng(n), n, "any")
    expected = float((np.linalg.eigvalsh(matrix) ** 3).sum())
    assert cubed_trace(matrix) == pytest.approx(expected, rel=1e-9, abs=1e-9 * n**1.5)


def test_a_divided_matrix_has_the_sums_of_the_quotient():
    matrix = symmetric(np.random.default_rng(0), 9, "any")
    whole = Invariants.of(matrix)
    rest = matrix - whole.means[0]
    np.fill_diagonal(rest, np.diagonal(matrix) - whole.means[1])
    part, direct = Invariants.of_sums(whole.means, Sums.of(rest), 7.0), Invariants.of(matrix / 7)
    assert part.means == pytest.approx(direct.means)
    assert part.second == pytest.approx(direct.second, abs=1e-12)
    assert part.third == pytest.approx(direct.third, abs=1e-12)


@pytest.mark.parametrize("kind", ["cka", "debiased", "rsa"])
def test_moments_and_tail_equal_those_of_shuffles(kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 5))
    y = rng.standard_normal((60, 8)) * np.linspace(1, 3, 8)
    a, b = (matrix(rows, kind) for rows in (x, y))
    moments = permutation_moments(Invariants.of(a), Invariants.of(b))
    draws = []
    for _ in range(20000):
        p = rng.permutation(60)
        draws.append(np.sum(a * b[np.ix_(p, p)]))
    draws = np.array(draws)
    assert abs(moments.mean - draws.mean()) < 4 * moments.sd / np.sqrt(len(draws))
    assert moments.sd == pytest.approx(draws.std(), rel=0.03)
    skewness = ((draws - draws.mean()) ** 3).mean() / draws.std() ** 3
    assert moments.skewness == pytest.approx(skewness, abs=0.12)
    for level in (0.1, 0.01):
        at = np.quantile(draws, 1 - level)
        assert moments.p(at) == pytest.approx(level, rel=0.25)


def matrix(rows, kind):
    if kind == "rsa":
        relation = rsa_relation(rows, "pearson")
        square = np.zeros((len(rows), len(rows)))
        square[np.triu_indices(len(rows))] = relation.vector / np.sqrt(2)
        return square + square.T
    gram = Gram.of(rows)
    square = gram.k if kind == "cka" else gram.u_centred()
    return square / np.linalg.norm(square)


def test_few_rows_are_refused():
    with pytest.raises(
        UndefinedMeasureError, match="at least 6 rows, got 5: list the permutations"
    ):
        Invariants.of(np.eye(5))


def test_a_statistic_that_no_permutation_changes_has_p_1():
    ones = np.ones((8, 8))
    moments = permutation_moments(Invariants.of(ones), Invariants.of(ones))
    assert moments == PermutationMoments(64.0, 0.0, 0.0, n=8)
    assert moments.p(64.0) == 1.0


def test_far_tails_claim_no_more_than_three_moments_can():
    assert PermutationMoments(0.0, 1.0, 0.1).p(50.0) == 1e-6


def test_a_table_of_moments_holds_those_of_every_pair():
    rng = np.random.default_rng(5)
    made = [Invariants.of(symmetric(rng, 20, kind)) for kind in ("any", "gram", "hollow")]
    table = MomentTable.of(made)
    for i, a in enumerate(made):
        for j, b in enumerate(made):
            alone, found = permutation_moments(a, b), table.at(i, j)
            assert found.mean == pytest.approx(alone.mean, rel=1e-12, abs=1e-12)
            assert found.sd == pytest.approx(alone.sd, rel=1e-12)
            assert found.skewness == pytest.approx(alone.skewness, rel=1e-9)


@pytest.mark.parametrize("skewness", [-2.0, -0.3, -1e-4, -1e-6, 0.0, 1e-7, 2e-5, 0.01, 0.4, 3.0])
@pytest.mark.parametrize("z", [-3.0, -0.5, 0.0, 1.0, 2.5, 4.0])
def test_the_tail_is_that_of_the_pearson_type_iii_distribution(z, skewness):
    found = PermutationMoments(2.0, 0.5, skewness).p(2.0 + 0.5 * z)
    expected = max(pearson3.sf(z, skewness), 1e-6)
    if skewness < 0:
        expected = max(expected, norm.sf(z))
    assert found == pytest.approx(expected, rel=1e-4)


def test_no_value_is_impossible_where_the_skewness_is_negative():
    # The Pearson type III distribution of this skewness ends one standard deviation above its mean.
    assert PermutationMoments(0.0, 1.0, -2.0).p(1.01) == pytest.approx(norm.sf(1.01))


def test_moments_of_few_rows_give_no_p():
    moments = PermutationMoments(0.0, 1.0, 0.5, n=11)
    assert moments.p(3.0) is None
    assert moments.untold == (
        "11 rows have too few orders for p from mean, spread and skewness, at least 12 are needed: "
        "shuffle instead (--permutations 999)"
    )
    assert PermutationMoments(0.0, 1.0, 0.5, n=12).untold is None


def test_the_share_of_the_largest_row_decides_whether_there_is_a_p():
    # The rest has the entries +-1 on a line, of which the first row meets all and the others one.
    star = np.zeros((16, 16))
    star[0, 1:] = star[1:, 0] = np.where(np.arange(15) < 7, 1.0, -1.0)
    star -= (star.sum() / 240) * (1 - np.eye(16))
    squares = (star**2).sum(axis=1)
    made = Invariants.of(star)
    assert made.largest == pytest.approx(squares.max() / squares.sum())
    moments = permutation_moments(made, made)
    assert moments.meeting == pytest.approx(16 * made.largest**2)
    assert moments.p(moments.mean + 3 * moments.sd) is None
    assert moments.untold == (
        "single rows hold so much of both spaces that mean, spread and skewness do not give p: "
        "shuffle instead (--permutations 999)"
    )
    even = Invariants.of(matrix(np.random.default_rng(0).standard_normal((16, 8)), "cka"))
    assert permutation_moments(even, even).untold is None


def test_a_relation_without_a_rest_has_no_largest_row():
    assert Invariants.of(np.ones((8, 8))).largest == 0.0
