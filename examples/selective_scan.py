"""The selective scan of Mamba in chunks, fast enough to train with on one core.

transformers' own scan makes every step of the recurrence a node of the graph, with the states of
all tokens kept. Here a chunk of tokens is one piece of work: exponentials, inputs, outputs and
gradients of its tokens are a few products over whole arrays that fit the cache, and the recurrence
is one multiply-add a token over all rows, states and channels. Only the states between chunks are
kept; those inside are computed again on the way back. Decays are multiplied into the states and
never divided by, so nothing overflows, whatever they are.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import pad, silu, softplus

CHUNK = 8
"""Tokens in a chunk."""


class SelectiveScan(torch.autograd.Function):
    """The recurrence as one node of the graph; call `scan`."""

    @staticmethod
    def forward(context: Any, x: Any, dt: Any, decay: Any, b: Any, c: Any) -> Any:
        """Give y, and keep the state before each chunk."""
        x, dt, decay, b, c = (each.contiguous() for each in (x, dt, decay, b, c))
        y = torch.empty_like(x)
        starts = []
        state = x.new_zeros(x.shape[1], *decay.shape)
        for piece in _pieces(len(x)):
            starts.append(state)
            states = _states(state, x[piece], dt[piece], decay, b[piece])[0]
            torch.matmul(c[piece][:, :, None], states, out=y[piece][:, :, None])
            state = states[-1].clone()
        context.save_for_backward(x, dt, decay, b, c, *starts)
        return y

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        """Give the gradients of all five, chunk by chunk from the last."""
        x, dt, decay, b, c, *starts = context.saved_tensors
        gradient = gradient.contiguous()
        g_u, g_dt, g_b, g_c = (torch.empty_like(each) for each in (x, dt, b, c))
        g_decay = torch.zeros_like(decay)
        # Gradient of the state before a chunk, by what follows.
        carried = torch.zeros_like(starts[0])
        for piece, start in zip(reversed(_pieces(len(x))), reversed(starts), strict=True):
            states, kept = _states(start, x[piece], dt[piece], decay, b[piece])
            g_states = c[piece][..., None] * gradient[piece][:, :, None]
            g_states[-1] += carried
            for t in range(len(kept) - 2, -1, -1):
                g_states[t].addcmul_(kept[t + 1], g_states[t + 1])
            carried = kept[0] * g_states[0]
            g_c[piece] = torch.matmul(states, gradient[piece][..., None])[..., 0]
            u = dt[piece] * x[piece]
            g_b[piece] = torch.matmul(g_states, u[..., None])[..., 0]
            g_u[piece] = torch.matmul(b[piece][:, :, None], g_states)[:, :, 0]
            # Gradient of the exponents.
            g_states *= kept
            g_states[1:] *= states[:-1]
            g_states[0] *= start
            torch.sum(g_states * decay, 2, out=g_dt[piece])
            g_decay += g_states.mul_(dt[piece][:, :, None]).sum((0, 1))
        return g_u * dt, g_dt.addcmul_(g_u, x), g_decay, g_b, g_c


def scan(x: Any, dt: Any, decay: Any, b: Any, c: Any) -> Any:
    """Give what the states of a selective state-space model say of each token.

    With states h of shape (rows, states, channels), of which the first is 0::

        h_t = exp(dt_t * decay) * h_{t-1} + dt_t * b_t * x_t
        y_t = sum over states of c_t * h_t

    Parameters
    ----------
    x, dt
        Inputs and step sizes, (tokens, rows, channels).
    decay
        Rates, negative for states that fade, (states, channels).
    b, c
        What goes into the states and what is read of them, (tokens, rows, states).

    Returns
    -------
    tensor
        y, (tokens, rows, channels). Gradients go to all five.

    Examples
    --------
    One state that halves at every token, and holds what has come in so far:

    >>> ones = torch.ones(4, 1, 1)
    >>> x = torch.tensor([8.0, 0.0, 0.0, 1.0]).reshape(4, 1, 1)
    >>> scan(x, ones, torch.tensor([[0.5]]).log(), ones, ones).flatten().tolist()
    [8.0, 4.0, 2.0, 2.0]
    """
    # Step sizes are exponents: bfloat16 would make all decays coarse.
    with torch.autocast("cpu", enabled=False):
        return SelectiveScan.apply(x, dt, decay, b, c)


def mixed(mixer: Any, x: Any, attended: Any = None) -> Any:
    """Give the output of a ``MambaMixer`` for x, (tokens, rows, width); see `states`."""
    if attended is not None:
        x = x * attended[..., None]
    inner, gate = mixer.in_proj(x).to(x.dtype).chunk(2, -1)
    inner = silu(_convolved(inner, mixer.conv1d))
    if attended is not None:
        inner = inner * attended[..., None]
    # As in `scan`, what makes its inputs stays in full.
    with torch.autocast("cpu", enabled=False):
        sizes = [mixer.time_step_rank, mixer.ssm_state_size, mixer.ssm_state_size]
        low, b, c = mixer.x_proj(inner).split(sizes, -1)
        dt = softplus(mixer.dt_proj(low))
        y = scan(inner, dt, -mixer.A_log.exp().T, b, c)
        y = torch.addcmul(y, inner, mixer.D) * silu(gate)
    return mixer.out_proj(y)


def states(backbone: Any, embedded: Any, attended: Any = None) -> Any:
    """Give the last hidden states of a ``MambaModel``, as its own forward pass does.

    Parameters
    ----------
    backbone
        A ``MambaModel`` whose activation is SiLU, the usual one.
    embedded
        Embeddings of the tokens, (tokens, rows, width): tokens first, so that a chunk of them is
        one piece of memory.
    attended
        1 where there is a token and 0 where there is padding, (tokens, rows).

    Returns
    -------
    tensor
        States behind the last norm, (tokens, rows, width).
    """
    for block in backbone.layers:
        embedded = embedded + mixed(block.mixer, block.norm(embedded), attended)
    return backbone.norm_f(embedded)


def _pieces(tokens: int) -> list[slice]:
    return [slice(start, min(start + CHUNK, tokens)) for start in range(0, tokens, CHUNK)]


def _states(start: Any, x: Any, dt: Any, decay: Any, b: Any) -> tuple[Any, Any]:
    """States after each token of a chunk, and what share of them each token keeps."""
    kept = (dt[:, :, None] * decay).exp_()
    states = b[..., None] * (dt * x)[:, :, None]
    for t in range(len(kept)):
        states[t].addcmul_(kept[t], start if t == 0 else states[t - 1])
    return states, kept


def _convolved(x: Any, conv: Any) -> Any:
    """Each channel as a weighted sum of its last tokens."""
    weight = conv.weight[:, 0].T
    padded = pad(x, (0, 0, 0, 0, len(weight) - 1, 0))
    y = padded[: len(x)] * weight[0]
    for k in range(1, len(weight)):
        y = torch.addcmul(y, padded[k : k + len(x)], weight[k])
    return y if conv.bias is None else y + conv.bias
