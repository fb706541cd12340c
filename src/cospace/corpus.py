"""Texts with identity: ids, groups, labels and pairs, from a file or a packaged probe set."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from operator import index as as_index
from pathlib import Path
from types import MappingProxyType

from cospace._textfile import KINDS, Number, Other, Records, load, parse
from cospace.errors import InputError, UnknownNameError

__all__ = ["PACKAGED", "Corpus"]

PACKAGED: Mapping[str, str] = MappingProxyType(
    {
        "plain": "480 everyday English sentences in 24 groups, topic x sentence form",
        "replica": "480 sentences as in plain, on other topics and in other forms",
        "sentiment": "880 opinions in 10 domains, positive or negative, often by implication",
        "acceptability": "640 sentences over 10 phenomena of grammar, acceptable or unacceptable",
        "paraphrase": "600 sentences in 300 pairs that say the same in other words",
        "unfamiliar": "160 grammatical sentences of 10 rare constructions",
        "notation": "160 lines of mathematics and logic from 10 fields, in Unicode",
        "gradeable": "640 prompts of 4 types whose one-word answers, the labels, can be checked",
    }
)
"""Name -> one-line description of each probe set that comes with the library.

A label of ``gradeable`` holds the accepted answers, separated by ``" | "``. A completion is right
if, stripped and casefolded, it begins with one of them and goes on with neither a letter nor a
digit.
"""

_Place = Callable[[int], str]
_SHOWN = 3


@dataclass(frozen=True)
class Corpus:
    """Texts with identity; all columns have the same length and order.

    Sequences are accepted for the columns and kept as tuples.

    Raises
    ------
    InputError
        If a column has another length than the texts, a text is blank, an id is given twice,
        or a value cannot be written as UTF-8.
    """

    name: str
    """Name used in manifests and reports."""
    ids: tuple[str, ...]
    """One id per text, all different."""
    texts: tuple[str, ...]
    """The texts, exactly as they were read."""
    groups: tuple[str, ...] | None = None
    """What each text has in common with others; permutations stay inside groups on request."""
    labels: tuple[str, ...] | None = None
    """What a probe or a report tells apart."""
    pairs: tuple[str, ...] | None = None
    """A name shared by the two texts that are paraphrases of each other."""

    def __post_init__(self) -> None:
        for column in ("ids", "texts", "groups", "labels", "pairs"):
            values = getattr(self, column)
            if isinstance(values, str):
                raise InputError(
                    f"The {column} of corpus {self.name!r} are one string, expected one per text."
                )
            if values is not None:
                object.__setattr__(self, column, tuple(values))
        _check(self._columns(), f"corpus {self.name!r}", self._place)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        name: str | None = None,
        text: str = "text",
        id: str | None = None,
        group: str | None = None,
        label: str | None = None,
        pair: str | None = None,
    ) -> Corpus:
        """Read a file of texts, or a packaged probe set by its name.

        The suffix says what the file is: ``.jsonl`` or ``.ndjson`` (one JSON object per line, or
        one JSON string, which is a text), ``.csv`` or ``.tsv`` (with a header), ``.parquet``, or
        ``.txt`` (one text per line). Text files are UTF-8. Nothing is stripped, skipped or dropped:
        blank lines are accepted at the end of a file alone, and equal texts are kept (see
        :meth:`duplicates`). Numbers and truth values are accepted as ids, groups, labels and
        pairs, as their JSON text.

        A file without ids gets them from the texts: ``t`` and the first 16 hexadecimal digits of
        the SHA-256 of the text, so that an id means the same text in every file and order. The
        second and later copies of a text get ``-2``, ``-3``, ... in the order of the file.

        Parameters
        ----------
        path
            A file, or a name in :data:`PACKAGED`. A name wins; ``./plain`` is always a path.
        name
            Name of the corpus; by default that of the file without its suffix.
        text
            Column of the texts.
        id, group, label, pair
            Columns of the ids and so on. A column named here must be there; by default ``id``,
            ``group``, ``label`` and ``pair`` are read where they are. A column is filled for every
            text or for none.

        Raises
        ------
        InputError
            If the file cannot be read as texts: the message says where and why.
        """
        asked = {"text": text, "id": id, "group": group, "label": label, "pair": pair}
        wanted = {kind: column or kind for kind, column in asked.items()}
        source = str(path)
        suffix, data = _open(path)
        records = parse(data, suffix=suffix, source=source, text=text, wanted=set(wanted.values()))
        if not records.values:
            raise InputError(f"{source} holds no texts.")
        for kind, column in asked.items():
            if column is not None and column not in records.names:
                names = ", ".join(map(repr, records.names))
                raise InputError(
                    f"{source} has no column {column!r}, only {names}: name it with {kind}=."
                )
        unit = "row" if suffix == ".parquet" else "line"

        def place(i: int) -> str:
            return f"{source}, {unit} {records.at[i]}"

        columns: dict[str, Sequence[str] | None] = {"texts": _texts(records, text, place)}
        for kind in ("id", "group", "label", "pair"):
            given = asked[kind] is not None
            columns[f"{kind}s"] = _names(records, wanted[kind], kind, place, asked=given)
        if columns["ids"] is None:
            columns["ids"] = _ids_of(columns["texts"] or ())
        _check(columns, source, place)
        _check_pairs(columns["pairs"], place)
        return cls(name=name or Path(path).stem, **columns)  # type: ignore[arg-type]

    @classmethod
    def packaged(cls, name: str) -> Corpus:
        """Read a packaged probe set, one of :data:`PACKAGED`.

        Raises
        ------
        UnknownNameError
            For another name.

        Examples
        --------
        >>> plain = Corpus.packaged("plain")
        >>> len(plain), len(set(plain.groups))
        (480, 24)
        """
        if name not in PACKAGED:
            raise UnknownNameError.among(name, PACKAGED, "packaged corpus")
        return cls.read(name)

    @classmethod
    def of(cls, texts: Iterable[str], *, name: str = "texts") -> Corpus:
        """Make a corpus of bare texts; the ids come from the texts as in :meth:`read`.

        Examples
        --------
        >>> Corpus.of(["yes", "no", "yes"]).ids
        ('t8a798890fe938171', 't9390298f3fb0c5b1', 't8a798890fe938171-2')
        """
        if isinstance(texts, str):
            raise InputError(f"Corpus.of() got one string, {texts!r}: give a list of texts.")
        texts = tuple(texts)
        return cls(name=name, ids=_ids_of(texts), texts=texts)

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, which: Iterable[str] | Iterable[int]) -> Corpus:
        """Select texts by id or by position, in the order asked for.

        Raises
        ------
        UnknownNameError
            For an id that is not in the corpus.
        InputError
            For a position outside it, a text asked for twice, a mask, or nothing asked for.

        Examples
        --------
        >>> corpus = Corpus("c", ids=("a", "b", "d"), texts=("one", "two", "three"))
        >>> corpus.take(["d", "a"]).texts
        ('three', 'one')
        >>> corpus.take([-1]).ids
        ('d',)
        """
        if isinstance(which, str):
            raise InputError(f"take() got one string, {which!r}: give a list of ids or positions.")
        chosen = [self._position(item) for item in which]
        if not chosen:
            raise InputError(f"No text of corpus {self.name!r} was asked for: name at least one.")
        item, times = Counter(chosen).most_common(1)[0]
        if times > 1:
            raise InputError(f"Text {self.ids[item]!r} was asked for {times} times; ask once.")
        columns = {
            column: None if values is None else tuple(values[i] for i in chosen)
            for column, values in self._columns().items()
        }
        return Corpus(name=self.name, **columns)  # type: ignore[arg-type]

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the ids and texts in their order, 64 hexadecimal digits.

        Groups, labels, pairs and the name are left out: they do not change any activation.
        """
        digest = hashlib.sha256()
        for both in zip(self.ids, self.texts, strict=True):
            for part in both:
                data = part.encode()
                digest.update(len(data).to_bytes(8, "little"))
                digest.update(data)
        return digest.hexdigest()

    def duplicates(self) -> tuple[tuple[str, ...], ...]:
        """Ids of the texts that are equal to another, one tuple per text, in order.

        Examples
        --------
        >>> Corpus("c", ids=("a", "b", "d"), texts=("one", "two", "one")).duplicates()
        (('a', 'd'),)
        """
        alike: dict[str, list[str]] = defaultdict(list)
        for name, text in zip(self.ids, self.texts, strict=True):
            alike[text].append(name)
        return tuple(tuple(ids) for ids in alike.values() if len(ids) > 1)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.ids)}

    def _position(self, item: str | int) -> int:
        if isinstance(item, str):
            if item in self._positions:
                return self._positions[item]
            raise UnknownNameError(
                f"No text of corpus {self.name!r} has the id {item!r}; "
                f"its first id is {self.ids[0]!r}."
            )
        if type(item).__name__ in {"bool", "bool_"}:
            raise InputError("take() got truth values: give the positions, np.flatnonzero(mask).")
        try:
            position = as_index(item)
        except TypeError:
            raise InputError(f"take() got {item!r}: give ids or positions.") from None
        if -len(self) <= position < len(self):
            return position % len(self)
        raise InputError(f"Corpus {self.name!r} has {len(self)} texts, none at {position}.")

    def _place(self, i: int) -> str:
        return f"corpus {self.name!r}, text {i + 1}"

    def _columns(self) -> dict[str, Sequence[str] | None]:
        return {
            "ids": self.ids,
            "texts": self.texts,
            "groups": self.groups,
            "labels": self.labels,
            "pairs": self.pairs,
        }


def _open(path: str | Path) -> tuple[str, bytes]:
    if isinstance(path, str) and path in PACKAGED:
        return ".jsonl", (files("cospace") / "data" / f"{path}.jsonl").read_bytes()
    found = Path(path).expanduser()
    if not found.exists():
        raise InputError(
            f"{str(path)!r} is neither a file nor a packaged corpus ({', '.join(PACKAGED)}): "
            f"give the path of a file of texts ({', '.join(KINDS)})."
        )
    return found.suffix.lower(), load(found)


def _kind(value: object) -> str:
    if isinstance(value, Other):
        return value.kind
    kinds: dict[type, str] = {Number: "number", bool: "truth value", type(None): "null"}
    kinds |= {list: "list", dict: "object", int: "number", float: "number"}
    return kinds.get(type(value), type(value).__name__)


def _texts(records: Records, column: str, place: _Place) -> tuple[str, ...]:
    texts = []
    for i, record in enumerate(records.values):
        if column not in record:
            names = ", ".join(map(repr, record)) or "nothing"
            raise InputError(f"{place(i)} has no {column!r}, only {names}: every text needs one.")
        text = record[column]
        if not isinstance(text, str) or isinstance(text, Number):
            raise InputError(f"{place(i)}: the text is a {_kind(text)}, expected a string.")
        texts.append(text)
    return tuple(texts)


def _names(
    records: Records, column: str, kind: str, place: _Place, *, asked: bool
) -> tuple[str, ...] | None:
    values = [record.get(column) for record in records.values]
    empty = [i for i, value in enumerate(values) if _is_missing(value)]
    if len(empty) == len(values) and not asked:
        return None
    if empty:
        raise InputError(
            f"{place(empty[0])} has no {column!r}, as {len(empty)} of {len(values)} texts: "
            f"give every text its {kind}, or none."
        )
    return tuple(_as_name(value, kind, i, place) for i, value in enumerate(values))


def _is_missing(value: object) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _as_name(value: object, kind: str, i: int, place: _Place) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise InputError(f"{place(i)}: the {kind} is a {_kind(value)}, expected a string or number.")


def _ids_of(texts: Iterable[str]) -> tuple[str, ...]:
    copies: Counter[str] = Counter()
    ids = []
    for text in texts:
        name = "t" + hashlib.sha256(str(text).encode(errors="surrogatepass")).hexdigest()[:16]
        copies[name] += 1
        ids.append(name if copies[name] == 1 else f"{name}-{copies[name]}")
    return tuple(ids)


def _check(columns: Mapping[str, Sequence[str] | None], source: str, place: _Place) -> None:
    texts, ids = columns["texts"] or (), columns["ids"] or ()
    if not texts:
        raise InputError(f"{source} holds no texts.")
    for column, values in columns.items():
        if values is None:
            continue
        if len(values) != len(texts):
            raise InputError(
                f"{source} has {len(values)} {column} and {len(texts)} texts, expected as many."
            )
        for i, value in enumerate(values):
            _check_value(value, column[:-1], i, place)
    where: dict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(ids):
        where[name].append(i)
    twice = [found for found in where.items() if len(found[1]) > 1]
    if twice:
        named = "; ".join(
            f"{name!r} ({' and '.join(place(i).rpartition(', ')[2] for i in found[:_SHOWN])}"
            f"{', ...' * (len(found) > _SHOWN)})"
            for name, found in twice[:_SHOWN]
        )
        more = f"; and {len(twice) - _SHOWN} more" if len(twice) > _SHOWN else ""
        raise InputError(f"{source} gives ids twice: {named}{more}. Every text needs its own id.")


def _check_value(value: object, kind: str, i: int, place: _Place) -> None:
    if not isinstance(value, str):
        raise InputError(f"{place(i)}: the {kind} is a {_kind(value)}, expected a string.")
    if not value.strip():
        raise InputError(f"{place(i)}: the {kind} is blank, expected some text.")
    if "\0" in value or not _is_unicode(value):
        raise InputError(
            f"{place(i)}: the {kind} holds a NUL or half a surrogate pair, expected plain Unicode."
        )


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_pairs(pairs: Sequence[str] | None, place: _Place) -> None:
    first: dict[str, int] = {}
    for i, name in enumerate(pairs or ()):
        first.setdefault(name, i)
    for name, times in Counter(pairs or ()).items():
        if times != 2:
            raise InputError(
                f"{place(first[name])}: the pair {name!r} has {times} text{'s' * (times > 1)}, "
                "expected 2."
            )
