"""Does one table of pairs predict another? Pairs share their members, so members are permuted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations as arrangements
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from cospace.errors import InputError, UndefinedMeasureError
from cospace.stats.permutation import TIE

__all__ = ["PairCorrelation", "pair_correlation"]

Floats = npt.NDArray[np.float64]
Order = npt.NDArray[np.int64]

_LEAST = 3
_FLAT = 1e-12
_BLOCK = 1 << 22


@dataclass(frozen=True)
class PairCorrelation:
    """Correlation of two tables over their ordered pairs, beside what relabelling would give."""

    value: float
    """Correlation over all ordered pairs of different members, in [-1, 1]."""
    p: float
    """Share of relabellings whose correlation is as large or larger; one-sided."""
    smallest_p: float
    """The least p that this many members, or draws, can give."""
    low: float | None
    """Lower end of the 95 % bootstrap interval over members; None for fewer than 5."""
    high: float | None
    """Upper end of the same interval."""
    members: int
    """Number of members of which the pairs are made."""
    exact: bool
    """Whether all relabellings were counted."""


def pair_correlation(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    method: Literal["spearman", "pearson"] = "spearman",
    permutations: int = 9_999,
    samples: int = 1_000,
    rng: int = 0,
) -> PairCorrelation:
    """Correlate two tables over ordered pairs of members, with a Mantel test.

    The pairs (i, j) and (i, k) share member i, so they are not independent, and a p-value that
    takes them to be is far too small. Here the members of one table are relabelled, its rows and
    columns together; the p-value is the share of relabellings with at least this correlation. The
    interval draws members again, and leaves out pairs of a member with itself.

    Parameters
    ----------
    a, b
        Shape (members, members); the entry (i, j) is of the ordered pair, the diagonal is not
        used. Neither needs to be symmetric.
    method
        ``spearman`` correlates ranks (ties share the mean of their ranks), ``pearson`` values.
    permutations
        Relabellings drawn; all are counted where they are no more than this + 1.
    samples
        Bootstrap samples of members.
    rng
        Seed.

    Returns
    -------
    PairCorrelation
        The correlation, p, and its interval.

    Raises
    ------
    InputError
        For tables that are not square or not of one shape, fewer than 3 members, or an entry off
        the diagonal that is not finite.
    UndefinedMeasureError
        When all entries of a table are equal.

    References
    ----------
    Mantel 1967; Dekker, Krackhardt & Snijders 2007 for tables that are not symmetric.

    Examples
    --------
    >>> a = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    >>> found = pair_correlation(a, a)
    >>> round(found.value, 12), found.p == 1 / 6, found.exact
    (1.0, True, True)
    """
    first, second = _table(a, "first"), _table(b, "second")
    count = len(first)
    if second.shape != first.shape:
        raise InputError(
            f"Tables of {len(first)} and {len(second)} members do not belong together."
        )
    if count < _LEAST:
        raise InputError(f"{count} members make no test of pairs: at least {_LEAST} are needed.")
    if permutations < 1 or samples < 0:
        raise InputError(
            f"{permutations} permutations and {samples} samples; 1 or more and 0 or more are expected."
        )
    off = ~np.eye(count, dtype=bool)
    change: Callable[[Floats], Floats] = _ranks if method == "spearman" else np.asarray
    x, y = (_unit(change(table[off])) for table in (first, second))
    value = float(np.clip(x @ y, -1.0, 1.0))
    generator = np.random.default_rng(rng)
    exact = math.factorial(min(count, 20)) <= permutations + 1
    orders = (
        np.asarray(list(arrangements(range(count))))
        if exact
        else np.stack([generator.permutation(count) for _ in range(permutations)])
    )
    drawn = _relabelled(_square(x, off), _square(y, off), orders)
    reached = int(np.count_nonzero(drawn >= value - TIE))
    total = len(orders) if exact else 1 + len(orders)
    ends = _bootstrap(first, second, change, samples, generator) if count >= 5 else None
    return PairCorrelation(
        value=value,
        p=max(reached, 1) / total if exact else (1 + reached) / total,
        smallest_p=1 / total,
        low=None if ends is None else ends[0],
        high=None if ends is None else ends[1],
        members=count,
        exact=exact,
    )


def _table(values: npt.ArrayLike, which: str) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise InputError(f"The {which} table has shape {table.shape}; a square one is expected.")
    if not np.isfinite(table[~np.eye(len(table), dtype=bool)]).all():
        raise InputError(
            f"The {which} table has an entry that is not finite: leave that member out."
        )
    return table


def _ranks(values: Floats) -> Floats:
    return np.asarray(rankdata(values), dtype=np.float64)


def _unit(values: Floats) -> Floats:
    centred = values - values.mean()
    size = float(np.linalg.norm(centred))
    if size <= _FLAT * max(float(np.abs(values).max()), 1e-300) * math.sqrt(len(values)):
        raise UndefinedMeasureError("All pairs of a table have the same value: no correlation.")
    return np.asarray(centred / size)


def _square(values: Floats, off: npt.NDArray[np.bool_]) -> Floats:
    table = np.zeros(off.shape)
    table[off] = values
    return table


def _relabelled(x: Floats, y: Floats, orders: Order) -> Floats:
    """Inner product of x with y relabelled; ranks are of all pairs, so relabelling keeps them."""
    step = max(1, _BLOCK // y.size)
    parts = [
        np.einsum("ij,pij->p", x, y[block[:, :, None], block[:, None, :]])
        for block in (orders[at : at + step] for at in range(0, len(orders), step))
    ]
    return np.asarray(np.concatenate(parts), dtype=np.float64)


def _bootstrap(
    a: Floats,
    b: Floats,
    change: Callable[[Floats], Floats],
    samples: int,
    generator: np.random.Generator,
) -> tuple[float, float] | None:
    found = []
    for _ in range(samples):
        drawn = generator.integers(len(a), size=len(a))
        off = drawn[:, None] != drawn[None, :]
        grid = np.ix_(drawn, drawn)
        if not off.any():
            continue
        try:
            found.append(float(_unit(change(a[grid][off])) @ _unit(change(b[grid][off]))))
        except UndefinedMeasureError:
            continue
    if len(found) < samples / 2 or not found:
        return None
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)
