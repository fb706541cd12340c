"""Token vectors to rows: the poolings, and the one conversion from torch to numpy."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from cospace.models.base import Pooling

__all__ = ["TokenMasks", "pool", "to_rows"]


@dataclass(frozen=True)
class TokenMasks:
    """Which positions of a batch hold tokens, and which of them are pooled."""

    attended: Any
    """Boolean tensor of shape (batch, tokens): a token of the text, no padding."""
    kept: Any
    """Boolean tensor of shape (batch, tokens): a token that is pooled."""

    @classmethod
    def on(
        cls, device: Any, *, attended: npt.NDArray[np.bool_], kept: npt.NDArray[np.bool_]
    ) -> TokenMasks:
        """Put numpy masks on a device."""
        return cls(torch.from_numpy(attended).to(device), torch.from_numpy(kept).to(device))


def pool(states: Any, masks: TokenMasks, poolings: Collection[Pooling]) -> dict[Pooling, Any]:
    """Rows of one batch at one site.

    Means are summed in float64; padded positions have no influence, whatever they hold.

    Parameters
    ----------
    states
        Tensor of shape (batch, tokens, width), of any floating type.
    masks
        The batch's masks; each text keeps at least one token unless only ``first`` is asked.
    poolings
        What is asked for.

    Returns
    -------
    dict
        Pooling -> new float32 tensor of shape (batch, width) that shares no memory with
        ``states``.

    Examples
    --------
    One text of two tokens, padded on the left with a position that holds infinity:

    >>> states = torch.tensor([[[torch.inf], [1.0], [4.0]]])
    >>> seen = torch.tensor([[False, True, True]])
    >>> rows = pool(states, TokenMasks(attended=seen, kept=seen), list(Pooling))
    >>> {str(name): row.item() for name, row in rows.items()}
    {'mean': 2.5, 'last': 4.0, 'first': 1.0, 'max': 4.0}
    """
    rows = {}
    texts = torch.arange(len(states), device=states.device)
    for pooling in poolings:
        match pooling:
            case Pooling.MEAN:
                seen = states.double().masked_fill(~masks.kept[..., None], 0.0)
                row = seen.sum(dim=1) / masks.kept.sum(dim=1)[:, None]
            case Pooling.MAX:
                row = states.masked_fill(~masks.kept[..., None], -torch.inf).amax(dim=1)
            case Pooling.FIRST:
                row = states[texts, masks.attended.int().argmax(dim=1)]
            case Pooling.LAST:
                back = masks.kept.flip(1).int().argmax(dim=1)
                row = states[texts, states.shape[1] - 1 - back]
        rows[pooling] = row.float()
    return rows


def unusable(states: Any, masks: TokenMasks) -> Any:
    """Which texts have a value that is not finite at a token of theirs, shape (batch,)."""
    return (~torch.isfinite(states).all(dim=-1) & masks.attended).any(dim=1)


def to_rows(tensor: Any) -> npt.NDArray[np.float32]:
    """Copy a tensor of any floating type, on any device, to a float32 numpy array."""
    return np.array(tensor.detach().to("cpu", torch.float32).numpy())
