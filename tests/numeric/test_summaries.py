"""What is kept of one space: the same rows in another order, and what each summary promises."""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cospace._arrays import to_numpy
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError
from cospace.measures import CATALOGUE
from cospace.measures.canonical import mean_cca_of, pwcca_of, svcca_of
from cospace.measures.held_out import Folds, heldout_r2_of
from cospace.measures.relational import neighbor_relation, overlap_of, rsa_relation
from cospace.measures.second_order import cka_relation, debiased_relation
from cospace.summaries import Factor, Gram, Neighbors, Overlap, Relation, Rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 5)) + 1
Y = RNG.normal(size=(30, 7)) - 2
ORDER = RNG.permutation(30)


@pytest.fixture(params=[np.asarray, torch.asarray, array_api_strict.asarray])
def library(request):
    return request.param


# Permuted -----------------------------------------------------------------------------------------


def test_rows_permuted(library):
    np.testing.assert_array_equal(to_numpy(Rows(library(X)).permuted(ORDER).rows), X[ORDER])


def test_factor_permuted(library):
    a, b = Factor.of(library(X)).permuted(ORDER), Factor.of(library(X[ORDER]))
    (ua, sa, va), (ub, sb, vb) = ([to_numpy(part) for part in (f.u, f.s, f.v)] for f in (a, b))
    np.testing.assert_allclose((ua * sa) @ va.T, (ub * sb) @ vb.T, atol=1e-12)
    assert (a.n, a.rank) == (30, 5)


def test_gram_permuted(library):
    a, b = Gram.of(library(X)).permuted(ORDER), Gram.of(library(X[ORDER]))
    np.testing.assert_allclose(to_numpy(a.k), to_numpy(b.k), atol=1e-12)


def test_neighbors_permuted():
    a, b = Neighbors.of(X, 4).permuted(ORDER), Neighbors.of(X[ORDER], 4)
    np.testing.assert_array_equal(a.index, b.index)


RELATIONS = [cka_relation, debiased_relation, rsa_relation, neighbor_relation]


@pytest.mark.parametrize("relation", RELATIONS)
def test_relation_permuted(relation):
    a, b = relation(X).permuted(ORDER), relation(X[ORDER])
    np.testing.assert_allclose(a.vector, b.vector, atol=1e-14)
    assert a.inner(a) == pytest.approx(1.0, abs=1e-14)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.permutations(range(6)), st.sampled_from(["triangle", "square"]))
def test_where_the_entries_of_a_permuted_relation_stand(order, form):
    order = np.array(order)
    matrix = np.arange(36.0).reshape(6, 6)
    matrix += matrix.T
    pick = np.triu_indices(6) if form == "triangle" else np.unravel_index(range(36), (6, 6))
    places = Relation.entries(order, form)
    np.testing.assert_array_equal(matrix[pick][places], matrix[np.ix_(order, order)][pick])


@pytest.mark.parametrize("relation", RELATIONS)
def test_an_inner_product_is_never_beyond_one(relation):
    """Fault: similarities of 1.0000000000000002."""
    for _ in range(20):
        made = relation(RNG.normal(size=(23, 4)))
        assert -1.0 <= made.inner(made) <= 1.0
        opposite = Relation(-made.vector, made.n, made.form, made.interval)
        assert -1.0 <= made.inner(opposite) <= 1.0


# Factor and overlap ---------------------------------------------------------------------------------


def test_factor_multiplies_back(library):
    f = Factor.of(library(X))
    np.testing.assert_allclose(to_numpy((f.u * f.s) @ f.v.T), X - X.mean(axis=0), atol=1e-12)


def test_factor_of_fewer_rows_than_columns(library):
    f = Factor.of(library(RNG.normal(size=(6, 20))))
    assert f.u.shape == (6, 6)
    assert f.rank == 5


def test_the_tolerance_decides_the_rank():
    x = X * [1, 1, 1, 1e-4, 1e-8]
    assert [Factor.of(x, rtol).rank for rtol in (1e-2, 1e-6, 1e-10)] == [3, 4, 5]


def test_factor_of_a_gram_matrix_is_the_same_without_bases(library):
    f, g = Factor.of(X), Gram.of(library(X)).factor()
    np.testing.assert_allclose(to_numpy(g.s), f.s, rtol=1e-10)
    np.testing.assert_allclose(np.abs(to_numpy(g.u).T @ f.u), np.eye(5), atol=1e-8)
    assert (g.v, g.rank) == (None, 5)


def test_no_weights_can_be_had_from_gram_matrices():
    o = Overlap.of(Gram.of(X).factor(), Gram.of(Y).factor())
    with pytest.raises(UndefinedMeasureError, match="Gram matrices keep none: pass rows"):
        pwcca_of(o)


def test_overlap_of_unequal_row_counts():
    with pytest.raises(RowMismatchError, match="Factors of 30 and 20 rows have no overlap"):
        Overlap.of(Factor.of(X), Factor.of(Y[:20]))


def test_correlations_are_sorted_and_within_bounds():
    """Fault: canonical correlations unsorted, or of 1.0000000000000002."""
    y = np.hstack([X[:, :2], Y])
    rho = Overlap.of(Factor.of(X), Factor.of(y)).correlations()
    assert len(rho) == 5
    assert (np.diff(rho) <= 0).all()
    assert rho[1] == pytest.approx(1.0, abs=1e-12)
    assert rho[-1] >= 0.0
    assert rho[0] <= 1.0


def test_correlations_that_are_one_by_dimension_are_refused():
    """Fault: n below the widths, where CCA is 1 whatever the rows."""
    a, b = Factor.of(RNG.normal(size=(30, 16))), Factor.of(RNG.normal(size=(30, 14)))
    with pytest.raises(
        UndefinedMeasureError,
        match=r"^rank 16 \+ rank 14 exceeds n - 1 = 29: 1 canonical correlations are 1 by dimension "
        r"alone\. Use more rows, or fewer principal components \(reduced=\)\.$",
    ):
        mean_cca_of(Overlap.of(a, b))
    assert len(Overlap.of(a, b).correlations(10, 5)) == 5
    assert 0 < mean_cca_of(Overlap.of(a, Factor.of(RNG.normal(size=(30, 13))))) < 1


def test_the_share_of_variance_is_a_choice():
    x = X * [9, 5, 1, 0.1, 0.01]
    o = Overlap.of(Factor.of(x), Factor.of(Y))
    values = [svcca_of(o, share) for share in (0.5, 0.9, 0.99, 1 - 1e-12)]
    assert len(set(values)) == 4


# Gram -----------------------------------------------------------------------------------------------


def test_u_centring(library):
    """Fault: the diagonal taken off by broadcasting."""
    u = to_numpy(Gram.of(library(X)).u_centred())
    assert not np.diag(u).any()
    np.testing.assert_allclose(u.sum(axis=0), 0, atol=1e-12)
    k = X @ X.T  # whether rows are centred does not matter
    off = ~np.eye(30, dtype=bool)
    z = k * off
    expected = z - z.sum(0) / 28 - z.sum(0)[:, None] / 28 + z.sum() / (29 * 28)
    np.testing.assert_allclose(u, expected * off, atol=1e-12)


def test_u_centring_of_equally_distant_rows_is_exactly_zero(library):
    for rows in (np.eye(9), np.eye(9) + 0.1, np.vstack([np.full((8, 3), 0.1), X[:1, :3]])):
        assert not to_numpy(Gram.of(library(rows)).u_centred()).any()


def test_gram_of_too_little():
    with pytest.raises(UndefinedMeasureError, match="Debiased HSIC needs at least 4 rows, got 3"):
        Gram.of(X[:3]).u_centred()
    with pytest.raises(UndefinedMeasureError, match="All rows are the same: there is nothing"):
        Gram.of(np.full((11, 3), 0.1)).factor()


# Neighbours -----------------------------------------------------------------------------------------


def test_neighbours_across_blocks():
    """Fault: distances that depend on the batch they were computed in."""
    x = RNG.normal(size=(2100, 6))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2)
    expected = np.sort(np.argsort(-cosine, axis=1)[:, :7], axis=1)
    np.testing.assert_array_equal(Neighbors.of(x, 7).index, expected)


def test_among_equals_the_first_are_taken():
    x = np.array([[1.0, 0], [0, 1], [0, 1], [0, 1], [1, 1], [1, -3]])
    index = Neighbors.of(x, 3).index
    assert index[1].tolist() == [2, 3, 4]
    assert index[4].tolist() == [0, 1, 2]  # rows 0 to 3 are equally near


def test_adjacency():
    near = Neighbors.of(X, 3)
    matrix = near.adjacency()
    assert matrix.sum(axis=1).tolist() == [3.0] * 30
    assert all(
        set(np.flatnonzero(row)) == set(i) for row, i in zip(matrix, near.index, strict=True)
    )


@pytest.mark.parametrize("k", [0, -1])
def test_at_least_one_neighbour(k):
    with pytest.raises(InputError, match=f"{k} neighbours were asked for; at least 1 is needed"):
        Neighbors.of(X, k)


@pytest.mark.parametrize("k", [29, 30, 99])
def test_too_many_neighbours(k):
    with pytest.raises(
        UndefinedMeasureError, match=f"{k} neighbours of 30 rows are all .* or {k + 2} rows or more"
    ):
        Neighbors.of(X, k)
    assert Neighbors.of(X, 28).index.shape == (30, 28)


def test_rows_without_neighbours():
    x = X.copy()
    x[4] = 0
    with pytest.raises(UndefinedMeasureError, match="Row 4 is zero: it has no direction, so no"):
        Neighbors.of(x, 3)
    for alike in (np.full((9, 3), 0.1), np.eye(9), X[:9, :1] ** 2 @ [[1.0, 2.0]]):
        with pytest.raises(UndefinedMeasureError, match="All rows are equally near: there are no"):
            Neighbors.of(alike, 3)


def test_neighbours_of_other_rows_or_another_number():
    with pytest.raises(InputError, match="3 neighbours of 30 rows and 4 of 30 cannot be compared"):
        overlap_of(Neighbors.of(X, 3), Neighbors.of(Y, 4))
    with pytest.raises(InputError, match="3 neighbours of 30 rows and 3 of 20 cannot be compared"):
        overlap_of(Neighbors.of(X, 3), Neighbors.of(Y[:20], 3))


# Relation and folds -----------------------------------------------------------------------------------


def test_relations_of_unequal_row_counts():
    with pytest.raises(InputError, match="Relations of 30 and 20 rows cannot be compared"):
        cka_relation(X).inner(cka_relation(Y[:20]))


@pytest.mark.parametrize("relation", [cka_relation, debiased_relation])
def test_rows_that_all_relate_alike(relation):
    with pytest.raises(
        UndefinedMeasureError, match="All rows of the space are the same: there is nothing to"
    ):
        relation(np.full((11, 3), 0.1))


def test_what_a_bootstrap_may_reweight():
    assert [r(X).interval for r in RELATIONS] == ["none", "pairs", "pairs", "none"]
    assert [r(X).form for r in RELATIONS] == ["triangle", "triangle", "triangle", "square"]


def test_folds_of_unlike_summaries():
    text = (
        r"5 folds of 30 rows and {} folds of {} rows cannot be compared: the same rows in the same"
    )
    for other, numbers in ((Folds(Y[:20]), (5, 20)), (Folds(Y, 3), (3, 30))):
        with pytest.raises(RowMismatchError, match=text.format(*numbers)):
            heldout_r2_of(Folds(X), other)


def test_what_each_measure_keeps():
    kept = {m.name: type(m.summarise(X)).__name__ for m in CATALOGUE}
    assert set(kept.values()) == {
        "Rows",
        "Factor",
        "Neighbors",
        "Folds",
        "Relation",
        "Levels",
        "Ranks",
        "Hat",
        "Coordinates",
    }
