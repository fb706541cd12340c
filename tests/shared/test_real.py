"""A shared space of real models at half depth, where one direction of the decoder rules."""

from __future__ import annotations

import pytest

import cospace as cs
from cospace.shared import RetrievalSet, score_shared, split_texts

pytestmark = pytest.mark.weights

MODELS = ("minilm", "smollm2-135m")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    corpus = cs.Corpus.packaged("plain").take(range(0, 480, 2))
    models = [cs.load_model(name) for name in MODELS]
    return cs.extract(
        models,
        corpus,
        sites=[0.5],
        pooling="mean",
        store=tmp_path_factory.mktemp("store"),
        progress=False,
    )


def test_a_chosen_space_keeps_at_half_depth_what_raw_rows_lose(store):
    spaces = {name: store.space(name, 0.5, "mean") for name in MODELS}
    split = split_texts(spaces["minilm"].ids, held_out=60)
    fit, new = ({n: s.take(ids) for n, s in spaces.items()} for ids in split)
    chosen = score_shared(
        fit, [RetrievalSet("new", new)], methods=("gpa", "gcca", "ridge", "procrustes"), draws=500
    )
    raw = score_shared(
        fit, [RetrievalSet("new", new)], methods=("gpa",), scalings=("none",), draws=500
    )
    assert chosen.leading[1].share > 0.9
    assert chosen.choice(chosen.shared).scaling != "none"
    assert chosen.get("shared", set="new").low > raw.get("gpa", set="new").high
    for one in chosen.contrasts:
        if one.measure == "top1":
            assert one.high >= 0.0, one  # nowhere told to be below a pairwise map
    assert any("smollm2-135m: one direction holds" in told for told in chosen.warnings)
