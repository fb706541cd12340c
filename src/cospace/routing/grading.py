"""Whether a completion is right: it begins with an accepted answer."""

from __future__ import annotations

__all__ = ["SEPARATOR", "accepted", "is_right"]

SEPARATOR = " | "
"""Stands between the accepted answers of a label."""


def accepted(label: str) -> tuple[str, ...]:
    """Answers that a label accepts.

    Examples
    --------
    >>> accepted("12 | twelve")
    ('12', 'twelve')
    """
    return tuple(label.split(SEPARATOR))


def is_right(completion: str, label: str) -> bool:
    """Say whether a completion begins with an accepted answer, and with no longer word or number.

    Blanks in front and the case of letters do not count; what follows the answer does not either.

    Parameters
    ----------
    completion
        What was added to the prompt.
    label
        Accepted answers, ``" | "`` between them.

    Examples
    --------
    >>> is_right(" Twelve.", "12 | twelve"), is_right(" 128", "12 | twelve")
    (True, False)
    """
    said = completion.strip().casefold()
    return any(
        said.startswith(answer.casefold()) and not said[len(answer.casefold()) :][:1].isalnum()
        for answer in accepted(label)
    )
