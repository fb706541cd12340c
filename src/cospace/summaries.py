"""What is computed once per space: Factor, Gram, Neighbors, Relation; and the Overlap of a pair.

Every summary of one space can be ``permuted``: the summary of the same rows in another order,
without computing it again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from array_api_compat import device

from cospace._arrays import Array, namespace, rows_at, to_numpy
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError
from cospace.linalg import RTOL, centred, norm, numerical_rank, singular_values, thin_svd
from cospace.search import TIE, Search

__all__ = [
    "ROUNDING",
    "TIE",
    "Factor",
    "Gram",
    "Neighbors",
    "Order",
    "Overlap",
    "Relation",
    "Rows",
]

ROUNDING = 1e-12
"""What is smaller than this, relative to what it was computed from, is rounding."""

Order = npt.NDArray[np.int64]
"""A permutation of row numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """The rows themselves, for measures that need nothing better."""

    rows: Array
    """Shape (n, d)."""

    def permuted(self, order: Order) -> Rows:
        """Rows in another order."""
        return Rows(rows_at(self.rows, order))


@dataclass(frozen=True, eq=False, repr=False)
class Factor:
    """Thin SVD of the centred rows, u diag(s) v^T."""

    u: Array
    """Left singular vectors, shape (n, m), m = min(n, d)."""
    s: Array
    """Singular values, largest first, shape (m,)."""
    v: Array | None
    """Right singular vectors, shape (d, m); None when made from a Gram matrix."""
    rtol: float = RTOL
    """Rank tolerance, relative to the largest singular value."""

    @classmethod
    def of(cls, rows: Array, rtol: float = RTOL) -> Factor:
        """Factor the rows, shape (n, d); cost n d min(n, d)."""
        u, s, v = thin_svd(centred(rows))
        if float(s[0]) == 0.0:
            raise UndefinedMeasureError("All rows are the same: there is nothing to compare.")
        return cls(u, s, v, rtol)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.u.shape[0])

    @cached_property
    def rank(self) -> int:
        """Singular values above the tolerance."""
        return numerical_rank(self.s, self.rtol)

    def permuted(self, order: Order) -> Factor:
        """Factor of the rows in another order."""
        return replace(self, u=rows_at(self.u, order))


@dataclass(frozen=True, eq=False, repr=False)
class Overlap:
    """What second-order measures and linear maps need of a pair.

    With thin SVDs U_x diag(s_x) V_x^T and U_y diag(s_y) V_y^T of the centred rows, the core is
    U_x^T U_y. It comes from two Factors, from Moments, or from two Grams (then without bases).
    """

    s_x: Array
    """Singular values of the source, shape (m_x,)."""
    s_y: Array
    """Singular values of the target, shape (m_y,)."""
    core: Array
    """U_x^T U_y, shape (m_x, m_y)."""
    v_x: Array | None
    """Right singular vectors of the source, shape (d_x, m_x)."""
    v_y: Array | None
    """Right singular vectors of the target, shape (d_y, m_y)."""
    n: int
    """Number of rows."""
    rtol: float = RTOL
    """Rank tolerance."""

    @classmethod
    def of(cls, source: Factor, target: Factor) -> Overlap:
        """Overlap of two factors of the same rows; cost n m_x m_y.

        Raises
        ------
        RowMismatchError
            For factors of different row counts.
        """
        if source.n != target.n:
            raise RowMismatchError(
                f"Factors of {source.n} and {target.n} rows have no overlap: row i must be the same text in both."
            )
        return cls(
            source.s, target.s, source.u.T @ target.u, source.v, target.v, source.n, source.rtol
        )

    @cached_property
    def rank_x(self) -> int:
        """Numerical rank of the source."""
        return numerical_rank(self.s_x, self.rtol)

    @cached_property
    def rank_y(self) -> int:
        """Numerical rank of the target."""
        return numerical_rank(self.s_y, self.rtol)

    @cached_property
    def weighted_core(self) -> Array:
        """diag(s_x) core diag(s_y): the cross-covariance in the principal axes of both."""
        return self.s_x[:, None] * self.core * self.s_y[None, :]

    def correlations(self, keep_x: int | None = None, keep_y: int | None = None) -> Array:
        """Canonical correlations, largest first, of the leading ``keep`` directions of each side.

        Raises
        ------
        UndefinedMeasureError
            When keep_x + keep_y > n - 1: so many correlations are then 1 by dimension alone.
        """
        keep_x, keep_y = keep_x or self.rank_x, keep_y or self.rank_y
        surplus = keep_x + keep_y - (self.n - 1)
        if surplus > 0:
            raise UndefinedMeasureError(
                f"rank {keep_x} + rank {keep_y} exceeds n - 1 = {self.n - 1}: {surplus} canonical correlations "
                f"are 1 by dimension alone. Use more rows, or fewer principal components (reduced=)."
            )
        rho = singular_values(self.core[:keep_x, :keep_y])
        return namespace(rho).clip(rho, 0.0, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Gram:
    """Inner products of the centred rows, shape (n, n)."""

    k: Array
    """The matrix."""

    @classmethod
    def of(cls, rows: Array) -> Gram:
        """Multiply the centred rows; cost n^2 d."""
        x = centred(rows)
        return cls(x @ x.T)

    def permuted(self, order: Order) -> Gram:
        """Gram matrix of the rows in another order."""
        return Gram(rows_at(rows_at(self.k, order).T, order))

    def u_centred(self) -> Array:
        """U-centred matrix: zero diagonal, off-diagonal rows sum to zero.

        The mean product of two such matrices over the off-diagonal, times (n - 1) / (n - 3), is
        the unbiased HSIC (Székely & Rizzo 2014, Definition 2; Song et al. 2012, Eq. 5). Exactly
        zero where only rounding is left, as when all rows are equally far from each other.

        Raises
        ------
        UndefinedMeasureError
            For fewer than 4 rows.
        """
        xp = namespace(self.k)
        n = self.k.shape[0]
        if n < 4:
            raise UndefinedMeasureError(f"Debiased HSIC needs at least 4 rows, got {n}.")
        off = 1.0 - xp.eye(n, dtype=self.k.dtype, device=device(self.k))
        k = self.k * off
        mean = xp.sum(k, axis=1) / (n - 2)
        total = float(xp.sum(k)) / ((n - 1) * (n - 2))
        u = (k - mean[:, None] - mean[None, :] + total) * off
        return u if norm(u) > ROUNDING * norm(self.k) else xp.zeros_like(u)

    def factor(self, rtol: float = RTOL) -> Factor:
        """Factor above the rank tolerance, without right singular vectors: no map can be had from it.

        Raises
        ------
        UndefinedMeasureError
            When all rows are the same.
        """
        xp = namespace(self.k)
        values, vectors = xp.linalg.eigh(self.k)
        s = xp.flip(xp.clip(values, 0.0, None), axis=0) ** 0.5
        if float(s[0]) == 0.0:
            raise UndefinedMeasureError("All rows are the same: there is nothing to compare.")
        r = numerical_rank(s, rtol)  # squares of what lies below are rounding
        return Factor(xp.flip(vectors, axis=1)[:, :r], s[:r], None, rtol)


@dataclass(frozen=True, eq=False, repr=False)
class Neighbors:
    """The k nearest other rows of every row."""

    index: npt.NDArray[np.int64]
    """Row numbers, shape (n, k), ascending in each row; the row itself is never among them."""

    @classmethod
    def of(cls, rows: Array, k: int = 10) -> Neighbors:
        """Search exactly by cosine similarity: what float64 finds (see ``Search``), n^2 d in float32.

        A row is excluded from its own neighbours by its number, so duplicates stay neighbours.
        Of rows that are equally near (to 1e-14) the first are taken, so that duplicates are
        chosen alike in every space.

        Raises
        ------
        InputError
            For k < 1.
        UndefinedMeasureError
            For k >= n - 1 (all rows are neighbours), a row of zeros (it has no direction), or
            rows that are all equally near.
        """
        search = Search.cosine(rows, k)
        search.refuse_alike()
        return cls(search.neighbors(k))

    def permuted(self, order: Order) -> Neighbors:
        """Neighbours of the rows in another order."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return Neighbors(np.sort(place[self.index[order]], axis=1))

    def adjacency(self) -> npt.NDArray[np.float64]:
        """Matrix of shape (n, n) with 1 where the column is a neighbour of the row."""
        n, _ = self.index.shape
        matrix = np.zeros((n, n))
        np.put_along_axis(matrix, self.index, 1.0, axis=1)
        return matrix


@dataclass(frozen=True, eq=False, repr=False)
class Relation:
    """How every row relates to every other, as one vector of unit length.

    Measures that compare relations are inner products of two such vectors, so that a grid of
    spaces is one matrix product, and a permutation of rows a permutation of entries.
    """

    vector: npt.NDArray[np.float64]
    """Unit length: the upper triangle with its diagonal (off-diagonal entries count twice), or
    all n^2 entries."""
    n: int
    """Number of rows."""
    form: Literal["triangle", "square"]
    """Which entries the vector holds."""
    interval: Literal["pairs", "none"]
    """Whether a bootstrap over rows may reweight entries (i, j) by w_i w_j; ``none`` where the
    diagonal counts, which repeated rows would inflate, or where one row changes the others'."""

    @classmethod
    def symmetric(cls, matrix: Array, *, interval: Literal["pairs", "none"]) -> Relation:
        """Take a symmetric matrix of shape (n, n)."""
        square = to_numpy(matrix)
        n = len(square)
        rows, columns = np.triu_indices(n)
        vector = square[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))
        return cls(_unit(vector), n, "triangle", interval)

    @classmethod
    def directed(cls, matrix: Array) -> Relation:
        """Take any matrix of shape (n, n)."""
        square = to_numpy(matrix)
        return cls(_unit(square.ravel()), len(square), "square", "none")

    @staticmethod
    def entries(order: Order, form: Literal["triangle", "square"]) -> Order:
        """Where each entry of a permuted relation stands in the vector as it was."""
        n = len(order)
        if form == "square":
            return (order[:, None] * n + order[None, :]).ravel()
        rows, columns = np.triu_indices(n)
        a, b = order[rows], order[columns]
        low, high = np.minimum(a, b), np.maximum(a, b)
        place: Order = low * n - low * (low - 1) // 2 + (high - low)
        return place

    def permuted(self, order: Order) -> Relation:
        """Relation of the rows in another order."""
        return replace(self, vector=self.vector[self.entries(order, self.form)])

    def inner(self, other: Relation) -> float:
        """Inner product of the two vectors, in [-1, 1]."""
        if self.n != other.n:
            raise InputError(f"Relations of {self.n} and {other.n} rows cannot be compared.")
        return min(max(float(self.vector @ other.vector), -1.0), 1.0)


def _unit(vector: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    size = norm(vector)
    if size == 0.0:
        raise UndefinedMeasureError("All rows relate alike: there is nothing to compare.")
    return np.asarray(vector / size, dtype=np.float64)
