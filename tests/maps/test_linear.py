"""A map as a value: points, directions, classifiers, files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import cospace as cs
from cospace.errors import InputError
from cospace.maps import fit_map

METHODS = {
    "least_squares": {},
    "affine": {},
    "ridge": {},
    "orthogonal": {},
    "low_rank": {"rank": 2},
}


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 5)) + 3.0
    return x, x @ rng.normal(size=(5, 4)) + 0.1 * rng.normal(size=(60, 4)) + 9.0


@pytest.fixture(scope="module")
def made(pair):
    x, y = pair
    return {m: fit_map(source=x, target=y, method=m, **o) for m, o in METHODS.items()}


@pytest.mark.parametrize("method", METHODS)
@given(seed=st.integers(0, 10**6))
def test_a_moved_point_moves_by_the_mapped_direction(made, method, seed):
    rng = np.random.default_rng(seed)
    x, v = rng.normal(size=(3, 5)) * 10, rng.normal(size=(3, 5))
    found = made[method]
    moved = found.points(x + v) - found.points(x)
    assert np.allclose(moved, found.directions(v), rtol=0, atol=1e-10)


def test_a_direction_gets_no_offset(made):
    """Fault: a steering vector that is mapped like a point."""
    v = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    found = made["affine"]
    assert not found.directions(0.0 * v).any()
    assert np.allclose(found.points(v) - found.directions(v), found.offset, rtol=0, atol=1e-12)
    assert np.linalg.norm(found.offset) > 1.0
    assert np.allclose(2.0 * found.directions(v), found.directions(2.0 * v), rtol=0, atol=1e-12)


def test_one_row_is_one_row(made):
    found = made["affine"]
    x = np.arange(5.0)
    assert found.points(x).shape == found.directions(list(x)).shape == (4,)
    assert np.array_equal(found.points(x), found.points([list(x)])[0])


@pytest.mark.parametrize("classes", [None, 3])
@pytest.mark.parametrize("method", METHODS)
def test_a_classifier_reads_the_image(made, method, classes):
    rng = np.random.default_rng(1)
    shape = () if classes is None else (classes,)
    w, b = rng.normal(size=(*shape, 4)), rng.normal(size=shape)
    x = rng.normal(size=(7, 5)) * 4
    back = made[method].probe(w, b)
    there = made[method].points(x) @ w.T + b
    assert back.weight.shape == (*shape, 5)
    assert back.offset.shape == shape
    assert np.allclose(x @ back.weight.T + back.offset, there, rtol=0, atol=1e-10)


def test_a_probe_of_the_target_works_on_the_source(pair, made):
    x, y = pair
    labels = (y[:, 0] > np.median(y[:, 0])).astype(float)
    w = np.linalg.lstsq(np.column_stack([y, np.ones(60)]), 2 * labels - 1)[0]
    back = made["affine"].probe(w[:4], w[4])
    agree = np.mean((x @ back.weight + back.offset > 0) == (y @ w[:4] + w[4] > 0))
    assert agree > 0.95
    without = np.mean((x @ back.weight + w[4] > 0) == (y @ w[:4] + w[4] > 0))
    assert without < agree


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_map_comes_back_to_the_last_bit(made, method, tmp_path):
    found = made[method]
    found.save(tmp_path / "map.safetensors")
    again = cs.LinearMap.load(tmp_path / "map.safetensors")
    x = np.random.default_rng(2).normal(size=(3, 5))
    assert np.array_equal(again.points(x), found.points(x))
    assert np.array_equal(again.directions(x), found.directions(x))
    assert again.to_dict() == found.to_dict()
    assert again.held_out == found.held_out
    first = (tmp_path / "map.safetensors").read_bytes()
    again.save(tmp_path / "map.safetensors")
    assert (tmp_path / "map.safetensors").read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["map.safetensors"]


def test_the_file_is_safetensors_that_others_read(made, tmp_path):
    made["affine"].save(tmp_path / "map.safetensors")
    arrays = load_file(tmp_path / "map.safetensors")
    assert set(arrays) == {"matrix", "center", "image"}
    json.dumps(made["affine"].to_dict())


def test_a_map_says_what_it_is(made):
    text = repr(made["ridge"])
    assert "'source' -> 'target', ridge, 5 -> 4, rank 4, held-out R2 0.9" in text


@pytest.mark.parametrize(
    ("w", "b"),
    [
        (np.ones(5), 0.0),
        (np.ones((2, 4)), np.zeros(3)),
        (np.ones(4), np.zeros(2)),
        (np.ones((1, 2, 4)), 0.0),
    ],
)
def test_a_classifier_of_another_shape_is_refused(made, w, b):
    with pytest.raises(InputError, match=r"reads the target of this map"):
        made["affine"].probe(w, b)


def test_what_is_not_finite_is_refused(made):
    with pytest.raises(InputError, match="weights that are NaN"):
        made["affine"].probe([1.0, np.nan, 0.0, 0.0])
    with pytest.raises(InputError, match="points has NaN"):
        made["affine"].points(np.full((2, 5), np.nan))
    with pytest.raises(InputError, match="directions have width 4; this map takes rows of width 5"):
        made["affine"].directions(np.ones(4))


def test_a_file_that_is_no_map_is_refused(made, tmp_path):
    path = tmp_path / "map.safetensors"
    with pytest.raises(InputError, match=r"map\.safetensors cannot be read"):
        cs.LinearMap.load(path)
    path.write_bytes(b"not safetensors")
    with pytest.raises(InputError, match="is not a saved linear_map: it is no whole safetensors"):
        cs.LinearMap.load(path)
    save_file({"matrix": np.ones((2, 2))}, path)
    with pytest.raises(InputError, match="holds tensors of something else; a saved linear_map"):
        cs.LinearMap.load(path)
    with pytest.raises(InputError, match="cannot be written"):
        made["affine"].save(tmp_path / "absent" / "map.safetensors")


def changed(path, arrays=None, **facts):
    """Write the file again with something changed."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["cospace"]) | facts
        held = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    header = {key: value for key, value in header.items() if value is not ...}
    save_file(held | (arrays or {}), path, metadata={"cospace": json.dumps(header)})


@pytest.mark.parametrize(
    ("arrays", "facts", "message"),
    [
        ({}, {"kind": "steering_vector"}, "holds steering_vector; a saved linear_map"),
        ({}, {"schema": 9}, "layout version 9; this cospace reads version 1"),
        ({}, {"rank": ...}, "is no whole linear_map"),
        ({"center": np.zeros(4)}, {}, "they do not fit"),
    ],
)
def test_a_changed_file_is_refused(made, tmp_path, arrays, facts, message):
    path = tmp_path / "map.safetensors"
    made["affine"].save(path)
    changed(path, arrays, **facts)
    with pytest.raises(InputError, match=message):
        cs.LinearMap.load(path)
