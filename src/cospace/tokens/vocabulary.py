"""What each row of an embedding matrix stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace.errors import AcquisitionError
from cospace.tokens.normal import Marker, NormalForm, marker_of, normal_form

__all__ = ["CLASSES", "Vocabulary", "read_vocabulary"]

CLASSES = ("used", "special", "reserved", "undecodable")
"""Classes of rows: ``used``: text; ``special``: signs for the model; ``reserved``: kept free, or
rows without a token; ``undecodable``: bytes that are no text by themselves."""

_FREE = re.compile(
    r"[<\[]\|?_?(?:(?:unused|reserved)[\w -]*|"
    r"(?:extra|placeholder|dummy|madeup|control|special|empty|pad)[\w -]*\d+)\|?[>\]]"
    r"|>>unused\w*<<|madeupword\d+",
    re.IGNORECASE,
)
_SIGN = re.compile(r"<\|.*\|>", re.DOTALL)
_BERT = re.compile(r"\[(?:PAD|UNK|CLS|SEP|MASK)\]")

Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Tokens by the row that is theirs."""

    marker: Marker
    """How the tokenizer marks words."""
    tokens: tuple[str | None, ...]
    """The token of every row as its tokenizer writes it; None where the tokenizer has none."""
    forms: tuple[NormalForm | None, ...]
    """Normal form of every row that is ``used`` or ``undecodable``."""
    codes: npt.NDArray[np.int8]
    """Class of every row, a place in ``CLASSES``."""
    rowless: int
    """Tokens of the tokenizer that have no row."""

    def __len__(self) -> int:
        return len(self.tokens)

    def ids(self, *classes: str) -> Index:
        """Rows of the named classes, ascending."""
        codes = [CLASSES.index(name) for name in classes]
        return np.flatnonzero(np.isin(self.codes, codes)).astype(np.int64)

    def counts(self) -> dict[str, int]:
        """Rows of every class."""
        found = np.bincount(self.codes, minlength=len(CLASSES))
        return dict(zip(CLASSES, map(int, found), strict=True))

    @property
    def nameless(self) -> Index:
        """Rows for which the tokenizer has no token, wherever they stand."""
        return np.asarray([i for i, token in enumerate(self.tokens) if token is None], np.int64)

    def text(self, row: int) -> str:
        """What a reader sees of a token: a leading space where it begins a word."""
        form, token = self.forms[row], self.tokens[row]
        if form is None:
            return f"[row {row}]" if token is None else token
        return (" " if form.initial else "") + form.text.decode(errors="backslashreplace")


def read_vocabulary(folder: Path, rows: int) -> Vocabulary:
    """Read tokenizer.json, and say of each of ``rows`` rows what it stands for.

    Rows beyond the tokenizer, and rows inside it that it leaves out, are ``reserved``; so are
    tokens that are called unused, reserved, extra or the like, wherever they stand.

    Raises
    ------
    AcquisitionError
        If there is no tokenizer.json, or it cannot be read.
    InputError
        For a tokenizer whose marks are not known.
    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise AcquisitionError(
            f"{folder} holds no tokenizer.json: save it with transformers' fast tokenizer."
        )
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        vocabulary = _listed(content["model"]["vocab"])
        added = {int(each["id"]): each for each in content.get("added_tokens") or ()}
        model = content["model"]
        unknown = {str(model["unk_token"])} if model.get("unk_token") else set()
        if isinstance(model.get("unk_id"), int):
            unknown.add(vocabulary[model["unk_id"]])
        names = vocabulary | {i: str(each["content"]) for i, each in added.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AcquisitionError(f"{path} cannot be read ({error}): fetch it again.") from error
    marker, prefix = marker_of(content)
    special = {i for i, each in added.items() if each.get("special")}
    tokens: list[str | None] = [names.get(i) for i in range(rows)]
    forms: list[NormalForm | None] = [None] * rows
    codes = np.full(rows, CLASSES.index("reserved"), dtype=np.int8)
    for i, token in enumerate(tokens):
        if token is None or _FREE.fullmatch(token):
            continue
        sign = i in special or token in unknown or _BERT.fullmatch(token)
        if sign or (i in added and _SIGN.fullmatch(token)):
            codes[i] = CLASSES.index("special")
            continue
        form = normal_form(token, marker, prefix=prefix)
        forms[i] = form
        codes[i] = CLASSES.index("used" if _is_text(form.text) else "undecodable")
    rowless = sum(not 0 <= i < rows for i in names)
    return Vocabulary(marker, tuple(tokens), tuple(forms), codes, rowless)


def _listed(vocabulary: Any) -> dict[int, str]:
    """Tokens by id: of a table by token, or of a list of tokens with their scores."""
    if isinstance(vocabulary, Mapping):
        return {int(i): str(token) for token, i in vocabulary.items()}
    return {i: str(token) for i, (token, _) in enumerate(vocabulary)}


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
