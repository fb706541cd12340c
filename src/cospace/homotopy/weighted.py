"""Weighted least squares on a basis: the state that every step of a min-max fit moves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from cospace.homotopy.basis import Basis, Floats, blocks

__all__ = ["Weighted"]


class Weighted:
    """The residuals of a fit, scaled to a largest row of 1 under least squares, and the best so far.

    Parameters
    ----------
    target
        Shape (n, d).
    basis
        Of the source, n rows.
    floor
        Weight, of 1, that is spread evenly over all rows. Summed over rows it is a ridge towards
        least squares, because the basis is orthonormal; every weighted fit is well conditioned.
    """

    def __init__(self, target: Floats, basis: Basis, floor: float) -> None:
        self.q = basis.q
        self.n, self.width = self.q.shape
        self.d = target.shape[1]
        self.floor = floor
        self.least_squares = self.q.T @ target
        self.rest = target - self.q @ self.least_squares
        more = self.q.T @ self.rest  # once more, against rounding
        self.least_squares += more
        for block in blocks(self.n):
            self.rest[block] -= self.q[block] @ more
        self.errors = np.einsum("ij,ij->i", self.rest, self.rest)
        self.size = float(self.errors.max()) ** 0.5
        if self.size > 0.0:
            self.rest /= self.size
            self.errors /= self.size**2
        self.moved = np.zeros_like(self.least_squares)
        self.best = self.moved
        self.factor: Floats = np.eye(self.width)
        self.slope = np.zeros_like(self.moved)
        self.proof = np.full(self.n, 1.0 / self.n)
        self.lower, self.upper = float(self.errors.mean()) ** 0.5, 1.0
        self.steps, self.newton = 1, 0

    @property
    def gap(self) -> float:
        """Relative gap of the best bounds."""
        return float(self.upper / self.lower - 1.0)

    @property
    def solution(self) -> Floats:
        """Coefficients of the best fit, in the units of the target."""
        found: Floats = self.least_squares + self.size * self.best
        return found

    def weigh(self, v: Floats) -> None:
        """Factor the weighted Gram matrix, and take the lower bound that the weights prove."""
        weights = (1.0 - self.floor) * v + self.floor / self.n
        root = np.sqrt((1.0 - self.floor) * v)[:, None]
        gram = np.zeros((self.width, self.width))
        slope = (-self.floor / self.n) * self.moved
        for block in blocks(self.n):
            scaled = root[block] * self.q[block]
            gram += scaled.T @ scaled
            slope += scaled.T @ (root[block] * self.rest[block])
        gram[np.diag_indices_from(gram)] += self.floor / self.n
        self.factor, self.slope = np.asarray(np.linalg.cholesky(gram)), slope
        excess = self.whitened(slope)
        square = float(weights @ self.errors) - float(np.vdot(excess, excess))
        if square > self.lower**2:
            self.lower, self.proof = square**0.5, weights

    def move(self, step: Floats) -> None:
        """Add ``step`` to the coefficients, and take the upper bound that they prove."""
        self.moved = self.moved + step
        self.errors = np.empty(self.n)
        for block in blocks(self.n):
            part = self.rest[block]
            part -= self.q[block] @ step
            self.errors[block] = np.einsum("ij,ij->i", part, part)
        self.steps += 1
        top = float(self.errors.max()) ** 0.5
        if top < self.upper:
            self.upper, self.best = top, self.moved

    def fit(self, v: Floats) -> None:
        """Move to the weighted least-squares fit."""
        self.weigh(v)
        self.move(scipy.linalg.cho_solve((self.factor, True), self.slope, check_finite=False))

    def whitened(self, columns: Floats) -> Floats:
        """Columns times the inverse factor of the weighted Gram matrix."""
        return scipy.linalg.solve_triangular(  # type: ignore[no-any-return]
            self.factor, columns, lower=True, check_finite=False
        )

    def leverage(self) -> Floats:
        """``q_i^T A^-1 q_i`` of every row, A the weighted Gram matrix."""
        found = np.empty(self.n)
        for block in blocks(self.n):
            white = self.whitened(self.q[block].T)
            found[block] = np.einsum("ij,ij->j", white, white)
        return found

    def part(self, rows: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Of some rows the whitened basis, as columns, and the residuals."""
        return self.whitened(self.q[rows].T), self.rest[rows]
