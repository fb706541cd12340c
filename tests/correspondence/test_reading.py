"""From a store of real models to a grid: poolings by policy, and what is missing."""

from __future__ import annotations

import numpy as np
import pytest

import cospace as cs
from cospace.corpus import Corpus
from cospace.correspondence import read_grid
from cospace.errors import InputError, StoreError
from cospace.models.base import TokenPolicy

TEXTS = [
    f"The {a} sees the {b}."
    for a in ("cat", "dog", "king", "child")
    for b in ("sea", "hill", "door", "sun")
]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    home = tmp_path_factory.mktemp("stores")
    corpus = Corpus.of(TEXTS, name="first")
    for model in ("minilm", "smollm2-135m"):
        loaded = cs.load_model(model)
        options = {"sites": (0.0, 1.0), "store": home / "first"}
        cs.extract(loaded, corpus, pooling=("mean", "last"), **options)
        cs.extract(loaded, corpus, pooling="mean", policy=TokenPolicy(sink=False), **options)
    return home


@pytest.mark.weights
def test_poolings_are_told_apart_by_policy(stores):
    store = cs.open_store(stores / "first")
    grid = read_grid(store, (0.0, 1.0))
    assert set(grid) == {"mean", "last", "mean, no sink"}
    assert {model: list(depths) for model, depths in grid["mean"].items()} == {
        "minilm": [0.0, 1.0],
        "smollm2-135m": [0.0, 1.0],
    }
    with_sink = grid["mean"]["smollm2-135m"][1.0].rows
    without = grid["mean, no sink"]["smollm2-135m"][1.0].rows
    assert not np.allclose(with_sink, without)
    assert list(read_grid(store, (1.0,), ["last"])) == ["last"]


@pytest.mark.weights
def test_what_is_not_there_is_told(stores, tmp_path):
    store = cs.open_store(stores / "first")
    with pytest.raises(InputError, match="depths are 2"):
        read_grid(store, (2.0,))
    with pytest.raises(InputError, match="Pooling 'max' is not there for every model"):
        read_grid(store, (1.0,), ["max"])
    with pytest.raises(StoreError, match="extract it into the same store"):
        read_grid(store, (0.5,))
    cs.extract(
        cs.load_model("minilm"), Corpus.of(TEXTS), sites=(1.0,), pooling="mean", store=tmp_path
    )
    with pytest.raises(InputError, match="holds 1 model: a correspondence needs two"):
        read_grid(cs.open_store(tmp_path), (1.0,))
