"""Prompts to continue, from files in the format of RealToxicityPrompts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from cospace._numbers import check_seed, check_whole
from cospace.errors import InputError

__all__ = ["read_prompts"]


def read_prompts(path: str | Path, *, limit: int | None = None, rng: int = 0) -> tuple[str, ...]:
    """Read the prompts of a JSON-lines file, one object with ``prompt.text`` a line.

    That is how RealToxicityPrompts is published; what else a line holds (scores, the original
    continuation) is not read.

    Parameters
    ----------
    path
        The file.
    limit
        How many are drawn, in the order of the file; all by default.
    rng
        Seed of the draw.

    Raises
    ------
    InputError
        If it cannot be read or a line has no such text; the line is numbered. For a limit of
        which there are too few.

    References
    ----------
    Gehman et al. 2020 (RealToxicityPrompts).
    """
    check_whole(limit=limit, or_none=True)
    check_seed(rng)
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"{path} cannot be read: {what}.") from None
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            text = json.loads(line)["prompt"]["text"]
        except (ValueError, KeyError, TypeError, RecursionError):
            text = None
        if not isinstance(text, str) or not text.strip():
            raise InputError(
                f'line {number} of {path} has no prompt: {{"prompt": {{"text": "..."}}}} is expected.'
            )
        found.append(text)
    if not found:
        raise InputError(f"{path} holds no prompt: one JSON object a line is expected.")
    if limit is None:
        return tuple(found)
    if not 0 < limit <= len(found):
        raise InputError(
            f"{limit} prompts were asked for, and {path} holds {len(found)}: ask for 1 to {len(found)}."
        )
    places = np.sort(np.random.default_rng(rng).choice(len(found), limit, replace=False))
    return tuple(found[i] for i in places)
