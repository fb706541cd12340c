"""Reading a real text as a corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cospace.corpora.selection import subset
from cospace.corpora.wordnet import read_glosses
from cospace.corpus import Corpus

__all__ = ["read"]


def read(
    name: str,
    *,
    folder: str | Path,
    min_words: int = 1,
    limit: int | None = None,
    seed: int = 0,
) -> Corpus:
    """Read a real text."""
    texts: dict[str, str] = {}
    for topic, text in _pieces(name, Path(folder)):
        if len(text.split()) >= min_words:
            texts.setdefault(text, topic)
    bare = Corpus.of(texts, name=name)
    topics = tuple(texts.values())
    corpus = Corpus(name, bare.ids, bare.texts, groups=topics)
    return corpus if limit is None else subset(corpus, limit, seed=seed)


def _pieces(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    for gloss in read_glosses(folder):
        if name == "wordnet-definitions":
            yield gloss.topic, gloss.definition
        else:
            yield from ((gloss.topic, example) for example in gloss.examples)
