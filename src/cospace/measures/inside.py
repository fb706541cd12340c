"""Likeness of two spaces inside groups of texts: RSA and neighbours of the same group.

Two models may be alike only because both tell one topic from another. These measures ask whether
they agree inside the groups. They need to know the groups, so the catalogue has no records of
them: ``inside_groups`` makes records for the rows at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

from cospace._arrays import Array, rows_at
from cospace._numbers import check_whole
from cospace.errors import CospaceError, InputError, UndefinedMeasureError, UnknownNameError
from cospace.measures.base import Measure
from cospace.measures.dissimilarity import Dissimilarity, Levels, dissimilarities
from cospace.measures.pair import paired, related
from cospace.measures.relational import overlap_of
from cospace.summaries import Neighbors, Order, Relation

__all__ = [
    "INSIDE_GROUPS",
    "inside_groups",
    "within_group_chance",
    "within_group_knn",
    "within_group_neighbors",
    "within_group_relation",
    "within_group_rsa",
]

Comparator = Literal["pearson", "spearman"]

INSIDE_GROUPS = ("within_group_rsa", "within_group_knn")
"""Names of the measures that ``inside_groups`` makes."""


def inside_groups(name: str, groups: Sequence[str]) -> Measure:
    """Record of ``within_group_rsa`` or ``within_group_knn`` (k = 10) for rows of these groups.

    Its rows may be shuffled inside groups only, and its level by chance is exact.

    Raises
    ------
    UndefinedMeasureError
        For neighbours in a group of fewer than 12 rows.
    UnknownNameError
        For another name.

    Examples
    --------
    >>> inside_groups("within_group_knn", ["a"] * 12 + ["b"] * 14).chance == (12 * 10 / 11 + 14 * 10 / 13) / 26
    True
    """
    if name not in INSIDE_GROUPS:
        raise UnknownNameError.among(name, INSIDE_GROUPS, "measure inside groups")
    kept = tuple(groups)
    if name == "within_group_rsa":
        relation = partial(within_group_relation, groups=kept)
        return Measure(
            name=name,
            title="RSA inside groups",
            function=partial(related, relation),
            kind="similarity",
            bounds=(-1.0, 1.0),
            identical=1.0,
            symmetric=True,
            invariant_to=frozenset({"scaling", "permutation"}),
            summary="Whether texts of one group that are far apart in one space are so in the other, by rank.",
            reference="Kriegeskorte et al. 2008, over pairs of one group",
            cost="n² (d + log n) a space, n² a pair",
            needs="gram",
            summarise=relation,
            score=Relation.inner,
            relation=relation,
            groups=kept,
            chance=0.0,
            arrays="numpy",
        )
    return Measure(
        name=name,
        title="Neighbours inside groups (k = 10)",
        function=partial(within_group_knn, groups=kept),
        kind="similarity",
        bounds=(0.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=frozenset({"scaling", "orthogonal"}),
        summary="Share of each text's 10 nearest neighbours in its group that are the same in both spaces.",
        reference="Huh et al. 2024, inside groups",
        cost="n g d a space for groups of g rows, n k a pair",
        needs="neighbours",
        summarise=partial(within_group_neighbors, groups=kept),
        score=overlap_of,
        relation=partial(_group_lists, groups=kept),
        groups=kept,
        chance=within_group_chance(kept),
        arrays="numpy",
    )


def within_group_rsa(
    x: Array,
    y: Array,
    groups: Sequence[str],
    *,
    comparator: Comparator = "spearman",
    dissimilarity: Dissimilarity = "correlation",
) -> float:
    """RSA over pairs of texts of the same group.

    Dissimilarities are taken off the mean of their group (``spearman``: average ranks inside the
    group, divided by its number of pairs) and then correlated over all groups at once. So neither
    which texts form a group nor how tight a group is can make two spaces alike.

    Equivalent to ``representational_similarity`` where all rows are one group.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    groups
        The group of every row.
    comparator
        ``spearman`` or ``pearson``.
    dissimilarity
        Of two rows: ``cosine``, ``correlation``, ``euclidean`` or ``mahalanobis``.

    Returns
    -------
    float
        In [-1, 1]; 1 means the same (order of) dissimilarities inside every group; 0 on average by
        chance, when rows are shuffled inside groups. Cost n^2 (d + log n); memory about 45 n^2
        bytes.

    Raises
    ------
    InputError
        For another number of groups than rows.
    UndefinedMeasureError
        For a group of fewer than 3 rows (they are named), and where RSA is undefined.
    UnknownNameError
        For another comparator or dissimilarity.

    References
    ----------
    Kriegeskorte et al. 2008 (the correlation; the restriction is ours).

    Examples
    --------
    The second group is far from the first in both spaces and wider; inside, one is turned round:
    distances 1, 3, 2 and 2, 3, 1 there have correlation 1/2, in the other group 1.

    >>> x = [[0.0], [1.0], [3.0], [90.0], [91.0], [93.0]]
    >>> y = [[0.0], [2.0], [3.0], [90.0], [91.0], [93.0]]
    >>> round(within_group_rsa(x, y, "aaabbb", dissimilarity="euclidean"), 12)
    0.75
    """
    a, b = paired(x, y)
    source, target = (
        within_group_relation(rows, groups, comparator=comparator, dissimilarity=dissimilarity)
        for rows in (a, b)
    )
    return source.inner(target)


def within_group_relation(
    rows: Array,
    groups: Sequence[str],
    *,
    comparator: Comparator = "spearman",
    dissimilarity: Dissimilarity = "correlation",
) -> Relation:
    """Relation whose inner product is ``within_group_rsa``; to be permuted inside groups only."""
    if comparator not in ("pearson", "spearman"):
        raise UnknownNameError.among(comparator, ("pearson", "spearman"), "comparator here")
    members = _members(groups, rows.shape[0], least=3, what="3 dissimilarities")
    by_rank = comparator == "spearman"
    apart = (
        Levels.of(rows, dissimilarity).matrix if by_rank else dissimilarities(rows, dissimilarity)
    )
    matrix = np.zeros(apart.shape)
    for place in members.values():
        first, second = (place[side] for side in np.triu_indices(len(place), 1))
        entries = apart[first, second].astype(np.float64)
        if by_rank:
            _, level, size = np.unique(entries, return_inverse=True, return_counts=True)
            entries = (np.cumsum(size) - (size - 1) / 2)[level] / len(entries)
        matrix[first, second] = entries - entries.mean()
    return Relation.symmetric(matrix, interval="pairs")


def within_group_knn(x: Array, y: Array, groups: Sequence[str], *, k: int = 10) -> float:
    """Mean overlap of the k nearest neighbours of the same row among the rows of its own group.

    ``mean_i |N_x(i) & N_y(i)| / k``, neighbours by cosine similarity inside the group of row i,
    the row itself excluded. ``mutual_knn`` counts it as likeness when both spaces merely put a
    group together; here they must agree inside it.

    Equivalent to ``mutual_knn`` where all rows are one group.

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    groups
        The group of every row.
    k
        Number of neighbours.

    Returns
    -------
    float
        In [0, 1]; 1 means the same neighbours everywhere; ``within_group_chance`` by chance.
        Invariant to isotropic scale and rotation, not to translation. Cost n g d for groups of g
        rows; memory as much as one block of a group.

    Raises
    ------
    InputError
        For k < 1, or another number of groups than rows.
    UndefinedMeasureError
        For a group of fewer than k + 2 rows (they are named), a row of zeros, or a group whose
        rows are all equally near.

    References
    ----------
    Huh et al. 2024 (the overlap; the restriction is ours).

    Examples
    --------
    Two rows of the second group change places, and the third one's neighbour with them.

    >>> x = [[1.0, 0.0], [1.0, 0.1], [1.0, 0.3], [0.0, 1.0], [0.1, 1.0], [0.3, 1.0]]
    >>> y = [[1.0, 0.0], [1.0, 0.1], [1.0, 0.3], [0.1, 1.0], [0.0, 1.0], [0.3, 1.0]]
    >>> within_group_knn(x, y, "aaabbb", k=1) == 5 / 6, within_group_chance("aaabbb", k=1)
    (True, 0.5)
    """
    a, b = paired(x, y)
    source, target = (within_group_neighbors(rows, groups, k=k) for rows in (a, b))
    return overlap_of(source, target)


def within_group_neighbors(rows: Array, groups: Sequence[str], *, k: int = 10) -> Neighbors:
    """Find the k nearest other rows of the same group of every row; to be permuted inside groups."""
    check_whole(k=k)
    if k < 1:
        raise InputError(f"{k} neighbours were asked for; at least 1 is needed.")
    n = rows.shape[0]
    index = np.empty((n, k), dtype=np.int64)
    for name, place in _members(groups, n, least=k + 2, what=f"{k} neighbours").items():
        try:
            near = Neighbors.of(rows_at(rows, place), k).index
        except CospaceError as error:
            raise type(error)(
                f"Within the group {name!r}, rows counted inside it: {error}"
            ) from None
        index[place] = place[near]
    return Neighbors(index)


def _group_lists(rows: Array, groups: Sequence[str]) -> Relation:
    """Relation whose inner product is ``within_group_knn``."""
    return Relation.directed(within_group_neighbors(rows, groups).adjacency())


def within_group_chance(groups: Sequence[str], *, k: int = 10) -> float:
    """Exact mean of ``within_group_knn`` over all shuffles of rows inside groups.

    ``mean_i k / (g_i - 1)``, g_i the size of the group of row i.

    Examples
    --------
    >>> within_group_chance("aaabbbbb", k=1) == (3 / 2 + 5 / 4) / 8
    True
    """
    members = _members(groups, len(groups), least=k + 2, what=f"{k} neighbours")
    total = sum(len(place) * k / (len(place) - 1) for place in members.values())
    return float(total / len(groups))


def _members(groups: Sequence[str], n: int, *, least: int, what: str) -> dict[str, Order]:
    """Rows of every group, refused where one has fewer than ``least``."""
    names = np.asarray(list(groups))
    if len(names) != n:
        raise InputError(f"{n} rows but {len(names)} groups: one for each row.")
    members = {str(name): np.flatnonzero(names == name) for name in np.unique(names)}
    small = [
        f"{name!r} ({len(place)} rows)" for name, place in members.items() if len(place) < least
    ]
    if small:
        more = f" and {len(small) - 3} more" if len(small) > 3 else ""
        raise UndefinedMeasureError(
            f"Too small for {what} inside a group of at least {least} rows: {', '.join(small[:3])}{more}. "
            "Leave these rows out, or join groups."
        )
    return members
