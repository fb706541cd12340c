"""Lists of undertrained tokens that others found by prompting."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError

__all__ = ["VERIFIED", "ReferenceList", "read_reference"]

VERIFIED = 0.01
"""Probability of being repeated below which a tested token is verified as undertrained."""

_ROUNDED = 1 + 1e-6
"""Largest probability that is accepted: sums in single precision may exceed 1 a little."""

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReferenceList:
    """What others found by prompting."""

    tested: Index
    """Tokens that were tested, ascending."""
    verified: Index
    """Those repeated with a probability below the threshold."""
    threshold: float
    """The threshold."""


def read_reference(path: str | Path, *, threshold: float = VERIFIED) -> ReferenceList:
    """Read verifications in magikarp's format: JSON lines, compressed by gzip or not.

    Each line holds a token with its id ``i``; those that were tested have ``max_prob``, or
    ``verification`` with one ``max_prob`` a prompt, of which the largest counts.

    Raises
    ------
    InputError
        For a file that cannot be read, holds no token that was tested, a probability outside
        [0, 1], or one token twice with different ones; or a threshold that is no probability.
    """
    if not 0 < threshold <= 1:
        raise InputError(f"threshold is {threshold}; a probability above 0 is expected.")
    try:
        raw = Path(path).read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"{path} cannot be read ({why}): JSON lines, or these compressed by gzip, are expected."
        ) from None
    probabilities: dict[int, float] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            token = json.loads(line)
            place = int(token["i"])
            tests = [float(one["max_prob"]) for one in token.get("verification") or ()]
            if not tests and token.get("max_prob") is not None:
                tests = [float(token["max_prob"])]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                f"Line {number} of {path} is no token with its id: an object with i, and max_prob or verification (a "
                "list of objects with max_prob), is expected."
            ) from None
        for one in tests:
            if not 0 <= one <= _ROUNDED:
                raise InputError(
                    f"Line {number} of {path} gives token {place} the max_prob {one}; a probability "
                    "from 0 to 1 is expected: correct the line or take it out."
                )
        if tests:
            largest, before = max(tests), probabilities.setdefault(place, max(tests))
            if largest != before:
                raise InputError(
                    f"Line {number} of {path} gives token {place} the max_prob {largest}, and a line before it "
                    f"{before}: leave one of them."
                )
    if not probabilities:
        raise InputError(
            f"{path} holds no token that was tested: a file of verifications is expected."
        )
    tested = np.asarray(sorted(probabilities), dtype=np.int64)
    low = [place for place in tested.tolist() if probabilities[place] < threshold]
    return ReferenceList(tested, np.asarray(low, dtype=np.int64), threshold)
