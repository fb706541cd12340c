"""Measures of canonical correlations and of least squares fits: the CCA family, in-sample R2.

x is the source, y the target; X and Y are their rows with the column means taken off. All
singular value decompositions are of X = U_x S_x V_x^T and Y = U_y S_y V_y^T.
"""

from __future__ import annotations

from cospace._arrays import Array, namespace
from cospace.errors import UndefinedMeasureError
from cospace.linalg import norm, thin_svd
from cospace.measures.bases import Bases
from cospace.measures.pair import paired
from cospace.summaries import Factor, Overlap

__all__ = ["mean_cca", "predictive_r2", "pwcca", "r2_cca", "svcca"]


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
    return min(max((norm(o.core[: o.rank_x, :] * o.s_y[None, :]) / norm(o.s_y)) ** 2, 0.0), 1.0)


def _overlap(x: Array, y: Array) -> Overlap:
    return Overlap.of(Factor.of(x), Factor.of(y))


def _reaching(s: Array, share: float) -> int:
    xp = namespace(s)
    variance = xp.cumulative_sum(s**2)
    return int(xp.count_nonzero(variance < share * variance[-1])) + 1
