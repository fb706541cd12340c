"""Generalized Procrustes analysis on cross-covariance blocks: no rows, no fixed reference."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg

from cospace.errors import InputError
from cospace.linalg import thin_svd
from cospace.shared.blocks import Blocks
from cospace.shared.scaling import Floats

__all__ = ["Consensus", "generalized_procrustes", "polar"]

_MEMORY = 8
"""Sweeps that an extrapolation looks back on."""

_PATIENCE = 20
"""Sweeps without gain and without a lower residual after which rounding is all there is."""


@dataclass(frozen=True, eq=False)
class Consensus:
    """Maps of all models into one space, and how far the search for them went."""

    maps: tuple[Floats, ...]
    """Map of every model, scale included, from its encoded coordinates (k_a, k)."""
    scales: tuple[float, ...]
    """Isotropic scale of every model; 1 where none was asked for."""
    shift: Floats
    """Translation of every model in the shared space, shape (M, k); 0 where no text is missing."""
    objective: tuple[float, ...]
    """Share of the rows' variance about the consensus after every sweep; it never rises."""
    residual: float
    """Norm of the part of the gradient along the maps, over that of the gradient: 0 is stationary."""
    stopped: Literal["stationary", "sweeps", "rounding"]
    """Why the search ended: the residual met the tolerance, the sweeps were used up, or rounding
    left nothing to gain."""

    @property
    def loss(self) -> float:
        """Share of the rows' variance about the consensus, in [0, 1]."""
        return self.objective[-1]

    @property
    def sweeps(self) -> int:
        """Sweeps made."""
        return len(self.objective) - 1


def polar(matrix: Floats) -> Floats:
    """Nearest matrix with orthonormal rows (or columns), by singular values.

    Examples
    --------
    >>> polar(np.array([[0.0, 3.0], [-2.0, 0.0]])).round(9).tolist()
    [[0.0, 1.0], [-1.0, 0.0]]
    """
    u, _, v = thin_svd(matrix)
    return np.asarray(u @ v.T)


def generalized_procrustes(
    blocks: Blocks, *, scales: bool = False, tol: float = 1e-7, sweeps: int = 500
) -> Consensus:
    """Rotate all models towards their own mean: ``min sum_m ||Z_m R_m + t_m - C||^2 / sum_m ||Z_m||^2``.

    ``R_m R_m^T = 1`` (reflections allowed), C the mean of what the models make of each text, over
    the models that have it. With ``scales`` every map is ``s_m R_m`` under
    ``sum s_m^2 ||Z_m||^2 = sum ||Z_m||^2``, and s the leading eigenvector of the matrix of agreements
    (Ten Berge 1977). Started spectrally, from the rotations of all pairs; every sweep updates all
    maps from the same consensus, so that the order of models does not matter; extrapolated from the
    last sweeps (Anderson 1965) wherever that lowers the objective.

    Parameters
    ----------
    blocks
        Blocks of the models.
    scales
        Whether every model gets an isotropic scale.
    tol
        Stationarity residual to stop at.
    sweeps
        Most sweeps.

    Returns
    -------
    Consensus
        Its axes are the principal axes of the consensus, widest first, with the largest entry of
        all maps along each above 0. Cost of a sweep: K^2 k + M k^3, whatever the number of rows.

    Raises
    ------
    InputError
        For a tolerance that is not above 0, or less than 1 sweep.

    References
    ----------
    Gower 1975; Ten Berge 1977.
    """
    if not tol > 0.0:
        raise InputError(f"tol is {tol}; a number above 0 is expected.")
    if sweeps < 1:
        raise InputError(f"sweeps is {sweeps}; at least 1 is needed.")
    search = _Search(blocks, scales=scales)
    now = search.evaluate(search.start())
    before: Floats | None = None
    history = [search.loss(now.agreed)]
    states: deque[Floats] = deque(maxlen=_MEMORY)
    changes: deque[Floats] = deque(maxlen=_MEMORY)
    residual = search.residual(now)
    lowest, best = residual, 0
    stopped: Literal["stationary", "sweeps", "rounding"] = "sweeps"
    while True:
        if residual <= tol:
            stopped = "stationary"
            break
        if len(history) > sweeps:
            break
        if before is not None:
            states.append(now.products)
            changes.append(now.products - before)
        after = now.products
        if len(states) > 1:
            after = _extrapolated(states, changes)
        found = search.evaluate(after)
        if len(states) > 1 and found.agreed < now.agreed - search.noise:
            # The plain sweep never lowers the agreement.
            states.clear()
            changes.clear()
            after = now.products
            found = search.evaluate(after)
        if found.agreed <= now.agreed + search.noise and len(history) - best > _PATIENCE:
            stopped = "rounding"
            break
        before, now = after, found
        history.append(min(search.loss(now.agreed), history[-1]))
        residual = search.residual(now)
        if residual < lowest:
            lowest, best = residual, len(history)
    return search.finished(now, history, residual, stopped)


def _extrapolated(states: Sequence[Floats], changes: Sequence[Floats]) -> Floats:
    """Combination of the last states whose changes cancel best (weights that sum to 1)."""
    last = changes[-1]
    apart = [last - one for one in list(changes)[:-1]]
    gram = np.array([[np.vdot(a, b) for a in apart] for b in apart])
    gram[np.diag_indices_from(gram)] *= 1.0 + 1e-12
    weights = np.linalg.lstsq(gram, np.array([np.vdot(a, last) for a in apart]), rcond=1e-14)[0]
    found = states[-1] * (1.0 - weights.sum())
    for weight, state in zip(weights, list(states)[:-1], strict=True):
        found += weight * state
    return np.asarray(found)


class _Point(NamedTuple):
    """Maps, and what the quadratic form says of them."""

    maps: Floats
    """Stacked maps, without scales, (K, k)."""
    products: Floats
    """Derivative of the form at them, times 1/2: what the next sweep takes the polar factors of."""
    scales: Floats
    """Best scales."""
    agreed: float
    """Value of the form."""


class _Search:
    """The quadratic form ``sum_ab s_a s_b tr(R_a^T C_ab R_b)`` over stacked maps."""

    def __init__(self, blocks: Blocks, *, scales: bool) -> None:
        self.blocks, self.scales = blocks, scales
        # The same numbers in the same order, whatever the order of models: rounding included.
        squares = [float(np.sum(blocks.own[m] ** 2)) for m in range(len(blocks.own))]
        self.order = sorted(range(len(squares)), key=squares.__getitem__)
        parts = blocks.parts
        at = np.concatenate([np.arange(parts[m].start, parts[m].stop) for m in self.order])
        self.whole = np.ascontiguousarray(blocks.whole[np.ix_(at, at)])
        widths = [blocks.widths[m] for m in self.order]
        ends = np.cumsum(widths)
        self.parts = [slice(int(e) - k, int(e)) for e, k in zip(ends, widths, strict=True)]
        self.at = at
        self.width = max(widths)
        self.size = np.array([float(np.trace(blocks.own[m])) for m in self.order])
        self.noise = 1e-14 * float(self.size.sum())

    def start(self) -> Floats:
        """Leading eigenvectors of the matrix of all rotations of one model onto another alone.

        Eigenvectors of the blocks themselves weigh directions by their variance, and leave the
        many narrow ones to chance: searches from there end at worse maps, after more sweeps.
        """
        turns = np.eye(len(self.whole))
        for a, p in enumerate(self.parts):
            for q in self.parts[:a]:
                block = self.whole[p, q]
                if np.linalg.norm(block) > self.noise:
                    turns[p, q] = polar(block)
                    turns[q, p] = turns[p, q].T
        last = len(turns) - 1
        _, vectors = scipy.linalg.eigh(
            turns, subset_by_index=(last - self.width + 1, last), driver="evr"
        )
        return np.ascontiguousarray(vectors)

    def evaluate(self, stacked: Floats) -> _Point:
        """Take the polar factors of stacked matrices as maps, and look at the form there."""
        maps = np.concatenate([polar(stacked[part]) for part in self.parts])
        if not self.scales:
            products = self.whole @ maps
            return _Point(maps, products, np.ones(len(self.parts)), float(np.vdot(maps, products)))
        each = [self.whole[:, part] @ maps[part] for part in self.parts]
        table = np.array(
            [[float(np.sum(maps[p] * column[p])) for column in each] for p in self.parts]
        )
        root = np.sqrt(self.size)
        values, vectors = np.linalg.eigh((table + table.T) / 2.0 / np.outer(root, root))
        factor = vectors[:, -1] * np.sqrt(self.size.sum()) / root
        factor *= np.where(factor.sum() < 0.0, -1.0, 1.0)
        # A model that would be turned by a scale below 0 is turned by its map.
        for part, one in zip(self.parts, factor, strict=True):
            maps[part] *= np.where(one < 0.0, -1.0, 1.0)
        signed = [f * column for f, column in zip(factor, each, strict=True)]
        factor = np.abs(factor)
        products = np.sum(signed, axis=0)
        for part, one in zip(self.parts, factor, strict=True):
            products[part] *= one
        return _Point(maps, products, factor, float(values[-1] * self.size.sum()))

    def loss(self, agreed: float) -> float:
        return max(1.0 - agreed / float(self.size.sum()), 0.0)

    def residual(self, at: _Point) -> float:
        """Norm of the gradient along the matrices with orthonormal rows, over its whole norm."""
        along = 0.0
        for part in self.parts:
            inner = at.products[part] @ at.maps[part].T
            off = at.products[part] - (inner + inner.T) / 2.0 @ at.maps[part]
            along += float(np.vdot(off, off))
        return float(np.sqrt(along / np.vdot(at.products, at.products)))

    def finished(
        self,
        at: _Point,
        history: list[float],
        residual: float,
        stopped: Literal["stationary", "sweeps", "rounding"],
    ) -> Consensus:
        scaled, factor = at.maps.copy(), at.scales
        for part, one in zip(self.parts, factor, strict=True):
            scaled[part] *= one
        _, axes = np.linalg.eigh(scaled.T @ (self.whole @ scaled))
        scaled = scaled @ axes[:, ::-1]
        peak = scaled[np.abs(scaled).argmax(axis=0), np.arange(scaled.shape[1])]
        scaled *= np.where(peak < 0.0, -1.0, 1.0)
        stacked = np.empty_like(scaled)
        stacked[self.at] = scaled
        scales = np.empty(len(factor))
        scales[self.order] = factor
        return Consensus(
            tuple(stacked[part] for part in self.blocks.parts),
            tuple(map(float, scales)),
            self.blocks.shift @ stacked,
            tuple(history),
            residual,
            stopped,
        )
