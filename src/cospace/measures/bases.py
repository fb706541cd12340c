"""Canonical correlations of a pair of full rank, by QR: no decomposition of the tall tables."""

from __future__ import annotations

from dataclasses import dataclass

from cospace._arrays import Array, namespace
from cospace.linalg import centred, numerical_rank, singular_values, thin_svd

__all__ = ["Bases"]


@dataclass(frozen=True, eq=False)
class Bases:
    """Orthonormal bases of the columns of both sides, as far as a pair needs them.

    Canonical correlations depend on the columns' span alone, so that any basis will do, and a QR
    factor costs half of the singular vectors.
    """

    core: Array
    """Inner products of the bases, Q_x^T Q_y, shape (d_x, d_y)."""
    source: Array
    """Centred source in its basis, R_x, shape (d_x, d_x)."""

    @classmethod
    def of(cls, x: Array, y: Array) -> Bases | None:
        """Bases of checked rows; None for rank-deficient sides, or too few rows to tell anything."""
        if x.shape[1] + y.shape[1] > x.shape[0] - 1:
            return None
        parts = []
        for rows in (x, y):
            q, r = namespace(rows).linalg.qr(centred(rows))
            if numerical_rank(singular_values(r)) < r.shape[0]:
                return None
            parts.append((q, r))
        (q, r), (other, _) = parts
        return cls(q.T @ other, r)

    def mean(self, power: int) -> float:
        """Mean of the correlations to a power."""
        xp = namespace(self.core)
        return float(xp.mean(xp.clip(singular_values(self.core), 0.0, 1.0) ** power))

    def weighted(self) -> float:
        """Mean of the correlations, each weighted by what its variate carries of the source."""
        xp = namespace(self.core)
        left, rho, _ = thin_svd(self.core)
        weight = xp.sum(xp.abs(left.T @ self.source), axis=1)
        return float(xp.sum(weight * xp.clip(rho, 0.0, 1.0)) / xp.sum(weight))
