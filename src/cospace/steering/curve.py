"""What a vector does to a model over its coefficients: scores, side effect, random pushes beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from cospace.errors import ContradictionError
from cospace.result import Result, checked
from cospace.stats.intervals import percentile_interval
from cospace.whole import check_lengths, check_names, check_p

__all__ = ["LEAST", "RANKED", "CurvePoint", "SteeringCurve", "check_points", "mean_interval"]

LEAST = 5
"""Fewest questions or prompts that an interval is drawn from."""
RANKED = 3
"""Fewest coefficients of a rank correlation."""
_DRAWS = 2000
_TIE = 1e-12
_LEAST_PERPLEXITY = 1.0 - 1e-6  # 1, but for rounding


def mean_interval(values: npt.ArrayLike) -> tuple[float, float]:
    """95 % interval of a mean: percentiles over samples of the values, drawn with a fixed seed.

    Examples
    --------
    >>> mean_interval([0.5, 0.5, 0.5])
    (0.5, 0.5)
    """
    held = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(0).integers(len(held), size=(_DRAWS, len(held)))
    found = percentile_interval(held[drawn].mean(axis=1))
    return float(found.low), float(found.high)


@dataclass(frozen=True)
class CurvePoint:
    """What one coefficient does."""

    coefficient: float
    """The coefficient."""
    score: float
    """Two-choice score, see :class:`ChoiceScores`."""
    mass: float | None
    """Probability of the two letters together, None where texts are compared."""
    perplexity: float | None
    """Perplexity of neutral texts, where there are any."""
    by_item: tuple[float, ...] = ()
    """Score of every question, both orders averaged; empty in results of earlier versions."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the score over questions; None for fewer than 5."""
        return mean_interval(self.by_item) if len(self.by_item) >= LEAST else None


@dataclass(frozen=True)
class SteeringCurve(Result):
    """Two-choice score and side effect of a vector over its coefficients."""

    kind: ClassVar[str] = "steering_curve"

    model: str
    """The model."""
    site: str
    """Where the vector was added."""
    method: str
    """How it was made."""
    unit: str
    """What a coefficient of 1 adds: the ``vector``, or as much as the states' mean norm
    (``residual``) or ``spread``."""
    answers: str
    """Whether answers are compared by their ``letters`` or their ``texts``."""
    points: tuple[CurvePoint, ...]
    """One a coefficient, in ascending order."""
    n: int
    """Number of items."""
    seen: int = 0
    """How many of them the vector was made from: with these the scores are in-sample."""
    random: tuple[tuple[float, float], ...] = ()
    """Score at the smallest and at the largest coefficient, of random directions that were added at
    the same norms."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else was asked for."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Command, and what is recorded of the vector, where they are told."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing it."""

    def __post_init__(self) -> None:
        for name in ("settings", "provenance"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def with_provenance(self, **told: Any) -> Self:
        """The same result with more in its ``provenance``."""
        return replace(self, provenance={**self.provenance, **told})

    @property
    def spearman(self) -> float | None:
        """Rank correlation of score and coefficient.

        None for fewer than three coefficients, of which any two scores that differ give 1 or -1,
        and where the score does not move.
        """
        a, b = (
            rankdata([getattr(p, name) for p in self.points]) for name in ("coefficient", "score")
        )
        if len(self.points) < RANKED or np.ptp(b) == 0.0:
            return None
        return float(np.corrcoef(a, b)[0, 1])

    @property
    def random_spans(self) -> tuple[float, ...]:
        """Span of every random direction."""
        return tuple(last - first for first, last in self.random)

    @property
    def p_random(self) -> float | None:
        """Share of random directions whose span is as large, ``(1 + b) / (1 + m)``.

        Any push of this size moves a model somewhere: an interval over questions says nothing of
        how far, this does. With m of them it is at least 1 / (1 + m); None without any, or with
        one coefficient.
        """
        if not self.random or len(self.points) < 2:
            return None
        as_large = sum(span >= self.span - _TIE for span in self.random_spans)
        return (1 + as_large) / (1 + len(self.random))

    @property
    def span(self) -> float:
        """Score at the largest coefficient minus score at the smallest."""
        return self.points[-1].score - self.points[0].score

    @property
    def spans(self) -> npt.NDArray[np.float64]:
        """Span of every question, shape (n,), or (0,) where single scores were not kept."""
        last, first = (np.asarray(self.points[i].by_item, np.float64) for i in (-1, 0))
        return np.asarray(last - first)

    @property
    def span_interval(self) -> tuple[float, float] | None:
        """95 % interval of the span, as if the questions were drawn from many such.

        None for fewer than 5 questions, or where their single scores were not kept.
        """
        return mean_interval(self.spans) if len(self.spans) >= LEAST else None

    def to_dict(self) -> dict[str, Any]:
        """Everything the result holds, with its summaries."""
        return {
            **super().to_dict(),
            "spearman": self.spearman,
            "span": self.span,
            "span_interval": None if self.span_interval is None else list(self.span_interval),
            "p_random": self.p_random,
        }

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a coefficient."""
        return [
            {
                "model": self.model,
                "site": self.site,
                "method": self.method,
                "coefficient": p.coefficient,
                "score": p.score,
                "mass": p.mass,
                "perplexity": p.perplexity,
                "n": self.n,
                "seen": self.seen,
            }
            for p in self.points
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from ``to_dict``."""
        left_out = ("kind", "schema", "spearman", "span", "span_interval", "p_random")
        values = {key: value for key, value in data.items() if key not in left_out}
        values["points"] = tuple(checked(CurvePoint, point) for point in values["points"])
        values["random"] = tuple(map(tuple, values.get("random", ())))
        found: Self = checked(cls, values)
        _check(found)
        return found


def check_points(points: Sequence[Any], unit: str, n: int) -> None:
    """Refuse saved points that do not ascend, a number that there cannot be, or an unknown unit.

    Raises
    ------
    ContradictionError
        For this.
    """
    if not points:
        raise ContradictionError("points: there is none")
    if n < 1:
        raise ContradictionError(f"n is {n}; at least 1 is expected")
    check_names([unit], ("vector", "residual", "spread"), "unit")
    coefficients = [p.coefficient for p in points]
    if not np.isfinite(coefficients).all() or not (np.diff(coefficients) > 0.0).all():
        told = ", ".join(f"{c:g}" for c in coefficients)
        raise ContradictionError(f"points: the coefficients {told} do not ascend")
    for p in points:
        if p.perplexity is not None and not p.perplexity >= _LEAST_PERPLEXITY:
            raise ContradictionError(
                f"{p.coefficient:g}: perplexity is {p.perplexity:g}; it is never below 1"
            )


def _check(curve: SteeringCurve) -> None:
    check_points(curve.points, curve.unit, curve.n)
    check_names([curve.answers], ("letters", "texts"), "answers")
    if not 0 <= curve.seen <= curve.n:
        raise ContradictionError(f"seen is {curve.seen} of {curve.n} questions")
    single = curve.points[0].by_item
    if single and len(single) != curve.n:
        raise ContradictionError(f"by_item has {len(single)} entries for {curve.n} questions")
    for p in curve.points:
        where = f"{p.coefficient:g}"
        check_p(where, score=p.score, mass=p.mass)
        check_lengths(where, single, by_item=p.by_item)
        for one in p.by_item:
            check_p(where, by_item=one)
    for pair in curve.random:
        for one in pair:
            check_p("random", score=one)
