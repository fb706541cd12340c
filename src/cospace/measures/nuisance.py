"""What texts share besides what is asked about: length, words, groups, as dissimilarities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from cospace._arrays import to_numpy
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.linalg import thin_svd

__all__ = [
    "NUISANCES",
    "Nuisances",
    "group_dissimilarity",
    "length_dissimilarity",
    "lexical_dissimilarity",
    "nuisance",
]

Matrix = npt.NDArray[np.float64]

NUISANCES = ("length", "words", "group")
"""Names of what can be regressed out of the texts at hand."""

_WORD = re.compile(r"\w+")
_ROUNDING = 1e-12
_DEPENDENT = 1e-10


def length_dissimilarity(texts: Sequence[str] | Sequence[float]) -> Matrix:
    """Difference in length of every two texts, ``|l_i - l_j|``.

    Parameters
    ----------
    texts
        The n texts, whose lengths are counted in characters; or the n lengths themselves, such as
        numbers of tokens.

    Returns
    -------
    numpy.ndarray
        Shape (n, n), 8 n^2 bytes, symmetric, with a diagonal of zeros.

    Examples
    --------
    >>> length_dissimilarity(["a", "abc", "ab"]).tolist()
    [[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    lengths = np.asarray([len(t) if isinstance(t, str) else float(t) for t in texts], dtype=float)
    return np.asarray(np.abs(lengths[:, None] - lengths[None, :]))


def lexical_dissimilarity(texts: Sequence[str]) -> Matrix:
    r"""1 - cosine of the word counts of every two texts, rare words weighing more (TF-IDF).

    A word is a run of letters, digits and underscores, whatever its case; in text i it weighs its
    count there times ``log((1 + n) / (1 + texts with it)) + 1``.

    Equivalent to 1 - cosine of scikit-learn's ``TfidfVectorizer(token_pattern=r"\w+")``.

    Parameters
    ----------
    texts
        The n texts. Scripts without spaces need a space between words.

    Returns
    -------
    numpy.ndarray
        Shape (n, n), 8 n^2 bytes (and as much again while it is made), in [0, 1], symmetric, with
        a diagonal of zeros: 0 for the same words at the same shares, 1 for no shared word, as for
        a text without any.

    References
    ----------
    Salton & Buckley 1988.

    Examples
    --------
    >>> lexical_dissimilarity(["red fox", "Fox, red!", "blue sky"]).round(12).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    counts = [Counter(_WORD.findall(text.casefold())) for text in texts]
    place: dict[str, int] = {}
    columns = [place.setdefault(word, len(place)) for count in counts for word in count]
    n = len(counts)
    if not place:
        return 1.0 - np.eye(n)
    holders = np.bincount(columns, minlength=len(place))
    weights = np.asarray([times for count in counts for times in count.values()], dtype=float)
    weights *= np.log((1.0 + n) / (1.0 + holders[columns])) + 1.0
    sizes = [len(count) for count in counts]
    row = np.repeat(np.arange(n), sizes)
    length = np.sqrt(np.bincount(row, weights**2, minlength=n))
    table = csr_array((weights / length[row], (row, columns)), shape=(n, len(place)))
    apart: Matrix = 1.0 - (table @ table.T).toarray()
    apart[apart <= _ROUNDING] = 0.0
    np.fill_diagonal(apart, 0.0)
    return apart


def group_dissimilarity(groups: Sequence[str]) -> Matrix:
    """0 for two texts of the same group, 1 for two of different ones.

    Parameters
    ----------
    groups
        The group of each of the n texts.

    Returns
    -------
    numpy.ndarray
        Shape (n, n), 8 n^2 bytes, symmetric, with a diagonal of zeros.

    Examples
    --------
    >>> group_dissimilarity(["a", "b", "a"]).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    member = np.unique(list(groups), return_inverse=True)[1]
    return np.asarray(member[:, None] != member[None, :], dtype=np.float64)


def nuisance(
    name: str, *, texts: Sequence[str] | None = None, groups: Sequence[str] | None = None
) -> Matrix:
    """Dissimilarity of every two texts by name: ``length``, ``words`` or ``group``.

    Raises
    ------
    InputError
        Where the texts, or their groups, are not known.
    UnknownNameError
        For another name.

    Examples
    --------
    >>> nuisance("group", groups=["a", "b"]).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if name not in NUISANCES:
        raise UnknownNameError.among(name, NUISANCES, "confound")
    if name == "group":
        if groups is None:
            raise InputError("Likeness beyond group needs groups: give the texts a group column.")
        return group_dissimilarity(groups)
    if texts is None:
        raise InputError(
            f"Likeness beyond {name} needs the texts, and vectors do not tell them: give texts=, a "
            "text for each id (on the command line: --texts FILE)."
        )
    return length_dissimilarity(texts) if name == "length" else lexical_dissimilarity(texts)


@dataclass(frozen=True, eq=False)
class Nuisances:
    """Dissimilarities to be regressed out, made ready once for any number of spaces."""

    names: tuple[str, ...]
    """What they are called."""
    basis: Matrix
    """Orthonormal basis of the centred entries above the diagonals, shape (n (n - 1) / 2, rank)."""
    n: int
    """Number of texts."""
    comparator: Literal["pearson", "spearman"]
    """Whether entries are taken as they are or as ranks."""

    @classmethod
    def of(
        cls,
        nuisances: Mapping[str, npt.ArrayLike],
        comparator: Literal["pearson", "spearman"] = "spearman",
    ) -> Nuisances:
        """Decompose the nuisances; memory 4 n^2 bytes for each, 16 n^2 meanwhile.

        Parameters
        ----------
        nuisances
            Name -> symmetric matrix of shape (n, n); the diagonal does not matter.
        comparator
            ``spearman`` takes average ranks of the entries, ``pearson`` the entries.

        Raises
        ------
        InputError
            For no nuisance, or one that is not a finite symmetric matrix of the others' size.
        UndefinedMeasureError
            For a nuisance that is the same for every two texts, or so many that fewer than two
            dimensions are left.
        UnknownNameError
            For another comparator.
        """
        if comparator not in ("pearson", "spearman"):
            raise UnknownNameError.among(comparator, ("pearson", "spearman"), "comparator here")
        if not nuisances:
            raise InputError("No nuisance was given: without any, use rsa.")
        tables = {name: _symmetric(name, table) for name, table in nuisances.items()}
        n = len(next(iter(tables.values())))
        above = np.triu_indices(n, 1)
        columns = []
        for name, table in tables.items():
            if len(table) != n:
                raise InputError(
                    f"The nuisance {next(iter(tables))!r} is of {n} texts and {name!r} of {len(table)}."
                )
            entries = table[above]
            if not len(entries) or np.ptp(entries) <= _ROUNDING * np.abs(entries).max():
                raise UndefinedMeasureError(
                    f"The nuisance {name!r} is the same for every two texts: it explains nothing. Leave it out."
                )
            if comparator == "spearman":
                entries = _ranks(entries / np.abs(entries).max())
            entries = entries - entries.mean()
            columns.append(entries / np.linalg.norm(entries))
        if len(above[0]) < len(columns) + 3:
            raise UndefinedMeasureError(
                f"{n} texts have {len(above[0])} dissimilarities: too few to take {len(columns)} nuisances off."
            )
        u, s, _ = thin_svd(np.stack(columns, axis=1))
        return cls(tuple(tables), u[:, s > _DEPENDENT * s[0]], n, comparator)

    def left_of(self, entries: Matrix, *, name: str) -> Matrix:
        """What regression on the nuisances leaves of centred entries of unit length.

        Raises
        ------
        UndefinedMeasureError
            When nothing is left.
        """
        rest = entries - self.basis @ (self.basis.T @ entries)
        rest -= self.basis @ (self.basis.T @ rest)  # what rounding left of the first step
        if float(np.linalg.norm(rest)) <= _DEPENDENT:
            raise UndefinedMeasureError(
                f"The nuisances ({', '.join(self.names)}) explain every dissimilarity of the {name}: "
                "nothing is left to compare."
            )
        return np.asarray(rest)


def _symmetric(name: str, table: npt.ArrayLike) -> Matrix:
    matrix = np.asarray(to_numpy(table), dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            f"The nuisance {name!r} has shape {matrix.shape}; (n, n) is expected, a dissimilarity of every two texts."
        )
    if not np.isfinite(matrix).all():
        raise InputError(f"The nuisance {name!r} has NaN or infinite entries.")
    if np.abs(matrix - matrix.T).max(initial=0.0) > 1e-9 * np.abs(matrix).max(initial=0.0):
        raise InputError(
            f"The nuisance {name!r} is not symmetric: a dissimilarity has no direction."
        )
    return matrix


def _ranks(entries: Matrix) -> Matrix:
    """Average ranks of entries of size 1; what differs by rounding alone is tied."""
    _, level, size = np.unique(entries.round(12), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(size) - (size - 1) / 2)[level])
