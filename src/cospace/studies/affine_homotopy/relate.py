"""What the tables of pairs say together: does one predict the other, who is easy to map onto."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from cospace.errors import UndefinedMeasureError
from cospace.stats.mantel import PairCorrelation, pair_correlation
from cospace.studies.affine_homotopy.result import Agreement, Mappability, RankLink

__all__ = ["Errors", "agreements", "mappability", "rank_link", "related", "text_interval"]

Floats = npt.NDArray[np.float64]
Method = Literal["spearman", "pearson"]


class _Orders(NamedTuple):
    """Orders of encoders."""

    places: npt.NDArray[np.int64]
    """Shape (orders, encoders)."""
    exact: bool
    """Whether they are all that there are."""


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of every text for every ordered pair of encoders, from which a table of pairs comes."""

    rows: Floats
    """Shape (encoders, encoders, texts): source, target; the diagonal is not used."""

    def largest(self, drawn: npt.NDArray[np.int64] | None = None) -> Floats:
        """Largest error over the texts, or over those drawn."""
        return np.asarray((self.rows if drawn is None else self.rows[:, :, drawn]).max(axis=2))


def related(
    a: Floats, b: Floats, method: Method, *, permutations: int, samples: int, rng: int
) -> PairCorrelation | None:
    """Correlation of two tables of pairs; None where all pairs of a table are equal."""
    try:
        return pair_correlation(
            a, b, method=method, permutations=permutations, samples=samples, rng=rng
        )
    except UndefinedMeasureError:
        return None


def text_interval(
    a: Errors, b: Errors, method: Method, *, samples: int, rng: int
) -> tuple[float, float] | None:
    """95 % bootstrap interval of the correlation over texts, the fitted maps being kept.

    Texts of ``a`` and of ``b`` are different texts, so they are drawn independently; all pairs
    share what is drawn.
    """
    generator = np.random.default_rng(rng)
    count = len(a.rows)
    off = ~np.eye(count, dtype=bool)
    found = []
    for _ in range(samples):
        tables = [
            each.largest(generator.integers(0, texts, size=(texts,), dtype=np.int64))[off]
            for each, texts in ((a, a.rows.shape[2]), (b, b.rows.shape[2]))
        ]
        x, y = (rankdata(t) if method == "spearman" else t for t in tables)
        x, y = x - x.mean(), y - y.mean()
        size = float(np.sqrt((x @ x) * (y @ y)))
        if size > 0.0:
            found.append(float(x @ y) / size)
    if len(found) < max(samples / 2, 1):
        return None
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def mappability(
    table: Floats, names: Sequence[str], *, kind: str, depth: float
) -> list[Mappability]:
    """Quartiles of the distances from the other encoders to each, the easiest target first in place.

    Parameters
    ----------
    table
        Shape (encoders, encoders): source, target; the diagonal is not used.
    names
        The encoders.
    kind, depth
        What the records say of the table.
    """
    columns = [np.delete(table[:, j], j) for j in range(len(names))]
    quartiles = np.array([np.quantile(column, [0.25, 0.5, 0.75]) for column in columns])
    places = rankdata(quartiles[:, 1], method="min")
    return [
        Mappability(kind, depth, name, float(median), float(low), float(high), int(place))
        for name, (low, median, high), place in zip(names, quartiles, places, strict=True)
    ]


def rank_link(
    ranks: Sequence[Mapping[str, int]],
    medians: Sequence[float],
    *,
    depth: float,
    permutations: int,
    rng: int,
) -> list[RankLink]:
    """Spearman correlation of numerical rank and the median distance to an encoder, by tolerance."""
    orders = _orders(len(medians), permutations, rng)
    found = []
    for tolerance in ranks[0]:
        values = [each[tolerance] for each in ranks]
        value, p = _spearman(values, medians, orders)
        found.append(RankLink(depth, tolerance, value, p, min(values), max(values)))
    return found


def agreements(
    found: Sequence[Mappability], names: Sequence[str], *, permutations: int, rng: int
) -> list[Agreement]:
    """Compare every two orders of the encoders as targets, by Spearman's correlation of the medians.

    Parameters
    ----------
    found
        Every encoder as a target, for every kind of distance and depth.
    names
        The encoders.
    permutations
        Permutations of encoders, for p.
    rng
        Their seed.
    """
    orders = _orders(len(names), permutations, rng)
    medians = {(m.kind, m.depth, m.target): m.median for m in found}
    lists = {
        key: [medians[(*key, name)] for name in names]
        for key in dict.fromkeys((m.kind, m.depth) for m in found)
    }
    return [
        Agreement(*first, *second, *_spearman(lists[first], lists[second], orders))
        for first, second in itertools.combinations(lists, 2)
    ]


def _orders(count: int, permutations: int, rng: int) -> _Orders:
    """All orders where that is no more than were asked for, else so many drawn ones."""
    if math.factorial(count) <= permutations:
        return _Orders(np.array(list(itertools.permutations(range(count)))), exact=True)
    generator = np.random.default_rng(rng)
    drawn = np.stack([generator.permutation(count) for _ in range(permutations)])
    return _Orders(drawn, exact=False)


def _spearman(
    a: Sequence[float], b: Sequence[float], orders: _Orders
) -> tuple[float | None, float | None]:
    """Correlation of ranks, and its one-sided p; None where all values of one are equal."""
    x, y = _unit(rankdata(a)), _unit(rankdata(b))
    if x is None or y is None:
        return None, None
    value = float(x @ y)
    reached = int((y[orders.places] @ x >= value - 1e-9).sum())
    if orders.exact:  # the order as it is stands among them
        return value, reached / len(orders.places)
    return value, (1 + reached) / (1 + len(orders.places))


def _unit(values: Floats) -> Floats | None:
    centred = values - values.mean()
    size = float(np.linalg.norm(centred))
    return None if size == 0.0 else np.asarray(centred / size)
