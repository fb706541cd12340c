"""Relative representations: rows described by their cosines to shared anchors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, double, to_numpy
from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures.base import Measure
from cospace.measures.pair import paired
from cospace.summaries import ROUNDING, TIE, Relation

__all__ = ["MEASURES", "relative_similarity"]

Matrix = npt.NDArray[np.float64]


def relative_similarity(
    x: Array,
    y: Array,
    *,
    anchors: int | None = None,
    rng: int | np.random.Generator = 0,
) -> float:
    """Mean cosine of the same row's relative representations in the two spaces.

    ``mean_i cos(r_x(i), r_y(i))`` with ``r(i) = [cos(row i, anchor a)]_a``, the anchors being the
    same rows in both spaces. A row is no anchor of itself: that entry, 1 in every space, is 0.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    anchors
        How many rows are anchors, 2 or more; by default all, so that nothing is left to chance
        and the order of rows does not matter.
    rng
        Seed or generator that draws the anchors.

    Returns
    -------
    float
        In [-1, 1]; 1 means the same cosines up to a factor for each row. *Not* 0 by chance: where
        all rows of a space point into one half of it, as those of language models do, cosines are
        all positive and the value is near 1 for any two such spaces; mind the null, or centre the
        rows first. Invariant to rotation and isotropic scale, not to translation. Cost n a d a
        space, n a a pair, of a anchors.

    Raises
    ------
    InputError
        For fewer than 2 anchors or more than there are rows.
    UndefinedMeasureError
        For a row of zeros, rows that all relate alike, or a row at right angles to all anchors.

    References
    ----------
    Moschella et al. 2023 (there an anchor keeps its own entry).

    Examples
    --------
    Rows at 0, 60 and 90 degrees: r(0) = (0, 1/2, 0), r(1) = (1/2, 0, sqrt(3)/2) and
    r(2) = (0, sqrt(3)/2, 0). Turned by any angle and scaled they stay the same.

    >>> x = [[1.0, 0.0], [0.5, 3**0.5 / 2], [0.0, 1.0]]
    >>> y = [[0.0, 2.0], [-(3**0.5), 1.0], [-2.0, 0.0]]
    >>> round(relative_similarity(x, y), 12)
    1.0
    """
    a, b = paired(x, y)
    if anchors is None:
        return relative_relation(a).inner(relative_relation(b))
    n = a.shape[0]
    if not 2 <= anchors <= n:
        raise InputError(
            f"{anchors} anchors were asked for; from 2 to all {n} rows can be anchors."
        )
    chosen = np.sort(np.random.default_rng(rng).choice(n, anchors, replace=False))
    cosines = np.sum(_relative(a, chosen) * _relative(b, chosen), axis=1)
    return float(min(max(np.mean(cosines), -1.0), 1.0))


def relative_relation(rows: Array) -> Relation:
    """Relation whose inner product is ``relative_similarity`` with all rows as anchors."""
    return Relation.directed(_relative(rows, np.arange(rows.shape[0])))


def _relative(rows: Array, anchors: npt.NDArray[np.int64]) -> Matrix:
    """Relative representations at unit length, shape (n, anchors)."""
    x = to_numpy(double(rows))
    size = np.linalg.norm(x, axis=1, keepdims=True)
    if not size.all():
        raise UndefinedMeasureError(
            f"Row {int(np.flatnonzero(size == 0)[0])} is zero: it has no direction, so no cosines to anchors."
        )
    x = x / size
    cosines = x @ x[anchors].T
    own = anchors, np.arange(len(anchors))
    cosines[own] = np.nan
    if np.nanmax(cosines) - np.nanmin(cosines) <= TIE:
        raise UndefinedMeasureError("All rows relate alike: there is nothing to compare.")
    cosines[own] = 0.0
    size = np.linalg.norm(cosines, axis=1, keepdims=True)
    lost = size[:, 0] <= ROUNDING
    if lost.any():
        raise UndefinedMeasureError(
            f"Row {int(np.flatnonzero(lost)[0])} is at right angles to every anchor: it has no relative representation."
        )
    return np.asarray(cosines / size)


MEASURES: tuple[Measure, ...] = (
    Measure(
        name="relative_similarity",
        title="Relative representations",
        function=relative_similarity,
        kind="similarity",
        bounds=(-1.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=frozenset({"scaling", "orthogonal"}),
        summary="Whether each text has the same cosines to all others; near 1 for any two narrow cones: mind the null.",
        reference="Moschella et al. 2023",
        cost="n² d a space, n² a pair",
        needs="rows",
        summarise=relative_relation,
        score=Relation.inner,
        relation=relative_relation,
        arrays="numpy",
    ),
)
