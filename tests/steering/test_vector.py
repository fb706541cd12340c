"""A steering vector as a value: its model, its file, its place."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import cospace as cs
from cospace.errors import InputError, UnknownNameError
from cospace.steering import SteeringVector


def made(**change):
    values = {
        "vector": np.array([3.0, 0.0, 4.0, 0.0, 0.0, 0.0]),
        "model": "toy",
        "weights_hash": "toy-weights",
        "site": "block.1",
        "blocks": 4,
        "method": "mean_difference",
        "token": "letter",
        "residual_norm": 20.0,
        "spread": 10.0,
        "provenance": {"positive": 8, "texts": "0" * 64},
        "warnings": ("look out",),
    }
    return SteeringVector(**(values | change))


WRONG = [
    ("provenance", None),
    ("provenance", "x"),
    ("warnings", "x"),
    ("warnings", [None]),
    ("spread", "x"),
    ("spread", None),
    ("blocks", 0),
    ("blocks", "x"),
    ("site", None),
    ("site", "block.x"),
    ("operation", []),
    ("model", {}),
]


def test_a_file_states_what_the_vector_is_for(tmp_path):
    """Fault: a vector applied by another operation, a layer off, to another model, unnoticed."""
    made().save(tmp_path / "v.safetensors")
    with safe_open(tmp_path / "v.safetensors", framework="numpy") as file:
        header = json.loads(file.metadata()["cospace"])
    expected = {
        "kind": "steering_vector",
        "model": "toy",
        "weights_hash": "toy-weights",
        "site": "block.1",
        "operation": "add",
        "norm": 5.0,
        "token": "letter",
        "depth": 0.5,
        "residual_norm": 20.0,
    }
    assert {key: header[key] for key in expected} == expected


def test_a_saved_vector_comes_back_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    vector = made(vector=rng.normal(size=6) / 3)
    vector.save(tmp_path / "v.safetensors")
    again = cs.steering.SteeringVector.load(tmp_path / "v.safetensors")
    assert np.array_equal(again.vector, vector.vector)
    assert again.to_dict() == vector.to_dict()
    assert again.warnings == ("look out",)


def test_norm_and_depth(toy):
    vector = made()
    assert (vector.norm, vector.depth, vector.width) == (5.0, 0.5, 6)
    assert [vector.unit(name) for name in ("vector", "residual", "spread")] == [5.0, 20.0, 10.0]
    assert made(site="embed").depth == 0.0
    assert made(site="final_norm").depth == 1.0
    assert repr(vector) == (
        "SteeringVector('toy', block.1, mean_difference, width 6, norm 5 = 0.25 of the residual "
        "norm = 0.5 of the spread)"
    )
    with pytest.raises(ValueError, match="read-only"):
        vector.vector[0] = 1.0


@pytest.mark.parametrize(
    ("coefficient", "unit", "length"),
    [(1.0, "vector", 5.0), (-2.0, "vector", 10.0), (0.1, "residual", 2.0), (0.1, "spread", 1.0)],
)
def test_it_is_added_once_at_its_norm(toy, coefficient, unit, length):
    decoder = toy()
    ids = decoder.encode(["one two three"])[0].ids
    before = decoder.all_states(ids, "block.1")
    with made().applied(decoder, coefficient, unit=unit):
        moved = decoder.all_states(ids, "block.1") - before
    assert np.allclose(np.linalg.norm(moved, axis=1), length)
    assert np.allclose(moved * np.sign(coefficient) / length, made().vector / 5.0)
    assert np.array_equal(decoder.all_states(ids, "block.1"), before)


def test_an_unknown_unit_is_refused(toy):
    with (
        pytest.raises(
            UnknownNameError, match=r"'spred' is not a unit of a coefficient\. Did you mean"
        ),
        made().applied(toy(), 1.0, unit="spred"),
    ):
        pass


def test_another_model_is_refused(toy):
    with (
        pytest.raises(
            InputError, match=r"is for toy \(weights toy-weights\), and other has weights"
        ),
        made().applied(toy("other")),
    ):
        pass
    with (
        pytest.raises(InputError, match="width 6 for 4 blocks, and toy has width 6 and 5 blocks"),
        made().applied(toy(blocks=5)),
    ):
        pass
    with (
        pytest.raises(UnknownNameError, match=r"'block\.9' is not a site of toy"),
        made(site="block.9").applied(toy()),
    ):
        pass
    with (
        pytest.raises(InputError, match="The coefficient is nan"),
        made().applied(toy(), float("nan")),
    ):
        pass


@pytest.mark.parametrize("coefficient", ["a", None, True])
def test_a_coefficient_that_is_no_number_is_refused(toy, coefficient):
    with (
        pytest.raises(InputError, match=f"coefficient is {coefficient!r}; a number is expected"),
        made().applied(toy(), coefficient),
    ):
        pass


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vector": np.zeros(6)}, r"\(6,\), all zero, was given; one finite row that is not zero"),
        ({"vector": np.full(6, np.inf)}, r"\(6,\), 6 of its numbers NaN or infinite, was given"),
        (
            {"vector": [1, np.nan]},
            r"\(2,\), 1 of its numbers NaN or infinite, was given; one finite",
        ),
        ({"vector": np.ones((3, 6))}, r"of shape \(3, 6\) was given; one finite row"),
        ({"operation": "project"}, "operation of this steering vector is 'project'; only 'add'"),
        ({"residual_norm": 0.0}, "residual norm of a steering vector is 0.0"),
        ({"spread": float("nan")}, "spread of a steering vector is nan"),
    ],
)
def test_what_is_no_vector_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        made(**change)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"operation": "project"}, "only 'add' is known here"),
        ({"site": ...}, "is no whole steering_vector"),
        *(({key: value}, "is no whole steering_vector") for key, value in WRONG),
        ({"spread": -1}, r"v\.safetensors: The spread of a steering vector is -1"),
        ({"norm": "x"}, "states a norm of x and holds a vector of norm 5"),
        ({"width": 576}, "states a width of 576 and holds a vector of width 6: it was changed"),
        ({"norm": 45.0}, "states a norm of 45.0 and holds a vector of norm 5"),
        ({"kind": "linear_map"}, "holds linear_map; a saved steering_vector is expected"),
    ],
)
def test_a_changed_file_is_refused(tmp_path, facts, message):
    path = tmp_path / "v.safetensors"
    made().save(path)
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["cospace"]) | facts
        arrays = {"vector": file.get_tensor("vector")}
    header = {key: value for key, value in header.items() if value is not ...}
    save_file(arrays, path, metadata={"cospace": json.dumps(header)})
    with pytest.raises(InputError, match=message):
        SteeringVector.load(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([3.0, np.nan, 4.0, 0.0, 0.0, 0.0], r"v\.safetensors: .* 1 of its numbers NaN or infinite"),
        ([3.0, 4.0], "v.safetensors states a width of 6 and holds a vector of width 2"),
    ],
)
def test_a_file_with_other_numbers_is_named(tmp_path, row, message):
    path = tmp_path / "v.safetensors"
    made().save(path)
    with safe_open(path, framework="numpy") as file:
        told = file.metadata()
    save_file({"vector": np.array(row)}, path, metadata=told)
    with pytest.raises(InputError, match=message):
        SteeringVector.load(path)
