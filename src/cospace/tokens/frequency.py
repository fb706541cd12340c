"""How often tokens stand in a real text, counted by the model's own tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cospace.corpus import Corpus
from cospace.errors import AcquisitionError, MissingDependencyError

__all__ = ["Frequencies", "count_tokens"]

Index = npt.NDArray[np.int64]

_TOGETHER = 256
"""Texts that are written in one line: only the first word of a line has no blank before it."""


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Occurrences of every token in a text."""

    text: str
    """Name of the text."""
    tokens: int
    """Tokens in it."""
    counts: Index
    """Occurrences of each, shape (rows,)."""


def count_tokens(folder: Path, rows: int, corpus: Corpus) -> Frequencies:
    """Count the tokens of a text as the tokenizer in ``folder`` splits it; no special ones added.

    Parameters
    ----------
    folder
        Folder that holds ``tokenizer.json``.
    rows
        Rows of the model's embeddings; tokens without a row are not counted.
    corpus
        The text. Its pieces are joined by blanks, so that their first words are beginnings of words.

    Raises
    ------
    MissingDependencyError
        Without the tokenizers library.
    AcquisitionError
        If the tokenizer cannot be read.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingDependencyError.needs("tokenizers", "Counting tokens", "models") from None
    path = folder / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more special
        raise AcquisitionError(f"{path} cannot be read ({error}): fetch it again.") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    texts = corpus.texts
    lines = [" ".join(texts[i : i + _TOGETHER]) for i in range(0, len(texts), _TOGETHER)]
    counts = np.zeros(rows, dtype=np.int64)
    for found in tokenizer.encode_batch(lines, add_special_tokens=False):
        ids = np.asarray(found.ids, dtype=np.int64)
        counts += np.bincount(ids[ids < rows], minlength=rows)
    return Frequencies(corpus.name, int(counts.sum()), counts)
