"""Every architecture, padded on either side, against transformers itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from cospace.models.base import Pooling, TokenPolicy, resolve_sites
from cospace.models.batching import pad, tokenise

KINDS = [
    "albert",
    "bart",
    "bert",
    "bloom",
    "clip_text_model",
    "convbert",
    "deberta-v2",
    "distilbert",
    "electra",
    "falcon",
    "falcon_mamba",
    "fnet",
    "gemma",
    "gemma2",
    "gemma3_text",
    "gpt2",
    "gpt_neox",
    "llama",
    "mamba",
    "mamba2",
    "mistral",
    "modernbert",
    "mpnet",
    "mpt",
    "olmo2",
    "opt",
    "phi3",
    "qwen2",
    "qwen3",
    "roberta",
    "rwkv",
    "t5",
    "xlm-roberta",
]

NO_FINAL_NORM = {
    "albert",
    "bart",
    "bert",
    "convbert",
    "deberta-v2",
    "distilbert",
    "electra",
    "fnet",
    "mpnet",
    "roberta",
    "xlm-roberta",
}

BEGIN_BEHIND_THE_FIRST_BLOCK = {"mamba", "mamba2", "falcon_mamba", "rwkv"}
"""Whose hidden states in transformers have no entry for what goes into the first block."""

CHANGED_BY_PADDING = {
    "right": {"convbert", "fnet"},
    "left": {"bart", "convbert", "fnet", "rwkv"},
}
"""Measured: convolutions and Fourier transforms over padding, positions from the left edge."""

TEXTS = ["w5 w6 the w8", "w9", "w11 the w13 w14 w15 w16 w17 w18 w19", "w20 w21", "w22 w23"]
IDS = [f"t{i}" for i in range(len(TEXTS))]


def seen(reader, batch):
    states = {}
    with torch.inference_mode():
        reader.read(batch, reader.layout.names, states.__setitem__)
    return states


def theirs(model, inputs):
    """Transformers' own states by the name of the site."""
    with torch.inference_mode():
        output = model(**inputs, output_hidden_states=True)
    kind = model.config.model_type
    blocks = model.config.num_hidden_layers
    first = 0 if kind in BEGIN_BEHIND_THE_FIRST_BLOCK else -1
    states = {
        "embed" if i + first < 0 else f"block.{i + first}": state
        for i, state in enumerate(output.hidden_states[:-1])
    }
    last = f"block.{blocks - 1}" if kind in NO_FINAL_NORM else "final_norm"
    return states | {last: output.last_hidden_state}


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", KINDS)
def test_states_differ_from_transformers(kind, side, read_model):
    model = read_model(kind, padding=side)
    reader = model._reader
    texts = tokenise(model._tokenizer, TEXTS)
    batch = pad(texts, policy=TokenPolicy(), side=side, fill=reader.fill)
    expected = theirs(reader.model, reader.inputs(batch))
    found = seen(reader, batch)
    assert model.facts.final_norm == (kind not in NO_FINAL_NORM)
    assert set(expected) == set(found) - (
        {"embed"} if kind in BEGIN_BEHIND_THE_FIRST_BLOCK else {"block.2"} - set(expected)
    )
    for site, state in expected.items():
        assert torch.equal(found[site], state), site


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in CHANGED_BY_PADDING["right"]])
def test_positions_differ_from_those_that_transformers_makes_itself(kind, read_model):
    reader = read_model(kind)._reader
    texts = tokenise(read_model(kind)._tokenizer, TEXTS)
    batch = pad(texts, policy=TokenPolicy(), side="right", fill=reader.fill)
    inputs = reader.inputs(batch)
    inputs.pop("position_ids", None)
    found = seen(reader, batch)
    for site, state in theirs(reader.model, inputs).items():
        assert torch.equal(found[site][batch.attended], state[batch.attended]), site


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", KINDS)
def test_padding_is_put_where_it_changes_states(kind, side, read_model):
    model = read_model(kind, padding=side)
    expected = "none" if kind in CHANGED_BY_PADDING[side] else side
    assert model.circumstances["padding"] == expected


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", KINDS)
def test_batch_differs_from_the_unpadded_texts_one_by_one(kind, side, read_model):
    model = read_model(kind, padding=side)
    sites = resolve_sites("all", blocks=3, final_norm=model.facts.final_norm)
    pooled = model.activations(
        TEXTS,
        ids=IDS,
        sites=sites,
        poolings=list(Pooling),
        policy=TokenPolicy(special=True),
        batch_tokens=1000,
    )
    for i, text in enumerate(TEXTS):
        tokens = model._tokenizer(text, return_tensors="pt")["input_ids"]
        assert pooled.tokens[i] == tokens.shape[1]
        for site, state in theirs(model._reader.model, {"input_ids": tokens}).items():
            state = state[0].double().numpy()
            rows = {
                "mean": state.mean(axis=0),
                "max": state.max(axis=0),
                "first": state[0],
                "last": state[-1],
            }
            for pooling, row in rows.items():
                change = np.linalg.norm(pooled.rows[site, pooling][i] - row)
                assert change <= 1e-5 * np.linalg.norm(row), (site, pooling, text)


@pytest.mark.parametrize("kind", ["bert", "opt", "mpnet", "roberta", "gpt2", "bart", "llama"])
def test_longest_text_is_off_by_a_padding_offset(kind, read_model):
    model = read_model(kind)
    limit = 62 if kind in ("mpnet", "roberta") else 64
    assert model.max_tokens == limit
    pooled = model.activations(
        [" ".join(["w7"] * (limit - 2))],
        ids=["longest"],
        sites=resolve_sites("last", blocks=3, final_norm=model.facts.final_norm),
        poolings=[Pooling.MEAN],
        policy=TokenPolicy(),
        batch_tokens=1000,
    )
    assert pooled.tokens.tolist() == [limit]


def test_blocks_do_nothing_in_the_tiny_models(read_model):
    """The matrices above would prove little if all sites held the same."""
    for kind in KINDS:
        model = read_model(kind)
        texts = tokenise(model._tokenizer, TEXTS[:1])
        batch = pad(texts, policy=TokenPolicy(), side="right", fill=model._reader.fill)
        states = list(seen(model._reader, batch).values())
        for before, after in itertools.pairwise(states):
            assert (after - before).norm() > 0.01 * before.norm(), kind
