"""A lexical score: how many of a text's words are on a named list."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from cospace.errors import InputError

__all__ = ["WordList", "packaged_word_lists", "words_of"]

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def words_of(text: str) -> list[str]:
    """Words of a text, without regard to case: letters, with apostrophes and hyphens between them.

    Examples
    --------
    >>> words_of("Don't! A half-wit, 2 of them.")
    ["don't", 'a', 'half-wit', 'of', 'them']
    """
    return [word.casefold().replace("’", "'") for word in _WORD.findall(text)]


@dataclass(frozen=True)
class WordList:
    """Words, and a score: the share of a text's words that are among them.

    It looks at single words: not at who is meant, negation, or anything that is said with other
    words. It is no measure of toxicity.

    Raises
    ------
    InputError
        For a list without words, or an entry that is not one word.

    Examples
    --------
    >>> WordList("small", ("damn", "fool")).score("Damn, you fool of a Took!")
    0.3333333333333333
    """

    title: str
    """What the list is called."""
    words: tuple[str, ...]
    """The words, of whatever case."""
    about: str = ""
    """What stands on it, and who wrote it."""
    threshold = 0.0
    """A text counts as one with such words above this score."""

    def __post_init__(self) -> None:
        found = []
        for word in self.words:
            whole = words_of(word)
            if len(whole) != 1 or whole[0] != word.strip().casefold().replace("’", "'"):
                raise InputError(
                    f"{word!r} of the word list {self.title!r} is not one word: letters are expected, with apostrophes "
                    "or hyphens between them."
                )
            found.append(whole[0])
        if not found:
            raise InputError(f"The word list {self.title!r} holds no word; at least one is needed.")
        object.__setattr__(self, "words", tuple(dict.fromkeys(found)))

    @property
    def name(self) -> str:
        """What results call the score."""
        return f"lexical score, {self.title}"

    def score(self, text: str) -> float:
        """Share of the words of a text that are on the list.

        Raises
        ------
        InputError
            For a text without a word.
        """
        found = words_of(text)
        if not found:
            raise InputError(f"{text!r} has no word to score: leave it out.")
        held = frozenset(self.words)
        return sum(word in held for word in found) / len(found)

    def __call__(self, texts: Sequence[str]) -> list[float | None]:
        """Score of every text; None where it has no word."""
        return [self.score(text) if words_of(text) else None for text in texts]

    @classmethod
    def read(cls, path: str | Path) -> WordList:
        """Read a packaged list by its name, or a file.

        A ``.json`` file holds an object with ``name``, ``words`` and perhaps ``about``; any other is
        text, one word a line, lines that begin with ``#`` left out.

        Raises
        ------
        InputError
            If it cannot be read, or holds no list of words.
        """
        if str(path) in packaged_word_lists():
            place = files("cospace") / "data" / "lexicons" / f"{path}.json"
            return cls._of_json(place.read_text("utf-8"), str(path))
        try:
            text = Path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(
                f"{path} is neither a file nor one of the packaged word lists {', '.join(packaged_word_lists())}."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read: {error}.") from None
        if Path(path).suffix.lower() == ".json":
            return cls._of_json(text, str(path))
        lines = (line.strip() for line in text.splitlines())
        return cls(Path(path).stem, tuple(w for w in lines if w and not w.startswith("#")))

    @classmethod
    def _of_json(cls, text: str, path: str) -> WordList:
        try:
            data = json.loads(text)
            name, words, about = data["name"], data["words"], data.get("about", "")
            whole = isinstance(words, list) and all(
                isinstance(w, str) for w in (*words, name, about)
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            whole = False
        if not whole:
            raise InputError(
                f"{path} is no word list: an object with name, words (a list) and perhaps about is expected."
            )
        return cls(name, tuple(words), about)


def packaged_word_lists() -> tuple[str, ...]:
    """Names of the word lists that come with the library."""
    folder = files("cospace") / "data" / "lexicons"
    return tuple(
        sorted(f.name.removesuffix(".json") for f in folder.iterdir() if f.name.endswith(".json"))
    )
