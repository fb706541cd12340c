"""What one space is like by itself: its effective rank and its intrinsic dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, as_rows, namespace, to_numpy
from cospace.errors import InputError, UndefinedMeasureError
from cospace.linalg import norm, singular_values
from cospace.measures.nearest import euclidean_neighbors
from cospace.measures.pair import sized

__all__ = [
    "DESCRIPTIONS",
    "Description",
    "effective_rank",
    "local_pca_dimension",
    "participation_ratio",
    "two_nn_dimension",
]

Matrix = npt.NDArray[np.float64]
_BLOCK_BYTES = 1 << 26
_REPEAT = 1e-5


@dataclass(frozen=True)
class Description:
    """A description of one space and its claims."""

    name: str
    """Name in tables."""
    title: str
    """Name in captions."""
    function: Callable[[Array], float]
    """Rows of shape (n, d) in, float out."""
    bounds: tuple[float | None, float | None]
    """Least and greatest possible value; None where that depends on the shape of the rows."""
    invariant_to: frozenset[str]
    """Those of ``TRANSFORMS`` that change nothing."""
    summary: str
    """One sentence for tables."""
    reference: str
    """Where the definition is from."""
    cost: str
    """Order of operations in n and d."""

    def __call__(self, rows: Array) -> float:
        """Value on rows of shape (n, d)."""
        return self.function(rows)


def effective_rank(rows: Array) -> float:
    """Effective rank: the exponential of the entropy of the singular values.

    ``exp(-sum_i p_i log p_i)``, ``p_i = s_i / sum_j s_j``, s the singular values of the centred
    rows. No tolerance is involved.

    Parameters
    ----------
    rows
        Shape (n, d).

    Returns
    -------
    float
        From 1 (one direction) to min(n - 1, d) (all directions of equal size). Invariant to
        translation, rotation and isotropic scale. Cost n d min(n, d).

    Raises
    ------
    UndefinedMeasureError
        When all rows are the same.

    References
    ----------
    Roy & Vetterli 2007.

    Examples
    --------
    >>> round(effective_rank([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), 12)
    2.0
    """
    x = sized(as_rows(rows, name="rows"))
    s = to_numpy(singular_values(x))
    p = s[s > 0.0] / np.sum(s)
    return float(np.exp(-np.sum(p * np.log(p))))


def participation_ratio(rows: Array) -> float:
    """Participation ratio: how many directions of equal variance would be as spread out.

    ``(sum_i l_i)^2 / sum_i l_i^2 = tr(C)^2 / ||C||_F^2``, l the eigenvalues of the covariance C.
    No decomposition is made. One direction that holds the share q of the variance keeps it at or
    below 1 / q^2.

    Parameters
    ----------
    rows
        Shape (n, d).

    Returns
    -------
    float
        From 1 to min(n - 1, d), at most ``effective_rank``. Invariant to translation, rotation and
        isotropic scale. Cost n d min(n, d).

    Raises
    ------
    UndefinedMeasureError
        When all rows are the same.

    References
    ----------
    Gao et al. 2017.

    Examples
    --------
    Variances 2 and 1: 3^2 / (4 + 1).

    >>> x = [[2**0.5, 0.0], [-(2**0.5), 0.0], [0.0, 1.0], [0.0, -1.0]]
    >>> round(participation_ratio(x), 12)
    1.8
    """
    x = sized(as_rows(rows, name="rows"))
    inner = x @ x.T if x.shape[0] < x.shape[1] else x.T @ x
    total = float(namespace(x).linalg.trace(inner))
    return max((total / norm(inner)) ** 2, 1.0)


def two_nn_dimension(rows: Array, *, discard: float = 0.1) -> float:
    """Intrinsic dimension from the ratio of the distances to the two nearest other rows.

    With ``mu_i = r_2(i) / r_1(i)`` in ascending order, the slope through the origin of
    ``-log(1 - i / n)`` against ``log mu_i``, i = 1 ... n, the greatest ``discard`` of them left
    out, and with them the last one, whose logarithm is infinite.

    Repeated rows (to 1e-5 of their length) are counted once: they say nothing about dimension, and
    a distance of 0 has no ratio.

    Parameters
    ----------
    rows
        Shape (n, d).
    discard
        Share of the greatest ratios to leave out, at least 0 and below 1.

    Returns
    -------
    float
        Above 0; the dimension of the manifold that rows of locally even density lie on, too small
        where it exceeds about 20. Invariant to translation, rotation and isotropic scale. Cost
        n^2 d.

    Raises
    ------
    InputError
        For ``discard`` outside [0, 1).
    UndefinedMeasureError
        For fewer than 4 different rows, or where all ratios kept are 1 (a lattice).

    References
    ----------
    Facco et al. 2017.

    Examples
    --------
    Rows 0, 1, 3, 7 and 15 have the nearest distances 1, 1, 2, 4, 8 and the next ones 3, 2, 3, 6,
    12, so mu = 3, 2, 3/2, 3/2, 3/2. In order 3/2, 3/2, 3/2, 2 against -log of 4/5, 3/5, 2/5, 1/5.

    >>> import math
    >>> a, b = math.log(1.5), math.log(2.0)
    >>> by_hand = (a * -math.log(4 / 5 * 3 / 5 * 2 / 5) + b * math.log(5)) / (3 * a * a + b * b)
    >>> x = [[0.0], [1.0], [3.0], [7.0], [15.0]]
    >>> math.isclose(two_nn_dimension(x), by_hand)
    True
    """
    if not 0.0 <= discard < 1.0:
        raise InputError(f"The share to discard is {discard}; at least 0 and below 1 is needed.")
    x = _different(rows)
    n = len(x)
    if n < 4:
        raise UndefinedMeasureError(
            f"TwoNN needs at least 4 different rows, got {n}: repeats say nothing about dimension."
        )
    index = euclidean_neighbors(x, 2).index
    near = np.sort(np.stack([_lengths(x - x[index[:, j]]) for j in range(2)], axis=1), axis=1)
    mu = np.sort(np.log(near[:, 1]) - np.log(near[:, 0]))
    keep = min(math.floor((1.0 - discard) * n + 1e-9), n - 1)
    rise = -np.log1p(-np.arange(1, keep + 1) / n)
    mu = mu[:keep]
    spread = float(mu @ mu)
    if spread <= 1e-24:
        raise UndefinedMeasureError(
            "Every row is as far from its second neighbour as from its first: TwoNN has no ratio to fit."
        )
    return float(mu @ rise) / spread


def local_pca_dimension(rows: Array, *, k: int = 50, share: float = 0.95) -> float:
    """Mean number of principal components that hold 95 % of the variance among neighbours.

    For each row the smallest m such that the m largest variances of its k nearest other rows,
    about their own mean, reach ``share`` of their sum; then the mean over rows. Repeated rows (to
    1e-5 of their length) are counted once.

    Parameters
    ----------
    rows
        Shape (n, d).
    k
        Number of neighbours, by Euclidean distance. The value is at most k - 1 and grows with k:
        choose k well above it, and compare spaces at the same k only.
    share
        Share of the variance, above 0 and at most 1.

    Returns
    -------
    float
        From 1 to min(k - 1, d). Invariant to translation, rotation and isotropic scale. Cost
        n^2 d + n k^2 (d + k).

    Raises
    ------
    InputError
        For k < 2, or a share outside (0, 1].
    UndefinedMeasureError
        For fewer than k + 2 different rows, or rows that are all equally near.

    References
    ----------
    Fukunaga & Olsen 1971; Lee et al. 2025 (for embeddings of language models).

    Examples
    --------
    Rows on a line have dimension 1 everywhere.

    >>> local_pca_dimension([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0], [8.0, 16.0], [9.0, 18.0]], k=3)
    1.0
    """
    if not 0.0 < share <= 1.0:
        raise InputError(f"The share of variance is {share}; above 0 and at most 1 is needed.")
    if k < 2:
        raise InputError(f"{k} neighbours were asked for; at least 2 are needed.")
    x = _different(rows)
    index = euclidean_neighbors(x, k).index
    n, d = x.shape
    found = np.empty(n)
    step = max(_BLOCK_BYTES // (8 * k * (d + k)), 1)
    for start in range(0, n, step):
        near = x[index[start : start + step]]
        near = near - near.mean(axis=1, keepdims=True)
        turned = near.transpose(0, 2, 1)
        inner = near @ turned if k < d else turned @ near
        variances = np.clip(np.linalg.eigvalsh(inner)[:, ::-1], 0.0, None)
        reached = np.cumsum(variances, axis=1)
        short = reached < share * (1.0 - 1e-12) * reached[:, -1:]
        found[start : start + step] = np.sum(short, axis=1) + 1
    return float(found.mean())


def _different(rows: Array) -> Matrix:
    """Centred rows in float64, each once, in the order in which they first occur.

    Rows that differ by less than 1e-5 of their length are one: texts that repeat in another batch
    come back with other last digits.
    """
    x = to_numpy(as_rows(rows, name="rows"))
    x = x[np.sort(np.unique(x, axis=0, return_index=True)[1])]
    while True:
        x = to_numpy(sized(x))
        if len(x) < 4:
            return x
        nearest = euclidean_neighbors(x, 1).index[:, 0]
        again = (_lengths(x - x[nearest]) <= _REPEAT * _lengths(x)) & (nearest < np.arange(len(x)))
        if not again.any():
            return x
        x = x[~again]


def _lengths(x: Matrix) -> Matrix:
    return np.asarray(np.linalg.norm(x, axis=1))


_SHAPE = frozenset({"translation", "scaling", "orthogonal"})

DESCRIPTIONS: tuple[Description, ...] = (
    Description(
        name="effective_rank",
        title="Effective rank",
        function=effective_rank,
        bounds=(1.0, None),
        invariant_to=_SHAPE,
        summary="How many directions a space fills, by the entropy of its singular values.",
        reference="Roy & Vetterli 2007",
        cost="n d²",
    ),
    Description(
        name="participation_ratio",
        title="Participation ratio",
        function=participation_ratio,
        bounds=(1.0, None),
        invariant_to=_SHAPE,
        summary="How many directions of equal variance would be as spread out.",
        reference="Gao et al. 2017",
        cost="n d²",
    ),
    Description(
        name="two_nn_dimension",
        title="Intrinsic dimension (TwoNN)",
        function=two_nn_dimension,
        bounds=(0.0, None),
        invariant_to=_SHAPE,
        summary="Dimension of the manifold that the rows lie on, from the two nearest neighbours of each.",
        reference="Facco et al. 2017",
        cost="n² d",
    ),
    Description(
        name="local_pca_dimension",
        title="Local dimension (PCA, k = 50)",
        function=local_pca_dimension,
        bounds=(1.0, None),
        invariant_to=_SHAPE,
        summary="Principal components that hold 95 % of the variance among the 50 nearest of a row, on average.",
        reference="Fukunaga & Olsen 1971; Lee et al. 2025",
        cost="n² d + n k² (d + k)",
    ),
)
