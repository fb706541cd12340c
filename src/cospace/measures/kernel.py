"""CKA of kernels that see more than inner products: RBF and polynomial.

Kernels are of the centred rows and measured in the space's own scale, so that neither an offset
nor a scale of the rows changes them.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from cospace._arrays import Array, namespace, to_numpy
from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures.base import Measure
from cospace.measures.pair import related, sized, squared_distances
from cospace.summaries import ROUNDING, Gram, Relation

__all__ = ["MEASURES", "polynomial_cka", "rbf_cka"]


def rbf_cka(x: Array, y: Array, *, fraction: float = 1.0, debiased: bool = False) -> float:
    """CKA with Gaussian kernels: how alike two spaces' neighbourhoods of a stated radius are.

    ``CKA = <HKH, HLH> / (||HKH|| ||HLH||)``, H the centring matrix, ``K_ij = exp(-||x_i - x_j||^2
    / (2 sigma^2))``, sigma ``fraction`` times the median distance of two different rows, and L
    likewise of y. Debiased: the unbiased HSIC of ``debiased_cka`` with these kernels.

    A large fraction gives ``linear_cka``; a small one looks at near rows alone.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    fraction
        Bandwidth as a fraction of the median distance.
    debiased
        Whether to take off the bias that independent rows show.

    Returns
    -------
    float
        In [0, 1], debiased in [-1, 1]; 1 means alike up to rotation, translation and isotropic
        scale. By chance 0 on average where debiased, else above 0. Cost n^2 (d + log n) a space,
        n^2 a pair.

    Raises
    ------
    InputError
        For a fraction that is not positive.
    UndefinedMeasureError
        When all rows of a side are the same, when the median distance is 0, or, debiased, for
        fewer than 4 rows.

    References
    ----------
    Kornblith et al. 2019, Sec. 3 (kernel and bandwidth rule); Song et al. 2012, Eq. 5 (debiased).

    Examples
    --------
    Rows at 0, 1 and 3 are at distances 1, 2 and 3: the median is 2.

    >>> x = [[0.0], [1.0], [3.0]]
    >>> round(rbf_cka(x, [[5.0], [3.0], [-1.0]]), 12)
    1.0
    """
    value = related(partial(rbf_relation, fraction=fraction, debiased=debiased), x, y)
    return value if debiased else max(value, 0.0)


def rbf_relation(rows: Array, *, fraction: float = 1.0, debiased: bool = False) -> Relation:
    """Relation whose inner product is ``rbf_cka``."""
    if not (math.isfinite(fraction) and fraction > 0.0):
        raise InputError(f"The bandwidth is {fraction} of the median distance; above 0 is needed.")
    apart = squared_distances(sized(rows))
    bandwidth = fraction * _median_root(apart)
    if bandwidth == 0.0:
        raise UndefinedMeasureError(
            "At least half of all pairs of rows are repeats: the median distance is 0, so an RBF kernel has no width."
        )
    return _relation(namespace(apart).exp(apart / (-2.0 * bandwidth**2)), debiased=debiased)


def polynomial_cka(
    x: Array, y: Array, *, degree: int = 3, offset: float = 1.0, debiased: bool = False
) -> float:
    """CKA with polynomial kernels: how alike the products of up to ``degree`` coordinates are.

    CKA as in ``rbf_cka`` with ``K_ij = (<x_i, x_j> / v + offset)^degree``, rows centred and v
    their mean squared length.

    Equivalent to ``linear_cka`` for degree 1, whatever the offset.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    degree
        Degree, 1 or more. Rows far longer than the rest rule high degrees.
    offset
        Weight of the lower degrees, 0 or more, in units of the mean squared length.
    debiased
        Whether to take off the bias that independent rows show.

    Returns
    -------
    float
        In [0, 1], debiased in [-1, 1]; 1 means alike up to rotation, translation and isotropic
        scale. By chance 0 on average where debiased, else above 0. Cost n^2 d a space, n^2 a
        pair.

    Raises
    ------
    InputError
        For a degree below 1 or a negative offset.
    UndefinedMeasureError
        When all rows of a side are the same, when its kernel is constant, or, debiased, for fewer
        than 4 rows.

    References
    ----------
    Cortes, Mohri & Rostamizadeh 2012 (centred alignment of any two kernels); Song et al. 2012,
    Eq. 5 (debiased).

    Examples
    --------
    Of degree 2 without offset the kernel is the product of squares: 1, 0, 1 and 1, 4, 1 rise and
    fall together, while the rows themselves do not.

    >>> x, y = [[1.0], [0.0], [-1.0]], [[1.0], [-2.0], [1.0]]
    >>> polynomial_cka(x, y, degree=1), round(polynomial_cka(x, y, degree=2, offset=0.0), 12)
    (0.0, 1.0)
    """
    relation = partial(polynomial_relation, degree=degree, offset=offset, debiased=debiased)
    value = related(relation, x, y)
    return value if debiased else max(value, 0.0)


def polynomial_relation(
    rows: Array, *, degree: int = 3, offset: float = 1.0, debiased: bool = False
) -> Relation:
    """Relation whose inner product is ``polynomial_cka``."""
    if degree != int(degree) or degree < 1:
        raise InputError(f"The degree is {degree}; a whole number of 1 or more is needed.")
    if not (math.isfinite(offset) and offset >= 0.0):
        raise InputError(f"The offset is {offset}; 0 or more is needed.")
    x = sized(rows)
    xp = namespace(x)
    inner = x @ x.T
    mean = xp.mean(xp.linalg.diagonal(inner))
    return _relation((inner / mean + offset) ** int(degree), debiased=debiased)


def _relation(kernel: Array, *, debiased: bool) -> Relation:
    if debiased:
        return Relation.symmetric(Gram(kernel).u_centred(), interval="pairs")
    xp = namespace(kernel)
    mean = xp.mean(kernel, axis=1)
    centred = kernel - mean[:, None] - mean[None, :] + xp.mean(mean)
    size = xp.linalg.vector_norm(centred)
    if float(size) <= ROUNDING * float(xp.linalg.vector_norm(kernel)):
        centred = xp.zeros_like(centred)
    return Relation.symmetric(centred, interval="none")


def _median_root(apart: Array) -> float:
    """Median distance of two different rows, from squared distances of all ordered pairs."""
    n = apart.shape[0]
    if isinstance(apart, np.ndarray):
        pairs = apart[np.triu_indices(n, 1)]
        middle = np.partition(pairs, [(len(pairs) - 1) // 2, len(pairs) // 2])
    else:
        xp = namespace(apart)
        pairs = to_numpy(xp.sort(xp.reshape(apart, (-1,))))[n:]  # n zeros are the rows themselves
        middle = pairs[::2]  # every pair occurs twice
    low, high = middle[(len(middle) - 1) // 2], middle[len(middle) // 2]
    return (math.sqrt(low) + math.sqrt(high)) / 2.0


_SHAPE = frozenset({"translation", "scaling", "orthogonal"})


_DEBIASED_RBF = partial(rbf_relation, debiased=True)
_DEBIASED_POLYNOMIAL = partial(polynomial_relation, debiased=True)

MEASURES: tuple[Measure, ...] = (
    Measure(
        name="debiased_rbf_cka",
        title="Debiased RBF CKA",
        function=partial(rbf_cka, debiased=True),
        kind="similarity",
        bounds=(-1.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=_SHAPE,
        summary="Whether the same texts are near in both spaces, near being the median distance; about 0 by chance.",
        reference="Kornblith et al. 2019, Sec. 3; Song et al. 2012, Eq. 5",
        cost="n² (d + log n) a space, n² a pair",
        needs="gram",
        summarise=_DEBIASED_RBF,
        score=Relation.inner,
        relation=_DEBIASED_RBF,
    ),
    Measure(
        name="rbf_cka",
        title="RBF CKA",
        function=rbf_cka,
        kind="similarity",
        bounds=(0.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=_SHAPE,
        summary="Whether the same texts are near in both spaces, near being the median distance; biased upward.",
        reference="Kornblith et al. 2019, Sec. 3",
        cost="n² (d + log n) a space, n² a pair",
        needs="gram",
        summarise=rbf_relation,
        score=Relation.inner,
        relation=rbf_relation,
    ),
    Measure(
        name="debiased_polynomial_cka",
        title="Debiased polynomial CKA (degree 3)",
        function=partial(polynomial_cka, debiased=True),
        kind="similarity",
        bounds=(-1.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=_SHAPE,
        summary="Alike in the products of up to three coordinates, up to rotation; about 0 by chance.",
        reference="Cortes, Mohri & Rostamizadeh 2012; Song et al. 2012, Eq. 5",
        cost="n² d a space, n² a pair",
        needs="gram",
        summarise=_DEBIASED_POLYNOMIAL,
        score=Relation.inner,
        relation=_DEBIASED_POLYNOMIAL,
    ),
    Measure(
        name="polynomial_cka",
        title="Polynomial CKA (degree 3)",
        function=polynomial_cka,
        kind="similarity",
        bounds=(0.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=_SHAPE,
        summary="Alike in the products of up to three coordinates, up to rotation; biased upward.",
        reference="Cortes, Mohri & Rostamizadeh 2012",
        cost="n² d a space, n² a pair",
        needs="gram",
        summarise=polynomial_relation,
        score=Relation.inner,
        relation=polynomial_relation,
    ),
)
