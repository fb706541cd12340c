"""Steps that multiply the weights of rows by powers of their squared errors."""

from __future__ import annotations

import numpy as np

from cospace.homotopy.basis import Floats

__all__ = ["TINY", "Multiplication"]

TINY = 1e-30
"""Least weight that a row keeps, so that it can come back."""
_FASTER, _SLOWER, _MOST = 1.5, 0.3, 10.0
"""How the power of a row's factor changes while its error stays on one side of the mean, and not."""


class Multiplication:
    """Weights times a power of the squared errors; the power of a row grows while it keeps its way.

    With all powers 1 the weighted error never falls. Where it fell, the last step is taken back and
    the powers begin anew.
    """

    def __init__(self, v: Floats, errors: Floats) -> None:
        self.power = np.ones(len(v))
        self.kept = v, errors
        self.way: Floats | None = None

    def step(self, v: Floats, errors: Floats) -> Floats:
        """New weights from those of the last fit and its squared errors."""
        if float(v @ errors) < float(self.kept[0] @ self.kept[1]) and self.power.max() > 1.0:
            v, errors = self.kept
            self.power[:] = 1.0
            self.way = None
        push = np.log(np.maximum(errors, TINY) / float(v @ errors))
        way = np.sign(push)
        if self.way is not None:
            self.power *= np.where(way == self.way, _FASTER, _SLOWER)
            np.clip(self.power, 1.0, _MOST, out=self.power)
        self.kept, self.way = (v, errors), way
        moved = np.log(v) + self.power * push
        moved = np.exp(moved - moved.max())
        kept: Floats = np.maximum(moved / moved.sum(), TINY)
        return kept
