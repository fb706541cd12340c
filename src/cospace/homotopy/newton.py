"""Newton steps on the weights of rows: what closes the gap when only some rows matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from cospace.homotopy.basis import Floats, blocks
from cospace.homotopy.weighted import Weighted

__all__ = ["Interior", "most_rows"]

_COUPLED = 0.01
"""Rows whose own second derivative is below this share of their barrier are moved each by itself."""
_SHARE = 0.35
"""Most memory of the second derivatives in single precision, in copies of the data."""
_LEAST = 2048
"""Rows that may always be coupled."""
_SINGLE = 1500
"""From so many coupled rows on the direction is computed in single precision; bounds never are."""
_TARGET, _CAREFUL = 0.1, 0.5
"""By how much a step lowers the products of weight and slack: as a rule, and after a short step."""
_TO_BOUNDARY = 0.95
_HALVINGS = 3
"""How often a step that lowers the barrier function is halved."""


def most_rows(n: int, width: int) -> int:
    """Most rows that are coupled in one step; ``width`` counts both sides' coordinates."""
    return max(_LEAST, int((_SHARE * 2 * n * width) ** 0.5))


class Interior:
    """Primal-dual interior point for ``max over the simplex of F(v) = min over B of sum v_i ||r_i||^2``.

    F is concave with slope ``g_i = ||r_i||^2`` and second derivatives ``-M``,
    ``M_ij = 2 (r_i . r_j) (q_i^T A^-1 q_j)``, A the weighted Gram matrix of the basis: a product, entry by
    entry, of two Gram matrices. At the optimum ``g_i <= lambda``, with equality where v_i > 0. M is
    formed for the rows that matter, and its diagonal for the rest.
    """

    def __init__(self, slack: Floats) -> None:
        self.slack = slack
        self.sigma = _TARGET

    @classmethod
    def start(cls, v: Floats, errors: Floats) -> tuple[Interior, Floats]:
        """Start near the central path: no product of weight and slack is far below their mean.

        Returns
        -------
        Interior, array
            And the weights, raised where they were too small, to be fitted.
        """
        top = float(errors.max())
        missing = max(top - float(v @ errors), 1e-12 * top)
        slack = np.maximum(top - errors, 0.1 * missing)
        raised: Floats = np.maximum(v, 0.1 * missing / len(v) / slack)
        return cls(slack), raised / raised.sum()

    def coupled(
        self, v: Floats, errors: Floats, leverage: Floats, most: int
    ) -> npt.NDArray[np.intp]:
        """Numbers of the rows whose second derivatives matter to others; the foremost, if many do."""
        matter = 2.0 * v * errors * leverage / self.slack
        rows = np.flatnonzero(matter > _COUPLED)
        if len(rows) > most:
            rows = np.sort(rows[np.argpartition(matter[rows], -most)[-most:]])
        return rows

    def step(
        self,
        state: Weighted,
        v: Floats,
        leverage: Floats,
        rows: npt.NDArray[np.intp],
        *,
        single: bool,
    ) -> Floats:
        """Move the weights once, refit, and return the new weights.

        Parameters
        ----------
        state
            The fit at ``v``.
        v
            Weights, positive, sum 1.
        leverage
            Of every row, at v.
        rows
            Rows that are coupled.
        single
            Whether the direction may be computed in single precision.

        Raises
        ------
        numpy.linalg.LinAlgError
            When rounding has made the second derivatives indefinite.
        """
        z, errors = self.slack, state.errors
        mu = self.sigma * float(v @ z) / len(v)
        pull = errors + mu / v
        own = 2.0 * errors * leverage + z / v
        first, second = pull / own, 1.0 / own
        if len(rows):
            scale = np.sqrt(v[rows] / z[rows])
            factor = _curvature(*state.part(rows), scale, single=single)
            right = np.stack([scale * pull[rows], scale]).T.astype(factor[0].dtype)
            solved = scipy.linalg.cho_solve(factor, right, check_finite=False)
            first[rows], second[rows] = (scale[:, None] * solved.astype(float)).T
        move = first - first.sum() / second.sum() * second
        lift = mu / v - z - z / v * move
        height = float(v @ errors) + mu * float(np.log(v).sum())
        stride = _stride(v, move)
        for halving in range(_HALVINGS + 1):
            moved: Floats = v + stride * move
            moved /= moved.sum()
            state.fit(moved)
            if float(moved @ state.errors) + mu * float(np.log(moved).sum()) >= height:
                break
            if halving < _HALVINGS:
                stride /= 2.0
        self.slack = z + min(stride, _stride(z, lift)) * lift
        self.sigma = _TARGET if stride > 0.5 else _CAREFUL
        return moved


def _curvature(
    white: Floats, rest: Floats, scale: Floats, *, single: bool
) -> tuple[npt.NDArray[np.floating[Any]], bool]:
    """Cholesky factor of 1 + scale_i scale_j 2 (r_i . r_j) (q_i^T A^-1 q_j)."""
    kind = np.float32 if single and len(scale) > _SINGLE else np.float64
    left: npt.NDArray[Any] = (white * scale).astype(kind)
    right: npt.NDArray[Any] = rest.astype(kind)
    matrix = left.T @ left
    for block in blocks(len(scale)):
        matrix[block] *= 2.0 * (right[block] @ right.T)
    matrix[np.diag_indices_from(matrix)] += 1.0
    # Symmetric, so that its transpose is the same matrix in the order that LAPACK overwrites.
    return scipy.linalg.cho_factor(  # type: ignore[no-any-return]
        matrix.T, lower=True, overwrite_a=True, check_finite=False
    )


def _stride(value: Floats, move: Floats) -> float:
    """Longest step, at most 1, that keeps ``value`` positive."""
    steepest = float((-move / value).max())
    return min(1.0, _TO_BOUNDARY / steepest) if steepest > 0.0 else 1.0
