"""Noise ceilings of the spaces of a comparison, once a space and measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cospace._arrays import to_numpy
from cospace._threads import each
from cospace.comparison.undefined import UNDEFINED, why
from cospace.measures import Measure
from cospace.space import Space
from cospace.stats.ceiling import Ceiling, split_half_ceiling

__all__ = ["ceilings_of", "has_ceiling"]


def has_ceiling(measure: Measure) -> bool:
    """Whether halves of pure noise are alike by 0, without which a ceiling would be too high."""
    least = measure.bounds[0]
    related = measure.kind == "similarity" and measure.needs == "gram"
    return related and least is not None and least < 0.0


def ceilings_of(
    measure: Measure, spaces: Sequence[Space], seed: int, progress: Callable[[], None]
) -> list[Ceiling | str]:
    """Ceiling of every space, or why it has none."""

    def ceiling(at: int) -> Ceiling | str:
        rng = np.random.default_rng([seed, at])
        try:
            return split_half_ceiling(to_numpy(spaces[at].rows), measure, rng=rng)
        except UNDEFINED as error:
            return why(error)

    return each(ceiling, range(len(spaces)), progress)
