"""Permutation moments without permutations, for measures that are inner products of relations.

For symmetric matrices A and B of shape (n, n), the statistic sum_ij A_ij B_p(i)p(j) over all n!
permutations p has moments that are sums over patterns of coinciding indices: the m-th moment is
sum over set partitions of the 2m index slots of g_A g_B / n!/(n-b)!, where b is the number of
blocks and g_A the sum of the m-fold product of entries of A over distinct indices. Each g is a
linear combination (Möbius inversion on the lattice of partitions) of plain index sums of A alone:
every space pays once, and every pair is a short bilinear form.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import permutations as arrangements

import numpy as np
import numpy.typing as npt
from scipy.stats import pearson3

from cospace.errors import UndefinedMeasureError

__all__ = ["Invariants", "PermutationMoments", "permutation_moments"]

LEAST_P = 1e-6
"""Least p-value that a tail with three moments may claim."""

Floats = npt.NDArray[np.float64]
Blocks = tuple[int, ...]


@dataclass(frozen=True)
class PermutationMoments:
    """Mean, spread and skewness of a statistic over all permutations."""

    mean: float
    """Mean."""
    sd: float
    """Standard deviation."""
    skewness: float | None
    """Third standardised moment; None where the sums for it were not made."""

    def p(self, value: float) -> float | None:
        """Upper tail at ``value`` of the Pearson type III distribution with these moments.

        Never below 1e-6: three moments say nothing about how much smaller it is. None without
        the skewness.
        """
        if self.skewness is None:
            return None
        if self.sd == 0.0:
            return 1.0
        tail = pearson3.sf((value - self.mean) / self.sd, self.skewness)
        return max(float(tail), LEAST_P)


@dataclass(frozen=True, eq=False)
class Invariants:
    """What permutation moments need of one symmetric matrix.

    The matrix is split into its mean off the diagonal, its mean on the diagonal, and the rest;
    permutations leave the first two alone, so the rest alone gives the central moments, without
    cancellation.
    """

    n: int
    """Number of rows."""
    means: tuple[float, float]
    """Mean entry off the diagonal and on it."""
    second: Floats
    """Index sums of second order over the rest, one for each pattern."""
    third: Floats | None = None
    """Index sums of third order; None where they were not made."""

    @classmethod
    def of(cls, matrix: Floats) -> Invariants:
        """Index sums of a symmetric matrix of shape (n, n); cost n^3 for the triangles.

        Raises
        ------
        UndefinedMeasureError
            For fewer than 6 rows: patterns of six distinct indices then do not exist, and all
            permutations are few enough to be listed.
        """
        n = len(matrix)
        if n < 6:
            raise UndefinedMeasureError(
                f"Closed-form permutation moments need at least 6 rows, got {n}: list the permutations."
            )
        diagonal = float(np.trace(matrix)) / n
        off = (float(matrix.sum()) - diagonal * n) / (n * (n - 1))
        rest = matrix - off
        np.fill_diagonal(rest, np.diagonal(matrix) - diagonal)
        return cls(n, (off, diagonal), _sums(rest, 2), _sums(rest, 3))

    @classmethod
    def of_margins(cls, on: Floats, sums: Floats, square: float) -> Invariants:
        """Index sums of second order, without the matrix.

        Parameters
        ----------
        on
            Diagonal, shape (n,).
        sums
            Sums of the lines, diagonal included, shape (n,).
        square
            Sum of all squared entries.
        """
        n = len(on)
        diagonal = float(on.sum()) / n
        off = (float(sums.sum()) - n * diagonal) / (n * (n - 1))
        rest = on - diagonal
        lines = sums - on - (n - 1) * off + rest
        inner = square - n * (n - 1) * off**2 - n * diagonal**2
        found: dict[Blocks, float] = {
            (0, 0, 0, 0): float(rest @ rest),
            (0, 0, 0, 1): float(rest @ lines),
            (0, 0, 1, 1): float(rest.sum()) ** 2,
            (0, 0, 1, 2): float(rest.sum() * lines.sum()),
            (0, 1, 0, 1): inner,
            (0, 1, 0, 2): float(lines @ lines),
            (0, 1, 2, 3): float(lines.sum()) ** 2,
        }
        return cls(n, (off, diagonal), np.asarray([found[pattern] for pattern in _patterns(2)]))


def permutation_moments(a: Invariants, b: Invariants) -> PermutationMoments:
    """Exact moments of sum_ij A_ij B_p(i)p(j) over all permutations p.

    Equivalent, for centred Gram matrices, to the moments of the RV coefficient's numerator of
    Kazi-Aoual et al. 1995; here for any symmetric matrices, by counting patterns.

    Examples
    --------
    >>> import numpy as np
    >>> a = Invariants.of(np.diag([1.0, 0, 0, 0, 0, 0]))
    >>> moments = permutation_moments(a, a)
    >>> round(moments.mean, 12) == round(1 / 6, 12), round(moments.sd**2, 12) == round(5 / 36, 12)
    (True, True)
    """
    n = a.n
    mean = n * (n - 1) * a.means[0] * b.means[0] + n * a.means[1] * b.means[1]
    sd = math.sqrt(max(_moment(2, n, a.second, b.second), 0.0))
    if a.third is None or b.third is None:
        return PermutationMoments(mean, sd, None)
    return PermutationMoments(mean, sd, _moment(3, n, a.third, b.third) / sd**3 if sd > 0 else 0.0)


def _moment(order: int, n: int, a: Floats, b: Floats) -> float:
    return float(_distinct(order, a) @ (_weights(order, n) * _distinct(order, b)))


def _sums(matrix: Floats, order: int) -> Floats:
    return np.asarray([_sum(matrix, pattern) for pattern in _patterns(order)])


def _sum(matrix: Floats, pattern: Blocks) -> float:
    """Sum of a product of entries over all indices, one index for each block."""
    letters = "abcdef"
    edges = [letters[i] + letters[j] for i, j in zip(pattern[::2], pattern[1::2], strict=True)]
    return float(np.einsum(",".join(edges) + "->", *[matrix] * len(edges), optimize="greedy"))


@cache
def _patterns(order: int) -> dict[Blocks, int]:
    """Patterns of ``order`` entries up to renaming, each with the number of partitions it stands for."""
    found: dict[Blocks, int] = {}
    for blocks in _partitions(2 * order):
        pattern = _canonical(blocks)
        found[pattern] = found.get(pattern, 0) + 1
    return found


@cache
def _mobius(order: int) -> Floats:
    """Matrix that turns index sums into sums over distinct indices, pattern by pattern."""
    patterns = list(_patterns(order))
    place = {pattern: i for i, pattern in enumerate(patterns)}
    matrix = np.zeros((len(patterns), len(patterns)))
    for i, pattern in enumerate(patterns):
        for merged in _partitions(max(pattern) + 1):
            coarser = _canonical(tuple(merged[block] for block in pattern))
            sizes = [merged.count(block) for block in set(merged)]
            matrix[i, place[coarser]] += math.prod(
                (-1) ** (size - 1) * math.factorial(size - 1) for size in sizes
            )
    return matrix


def _distinct(order: int, sums: Floats) -> Floats:
    return np.asarray(_mobius(order) @ sums)


@cache
def _weights(order: int, n: int) -> Floats:
    """Partitions for each pattern, over the number of ways to choose its distinct indices."""
    return np.asarray(
        [count / math.perm(n, max(pattern) + 1) for pattern, count in _patterns(order).items()]
    )


def _partitions(slots: int) -> Iterator[Blocks]:
    """Set partitions of ``slots`` slots, as block numbers in order of first appearance."""

    def grow(head: Blocks, top: int) -> Iterator[Blocks]:
        if len(head) == slots:
            yield head
            return
        for block in range(top + 1):
            yield from grow((*head, block), max(top, block + 1))

    yield from grow((), 0)


@cache
def _canonical(blocks: Blocks) -> Blocks:
    """Smallest name of a pattern: entries may be reordered, and each entry is symmetric."""
    edges = list(zip(blocks[::2], blocks[1::2], strict=True))
    names = []
    for ordered in arrangements(edges):
        for flips in range(2 ** len(edges)):
            flat = [
                end
                for i, (a, b) in enumerate(ordered)
                for end in ((b, a) if flips >> i & 1 else (a, b))
            ]
            seen: dict[int, int] = {}
            names.append(tuple(seen.setdefault(end, len(seen)) for end in flat))
    return min(names)
