"""The grid made tile by tile, against the one whose relations are kept."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.comparison import compare, plan, stream
from cospace.comparison.stack import stack
from cospace.errors import UndefinedMeasureError
from cospace.measures import CATALOGUE, find
from cospace.space import Space
from cospace.stats import permutation_moments

NAMES = [m.name for m in CATALOGUE if m.relation is not None and m.needs == "gram"]


def nothing():
    pass


def spaces(n=150, widths=(20, 50, 200), offset=3.0):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, max(widths)))
    return [
        Space(
            (x[:, :d] + rng.standard_normal((n, d))) * np.linspace(1, 5, d) + offset, name=f"s{d}"
        )
        for d in widths
    ]


def test_the_measures_that_are_inner_products_of_rows():
    assert sorted(m.name for m in CATALOGUE if m.products is not None) == [
        "debiased_cka",
        "linear_cka",
        "rsa_pearson",
    ]


def assert_same_nulls(made, kept):
    """Mean, spread and skewness of every pair, as far as single precision goes."""
    for i, (a, b) in enumerate(zip(made, kept, strict=True)):
        for c, d in zip(made[i:], kept[i:], strict=True):
            found, expected = permutation_moments(a, c), permutation_moments(b, d)
            assert found.mean == pytest.approx(expected.mean, rel=1e-5, abs=1e-9)
            assert found.sd == pytest.approx(expected.sd, rel=1e-5)
            assert found.skewness == pytest.approx(expected.skewness, abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("block", [1_000, 40_000, 2**26])
def test_values_and_exact_nulls_equal_the_stacked_ones(monkeypatch, name, block):
    monkeypatch.setattr(stream, "BLOCK", block)
    measure = find(name, CATALOGUE)
    made, kept = stream.stream(measure, spaces(), nothing), stack(measure, spaces(), nothing)
    assert np.abs(made.values() - kept.values()).max() < 1e-6
    assert_same_nulls(made.invariants(), kept.invariants())
    for a, b in zip(made.invariants(), kept.invariants(), strict=True):
        sign = -1 if name == "rsa_pearson" else 1  # similarities stream, dissimilarities are kept
        assert a.n == b.n
        assert a.means == pytest.approx(b.means, abs=1e-6)
        assert a.second == pytest.approx(b.second, abs=1e-6 * np.abs(b.second).max())
        assert sign * a.third == pytest.approx(b.third, abs=1e-5 * np.abs(b.third).max())


@pytest.mark.parametrize("name", NAMES)
def test_a_common_offset_and_float32_rows_lose_nothing(name):
    measure = find(name, CATALOGUE)
    far = [Space((s.rows / 100 + 1000).astype(np.float32), name=s.name) for s in spaces(offset=0.0)]
    made, kept = stream.stream(measure, far, nothing), stack(measure, far, nothing)
    assert np.abs(made.values() - kept.values()).max() < 1e-5
    assert_same_nulls(made.invariants(), kept.invariants())


@pytest.mark.parametrize("name", NAMES)
def test_one_text_that_rules_a_space_loses_nothing(name):
    measure = find(name, CATALOGUE)
    some = spaces()
    some = [Space(np.concatenate([100 * s.rows[:1], s.rows[1:]]), name=s.name) for s in some]
    made, kept = stream.stream(measure, some, nothing), stack(measure, some, nothing)
    assert np.abs(made.values() - kept.values()).max() < 1e-5
    assert_same_nulls(made.invariants(), kept.invariants())


def test_compare_streams_what_does_not_fit(monkeypatch):
    monkeypatch.setattr(plan, "stack_bytes", lambda *_: 1 << 60)
    monkeypatch.setattr(plan, "_CHEAP", 0.0)
    result = compare(spaces(n=40), ["rsa_pearson", "linear_cka"], permutations=50)
    assert result.settings["routes"]["rsa_pearson"] == "streamed"
    cell = result.cells[0]
    assert cell.note.startswith("the grid is made tile by tile")
    assert (cell.draws, cell.null_exact) == (0, True)
    monkeypatch.undo()
    usual = compare(spaces(n=40), ["rsa_pearson"], permutations=0).cells[0]
    assert cell.value == pytest.approx(usual.value, abs=1e-6)
    assert cell.null_sd == pytest.approx(usual.null_sd, rel=1e-5)
    assert cell.p == pytest.approx(usual.p, rel=1e-3)
    assert 0 < cell.p < 0.05


def test_a_space_without_a_relation_has_its_reason_and_the_rest_go_on():
    some = [*spaces(n=30), Space(np.ones((30, 4)), name="flat")]
    made = stream.stream(find("linear_cka", CATALOGUE), some, nothing)
    assert made.reasons == (None, None, None, "All rows are the same: there is nothing to compare.")
    assert np.isfinite(made.values()).all()
    assert made.values()[0, 1] > 0
    assert len(made.invariants()) == 4


@pytest.mark.parametrize("name", ["debiased_cka", "rsa_pearson"])
def test_rows_that_are_alike_but_for_rounding_have_no_relation(name):
    simplex = np.eye(40) + 1.0
    simplex = np.concatenate([simplex, -simplex], axis=1)  # no row has equal coordinates
    some = [*spaces(n=40), Space(simplex, name="simplex")]
    made = stream.stream(find(name, CATALOGUE), some, nothing)
    assert made.reasons == (
        None,
        None,
        None,
        "All rows relate alike, to single precision: there is nothing to compare.",
    )


@pytest.mark.parametrize(
    ("name", "rows", "told"),
    [
        ("linear_cka", np.ones((5, 3)), "All rows are the same"),
        ("debiased_cka", np.eye(3), "Debiased HSIC needs at least 4 rows, got 3"),
        ("rsa_pearson", np.eye(2), r"RSA needs at least 3 rows \(3 dissimilarities\), got 2"),
        ("rsa_pearson", np.ones((4, 3)), "Row 0 has all coordinates equal"),
    ],
)
def test_rows_that_have_no_relation(name, rows, told):
    with pytest.raises(UndefinedMeasureError, match=told):
        stream.stream(find(name, CATALOGUE), [Space(rows, name="a")], nothing)


def test_few_rows_have_no_closed_form():
    made = stream.stream(find("linear_cka", CATALOGUE), spaces(n=5), nothing)
    assert made.invariants() is None
    assert made.null(None, nothing).shape == (0, 3, 3)
    assert made.bootstrap(None, nothing) is None
