"""One form for the text of a token, whatever signs a tokenizer writes it with."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from cospace.errors import InputError, UnknownNameError

__all__ = ["MARKERS", "Marker", "NormalForm", "marker_of", "normal_form"]

Marker = Literal["byte_level", "sentencepiece", "wordpiece"]
MARKERS: tuple[Marker, ...] = ("byte_level", "sentencepiece", "wordpiece")

SPACE = "▁"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
"""Characters that WordPiece splits off one by one, first and last of each range."""


class NormalForm(NamedTuple):
    """The text of a token as bytes, and where in a word it stands."""

    text: bytes
    """Bytes without the sign of a beginning word; not always valid UTF-8 by themselves."""
    initial: bool | None
    """Whether it begins a word (a space goes before it); None where the tokenizer splits it off
    wherever it stands, and so does not tell."""


def normal_form(token: str, marker: Marker, *, prefix: str = "##") -> NormalForm:
    r"""Bytes of a token's text, and whether it begins a word.

    ``byte_level``: every character stands for one byte, a leading space begins a word.
    ``sentencepiece``: U+2581 stands for a space, ``<0xNN>`` for one byte. ``wordpiece``: ``##``
    goes before what continues a word; punctuation and Chinese characters are split off wherever
    they stand, so that they neither begin nor continue.

    Parameters
    ----------
    token
        As it is written in the vocabulary.
    marker
        How the tokenizer marks words.
    prefix
        What WordPiece writes before a continuation.

    Raises
    ------
    UnknownNameError
        For another marker.

    Examples
    --------
    >>> normal_form("Ġthe", "byte_level") == normal_form("▁the", "sentencepiece")
    True
    >>> normal_form("the", "wordpiece"), normal_form("##the", "wordpiece")
    (NormalForm(text=b'the', initial=True), NormalForm(text=b'the', initial=False))
    >>> normal_form("Ã©", "byte_level").text == normal_form("é", "sentencepiece").text == b"\xc3\xa9"
    True
    >>> normal_form("<0xC3>", "sentencepiece"), normal_form(",", "wordpiece")
    (NormalForm(text=b'\xc3', initial=False), NormalForm(text=b',', initial=None))
    """
    if marker == "wordpiece":
        if prefix and token.startswith(prefix) and token != prefix:
            return NormalForm(token[len(prefix) :].encode(), initial=False)
        alone = all(map(_split_off, token))
        return NormalForm(token.encode(), initial=None if alone else True)
    if marker == "byte_level":
        return _after_space(_bytes_of(token))
    if marker == "sentencepiece":
        if byte := _BYTE.fullmatch(token):
            return _after_space(bytes.fromhex(byte[1]))
        return _after_space(token.replace(SPACE, " ").encode())
    raise UnknownNameError.among(str(marker), MARKERS, "way to mark words")


def marker_of(tokenizer: Mapping[str, Any]) -> tuple[Marker, str]:
    """How a tokenizer marks words, from the content of tokenizer.json; and its prefix, if any.

    Raises
    ------
    InputError
        For a tokenizer that marks the ends of words, or in no way that is known.
    """
    model = tokenizer.get("model") or {}
    kind = str(model.get("type", "of no stated type"))
    suffix = model.get("end_of_word_suffix")
    if suffix:
        raise InputError(
            f"The tokenizer marks the ends of words ({suffix!r}): only marked beginnings or continuations "
            "of words can be matched."
        )
    if kind == "WordPiece" or (kind == "BPE" and model.get("continuing_subword_prefix")):
        return "wordpiece", str(model.get("continuing_subword_prefix") or "##")
    parts = [tokenizer.get(name) for name in ("normalizer", "pre_tokenizer", "decoder")]
    if _has(parts, "ByteLevel"):
        return "byte_level", ""
    if _has(parts, "Metaspace") or _has(parts, SPACE) or kind == "Unigram":
        return "sentencepiece", ""
    raise InputError(
        f"How the tokenizer ({kind}) marks words is not known: byte-level BPE, SentencePiece and "
        "WordPiece are."
    )


def _after_space(text: bytes) -> NormalForm:
    starts = text.startswith(b" ")
    return NormalForm(text[1:] if starts else text, initial=starts)


def _bytes_of(token: str) -> bytes:
    """Bytes of a byte-level token; of one that is no such (an added token), its UTF-8."""
    alphabet = _alphabet()
    try:
        return bytes(alphabet[sign] for sign in token)
    except KeyError:
        return token.encode()


@cache
def _alphabet() -> dict[str, int]:
    """Which byte each sign of byte-level BPE stands for.

    Bytes whose Latin-1 character can be seen are written as it; all others, in their order, as the
    characters from U+0100.
    """
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = [byte for byte in range(0x100) if byte not in seen]
    signs = {chr(byte): byte for byte in seen}
    return signs | {chr(0x100 + i): byte for i, byte in enumerate(unseen)}


def _split_off(sign: str) -> bool:
    code = ord(sign)
    if sign.isascii():
        return 0x20 < code < 0x7F and not sign.isalnum()
    if unicodedata.category(sign).startswith("P"):
        return True
    return any(first <= code <= last for first, last in _CJK)


def _has(value: Any, wanted: str) -> bool:
    """Whether a part of that type, or a string, occurs in the parts of a tokenizer."""
    if isinstance(value, Mapping):
        return any(_has(each, wanted) for each in value.values())
    if isinstance(value, list):
        return any(_has(each, wanted) for each in value)
    return bool(value == wanted)
