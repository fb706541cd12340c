"""One forward pass over a batch, and what is measured of a model before it is trusted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import torch

from cospace.errors import ExtractionError
from cospace.models.base import TokenPolicy
from cospace.models.batching import Batch, Side, Tokens, pad
from cospace.models.sites import check_against, find_layout, reading

__all__ = ["Reader", "padding_is_harmless"]

PADDING_TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-5, torch.float16: 1e-2}
"""Largest change of a token's state by padding, relative to its norm; 5e-2 for other types."""


class Reader:
    """Runs a transformers model over padded batches and shows its states.

    Parameters
    ----------
    model
        A transformers model, with or without a head.
    padding_token
        The token id that padding has where the model's configuration names none.

    Raises
    ------
    ExtractionError
        If the blocks of the model are not found.
    """

    def __init__(self, model: Any, *, padding_token: int | None = None) -> None:
        self.layout = find_layout(model.eval())
        self.model = self.layout.model
        accepted = inspect.signature(self.model.forward).parameters
        self._takes_positions = "position_ids" in accepted
        self._padding_index = _padding_index(self.model)
        self._options = {"use_cache": False} if "use_cache" in accepted else {}
        self.vocabulary = int(self.model.get_input_embeddings().num_embeddings)
        named = (getattr(self.model.config, "pad_token_id", None), padding_token, 0)
        self.fill = next(i for i in named if i is not None and 0 <= i < self.vocabulary)

    @property
    def device(self) -> Any:
        """Where the model is."""
        return next(self.model.parameters()).device

    @property
    def most_positions(self) -> int | None:
        """Most tokens the model has positions for, None where it counts none."""
        most = getattr(self.model.config, "max_position_embeddings", None)
        if most is None or most < 1:
            return None
        return int(most) - (0 if self._padding_index is None else self._padding_index + 1)

    def inputs(self, batch: Batch) -> dict[str, Any]:
        """Make what the model is called with, tensors of shape (batch, tokens)."""
        arrays = {"input_ids": batch.ids, "attention_mask": batch.attended.astype(np.int64)}
        if self._takes_positions:
            arrays["position_ids"] = batch.positions(self._padding_index)
        return {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}

    def read(self, batch: Batch, names: Collection[str], see: Callable[[str, Any], None]) -> None:
        """Run one forward pass up to the last named site.

        ``see`` is called with each named site and its states, shape (batch, tokens, width).

        Raises
        ------
        ExtractionError
            For states of another shape.
        """
        with reading(self.layout, names, self._checked(batch, see)):
            self.model(**self.inputs(batch), **self._options)

    def read_beside(self, batch: Batch, see: Callable[[str, Any], None]) -> Any:
        """Show all sites to ``see``, and return transformers' own output with hidden states."""
        with reading(self.layout, self.layout.names, self._checked(batch, see), to_the_end=True):
            return self.model(
                **self.inputs(batch), **self._options, output_hidden_states=True, return_dict=True
            )

    def _checked(self, batch: Batch, see: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
        def checked(name: str, states: Any) -> None:
            if states.ndim != 3 or states.shape[:2] != batch.ids.shape:
                raise ExtractionError(
                    f"{type(self.model).__name__} gave shape {tuple(states.shape)} at {name}, "
                    f"expected (texts, tokens, width) = ({', '.join(map(str, batch.ids.shape))}, "
                    "...): this architecture is not understood."
                )
            see(name, states)

        return checked


def padding_is_harmless(reader: Reader, *, side: Side, most_tokens: int | None) -> bool:
    """Whether the states of a padded text are those of the text alone, at every site.

    Measured on two made-up texts, and held against what company without padding changes: where
    huge coordinates cancel, rounding alone can reach 1e-5 of a state's norm. On the way the sites
    are compared with transformers' own hidden states.

    Raises
    ------
    ExtractionError
        If a site is not what transformers returns.
    """
    length = min(most_tokens or 16, 16)
    ids = np.arange(1, length + 1, dtype=np.int64) * 7919 % reader.vocabulary
    long = Tokens(ids, np.zeros(length, np.bool_))
    short = Tokens(long.ids[length // 2 :], long.special[length // 2 :])
    padded, paired, alone = (
        pad(texts, policy=TokenPolicy(), side=side, fill=reader.fill)
        for texts in ([long, short], [short, short], [short])
    )
    states: dict[str, Any] = {}
    output = reader.read_beside(padded, states.__setitem__)
    check_against(reader.layout, states, output.hidden_states, output.last_hidden_state)
    expected: dict[str, Any] = {}
    reader.read(alone, reader.layout.names, expected.__setitem__)
    rounded: dict[str, Any] = {}
    reader.read(paired, reader.layout.names, rounded.__setitem__)
    tokens = torch.from_numpy(padded.attended[1]).to(reader.device)
    padding, rounding = (
        np.max([_change(found[name][1][kept], expected[name][0]) for name in reader.layout.names])
        for found, kept in ((states, tokens), (rounded, slice(None)))
    )
    allowed = PADDING_TOLERANCE.get(expected[reader.layout.names[-1]].dtype, 5e-2)
    # States that are not finite compare as harmful: such texts are read alone, and named.
    return bool(padding <= max(allowed, 10 * rounding))


def _change(found: Any, expected: Any) -> float:
    """Return the largest distance of two states, relative to the norm of the second."""
    distance = (found.double() - expected.double()).norm(dim=-1)
    norm = expected.double().norm(dim=-1)
    return float((distance / norm.clamp_min(torch.finfo(torch.float64).tiny)).max())


def _padding_index(model: Any) -> int | None:
    """Find the position reserved for padding in a table of learned positions, if there is one."""
    for path, module in model.named_modules():
        if path.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            return None if module.padding_idx is None else int(module.padding_idx)
    return None
