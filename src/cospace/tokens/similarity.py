"""Global geometry: how alike the cosines of all pairs of tokens are in two models.

Pearson's correlation over all m (m - 1) / 2 pairs follows from sums over rows alone, at the cost
of m d^2: no matrix of m^2 entries is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace._arrays import to_numpy
from cospace._threads import each
from cospace.errors import RowMismatchError, UndefinedMeasureError
from cospace.measures.ranking import Ranking
from cospace.tokens.ranks import average_ranks

__all__ = ["Correlation", "Cosines", "pearson", "spearman"]

Floats = npt.NDArray[np.float64]

EXACT = 4_000
"""Rows up to which Spearman's correlation is taken over all pairs."""
_ROWS = 256
_BLOCK = 128
"""Rows of which all pairs are taken together where pairs are sampled."""
_PAIRS = 1_200_000
"""Pairs that are sampled, about."""
_BATCHES = 10
_FLAT = 1e-24
"""Mean square of what cosines differ by, below which they are all equal to rounding."""
_ROUNDING = 1e-13
"""The same as a part of what the cosines of rows with themselves hold, which is taken off."""


@dataclass(frozen=True)
class Correlation:
    """A correlation between two lists of cosines, beside what shuffled tokens would give."""

    value: float
    """In [-1, 1]; 1 for spaces that are alike up to rotation and scale."""
    null_sd: float
    """Standard deviation over all ways to pair the tokens anew; their mean is 0."""
    p_at_most: float
    """Bound of the share of pairings with so large a value (Cantelli's: it assumes nothing)."""
    error: float | None = None
    """Standard error of a value from sampled pairs; None where all pairs were taken."""


@dataclass(frozen=True, eq=False, repr=False)
class Cosines:
    """Cosines of all pairs of rows, by sums: c_ij = <z_i, z_j> + s_i + s_j + |c|^2.

    Here c is the mean of the unit rows, z what is left of them, and s_i = <z_i, c>: the level that
    all cosines share is taken off before anything is squared.
    """

    rows: Floats
    """z, beside it s and 1, shape (m, d + 2)."""
    centre: Floats
    """c, shape (d,)."""
    mean: float
    """Mean cosine of different rows."""
    level: float
    """What is taken off <z_i, z_j> + s_i + s_j, so that different rows have mean 0."""
    own: float
    """What is left of the cosine of a row with itself, 1 less the mean."""
    square: float
    """Sum over ordered pairs of different rows of the square of what is left."""
    lines: Floats
    """Sum over the other rows of what is left, shape (m,)."""

    @classmethod
    def of(
        cls,
        rows: npt.ArrayLike,
        room: Floats | None = None,
        *,
        named: Callable[[int], str] | None = None,
    ) -> Cosines:
        """Sums over rows of shape (m, d); cost m d^2.

        Parameters
        ----------
        rows
            The rows.
        room
            Memory of shape (m, d + 2) that is written over, such as ``rows`` of cosines that are no
            longer needed: new memory costs as much as the sums.
        named
            What a row is, by its place: who took some rows out of many knows whose they are.

        Raises
        ------
        UndefinedMeasureError
            For fewer than 4 rows, a row of zeros, or cosines that are all equal.
        """
        x = np.asarray(to_numpy(rows))
        m, d = x.shape
        if m < 4:
            raise UndefinedMeasureError(
                f"{m} tokens have too few pairs to compare: at least 4 are needed."
            )
        made = np.empty((m, d + 2)) if room is None else room
        z, s = made[:, :d], made[:, d]
        made[:, d + 1] = 1.0
        starts = range(0, m, _ROWS)

        def unit(start: int) -> Floats:
            part = slice(start, start + _ROWS)
            z[part] = x[part]
            peak = np.maximum(z[part].max(axis=1), -z[part].min(axis=1))
            if not peak.all():
                place = start + int(np.argmin(peak))
                what = f"Row {place} of those compared" if named is None else named(place)
                raise UndefinedMeasureError(
                    f"{what} is zero: it has no direction, so no cosine; leave it out of both models."
                )
            z[part] /= peak[:, None]
            z[part] /= np.sqrt(np.einsum("ij,ij->i", z[part], z[part]))[:, None]
            return np.asarray(z[part].sum(axis=0))

        centre = np.sum(each(unit, starts), axis=0) / m

        def shift(start: int) -> None:
            part = slice(start, start + _ROWS)
            z[part] -= centre
            s[part] = z[part] @ centre

        each(shift, starts)
        s -= s.mean()
        sums = made.T @ made
        spread = float(np.trace(sums[:d, :d]))
        level = -spread / (m * (m - 1))
        mean = float(centre @ centre) + level
        own = spread / m - level
        inner = _turned(sums, level)
        square = float(np.sum(inner * inner.T)) - m * own**2
        lines = m * (s - level) - own
        if square <= max(_FLAT * m * (m - 1), _ROUNDING * m * own**2):
            raise UndefinedMeasureError(
                "All pairs have the same cosine: there is nothing to compare."
            )
        return cls(made, centre, mean, level, own, square, lines)

    def unit(self) -> Floats:
        """Rows of length 1, shape (m, d)."""
        return np.asarray(self.rows[:, :-2] + self.centre)


def pearson(a: Cosines, b: Cosines) -> Correlation:
    """Pearson's correlation of the cosines of all pairs of the same tokens in two models.

    The standard deviation over all m! pairings is exact: with entries of mean 0 it depends on the
    sums of squares and of lines alone (Mantel 1967).

    Parameters
    ----------
    a, b
        Cosines of the two models; row i of both is the same token.

    Returns
    -------
    Correlation
        1 for a rotated and rescaled copy; 0 expected by chance. Cost m d_a d_b.

    Raises
    ------
    RowMismatchError
        For different numbers of rows.

    Examples
    --------
    >>> x = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]]
    >>> turned = [[-3 * v, 3 * u] for u, v in x]
    >>> round(pearson(Cosines.of(x), Cosines.of(turned)).value, 12)
    1.0
    """
    m = _paired(a, b)
    cross = a.rows.T @ b.rows
    left, right = _turned(cross, a.level), _turned(cross.T, b.level).T
    total = float(np.sum(left * right)) - m * a.own * b.own
    value = min(max(total / math.sqrt(a.square * b.square), -1.0), 1.0)
    ends = [float(side.lines @ side.lines) - side.square for side in (a, b)]
    apart = [-4 * end - 2 * side.square for end, side in zip(ends, (a, b), strict=True)]
    variance = (
        2 * a.square * b.square
        + 4 * ends[0] * ends[1] / (m - 2)
        + apart[0] * apart[1] / ((m - 2) * (m - 3))
    ) / (m * (m - 1))
    return _beside(value, math.sqrt(max(variance, 0.0) / (a.square * b.square)))


def spearman(
    a: Cosines, b: Cosines, *, rng: int = 0, exact: int = EXACT, null_sd: float | None = None
) -> Correlation:
    """Spearman's correlation of the cosines of all pairs of the same tokens in two models.

    Over all pairs up to ``exact`` rows (memory 14 bytes a pair). Beyond, over the pairs inside
    blocks of 128 rows of random orders, 1.2 million pairs or more, in which rows take part alike; the
    standard error comes from ten batches of blocks.

    Parameters
    ----------
    a, b
        Cosines of the two models; row i of both is the same token.
    rng
        Seed of the order.
    exact
        Most rows of which all pairs are taken.
    null_sd
        Standard deviation by chance; by default that of ``pearson``, of which it is close to the same.

    Raises
    ------
    RowMismatchError
        For different numbers of rows.
    UndefinedMeasureError
        When all cosines of a side are equal.
    """
    m = _paired(a, b)
    sd = pearson(a, b).null_sd if null_sd is None else null_sd
    if m <= exact:
        return _beside(_over_all(a.unit(), b.unit()), sd)
    orders = np.random.default_rng(rng)
    needed = math.ceil(_PAIRS / (_BLOCK * (_BLOCK - 1) / 2))
    blocks = min(max(m // _BLOCK, 1), needed)
    rounds = math.ceil(needed / blocks)
    chosen = [
        orders.permutation(m)[: blocks * _BLOCK].reshape(blocks, _BLOCK) for _ in range(rounds)
    ]
    upper = np.triu_indices(_BLOCK, 1)

    def ranks(side: Cosines) -> Floats:
        values = np.empty((rounds * blocks, len(upper[0])))
        for i, some in enumerate(np.concatenate(chosen)):
            at = side.rows[some]
            inner = at[:, :-2] @ at[:, :-2].T + at[:, -2:-1] + at[:, -2]
            values[i] = inner[upper]
        return _centred_ranks(values)

    x, y = each(ranks, (a, b))
    batches = np.array_split(np.arange(len(x)), min(_BATCHES, len(x)))
    parts = [_cosine(x[batch], y[batch]) for batch in batches]
    error = float(np.std(parts, ddof=1)) / math.sqrt(len(parts))
    return _beside(_cosine(x, y), sd, error)


def _beside(value: float, sd: float, error: float | None = None) -> Correlation:
    above = max(value, 0.0) / sd if sd > 0 else 0.0
    return Correlation(value, sd, 1.0 / (1.0 + above**2), error)


def _paired(a: Cosines, b: Cosines) -> int:
    if len(a.rows) != len(b.rows):
        raise RowMismatchError(
            f"{len(a.rows)} and {len(b.rows)} tokens cannot be compared: row i must be the same token in both."
        )
    return len(a.rows)


def _turned(inner: Floats, level: float) -> Floats:
    """C times a matrix, where c_ij - mean = p_i' C p_j and p_i = (z_i, s_i, 1)."""
    made = inner.copy()
    made[-2] = inner[-1]
    made[-1] = inner[-2] - level * inner[-1]
    return made


def _over_all(x: Floats, y: Floats) -> float:
    one, other = Ranking.of(x), Ranking.of(y)
    if one is None or other is None:
        raise UndefinedMeasureError("All pairs have the same cosine: there is nothing to compare.")
    ranks = one.ranks()
    total = sum(float(ranks[pairs].astype(np.float64) @ values) for pairs, values in other.chunks())
    return min(max(total / math.sqrt(one.spread() * other.spread()), -1.0), 1.0)


def _centred_ranks(values: Floats) -> Floats:
    return np.asarray(average_ranks(values).reshape(values.shape) - (values.size + 1) / 2)


def _cosine(x: Floats, y: Floats) -> float:
    size = math.sqrt(float(np.vdot(x, x)) * float(np.vdot(y, y)))
    if size == 0.0:
        raise UndefinedMeasureError("All pairs have the same cosine: there is nothing to compare.")
    return float(np.vdot(x, y)) / size
