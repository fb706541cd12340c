"""Intervals by a jackknife over folds of rows, for measures that are smooth in the moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

import numpy as np

from cospace._arrays import to_numpy
from cospace._threads import each
from cospace.comparison.pairwise import Pairwise, Scored
from cospace.comparison.plan import Pair
from cospace.comparison.undefined import UNDEFINED
from cospace.measures import Measure
from cospace.measures.pair import sized
from cospace.moments import Moments
from cospace.stats.intervals import jackknife
from cospace.summaries import Overlap

__all__ = ["FOLDS", "ROWS", "jackknifed", "once"]

FOLDS = 20
"""Folds; as many as there are rows where these are fewer."""
ROWS = 4
"""Least number of rows for each direction of the two spaces: with fewer, the jackknife covers too
seldom."""

_IDENTICAL = 1.0 - 1e-12
"""Values above are those of identical spaces."""


def once(measure: Measure, rows: Mapping[Pair, Scored]) -> list[Pair]:
    """Pairs with a value; one of two mirrored pairs of a symmetric measure."""
    return [
        (i, j)
        for (i, j), row in rows.items()
        if row.value is not None and not (measure.symmetric and i > j and (j, i) in rows)
    ]


def jackknifed(
    measure: Measure,
    table: Pairwise,
    rows: Mapping[Pair, Scored],
    rng: np.random.Generator,
    progress: Callable[[], None],
) -> dict[Pair, Scored]:
    """Give each pair its interval; none where rows are fewer than 4 for each direction.

    The jackknife is of the inverse hyperbolic tangent of values, which lie in [0, 1]: near 1 it is
    closer to a normal distribution than they are, and intervals cover better. The interval is about
    the value with its bias taken off.
    """
    function = measure.folds
    assert function is not None  # noqa: S101  only such measures are asked for
    pairs = once(measure, rows)
    places = sorted({i for pair in pairs for i in pair})
    tables = {
        i: sized(to_numpy(space.rows)) for i, space in zip(places, table.at(places), strict=True)
    }
    n = table.spaces[0].n
    folds = np.array_split(rng.permutation(n), min(FOLDS, n))

    def interval(pair: Pair) -> tuple[float, float] | None:
        x, y = (tables[i] for i in pair)
        parts = [Moments.of({"x": x[fold], "y": y[fold]}) for fold in folds]
        whole = reduce(Moments.merge, parts).overlap(source="x", target="y")
        if n < ROWS * (whole.rank_x + whole.rank_y):
            return None
        try:
            found = jackknife(parts, lambda m: _stretched(m, function))
        except UNDEFINED:
            return None
        return max(math.tanh(found.low), 0.0), math.tanh(found.high)

    made = dict(zip(pairs, each(interval, pairs, progress), strict=True))

    def with_interval(pair: Pair, row: Scored) -> Scored:
        ends = made.get(pair) or made.get((pair[1], pair[0]) if measure.symmetric else pair)
        if ends is None:
            return row
        return replace(row, low=ends[0], high=ends[1], interval="folds")

    return {pair: with_interval(pair, row) for pair, row in rows.items()}


def _stretched(moments: Moments, function: Callable[[Overlap], float]) -> float:
    return math.atanh(min(function(moments.overlap(source="x", target="y")), _IDENTICAL))
