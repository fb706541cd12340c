"""Where a transformers model is read: its blocks, its final norm, and the hooks on them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch

from cospace.errors import ExtractionError

__all__ = ["Layout", "check_against", "find_layout", "reading"]

TEXT_PARTS = ("language_model", "text_model")
"""Children that hold the text part of a model for several kinds of input."""

BLOCK_LISTS = ("layers", "layer", "h", "block", "blocks")
"""Names under which architectures keep the list of their blocks."""

FINAL_NORMS = (
    "norm",
    "norm_f",
    "ln_f",
    "final_norm",
    "final_layer_norm",
    "final_layernorm",
    "layer_norm",
    "embedding_norm",
    "emb_layer_norm_after",
    "ln_out",
)
"""Names of a norm after the last block; it lies beside the list of blocks, or further out."""

ODD_PATHS: dict[str, str] = {"albert": "encoder.albert_layer_groups"}
"""Model type -> path of its blocks, where the rule above does not find them.

A list shorter than the number of blocks is one whose modules are called several times in turn.
"""


@dataclass(frozen=True)
class Layout:
    """The modules of a model that hooks are put on."""

    model: Any
    """The module whose forward pass is run: text only, no head, the encoder if there are two."""
    blocks: tuple[Any, ...]
    """Block i at position i; a module that is called several times stands there several times."""
    norm: Any | None
    """The norm after the last block, None where there is none."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all sites, in the order of the forward pass."""
        blocks = (f"block.{i}" for i in range(len(self.blocks)))
        return ("embed", *blocks, *(["final_norm"] if self.norm is not None else []))


def find_layout(model: Any) -> Layout:
    """Find the blocks and the final norm of a transformers model.

    The blocks are the outermost list of modules that has one of the usual names and as many
    members as the configuration says; the final norm is a module with one of the usual names
    beside it, or beside what it lies in.

    Parameters
    ----------
    model
        Any transformers model, with or without a head. Of an encoder-decoder the encoder is
        read, of a model for several kinds of input the text part.

    Raises
    ------
    ExtractionError
        If there is no such list.
    """
    part = _text_part(model)
    kind = getattr(part.config, "model_type", type(part).__name__)
    count: Any = getattr(part.config, "num_hidden_layers", None)
    if kind in ODD_PATHS:
        modules = list(attrgetter(ODD_PATHS[kind])(part))
        return Layout(part, tuple(modules[i * len(modules) // count] for i in range(count)), None)
    for path, modules in _lists_from_the_outside(part):
        if len(modules) == count or (count is None and len(modules)):
            return Layout(part, tuple(modules), _norm_around(part, path))
    raise ExtractionError(
        f"The blocks of a {type(model).__name__} (model type {kind!r}) were not found: looked for "
        f"a list of {count if count is not None else 'any number of'} modules named "
        f"{', '.join(BLOCK_LISTS)}. Read it through an object of your own that has the methods "
        "of LanguageModel."
    )


def _text_part(model: Any) -> Any:
    part = model.base_model
    if getattr(part.config, "is_encoder_decoder", False):
        part = part.get_encoder()
    while (inner := next((n for n in TEXT_PARTS if hasattr(part, n)), None)) is not None:
        part = getattr(part, inner)
    return part


def _lists_from_the_outside(part: Any) -> list[tuple[str, Any]]:
    lists = [
        (path, module)
        for path, module in part.named_modules()
        if isinstance(module, torch.nn.ModuleList) and path.rpartition(".")[2] in BLOCK_LISTS
    ]
    return sorted(lists, key=lambda item: item[0].count("."))


def _norm_around(part: Any, path: str) -> Any | None:
    while path:
        path = path.rpartition(".")[0]
        home = part.get_submodule(path)
        for name in FINAL_NORMS:
            if getattr(home, name, None) is not None:
                return getattr(home, name)
    return None


class _EverythingRead(Exception):
    """Ends a forward pass after the last site that was asked for."""


@contextmanager
def reading(
    layout: Layout,
    names: Collection[str],
    see: Callable[[str, Any], None],
    *,
    to_the_end: bool = False,
) -> Iterator[None]:
    """Show the states at the named sites to ``see`` during one forward pass inside the block.

    ``see`` is called with the site's name and a tensor of shape (batch, tokens, width), in the
    order of the forward pass, and must not keep the tensor. The pass ends after the last named
    site unless it shall go on ``to_the_end``. The hooks are gone afterwards, whatever happened.
    """
    wanted = set(names)
    missing = set(names)
    turns: dict[Any, deque[int]] = defaultdict(deque)
    for i, block in enumerate(layout.blocks):
        turns[block].append(i)

    def arrive(name: str, value: Any) -> None:
        if name in missing:
            missing.remove(name)
            see(name, value[0] if isinstance(value, tuple | list) else value)
            if not missing and not to_the_end:
                raise _EverythingRead

    def before_first(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        arrive("embed", args[0] if args else kwargs["hidden_states"])

    def after_block(module: Any, _args: Any, output: Any) -> None:
        if turns[module]:
            arrive(f"block.{turns[module].popleft()}", output)

    def after_norm(_module: Any, _args: Any, output: Any) -> None:
        arrive("final_norm", output)

    handles = []
    try:
        if "embed" in wanted:
            handles.append(
                layout.blocks[0].register_forward_pre_hook(before_first, with_kwargs=True)
            )
        handles.extend(
            block.register_forward_hook(after_block)
            for block, indices in list(turns.items())
            if any(f"block.{i}" in wanted for i in indices)
        )
        if "final_norm" in wanted:
            handles.append(layout.norm.register_forward_hook(after_norm))  # type: ignore[union-attr]
        yield
    except _EverythingRead:
        pass
    finally:
        for handle in handles:
            handle.remove()
    if missing:
        raise ExtractionError(
            f"The forward pass of a {type(layout.model).__name__} did not come by "
            f"{', '.join(sorted(missing))}."
        )


def check_against(
    layout: Layout, ours: Mapping[str, Any], hidden_states: Sequence[Any] | None, last: Any
) -> None:
    """Compare states at all sites with what transformers returns for the same batch.

    Its hidden states are one more than the model has blocks. Most architectures begin them with
    the state before the first block, and overwrite the state behind the last block by the last
    hidden state, which a final norm may have gone over; state-space models begin them behind
    the first block.

    Parameters
    ----------
    layout
        The modules that were read.
    ours
        Site name -> states, at all sites.
    hidden_states, last
        The hidden states and the last hidden state that transformers returned.

    Raises
    ------
    ExtractionError
        If they differ at a site, which is named: the architecture is not understood.
    """
    count = len(layout.blocks)
    name = type(layout.model).__name__
    found = 0 if hidden_states is None else len(hidden_states)
    if hidden_states is None or found != count + 1:
        raise ExtractionError(
            f"{name} returns {found} hidden states, expected {count + 1} for {count} blocks: this "
            "architecture is not understood."
        )
    behind = _same(hidden_states[0], ours["block.0"])
    known = layout.names[1:] if behind else layout.names
    pairs = list(zip(known, hidden_states[: count if behind else -1], strict=False))
    # A last state of another width is the work of a projection behind the blocks.
    if last.shape[-1] == ours[layout.names[-1]].shape[-1]:
        pairs.append((layout.names[-1], last))
    for site, state in pairs:
        if not _same(ours[site], state):
            raise ExtractionError(
                f"{name}: what was read at {site} (shape {tuple(ours[site].shape)}) is not "
                f"transformers' hidden state (shape {tuple(state.shape)}): this architecture is "
                f"not understood. Looked for blocks named {', '.join(BLOCK_LISTS)} and a final "
                f"norm named {', '.join(FINAL_NORMS)}."
            )


def _same(a: Any, b: Any) -> bool:
    if a.shape != b.shape:
        return False
    # What is not finite is told of the texts that give it, and says nothing of the architecture.
    lost = ~a.isfinite() & ((a == b) | (a.isnan() & b.isnan()))
    a, b = a.masked_fill(lost, 0.0), b.masked_fill(lost, 0.0)
    if torch.equal(a, b):
        return True
    # Kernels that add in any order, as some on a GPU do, differ from run to run.
    tolerance = 1e-5 if a.dtype in (torch.float32, torch.float64) else 1e-2
    return a.device.type != "cpu" and bool((a - b).norm() <= tolerance * b.norm())
