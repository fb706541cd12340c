"""Cells whose null is known over all permutations."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.comparison import compare, plan
from cospace.space import Space


def spaces(n=60, groups=None):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, 6))
    return [
        Space(x, name="a", groups=groups),
        Space(x[:, :4] + 2 * rng.standard_normal((n, 4)), name="b", groups=groups),
        Space(rng.standard_normal((n, 9)), name="c", groups=groups),
    ]


MEASURES = [
    "debiased_cka",
    "linear_cka",
    "rsa_spearman",
    "rsa_pearson",
    "rsa_cosine",
    "rsa_mahalanobis",
    "rbf_cka",
    "debiased_polynomial_cka",
]


def test_without_shuffles_values_have_their_null_and_p():
    quick = compare(spaces(), MEASURES, permutations=0)
    sampled = compare(spaces(), MEASURES, permutations=2000)
    for a, b in zip(quick.cells, sampled.cells, strict=True):
        assert (a.measure, a.source, a.target, a.value) == (b.measure, b.source, b.target, b.value)
        assert a.null_exact
        assert (a.null_mean, a.null_sd) == (b.null_mean, b.null_sd)
        assert a.draws == 0
        assert a.p_search is None
        assert b.draws == 2000
        # Sampled p lies within four standard errors of the closed form's.
        spread = 4 * np.sqrt(a.p * (1 - a.p) / 2000) + 2e-3
        assert abs(a.p - b.p) < spread, (a, b)


def test_the_exact_null_agrees_with_shuffles():
    free = compare(spaces(), MEASURES, permutations=2000)
    grouped = compare(spaces(groups=["all"] * 60), MEASURES, permutations=2000, within=True)
    for exact, drawn in zip(free.cells, grouped.cells, strict=True):
        assert exact.null_exact
        assert not drawn.null_exact
        assert exact.null_mean == pytest.approx(drawn.null_mean, abs=5 * exact.null_sd / 2000**0.5)
        assert exact.null_sd == pytest.approx(drawn.null_sd, rel=0.1)


def test_no_closed_form_where_groups_restrict_few_rows_or_relations_are_directed():
    groups = ["p", "q"] * 30
    assert not any(
        c.null_exact for c in compare(spaces(groups=groups), MEASURES, within=True).cells
    )
    assert not any(c.null_exact for c in compare(spaces(n=5), ["linear_cka"]).cells)
    assert not any(c.null_exact for c in compare(spaces(), ["mutual_knn"]).cells)
    plain = compare(spaces(), ["mutual_knn"], permutations=0).cells[0]
    assert (plain.null_mean, plain.p) == (None, None)


def notes(some, measures=("linear_cka",), **options):
    cells = compare(some, list(measures), permutations=0, **options).cells
    assert all(cell.p is None and cell.draws == 0 for cell in cells)
    (note,) = {cell.note for cell in cells}
    return note, {cell.null_exact for cell in cells}


def test_a_cell_without_shuffles_says_why_it_has_no_null():
    groups = ["p", "q"] * 30
    assert notes(spaces(groups=groups), within=True) == (
        "no shuffles were asked for, and there is no closed form inside groups: "
        "shuffle (--permutations 199)",
        {False},
    )
    assert notes(spaces(n=5)) == (
        "no shuffles were asked for, and 5 rows are too few for the closed form, but all their orders "
        "can be listed: shuffle (--permutations 199)",
        {False},
    )
    assert notes(spaces(), ["mutual_knn", "procrustes_similarity"]) == (
        "no shuffles were asked for, and this measure has no closed form: shuffle (--permutations 199)",
        {False},
    )
    few = spaces(n=5)
    listed = compare(few, ["linear_cka"], permutations=199).cells[0]
    assert (listed.draws, listed.note) == (120, None)


def test_a_measure_that_goes_pair_by_pair_says_that_it_has_no_closed_form(monkeypatch):
    monkeypatch.setattr(plan, "stack_operations", lambda *_: 1 << 60)
    assert notes(spaces()) == (
        "no shuffles were asked for, and made pair by pair this measure has no closed form: "
        "shuffle (--permutations 199)",
        {False},
    )


def test_a_cell_with_an_exact_null_says_why_it_has_no_p():
    assert notes(spaces(n=8)) == (
        "8 rows have too few orders for p from mean, spread and skewness, at least 12 are needed: "
        "shuffle instead (--permutations 999)",
        {True},
    )


def test_a_streamed_grid_in_which_single_rows_rule_has_no_p(monkeypatch):
    monkeypatch.setattr(plan, "stack_bytes", lambda *_: 1 << 60)
    monkeypatch.setattr(plan, "_CHEAP", 0.0)
    some = spaces()
    for space, at in zip(some, (3, 30, 50), strict=True):
        space.rows[at] *= 12.0
    assert notes(some, ["debiased_cka"]) == (
        "single rows hold so much of both spaces that mean, spread and skewness do not give p: "
        "shuffle instead (--permutations 999), of fewer spaces at once where memory is short",
        {True},
    )
