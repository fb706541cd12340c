"""From states of two kinds of text to a direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import trim_mean

from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.linalg import thin_svd
from cospace.steering.probed import Probed, probe_direction
from cospace.steering.vector import Floats

__all__ = ["METHODS", "Direction", "Method", "find_direction"]

Method = Literal["mean_difference", "trimmed_difference", "pca", "probe"]
METHODS: tuple[Method, ...] = ("mean_difference", "trimmed_difference", "pca", "probe")

TRIM = 0.1
"""Share of the values that a trimmed mean leaves out at each end."""
DOMINANT = 0.1
"""Share of the squared norm above which a coordinate is named, if it is huge beside the others."""
HUGE = 10.0
"""Size of such a coordinate beside the median one."""
_NONE = 1e-9


class Direction(NamedTuple):
    """A direction from the second kind to the first."""

    vector: Floats
    """Shape (width,); of every method at the norm of the mean difference."""
    cosine: float
    """Cosine to the mean difference, the baseline."""
    separation: float
    """Share of pairs, one text of each kind, that it puts in the right order: in-sample."""
    dominant: tuple[int, ...]
    """Coordinates with more than a tenth of its squared norm that are also more than ten times as
    large as the median one."""
    probed: Probed | None = None
    """What a probe rests on, and the order of held-out pairs; None for other methods."""


def find_direction(
    positive: Floats,
    negative: Floats,
    method: Method,
    *,
    paired: bool,
    groups: Sequence[str] | None = None,
) -> Direction:
    """Direction in which texts of the first kind lie from those of the second.

    ``mean_difference`` is ``mean(p) - mean(q)``. ``trimmed_difference`` takes the mean of each
    coordinate without its tenth of largest and smallest values, for states that a few huge ones
    rule. ``pca`` is the leading right singular vector of the differences ``p_i - q_i``, not
    centred, ``probe`` the weights of a logistic probe, whose coordinates and penalty are chosen on
    inner folds (see :func:`~cospace.steering.probed.probe_direction`); both are turned so
    that the mean of the first kind lies further along than that of the second, and scaled to the
    norm of the mean difference, since neither has a length of its own.

    Parameters
    ----------
    positive, negative
        States, shapes (n, width) and (m, width).
    method
        One of :data:`METHODS`.
    paired
        Whether row i of both belongs together.
    groups
        Of pairs, what each belongs to, such as its question: a probe keeps these whole in its
        folds. By default every pair is its own.

    Raises
    ------
    InputError
        For an unknown method, principal components of rows that are no pairs, or fewer than five
        pairs for a probe.
    UndefinedMeasureError
        Where the means of the two kinds are the same, or a direction is orthogonal to their
        difference.

    Examples
    --------
    >>> p, q = np.array([[2.0, 1.0], [4.0, -1.0]]), np.zeros((2, 2))
    >>> find_direction(p, q, "mean_difference", paired=True).vector.tolist()
    [3.0, 0.0]
    """
    if method not in METHODS:
        raise UnknownNameError.among(str(method), METHODS, "method of a steering vector")
    mean = positive.mean(axis=0) - negative.mean(axis=0)
    size = float(np.linalg.norm(mean))
    scale = np.linalg.norm(np.vstack([positive, negative]), axis=1).mean()
    if size <= _NONE * scale:
        raise UndefinedMeasureError(
            "The two kinds of text have the same mean state at this site: there is no direction between them."
        )
    probed = None
    if method == "mean_difference":
        vector = mean
    elif method == "trimmed_difference":
        vector = _trimmed(positive, negative, paired=paired)
    elif method == "pca":
        vector = _leading(positive, negative, paired=paired)
    else:
        own = (groups or [str(i) for i in range(len(positive))]) if paired else None
        probed = probe_direction(positive, negative, own)
        vector = probed.vector
    if method in ("pca", "probe"):
        along = float(vector @ mean)
        if abs(along) <= _NONE * size * np.linalg.norm(vector):
            raise UndefinedMeasureError(
                f"The direction of method={method!r} is orthogonal to the difference of the means: it cannot be turned "
                "towards the first kind. Use mean_difference."
            )
        vector = vector * (np.sign(along) * size / np.linalg.norm(vector))
    length = float(np.linalg.norm(vector))
    share = vector**2 / length**2
    huge = np.abs(vector) > HUGE * np.median(np.abs(vector))
    return Direction(
        np.asarray(vector),
        float(vector @ mean / (length * size)),
        _separation(positive @ vector, negative @ vector),
        tuple(int(i) for i in np.flatnonzero((share > DOMINANT) & huge)),
        probed,
    )


def _trimmed(positive: Floats, negative: Floats, *, paired: bool) -> Floats:
    if paired:
        return np.asarray(trim_mean(positive - negative, TRIM, axis=0))
    return np.asarray(trim_mean(positive, TRIM, axis=0) - trim_mean(negative, TRIM, axis=0))


def _leading(positive: Floats, negative: Floats, *, paired: bool) -> Floats:
    if not paired:
        raise InputError(
            f"Principal components of differences need pairs, and {len(positive)} and {len(negative)} texts without "
            "partners were given: give pairs, or use mean_difference."
        )
    return np.asarray(thin_svd(positive - negative).v[:, 0])


def _separation(above: Floats, below: Floats) -> float:
    """Probability that a value of the first kind exceeds one of the second, ties by half."""
    order = np.sort(below)
    left = np.searchsorted(order, above, side="left")
    right = np.searchsorted(order, above, side="right")
    return float((left + right).sum() / (2 * len(above) * len(below)))
