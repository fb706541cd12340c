"""Likeness of two spaces beyond what a confound explains: partial RSA.

Two models may be alike only because both tell long texts from short ones, or one topic from
another. Partial RSA asks for likeness beyond that. It needs to know the texts, so the catalogue has
no record of it: ``beyond`` makes one for the rows at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from cospace._arrays import Array
from cospace.errors import (
    InputError,
    RowMismatchError,
    UnknownNameError,
)
from cospace.measures.base import Measure
from cospace.measures.dissimilarity import (
    Dissimilarity,
    dissimilarity_relation,
)
from cospace.measures.nuisance import NUISANCES, Nuisances, nuisance
from cospace.measures.pair import paired, related
from cospace.summaries import Relation

__all__ = [
    "BEYOND",
    "beyond",
    "partial_relation",
    "partial_rsa",
]

Comparator = Literal["pearson", "spearman"]

BEYOND = "partial_rsa"
"""Name of the measure that ``beyond`` makes."""
_UNTESTED = (
    "shuffled rows would not share the {} of their texts, so that a p would test for that likeness too. For a "
    "test, put texts that are alike in it into groups, and ask for likeness beyond group"
)


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
        invariant_to=frozenset({"scaling", "permutation"}),
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


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _above(entries: npt.NDArray[np.float64], n: int) -> Relation:
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = entries
    return Relation.symmetric(matrix, interval="pairs")
