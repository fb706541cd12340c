"""Joint centred moments of several spaces: accumulated in one pass, merged exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from cospace._arrays import Array, as_rows, double, namespace
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.linalg import RTOL, mean_row, numerical_rank
from cospace.summaries import Overlap

__all__ = ["Moments"]

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Moments:
    """Row count, means and centred sums of products of several spaces over the same rows.

    All sums are float64 and centred, so merging is exact to rounding whatever the offset of the
    data. Size: one (d_a, d_b) block for each pair, whatever the number of rows.
    """

    n: int
    """Number of rows seen."""
    means: Mapping[str, Array]
    """Mean row of each space, shape (d,)."""
    blocks: Mapping[Pair, Array]
    """Sum over rows of (a - mean_a)(b - mean_b)^T, shape (d_a, d_b), for each pair kept."""
    shifts: Mapping[str, Array] | None = None
    """Fixed points about which the sums for debiased HSIC are taken; None when not asked for."""
    quartic: Mapping[Pair, float] | None = None
    """Sum over rows of |a|^2 |b|^2 about the shifts."""
    cubic: Mapping[Pair, Array] | None = None
    """Sum over rows of a |b|^2 about the shifts, shape (d_a,); both orders of a pair."""

    @classmethod
    def of(
        cls,
        rows: Mapping[str, Array],
        *,
        pairs: Sequence[Pair] | None = None,
        shifts: Mapping[str, Array] | None = None,
    ) -> Moments:
        """Moments of one batch.

        Parameters
        ----------
        rows
            Name -> array of shape (n, d), n >= 1; row i is the same text in all of them.
        pairs
            The pairs to keep (with each space's own block); all by default.
        shifts
            Name -> fixed point of shape (d,), near the mean: asks for the further sums that
            debiased CKA needs. Batches that will be merged take the same shifts.

        Raises
        ------
        InputError
            For no space, spaces of different row counts, or a shift of another width.
        UnknownNameError
            For a pair of other spaces.
        """
        if not rows:
            raise InputError("No space was given; moments are of at least one.")
        tables = {n: double(as_rows(table, name=n, least=1)) for n, table in rows.items()}
        counts = {name: table.shape[0] for name, table in tables.items()}
        n = next(iter(counts.values()))
        for name, count in counts.items():
            if count != n:
                raise InputError(
                    f"{next(iter(counts))} has {n} rows and {name} has {count}: moments are joint, row by row."
                )
        names = list(tables)
        wanted = pairs if pairs is not None else [(a, b) for a in names for b in names]
        kept = dict.fromkeys([(a, a) for a in names] + [_sorted(p, names) for p in wanted])
        means = {a: mean_row(x) for a, x in tables.items()}
        free = {a: x - means[a] for a, x in tables.items()}
        blocks = {(a, b): free[a].T @ free[b] for a, b in kept}
        if shifts is None:
            return cls(n, means, blocks)
        for a, mean in means.items():
            found = tuple(getattr(shifts.get(a), "shape", ()))
            if found != tuple(mean.shape):
                raise InputError(
                    f"{a} has rows of width {mean.shape[0]}; a shift of that width is expected, got shape {found}."
                )
        shifts = {a: double(shifts[a]) for a in means}
        about = {a: x - shifts[a] for a, x in tables.items()}
        square = {a: namespace(x).sum(x * x, axis=1) for a, x in about.items()}
        return cls(
            n,
            means,
            blocks,
            shifts,
            {(a, b): float(square[a] @ square[b]) for a, b in kept},
            {
                (a, b): about[a].T @ square[b]
                for a, b in dict.fromkeys([*kept, *((b, a) for a, b in kept)])
            },
        )

    @classmethod
    def accumulate(cls, batches: Iterable[Mapping[str, Array]], **options: Any) -> Moments:
        """Moments of all batches, in one pass; memory does not grow with their number."""
        parts = (cls.of(batch, **options) for batch in batches)
        first = next(parts, None)
        if first is None:
            raise InputError("No batch was given; moments are of at least one row.")
        return reduce(Moments.merge, parts, first)

    def merge(self, other: Moments) -> Moments:
        """Moments of both sets of rows together (pairwise update of Chan, Golub & LeVeque 1983).

        Raises
        ------
        InputError
            For other spaces, pairs, widths or shifts.
        """
        if self.blocks.keys() != other.blocks.keys():
            raise InputError("Moments of different spaces or pairs cannot be merged.")
        for a, mean in self.means.items():
            if mean.shape != other.means[a].shape:
                raise InputError(
                    f"{a} has width {mean.shape[0]} in one and {other.means[a].shape[0]} in the other: "
                    "these moments cannot be merged."
                )
        n = self.n + other.n
        gap = {a: other.means[a] - self.means[a] for a in self.means}
        weight = self.n * other.n / n
        blocks = {
            (a, b): block + other.blocks[a, b] + weight * gap[a][:, None] * gap[b][None, :]
            for (a, b), block in self.blocks.items()
        }
        means = {a: mean + gap[a] * (other.n / n) for a, mean in self.means.items()}
        if self.shifts is None and other.shifts is None:
            return Moments(n, means, blocks)
        if self.shifts is None or other.shifts is None or not _same(self.shifts, other.shifts):
            raise InputError(
                "Sums for debiased CKA about different shifts cannot be merged: use the same."
            )
        quartic, cubic = self.quartic or {}, self.cubic or {}
        return Moments(
            n,
            means,
            blocks,
            self.shifts,
            {pair: value + (other.quartic or {})[pair] for pair, value in quartic.items()},
            {pair: value + (other.cubic or {})[pair] for pair, value in cubic.items()},
        )

    def block(self, a: str, b: str) -> Array:
        """Centred sum of products of ``a`` and ``b``, shape (d_a, d_b)."""
        if (a, b) in self.blocks:
            return self.blocks[a, b]
        if (b, a) in self.blocks:
            return self.blocks[b, a].T
        known = [f"{x}, {y}" for x, y in self.blocks]
        raise UnknownNameError.among(f"{a}, {b}", known, "pair of these moments")

    def overlap(self, *, source: str, target: str, rtol: float = RTOL) -> Overlap:
        """Overlap of a pair, on the directions above the rank tolerance."""
        s_x, v_x = _spectrum(self.block(source, source), rtol)
        s_y, v_y = _spectrum(self.block(target, target), rtol)
        core = (v_x.T @ self.block(source, target) @ v_y) / (s_x[:, None] * s_y[None, :])
        return Overlap(s_x, s_y, core, v_x, v_y, self.n, rtol)

    def hsic(self, a: str, b: str) -> float:
        """Unbiased HSIC with linear kernels (Song et al. 2012, Eq. 5); may be negative.

        Raises
        ------
        InputError
            When the sums for it were not asked for.
        UnknownNameError
            For a pair that was not kept.
        UndefinedMeasureError
            For fewer than 4 rows.
        """
        block = self.block(a, b)
        if self.shifts is None or self.quartic is None or self.cubic is None:
            raise InputError(
                "Debiased HSIC needs more sums than covariances: accumulate the moments with shifts=."
            )
        n = self.n
        if n < 4:
            raise UndefinedMeasureError(f"Debiased HSIC needs at least 4 rows, got {n}.")
        xp = namespace(self.means[a])
        sum_a, sum_b = ((self.means[k] - self.shifts[k]) * n for k in (a, b))
        raw = block + sum_a[:, None] * sum_b[None, :] / n
        quartic = self.quartic[(a, b) if (a, b) in self.quartic else (b, a)]
        trace = float(xp.sum(raw * raw)) - quartic
        total_a, total_b = (self._off_diagonal(k) for k in (a, b))
        cross = (
            float(sum_a @ raw @ sum_b)
            - float(sum_a @ self.cubic[a, b])
            - float(sum_b @ self.cubic[b, a])
            + quartic
        )
        value = trace + total_a * total_b / ((n - 1) * (n - 2)) - 2 * cross / (n - 2)
        return value / (n * (n - 3))

    def _off_diagonal(self, name: str) -> float:
        """Sum of the off-diagonal entries of the Gram matrix about the shift."""
        xp = namespace(self.means[name])
        gap = self.means[name] - (self.shifts or {})[name]
        squares = float(xp.linalg.trace(self.block(name, name))) + self.n * float(gap @ gap)
        return float(self.n**2 * (gap @ gap)) - squares


def _sorted(pair: Pair, names: list[str]) -> Pair:
    for name in pair:
        if name not in names:
            raise UnknownNameError.among(name, names, "space of these moments")
    a, b = sorted(pair)
    return a, b


def _same(a: Mapping[str, Array], b: Mapping[str, Array]) -> bool:
    return all(bool(namespace(a[k]).all(a[k] == b[k])) for k in a)


def _spectrum(block: Array, rtol: float) -> tuple[Array, Array]:
    xp = namespace(block)
    values, vectors = xp.linalg.eigh(block)
    s = xp.flip(xp.clip(values, 0.0, None), axis=0) ** 0.5
    r = numerical_rank(s, rtol)
    if r == 0:
        raise UndefinedMeasureError("All rows are the same: there is nothing to compare.")
    return s[:r], xp.flip(vectors, axis=1)[:, :r]
