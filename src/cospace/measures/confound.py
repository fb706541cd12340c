"""Likeness of two spaces beyond what a confound explains: partial RSA, and within groups.

Two models may be alike only because both tell long texts from short ones, or one topic from
another. These measures ask for likeness beyond that. They need to know the texts or their groups,
so the catalogue has no records of them: ``beyond`` and ``inside_groups`` make records for the rows
at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array, rows_at
from cospace._numbers import check_whole
from cospace.errors import (
    CospaceError,
    InputError,
    RowMismatchError,
    UndefinedMeasureError,
    UnknownNameError,
)
from cospace.measures.base import Measure
from cospace.measures.dissimilarity import (
    Dissimilarity,
    Levels,
    dissimilarities,
    dissimilarity_relation,
)
from cospace.measures.nuisance import NUISANCES, Nuisances, nuisance
from cospace.measures.pair import paired, related
from cospace.measures.relational import overlap_of
from cospace.summaries import Neighbors, Order, Relation

__all__ = [
    "BEYOND",
    "INSIDE_GROUPS",
    "beyond",
    "inside_groups",
    "partial_relation",
    "partial_rsa",
    "within_group_chance",
    "within_group_knn",
    "within_group_neighbors",
    "within_group_relation",
    "within_group_rsa",
]

Comparator = Literal["pearson", "spearman"]

INSIDE_GROUPS = ("within_group_rsa", "within_group_knn")
"""Names of the measures that ``inside_groups`` makes."""
BEYOND = "partial_rsa"
"""Name of the measure that ``beyond`` makes."""
_UNTESTED = (
    "shuffled rows would not share the {} of their texts, so that a p would test for that likeness too. For a "
    "test, put texts that are alike in it into groups, and ask for likeness beyond group"
)
_COORDINATES = frozenset({"scaling", "permutation"})


def beyond(
    names: Sequence[str],
    *,
    texts: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
) -> Measure:
    """Record of ``partial_rsa`` (Spearman, correlation) beyond some confounds of these very texts.

    What rises in a straight line with the ranks of a confound's dissimilarities is taken off, and no
    more: a direction of both spaces along which texts are long or short, say, stays almost whole.
    Whatever remains of the confound makes two spaces alike, and shuffled rows do not share it, so
    that a plain p would call the rest of the confound a finding. Therefore:

    - beyond ``group`` rows are shuffled inside the groups only: shuffled rows keep their group, and p
      tests likeness besides it. The level by chance is that of these shuffles.
    - beyond ``length`` or ``words`` there is a level by chance and no p, for no shuffle keeps them.
      Groups of texts of like length, and likeness beyond ``group``, give one.

    Parameters
    ----------
    names
        Out of ``length``, ``words`` and ``group``.
    texts
        The n texts, for ``length`` and ``words``.
    groups
        Their groups, for ``group``.

    Raises
    ------
    InputError
        For a name given twice, or one whose texts or groups are missing.
    UndefinedMeasureError
        For a confound that is the same for every two texts, or too few texts.
    UnknownNameError
        For another name.

    Examples
    --------
    >>> beyond(["length"], texts=["a", "bcd", "ef", "ghijk"]).title
    'RSA beyond length'
    """
    again = next((name for name in names if list(names).count(name) > 1), None)
    if again is not None:
        raise InputError(f"beyond names {again!r} twice: name each once.")
    for name in names:
        if name not in NUISANCES:
            raise UnknownNameError.among(name, NUISANCES, "confound")
    ready = Nuisances.of({name: nuisance(name, texts=texts, groups=groups) for name in names})
    relation = partial(partial_relation, nuisances=ready)
    told = _listed(names)
    loose = [name for name in names if name != "group"]
    kept = None if groups is None or "group" not in names else tuple(map(str, groups))
    return Measure(
        name=BEYOND,
        title=f"RSA beyond {told}",
        function=partial(related, relation),
        kind="similarity",
        bounds=(-1.0, 1.0),
        identical=1.0,
        symmetric=True,
        invariant_to=_COORDINATES,
        summary=f"RSA (Spearman) of distances between texts, less what rises with their difference in {told}"
        f"{'' if kept is None else '; rows are shuffled inside groups'}.",
        reference="Smouse, Long & Sokal 1986; Legendre 2000",
        cost="n² (d + log n) a space, n² a pair",
        needs="gram",
        summarise=relation,
        score=Relation.inner,
        relation=relation,
        groups=kept,
        untested=_UNTESTED.format(_listed(loose)) if loose else None,
        arrays="numpy",
    )


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
            invariant_to=_COORDINATES,
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


def partial_rsa(
    x: Array,
    y: Array,
    nuisances: Mapping[str, npt.ArrayLike],
    *,
    comparator: Comparator = "spearman",
    dissimilarity: Dissimilarity = "correlation",
) -> float:
    """RSA beyond nuisances: correlation of what regression on them leaves of the dissimilarities.

    From the n (n - 1) / 2 entries above the diagonals of both dissimilarity matrices the best
    linear combination of the nuisances' entries (and a constant) is taken off, and the rests are
    correlated. ``spearman`` does so with average ranks of all of them. So it takes off what rises
    with a nuisance, no more: spaces in which one direction is the length of the texts are still
    alike when the difference in length is taken off.

    Equivalent to the partial correlation of the entries given the nuisances (partial Mantel
    statistic).

    Parameters
    ----------
    x, y
        Rows of the source, shape (n, d_x), and of the target, shape (n, d_y).
    nuisances
        Name -> dissimilarity of every two texts, shape (n, n): ``length_dissimilarity``,
        ``lexical_dissimilarity``, ``group_dissimilarity``, or your own.
    comparator
        ``spearman`` or ``pearson``.
    dissimilarity
        Of two rows: ``cosine``, ``correlation``, ``euclidean`` or ``mahalanobis``.

    Returns
    -------
    float
        In [-1, 1]; 1 means the same dissimilarities up to what the nuisances explain; 0 on average
        when all rows are shuffled, which is no test of likeness beyond a nuisance unless shuffled
        rows keep it (see ``beyond``). Invariances as those of RSA with the same dissimilarity. Cost n^2 (d + q^2 +
        log n) for q nuisances; memory up to 8 n^2 (q + 7) bytes.

    Raises
    ------
    InputError
        For no nuisance, or one that is not a finite symmetric matrix.
    RowMismatchError
        For nuisances of another number of texts.
    UndefinedMeasureError
        For a nuisance that is the same for every two texts, or nuisances that explain all
        dissimilarities of a side; and where RSA is undefined.
    UnknownNameError
        For another comparator or dissimilarity.

    References
    ----------
    Smouse, Long & Sokal 1986; Kriegeskorte et al. 2008.

    Examples
    --------
    The mean of two matrices taken off each of them leaves opposite rests:

    >>> import numpy as np
    >>> x, y = np.array([[0.0], [1.0], [3.0], [7.0]]), np.array([[0.0], [2.0], [3.0], [7.0]])
    >>> middle = (abs(x - x.T) + abs(y - y.T)) / 2
    >>> options = {"comparator": "pearson", "dissimilarity": "euclidean"}
    >>> round(partial_rsa(x, y, {"middle": middle}, **options), 9)
    -1.0
    """
    a, b = paired(x, y)
    ready = Nuisances.of(nuisances, comparator)
    source, target = (
        partial_relation(rows, ready, dissimilarity=dissimilarity, name=name)
        for rows, name in ((a, "source"), (b, "target"))
    )
    return source.inner(target)


def partial_relation(
    rows: Array,
    nuisances: Nuisances,
    *,
    dissimilarity: Dissimilarity = "correlation",
    name: str = "space",
) -> Relation:
    """Relation whose inner product is ``partial_rsa``.

    Permuted, it is the rest that moves, and the nuisances stay with the rows of the other side
    (the null model of Kennedy 1995 and Legendre 2000). Where two spaces share more of a nuisance
    than the regression takes off, that null is too narrow, unless rows move inside groups that
    are alike in the nuisance.
    """
    n = rows.shape[0]
    if n != nuisances.n:
        raise RowMismatchError(
            f"The {name} has {n} rows and the nuisances are of {nuisances.n} texts: one row for each text."
        )
    whole = dissimilarity_relation(
        rows, dissimilarity=dissimilarity, comparator=nuisances.comparator
    )
    on_or_above = np.triu_indices(n)
    entries = whole.vector[on_or_above[0] != on_or_above[1]]
    # Rests are orthogonal to every change of the regression, so that, as for centring, a bootstrap
    # need not fit it again.
    return _above(nuisances.left_of(entries, name=name), n)


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


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _above(entries: npt.NDArray[np.float64], n: int) -> Relation:
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = entries
    return Relation.symmetric(matrix, interval="pairs")
