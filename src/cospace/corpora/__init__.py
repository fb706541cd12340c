"""Real texts from packages, as corpora; no text lies in the library itself."""

from __future__ import annotations

from cospace.corpora.catalogue import CORPORA, Source
from cospace.corpora.keeping import Provenance, find
from cospace.corpora.reading import RealText, open_corpus, read, read_text
from cospace.corpora.selection import split, subset

__all__ = [
    "CORPORA",
    "Provenance",
    "RealText",
    "Source",
    "is_here",
    "open_corpus",
    "read",
    "read_text",
    "split",
    "subset",
]


def is_here(name: str) -> bool:
    """Whether a text of `CORPORA` can be read without fetching anything."""
    return find(CORPORA[name]) is not None
