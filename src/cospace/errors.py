"""Every exception of the library; each is also the builtin that a stranger would catch."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "AcquisitionError",
    "ChecksumError",
    "ContractError",
    "ContradictionError",
    "CospaceError",
    "ExtractionError",
    "InputError",
    "MissingDependencyError",
    "RowMismatchError",
    "StoreError",
    "TextTooLongError",
    "UndefinedMeasureError",
    "UnknownNameError",
]


class CospaceError(Exception):
    """Base of all errors that this library raises on purpose.

    The message is one line: what was found, what was expected, what to do.
    """


class InputError(CospaceError, ValueError):
    """An array, text file or option that cannot be used as it is."""


class ContradictionError(InputError):
    """A saved result whose parts do not go together; the message is what a longer one has in brackets."""


class RowMismatchError(CospaceError, ValueError):
    """Rows of two spaces that are not the same texts."""


class UndefinedMeasureError(CospaceError, ValueError):
    """A measure that would mean nothing on these rows."""


class ContractError(CospaceError, AssertionError):
    """A measure that does not keep one of its claims."""


class TextTooLongError(CospaceError, ValueError):
    """Texts with more tokens than the model reads."""


class UnknownNameError(CospaceError, LookupError):
    """A name that is not in the catalogue it was looked up in."""

    @classmethod
    def among(cls, name: str, known: Iterable[str], what: str) -> UnknownNameError:
        """Build the error for ``name``, suggesting the nearest of ``known``."""
        names = sorted(known)
        folded = {each.casefold(): each for each in names}
        near = [
            folded[each] for each in get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
        ]
        hint = (
            f"Did you mean {' or '.join(map(repr, near))}?"
            if near
            else f"Known: {', '.join(names)}."
        )
        return cls(f"{name!r} is not a {what}. {hint}")


class MissingDependencyError(CospaceError, ImportError):
    """An optional package that this call needs."""

    @classmethod
    def needs(cls, package: str, purpose: str, extra: str) -> MissingDependencyError:
        """Build the error that names the package, what for, and how to get it."""
        return cls(f"{purpose} needs {package}: pip install 'cospace[{extra}]'")


class AcquisitionError(CospaceError, OSError):
    """Weights that could not be found, fetched or read."""


class ChecksumError(AcquisitionError):
    """A fetched file whose content is not the expected one."""


class ExtractionError(CospaceError, RuntimeError):
    """A forward pass that gave no usable activations."""


class StoreError(CospaceError, OSError):
    """A folder of activations that cannot be written, read or trusted."""
