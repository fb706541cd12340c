"""Numbers and names that ``cospace space`` is given: checked, and named as they were typed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cospace.cli.inputs import split
from cospace.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from cospace.shared import RetrievalSet

__all__ = [
    "check_depth",
    "check_gallery",
    "depths_of",
    "numbers",
    "ridge_of",
    "settings_of",
    "share_of",
    "width_of",
]


def check_depth(depth: float, option: str) -> None:
    """Refuse what is no relative depth.

    Raises
    ------
    InputError
        For a number out of [0, 1].
    """
    if not 0.0 <= depth <= 1.0:
        raise InputError(
            f"{option} is {depth:g}; a number from 0 (embeddings) to 1 (last state) is expected."
        )


def check_gallery(gallery: int | None, sets: Sequence[RetrievalSet]) -> None:
    """Refuse to search more texts than the smallest set has.

    Raises
    ------
    InputError
        For these.
    """
    most = min(next(iter(one.queries.values())).n for one in sets)
    if gallery is not None and gallery > most:
        raise InputError(
            f"--gallery is {gallery} and the smallest set has {most} texts: take fewer."
        )


def share_of(value: float) -> int | float:
    """A share below 1, or a whole number of texts.

    Raises
    ------
    InputError
        For another number.
    """
    if 0.0 < value < 1.0:
        return value
    if not math.isfinite(value) or value != int(value) or value < 1.0:
        raise InputError(
            f"--held-out is {value:g}; a share between 0 and 1, or a whole number of texts, is expected."
        )
    return int(value)


def numbers(text: str | None, option: str) -> tuple[float, ...] | None:
    """Numbers by commas; None for none.

    Raises
    ------
    InputError
        For a word that is no number, or no word at all.
    """
    if text is None:
        return None
    words = split(text)
    found = []
    for word in words:
        try:
            found.append(float(word))
        except ValueError:
            raise InputError(f"{option} has {word!r}: give numbers, by commas.") from None
    if not all(map(math.isfinite, found)):
        raise InputError(f"{option} is {text}: give finite numbers, by commas.")
    if not found:
        raise InputError(f"{option} names nothing: give numbers by commas, or leave it out.")
    return tuple(found)


def depths_of(text: str) -> tuple[float, ...]:
    """Relative depths by commas, of ``--depths``.

    Raises
    ------
    InputError
        For a word that is no number from 0 to 1, or no word at all.
    """
    found = numbers(text, "--depths") or ()
    for depth in found:
        check_depth(depth, "--depths")
    return found


def width_of(word: str) -> int | str:
    """``auto``, or a whole number."""
    if word == "auto":
        return word
    if not word.isdecimal() or int(word) < 1:
        raise InputError(f"--width is {word!r}; auto or a whole number, 1 or more, is expected.")
    return int(word)


def ridge_of(word: str) -> float | str:
    """``auto``, or a number."""
    if word == "auto":
        return word
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise InputError(f"--ridge is {word!r}; auto or a number, 0 or more, is expected.")
    return value


def settings_of(
    methods: str | None,
    scalings: str | None,
    widths: str | None,
    ridges: str | None,
    folds: int,
    draws: int,
    seed: int,
    gallery: int | None,
) -> dict[str, Any]:
    """Options of a score, as ``score_shared`` takes them; what was not given is left out.

    Raises
    ------
    InputError, UnknownNameError
        For what is no number or no method.
    """
    from cospace.shared import METHODS

    found: dict[str, Any] = {"folds": folds, "draws": draws, "rng": seed, "gallery": gallery}
    if methods is not None:
        found["methods"] = tuple(split(methods))
        for name in found["methods"]:
            if name not in METHODS:
                raise UnknownNameError.among(name, METHODS, "method of a shared space")
        if not {"gpa", "gcca"} & set(found["methods"]):
            raise InputError(
                f"--methods {methods} has neither gpa nor gcca: name at least one shared space."
            )
    if scalings is not None:
        found["scalings"] = tuple(split(scalings))
        if not found["scalings"]:
            raise InputError("--scalings names nothing: leave it out for its default.")
    sizes = numbers(widths, "--widths")
    if sizes is not None:
        if any(one < 1 or one != int(one) for one in sizes):
            raise InputError(f"--widths is {widths}; whole numbers, 1 or more, are expected.")
        found["widths"] = tuple(map(int, sizes))
    penalties = numbers(ridges, "--ridges")
    if penalties is not None:
        if any(not one >= 0.0 for one in penalties):
            raise InputError(f"--ridges is {ridges}; numbers, 0 or more, are expected.")
        found["ridges"] = penalties
    return found
