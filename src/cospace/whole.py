"""Whether the parts of a saved result go together: every pair there once, and no bound above the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations, pairwise, permutations

from cospace.errors import ContradictionError

__all__ = [
    "check_lengths",
    "check_names",
    "check_once",
    "check_order",
    "check_p",
    "check_pairs",
]

_ROUNDING = 1e-9


def check_once(found: Iterable[Hashable], where: str) -> None:
    """Refuse what is there twice.

    Raises
    ------
    ContradictionError
        For this.
    """
    counts = Counter(found)
    again = next((key for key, many in counts.items() if many > 1), None)
    if again is not None:
        raise ContradictionError(f"{where}: {_told(again)} is there {counts[again]} times")


def check_names(found: Iterable[str], known: Sequence[str], where: str) -> None:
    """Refuse a name that is none of those known.

    Raises
    ------
    ContradictionError
        For this.
    """
    other = next((name for name in found if name not in known), None)
    if other is not None:
        raise ContradictionError(f"{where}: {other} is none of {', '.join(known)}")


def check_pairs(
    found: Sequence[tuple[str, str]], names: Sequence[str], where: str, *, ordered: bool
) -> None:
    """Refuse other pairs of names than every two, each once.

    Raises
    ------
    ContradictionError
        For a pair that is not there, is there twice, or is of other names.

    Examples
    --------
    >>> check_pairs([("a", "b"), ("b", "a")], "ab", "depth 1", ordered=True)
    >>> check_pairs([("b", "a")], "ab", "depth 1", ordered=False)
    """
    check_names((name for pair in found for name in pair), names, where)
    keys = [pair if ordered else tuple(sorted(pair)) for pair in found]
    check_once(keys, where)
    there = set(keys)
    for pair in permutations(names, 2) if ordered else combinations(sorted(names), 2):
        if pair not in there:
            raise ContradictionError(f"{where}: {_told(pair)} is missing")
    if same := next((pair for pair in found if pair[0] == pair[1]), None):
        raise ContradictionError(f"{where}: {same[0]} is compared with itself")


def check_order(where: str, *, slack: float = 0.0, **ends: float | None) -> None:
    """Refuse values that should ascend and do not; those that are not there are passed by.

    Parameters
    ----------
    where
        What they are of.
    slack
        What rounding may make of it, beside a share of 1e-9.
    ends
        Name -> value, in the order in which they should ascend.

    Raises
    ------
    ContradictionError
        For a value that is below the one before it.
    """
    there = [(name, value) for name, value in ends.items() if value is not None]
    for (one, low), (other, high) in pairwise(there):
        if low > high + slack + _ROUNDING * abs(high):
            raise ContradictionError(f"{where}: {one} {low:g} is above {other} {high:g}")


def check_p(where: str, **values: float | None) -> None:
    """Refuse a probability out of [0, 1].

    Raises
    ------
    ContradictionError
        For this.
    """
    for name, value in values.items():
        if value is not None and not 0.0 <= value <= 1.0:
            raise ContradictionError(f"{where}: {name} is {value:g}, which is no probability")


def check_lengths(where: str, first: Sequence[object], **others: Sequence[object]) -> None:
    """Refuse lists of other lengths than the first.

    Raises
    ------
    ContradictionError
        For this.
    """
    for name, one in others.items():
        if len(one) != len(first):
            raise ContradictionError(
                f"{where}: {name} has {len(one)} entries where {len(first)} are expected"
            )


def _told(key: Hashable) -> str:
    return " to ".join(map(str, key)) if isinstance(key, tuple) else str(key)
