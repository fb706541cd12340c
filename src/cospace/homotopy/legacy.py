"""The published recipe for the affine distance, kept so that published values can be compared.

Stochastic gradient descent on the largest row loss of a batch. It gives neither bound: what it reports
is the largest loss that the last pass met while the map still moved, the best of a sweep of learning
rates chosen on the same rows. ``affine_distance`` solves the problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from cospace._arrays import double, to_numpy
from cospace._numbers import check_number, check_seed, check_whole
from cospace.errors import InputError, UndefinedMeasureError
from cospace.homotopy.basis import Floats
from cospace.homotopy.minmax import Progress
from cospace.homotopy.prepare import as_space
from cospace.result import Result
from cospace.space import matched

__all__ = ["LegacyDistance", "LegacyRate", "legacy_distance"]

RATES = (1e-4, 1e-3, 1e-2, 1e-1)


@dataclass(frozen=True)
class LegacyRate:
    """What one learning rate came to."""

    rate: float
    """Learning rate."""
    loss: float | None
    """Largest row loss met in the last pass, a mean over coordinates; None where it diverged."""


@dataclass(frozen=True)
class LegacyDistance(Result):
    """A value by the published recipe. It bounds nothing."""

    kind: ClassVar[str] = "legacy_distance"

    target: str
    """Name of the space that is to be reached."""
    source: str
    """Name of the space that is mapped."""
    value: float
    """``sqrt(d loss)``: in the units of ``affine_distance``."""
    loss: float
    """Largest squared error of a row, a mean over its d coordinates, as the recipe reports it."""
    rate: float
    """Learning rate that gave it."""
    rates: tuple[LegacyRate, ...]
    """All learning rates."""
    n: int
    """Number of rows."""
    width: int
    """Coordinates of the target, d."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Batch, passes, seed, how rows matched."""

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a learning rate."""
        return [
            {"target": self.target, "source": self.source, "rate": one.rate, "loss": one.loss}
            for one in self.rates
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a value from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        values["rates"] = tuple(LegacyRate(**one) for one in values["rates"])
        return cls(**values)


def legacy_distance(
    *,
    target: Any,
    source: Any,
    rates: Sequence[float] = RATES,
    batch: int = 128,
    epochs: int = 20,
    rng: int = 42,
    progress: Progress | None = None,
) -> LegacyDistance:
    """Affine distance by the published recipe: descent on the batch maximum, a sweep of rates.

    One linear layer with bias, started uniformly in ``+- 1 / sqrt(p)``; loss of a row: mean over
    coordinates of the squared error; of a batch: the largest; plain gradient steps; reported: the
    smallest over learning rates of the largest row loss met in the last pass, in-sample. The
    reconstruction follows public replications; the paper itself gives no code.

    Parameters
    ----------
    target, source
        Spaces, or arrays of shape (n, d) and (n, p), matched as in ``affine_distance``.
    rates
        Learning rates, positive.
    batch
        Rows of a batch.
    epochs
        Passes over the rows.
    rng
        Seed of start and order.
    progress
        Called as (what, passes done, in all).

    Returns
    -------
    LegacyDistance
        ``value`` has the units of ``affine_distance``, and is seldom near it.

    Raises
    ------
    InputError
        For options that make no sense.
    RowMismatchError
        For rows that are not the same texts.
    UndefinedMeasureError
        When every learning rate diverges.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(64, 2))
    >>> found = legacy_distance(target=x, source=x, epochs=300, rates=(0.1,))
    >>> found.value < 0.5
    True
    """
    check_whole(batch=batch, epochs=epochs)
    check_seed(rng)
    if not hasattr(rates, "__len__"):
        raise InputError(f"rates are {rates!r}; a list of learning rates is expected.")
    for rate in rates:
        check_number(rate=rate)
    if batch < 1 or epochs < 1 or len(rates) == 0 or not min(rates) > 0.0:
        raise InputError(
            f"batch is {batch}, epochs {epochs}, rates {tuple(rates)}; at least 1 row, 1 pass and one "
            "positive learning rate are expected."
        )
    pair = matched([as_space(target, "target"), as_space(source, "source")])
    goal, given = pair.spaces
    h, g = (np.asarray(to_numpy(double(space.rows))) for space in pair.spaces)
    found = []
    for number, rate in enumerate(rates):
        told = None
        if progress is not None:
            told = _told(progress, rate, number * epochs, len(rates) * epochs)
        found.append(LegacyRate(float(rate), _descend(h, g, rate, batch, epochs, rng, told)))
    losses = [one for one in found if one.loss is not None]
    if not losses:
        raise UndefinedMeasureError(
            f"Every learning rate of {', '.join(f'{rate:g}' for rate in rates)} diverged: the recipe has no "
            "value here; scale the rows down, or take affine_distance, which needs no rate."
        )
    best = min(losses, key=lambda one: one.loss or 0.0)
    return LegacyDistance(
        target=goal.name,
        source=given.name,
        value=float(((best.loss or 0.0) * goal.width) ** 0.5),
        loss=best.loss or 0.0,
        rate=best.rate,
        rates=tuple(found),
        n=goal.n,
        width=goal.width,
        settings={"batch": batch, "epochs": epochs, "seed": rng, "matched_by": pair.by},
    )


def _told(progress: Progress, rate: float, before: int, total: int) -> Any:
    return lambda epoch: progress(f"learning rate {rate:g}", before + epoch, total)


def _descend(
    h: Floats, g: Floats, rate: float, batch: int, epochs: int, rng: int, told: Any
) -> float | None:
    """Largest row loss met in the last pass; None after leaving the range of float64."""
    n, d = h.shape
    p = g.shape[1]
    generator = np.random.default_rng(rng)
    matrix = generator.uniform(-1.0, 1.0, size=(p, d)) * p**-0.5
    offset = generator.uniform(-1.0, 1.0, size=d) * p**-0.5
    worst = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for epoch in range(epochs):
            worst = 0.0
            order = generator.permutation(n)
            for start in range(0, n, batch):
                rows = order[start : start + batch]
                rest = g[rows] @ matrix + offset - h[rows]
                losses = np.einsum("ij,ij->i", rest, rest) / d
                top = int(np.argmax(losses))
                if not np.isfinite(losses[top]):
                    return None
                worst = max(worst, float(losses[top]))
                step = rate * 2.0 / d * rest[top]
                matrix -= np.outer(g[rows[top]], step)
                offset -= step
            if told is not None:
                told(epoch + 1)
    return worst
