"""Which tokens of a text are changed: all, some by number, or a stretch of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError

__all__ = ["TokenPositions"]


@dataclass(frozen=True)
class TokenPositions:
    """Tokens counted from the first one of each text, padding never among them.

    Numbers below 0 count from the end of the prompt, so that -1 is its last token; what is
    generated afterwards lies behind it.
    """

    only: tuple[int, ...] | None = None
    """Single tokens; None for the stretch below."""
    start: int | None = None
    """First token of the stretch; None for the first of the text."""
    stop: int | None = None
    """The token behind the stretch; None for no end, generated tokens included."""

    @classmethod
    def of(cls, asked: Any) -> TokenPositions:
        """Read ``"all"``, a whole number, several of them, or a slice without a step.

        Raises
        ------
        InputError
            For anything else.

        Examples
        --------
        >>> TokenPositions.of("all")
        TokenPositions(only=None, start=None, stop=None)
        >>> TokenPositions.of(slice(-1, None)).start, TokenPositions.of([0, 3]).only
        (-1, (0, 3))
        """
        if isinstance(asked, cls):
            return asked
        if isinstance(asked, str) and asked == "all":
            return cls()
        if isinstance(asked, slice) and asked.step is None:
            ends = (asked.start, asked.stop)
            if all(end is None or _whole(end) for end in ends):
                return cls(None, *(None if end is None else int(end) for end in ends))
        if _whole(asked):
            return cls((int(asked),))
        if isinstance(asked, list | tuple | range | np.ndarray) and len(asked):
            numbers = list(asked)
            if all(_whole(number) for number in numbers):
                return cls(tuple(int(number) for number in numbers))
        raise InputError(
            f"{asked!r} names no tokens: 'all', a whole number, a list of them, or slice(start, stop) is expected; "
            "numbers below 0 count from the end of the prompt."
        )

    def __str__(self) -> str:
        if self.only is not None:
            return ", ".join(map(str, self.only))
        return ":".join("" if end is None else str(end) for end in (self.start, self.stop))

    @property
    def from_the_end(self) -> bool:
        """Whether the end of the prompt must be known."""
        named = (*(self.only or ()), self.start or 0, self.stop or 0)
        return any(number < 0 for number in named)

    def mask(
        self, index: npt.NDArray[np.int64], prompt: npt.NDArray[np.int64] | None
    ) -> npt.NDArray[np.bool_]:
        """Which entries of ``index`` are meant.

        Parameters
        ----------
        index
            Number of the token at every place, -1 for padding, shape (batch, tokens).
        prompt
            Number of tokens of each prompt, shape (batch,); None where nothing says it.

        Raises
        ------
        InputError
            For tokens counted from the end of a prompt that is not known.

        Examples
        --------
        >>> index = np.array([[-1, 0, 1, 2], [0, 1, 2, 3]])
        >>> TokenPositions.of(-1).mask(index, np.array([2, 4])).tolist()
        [[False, False, True, False], [False, False, False, True]]
        """
        if self.from_the_end and prompt is None:
            raise InputError(
                "Tokens are counted from the end of the prompt, and a bare forward pass does not say where that is: "
                "count them from the start, or run the model through the methods of its Decoder."
            )
        length = np.zeros((len(index), 1), np.int64) if prompt is None else prompt[:, None]

        def place(number: int) -> npt.NDArray[np.int64]:
            return length + number if number < 0 else np.full_like(length, number)

        held = index >= 0
        if self.only is not None:
            named = np.zeros_like(held)
            for number in self.only:
                named |= index == place(number)
            return np.asarray(held & named)
        if self.start is not None:
            held &= index >= place(self.start)
        if self.stop is not None:
            held &= index < place(self.stop)
        return np.asarray(held)


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
