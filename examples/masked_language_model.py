"""Masked-language-model training of a small BERT encoder on one core, exactly resumable."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from token_rows import TEXTS, Rows, Text, batch, draw, scores, unigram
from torch.nn.functional import cross_entropy, embedding, linear
from training import Run
from transformers import BertConfig, BertForMaskedLM

from cospace.errors import InputError

DRAWS = 8192
"""Tokens drawn a step, beside those wanted, for `sampled_loss`."""

_initialising = threading.Lock()


@dataclass(frozen=True)
class Settings:
    """What all encoders of an ensemble share; another value is another ensemble."""

    texts: tuple[str, ...] = TEXTS
    """Names in `cospace.corpora.CORPORA`, or files of texts."""
    tokenizer: str = "minilm"
    """A model reference whose tokenizer is taken."""
    width: int = 128
    """Width of the hidden states; heads are 64 wide."""
    blocks: int = 4
    """Number of transformer blocks."""
    length: int = 128
    """Tokens in a row, which is also the longest text an encoder reads."""
    rows: int = 8
    """Rows in a step."""
    steps: int = 1200
    """Steps of AdamW."""
    rate: float = 2e-3
    """Highest learning rate, after a warmup over a tenth of the steps; then linear to 0."""
    decay: float = 0.01
    """Weight decay of the matrices."""
    masked: float = 0.3
    """Share of the tokens to be predicted; of these 80 % are masked, 10 % replaced, 10 % kept."""
    dtype: str = "bfloat16"
    """Number type of the matrix products; weights and AdamW stay in float32."""

    def __post_init__(self) -> None:
        for name in ("width", "blocks", "rows", "steps"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}, expected 1 or more.")
        if self.width % 64:
            raise InputError(f"width is {self.width}, expected a multiple of 64, as heads are 64.")
        if self.length < 8:
            raise InputError(f"length is {self.length}, expected 8 tokens or more.")
        if self.dtype not in ("bfloat16", "float32"):
            raise InputError(f"dtype is {self.dtype!r}, expected 'bfloat16' or 'float32'.")


def hide(
    rows: Rows, text: Text, rng: np.random.Generator, share: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Choose tokens to predict; give the rows with these hidden, and where they are.

    Of the chosen tokens 80 % become the mask token, 10 % a random one, 10 % stay. Special tokens
    are never chosen.
    """
    chosen = (rng.random(rows.shape) < share) & ~np.isin(rows, text.special)
    fate = rng.random(rows.shape)
    random = rng.integers(text.vocabulary, size=rows.shape)
    hidden = np.where(chosen & (fate < 0.8), text.mask, rows)
    return np.where(chosen & (fate >= 0.9), random, hidden).astype(np.int64), chosen


def new_model(settings: Settings, text: Text, seed: int) -> Any:
    """Make an untrained encoder with its masked-LM head, whose offset starts as a unigram model."""
    config = BertConfig(
        vocab_size=text.vocabulary,
        hidden_size=settings.width,
        num_hidden_layers=settings.blocks,
        num_attention_heads=settings.width // 64,
        intermediate_size=4 * settings.width,
        max_position_embeddings=settings.length,
        # A text that is seen less than twice is not learnt by heart.
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        # On rows as short as these the plain products are faster than the fused ones.
        attn_implementation="eager",
    )
    with _initialising:
        torch.manual_seed(seed)
        model = BertForMaskedLM(config)
    with torch.no_grad():
        model.cls.predictions.bias.copy_(torch.from_numpy(text.log_frequencies))
    return model.train()


def loss_at(model: Any, hidden: Any, rows: Any, chosen: Any) -> tuple[Any, Any]:
    """Cross-entropy in nats at each chosen token, and whether the likeliest token is right."""
    states = model.bert(hidden).last_hidden_state
    scores = model.cls(states[chosen]).float()
    wanted = rows[chosen]
    return cross_entropy(scores, wanted, reduction="none"), (scores.detach().argmax(-1) == wanted)


def sampled_loss(model: Any, hidden: Any, wanted: Any, text: Text, rng: np.random.Generator) -> Any:
    """Mean cross-entropy in nats among the wanted tokens and others drawn by their frequency.

    A softmax over all 30,522 tokens would cost more than the encoder, see `token_rows.draw`.
    ``wanted`` has the tokens to be predicted where there are any, elsewhere -1.
    """
    chosen = wanted >= 0
    among, place, log_present = draw(wanted[chosen], text, rng, draws=DRAWS)
    # One look-up for inputs and scores: every look-up costs a gradient as large as the table.
    used = np.union1d(hidden, among)
    head, at = model.cls.predictions, torch.from_numpy(np.searchsorted(used, among))
    table = head.decoder.weight[torch.from_numpy(used)]
    inputs = embedding(torch.from_numpy(np.searchsorted(used, hidden)), table)
    states = model.bert(inputs_embeds=inputs).last_hidden_state[torch.from_numpy(chosen)]
    scores = linear(head.transform(states), embedding(at, table)).float()
    scores = scores + head.bias[torch.from_numpy(among)] - torch.from_numpy(log_present).float()
    return cross_entropy(scores, torch.from_numpy(place))


def new_run(settings: Settings, text: Text, seed: int) -> Run:
    """Begin an encoder."""
    return Run.of(new_model(settings, text, seed), settings)


def one_step(run: Run, settings: Settings, text: Text, seed: int) -> None:
    """Train on the rows of the next step."""
    rows = batch(text.train, seed=seed, step=run.step, size=settings.rows)
    rng = np.random.default_rng([seed, 1, run.step])
    hidden, chosen = hide(rows, text, rng, settings.masked)
    wanted = np.where(chosen, rows.astype(np.int64), -1)
    with torch.autocast("cpu", torch.bfloat16, enabled=settings.dtype == "bfloat16"):
        loss = sampled_loss(run.model, hidden, wanted, text, rng)
    loss.backward()
    run.update(settings, loss.item())


def held_out_scores(model: Any, settings: Settings, text: Text) -> dict[str, float]:
    """How well the held-out texts are predicted, in float32; the same tokens for every encoder."""
    losses, right = [], []
    for rows, hidden, chosen in _held_out(settings, text):
        with torch.inference_mode():
            loss, hit = loss_at(model, *map(torch.from_numpy, (hidden, rows, chosen)))
        losses.append(loss.double().numpy())
        right.append(hit.numpy())
    return scores(np.concatenate(losses), np.concatenate(right))


def unigram_scores(text: Text, settings: Settings) -> dict[str, float]:
    """The same of the model that knows the frequency of each token and nothing else."""
    return unigram(
        text, np.concatenate([rows[chosen] for rows, _, chosen in _held_out(settings, text)])
    )


def _held_out(settings: Settings, text: Text) -> Iterator[tuple[Any, Any, Any]]:
    rng = np.random.default_rng(0)
    for start in range(0, len(text.held_out), settings.rows):
        rows = text.held_out[start : start + settings.rows]
        yield rows.astype(np.int64), *hide(rows, text, rng, settings.masked)
