"""Packaged models, with their real weights, against transformers itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cospace.models.base import Pooling, TokenPolicy, resolve_sites
from cospace.models.batching import pad, tokenise
from cospace.models.hf import load_model

pytestmark = pytest.mark.weights

TEXTS = [
    "The river froze before the geese had left.",
    "Stop!",
    "A committee of nine argued for an hour about the colour of the new door, and then went home.",
    "She paid the bill.",
]


@pytest.fixture(scope="module", params=["minilm", "smollm2-135m", "mpnet"])
def model(request):
    return load_model(request.param)


@pytest.fixture(scope="module")
def unpadded(model):
    """Transformers' own states of every text alone: site -> (tokens, width) per text."""
    states = []
    with torch.inference_mode():
        for text in TEXTS:
            inputs = model._tokenizer(text, return_tensors="pt")
            output = model._reader.model(input_ids=inputs["input_ids"], output_hidden_states=True)
            named = dict(zip(model._reader.layout.names, output.hidden_states[:-1], strict=False))
            named[model._reader.layout.names[-1]] = output.last_hidden_state
            states.append({site: state[0].double().numpy() for site, state in named.items()})
    return states


def test_states_differ_from_transformers(model):
    reader = model._reader
    texts = tokenise(model._tokenizer, TEXTS)
    batch = pad(texts, policy=TokenPolicy(), side="right", fill=reader.fill)
    found = {}
    with torch.inference_mode():
        reader.read(batch, reader.layout.names, found.__setitem__)
        output = reader.model(**reader.inputs(batch), output_hidden_states=True)
    blocks = model.facts.blocks
    assert torch.equal(found["embed"], output.hidden_states[0])
    for i in range(blocks - 1):
        assert torch.equal(found[f"block.{i}"], output.hidden_states[i + 1])
    assert torch.equal(found[reader.layout.names[-1]], output.last_hidden_state)
    if model.facts.final_norm:
        normed = reader.layout.norm(found[f"block.{blocks - 1}"])
        assert torch.equal(normed, found["final_norm"])
        assert not torch.equal(found[f"block.{blocks - 1}"], found["final_norm"])


def test_batch_differs_from_the_unpadded_texts_one_by_one(model, unpadded):
    sites = resolve_sites("all", blocks=model.facts.blocks, final_norm=model.facts.final_norm)
    pooled = model.activations(
        TEXTS,
        ids=list("abcd"),
        sites=sites,
        poolings=list(Pooling),
        policy=TokenPolicy(special=True),
        batch_tokens=1000,
    )
    worst = 0.0
    for i, states in enumerate(unpadded):
        for site, state in states.items():
            rows = {
                "mean": state.mean(axis=0),
                "max": state.max(axis=0),
                "first": state[0],
                "last": state[-1],
            }
            for pooling, row in rows.items():
                change = np.linalg.norm(pooled.rows[site, pooling][i] - row) / np.linalg.norm(row)
                worst = max(worst, change)
    assert worst <= 1e-5


def test_special_tokens_are_pooled_against_the_policy(model, unpadded):
    """Encoders put a token before and behind each text, SmolLM2 none."""
    last = model._reader.layout.names[-1]
    added = 0 if model.facts.architecture == "llama" else 1
    pooled = model.activations(
        TEXTS,
        ids=list("abcd"),
        sites=resolve_sites("last", blocks=model.facts.blocks, final_norm=model.facts.final_norm),
        poolings=[Pooling.MEAN],
        policy=TokenPolicy(),
        batch_tokens=1000,
    )
    for i, states in enumerate(unpadded):
        state = states[last]
        row = state[added : len(state) - added].mean(axis=0)
        assert np.linalg.norm(pooled.rows[last, "mean"][i] - row) <= 1e-5 * np.linalg.norm(row)
