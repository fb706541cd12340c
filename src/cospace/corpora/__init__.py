"""Real texts from packages, as corpora."""

from __future__ import annotations

from cospace.corpora.reading import read
from cospace.corpora.selection import split, subset

__all__ = ["read", "split", "subset"]
