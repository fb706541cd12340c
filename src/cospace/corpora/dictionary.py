"""Two dictionaries in the forms in which packages ship them."""

from __future__ import annotations

import gzip
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.request import pathname2url

from cospace.errors import InputError

__all__ = ["read_entries", "read_gloss_lines"]

_PARTS = {"n": "noun", "v": "verb", "adv": "adverb", "a": "adjective", "adj": "adjective"}


def read_gloss_lines(path: Path) -> Iterator[str]:
    """Read definitions from gzipped lines ``word<TAB>definition | definition | ...``.

    Raises
    ------
    InputError
        If the file is missing or is not of this form; the line is named.
    """
    try:
        with gzip.open(path) as stream:
            text = stream.read().decode("utf-8")
    except (EOFError, OSError, UnicodeDecodeError, zlib.error) as error:
        raise _unreadable(path, "lines of UTF-8 in gzip", error) from None
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        word, tab, glosses = line.partition("\t")
        if not (word and tab and glosses.strip()):
            raise InputError(
                f"{path}, line {number} is {line[:60]!r}, expected a word, a tab and definitions: "
                "give the unchanged file, or let it be fetched."
            )
        yield from glosses.split(" | ")


def read_entries(path: Path) -> Iterator[tuple[str, str]]:
    """Read (part of speech, definition) from the table ``entries`` of an SQLite file.

    Entries without a definition are passed over; a part of speech that is none of noun, verb,
    adjective and adverb is called ``other``.

    Raises
    ------
    InputError
        If the file is missing, or has no such table.
    """
    expected = "an SQLite file with a table 'entries' of words, word types and definitions"
    if not path.is_file():
        raise _unreadable(path, expected, FileNotFoundError("there is no such file"))
    address = f"file:{pathname2url(str(path.absolute()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as base:
            rows = base.execute(
                "SELECT wordtype, definition FROM entries "
                "WHERE typeof(definition) = 'text' ORDER BY rowid"
            ).fetchall()
    except sqlite3.Error as error:
        raise _unreadable(path, expected, error) from None
    for kind, definition in rows:
        words = str(kind or "").replace(".", " ").split()
        yield _PARTS.get(words[0] if words else "", "other"), definition


def _unreadable(path: Path, expected: str, error: Exception) -> InputError:
    return InputError(
        f"{path} cannot be read ({error}), expected {expected}: give the unchanged file, or let it "
        "be fetched."
    )
