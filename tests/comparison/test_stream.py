"""The grid made block by block, against the one whose relations are kept."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.comparison import compare, plan, stream
from cospace.comparison.stack import stack
from cospace.errors import UndefinedMeasureError
from cospace.measures import CATALOGUE, find
from cospace.space import Space

NAMES = [m.name for m in CATALOGUE if m.products is not None]


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


def test_the_measures_that_stream():
    assert sorted(NAMES) == ["debiased_cka", "linear_cka", "rsa_pearson"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("block", [1, 40_000, 2**26])
def test_values_and_exact_nulls_equal_the_stacked_ones(monkeypatch, name, block):
    monkeypatch.setattr(stream, "BLOCK", block)
    measure = find(name, CATALOGUE)
    made, kept = stream.stream(measure, spaces(), nothing), stack(measure, spaces(), nothing)
    assert np.abs(made.values() - kept.values()).max() < 1e-6
    for a, b in zip(made.invariants(), kept.invariants(), strict=True):
        assert a.n == b.n
        assert a.means == pytest.approx(b.means, abs=1e-6)
        assert a.second == pytest.approx(b.second, abs=1e-6)
        assert a.third is None


@pytest.mark.parametrize("name", NAMES)
def test_a_common_offset_and_float32_rows_lose_nothing(name):
    measure = find(name, CATALOGUE)
    far = [Space((s.rows / 100 + 1000).astype(np.float32), name=s.name) for s in spaces(offset=0.0)]
    found = stream.stream(measure, far, nothing).values()
    assert np.abs(found - stack(measure, far, nothing).values()).max() < 1e-5


def test_compare_streams_what_does_not_fit(monkeypatch):
    monkeypatch.setattr(plan, "stack_bytes", lambda *_: 1 << 60)
    monkeypatch.setattr(plan, "_LONG", 0.0)
    result = compare(spaces(n=40), ["rsa_pearson", "linear_cka"], permutations=50)
    assert result.settings["routes"]["rsa_pearson"] == "streamed"
    cell = result.cells[0]
    assert cell.note.startswith("the grid is made block by block")
    assert (cell.draws, cell.p, cell.null_exact) == (0, None, True)
    monkeypatch.undo()
    usual = compare(spaces(n=40), ["rsa_pearson"], permutations=50).cells[0]
    assert cell.value == pytest.approx(usual.value, abs=1e-6)
    assert cell.null_sd == pytest.approx(usual.null_sd, rel=1e-5)


def test_a_space_without_a_relation_has_its_reason_and_the_rest_go_on():
    some = [*spaces(n=30), Space(np.ones((30, 4)), name="flat")]
    made = stream.stream(find("linear_cka", CATALOGUE), some, nothing)
    assert made.reasons == (None, None, None, "All rows are the same: there is nothing to compare.")
    assert np.isfinite(made.values()).all()
    assert made.values()[0, 1] > 0
    assert len(made.invariants()) == 4


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
