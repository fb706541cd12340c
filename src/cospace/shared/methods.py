"""Ways to make rows of one model comparable with those of another, all on the same blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal, Protocol

import numpy as np

from cospace.shared.blocks import Blocks
from cospace.shared.canonical import canonical_variates
from cospace.shared.procrustes import Consensus, generalized_procrustes, polar
from cospace.shared.retrieval import unit_rows
from cospace.shared.scaling import Floats

__all__ = ["COARSE", "METHODS", "Alignment", "Method", "Pairwise", "Relative", "Shared", "Training"]

COARSE = 1e-3
"""Stationarity residual at which Procrustes maps retrieve as they do at the end."""


@dataclass(frozen=True, eq=False)
class Training:
    """What a method is fitted on."""

    blocks: Blocks
    """Blocks of all models."""
    rows: Sequence[Floats]
    """Encoded rows of every model, shape (n, k_m); row i is the same text."""
    rng: int = 0
    """Seed of what is drawn."""
    tol: float = COARSE
    """Stationarity residual at which Procrustes maps are taken."""

    @cached_property
    def consensus(self) -> Consensus:
        """Procrustes maps, found once however many methods begin with them."""
        return generalized_procrustes(self.blocks, tol=self.tol)


class Alignment(Protocol):
    """A fitted method: coordinates in which a query and its answer are compared by cosine."""

    def query(self, source: int, target: int, rows: Floats) -> Floats:
        """Coordinates of encoded rows of the source, searched among those of the target."""
        ...

    def answer(self, source: int, target: int, rows: Floats) -> Floats:
        """Coordinates of encoded rows of the target, searched by those of the source."""
        ...


@dataclass(frozen=True, eq=False)
class Shared:
    """One map per model into one space, whatever the other side."""

    maps: Sequence[Floats]
    """Map of every model."""
    shift: Floats
    """Translation of every model."""

    def query(self, source: int, target: int, rows: Floats) -> Floats:
        """Coordinates of a query, see :class:`Alignment`."""
        return np.asarray(rows @ self.maps[source] + self.shift[source])

    def answer(self, source: int, target: int, rows: Floats) -> Floats:
        """Coordinates of an answer, see :class:`Alignment`."""
        return np.asarray(rows @ self.maps[target] + self.shift[target])


@dataclass(frozen=True, eq=False)
class Pairwise:
    """One map for every ordered pair, into the target's own coordinates."""

    maps: Mapping[tuple[int, int], Floats]
    """Map of every ordered pair."""

    def query(self, source: int, target: int, rows: Floats) -> Floats:
        """Coordinates of a query, see :class:`Alignment`."""
        return np.asarray(rows @ self.maps[source, target])

    def answer(self, source: int, target: int, rows: Floats) -> Floats:
        """Coordinates of an answer, see :class:`Alignment`."""
        return rows


@dataclass(frozen=True, eq=False)
class Relative:
    """Cosines to the same anchors, in either model (Moschella et al. 2023)."""

    anchors: Sequence[Floats]
    """Anchors of every model, of length 1."""

    def query(self, source: int, target: int, rows: Floats) -> Floats:
        """Coordinates of a query, see :class:`Alignment`."""
        return np.asarray(unit_rows(rows) @ self.anchors[source].T)

    def answer(self, source: int, target: int, rows: Floats) -> Floats:
        """Coordinates of an answer, see :class:`Alignment`."""
        return np.asarray(unit_rows(rows) @ self.anchors[target].T)


@dataclass(frozen=True)
class Method:
    """One way to align, and what of it is chosen."""

    name: str
    """Its name."""
    kind: Literal["shared", "pairwise", "floor"]
    """One map a model; one map a pair, or none fitted; or a floor."""
    about: str
    """What it does, in a few words."""
    fit: Callable[[Training, float], Alignment]
    """Fit with a ridge."""
    ridges: tuple[float, ...] = (0.0,)
    """Penalties that are tried, relative to the mean variance of encoded coordinates."""
    by_pair: bool = False
    """Whether every pair takes its own penalty."""


def _gpa(training: Training, ridge: float) -> Alignment:
    found = training.consensus
    return Shared(found.maps, found.shift)


def _gcca(training: Training, ridge: float) -> Alignment:
    found = canonical_variates(training.blocks, width=max(training.blocks.widths), ridge=ridge)
    return Shared(found.maps, found.shift)


def _gcpa(training: Training, ridge: float) -> Alignment:
    blocks, found = training.blocks, training.consensus
    stacked = np.concatenate(found.maps)
    inside = -(stacked.T @ blocks.whole @ stacked)
    for one, gram in zip(found.maps, blocks.own, strict=True):
        inside += one.T @ gram @ one
    values, axes = np.linalg.eigh((inside + inside.T) / 2.0)
    values = np.maximum(values, 0.0) + ridge * np.mean(np.maximum(values, 0.0)) + 1e-12
    correction = (axes / np.sqrt(values)) @ axes.T
    return Shared([one @ correction for one in found.maps], found.shift @ correction)


def _each_pair(training: Training, make: Callable[[Floats, Floats], Floats]) -> Pairwise:
    blocks, many = training.blocks, len(training.blocks.own)
    return Pairwise(
        {
            (a, b): make(blocks.own[a], many * blocks.cross(a, b))
            for a in range(many)
            for b in range(many)
            if a != b
        }
    )


def _ridge(training: Training, ridge: float) -> Alignment:
    def solve(own: Floats, cross: Floats) -> Floats:
        values, axes = np.linalg.eigh(own)
        values = values + ridge * np.mean(values)
        kept = values > 1e-12 * values[-1]
        return np.asarray((axes[:, kept] / values[kept]) @ (axes[:, kept].T @ cross))

    return _each_pair(training, solve)


def _procrustes(training: Training, ridge: float) -> Alignment:
    return _each_pair(training, lambda own, cross: polar(cross))


def _relative(training: Training, ridge: float) -> Alignment:
    return Relative([unit_rows(z) for z in training.rows])


def _raw(training: Training, ridge: float) -> Alignment:
    width = max(training.blocks.widths)
    maps = [np.eye(k, width) for k in training.blocks.widths]
    return Shared(maps, np.zeros((len(maps), width)))


def _random(training: Training, ridge: float) -> Alignment:
    width, rng = max(training.blocks.widths), np.random.default_rng(training.rng)
    maps = [polar(rng.normal(size=(k, width))) for k in training.blocks.widths]
    return Shared(maps, np.zeros((len(maps), width)))


_SHARED_RIDGES = (0.03, 0.1, 0.3, 1.0)
_PAIR_RIDGES = (0.003, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        one.name: one
        for one in (
            Method("gpa", "shared", "generalized Procrustes: rotations to their own mean", _gpa),
            Method(
                "gcca", "shared", "regularised MAXVAR canonical variates", _gcca, _SHARED_RIDGES
            ),
            Method(
                "gcpa",
                "shared",
                "generalized Procrustes, then one correction for all models: the root of the inverse of "
                "the dispersion about the consensus",
                _gcpa,
                (0.03, 0.3, 3.0),
            ),
            Method("least_squares", "pairwise", "least squares for every pair", _ridge),
            Method(
                "ridge",
                "pairwise",
                "ridge for every pair, with a penalty of its own",
                _ridge,
                _PAIR_RIDGES,
                by_pair=True,
            ),
            Method("procrustes", "pairwise", "a rotation for every pair", _procrustes),
            Method("relative", "pairwise", "cosines to the rows of the fit as anchors", _relative),
            Method("raw", "floor", "principal coordinates as they are", _raw),
            Method("random", "floor", "random rotations", _random),
        )
    }
)
"""Every method, by name."""
