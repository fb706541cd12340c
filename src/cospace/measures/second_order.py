"""Measures of covariances: CKA, Procrustes, the CCA family, in-sample R2.

x is the source, y the target; X and Y are their rows with the column means taken off. All
singular value decompositions are of X = U_x S_x V_x^T and Y = U_y S_y V_y^T.
"""

from __future__ import annotations

import math

from cospace._arrays import Array, namespace
from cospace.errors import UndefinedMeasureError
from cospace.linalg import norm, singular_values, thin_svd
from cospace.measures.bases import Bases
from cospace.measures.covariance import Covariance, sized
from cospace.measures.pair import paired
from cospace.summaries import ROUNDING, Factor, Gram, Overlap, Relation

__all__ = [
    "debiased_cka",
    "linear_cka",
    "mean_cca",
    "predictive_r2",
    "procrustes_distance",
    "procrustes_similarity",
    "pwcca",
    "r2_cca",
    "svcca",
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


def mean_cca(x: Array, y: Array) -> float:
    """Mean canonical correlation.

    ``sum_i rho_i / min(r_x, r_y)``, rho the singular values of ``U_x^T U_y`` and r the ranks at
    tolerance 1e-6.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).

    Returns
    -------
    float
        In [0, 1]; 1 means that the smaller space is a linear image of the other. By chance about
        sqrt(r / n) and more: mind the null. Cost n d^2 a space, n d_x d_y a pair.

    Raises
    ------
    UndefinedMeasureError
        When r_x + r_y > n - 1: some correlations are then 1 by dimension alone.

    References
    ----------
    Hotelling 1936; Raghu et al. 2017, Sec. 2.

    Examples
    --------
    >>> x = [[1.0], [-1.0], [1.0], [-1.0], [0.0]]
    >>> y = [[3.0], [-3.0], [-3.0], [3.0], [0.0]]
    >>> mean_cca(x, x), round(mean_cca(x, y), 12)
    (1.0, 0.0)
    """
    x, y = paired(x, y)
    bases = Bases.of(x, y)
    return mean_cca_of(_overlap(x, y)) if bases is None else bases.mean(1)


def svcca(x: Array, y: Array) -> float:
    """Mean canonical correlation of the directions that reach 99 % of the variance.

    Each side keeps its fewest leading principal directions whose squared singular values reach
    99 % of their sum, the crossing one included; then ``mean_cca`` of what is kept.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).

    Returns
    -------
    float
        In [0, 1]; 1 means alike up to an invertible linear map of the kept directions; by chance
        as ``mean_cca``. Cost as ``mean_cca``.

    Raises
    ------
    UndefinedMeasureError
        When the kept directions of both sides exceed n - 1.

    References
    ----------
    Raghu et al. 2017, Sec. 2.1.

    Examples
    --------
    >>> x = [[10.0, 0.1], [-10.0, 0.1], [10.0, -0.1], [-10.0, -0.1], [0.0, 0.0]]
    >>> y = [[1.0], [-1.0], [1.0], [-1.0], [0.0]]
    >>> round(svcca(x, y), 12)
    1.0
    """
    return svcca_of(_overlap(*paired(x, y)))


def pwcca(x: Array, y: Array) -> float:
    """Canonical correlations weighted by how much of the source each variate carries.

    ``sum_i alpha_i rho_i / sum_i alpha_i`` over min(r_x, r_y) variates, with
    ``alpha_i = sum_j |<h_i, X[:, j]>|`` and h_i the i-th canonical variate of the source.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), whose variates weigh; of the target, shape (n, d_y).

    Returns
    -------
    float
        In [0, 1]; 1 means alike; not symmetric. By chance as ``mean_cca``. Cost as ``mean_cca``.

    Raises
    ------
    UndefinedMeasureError
        When r_x + r_y > n - 1.

    References
    ----------
    Morcos et al. 2018, Eq. 2 and 3. Several public implementations differ from these equations
    and from each other; this is the equations.

    Examples
    --------
    >>> x = [[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]]
    >>> y = [[1.0], [-1.0], [0.0], [0.0], [0.0]]
    >>> round(pwcca(x, y), 12)
    1.0
    """
    x, y = paired(x, y)
    bases = Bases.of(x, y)
    return pwcca_of(_overlap(x, y)) if bases is None else bases.weighted()


def r2_cca(x: Array, y: Array) -> float:
    """Mean squared canonical correlation.

    ``||U_y^T U_x||_F^2 / min(r_x, r_y) = sum_i rho_i^2 / min(r_x, r_y)``

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).

    Returns
    -------
    float
        In [0, 1]; 1 means that the smaller space is a linear image of the other. By chance
        max(r_x, r_y) / (n - 1). Cost as ``mean_cca``, without a decomposition per pair.

    Raises
    ------
    UndefinedMeasureError
        When r_x + r_y > n - 1.

    References
    ----------
    Kornblith et al. 2019, Table 1 (there divided by the width of the smaller side).

    Examples
    --------
    >>> x = [[1.0], [-1.0], [1.0], [-1.0], [0.0]]
    >>> y = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]]
    >>> round(r2_cca(x, y), 12)
    1.0
    """
    x, y = paired(x, y)
    bases = Bases.of(x, y)
    return r2_cca_of(_overlap(x, y)) if bases is None else bases.mean(2)


def predictive_r2(x: Array, y: Array) -> float:
    """Share of the target's variance that a linear map of the source explains, in-sample.

    ``||U_x^T Y||_F^2 / ||Y||_F^2``, U_x the r_x left singular vectors above tolerance 1e-6.

    Equivalent to the variance-weighted R2 of an ordinary least squares fit scored on its own rows.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).

    Returns
    -------
    float
        In [0, 1]; 1 means that the target can be had from the source without error; not
        symmetric. By chance r_x / (n - 1). Cost n d_x^2 a space, n d_x d_y a pair.

    Raises
    ------
    UndefinedMeasureError
        When n <= r_x + 1: the fit then passes through every row whatever the target.

    References
    ----------
    Kornblith et al. 2019, Table 1 (R2_LR there explains the first argument: the order is turned).

    Examples
    --------
    >>> x = [[1.0], [-1.0], [0.0], [0.0]]
    >>> y = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> round(predictive_r2(x, y), 12), round(predictive_r2(y, x), 12)
    (0.5, 1.0)
    """
    return predictive_r2_of(_overlap(*paired(x, y)))


# On summaries ---------------------------------------------------------------------------------


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


def mean_cca_of(o: Overlap) -> float:
    """``mean_cca`` from an overlap."""
    return float(namespace(o.core).mean(o.correlations()))


def svcca_of(o: Overlap, share: float = 0.99) -> float:
    """``svcca`` from an overlap."""
    kept = o.correlations(_reaching(o.s_x, share), _reaching(o.s_y, share))
    return float(namespace(o.core).mean(kept))


def pwcca_of(o: Overlap) -> float:
    """``pwcca`` from an overlap."""
    if o.v_x is None:
        raise UndefinedMeasureError(
            "PWCCA weighs variates by the source's coordinates, and Gram matrices keep none: pass rows."
        )
    o.correlations()  # refuses where ranks exceed the rows
    xp = namespace(o.core)
    left, rho, _ = thin_svd(o.core[: o.rank_x, : o.rank_y])
    carried = (left.T * o.s_x[: o.rank_x][None, :]) @ o.v_x[:, : o.rank_x].T
    alpha = xp.sum(xp.abs(carried), axis=1)
    return float(xp.sum(alpha * xp.clip(rho, 0.0, 1.0)) / xp.sum(alpha))


def r2_cca_of(o: Overlap) -> float:
    """``r2_cca`` from an overlap."""
    rho = o.correlations()
    return float(namespace(o.core).mean(rho**2))


def predictive_r2_of(o: Overlap) -> float:
    """``predictive_r2`` from an overlap."""
    if o.n <= o.rank_x + 1:
        raise UndefinedMeasureError(
            f"A least squares fit from rank {o.rank_x} passes through all {o.n} rows whatever the target: use more "
            "rows, heldout_r2, or fewer principal components (reduced=)."
        )
    return _clip((norm(o.core[: o.rank_x, :] * o.s_y[None, :]) / norm(o.s_y)) ** 2)


def cka_relation(rows: Array) -> Relation:
    """Relation whose inner product is ``linear_cka``."""
    _check_count(rows.shape[0])
    return Relation.symmetric(Gram.of(sized(rows, "space")).k, interval="none")


def debiased_relation(rows: Array) -> Relation:
    """Relation whose inner product is ``debiased_cka``."""
    return Relation.symmetric(Gram.of(sized(rows, "space")).u_centred(), interval="pairs")


def _overlap(x: Array, y: Array) -> Overlap:
    return Overlap.of(Factor.of(x), Factor.of(y))


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


def _reaching(s: Array, share: float) -> int:
    xp = namespace(s)
    variance = xp.cumulative_sum(s**2)
    return int(xp.count_nonzero(variance < share * variance[-1])) + 1


def _clip(value: float) -> float:
    return min(max(value, 0.0), 1.0)
