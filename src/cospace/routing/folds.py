"""Folds of items: alike in their strata, clusters whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from cospace._numbers import check_whole
from cospace.errors import InputError

__all__ = ["Places", "deal"]

Places = npt.NDArray[np.int64]


def deal(
    strata: Sequence[Hashable],
    folds: int,
    *,
    clusters: Sequence[Hashable] | None = None,
    rng: np.random.Generator,
) -> Places:
    """Deal items into folds so that every stratum is spread evenly.

    Clusters are dealt whole, the largest first, each into the fold that has fewest items of the
    cluster's commonest stratum, then fewest items, then by chance.

    Parameters
    ----------
    strata
        What folds should have equal shares of, one an item.
    folds
        Number of folds.
    clusters
        Items that must not be parted; by default every item stands alone.
    rng
        Generator.

    Returns
    -------
    array of shape (n,)
        Fold of every item, 0 to folds - 1; none is empty.

    Raises
    ------
    InputError
        For fewer than 2 folds, or fewer clusters than folds.

    Examples
    --------
    >>> fold = deal("aaaabb", 2, rng=np.random.default_rng(0))
    >>> sorted(fold[:4].tolist()), sorted(fold[4:].tolist())
    ([0, 0, 1, 1], [0, 1])
    """
    check_whole(folds=folds)
    n = len(strata)
    names: list[Hashable] = list(range(n)) if clusters is None else list(clusters)
    members: dict[Hashable, list[int]] = {}
    for i, name in enumerate(names):
        members.setdefault(name, []).append(i)
    if folds < 2 or len(members) < folds:
        what = "items" if clusters is None else "clusters of items"
        raise InputError(
            f"{len(members)} {what} cannot be dealt into {folds} folds: from 2 folds, and no more than {what}, are "
            "expected."
        )
    shuffled = [list(members)[i] for i in rng.permutation(len(members))]
    shuffled.sort(key=lambda name: -len(members[name]))
    found = np.empty(n, np.int64)
    whole = np.zeros(folds)
    of_stratum: dict[Hashable, npt.NDArray[np.float64]] = {}
    for name in shuffled:
        inside = members[name]
        stratum = Counter(strata[i] for i in inside).most_common(1)[0][0]
        held = of_stratum.setdefault(stratum, np.zeros(folds))
        order = np.lexsort((rng.random(folds), whole, held))
        fold = int(order[0])
        found[inside] = fold
        whole[fold] += len(inside)
        for i in inside:
            of_stratum.setdefault(strata[i], np.zeros(folds))[fold] += 1
    return _none_empty(found, folds, members, rng)


def _none_empty(
    found: Places, folds: int, members: dict[Hashable, list[int]], rng: np.random.Generator
) -> Places:
    """Move a cluster into each fold that got none, from the fold of most clusters."""
    for fold in range(folds):
        if (found == fold).any():
            continue
        homes = {name: int(found[inside[0]]) for name, inside in members.items()}
        crowded = Counter(homes.values()).most_common(1)[0][0]
        movable = [name for name, home in homes.items() if home == crowded]
        found[members[movable[int(rng.integers(len(movable)))]]] = fold
    return found
