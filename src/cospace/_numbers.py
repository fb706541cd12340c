"""Numbers that callers give: of the right kind, or one line that says what was given."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from cospace.errors import InputError

__all__ = ["check_number", "check_seed", "check_whole"]


def check_whole(*, or_none: bool = False, **given: Any) -> None:
    """Refuse what is no whole number.

    Parameters
    ----------
    or_none
        Whether None will do.
    given
        Values, by the names that the caller knows them by.

    Raises
    ------
    InputError
        For a fraction, a truth value, a string or another thing.

    Examples
    --------
    >>> check_whole(limit=2)
    >>> check_whole(rank=None, reduced=3, or_none=True)
    """
    _check(given, Integral, "a whole number", or_none=or_none)


def check_number(*, or_none: bool = False, **given: Any) -> None:
    """Refuse what is no real number.

    Parameters
    ----------
    or_none
        Whether None will do.
    given
        Values, by the names that the caller knows them by.

    Raises
    ------
    InputError
        For a truth value, a string or another thing.

    Examples
    --------
    >>> check_number(gap=0.01)
    """
    _check(given, Real, "a number", or_none=or_none)


def check_seed(rng: Any) -> None:
    """Refuse what is no seed.

    Raises
    ------
    InputError
        For anything but a whole number, 0 or more.
    """
    if isinstance(rng, bool) or not isinstance(rng, Integral) or rng < 0:
        raise InputError(f"rng is {rng!r}; a whole number, 0 or more, is expected.")


def _check(given: Mapping[str, Any], kind: type, what: str, *, or_none: bool) -> None:
    for name, value in given.items():
        if value is None and or_none:
            continue
        if isinstance(value, bool) or not isinstance(value, kind):
            wanted = f"{what}, or None," if or_none else what
            raise InputError(f"{name} is {value!r}; {wanted} is expected.")
