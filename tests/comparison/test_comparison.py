"""The result of a comparison: round trip, look-up, refusals."""

from __future__ import annotations

import json
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from cospace.comparison import Cell, Comparison, compare, facts_of
from cospace.errors import InputError, MissingDependencyError, UnknownNameError
from cospace.measures import CATALOGUE, find


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 3))
    some = {"a": x, "b": x @ rng.standard_normal((3, 4)), "flat": np.ones((20, 2))}
    return compare(some, ["linear_cka", "heldout_r2"], permutations=3)


def test_round_trip_through_a_dictionary_and_a_file(result, tmp_path):
    data = result.to_dict()
    assert (data["kind"], data["schema"]) == ("comparison", 1)
    assert data["records"] == result.records()
    again = Comparison.from_dict(json.loads(json.dumps(data, allow_nan=False)))
    assert again.to_dict() == data
    assert again.cells == result.cells
    assert again.measures == result.measures
    result.save(tmp_path / "result.json")
    assert Comparison.load(tmp_path / "result.json").to_dict() == data


def test_a_dictionary_of_another_shape_is_refused(result):
    data = result.to_dict()
    for broken in (
        {k: v for k, v in data.items() if k != "records"},
        {**data, "records": [{"measure": "linear_cka"}]},
        {**data, "spaces": [None]},
    ):
        with pytest.raises(
            InputError, match=r"^This is not a comparison that this version wrote: "
        ):
            Comparison.from_dict(broken)


@pytest.mark.parametrize(
    ("place", "key", "value", "told"),
    [
        ("records", "value", "x", "value is 'x'"),
        ("records", "n", 2.5, "n is 2.5"),
        ("records", "held_out", "no", "held_out is 'no'"),
        ("records", "interval", "weeks", "interval is 'weeks'"),
        ("records", "p", True, "p is True"),
        ("records", "source", "nowhere", "the space 'nowhere' that a record is of"),
        ("records", "measure", "none_such", "the measure 'none_such' that a record is of"),
        ("spaces", "name", "other", "the space 'a' that a record is of"),
        ("spaces", "steps", "unit", "steps is 'unit'"),
        ("spaces", "width", None, "width is None"),
        ("measures", "bounds", [0.0], "bounds is [0.0]"),
        ("measures", "bounds", [0.0, "1"], "bounds is [0.0, '1']"),
        ("pairs", "target_model", "z", "the model 'z' that a record is of"),
        ("settings", None, [], "settings is []"),
    ],
)
def test_an_edited_result_is_refused_with_what_is_wrong(result, place, key, value, told, tmp_path):
    data = result.to_dict()
    if key is None:
        data[place] = value
    else:
        data[place][0][key] = value
    with pytest.raises(InputError) as error:
        Comparison.from_dict(data)
    assert told in str(error.value)
    (tmp_path / "r.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"r\.json is no whole comparison \(.*\): it was changed"):
        Comparison.load(tmp_path / "r.json")


def test_records_are_one_a_cell(result):
    records = result.records()
    assert len(records) == len(result.cells) == 12
    expected = {"measure", "source", "target", "value", "null_mean", "p", "n"}
    assert expected <= set(records[0])
    frame = result.to_frame()
    assert list(frame["measure"]) == [c.measure for c in result.cells]


def test_values_are_looked_up_by_names(result):
    cell = result.cells[0]
    assert result.value("linear_cka", source="a", target="b") == cell.value
    assert result.value("linear_cka", source="a", target="flat") is None
    assert result.value("linear_cka", source="a", target="a") is None  # was not run
    for names, message in (
        (("linear_ckka", "a", "b"), r"'linear_ckka' is not a measure of this comparison\. Did you"),
        (("linear_cka", "A", "b"), r"'A' is not a space of this comparison\. Did you mean 'a'\?"),
        (
            ("linear_cka", "a", "zzz"),
            r"'zzz' is not a space of this comparison\. Known: a, b, flat",
        ),
    ):
        with pytest.raises(UnknownNameError, match=message):
            result.value(names[0], source=names[1], target=names[2])


def test_results_are_frozen(result):
    with pytest.raises(FrozenInstanceError):
        result.cells[0].value = 1.0
    with pytest.raises(FrozenInstanceError):
        result.cells = ()
    assert isinstance(replace(result.cells[0], value=0.5), Cell)


def test_provenance_is_added_to(result):
    more = result.with_provenance(command=("cospace", "compare"))
    assert more.provenance["command"] == ["cospace", "compare"]
    assert more.provenance["versions"] == result.provenance["versions"]
    assert "command" not in result.provenance


def test_claims_of_a_measure_are_recorded():
    facts = facts_of(find("pwcca", CATALOGUE))
    assert (facts.name, facts.symmetric, facts.identical) == ("pwcca", False, 1.0)
    assert facts.invariant_to == tuple(sorted(facts.invariant_to))
    assert "target: invertible" in facts.invariant_to


def test_figure(result):
    import matplotlib as mpl

    mpl.use("Agg")
    axes = result.plot()
    assert axes.get_title() == "Linear CKA (similarity)"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b", "flat"]
    grid = axes.images[0].get_array()
    assert grid[0, 1] == pytest.approx(result.cells[0].value)
    mpl.pyplot.close("all")
    with pytest.raises(UnknownNameError, match=r"'rsa' is not a measure of this comparison"):
        result.plot("rsa")
    mpl.pyplot.close("all")


def test_a_figure_without_matplotlib_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"^A figure needs matplotlib: pip install"):
        result.plot()
