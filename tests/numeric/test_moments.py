"""Moments: any split of the rows gives the same, and every route the same values."""

from __future__ import annotations

import tracemalloc
from functools import reduce

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cospace._arrays import to_numpy
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.measures import CATALOGUE, debiased_cka, find, predictive_r2, pwcca, svcca
from cospace.measures.canonical import mean_cca_of, predictive_r2_of, pwcca_of, r2_cca_of, svcca_of
from cospace.measures.second_order import cka_of, procrustes_similarity_of
from cospace.moments import Moments
from cospace.summaries import Factor, Gram, Overlap

RNG = np.random.default_rng(0)
SHARED = RNG.normal(size=(40, 3))
A = SHARED @ RNG.normal(size=(3, 4)) + 0.5 * RNG.normal(size=(40, 4)) + 7
B = SHARED @ RNG.normal(size=(3, 6)) + 0.5 * RNG.normal(size=(40, 6)) - 2
C = RNG.normal(size=(40, 2))
ROWS = {"a": A, "b": B, "c": C}
SHIFTS = {name: rows[0] for name, rows in ROWS.items()}


def part(start, stop, rows=ROWS):
    return {name: table[start:stop, :] for name, table in rows.items()}


def numbers(m):
    """Everything that a Moments holds, in one vector."""
    return np.concatenate(
        [
            [m.n],
            *(m.means[k] for k in sorted(m.means)),
            *(m.block(a, b).ravel() for a in sorted(m.means) for b in sorted(m.means)),
            *(np.ravel(m.quartic[k]) for k in sorted(m.quartic or ())),
            *(m.cubic[k] for k in sorted(m.cubic or ())),
        ]
    )


WHOLE = Moments.of(ROWS, shifts=SHIFTS)


def test_against_the_definition():
    assert WHOLE.n == 40
    np.testing.assert_allclose(WHOLE.means["a"], A.mean(axis=0))
    expected = (A - A.mean(axis=0)).T @ (B - B.mean(axis=0))
    np.testing.assert_allclose(WHOLE.block("a", "b"), expected, atol=1e-11)
    np.testing.assert_allclose(WHOLE.block("b", "a"), expected.T, atol=1e-11)
    np.testing.assert_allclose(WHOLE.block("c", "c"), 39 * np.cov(C.T), atol=1e-11)


splits = st.lists(st.integers(1, 39), unique=True, max_size=8).map(
    lambda cuts: list(zip([0, *sorted(cuts)], [*sorted(cuts), 40], strict=True))
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(splits, st.randoms(use_true_random=False), st.booleans())
def test_any_split_in_any_order_gives_the_same(cuts, random, with_shifts):
    """Fault: a last batch of one row; an order of batches that shows in the result."""
    shifts = SHIFTS if with_shifts else None
    random.shuffle(cuts)
    found = Moments.accumulate((part(*cut) for cut in cuts), shifts=shifts)
    np.testing.assert_allclose(
        numbers(found), numbers(Moments.of(ROWS, shifts=shifts)), rtol=1e-11, atol=1e-10
    )


@settings(max_examples=30, deadline=None, derandomize=True)
@given(splits.filter(lambda cuts: len(cuts) >= 3), st.randoms(use_true_random=False))
def test_merging_is_associative(cuts, random):
    parts = [Moments.of(part(*cut), shifts=SHIFTS) for cut in cuts]
    left = reduce(Moments.merge, parts)
    while len(parts) > 1:
        i = random.randrange(len(parts) - 1)
        parts[i : i + 2] = [parts[i].merge(parts[i + 1])]
    np.testing.assert_allclose(numbers(parts[0]), numbers(left), rtol=1e-11, atol=1e-10)


def test_merging_does_not_mind_the_order_of_names():
    first = Moments.of(part(0, 20))
    again = Moments.of(dict(reversed(part(20, 40).items())))
    np.testing.assert_allclose(numbers(first.merge(again)), numbers(Moments.of(ROWS)), atol=1e-10)


def test_only_the_pairs_asked_for_are_kept():
    m = Moments.of(ROWS, pairs=[("b", "a")])
    assert set(m.blocks) == {("a", "a"), ("b", "b"), ("c", "c"), ("a", "b")}
    with pytest.raises(
        UnknownNameError, match=r"'b, c' is not a pair of these moments\. Did you mean"
    ):
        m.block("b", "c")
    with pytest.raises(UnknownNameError, match="'x' is not a space of these moments"):
        Moments.of(ROWS, pairs=[("a", "x")])


def test_a_huge_nearly_constant_coordinate_keeps_its_variance():
    """Fault: sums of squares of coordinates like 3000 +- 1 cancel, in float32 entirely."""
    x = np.column_stack([3000 + RNG.normal(size=5000), RNG.normal(size=5000)])
    x = x.astype(np.float32)
    batches = ({"x": x[i : i + 64]} for i in range(0, 5000, 64))
    m = Moments.accumulate(batches)
    expected = np.cov(x.astype(float).T) * 4999
    np.testing.assert_allclose(m.block("x", "x"), expected, rtol=1e-10, atol=1e-8)


def test_many_batches_stay_finite_and_exact():
    """Fault: NaN after 150 batches of 32."""
    x = RNG.normal(size=(32 * 400, 3)).astype(np.float32) * 1e4
    y = (x @ RNG.normal(size=(3, 2))).astype(np.float32)
    batches = [{"x": x[i : i + 32], "y": y[i : i + 32]} for i in range(0, len(x), 32)]
    m = Moments.accumulate(batches, shifts={"x": x[0], "y": y[0]})
    assert cka_of(m.overlap(source="x", target="y")) == pytest.approx(
        find("linear_cka", CATALOGUE)(x, y), abs=1e-9
    )
    value = m.hsic("x", "y") / np.sqrt(m.hsic("x", "x") * m.hsic("y", "y"))
    assert value == pytest.approx(debiased_cka(x, y), abs=1e-9)


def test_memory_does_not_grow_with_the_number_of_batches():
    """Fault: everything that was ever seen is kept alive."""

    def peak(count):
        rng = np.random.default_rng(0)
        tracemalloc.start()
        Moments.accumulate({"x": rng.normal(size=(64, 40))} for _ in range(count))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(2)
    assert peak(200) < 1.2 * peak(10)


# Routes -----------------------------------------------------------------------------------------------

OF_OVERLAP = {
    "linear_cka": cka_of,
    "procrustes_similarity": procrustes_similarity_of,
    "mean_cca": mean_cca_of,
    "svcca": svcca_of,
    "pwcca": pwcca_of,
    "r2_cca": r2_cca_of,
    "predictive_r2": predictive_r2_of,
}


@pytest.mark.parametrize("name", OF_OVERLAP)
@pytest.mark.parametrize("pair", [("a", "b"), ("b", "a"), ("c", "b")])
def test_factors_moments_and_grams_agree(name, pair):
    source, target = pair
    x, y = ROWS[source], ROWS[target]
    expected = find(name, CATALOGUE)(x, y)
    routes = [
        Overlap.of(Factor.of(x), Factor.of(y)),
        WHOLE.overlap(source=source, target=target),
    ]
    if name != "pwcca":
        routes.append(Overlap.of(Gram.of(x).factor(), Gram.of(y).factor()))
    for overlap in routes:
        assert OF_OVERLAP[name](overlap) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("asarray", [torch.asarray, array_api_strict.asarray])
def test_moments_of_other_libraries(asarray):
    rows = {name: asarray(table) for name, table in ROWS.items()}
    shifts = {name: asarray(shift) for name, shift in SHIFTS.items()}
    cut = [part(0, 13, rows), part(13, 40, rows)]
    m = Moments.accumulate(cut, shifts=shifts)
    np.testing.assert_allclose(to_numpy(m.block("b", "a")), WHOLE.block("b", "a"), atol=1e-10)
    assert m.hsic("a", "b") == pytest.approx(WHOLE.hsic("a", "b"), rel=1e-9)
    overlap = m.overlap(source="a", target="b")
    assert pwcca_of(overlap) == pytest.approx(pwcca(A, B), abs=1e-10)
    assert svcca_of(overlap) == pytest.approx(svcca(A, B), abs=1e-10)


def test_rank_deficient_rows_by_every_route():
    x = np.hstack([A, A @ RNG.normal(size=(4, 3))])
    m = Moments.of({"x": x, "b": B})
    overlap = m.overlap(source="x", target="b")
    assert overlap.rank_x == 4
    assert predictive_r2_of(overlap) == pytest.approx(predictive_r2(A, B), abs=1e-8)


@pytest.mark.parametrize("pair", [("a", "b"), ("b", "a"), ("c", "a")])
def test_debiased_cka_from_moments(pair):
    """Fault: equal covariances taken to fix unbiased HSIC."""
    s, t = pair
    value = WHOLE.hsic(s, t) / np.sqrt(WHOLE.hsic(s, s) * WHOLE.hsic(t, t))
    assert value == pytest.approx(debiased_cka(ROWS[s], ROWS[t]), abs=1e-11)
    u, v = Gram.of(ROWS[s]).u_centred(), Gram.of(ROWS[t]).u_centred()
    assert WHOLE.hsic(s, t) == pytest.approx(np.sum(u * v) / (40 * 37), rel=1e-9)


# Refusals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Moments.of({}), "No space was given; moments are of at least one"),
        (lambda: Moments.accumulate([]), "No batch was given; moments are of at least one row"),
        (
            lambda: Moments.of({"a": A, "b": B[:9]}),
            "a has 40 rows and b has 9: moments are joint, row by row",
        ),
        (lambda: Moments.of({"a": A[:0]}), "a has 0 rows of width 4; at least 1 of width 1"),
        (
            lambda: Moments.of({"a": A}, shifts={"b": A[0]}),
            r"a has rows of width 4; a shift of that width is expected, got shape \(\)",
        ),
        (
            lambda: Moments.of({"a": A}, shifts={"a": A[0, :1]}),
            r"a has rows of width 4; a shift of that width is expected, got shape \(1,\)",
        ),
        (
            lambda: Moments.of({"a": A}).merge(Moments.of({"b": B})),
            "Moments of different spaces or pairs cannot be merged",
        ),
        (
            lambda: Moments.of({"a": A}).merge(Moments.of({"a": A[:, :1]})),
            "a has width 4 in one and 1 in the other: these moments cannot be merged",
        ),
        (
            lambda: WHOLE.merge(Moments.of(ROWS)),
            "Sums for debiased CKA about different shifts cannot be merged: use the same",
        ),
        (
            lambda: Moments.of(ROWS).merge(WHOLE),
            "Sums for debiased CKA about different shifts cannot be merged: use the same",
        ),
        (
            lambda: WHOLE.merge(Moments.of(ROWS, shifts={**SHIFTS, "b": SHIFTS["b"] + 1e-9})),
            "Sums for debiased CKA about different shifts cannot be merged: use the same",
        ),
        (
            lambda: Moments.of(ROWS).hsic("a", "b"),
            "Debiased HSIC needs more sums than covariances: accumulate the moments with shifts=",
        ),
    ],
)
def test_what_is_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()


def test_what_means_nothing():
    few = Moments.of(part(0, 3), shifts=SHIFTS)
    with pytest.raises(UndefinedMeasureError, match="Debiased HSIC needs at least 4 rows, got 3"):
        few.hsic("a", "b")
    constant = {"x": np.full((21, 2), 0.1), "c": C[:21]}
    m = Moments.accumulate(part(i, i + 7, constant) for i in (0, 7, 14))
    with pytest.raises(UndefinedMeasureError, match="All rows are the same: there is nothing"):
        m.overlap(source="x", target="c")


@pytest.mark.parametrize("ask", [lambda m: m.hsic("a", "zz"), lambda m: m.block("zz", "a")])
def test_an_unknown_space_is_named(ask):
    with pytest.raises(UnknownNameError, match=r"zz.* is not a pair of these moments"):
        ask(WHOLE)
