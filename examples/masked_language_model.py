"""Masked-language-model training of a small BERT encoder on one core, exactly resumable."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch.nn.functional import cross_entropy, embedding, linear
from transformers import BertConfig, BertForMaskedLM

from cospace.errors import InputError

TEXTS = ("wordnet-definitions", "wordnet-examples")
DRAWS = 8192
"""Tokens drawn a step, beside those wanted, for `sampled_loss`."""

Rows = npt.NDArray[np.uint16]
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


@dataclass(frozen=True)
class Text:
    """The tokenised text, and what the simplest model makes of it."""

    train: Rows
    """Token numbers, (rows, length)."""
    held_out: Rows
    """The same of the texts that are held out."""
    special: tuple[int, ...]
    """Numbers of the special tokens, which are never predicted."""
    mask: int
    """Number of the mask token."""
    vocabulary: int
    """Number of tokens that there are."""

    @cached_property
    def log_frequencies(self) -> npt.NDArray[np.float64]:
        """Log probability of each token in the training rows, one added to every count."""
        counts = np.bincount(self.train.ravel(), minlength=self.vocabulary).astype(np.float64)
        counts[list(self.special)] = 0
        counts += 1
        return np.asarray(np.log(counts / counts.sum()))


def pack(texts: Sequence[Sequence[int]], *, length: int, first: int, end: int) -> Rows:
    """Fill rows of ``length`` tokens: ``first``, then whole texts, each followed by ``end``.

    A text that does not fit fills the row with its beginning and stands whole in the next one, so
    every row begins with the beginning of a text. What is longer than a row is cut; an unfilled
    last row is left out.

    Examples
    --------
    >>> pack([[5, 6], [7, 8, 9]], length=5, first=1, end=2).tolist()
    [[1, 5, 6, 2, 7], [1, 7, 8, 9, 2]]
    """
    rows: list[list[int]] = []
    row = [first]
    for text in texts:
        piece = [*text, end]
        if len(row) > 1 and len(row) + len(piece) > length:
            rows.append([*row, *piece[: length - len(row)]])
            row = [first]
        row += piece[: length - 1]
        if len(row) == length:
            rows.append(row)
            row = [first]
    return np.array(rows, dtype=np.uint16).reshape(-1, length)


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


def batch(rows: Rows, *, seed: int, step: int, size: int) -> Rows:
    """Rows of a step: every pass over the text is a shuffle of its own, fixed by the seed."""
    turn, place = divmod(step, len(rows) // size)
    order = np.random.default_rng([seed, 0, turn]).permutation(len(rows))
    return rows[order[place * size : (place + 1) * size]]


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

    A softmax over all 30,522 tokens would cost more than the encoder. A token that stands among d
    draws with probability 1 - (1 - p)^d has the logarithm of this taken off its score, so that
    the full softmax is what is learnt (Bengio and Senécal 2008). ``wanted`` has the tokens to be
    predicted where there are any, elsewhere -1.
    """
    chosen = wanted >= 0
    draws = rng.choice(text.vocabulary, size=DRAWS, p=np.exp(text.log_frequencies))
    among, place = np.unique(np.concatenate([wanted[chosen], draws]), return_inverse=True)
    place, log_p = place[: chosen.sum()], text.log_frequencies[among]
    present = np.log(-np.expm1((len(place) + DRAWS) * np.log1p(-np.exp(log_p))))
    # One look-up for inputs and scores: every look-up costs a gradient as large as the table.
    used = np.union1d(hidden, among)
    head, at = model.cls.predictions, torch.from_numpy(np.searchsorted(used, among))
    table = head.decoder.weight[torch.from_numpy(used)]
    inputs = embedding(torch.from_numpy(np.searchsorted(used, hidden)), table)
    states = model.bert(inputs_embeds=inputs).last_hidden_state[torch.from_numpy(chosen)]
    scores = linear(head.transform(states), embedding(at, table)).float()
    scores = scores + head.bias[torch.from_numpy(among)] - torch.from_numpy(present).float()
    return cross_entropy(scores, torch.from_numpy(place))


@dataclass
class Run:
    """One encoder on its way: model, optimiser, and how far it is."""

    model: Any
    """Encoder with head."""
    optimiser: Any
    """AdamW over its parameters."""
    step: int = 0
    """Steps done."""
    seconds: float = 0.0
    """Time they took."""
    losses: list[float] = field(default_factory=list)
    """Loss in nats of each step, over the tokens of `sampled_loss`."""

    def save(self, path: Path) -> None:
        """Write everything that is needed to go on, as one file."""
        tensors, state = {}, self.optimiser.state
        for name, parameter in self.model.named_parameters():
            tensors[f"weight {name}"] = parameter.detach()
            for kind in ("exp_avg", "exp_avg_sq"):
                tensors[f"{kind} {name}"] = state[parameter][kind]
        facts = {"step": self.step, "seconds": self.seconds, "losses": self.losses}
        replace(path, lambda at: save_file(tensors, at, metadata={"run": json.dumps(facts)}))

    def load(self, path: Path) -> None:
        """Go on from what `save` wrote."""
        with safe_open(path, "pt") as stored, torch.no_grad():
            facts = json.loads(stored.metadata()["run"])
            for name, parameter in self.model.named_parameters():
                parameter.copy_(stored.get_tensor(f"weight {name}"))
                self.optimiser.state[parameter] = {
                    "step": torch.tensor(float(facts["step"])),
                    **{k: stored.get_tensor(f"{k} {name}") for k in ("exp_avg", "exp_avg_sq")},
                }
        self.step, self.seconds, self.losses = facts["step"], facts["seconds"], facts["losses"]


def new_run(settings: Settings, text: Text, seed: int) -> Run:
    """Begin an encoder."""
    model = new_model(settings, text, seed)
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(
        groups, lr=settings.rate, betas=(0.9, 0.98), weight_decay=settings.decay, fused=True
    )
    return Run(model, optimiser)


def one_step(run: Run, settings: Settings, text: Text, seed: int) -> None:
    """Train on the rows of the next step."""
    rows = batch(text.train, seed=seed, step=run.step, size=settings.rows)
    rng = np.random.default_rng([seed, 1, run.step])
    hidden, chosen = hide(rows, text, rng, settings.masked)
    warm = math.ceil(settings.steps / 10)
    risen, left = (run.step + 1) / warm, settings.steps - run.step
    rate = settings.rate * min(risen, left / max(settings.steps - warm, 1))
    for group in run.optimiser.param_groups:
        group["lr"] = rate
    wanted = np.where(chosen, rows.astype(np.int64), -1)
    with torch.autocast("cpu", torch.bfloat16, enabled=settings.dtype == "bfloat16"):
        loss = sampled_loss(run.model, hidden, wanted, text, rng)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(run.model.parameters(), 1.0)
    run.optimiser.step()
    run.optimiser.zero_grad()
    run.step += 1
    run.losses.append(round(loss.item(), 4))


def held_out_scores(model: Any, settings: Settings, text: Text) -> dict[str, float]:
    """How well the held-out texts are predicted, in float32; the same tokens for every encoder."""
    losses, right = [], []
    for rows, hidden, chosen in _held_out(settings, text):
        with torch.inference_mode():
            loss, hit = loss_at(model, *map(torch.from_numpy, (hidden, rows, chosen)))
        losses.append(loss.double().numpy())
        right.append(hit.numpy())
    return _scores(np.concatenate(losses), np.concatenate(right))


def unigram_scores(text: Text, settings: Settings) -> dict[str, float]:
    """The same of the model that knows the frequency of each token and nothing else."""
    log_p = text.log_frequencies
    wanted = np.concatenate([rows[chosen] for rows, _, chosen in _held_out(settings, text)])
    return _scores(-log_p[wanted], wanted == log_p.argmax())


def _held_out(settings: Settings, text: Text) -> Iterator[tuple[Any, Any, Any]]:
    rng = np.random.default_rng(0)
    for start in range(0, len(text.held_out), settings.rows):
        rows = text.held_out[start : start + settings.rows]
        yield rows.astype(np.int64), *hide(rows, text, rng, settings.masked)


def _scores(losses: Any, right: Any) -> dict[str, float]:
    if not len(losses):
        raise InputError("No held-out token was chosen to be predicted: take more text.")
    loss = float(losses.mean())
    return {
        "loss": round(loss, 4),
        "perplexity": round(math.exp(loss), 2),
        "accuracy": round(float(right.mean()), 4),
        "tokens": len(losses),
    }


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file whole or not at all: ``write`` is given another name beside it."""
    beside = path.with_name(f"partial-{path.name}")
    write(beside)
    beside.replace(path)
