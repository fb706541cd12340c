"""Results: to a dictionary, a file, a table, a picture, and back."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from cospace.comparison import Cell, Comparison, MeasureFacts, SpaceFacts
from cospace.errors import InputError, MissingDependencyError, UnknownNameError
from cospace.result import Result, plain


def space(name):
    return SpaceFacts(name, name, "block.1", 0.5, "mean", 9, 4, 3, 0.25, 0, "f" * 64, ("unit",))


COMPARISON = Comparison(
    spaces=(space("a"), space("b")),
    measures=(
        MeasureFacts(
            "cka", "CKA", "similarity", (0.0, None), 1.0, True, ("scaling",), "Alike.", "K."
        ),
        MeasureFacts("d", "Distance", "distance", (0.0, 1.0), 0.0, False, (), "Unlike.", "R."),
    ),
    cells=(
        Cell(
            "cka", "a", "b", 0.75, 9, 4, 4, 3, 3, null_mean=0.1, draws=19, p=0.05, low=0.7, high=0.8
        ),
        Cell("cka", "b", "a", 0.75, 9, 4, 4, 3, 3),
        Cell("d", "a", "b", None, 9, 4, 4, 3, 3, reason="too few rows"),
    ),
    settings={"permutations": 19, "seed": 0},
    warnings=("few rows",),
    provenance={"cospace": "0.1.0"},
)


# What JSON holds ------------------------------------------------------------------------------------


@dataclass
class Pair:
    left: object
    right: object


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        (float("-inf"), None),
        (np.float32(0.5), 0.5),
        (np.float64("inf"), None),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (True, True),
        (None, None),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (torch.tensor([1, 2]), [1, 2]),
        (torch.tensor(2.5), 2.5),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({2, 1}), [1, 2]),
        ((1, (2,)), [1, [2]]),
        ({1: {2: 3}}, {"1": {"2": 3}}),
        (Pair(1, Pair(np.nan, "x")), {"left": 1, "right": {"left": None, "right": "x"}}),
        (Path("a/b"), str(Path("a/b"))),
        (Pair, str(Pair)),
    ],
)
def test_plain(value, expected):
    found = plain(value)
    assert found == expected
    json.dumps(found, allow_nan=False)


# Files ------------------------------------------------------------------------------------------------


def test_round_trip(tmp_path):
    path = tmp_path / "result.json"
    path.write_text("something older")
    COMPARISON.save(path)
    found = Comparison.load(str(path))
    assert found == COMPARISON
    assert type(found.measures[0].bounds) is tuple
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_the_dictionary_says_what_it_is():
    data = COMPARISON.to_dict()
    assert (data["kind"], data["schema"]) == ("comparison", 1)
    assert [r["value"] for r in data["records"]] == [0.75, 0.75, None]
    assert data["records"][2]["reason"] == "too few rows"
    assert Comparison.from_dict(json.loads(json.dumps(data))) == COMPARISON


def test_a_value_that_is_not_finite_travels_as_null(tmp_path):
    odd = replace(COMPARISON, cells=(replace(COMPARISON.cells[0], null_sd=float("nan")),))
    odd.save(tmp_path / "r.json")
    assert "NaN" not in (tmp_path / "r.json").read_text()
    assert Comparison.load(tmp_path / "r.json").cells[0].null_sd is None


def test_what_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for place in ("missing/r.json", "file/r.json", "folder"):
        with pytest.raises(InputError, match=rf"{place.split('/')[-1]} cannot be written: [A-Z]"):
            COMPARISON.save(tmp_path / place)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", r"r\.json is not a saved comparison: it is not JSON"),
        (b"\xff\xfe\x00", r"r\.json is not a saved comparison: it is not JSON"),
        ("[1]", r"r\.json holds something else; a saved comparison is expected"),
        ('{"kind": "map"}', r"r\.json holds map; a saved comparison is expected"),
        (
            '{"kind": "comparison", "schema": 99}',
            r"r\.json has layout version 99; this cospace reads version 1",
        ),
        (
            '{"kind": "comparison", "schema": 1}',
            r"r\.json is no whole comparison \(it lacks spaces\): it was changed or cut since",
        ),
    ],
)
def test_what_cannot_be_read(tmp_path, content, text):
    path = tmp_path / "r.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=text):
        Comparison.load(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none\.json cannot be read: No such file"):
        Comparison.load(tmp_path / "none.json")


def test_a_dictionary_with_other_fields():
    data = COMPARISON.to_dict()
    data["records"][0]["colour"] = "red"
    with pytest.raises(InputError, match=r"not a comparison that this version wrote: .*colour"):
        Comparison.from_dict(data)


def test_the_base_leaves_two_things_to_its_subclasses():
    with pytest.raises(NotImplementedError, match=r"^$"):
        Result().records()
    with pytest.raises(NotImplementedError, match=r"^$"):
        Result.from_dict({})


# Reading ----------------------------------------------------------------------------------------------


def test_a_table_has_one_row_a_cell():
    frame = COMPARISON.to_frame()
    assert list(frame["source"]) == ["a", "b", "a"]
    assert frame["value"].isna().tolist() == [False, False, True]


def test_a_table_needs_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingDependencyError, match=r"A data frame needs pandas: pip install 'cospace\[frames\]'"
    ):
        COMPARISON.to_frame()


def test_a_value_is_looked_up_by_names():
    assert COMPARISON.value("cka", source="b", target="a") == 0.75
    assert COMPARISON.value("d", source="a", target="b") is None
    assert COMPARISON.value("d", source="b", target="a") is None


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("ckaa", "a", "b"), "'ckaa' is not a measure of this comparison. Did you mean 'cka'"),
        (("cka", "x", "b"), "'x' is not a space of this comparison. Known: a, b"),
        (("cka", "a", "y"), "'y' is not a space of this comparison. Known: a, b"),
    ],
)
def test_an_unknown_name_is_an_error(names, text):
    with pytest.raises(UnknownNameError, match=text):
        COMPARISON.value(names[0], source=names[1], target=names[2])


def test_provenance_is_added_to_a_copy():
    more = COMPARISON.with_provenance(command=("cospace", "compare"), seed=np.int64(3))
    assert more.provenance == {"cospace": "0.1.0", "command": ["cospace", "compare"], "seed": 3}
    assert COMPARISON.provenance == {"cospace": "0.1.0"}


# Drawing ----------------------------------------------------------------------------------------------


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_the_heat_map(pyplot):
    axes = COMPARISON.plot()
    np.testing.assert_array_equal(
        axes.images[0].get_array().filled(np.nan), [[np.nan, 0.75], [0.75, np.nan]]
    )
    assert axes.get_title() == "CKA (similarity)"
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("source", "target")
    mine = pyplot.figure().add_subplot()
    assert COMPARISON.plot("d", ax=mine) is mine
    assert np.isnan(mine.images[0].get_array().filled(np.nan)).all()


def test_the_heat_map_of_no_such_measure(pyplot):
    with pytest.raises(UnknownNameError, match="'x' is not a measure of this comparison"):
        COMPARISON.plot("x")


def test_a_figure_needs_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        MissingDependencyError, match=r"A figure needs matplotlib: pip install 'cospace\[plot\]'"
    ):
        COMPARISON.plot()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d["records"][0].pop("source"), "it lacks source"),
        (lambda d: d["records"][0].update(colour=1), "it holds an unknown colour"),
        (lambda d: d.pop("measures"), "it lacks measures"),
        (lambda d: d.update(records=3), "a value is of the wrong kind"),
        (lambda d: d.update(records=["x"]), "a value is of the wrong kind"),
    ],
)
def test_a_damaged_file_is_named_and_what_it_lacks(tmp_path, change, says):
    data = COMPARISON.to_dict()
    change(data)
    (tmp_path / "r.json").write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        Comparison.load(tmp_path / "r.json")
    assert str(caught.value) == (
        f"{tmp_path / 'r.json'} is no whole comparison ({says}): it was changed or cut since it was "
        "saved; save it again."
    )
