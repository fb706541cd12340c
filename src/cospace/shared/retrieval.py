"""Retrieval across models: whether a row finds its own text among those of another model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.stats import hypergeom

from cospace._numbers import check_whole
from cospace.errors import InputError, UndefinedMeasureError
from cospace.shared.scaling import Floats
from cospace.stats.intervals import percentile_interval
from cospace.stats.resampling import Weights

__all__ = [
    "MEASURES",
    "NEIGHBORS",
    "Difference",
    "Estimate",
    "Hits",
    "chance",
    "compare_hits",
    "estimate",
    "pooled",
    "retrieve",
    "unit_rows",
]

MEASURES: Mapping[str, str] = {
    "top1": "share of queries whose own text is nearest",
    "top5": "share of queries whose own text is among the 5 nearest",
    "mrr": "mean of 1 / rank of the own text",
    "csls": "top-1 by CSLS, cosines less the mean to the nearest of either side",
    "margin": "mean cosine to the own text less that to the nearest other",
}
"""What is measured of a retrieval."""

NEIGHBORS = 10
"""Nearest rows whose mean cosine CSLS takes off, or half of a gallery that has fewer than 20."""

_TIE = 1e-12
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Hits:
    """What became of every query, averaged over ties and over all galleries of a size."""

    top1: Floats
    """Chance that the own text is nearest, shape (n,)."""
    top5: Floats
    """Chance that it is among the 5 nearest."""
    mrr: Floats
    """Expected 1 / rank."""
    csls: Floats
    """Chance that it is nearest by CSLS."""
    margin: Floats
    """Cosine to the own text less the largest to another, among all n."""
    gallery: int
    """Number of texts that are searched."""


@dataclass(frozen=True)
class Estimate:
    """A mean over texts and its interval."""

    value: float
    """Mean over texts and pairs of models."""
    low: float
    """Lower end of the 95 % bootstrap interval over texts."""
    high: float
    """Upper end."""


@dataclass(frozen=True)
class Difference:
    """How much better one method does than another on the same texts."""

    value: float
    """Mean of the first less that of the second."""
    low: float
    """Lower end of the 95 % paired bootstrap interval over texts."""
    high: float
    """Upper end."""

    @property
    def verdict(self) -> str:
        """``better``, ``worse`` or ``not told apart``, the first against the second."""
        if self.low > 0.0:
            return "better"
        return "worse" if self.high < 0.0 else "not told apart"


def unit_rows(rows: Floats) -> Floats:
    """Rows divided by their length; rows of zeros stay."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(size > 0.0, size, 1.0))


def retrieve(
    queries: Floats,
    answers: Floats,
    *,
    gallery: int | None = None,
    among: npt.NDArray[np.bool_] | None = None,
) -> Hits:
    """Search the text of every query among the answers, by cosine.

    Row i of ``answers`` is the own text of row i of ``queries``. Of t equally near ones each is
    first with chance 1/t. With a ``gallery`` smaller than n, the own text is searched among
    itself and gallery - 1 others: the exact mean over all such choices, so that sets of different
    sizes compare and nothing is drawn.

    Parameters
    ----------
    queries, answers
        Shape (n, k) each, about the mean of the rows of the fit.
    gallery
        Texts that are searched, from 2 to n; by default all n.
    among
        Shape (n, n), which answers (columns) each query is searched among, see
        :mod:`~cospace.shared.galleries`; by default all. A query with fewer of them than the
        ``gallery``, its own included, is left out.

    Returns
    -------
    Hits
        Per query, see :data:`MEASURES`; CSLS and the margin look at all n answers first. Cost
        n^2 k.

    Raises
    ------
    InputError
        For shapes that do not agree, or a gallery that cannot be had.

    References
    ----------
    Conneau et al. 2018 (CSLS).

    Examples
    --------
    The second query is as near to the third answer as to its own.

    >>> import numpy as np
    >>> sides = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    >>> retrieve(sides, sides).top1.tolist()
    [1.0, 0.5, 0.5]
    """
    if queries.shape != answers.shape:
        raise InputError(
            f"queries have shape {queries.shape} and answers {answers.shape}; row i of both must be one text in the "
            "same coordinates."
        )
    n = len(queries)
    check_whole(gallery=gallery, or_none=True)
    size = n if gallery is None else gallery
    if not 2 <= size <= n:
        raise InputError(f"A gallery of {size} of {n} texts was asked for; 2 to {n} can be had.")
    a, b = unit_rows(queries), unit_rows(answers)
    near = a @ b.T
    own = np.einsum("ij,ij->i", a, b)
    near[np.arange(n), np.arange(n)] = own
    k = min(NEIGHBORS, n // 2)
    rows = np.partition(near, n - k, axis=1)[:, n - k :].mean(axis=1)
    columns = np.partition(near, n - k, axis=0)[n - k :].mean(axis=0)
    scaled = 2.0 * near - rows[:, None] - columns
    sizes = np.full(n, n)
    if among is not None:
        sizes = _searched(among, n, size)
        near[~among] = scaled[~among] = -np.inf
    ranks, by_csls = _ranks(near, own), _ranks(scaled, 2.0 * own - rows - columns)
    near[np.arange(n), np.arange(n)] = -np.inf
    margin = own - near.max(axis=1)
    found = np.empty((4, n))
    for many in np.unique(sizes[sizes >= size]):
        at = sizes == many
        top1, top5, mrr = _values(int(many), size)
        above, equal = (part[at] for part in ranks)
        for row, values in enumerate((top1, top5, mrr)):
            found[row, at] = _over_ties(values, above, equal)
        found[3, at] = _over_ties(top1, *(part[at] for part in by_csls))
    top1, top5, mrr, csls = found[:, sizes >= size]
    return Hits(top1, top5, mrr, csls, margin[sizes >= size], size)


def _searched(among: npt.NDArray[np.bool_], n: int, gallery: int) -> npt.NDArray[np.int64]:
    """How many answers each query is searched among."""
    if among.shape != (n, n) or not among.diagonal().all():
        raise InputError(
            f"among has shape {among.shape}; ({n}, {n}) with a diagonal of True is expected, the own text being among "
            "those that are searched."
        )
    sizes = np.asarray(among.sum(axis=1), dtype=np.int64)
    if sizes.max() < gallery:
        raise InputError(
            f"A gallery of {gallery} texts was asked for, and no query has more than {sizes.max()} to be searched "
            "among."
        )
    return sizes


def chance(gallery: int) -> dict[str, float | None]:
    """Exact value of each measure where queries have nothing to do with answers.

    The margin has no exact value by chance.

    Examples
    --------
    >>> chance(10)["top1"], chance(10)["top5"], chance(2)["mrr"]
    (0.1, 0.5, 0.75)
    """
    mrr = float(np.mean(1.0 / np.arange(1, gallery + 1)))
    top1 = 1.0 / gallery
    return {
        "top1": top1,
        "top5": min(5, gallery) / gallery,
        "mrr": mrr,
        "csls": top1,
        "margin": None,
    }


def pooled(hits: Sequence[Hits], measure: str) -> Floats:
    """Mean over pairs of models of every text's value, shape (n,)."""
    return np.asarray(np.mean([getattr(one, measure) for one in hits], axis=0))


def estimate(texts: Floats, *, draws: int = 2000, rng: int = 0) -> Estimate:
    """Mean over texts with its bootstrap interval: a text is drawn with all its pairs of models.

    Raises
    ------
    UndefinedMeasureError
        For fewer than 2 texts.
    """
    low, high = _ends(texts, draws, rng)
    return Estimate(float(np.mean(texts)), low, high)


def compare_hits(first: Floats, second: Floats, *, draws: int = 2000, rng: int = 0) -> Difference:
    """Paired bootstrap over texts of the difference of two methods, from :func:`pooled` values.

    Raises
    ------
    InputError
        For values of different texts.
    UndefinedMeasureError
        For fewer than 2 texts.
    """
    if first.shape != second.shape:
        raise InputError(
            f"One method has values of {len(first)} texts and the other of {len(second)}; a paired comparison needs "
            "the same texts."
        )
    low, high = _ends(first - second, draws, rng)
    return Difference(float(np.mean(first - second)), low, high)


def _ends(texts: Floats, draws: int, rng: int) -> tuple[float, float]:
    n = len(texts)
    if n < 2:
        raise UndefinedMeasureError(f"An interval over texts needs at least 2 texts, got {n}.")
    low, high = percentile_interval(_counts(n, draws, rng) @ texts / n)
    return float(low), float(high)


@lru_cache(maxsize=4)
def _counts(n: int, draws: int, rng: int) -> npt.NDArray[np.float64]:
    return np.asarray(Weights.of(n, draws, rng=np.random.default_rng(rng)).counts, dtype=np.float64)


def _ranks(near: Floats, own: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """How many others are nearer than the own text, and how many as near."""
    n = len(near)
    above, equal = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for start in range(0, n, _BLOCK):
        part = slice(start, min(start + _BLOCK, n))
        apart = near[part] - own[part, None]
        above[part] = np.sum(apart > _TIE, axis=1)
        equal[part] = np.sum(np.abs(apart) <= _TIE, axis=1) - 1
    return above, equal


@lru_cache(maxsize=256)
def _values(n: int, gallery: int) -> tuple[Floats, Floats, Floats]:
    """Top-1, top-5 and 1 / rank for every number of nearer ones among n, in a gallery of a size."""
    nearer = np.arange(n)
    if gallery == n:
        first, five = (np.asarray(nearer < most, dtype=np.float64) for most in (1, 5))
        return first, five, np.asarray(1.0 / (nearer + 1.0))
    drawn = np.arange(gallery)
    table: Floats = hypergeom.pmf(drawn[None, :], n - 1, nearer[:, None], gallery - 1)
    return (
        np.asarray(table[:, 0]),
        np.asarray(table[:, :5].sum(axis=1)),
        np.asarray(table @ (1.0 / (drawn + 1.0))),
    )


def _over_ties(
    values: Floats, above: npt.NDArray[np.int64], equal: npt.NDArray[np.int64]
) -> Floats:
    whole = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray((whole[above + equal + 1] - whole[above]) / (equal + 1))
