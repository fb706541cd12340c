"""The scan of the Mamba example: values and gradients of the recurrence, and of transformers."""

from __future__ import annotations

import doctest
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from cospace.models.checkpoint import quiet

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
try:
    selective = importlib.import_module("selective_scan")
finally:
    sys.path.pop(0)

NAMES = ("x", "dt", "decay", "b", "c")


def draw(tokens, rows=2, channels=3, states=4, *, dtype=torch.float64):
    """Inputs of a scan, drawn as Mamba has them: step sizes positive, rates negative."""
    rng = np.random.default_rng(tokens)
    arrays = {
        "x": rng.normal(size=(tokens, rows, channels)),
        "dt": rng.exponential(0.3, size=(tokens, rows, channels)),
        "decay": -np.exp(rng.normal(size=(states, channels))),
        "b": rng.normal(size=(tokens, rows, states)),
        "c": rng.normal(size=(tokens, rows, states)),
    }
    return {k: torch.tensor(v, dtype=dtype, requires_grad=True) for k, v in arrays.items()}


def reference(x, dt, decay, b, c):
    """The recurrence in float64, one token after the other."""
    x, dt, decay, b, c = (each.detach().double().numpy() for each in (x, dt, decay, b, c))
    state = np.zeros((x.shape[1], *decay.shape))
    y = np.empty_like(x)
    for t in range(len(x)):
        for row in range(x.shape[1]):
            kept = np.exp(dt[t, row] * decay)
            state[row] = kept * state[row] + np.outer(b[t, row], dt[t, row] * x[t, row])
            y[t, row] = c[t, row] @ state[row]
    return y


def reference_gradients(inputs, weights):
    """Gradients of the weighted sum of y, by torch through the same recurrence in float64."""
    x, dt, decay, b, c = (inputs[k].detach().double().requires_grad_() for k in NAMES)
    state, total = 0.0, 0.0
    for t in range(len(x)):
        put_in = b[t][:, :, None] * (dt[t] * x[t])[:, None]
        state = torch.exp(dt[t][:, None] * decay) * state + put_in
        total = total + ((c[t][:, :, None] * state).sum(1) * weights[t].double()).sum()
    return torch.autograd.grad(total, (x, dt, decay, b, c))


def apart(found, expected):
    """Largest difference, relative to the largest value."""
    expected = torch.as_tensor(expected).detach().double()
    return float((found.detach().double() - expected).abs().max() / expected.abs().max())


def test_docs_are_true():
    assert doctest.testmod(selective).failed == 0


@pytest.mark.parametrize("tokens", [1, 2, 7, 8, 9, 16, 29])
@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-13), (torch.float32, 1e-5)])
def test_values_and_gradients_are_those_of_the_recurrence(tokens, dtype, within):
    inputs = draw(tokens, dtype=dtype)
    y = selective.scan(**inputs)
    assert y.dtype == dtype
    assert apart(y, reference(**inputs)) < within
    weights = torch.tensor(np.random.default_rng(5).normal(size=y.shape), dtype=dtype)
    found = torch.autograd.grad((y * weights).sum(), list(inputs.values()))
    for name, own, expected in zip(NAMES, found, reference_gradients(inputs, weights), strict=True):
        assert own.shape == inputs[name].shape
        if expected.abs().max() == 0:  # of one token nothing is kept
            assert own.abs().max() == 0, name
        else:
            assert apart(own, expected) < within, name


def test_gradients_are_those_of_finite_differences():
    inputs = draw(11, rows=1, channels=2, states=2)
    assert torch.autograd.gradcheck(selective.scan, tuple(inputs.values()), atol=1e-8)


@pytest.mark.parametrize("rate", [-1e-9, -1e3, -1e30])
def test_decays_that_underflow_or_keep_everything_are_safe(rate):
    inputs = draw(40, dtype=torch.float32)
    inputs["decay"] = torch.full((4, 3), rate, requires_grad=True)
    y = selective.scan(**inputs)
    assert apart(y, reference(**inputs)) < 1e-5
    weights = torch.ones_like(y)
    found = torch.autograd.grad(y.sum(), list(inputs.values()))
    for name, own, expected in zip(NAMES, found, reference_gradients(inputs, weights), strict=True):
        assert torch.isfinite(own).all(), name
        np.testing.assert_allclose(
            own, expected, rtol=1e-4, atol=1e-5 * float(expected.abs().max()) + 1e-30
        )


def test_a_scan_stays_in_float32_where_products_are_in_bfloat16():
    inputs = draw(20, dtype=torch.float32)
    plain = selective.scan(**inputs)
    with torch.autocast("cpu", torch.bfloat16):
        found = selective.scan(**inputs)
    assert found.dtype == torch.float32
    assert torch.equal(found, plain)


def test_values_do_not_depend_on_the_chunk(monkeypatch):
    inputs = draw(21)
    by_chunks = selective.scan(**inputs).detach()
    monkeypatch.setattr(selective, "CHUNK", 100)
    assert apart(selective.scan(**inputs), by_chunks) < 1e-14


def padded(tokens, side):
    """Two rows, the second of which has padding on a side, for a third of its tokens."""
    attended = torch.ones(2, tokens, dtype=torch.long)
    if side == "right":
        attended[1, tokens - tokens // 3 :] = 0
    elif side == "left":
        attended[1, : tokens // 3] = 0
    return attended


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("tokens", [1, 8, 13, 32])
@pytest.mark.parametrize("side", ["none", "right", "left"])
def test_the_model_is_that_of_transformers(tokens, side, dtype):
    config = transformers.MambaConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, use_bias=side == "left"
    )
    torch.manual_seed(0)
    with quiet():
        model = transformers.MambaForCausalLM(config).to(dtype)
        ids, attended = torch.randint(50, (2, tokens)), padded(tokens, side)
        expected = model(ids, attention_mask=attended, use_cache=False).logits
    weights = torch.randn_like(expected) * attended[..., None]
    parameters = dict(model.named_parameters())
    wanted = torch.autograd.grad((expected * weights).sum(), list(parameters.values()))

    embedded = model.backbone.embeddings(ids.T)
    mask = None if side == "none" else attended.T.to(dtype)
    logits = model.lm_head(selective.states(model.backbone, embedded, mask)).transpose(0, 1)
    found = torch.autograd.grad((logits * weights).sum(), list(parameters.values()))
    # transformers casts to float32 inside, whatever the model's type is.
    assert apart(logits, expected) < 2e-6
    for name, own, theirs in zip(parameters, found, wanted, strict=True):
        if theirs.abs().max() == 0:
            assert own.abs().max() == 0, name
        else:
            assert apart(own, theirs) < 2e-5, name
