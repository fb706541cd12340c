"""A value on the scale from its level by chance to the best possible."""

from __future__ import annotations

import math

from cospace.errors import InputError, UndefinedMeasureError

__all__ = ["effect"]

_NOTHING = 1e-12


def effect(value: float, null: float, best: float) -> float:
    """Share of the way from the level by chance to the best possible value.

    ``(value - null) / (best - null)``. Takes off what a biased measure shows for unrelated rows of
    the same shape; it does not make values of different measures comparable.

    Equivalent to the adjusted Rand index's correction for chance.

    Parameters
    ----------
    value
        The measure on the rows as they are.
    null
        Its mean over shuffled rows.
    best
        Its value for identical spaces: 1 for the similarities here, 0 for the distances.

    Returns
    -------
    float
        1 for identical spaces, 0 at the level by chance, below 0 where less alike than chance.

    Raises
    ------
    InputError
        For a number that is not finite.
    UndefinedMeasureError
        When the level by chance is the best value already.

    References
    ----------
    Hubert & Arabie 1985 (the form, for partitions).

    Examples
    --------
    >>> effect(0.75, 0.5, 1.0)
    0.5
    >>> effect(0.3, 0.6, 0.0)
    0.5
    """
    for name, number in (("value", value), ("null", null), ("best", best)):
        if not math.isfinite(number):
            raise InputError(f"{name} is {number}: an effect needs finite numbers.")
    room = best - null
    if abs(room) <= _NOTHING * max(abs(best), abs(null)):
        raise UndefinedMeasureError(
            f"The level by chance, {null:g}, is the best value already: there is no room for an effect. "
            "Use more rows, or fewer coordinates."
        )
    return (value - null) / room
