"""A noise ceiling by split halves of the coordinates: how alike a space is to itself, seen twice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from array_api_compat import device

from cospace._arrays import Array, as_rows, namespace
from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures.base import Measure

__all__ = ["Ceiling", "split_half_ceiling"]


@dataclass(frozen=True)
class Ceiling:
    """Likeness of random halves of a space's coordinates."""

    halves: float
    """Mean of the measure between two halves."""
    corrected: float
    """Spearman and Brown's estimate for all coordinates, ``2 r / (1 + r)`` of ``halves``."""
    splits: int
    """Number of random splits."""

    def of_pair(self, other: Ceiling) -> float:
        """Value to be expected of two spaces that differ in which coordinates were drawn.

        The geometric mean of the two corrected values (Spearman's attenuation).

        Examples
        --------
        >>> round(Ceiling(0.25, 0.4, 20).of_pair(Ceiling(0.82, 0.9, 20)), 12)
        0.6
        """
        return math.sqrt(self.corrected * other.corrected)


def split_half_ceiling(
    rows: Array, measure: Measure, *, splits: int = 20, rng: np.random.Generator
) -> Ceiling:
    """Noise ceiling of one space by split halves of its coordinates.

    The coordinates are cut into random halves of equal size (of an odd number one is left out each
    time), and the measure is taken between the two halves of the same rows. r is its mean over the
    splits; ``2 r / (1 + r)`` is what two sets as large as all coordinates would give.

    It says how well the coordinates at hand determine what the measure sees, as if they were a
    random sample of many alike: it is what another such sample would reach. The same coordinates
    under fresh noise are no other sample, and may be more alike. It knows nothing of other noise:
    not of the texts drawn, not of a model trained again. Exact for measures that correlate sums
    over coordinates, such as debiased CKA and RSA on squared distances, where coordinates are
    exchangeable; else a guide. Biased measures (linear CKA, overlap of neighbours) find halves of
    pure noise alike too, and give a
    ceiling that is too high: prefer their debiased forms.

    Parameters
    ----------
    rows
        Shape (n, d), d >= 2.
    measure
        A similarity.
    splits
        Number of random splits.
    rng
        Generator.

    Returns
    -------
    Ceiling
        ``corrected`` is at most 1. Cost: ``splits`` times that of the measure at half the width.
        Once a space; ``Ceiling.of_pair`` gives that of a pair.

    Raises
    ------
    InputError
        For a measure that is no similarity, or fewer than 1 split.
    UndefinedMeasureError
        For fewer than 2 coordinates, or halves that are not alike on average: then there is no
        ceiling, for nothing in the space repeats. What the measure refuses is refused.

    References
    ----------
    Spearman 1910; Brown 1910; Spearman 1904 (attenuation).

    Examples
    --------
    Four coordinates that all say the same: every half is like every other.

    >>> from cospace.measures import CATALOGUE, find
    >>> rows = [[v, v, v, v] for v in (0.0, 1.0, 2.0, 5.0, 9.0)]
    >>> cka = find("debiased_cka", CATALOGUE)
    >>> ceiling = split_half_ceiling(rows, cka, splits=3, rng=np.random.default_rng(0))
    >>> round(ceiling.halves, 12), round(ceiling.corrected, 12)
    (1.0, 1.0)
    """
    if measure.kind != "similarity":
        raise InputError(
            f"{measure.name} is a {measure.kind}: a ceiling by split halves needs a similarity."
        )
    if splits < 1:
        raise InputError(f"{splits} splits were asked for; at least 1 is needed.")
    x = as_rows(rows, name="rows")
    width = x.shape[1]
    if width < 2:
        raise UndefinedMeasureError(
            f"A space of width {width} has no halves: at least 2 coordinates are needed."
        )
    half = width // 2
    values = []
    for _ in range(splits):
        order = rng.permutation(width)
        values.append(measure(_columns(x, order[:half]), _columns(x, order[half : 2 * half])))
    mean = math.fsum(values) / splits
    if not mean > 0.0:
        raise UndefinedMeasureError(
            f"{measure.title} of halves of the coordinates is {mean:.3g} on average: nothing in this space "
            "repeats, so it has no ceiling."
        )
    return Ceiling(mean, 2.0 * mean / (1.0 + mean), splits)


def _columns(x: Array, order: Array) -> Array:
    xp = namespace(x)
    return xp.take(x, xp.asarray(order, device=device(x)), axis=1)
