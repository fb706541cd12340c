"""What rules of choosing a model are worth: accuracy, and the difference from the strongest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from cospace.errors import InputError
from cospace.routing.folds import Places
from cospace.routing.pool import Floats
from cospace.stats.intervals import percentile_interval

__all__ = ["Paired", "PolicyScore", "argmax", "mcnemar", "of_choice", "paired", "score"]


@dataclass(frozen=True)
class Paired:
    """One rule less another, item by item."""

    difference: float
    """Accuracy of the one less that of the other."""
    low: float
    """Lower end of its 95 % interval over items."""
    high: float
    """Upper end."""
    gained: int
    """Items that the one alone has right."""
    lost: int
    """Items that the other alone has right."""
    p: float
    """Exact two-sided McNemar p."""


@dataclass(frozen=True)
class PolicyScore:
    """A rule of choosing, on items that it was not made from."""

    policy: str
    """``strongest``, ``lookup``, ``random``, ``oracle``, ``only MODEL``, or ``router``."""
    features: str | None
    """Feature set of a router."""
    accuracy: float
    """Share of the items that the chosen model has right; expected share of a random choice."""
    low: float
    """Lower end of its 95 % interval over items."""
    high: float
    """Upper end."""
    difference: float
    """Accuracy less that of always the strongest, item by item."""
    difference_low: float
    """Lower end of its 95 % interval, of the same samples of items."""
    difference_high: float
    """Upper end."""
    gained: int | None
    """Items that it has right and the strongest wrong; None where the choice is drawn."""
    lost: int | None
    """Items that the strongest has right and it wrong."""
    p: float | None
    """Exact two-sided McNemar p of the two; None where the choice is drawn, and of the oracle,
    which cannot lose."""
    p_adjusted: float | None
    """The same, corrected by Holm over the routers; None of other rules."""
    share_of_headroom: float | None
    """Difference over that of the oracle; None without headroom."""
    needs_answers: bool
    """Whether every model has to be run before it chooses."""


def argmax(probability: Floats, strongest: Places) -> Places:
    """Likeliest model of every item; the strongest wins a tie.

    Examples
    --------
    >>> argmax(np.array([[0.2, 0.9], [0.5, 0.5]]), np.array([0, 1])).tolist()
    [1, 1]
    """
    rows = np.arange(len(strongest))
    top = probability.max(axis=1)
    level = probability[rows, strongest] >= top - 1e-12
    return np.where(level, strongest, probability.argmax(axis=1))


def of_choice(correct: npt.NDArray[np.bool_], choice: Places) -> Floats:
    """Whether the chosen model is right, shape (n,), as numbers."""
    return correct[np.arange(len(choice)), choice].astype(np.float64)


def mcnemar(gained: int, lost: int) -> float:
    """Exact two-sided McNemar p of two rules: whether the items that only one has right divide evenly.

    ``min(1, 2 P(X <= min(gained, lost)))`` with X binomial over ``gained + lost`` at 1/2; 1 where
    the two never differ.

    Parameters
    ----------
    gained, lost
        Items that only the one, and only the other, has right.

    Raises
    ------
    InputError
        For a number below 0.

    References
    ----------
    McNemar 1947.

    Examples
    --------
    Of six items that differ one is lost: 2 (1 + 6) / 64.

    >>> round(mcnemar(5, 1), 12)
    0.21875
    """
    if gained < 0 or lost < 0:
        raise InputError(f"{gained} gained and {lost} lost items: numbers from 0 are expected.")
    total = gained + lost
    return min(1.0, 2.0 * float(binom.cdf(min(gained, lost), total, 0.5))) if total else 1.0


def paired(right: Floats, other: Floats, counts: npt.NDArray[np.int64]) -> Paired:
    """One rule less another, both without chance in their choices.

    Parameters
    ----------
    right, other
        Whether each has each item right, shape (n,).
    counts
        Bootstrap counts of the items, shape (draws, n).

    Examples
    --------
    >>> found = paired(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]), np.ones((40, 3), int))
    >>> round(found.difference, 3), found.gained, found.lost, found.p
    (0.333, 1, 0, 1.0)
    """
    low, high = percentile_interval(counts @ (right - other) / counts.sum(axis=1))
    gained, lost = int(np.sum(right > other)), int(np.sum(right < other))
    return Paired(
        float(np.mean(right - other)), float(low), float(high), gained, lost, mcnemar(gained, lost)
    )


def score(
    right: Floats,
    strongest: Floats,
    counts: npt.NDArray[np.int64],
    *,
    policy: str,
    headroom: float,
    features: str | None = None,
    needs_answers: bool = False,
) -> PolicyScore:
    """Score a rule beside always the strongest.

    Parameters
    ----------
    right
        Whether the rule has each item right, shape (n,); expected, where it draws.
    strongest
        The same of always the strongest.
    counts
        Bootstrap counts of the items, shape (draws, n).
    policy, features, needs_answers
        What is told of it.
    headroom
        What the oracle has above the strongest.
    """
    size = counts.sum(axis=1)
    samples = np.stack([counts @ right / size, counts @ (right - strongest) / size], axis=1)
    low, high = percentile_interval(samples)
    drawn = not np.isin(right, (0.0, 1.0)).all() or policy == "random"
    gained = int(np.sum((right > 0.5) & (strongest < 0.5)))
    lost = int(np.sum((right < 0.5) & (strongest > 0.5)))
    tested = not drawn and policy not in ("oracle", "strongest")
    difference = float(np.mean(right - strongest))
    return PolicyScore(
        policy=policy,
        features=features,
        accuracy=float(np.mean(right)),
        low=float(low[0]),
        high=float(high[0]),
        difference=difference,
        difference_low=float(low[1]),
        difference_high=float(high[1]),
        gained=None if drawn else gained,
        lost=None if drawn else lost,
        p=mcnemar(gained, lost) if tested else None,
        p_adjusted=None,
        share_of_headroom=difference / headroom if headroom > 0.0 else None,
        needs_answers=needs_answers,
    )
