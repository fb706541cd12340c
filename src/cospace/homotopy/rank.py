"""Rank to precision, copies of lower rank, and what rank has to do with being easy to map to."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from cospace._arrays import double, to_numpy
from cospace._numbers import check_number, check_seed
from cospace.errors import InputError
from cospace.homotopy.basis import RTOL, Basis
from cospace.homotopy.distance import check_options, distance_between
from cospace.homotopy.minmax import LIMIT, Progress
from cospace.homotopy.prepare import Source, Target, check_spaces
from cospace.homotopy.solve import Task
from cospace.linalg import centred, mean_row, numerical_rank, singular_values, thin_svd
from cospace.result import Result
from cospace.space import Space, matched

__all__ = [
    "SHARES",
    "TOLERANCES",
    "Correlation",
    "GridCell",
    "TruncationGrid",
    "rank_correlation",
    "rank_sweep",
    "truncated",
    "truncation_grid",
]

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Rank tolerances of a sweep, relative to the largest singular value."""
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the full rank that copies keep."""
NUMPY = "numpy"
"""Key of the rank at numpy's default tolerance."""
_FEWEST = 3
_ALL_ORDERS = 8
"""Up to so many encoders all orders are counted."""
_ORDERS = 9_999
"""So many random orders are counted else."""


@dataclass(frozen=True)
class Correlation:
    """Spearman's correlation over encoders."""

    rho: float | None
    """In [-1, 1]; None where it is not defined, see ``reason``."""
    p: float | None
    """Two-sided, as if encoders were independent: the share of orders of the encoders with a correlation
    that is at least as far from 0. Of all orders for up to 8 encoders, else of 9,999 random ones and the
    one that is there."""
    n: int
    """Number of encoders."""
    reason: str | None = None
    """Why there is no value."""


def rank_sweep(rows: Any, tolerances: Sequence[float] = TOLERANCES) -> dict[float | str, int]:
    """Numerical rank of centred rows at several tolerances, relative to the largest singular value.

    Parameters
    ----------
    rows
        A space, or an array of shape (n, d).
    tolerances
        Between 0 and 1.

    Returns
    -------
    dict
        tolerance -> rank, and under ``"numpy"`` the rank at numpy's default, ``max(n, d) eps``.

    Raises
    ------
    InputError
        For a tolerance that is no number or out of range, or rows that are no finite table.

    Examples
    --------
    >>> x = np.diag([1.0, 1e-3, 1e-5])
    >>> rank_sweep(np.concatenate([x, -x]), (1e-2, 1e-4, 1e-6))
    {0.01: 1, 0.0001: 2, 1e-06: 3, 'numpy': 3}
    """
    space = rows if isinstance(rows, Space) else Space(rows, name="rows")
    if not hasattr(tolerances, "__len__"):
        raise InputError(f"tolerances are {tolerances!r}; a list of them is expected.")
    for each in tolerances:
        check_number(tolerance=each)
    wrong = [tolerance for tolerance in tolerances if not 0.0 < tolerance < 1.0]
    if wrong:
        raise InputError(f"A rank tolerance is {wrong[0]}; numbers between 0 and 1 are expected.")
    s = singular_values(centred(space.rows))
    found: dict[float | str, int] = {each: numerical_rank(s, each) for each in tolerances}
    found[NUMPY] = numerical_rank(s, max(space.n, space.width) * float(np.finfo(float).eps))
    return found


def truncated(space: Space, share: float) -> Space:
    """Copy of lower rank: the leading ``round(share rank)`` principal directions, at least one; mean kept.

    Parameters
    ----------
    space
        The space.
    share
        Of its numerical rank, above 0 and at most 1.

    Raises
    ------
    InputError
        For a share out of range.

    Examples
    --------
    >>> x = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> copy = truncated(Space(x), 0.5)
    >>> bool(np.abs(copy.rows[2:]).max() < 1e-12), copy.steps
    (True, ('rank=1',))
    """
    _check_share(share)
    wide = to_numpy(centred(space.rows))
    u, s, v = thin_svd(wide)
    k = max(1, round(share * numerical_rank(s, RTOL)))
    mean = to_numpy(mean_row(double(space.rows)))
    rows = (u[:, :k] * s[:k]) @ v[:, :k].T + mean
    return replace(space, rows=rows, steps=(*space.steps, f"rank={k}"))


def rank_correlation(
    ranks: Mapping[str, float], mappability: Mapping[str, float], *, rng: int = 0
) -> Correlation:
    """Spearman's correlation of the rank of encoders with how hard they are to map to.

    Parameters
    ----------
    ranks
        Encoder -> rank, at one tolerance.
    mappability
        Encoder -> median distance when mapping to it (``DistanceTable.mappability``).
    rng
        Seed of the random orders that p is counted over, for more than 8 encoders.

    Raises
    ------
    InputError
        When the two name different encoders, or a value is no finite number.

    Examples
    --------
    >>> rank_correlation({"a": 1, "b": 2, "c": 5}, {"a": 0.1, "b": 0.3, "c": 0.4}).rho
    1.0

    Of the six orders of three encoders two are perfect, one either way:

    >>> round(rank_correlation({"a": 1, "b": 2, "c": 5}, {"a": 0.1, "b": 0.3, "c": 0.4}).p, 3)
    0.333
    """
    check_seed(rng)
    if set(ranks) != set(mappability):
        odd = sorted(set(ranks) ^ set(mappability))[0]
        raise InputError(
            f"{odd!r} has a rank or a mappability, but not both: give both for the same encoders."
        )
    names = sorted(ranks)
    for what, values in (("rank", ranks), ("mappability", mappability)):
        for name in names:
            value: dict[str, Any] = {f"The {what} of {name}": values[name]}
            check_number(**value)
            if not np.isfinite(values[name]):
                raise InputError(
                    f"The {what} of {name} is {values[name]}; a finite number is expected: leave {name} out."
                )
    one, other = ([float(values[name]) for name in names] for values in (ranks, mappability))
    n = len(names)
    if n < _FEWEST:
        return Correlation(None, None, n, f"{n} encoders are too few to order.")
    if len(set(one)) == 1 or len(set(other)) == 1:
        which = "ranks" if len(set(one)) == 1 else "distances"
        return Correlation(None, None, n, f"All {which} are the same.")
    a, b = (rankdata(values) - (n + 1) / 2 for values in (one, other))
    size = float((a @ a) * (b @ b)) ** 0.5
    rho = float(a @ b) / size
    orders, itself = _orders(n, rng)
    # Ranks are halves at the least, so that products of two that differ do so by 1 / 4 or more.
    far = int(np.count_nonzero(np.abs(b[orders] @ a) >= abs(float(a @ b)) - 0.1))
    return Correlation(max(-1.0, min(rho, 1.0)), (far + itself) / (len(orders) + itself), n)


def _orders(n: int, rng: int) -> tuple[npt.NDArray[np.intp], int]:
    """Orders of n encoders, and how many more the one that is there counts for."""
    if n <= _ALL_ORDERS:
        return np.array(list(itertools.permutations(range(n)))), 0
    drawn = np.tile(np.arange(n), (_ORDERS, 1))
    return np.random.default_rng(rng).permuted(drawn, axis=1), 1


def _check_share(share: float) -> None:
    check_number(share=share)
    if not 0.0 < share <= 1.0:
        raise InputError(
            f"share is {share}; a share of the rank, above 0 and at most 1, is expected."
        )


@dataclass(frozen=True)
class GridCell:
    """Distances from sources at one share of their rank to targets at another, over all pairs."""

    source_share: float
    """Share of the source's rank that is kept."""
    target_share: float
    """Share of the target's rank that is kept."""
    median: float
    """Median over ordered pairs of the upper ends."""
    lower: float
    """Median of the lower ends: the median distance is between the two."""
    pairs: int
    """Number of ordered pairs."""


@dataclass(frozen=True)
class TruncationGrid(Result):
    """Median affine distance over pairs of encoders, for every share of rank on either side."""

    kind: ClassVar[str] = "truncation_grid"

    names: tuple[str, ...]
    """Encoders."""
    shares: tuple[float, ...]
    """Shares of the full rank."""
    cells: tuple[GridCell, ...]
    """One for each source share and target share."""
    normalised: bool
    """Whether distances are divided by the radius of the (truncated) target."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Gap, how rows matched."""

    def value(self, *, source: float, target: float) -> float:
        """Median at two shares.

        Raises
        ------
        InputError
            For a share that is not in the grid.
        """
        for cell in self.cells:
            if (cell.source_share, cell.target_share) == (source, target):
                return cell.median
        shares = ", ".join(f"{share:g}" for share in self.shares)
        raise InputError(
            f"The grid has no cell for {source:g} and {target:g}; its shares are {shares}."
        )

    def by_source(self) -> dict[float, float]:
        """Source share -> median over target shares."""
        return {
            share: float(np.median([c.median for c in self.cells if c.source_share == share]))
            for share in self.shares
        }

    def by_target(self) -> dict[float, float]:
        """Target share -> median over source shares."""
        return {
            share: float(np.median([c.median for c in self.cells if c.target_share == share]))
            for share in self.shares
        }

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a cell."""
        return [
            {
                "source_share": cell.source_share,
                "target_share": cell.target_share,
                "median": cell.median,
                "lower": cell.lower,
                "pairs": cell.pairs,
            }
            for cell in self.cells
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild a grid from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        values["names"], values["shares"] = tuple(values["names"]), tuple(values["shares"])
        values["cells"] = tuple(GridCell(**cell) for cell in values["cells"])
        return cls(**values)


def truncation_grid(
    encoders: Sequence[Space],
    shares: Sequence[float] = SHARES,
    *,
    normalised: bool = False,
    gap: float = 0.01,
    progress: Progress | None = None,
) -> TruncationGrid:
    """Affine distance between copies of lower rank, for every share on either side.

    Parameters
    ----------
    encoders
        At least two spaces of the same texts, with different names.
    shares
        Of the full rank, above 0 and at most 1, each once.
    normalised
        Divide every distance by the radius of the truncated target.
    gap
        Relative gap of each distance.
    progress
        Called as (what, targets done, in all).

    Returns
    -------
    TruncationGrid
        Cost: pairs times shares squared distances. Memory: beside the spaces a basis of each.

    Raises
    ------
    InputError
        For fewer than two encoders, names or shares that repeat, or shares out of range.
    RowMismatchError
        For rows that are not the same texts.
    UndefinedMeasureError
        When rows are too few for a source, or all rows of an encoder are the same.
    """
    task = Task("affine", None, gap, LIMIT)
    check_options(task, None, None)
    check_spaces(encoders)
    if len(encoders) < 2 or len({space.name for space in encoders}) < len(encoders):
        raise InputError(
            f"{len(encoders)} encoders called {', '.join(space.name for space in encoders) or 'nothing'} were "
            "given; at least 2 with different names are needed."
        )
    if not shares or len(set(shares)) < len(shares):
        raise InputError(f"shares are {tuple(shares)}; at least one, and each once, is expected.")
    rows = matched(encoders)
    sources = [_Principal.of(space) for space in rows.spaces]
    found: dict[tuple[float, float], list[tuple[float, float]]] = {}
    for i, space in enumerate(rows.spaces):
        for k, share in enumerate(shares):
            if progress is not None:
                name = f"{share:.0%} of {space.name}"
                progress(name, i * len(shares) + k, len(encoders) * len(shares))
            target = Target.of(truncated(space, share), gap)
            for other in sources:
                if other.space is space:
                    continue
                for part in shares:
                    cell = distance_between(target, other.at(part), task, by=rows.by)
                    ends = cell.normalised if normalised else cell
                    found.setdefault((part, share), []).append((ends.lower, ends.upper))
    return TruncationGrid(
        tuple(space.name for space in encoders),
        tuple(float(share) for share in shares),
        tuple(
            GridCell(
                float(part),
                float(share),
                float(np.median([high for _, high in found[part, share]])),
                float(np.median([low for low, _ in found[part, share]])),
                len(found[part, share]),
            )
            for part in shares
            for share in shares
        ),
        normalised,
        {"gap": gap, "matched_by": rows.by},
    )


@dataclass(frozen=True, eq=False)
class _Principal:
    """A source whose basis is in the order of its principal components: a copy of lower rank is a slice."""

    space: Space
    basis: Basis

    @classmethod
    def of(cls, space: Space) -> _Principal:
        return cls(space, Basis.of(space.rows, most=space.width))

    def at(self, share: float) -> Source:
        _check_share(share)
        k = max(1, round(share * self.basis.rank))
        return Source(self.space, reduced=k, made=self.basis.leading(k))
