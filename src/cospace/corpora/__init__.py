"""Real texts from packages, as corpora; no text lies in the library itself."""

from __future__ import annotations

from cospace.corpora.catalogue import CORPORA, Source
from cospace.corpora.keeping import Provenance
from cospace.corpora.reading import RealText, read, read_text
from cospace.corpora.selection import split, subset

__all__ = ["CORPORA", "Provenance", "RealText", "Source", "read", "read_text", "split", "subset"]
