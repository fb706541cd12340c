"""Distances of shapes: what is left of two spaces after the best rotation, whitened or not."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Literal

from cospace._arrays import Array, namespace
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.linalg import norm
from cospace.measures.base import Measure
from cospace.measures.pair import paired
from cospace.measures.second_order import procrustes_distance_of, procrustes_similarity
from cospace.summaries import Factor

__all__ = ["MEASURES", "bures_distance", "bures_similarity", "shape_distance"]

Form = Literal["angular", "euclidean"]


def shape_distance(x: Array, y: Array, *, alpha: float = 1.0, form: Form = "angular") -> float:
    """Distance of the two spaces, partially whitened and at unit size, after the best rotation.

    ``angular``: ``arccos max_Q <X', Y' Q>``; ``euclidean``: ``min_Q ||X' - Y' Q||_F``, the chord
    of that angle. With singular values s of the centred rows, scaled to a mean square of 1, X'
    has the same singular vectors and the singular values ``alpha s + (1 - alpha)``, brought to
    Frobenius norm 1: alpha 1 leaves the shape as it is, alpha 0 whitens it.

    Equivalent to: at alpha 1, ``procrustes_distance`` (euclidean) and the angle whose cosine is
    ``procrustes_similarity``; at alpha 0, the angle of cosine ``sum_i rho_i / sqrt(r_x r_y)``, rho
    the canonical correlations.

    Notes
    -----
    Widths may differ. Columns of zeros change no inner product after rotation, so the narrower
    side needs no padding, and each side is brought to unit size by its own rank. A whitened space
    of rank 25 inside one of rank 40 is therefore at cosine ``sqrt(25 / 40) = 0.79`` and not 1: as
    a metric must, the distance sees the 15 directions that one side lacks. Implementations that
    divide by the greater width give ``sum rho / max(d_x, d_y)`` there. For "is the smaller space
    contained in the other" take ``mean_cca``, which divides by the smaller rank and is no metric.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    alpha
        From 0 (whitened) to 1 (as it is).
    form
        ``angular``, in [0, pi / 2], or ``euclidean``, in [0, sqrt(2)].

    Returns
    -------
    float
        0 means alike up to rotation, reflection, translation and isotropic scale, at alpha 0 up to
        an invertible linear map. A metric for every alpha. Small by chance where widths approach
        n, the more so the smaller alpha. Cost n d min(n, d) a space, n d_x d_y and an SVD of
        (d_x, d_y) a pair.

    Raises
    ------
    InputError
        For alpha outside [0, 1].
    UnknownNameError
        For another form.
    UndefinedMeasureError
        When all rows of a side are the same; at alpha 0 when r_x + r_y > n - 1.

    References
    ----------
    Williams et al. 2021.

    Examples
    --------
    One direction, and the same with a second one of equal size: the cosine is 1 / sqrt(2).

    >>> x = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> y = [[2.0], [-2.0], [0.0], [0.0]]
    >>> round(shape_distance(x, y) / math.pi, 12)
    0.25
    """
    _check(alpha, form)
    a, b = paired(x, y)
    return shape_distance_of(Factor.of(a), Factor.of(b), alpha=alpha, form=form)


def shape_distance_of(
    source: Factor, target: Factor, *, alpha: float = 1.0, form: Form = "angular"
) -> float:
    """``shape_distance`` from two factors."""
    _check(alpha, form)
    if source.n != target.n:
        raise RowMismatchError(
            f"Factors of {source.n} and {target.n} rows have no distance: row i must be the same text in both."
        )
    surplus = source.rank + target.rank - (source.n - 1)
    if alpha == 0.0 and surplus > 0:
        raise UndefinedMeasureError(
            f"rank {source.rank} + rank {target.rank} exceeds n - 1 = {source.n - 1}: {surplus} canonical "
            "correlations are 1 by dimension alone. Use more rows, alpha above 0, or fewer principal components "
            "(reduced=)."
        )
    chord = procrustes_distance_of(_whitened(source, alpha), _whitened(target, alpha))
    if form == "euclidean":
        return chord
    return min(2.0 * math.asin(min(chord / 2.0, 1.0)), math.pi / 2.0)


def _whitened(factor: Factor, alpha: float) -> Factor:
    r = factor.rank
    s = factor.s[:r] / float(namespace(factor.s).max(factor.s))
    s = alpha * s * (math.sqrt(r) / norm(s)) + (1.0 - alpha)
    v = None if factor.v is None else factor.v[:, :r]
    return replace(factor, u=factor.u[:, :r], s=s / norm(s), v=v)


def _check(alpha: float, form: str) -> None:
    if not 0.0 <= alpha <= 1.0:
        raise InputError(f"alpha is {alpha}; a number from 0 (whitened) to 1 (as it is) is needed.")
    if form not in ("angular", "euclidean"):
        raise UnknownNameError.among(form, ("angular", "euclidean"), "form of a shape distance")


def bures_distance(x: Array, y: Array) -> float:
    """Bures distance of the two Gram matrices: size and shape after the best rotation.

    ``d^2 = tr(K) + tr(L) - 2 tr((K^1/2 L K^1/2)^1/2)`` with K = X X^T and L = Y Y^T of the centred
    rows.

    Equivalent to ``min_Q ||X Q - Y||_F``: Procrustes without bringing the sides to one size, since
    the trace of that root is the nuclear norm of X^T Y. No n x n matrix is made.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y); widths may differ.

    Returns
    -------
    float
        At least 0, in units of the rows times sqrt(n); 0 means alike up to rotation, reflection
        and translation, *not* scale. A metric. Cost n d min(n, d) a space, n d_x d_y and an SVD
        of (d_x, d_y) a pair.

    Raises
    ------
    UndefinedMeasureError
        When all rows of a side are the same.

    Notes
    -----
    The Bures distance of the two *covariances* is left out: it needs equal widths, and coordinate
    j of one model is not coordinate j of another.

    References
    ----------
    Bhatia, Jain & Lim 2019; Harvey, Larsen & Williams 2023 (its duality with shape metrics).

    Examples
    --------
    The same direction at two sizes, of Frobenius norms sqrt(2) and 3 sqrt(2):

    >>> round(bures_distance([[1.0], [-1.0], [0.0]], [[3.0], [-3.0], [0.0]]) ** 2, 12)
    8.0
    """
    a, b = paired(x, y)
    return bures_distance_of(Factor.of(a), Factor.of(b))


def bures_distance_of(source: Factor, target: Factor) -> float:
    """``bures_distance`` from two factors."""
    if source.n != target.n:
        raise RowMismatchError(
            f"Factors of {source.n} and {target.n} rows have no distance: row i must be the same text in both."
        )
    size_x, size_y = norm(source.s), norm(target.s)
    chord = procrustes_distance_of(source, target)
    return math.hypot(size_x - size_y, math.sqrt(size_x) * math.sqrt(size_y) * chord)


def bures_similarity(x: Array, y: Array) -> float:
    """Normalised Bures similarity of the two Gram matrices.

    ``tr((K^1/2 L K^1/2)^1/2) / sqrt(tr(K) tr(L))``, the root fidelity of K and L at unit trace.

    Equivalent to ``procrustes_similarity``, which computes it: the trace is the nuclear norm of
    X^T Y. It is a name for those who look for it, not a second measure of the catalogue.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y); widths may differ.

    Returns
    -------
    float
        As ``procrustes_similarity``, in [0, 1]; 1 means alike.

    Raises
    ------
    UndefinedMeasureError
        When all rows of a side are the same.

    References
    ----------
    Harvey, Larsen & Williams 2023.

    Examples
    --------
    >>> round(bures_similarity([[1.0], [-1.0], [0.0]], [[3.0], [-3.0], [0.0]]), 12)
    1.0
    """
    return procrustes_similarity(x, y)


_SHAPE = frozenset({"translation", "scaling", "orthogonal"})

MEASURES: tuple[Measure, ...] = (
    Measure(
        name="shape_angle",
        title="Shape angle",
        function=shape_distance,
        kind="distance",
        bounds=(0.0, math.pi / 2),
        identical=0.0,
        symmetric=True,
        invariant_to=_SHAPE,
        summary="Angle between the two spaces after the best rotation; a metric.",
        reference="Williams et al. 2021",
        cost="n d² a space, n d² + d³ a pair",
        needs="factor",
        summarise=Factor.of,
        score=shape_distance_of,
        decomposes=True,
    ),
    Measure(
        name="partly_whitened_shape_angle",
        title="Shape angle, half whitened",
        function=partial(shape_distance, alpha=0.5),
        kind="distance",
        bounds=(0.0, math.pi / 2),
        identical=0.0,
        symmetric=True,
        invariant_to=_SHAPE,
        summary="Angle after the best rotation, small directions counted more than their variance; a metric.",
        reference="Williams et al. 2021",
        cost="n d² a space, n d² + d³ a pair",
        needs="factor",
        summarise=Factor.of,
        score=partial(shape_distance_of, alpha=0.5),
        decomposes=True,
    ),
    Measure(
        name="whitened_shape_angle",
        title="Shape angle, whitened",
        function=partial(shape_distance, alpha=0.0),
        kind="distance",
        bounds=(0.0, math.pi / 2),
        identical=0.0,
        symmetric=True,
        invariant_to=frozenset({"translation", "invertible"}),
        summary="Angle after the best invertible map, every direction counted alike; a metric.",
        reference="Williams et al. 2021",
        cost="n d² a space, n d² + d³ a pair",
        needs="factor",
        summarise=Factor.of,
        score=partial(shape_distance_of, alpha=0.0),
        decomposes=True,
        reduce=True,
    ),
    Measure(
        name="bures_distance",
        title="Bures distance",
        function=bures_distance,
        kind="distance",
        bounds=(0.0, None),
        identical=0.0,
        symmetric=True,
        invariant_to=frozenset({"translation", "orthogonal"}),
        summary="What is left between the two spaces after the best rotation, their sizes kept; a metric.",
        reference="Bhatia, Jain & Lim 2019",
        cost="n d² a space, n d² + d³ a pair",
        needs="factor",
        summarise=Factor.of,
        score=bures_distance_of,
        decomposes=True,
    ),
)
