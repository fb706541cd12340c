"""WordNet's database files: each gloss as its definition and its example sentences.

A line of ``data.noun``, ``data.verb``, ``data.adj`` or ``data.adv`` is one synset. What stands
behind ``|`` is its gloss: a definition, then examples in double quotes::

    02452 ... | a tangible and visible entity; "it was full of rackets, balls and other objects"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cospace.errors import InputError

__all__ = ["FILES", "Gloss", "read_glosses", "split_gloss", "version_of"]

FILES = ("data.noun", "data.verb", "data.adj", "data.adv")
"""The files that are read, in this order."""

_NOUN = (
    "Tops act animal artifact attribute body cognition communication event feeling food group "
    "location motive object person phenomenon plant possession process quantity relation shape "
    "state substance time"
)
_VERB = (
    "body change cognition communication competition consumption contact creation emotion motion "
    "perception possession social stative weather"
)
LEXICOGRAPHER_FILES = (
    *("adj.all", "adj.pert", "adv.all"),
    *(f"noun.{name}" for name in _NOUN.split()),
    *(f"verb.{name}" for name in _VERB.split()),
    "adj.ppl",
)
"""Names of the files the synsets were written in, by their two-digit number."""

_SYNSET = re.compile(r"(\d{8}) (\d\d) ([nvasr]) [0-9a-f]{2} \S")
_VERSION = re.compile(r"WordNet (\d[\d.]*\d) Copyright")
_TOLD = 60


@dataclass(frozen=True)
class Gloss:
    """What one synset says."""

    topic: str
    """Its lexicographer file, such as ``noun.food``."""
    definition: str
    """The definition; empty where there is none."""
    examples: tuple[str, ...]
    """Its examples, without the quotes and without the names of their authors."""
    unclear: int
    """Quotes that were left out, as they do not close or run into the text around them."""


def split_gloss(gloss: str) -> tuple[str, tuple[str, ...], int]:
    """Split a gloss into its definition, its examples, and the number of unclear quotes.

    A quote is an example where it begins a part: at the beginning, behind ``;``, ``:`` or ``,``, or
    behind another example; not inside parentheses. What follows an example up to the next ``;``
    is its author or a remark, and is dropped. An example that goes on without its quotes (``"I
    know," he said``) is unclear and left out, and so are all quotes of a gloss that has an odd
    number of quotation marks. Other quotes are words of the definition.

    Examples
    --------
    >>> split_gloss('not lively; "a dull party"; "dull as ditchwater"- A. Author')
    ('not lively', ('a dull party', 'dull as ditchwater'), 0)
    >>> split_gloss('a demand, as in the phrase "the call of duty"')
    ('a demand, as in the phrase "the call of duty"', (), 0)
    >>> split_gloss('briefly; "I know," he said')
    ('briefly', (), 1)
    """
    outside, *rest = gloss.split('"')
    if len(rest) % 2:
        return _tidy(outside), (), (len(rest) + 1) // 2
    told, examples, unclear = outside, [], 0
    behind_example = False
    for quoted, after in zip(rest[::2], rest[1::2], strict=True):
        before = outside.rstrip()
        begins = (
            not before
            or before[-1] in ";:,"
            or (behind_example and before.strip(" .") in ("", "or"))
        )
        if not begins or told.count("(") > told.count(")"):
            told += f'"{quoted}"{after}'
            outside, behind_example = after, False
            continue
        remark, semicolon, more = after.partition(";")
        runs_on = remark.strip()[:1].islower() and remark.strip() != "or"
        if runs_on:
            unclear += 1
        elif example := quoted.strip(" ;,"):
            examples.append(example)
        told = f"{told.rstrip(' ;:,')}; {more}" if semicolon else told
        outside, behind_example = after, True
    return _tidy(told), tuple(examples), unclear


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" ;:,")


def read_glosses(folder: Path) -> Iterator[Gloss]:
    """Read the synsets of all `FILES` in ``folder``, in the order of the files.

    Raises
    ------
    InputError
        If a file is missing or cannot be read, or a line is no synset: the file and line are
        named.
    """
    for name in FILES:
        path = folder / name
        for number, line in enumerate(_lines(path), 1):
            # Lines of the licence begin with two blanks.
            if line.startswith("  ") or not line:
                continue
            head, bar, gloss = line.partition("|")
            found = _SYNSET.match(head)
            if found is None or not bar:
                raise InputError(
                    f"{path}, line {number} is {line[:_TOLD]!r}, expected a synset of WordNet "
                    "(offset, file number, part of speech, words ... | gloss): give the folder of "
                    "an unchanged WordNet."
                )
            topic = int(found[2])
            if topic >= len(LEXICOGRAPHER_FILES):
                raise InputError(
                    f"{path}, line {number} has the file number {found[2]}, expected 00 to "
                    f"{len(LEXICOGRAPHER_FILES) - 1}: give the folder of an unchanged WordNet."
                )
            yield Gloss(LEXICOGRAPHER_FILES[topic], *split_gloss(gloss.strip()))


def version_of(folder: Path) -> str | None:
    """The version that the licence in ``data.noun`` names, such as ``3.0``; None if it is absent."""
    with (folder / FILES[0]).open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            if not line.startswith("  "):
                return None
            if found := _VERSION.search(line):
                return found[1]
    return None


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"There is no {path.name} in {path.parent}, expected {', '.join(FILES)}: give the "
            "folder of WordNet's database files."
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return data.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line} is not UTF-8 (byte 0x{data[error.start]:02x}): give the folder of "
            "an unchanged WordNet."
        ) from None
