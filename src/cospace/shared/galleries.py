"""Which answers a query is searched among, so that group or length cannot give its own text away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError

__all__ = ["AMONG", "Gallery", "galleries", "same_group", "similar_length"]

Mask = npt.NDArray[np.bool_]

AMONG: Mapping[str, str] = {
    "all": "all texts of the set",
    "any": "as few texts as in the two below, of any kind",
    "group": "texts of the same group",
    "length": "the texts nearest in length",
}
"""What a query is searched among."""

MOST = 20
"""Most texts of a gallery of one group or one length."""


@dataclass(frozen=True, eq=False)
class Gallery:
    """One way to search a set."""

    among: str
    """Name in :data:`AMONG`."""
    size: int
    """Texts that are searched, the own one included."""
    mask: Mask | None
    """Shape (n, n), which answers a query is searched among; None for all."""


def same_group(groups: Sequence[str]) -> Mask:
    """Texts of the group of each text, shape (n, n).

    Examples
    --------
    >>> same_group(["a", "b", "a"]).astype(int).tolist()
    [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    """
    names = np.unique(np.asarray(groups, dtype=object).astype(str), return_inverse=True)[1]
    return np.asarray(names[:, None] == names)


def similar_length(lengths: Sequence[float], size: int) -> Mask:
    """The own text and the ``size - 1`` others whose length is nearest by ratio, shape (n, n).

    Of equally near ones the earlier is taken.

    Raises
    ------
    InputError
        For a size that n texts do not have, or a length that is not positive.

    Examples
    --------
    >>> similar_length([10, 11, 40, 44], 2).astype(int).tolist()
    [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    """
    size_of = np.asarray(lengths, dtype=np.float64)
    n = len(size_of)
    if not 2 <= size <= n:
        raise InputError(f"A gallery of {size} of {n} texts was asked for; 2 to {n} can be had.")
    if not np.all(size_of > 0.0):
        raise InputError(
            f"The length of text {int(np.argmin(size_of > 0.0))} is {size_of.min():g}; more than 0 is expected."
        )
    apart = np.abs(np.log(size_of[:, None] / size_of))
    apart[np.arange(n), np.arange(n)] = -1.0
    mask = np.zeros((n, n), dtype=bool)
    mask[np.arange(n)[:, None], np.argsort(apart, axis=1, kind="stable")[:, :size]] = True
    return mask


def galleries(
    n: int, size: int, groups: Sequence[str] | None, lengths: Sequence[float] | None
) -> tuple[Gallery, ...]:
    """Ways to search a set of n texts, as far as groups and lengths of its answers are known.

    Galleries of one group, of one length and of any texts have one size: at most :data:`MOST` and
    ``size``, and no more than the group of the median text holds.
    """
    found = [Gallery("all", size, None)]
    masks: dict[str, Mask] = {}
    small = min(MOST, size)
    if groups is not None and len(set(groups)) > 1:
        many = Counter(groups)
        median = int(np.median([many[one] for one in groups]))
        if median > 1:
            small = min(small, median)
            masks["group"] = same_group(groups)
    if lengths is not None and len(set(lengths)) > 1:
        masks["length"] = similar_length(lengths, small)
    if masks:
        found += [Gallery("any", small, None), *(Gallery(k, small, m) for k, m in masks.items())]
    return tuple(found)
