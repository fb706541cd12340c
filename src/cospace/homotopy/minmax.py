"""Min-max fits: the smallest largest row error over affine maps, as a certified interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cospace.homotopy.basis import Basis, Floats
from cospace.homotopy.certificate import lower_bound, rounding, row_errors
from cospace.homotopy.multiplication import Multiplication
from cospace.homotopy.newton import Interior, most_rows
from cospace.homotopy.weighted import Weighted

__all__ = ["LEAST_GAP", "LIMIT", "MinMax", "Progress", "minimise_maximum"]

Progress = Callable[[str, int, int], None]

LEAST_GAP = 1e-4
"""Smallest relative gap that may be asked for."""
LIMIT = 500
"""Most steps by default."""
_FLOOR = 1e-4
"""Most weight, of 1, that is spread over all rows; it costs at most half of itself in the bound."""
_WARM = 5
"""Steps by multiplication before a Newton step is thought of."""
_PAUSE = 3
"""Steps by multiplication before it is thought of again."""
_NEWTON = 4
"""Newton steps that a switch is expected to cost."""
_PATIENCE = 8
"""Newton steps without progress before multiplication takes over again."""


@dataclass(frozen=True, eq=False)
class MinMax:
    """A min-max fit, and the interval that its optimum lies in."""

    lower: float
    """No map has a smaller largest row error."""
    upper: float
    """Largest row error of this map."""
    coefficients: Floats
    """Of the map in the basis, shape (rank + 1, d)."""
    weights: Floats
    """Weights of the rows that prove the lower bound, shape (n,), sum 1."""
    errors: Floats
    """l2 error of every row under this map, shape (n,)."""
    steps: int
    """Weighted least-squares fits, the first one included."""
    newton: int
    """Newton steps."""
    rounding: float
    """Errors up to this cannot be told from 0."""

    def within(self, gap: float) -> bool:
        """Whether upper exceeds lower by at most this share of lower, but for rounding."""
        return self.upper <= self.lower * (1.0 + gap) + self.rounding


def minimise_maximum(
    target: Floats,
    basis: Basis,
    *,
    gap: float = 0.01,
    limit: int = LIMIT,
    progress: Progress | None = None,
) -> MinMax:
    """Minimise ``max_i ||target_i - q_i B||`` over B, to a certified interval.

    The dual problem is solved: weights v of the rows, sum 1, that make the weighted least-squares
    error largest. It begins with plain least squares and multiplies weights by squared errors,
    which never lowers that error; once few rows matter, or these steps become slow, it takes
    Newton steps on the weights. Every weighted fit gives an upper bound (its largest error) and
    every weighting a lower one.

    Parameters
    ----------
    target
        Shape (n, d), float64.
    basis
        Orthonormal basis of the source, n rows.
    gap
        Relative gap, upper over lower less 1, at which to stop; at least ``LEAST_GAP``.
    limit
        Most steps; what is reached by then is returned.
    progress
        Called as (what, done, 100).

    Returns
    -------
    MinMax
        Cost of a step: about 5 n r d; memory beside target and basis: one more copy of the target,
        and half a copy of both for Newton steps.

    Examples
    --------
    >>> found = minimise_maximum(np.array([[0.0], [2.0], [1.0]]), Basis.constant(3), gap=1e-4)
    >>> round(found.lower, 3), round(found.upper, 3), found.within(1e-4)
    (1.0, 1.0, True)
    """
    state = Weighted(target, basis, min(_FLOOR, gap / 50.0))
    if state.size > rounding(target, basis.q, state.solution):
        _search(state, gap, limit, progress)
    best = state.solution
    errors = np.sqrt(row_errors(target, basis.q, best))
    return MinMax(
        lower=lower_bound(target, basis.q, state.proof, best),
        upper=float(errors.max()),
        coefficients=best,
        weights=state.proof,
        errors=errors,
        steps=state.steps,
        newton=state.newton,
        rounding=rounding(target, basis.q, best),
    )


def _search(state: Weighted, gap: float, limit: int, progress: Progress | None) -> None:
    """Step until the gap is closed or the limit is reached."""
    aim, first = 0.98 * gap, state.gap
    v = np.full(state.n, 1.0 / state.n)
    history = [state.gap]
    plain = Multiplication(v, state.errors)
    newton: Interior | None = None
    rest, tried = _WARM, 0
    while state.gap > aim and state.steps < limit:
        if progress is not None:
            closed = np.log(first / state.gap) / np.log(first / aim)
            progress(f"gap {state.gap:.2%}", int(100 * min(closed, 0.99)), 100)
        if rest <= 0:
            newton, v = _newton(state, v, newton, history, aim)
            rest = 0 if newton is not None else _PAUSE
        if newton is None:
            v = plain.step(v, state.errors)
            state.fit(v)
            rest -= 1
        history.append(state.gap)
        if newton is None:
            continue
        state.newton += 1
        tried += 1
        if tried >= _PATIENCE and state.gap > 0.9 * history[-_PATIENCE - 1]:
            plain = Multiplication(v, state.errors)
            newton, rest, tried = None, 2 * _WARM, 0
    if progress is not None:
        progress(f"gap {state.gap:.2%}", 100, 100)


def _newton(
    state: Weighted, v: Floats, interior: Interior | None, history: list[float], aim: float
) -> tuple[Interior | None, Floats]:
    """Take a Newton step where it is affordable and, to begin with, cheaper than going on."""
    most = most_rows(state.n, state.width + state.d)
    if interior is None:
        size = state.n * state.width
        plain = 5.0 * size * state.d
        if _steps_left(history, aim) * plain < _NEWTON * (plain + size * state.width):
            return None, v
        interior, raised = Interior.start(v, state.errors)
        m = len(interior.coupled(raised, state.errors, state.leverage(), most))
        coupled = 2.0 * m * m * (state.width + state.d) + m**3 / 3 + size * state.width
        if _steps_left(history, aim) * plain < _NEWTON * (plain + coupled):
            return None, v
        v = raised
        state.fit(v)
    leverage = state.leverage()
    rows = interior.coupled(v, state.errors, leverage, most)
    try:
        return interior, interior.step(state, v, leverage, rows, single=aim >= 1e-4)
    except np.linalg.LinAlgError:
        return None, v


def _steps_left(history: list[float], aim: float) -> float:
    """Steps by multiplication that the gap still needs, at its pace over the last five."""
    past = history[-_WARM - 1 :]
    pace = np.log(past[0] / past[-1]) / max(len(past) - 1, 1)
    return float(np.log(past[-1] / aim) / pace) if pace > 0.0 else np.inf
