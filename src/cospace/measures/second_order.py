"""Measures of covariances: CKA and Procrustes.

x is the source, y the target; X and Y are their rows with the column means taken off. All
singular value decompositions are of X = U_x S_x V_x^T and Y = U_y S_y V_y^T.
"""

from __future__ import annotations

import math

from cospace._arrays import Array, namespace
from cospace.errors import UndefinedMeasureError
from cospace.linalg import norm, singular_values, thin_svd
from cospace.measures.covariance import Covariance, sized
from cospace.measures.pair import paired
from cospace.summaries import ROUNDING, Factor, Gram, Overlap, Relation

__all__ = [
    "debiased_cka",
    "linear_cka",
    "procrustes_distance",
    "procrustes_similarity",
]


def linear_cka(x: Array, y: Array) -> float:
    """Linear centred kernel alignment: how alike two spaces' inner products are.

    ``CKA = ||X^T Y||_F^2 / (||X^T X||_F ||Y^T Y||_F)``

    Equivalent to the RV coefficient of Escoufier.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).

    Returns
    -------
    float
        In [0, 1]; 1 means alike up to rotation and isotropic scale. Biased upward: independent
        rows give about sqrt(r_x r_y) / n for flat spectra of ranks r, not 0. Cost n d_x d_y, or
        n^2 d where n is smaller.

    Raises
    ------
    UndefinedMeasureError
        When all rows of a side are the same.

    References
    ----------
    Kornblith et al. 2019, Eq. 4 with linear kernels.

    Examples
    --------
    >>> x = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> y = [[2.0], [-2.0], [0.0], [0.0]]
    >>> round(linear_cka(x, y), 12) == round(1 / 2**0.5, 12)
    True
    """
    x, y = paired(x, y)
    _check_count(x.shape[0])
    if x.shape[0] < max(x.shape[1], y.shape[1]):
        a, b = sized(x, "source"), sized(y, "target")
        k, m = a @ a.T, b @ b.T
        return _clip(float(namespace(k).sum(k * m)) / (norm(k) * norm(m)))
    c = Covariance.of(x, y)
    return _clip(norm(c.xy) ** 2 / (norm(c.xx) * norm(c.yy)))


def debiased_cka(x: Array, y: Array) -> float:
    """CKA with unbiased HSIC: about 0 for independent rows, whatever the widths.

    ``CKA_u = HSIC_u(K, L) / sqrt(HSIC_u(K, K) HSIC_u(L, L))`` with K = X X^T, L = Y Y^T, their
    diagonals zeroed, and ``HSIC_u = [tr(KL) + 1^T K 1 1^T L 1 / ((n-1)(n-2)) - 2 1^T K L 1 / (n-2)]
    / (n (n-3))``.

    Equivalent to the bias-corrected squared distance correlation of the two Gram matrices.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).

    Returns
    -------
    float
        In [-1, 1]; 1 means alike up to rotation and isotropic scale; by chance 0 on average, so
        that small negative values occur and are kept. Cost as ``linear_cka``.

    Raises
    ------
    UndefinedMeasureError
        For fewer than 4 rows, or a side whose own HSIC is not positive.

    References
    ----------
    Song et al. 2012, Eq. 5; Nguyen et al. 2021, Eq. 3.

    Examples
    --------
    >>> x = [[0.0], [1.0], [2.0], [3.0], [7.0]]
    >>> round(debiased_cka(x, x), 12)
    1.0
    """
    x, y = paired(x, y)
    n = x.shape[0]
    if n < max(x.shape[1], y.shape[1]):
        a, b = sized(x, "source"), sized(y, "target")
        k, m = Gram(a @ a.T).u_centred(), Gram(b @ b.T).u_centred()
        across = float(namespace(k).sum(k * m))
        own = norm(k) ** 2, norm(m) ** 2
    else:
        c = Covariance.of(x, y)
        across = _hsic(c.xy, c.square_x * c.square_y, c.quartic[1], n)
        own = (
            _hsic(c.xx, c.square_x**2, c.quartic[0], n),
            _hsic(c.yy, c.square_y**2, c.quartic[2], n),
        )
    if min(own) <= 0.0:
        raise UndefinedMeasureError(
            "Debiased HSIC of a space with itself is not positive: too few distinct rows to compare."
        )
    return min(max(across / math.sqrt(own[0] * own[1]), -1.0), 1.0)


def _hsic(product: Array, totals: float, quartic: float, n: int) -> float:
    """n (n - 3) times unbiased HSIC of centred rows, in feature space, from sums over the rows."""
    if n < 4:
        raise UndefinedMeasureError(f"Debiased HSIC needs at least 4 rows, got {n}.")
    whole = norm(product) ** 2
    # Rows are centred: each row of the full Gram matrix sums to 0, so without its diagonal to
    # minus the diagonal.
    value = whole - quartic + totals / ((n - 1) * (n - 2)) - 2 * quartic / (n - 2)
    return 0.0 if abs(value) <= ROUNDING * (whole + quartic) else float(value)


def procrustes_similarity(x: Array, y: Array) -> float:
    """Cosine of the two spaces after the best rotation or reflection of one.

    ``||X^T Y||_* / (||X||_F ||Y||_F)``, the nuclear norm being the best inner product
    ``max_Q <X Q, Y>`` over matrices with orthonormal columns or rows.

    Equivalent to the cosine of the angular shape distance without whitening.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y); widths may differ.

    Returns
    -------
    float
        In [0, 1]; 1 means alike up to rotation, reflection, translation and isotropic scale.
        High by chance where widths approach n. Cost n d_x d_y plus an SVD of the smaller of
        (d_x, d_y) and (n, n).

    Raises
    ------
    UndefinedMeasureError
        When all rows of a side are the same.

    References
    ----------
    Schönemann 1966; Williams et al. 2021, Eq. 3 with linear part orthogonal.

    Examples
    --------
    >>> x = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> y = [[2.0], [-2.0], [0.0], [0.0]]
    >>> round(procrustes_similarity(x, y), 12) == round(1 / 2**0.5, 12)
    True
    """
    return _rotated(*paired(x, y))


def procrustes_distance(x: Array, y: Array) -> float:
    """Distance of the two spaces at unit Frobenius norm after the best rotation.

    ``min_Q || X Q / ||X|| - Y / ||Y|| ||_F = sqrt(2 - 2 procrustes_similarity)``

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).

    Returns
    -------
    float
        In [0, sqrt(2)]; 0 means alike. A metric. Near 0 it is computed from the residual itself,
        so that identical spaces give 0 to rounding.

    Raises
    ------
    UndefinedMeasureError
        When all rows of a side are the same.

    References
    ----------
    Williams et al. 2021, Eq. 4; Ding et al. 2021, Sec. 3.

    Examples
    --------
    >>> x = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> procrustes_distance(x, [[0.0, 3.0], [0.0, -3.0], [3.0, 0.0], [-3.0, 0.0]]) < 1e-12
    True
    """
    a, b = paired(x, y)
    similarity = _rotated(a, b)
    if similarity < 0.999:
        return math.sqrt(2 - 2 * similarity)
    return _residual(sized(a, "source"), sized(b, "target"))


def cka_of(o: Overlap) -> float:
    """``linear_cka`` from an overlap."""
    return _clip(norm(o.weighted_core) ** 2 / (norm(o.s_x**2) * norm(o.s_y**2)))


def procrustes_similarity_of(o: Overlap) -> float:
    """``procrustes_similarity`` from an overlap."""
    _check_count(o.n)
    xp = namespace(o.core)
    total = float(xp.sum(singular_values(o.weighted_core)))
    return _clip(total / (norm(o.s_x) * norm(o.s_y)))


def procrustes_distance_of(source: Factor, target: Factor) -> float:
    """``procrustes_distance`` from two factors."""
    similarity = procrustes_similarity_of(Overlap.of(source, target))
    if similarity < 0.999:
        return math.sqrt(2 - 2 * similarity)
    return _residual(source.u * source.s, target.u * target.s)


def cka_relation(rows: Array) -> Relation:
    """Relation whose inner product is ``linear_cka``."""
    _check_count(rows.shape[0])
    return Relation.symmetric(Gram.of(sized(rows, "space")).k, interval="none")


def debiased_relation(rows: Array) -> Relation:
    """Relation whose inner product is ``debiased_cka``."""
    return Relation.symmetric(Gram.of(sized(rows, "space")).u_centred(), interval="pairs")


def _check_count(n: int) -> None:
    if n < 3:
        raise UndefinedMeasureError(
            f"{n} rows lie on a line in every space, so that any two are alike by dimension alone: at "
            "least 3 rows are needed."
        )


def _rotated(x: Array, y: Array) -> float:
    """Cosine of two tables after the best rotation of one."""
    _check_count(x.shape[0])
    xp = namespace(x)
    if x.shape[0] < min(x.shape[1], y.shape[1]):
        x, y = sized(x, "source"), sized(y, "target")
        size = norm(x) * norm(y)
        x, y = xp.linalg.qr(x.T)[1].T, xp.linalg.qr(y.T)[1].T
        return _clip(float(xp.sum(singular_values(x.T @ y))) / size)
    c = Covariance.of(x, y, own=False)
    total = float(xp.sum(singular_values(c.xy)))
    return _clip(total / math.sqrt(c.square_x * c.square_y))


def _residual(a: Array, b: Array) -> float:
    """Procrustes distance from the residual: sqrt(2 - 2 s) loses half of the digits near s = 1."""
    a, b = a / norm(a), b / norm(b)
    u, _, v = thin_svd(a.T @ b)
    return norm(a @ (u @ v.T) - b) if a.shape[1] <= b.shape[1] else norm(a - b @ (v @ u.T))


def _clip(value: float) -> float:
    return min(max(value, 0.0), 1.0)
