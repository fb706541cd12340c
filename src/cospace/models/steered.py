"""Add a vector to the states of a transformers model at one site, during its forward passes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from cospace.errors import ExtractionError, InputError
from cospace.models.positions import TokenPositions
from cospace.models.sites import Layout

__all__ = ["adding", "token_numbers"]

CACHES = ("cache", "past_key_values")
"""Names under which versions of transformers hand over what is kept of earlier tokens."""

Lengths = npt.NDArray[np.int64]


@contextmanager
def adding(
    layout: Layout,
    site: str,
    vector: Any,
    positions: TokenPositions,
    *,
    prompt: Callable[[], Lengths | None],
    head: Any = None,
) -> Iterator[None]:
    """Add ``vector`` once to every named token's state at ``site``, in each pass inside the block.

    Parameters
    ----------
    layout
        The modules of the model.
    site
        ``embed`` (what goes into the first block), ``block.i`` (what comes out of block i), or
        ``final_norm``.
    vector
        Shape (width,), a tensor.
    positions
        Which tokens; padding is never touched.
    prompt
        Says how many tokens each prompt of the running pass has, None if nobody knows.
    head
        The model around the layout's, where there is one: some run its parts without it.

    The hooks are gone afterwards, whatever happened.

    Raises
    ------
    InputError
        Afterwards, where ``positions`` named no token of any pass: nothing was changed.
    """
    reached: list[bool] = []
    marked: list[Any] = [None]
    calls = [0]

    def begin(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        signature = inspect.signature(module.forward)
        given = signature.bind_partial(*args, **kwargs).arguments
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                given |= given.pop(parameter.name, {})
        marked[0] = positions.mask(token_numbers(given), prompt())
        reached.append(bool(marked[0].any()))
        calls[0] = 0

    def moved(states: Any) -> Any:
        if states.ndim != 3 or states.shape[:2] != marked[0].shape:
            raise ExtractionError(
                f"{type(layout.model).__name__} gave shape {tuple(states.shape)} at {site}, expected (texts, tokens, "
                f"width) = ({', '.join(map(str, marked[0].shape))}, ...): this architecture is not understood."
            )
        here = torch.from_numpy(marked[0]).to(states.device)[:, :, None]
        # Not a product with the mask: what padding holds may be infinite, and stays as it is.
        return torch.where(here, states + vector.to(states.device, states.dtype), states)

    def before_first(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        calls[0] += 1
        if calls[0] > 1:
            return None
        if args:
            return (moved(args[0]), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": moved(kwargs["hidden_states"])}

    def after(turn: int) -> Callable[[Any, Any, Any], Any]:
        def add(_module: Any, _args: Any, output: Any) -> Any:
            calls[0] += 1
            if calls[0] != turn + 1:
                return None
            if isinstance(output, tuple | list):
                return type(output)([moved(output[0]), *output[1:]])
            return moved(output)

        return add

    handles = []
    try:
        for model in {id(m): m for m in (head, layout.model) if m is not None}.values():
            handles.append(model.register_forward_pre_hook(begin, with_kwargs=True))
        if site == "embed":
            handles.append(
                layout.blocks[0].register_forward_pre_hook(before_first, with_kwargs=True)
            )
        elif site == "final_norm":
            handles.append(layout.norm.register_forward_hook(after(0)))  # type: ignore[union-attr]
        else:
            number = int(site.removeprefix("block."))
            block = layout.blocks[number]
            turn = sum(other is block for other in layout.blocks[:number])
            handles.append(block.register_forward_hook(after(turn)))
        yield
    finally:
        for handle in handles:
            handle.remove()
    if reached and not any(reached):
        raise InputError(
            f"The positions {positions} lie outside all texts that were run: nothing was added at {site}; name "
            "others, or all."
        )


def token_numbers(given: dict[str, Any]) -> npt.NDArray[np.int64]:
    """Number of every token of a pass in its text, -1 for padding, shape (batch, tokens).

    Counted from the mask, which covers what a cache holds too; without one, from what the cache
    holds.

    Raises
    ------
    ExtractionError
        For a mask of another shape than (texts, tokens so far).
    """
    tokens = given.get("input_ids")
    if tokens is None:
        tokens = given["inputs_embeds"]
    batch, count = int(tokens.shape[0]), int(tokens.shape[1])
    mask = given.get("attention_mask")
    if mask is None:
        caches = (given.get(name) for name in CACHES)
        cache = next((found for found in caches if found is not None), None)
        past = 0 if cache is None else int(cache.get_seq_length())
        return np.broadcast_to(past + np.arange(count, dtype=np.int64), (batch, count))
    shape = tuple(getattr(mask, "shape", ()))
    if len(shape) != 2 or shape[0] != batch or shape[1] < count:
        raise ExtractionError(
            f"A pass over {batch} texts of {count} tokens has a mask of shape {shape or type(mask).__name__}: which "
            f"tokens are padding is read from a mask of shape ({batch}, tokens so far); pass that."
        )
    held = mask.cpu().numpy().astype(bool)
    index = np.where(held, np.cumsum(held, axis=1, dtype=np.int64) - 1, -1)
    return np.asarray(index[:, shape[1] - count :], dtype=np.int64)
