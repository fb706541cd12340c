"""Which English words mean something to each other: a graph from WordNet, ConceptNet, or any edges."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cospace.corpora.catalogue import CORPORA
from cospace.corpora.keeping import keep
from cospace.corpora.wordnet import FILES
from cospace.errors import InputError
from cospace.models.cache import Reporter

__all__ = ["FORM_RELATIONS", "WordGraph", "open_graph", "read_conceptnet", "read_wordnet"]

FORM_RELATIONS = frozenset(
    {"FormOf", "EtymologicallyRelatedTo", "EtymologicallyDerivedFrom", "DerivedFrom"}
)
"""Relations of ConceptNet between forms rather than meanings."""
_NEVER = frozenset({"ExternalURL"})

_PARTS = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
_MARK = re.compile(r"\((?:a|p|ip)\)$")


@dataclass(frozen=True, eq=False)
class WordGraph:
    """Words, in lower case, and those that they are joined to; edges have no direction."""

    name: str
    """Where it comes from."""
    edges: Mapping[str, frozenset[str]]
    """Neighbours of every word; a word is no neighbour of itself."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], name: str = "edges") -> WordGraph:
        """Join the words of every pair.

        Examples
        --------
        >>> graph = WordGraph.of([("Dog", "cat"), ("cat", "cat")])
        >>> graph.joined("cat", "dog"), graph.joined("cat", "cat"), len(graph)
        (True, False, 2)
        """
        found: dict[str, set[str]] = {}
        for one, other in pairs:
            a, b = one.lower(), other.lower()
            found.setdefault(a, set())
            found.setdefault(b, set())
            if a != b:
                found[a].add(b)
                found[b].add(a)
        return cls(name, {word: frozenset(others) for word, others in found.items()})

    def __len__(self) -> int:
        return len(self.edges)

    def __contains__(self, word: object) -> bool:
        return word in self.edges

    def joined(self, one: str, other: str) -> bool:
        """Whether an edge joins two words."""
        return other in self.edges.get(one, frozenset())


def open_graph(reference: str | Path, *, progress: bool = True) -> WordGraph:
    """Read a graph: ``wordnet``, a folder of WordNet's database files, or a ConceptNet file.

    ``wordnet`` is the installed Debian package, or the cache, into which it is fetched once; a
    folder of that name is ``./wordnet``.

    Raises
    ------
    InputError
        For a path that does not exist, or holds another thing.
    AcquisitionError
        If the package cannot be fetched.
    """
    path = Path(reference).expanduser()
    if str(reference) == "wordnet":
        source = CORPORA["wordnet-definitions"]
        report = Reporter(shown=progress)
        return read_wordnet(keep(source, folder=None, cache=None, report=report).folder)
    if path.is_dir():
        return read_wordnet(path)
    if not path.exists():
        raise InputError(
            f"There is no graph {reference}: 'wordnet', a folder of WordNet's database files, or a file of "
            "ConceptNet's assertions is expected."
        )
    return read_conceptnet(path)


def read_wordnet(folder: str | Path) -> WordGraph:
    """Join single words that share a synset of WordNet, or whose synsets a pointer joins.

    Raises
    ------
    InputError
        If a database file is missing or is none.
    """
    synsets: dict[tuple[str, str], list[str]] = {}
    pointers: list[tuple[tuple[str, str], tuple[str, str]]] = []
    for file in FILES:
        path = Path(folder) / file
        part = file.partition(".")[2]
        for number, line in enumerate(_text(path).splitlines(), 1):
            if line.startswith("  ") or not line:
                continue
            try:
                words, targets = _synset(line)
                key = part, line[:8]
                synsets[key] = words
                pointers += [(key, (_PARTS[kind], offset)) for offset, kind in targets]
            except (ValueError, IndexError, KeyError):
                raise InputError(
                    f"{path}, line {number} is no synset of WordNet: give the folder of its database files."
                ) from None

    def pairs() -> Iterator[tuple[str, str]]:
        for words in synsets.values():
            yield from ((a, b) for a in words for b in words)
        for one, other in pointers:
            yield from ((a, b) for a in synsets[one] for b in synsets.get(other, ()))

    return WordGraph.of(pairs(), name="WordNet")


def read_conceptnet(path: str | Path, *, forms: bool = True) -> WordGraph:
    """Join single English words by any assertion of a ConceptNet file, compressed or not.

    Parameters
    ----------
    path
        Assertions, tab-separated: address, relation, start, end, facts.
    forms
        Whether relations between forms of words count, see ``FORM_RELATIONS``. Links to other
        sites never do.

    Raises
    ------
    InputError
        If the file cannot be read or a line has too few columns.
    """
    left_out = _NEVER if forms else _NEVER | FORM_RELATIONS

    def pairs() -> Iterator[tuple[str, str]]:
        for number, line in enumerate(_lines(Path(path)), 1):
            columns = line.split("\t")
            if len(columns) < 4:
                raise InputError(
                    f"{path}, line {number} has {len(columns)} columns; address, relation, start and end are expected."
                )
            relation, start, end = columns[1:4]
            if relation.removeprefix("/r/").partition("/")[0] in left_out:
                continue
            words = [end.split("/")[3] for end in (start, end) if end.startswith("/c/en/")]
            if len(words) == 2 and "_" not in words[0] + words[1]:
                yield words[0], words[1]

    return WordGraph.of(pairs(), name="ConceptNet")


def _synset(line: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Single words of a synset, and where its pointers go: offset and part of speech."""
    fields = line.partition("|")[0].split()
    count = int(fields[3], 16)
    words = [_MARK.sub("", word) for word in fields[4 : 4 + 2 * count : 2]]
    at = 4 + 2 * count
    pointers = int(fields[at])
    targets = [(fields[at + 2 + 4 * i], fields[at + 3 + 4 * i]) for i in range(pointers)]
    return [word for word in words if "_" not in word], targets


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"{path} cannot be read ({why}): give the folder of WordNet's database files."
        ) from None


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if packed
            else path.open(encoding="utf-8") as text
        ):
            for line in text:
                yield line.rstrip("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read ({getattr(error, 'strerror', None) or error}): a text file is expected."
        ) from None
