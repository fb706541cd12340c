"""Which tokens of two vocabularies are the same text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, UnknownNameError
from cospace.tokens.normal import NormalForm
from cospace.tokens.vocabulary import CLASSES, Vocabulary

__all__ = ["KINDS", "Matched", "match", "match_rest", "text_kind"]

KINDS = ("word", "piece", "number", "mark", "space", "mixed", "bytes")
"""Kinds of text: letters that begin a word, letters that continue one, digits, punctuation and
symbols, blanks, a mixture, and bytes that are no text."""

_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Matched:
    """Tokens that two vocabularies share: place i of both lists is the same text."""

    ids_a: Index
    """Rows of the first model."""
    ids_b: Index
    """Rows of the second model."""
    kinds: dict[str, int]
    """How many of each kind of text."""
    repeats_a: int
    """Tokens of the first model left out because an earlier one has the same text."""
    repeats_b: int
    """The same of the second."""
    candidates_a: int
    """Tokens of the first model that could have been matched."""
    candidates_b: int
    """The same of the second."""

    def __len__(self) -> int:
        return len(self.ids_a)


def match(
    a: Vocabulary,
    b: Vocabulary,
    *,
    classes: Collection[str] = ("used",),
    without: tuple[Collection[int], Collection[int]] = ((), ()),
) -> Matched:
    """Match the tokens of two vocabularies by the bytes of their text and their place in a word.

    Where a vocabulary writes one text twice (a letter and its byte token), the one that is
    written as text is taken, of several the first; the rest are counted and left out. A token that its
    tokenizer splits off wherever it stands (punctuation of WordPiece) is matched, where the other
    tokenizer tells the two apart, with the one without a space before it, or else with the one
    after a space.

    Parameters
    ----------
    a, b
        Vocabularies of two models.
    classes
        Classes of rows that take part, out of ``used`` and ``undecodable``: other rows have no
        text. Both rows of a match are of one class, since text is text in both.
    without
        Rows of the first and of the second model that take no part.

    Raises
    ------
    UnknownNameError
        For another class.
    InputError
        When no token is shared.
    """
    for name in classes:
        if name not in ("used", "undecodable"):
            raise UnknownNameError.among(
                name, ("used", "undecodable"), "class of tokens that have a text"
            )
    table_a, repeats_a = _table(a, classes, frozenset(without[0]))
    table_b, repeats_b = _table(b, classes, frozenset(without[1]))
    pairs: dict[int, tuple[int, NormalForm]] = {}
    taken: set[int] = set()

    def pair(i: int, j: int, form: NormalForm) -> None:
        pairs[i] = (j, form)
        taken.add(j)

    for form, i in table_a.items():
        if form.initial is None:
            for initial in (None, False, True):
                j = table_b.get(NormalForm(form.text, initial))
                if j is not None:
                    pair(i, j, form)
                    break
    for form, j in table_b.items():
        if form.initial is None and j not in taken:
            for initial in (False, True):
                found = table_a.get(NormalForm(form.text, initial))
                if found is not None:
                    pair(found, j, form)
                    break
    for form, i in table_a.items():
        j = table_b.get(form)
        if j is not None and i not in pairs and j not in taken:
            pair(i, j, form)
    if not pairs:
        raise InputError(
            f"The two vocabularies share no token that is {' or '.join(classes)}: there is nothing to compare."
        )
    order = sorted(pairs)
    counts = Counter(text_kind(pairs[i][1]) for i in order)
    return Matched(
        np.asarray(order, dtype=np.int64),
        np.asarray([pairs[i][0] for i in order], dtype=np.int64),
        {kind: counts[kind] for kind in KINDS if counts[kind]},
        repeats_a,
        repeats_b,
        len(table_a) + repeats_a,
        len(table_b) + repeats_b,
    )


def match_rest(
    a: Vocabulary,
    b: Vocabulary,
    matched: Matched,
    *,
    without: tuple[Collection[int], Collection[int]] = ((), ()),
) -> tuple[Index, Index]:
    """Match rows that are no tokens to compare and may yet be neighbours: the same thing in both models.

    Bytes that are no text by themselves, by these bytes; signs such as ``[CLS]``, by their name; and,
    of two tokenizers that mark the beginnings of words alike, tokens whose text an earlier one has
    already, by how they are written.

    Parameters
    ----------
    a, b
        Vocabularies of two models.
    matched
        Their tokens that are compared; none of these is given again.
    without
        Rows of the first and of the second model that take no part.

    Returns
    -------
    tuple
        Rows of the first model, and those of the second that stand for the same.
    """
    wider = match(a, b, classes=("used", "undecodable"), without=without)
    pairs = dict(zip(wider.ids_a.tolist(), wider.ids_b.tolist(), strict=True))
    taken = {*pairs.values(), *without[1]}
    written = {_written(b, j): j for j in range(len(b)) if b.tokens[j] and j not in taken}
    for i in range(len(a)):
        if a.tokens[i] and i not in pairs and i not in without[0]:
            place = written.get(_written(a, i))
            if place is not None and (a.forms[i] is None or a.marker == b.marker):
                pairs[i] = place
    known = set(matched.ids_a.tolist())
    rest = sorted(i for i in pairs if i not in known)
    return np.asarray(rest, dtype=np.int64), np.asarray([pairs[i] for i in rest], dtype=np.int64)


def _written(vocabulary: Vocabulary, row: int) -> tuple[int, str | None]:
    return int(vocabulary.codes[row]), vocabulary.tokens[row]


def text_kind(form: NormalForm) -> str:
    """Kind of text out of ``KINDS``.

    Examples
    --------
    >>> [text_kind(NormalForm(t.encode(), i)) for t, i in [("the", True), ("ing", False), ("7", True)]]
    ['word', 'piece', 'number']
    """
    try:
        text = form.text.decode()
    except UnicodeDecodeError:
        return "bytes"
    if not text.strip():
        return "space"
    kinds = {unicodedata.category(sign)[0] for sign in text}
    if kinds <= {"L", "M"}:
        return "piece" if form.initial is False else "word"
    if kinds == {"N"}:
        return "number"
    return "mixed" if kinds & {"L", "M", "N"} else "mark"


def _table(
    vocabulary: Vocabulary, classes: Collection[str], without: frozenset[int]
) -> tuple[dict[NormalForm, int], int]:
    """Row by normal form, and the number of rows whose form is there already."""
    table: dict[NormalForm, int] = {}
    repeats, later = 0, []
    names = [name for name in CLASSES if name in classes]
    for i in map(int, vocabulary.ids(*names)):
        form = vocabulary.forms[i]
        if form is None or i in without:
            continue
        if vocabulary.marker == "sentencepiece" and _BYTE.fullmatch(vocabulary.tokens[i] or ""):
            later.append((form, i))
        elif form in table:
            repeats += 1
        else:
            table[form] = i
    for form, i in later:
        if form in table:
            repeats += 1
        else:
            table[form] = i
    return table, repeats
