"""Next-token training of a small Mamba language model on one or two cores, exactly resumable."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from selective_scan import states
from token_rows import TEXTS, Text, batch, draw, scores, unigram
from torch.nn.functional import cross_entropy, embedding, linear
from training import Run
from transformers import MambaConfig, MambaForCausalLM

from cospace.errors import InputError

DRAWS, EVENLY = 4096, 4096
"""Tokens drawn a step beside those wanted, by frequency and from all alike; see `token_rows.draw`."""
PARTS = 2
"""Parts of a step's rows whose gradients are summed, in this order, whoever computes them."""


@dataclass(frozen=True)
class Settings:
    """What makes a training; another value is another model."""

    texts: tuple[str, ...] = TEXTS
    """Names in `cospace.corpora.CORPORA`, or files of texts."""
    tokenizer: str = "smollm2-135m"
    """A model reference whose tokenizer is taken; a decoder's, with an end-of-text token."""
    width: int = 128
    """Width of the hidden states; channels inside a block are twice as many, of 16 states each."""
    blocks: int = 6
    """Number of Mamba blocks."""
    length: int = 128
    """Tokens in a row; the model itself has no longest text."""
    rows: int = 16
    """Rows in a step."""
    steps: int = 4000
    """Steps of AdamW."""
    rate: float = 3e-3
    """Highest learning rate, after a warmup over a tenth of the steps; then linear to 0."""
    decay: float = 0.1
    """Weight decay of the matrices."""
    dtype: str = "bfloat16"
    """Number type of the large matrix products; scan, weights and AdamW stay in float32."""

    def __post_init__(self) -> None:
        for name, least in (("width", 8), ("blocks", 1), ("length", 8), ("steps", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}, expected {least} or more.")
        if self.rows < PARTS or self.rows % PARTS:
            raise InputError(f"rows is {self.rows}, expected a multiple of {PARTS}.")
        if self.dtype not in ("bfloat16", "float32"):
            raise InputError(f"dtype is {self.dtype!r}, expected 'bfloat16' or 'float32'.")


def new_run(settings: Settings, text: Text, end: int) -> Run:
    """Begin a model; its tokenizer ends texts with token ``end``."""
    config = MambaConfig(
        vocab_size=text.vocabulary,
        hidden_size=settings.width,
        num_hidden_layers=settings.blocks,
        pad_token_id=end,
        bos_token_id=end,
        eos_token_id=end,
    )
    torch.manual_seed(0)
    return Run.of(MambaForCausalLM(config).train(), settings)


def one_step(run: Run, settings: Settings, text: Text, pool: Executor) -> None:
    """Train on the rows of the next step, its parts by the workers of ``pool``.

    A softmax over all 49,152 tokens would cost several times the model, see `token_rows.draw`. The
    wanted token is there for certain, so nothing is taken off its score: the sum under it is, on
    average, that over all tokens, and the loss about that of the full softmax.
    """
    rows = batch(text.train, seed=0, step=run.step, size=settings.rows).astype(np.int64)
    rng = np.random.default_rng([0, 1, run.step])
    among, place, log_present = draw(rows[:, 1:].ravel(), text, rng, draws=DRAWS, evenly=EVENLY)
    # One look-up for inputs and scores, and gradients of the rows that it gives alone.
    used = np.union1d(rows[:, :-1], among)
    table = run.model.get_input_embeddings().weight
    looked_up = table.detach()[torch.from_numpy(used)].requires_grad_()
    others = [p for p in run.model.parameters() if p is not table]
    at, offset = np.searchsorted(used, among), -torch.from_numpy(log_present).float()

    def part(inputs: Any, wanted: Any) -> tuple[float, Any]:
        torch.set_num_threads(1)
        with torch.autocast("cpu", torch.bfloat16, enabled=settings.dtype == "bfloat16"):
            found = states(run.model.backbone, embedding(_tensor(inputs.T), looked_up))
            raw = linear(found, embedding(_tensor(at), looked_up)).float() + offset
        goal = _tensor(wanted.T)
        raw = raw.scatter_add(-1, goal[..., None], -offset[goal][..., None])
        total = cross_entropy(raw.flatten(0, 1), goal.flatten(), reduction="sum")
        loss = total / place.size
        return loss.item(), torch.autograd.grad(loss, [looked_up, *others])

    inputs = np.split(np.searchsorted(used, rows[:, :-1]), PARTS)
    wanted = np.split(place.reshape(len(rows), -1), PARTS)
    losses, gradients = zip(*pool.map(part, inputs, wanted), strict=True)
    first, *rest = (sum(same[1:], same[0]) for same in zip(*gradients, strict=True))
    table.grad = torch.zeros_like(table).index_copy_(0, torch.from_numpy(used), first)
    for parameter, gradient in zip(others, rest, strict=True):
        parameter.grad = gradient
    run.update(settings, sum(losses))


def held_out_scores(model: Any, text: Text) -> dict[str, float]:
    """How well each next token of the held-out rows is predicted, in float32 among all tokens."""
    losses, right = [], []
    for rows in _held_out(text):
        wanted = torch.from_numpy(rows[:, 1:].T).contiguous()
        with torch.inference_mode():
            found = states(model.backbone, model.get_input_embeddings()(_tensor(rows[:, :-1].T)))
            raw = model.lm_head(found)
            loss = cross_entropy(raw.flatten(0, 1), wanted.flatten(), reduction="none")
        losses.append(loss.double().numpy())
        right.append((raw.argmax(-1) == wanted).flatten().numpy())
    return scores(np.concatenate(losses), np.concatenate(right))


def unigram_scores(text: Text) -> dict[str, float]:
    """The same of the model that knows the frequency of each token and nothing else."""
    return unigram(text, np.concatenate([r[:, 1:].ravel() for r in _held_out(text)]))


def _held_out(text: Text) -> Iterator[Any]:
    # Few at a time: the scores of all tokens are 25 MB a row.
    for start in range(0, len(text.held_out), 4):
        yield text.held_out[start : start + 4].astype(np.int64)


def _tensor(numbers: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(numbers))
