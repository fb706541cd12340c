"""Search a norm-capped family of classifiers for the one that a source imitates worst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cospace._numbers import check_seed, check_whole
from cospace.errors import InputError
from cospace.probes.axes import Axes
from cospace.probes.classifier import Classifier, Matrix, operator_norm, softmax
from cospace.probes.divergence import attainable
from cospace.probes.imitation import Effort, Imitation, Source, imitate

__all__ = ["Candidate", "Hunt", "Search", "TraceStep"]

_SHARP = 512.0
_FIRST_STEP = 0.5
_LAST_STEP = 1e-3
_NEAR = 1e-4
_LONGER, _SHORTER = 1.5, 0.4


@dataclass(frozen=True)
class Search:
    """How long to look, and where.

    Raises
    ------
    InputError
        For counts that are negative or no whole numbers, fewer than two classes, or no seed.
    """

    random: int = 16
    """Random directions."""
    ascents: int = 3
    """From how many of the best a gradient ascent starts."""
    steps: int = 25
    """Most steps of each ascent."""
    classes: int | None = None
    """Classes of random directions; by default those of the task probes, or 2."""
    width: int | None = None
    """Principal components of target and source; by default a tenth of the training rows each."""
    rng: int = 0
    """Seed of the random directions."""

    def __post_init__(self) -> None:
        check_whole(random=self.random, ascents=self.ascents, steps=self.steps)
        check_whole(classes=self.classes, width=self.width, or_none=True)
        check_seed(self.rng)
        if min(self.random, self.ascents, self.steps) < 0:
            raise InputError(
                f"A search of {self.random} random directions, {self.ascents} ascents and {self.steps} steps was asked "
                "for; none of them can be negative."
            )
        if self.classes is not None and self.classes < 2:
            raise InputError(
                f"{self.classes} classes were asked for; a classifier tells at least 2 apart."
            )


@dataclass(frozen=True)
class TraceStep:
    """One classifier of the family that was tried."""

    origin: str
    """Where it comes from: a task's name, ``random i``, ``residual of ID``, and ``ascent from ...``."""
    step: int
    """Number of the ascent's step; 0 for a start."""
    value: float
    """Distance of its best imitation found at that time."""
    best: float
    """Largest value so far."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A member of the family in the target's coordinates, with its imitation."""

    origin: str
    """Where it comes from."""
    classes: tuple[str, ...]
    """Names of its classes."""
    weight: Matrix
    """Shape (C, k), of spectral norm at most the cap."""
    offset: Matrix
    """Shape (C,)."""
    imitation: Imitation
    """Its best imitation so far."""

    @property
    def value(self) -> float:
        """Its distance."""
        return self.imitation.sup


class Hunt:
    """One search: the rows, the cap, and what has been tried.

    Parameters
    ----------
    axes
        Principal axes of the target's training rows; the coordinates are not divided, so that
        norms are those of raw coordinates.
    rows
        Raw training rows of the target.
    source
        The source's training rows, prepared.
    ids
        Their ids.
    cap
        Largest ``||psi'_lin||_2``.
    affine
        Matrix and offset of an affine map from raw source rows to raw target rows.
    """

    def __init__(
        self,
        axes: Axes,
        rows: Matrix,
        source: Source,
        ids: Sequence[str],
        cap: float,
        affine: tuple[Matrix, Matrix] | None,
    ) -> None:
        self.axes, self.source, self.ids, self.cap, self.affine = axes, source, ids, cap, affine
        self.points = axes.coordinates(rows)
        self.trace: list[TraceStep] = []
        self._size = float(np.sqrt(np.mean(np.sum(self.points**2, axis=1))))

    def try_start(
        self, origin: str, weight: Matrix, offset: Matrix, classes: tuple[str, ...]
    ) -> Candidate:
        """Cap a classifier, imitate it and note it."""
        inside = project(weight, self.cap)
        return self._note(self._imitated(origin, classes, inside, offset, None, "quick"), 0)

    def try_random(
        self, count: int, classes: tuple[str, ...], rng: np.random.Generator
    ) -> list[Candidate]:
        """Random directions at the cap: every other one in coordinates of variance 1."""
        found = []
        for i in range(count):
            weight = rng.standard_normal((len(classes), self.axes.width))
            if i % 2:
                weight = weight / self.axes.spread
            weight = weight - weight.mean(axis=0)
            weight *= self.cap / operator_norm(weight)
            found.append(self.try_start(f"random {i}", weight, np.zeros(len(classes)), classes))
        return found

    def try_residuals(self, classes: tuple[str, ...]) -> list[Candidate]:
        """What the least-squares map misses: its largest row, and its leading direction."""
        design = self.source.design
        guess = design @ (design.T @ self.points) / len(design)
        left = self.points - guess
        sizes = np.linalg.norm(left, axis=1)
        row = int(sizes.argmax())
        if sizes[row] <= 1e-9 * self._size:
            return []
        leading = np.linalg.svd(left, full_matrices=False)[2][0]
        found = []
        for origin, way in (
            (f"residual of {self.ids[row]}", left[row] / sizes[row]),
            ("leading residual", leading),
        ):
            weight = np.zeros((len(classes), self.axes.width))
            weight[0], weight[1] = (sign * way * self.cap / np.sqrt(2.0) for sign in (1.0, -1.0))
            middle = weight @ (self.points[row] + guess[row]) / 2.0
            found.append(self.try_start(origin, weight, -middle, classes))
        return found

    def ascend(self, start: Candidate, steps: int) -> Candidate:
        """Projected gradient ascent; a step that does not rise is taken back and shortened.

        At an optimal imitation the value's gradient in the classifier is that of the row errors
        with the imitation held fixed.
        """
        here = self.settle(start)
        origin = f"ascent from {start.origin}"
        ceiling = (1.0 - _NEAR) * attainable(len(start.classes))
        length = _FIRST_STEP
        for step in range(1, steps + 1):
            way, shift = self._uphill(here)
            size = np.sqrt(np.sum(way**2) + np.sum(shift**2))
            if size == 0.0 or length < _LAST_STEP or here.value >= ceiling:
                break
            weight = project(here.weight + length * self.cap * way / size, self.cap)
            offset = here.offset + length * self.cap * self._size * shift / size
            there = self._imitated(origin, here.classes, weight, offset, here.imitation, "warm")
            if there.value > here.value:
                here, length = self._note(there, step), length * _LONGER
            else:
                length *= _SHORTER
        return here

    def settle(self, candidate: Candidate) -> Candidate:
        """Solve the inner problem anew with all its starts, the imitation at hand among them."""
        return self._imitated(
            candidate.origin,
            candidate.classes,
            candidate.weight,
            candidate.offset,
            candidate.imitation,
            "full",
        )

    def classifier(self, candidate: Candidate) -> Classifier:
        """The candidate on raw rows of the target."""
        return self._raw(candidate.weight, candidate.offset, candidate.classes)

    def _raw(self, weight: Matrix, offset: Matrix, classes: tuple[str, ...]) -> Classifier:
        linear = weight @ self.axes.basis.T
        return Classifier(linear, offset - linear @ self.axes.mean, classes)

    def wanted(self, candidate: Candidate) -> Matrix:
        """Its probabilities on the training rows."""
        return softmax(self._logits(candidate.weight, candidate.offset))

    def _logits(self, weight: Matrix, offset: Matrix) -> Matrix:
        return np.asarray(self.points @ weight.T + offset)

    def _imitated(
        self,
        origin: str,
        classes: tuple[str, ...],
        weight: Matrix,
        offset: Matrix,
        start: Imitation | None,
        effort: Effort,
    ) -> Candidate:
        logits = self._logits(weight, offset)
        composed = None
        if self.affine is not None:
            composed = self._raw(weight, offset, classes).after(*self.affine)
        found = imitate(
            self.source,
            softmax(logits),
            classes,
            logits=logits,
            composed=composed,
            start=start,
            effort=effort,
        )
        return Candidate(origin, classes, weight, offset, found)

    def _note(self, candidate: Candidate, step: int) -> Candidate:
        best = max([candidate.value, *(each.best for each in self.trace[-1:])])
        self.trace.append(TraceStep(candidate.origin, step, candidate.value, best))
        return candidate

    def _uphill(self, here: Candidate) -> tuple[Matrix, Matrix]:
        """Gradient of the smooth maximum in weight, and in the offset over the rows' mean length."""
        p = self.wanted(here)
        copied = softmax(self.source.design @ here.imitation.weight.T + here.imitation.offset)
        apart = p - copied
        square = np.sum(apart**2, axis=1)
        top = float(square.max())
        if top == 0.0:
            return np.zeros_like(here.weight), np.zeros_like(here.offset)
        pull = np.exp(_SHARP * (square - top) / top)
        slope = (pull / pull.sum())[:, None] * p
        slope = slope * (apart - np.sum(p * apart, axis=1, keepdims=True))
        return slope.T @ self.points, slope.sum(axis=0) * self._size


def project(weight: Matrix, cap: float) -> Matrix:
    """Nearest weight of spectral norm at most ``cap``, what is common to all classes taken off.

    Examples
    --------
    >>> import numpy as np
    >>> project(np.array([[3.0, 0.0], [-3.0, 0.0]]), 2.0).round(12).tolist()
    [[1.414213562373, 0.0], [-1.414213562373, 0.0]]
    """
    own = weight - weight.mean(axis=0)
    u, s, vt = np.linalg.svd(own, full_matrices=False)
    return own if s[0] <= cap else np.asarray((u * np.minimum(s, cap)) @ vt)
