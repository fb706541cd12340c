"""What ``cospace space`` reads: one site of every model of a store, or array files; texts to search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cospace.cli.inputs import Reading, corpus_of, split
from cospace.cli.space_numbers import check_depth
from cospace.errors import InputError, StoreError, UnknownNameError

if TYPE_CHECKING:
    from cospace.shared import RetrievalSet
    from cospace.space import Space
    from cospace.store.view import Run, Store

__all__ = [
    "CorpusName",
    "Depth",
    "Material",
    "Models",
    "Pooling",
    "PoolingAsFitted",
    "Searched",
    "Site",
    "Where",
    "are_files",
    "material",
    "opened",
    "read",
    "runs_of",
]

READING = "What is read"

Depth = Annotated[
    float | None,
    typer.Option(
        "--depth",
        metavar="F",
        help="Relative depth of every model, 0 (embeddings) to 1 (last state).",
        show_default=False,
        rich_help_panel=READING,
    ),
]
Site = Annotated[
    str | None,
    typer.Option(
        "--site",
        metavar="SITE",
        help="A site by name instead: embed, block.3, block.-1, last (the default).",
        show_default=False,
        rich_help_panel=READING,
    ),
]
Pooling = Annotated[
    str, typer.Option("--pooling", metavar="KIND", help="Pooling.", rich_help_panel=READING)
]
PoolingAsFitted = Annotated[
    str,
    typer.Option(
        "--pooling",
        metavar="KIND",
        help="Pooling; by default that of the fit.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
Models = Annotated[
    str | None,
    typer.Option(
        "--models",
        metavar="NAMES",
        help="Models of the store, by commas; by default all.",
        show_default=False,
        rich_help_panel=READING,
    ),
]
CorpusName = Annotated[
    str | None,
    typer.Option(
        "--corpus",
        metavar="NAME",
        help="Which texts, where the store holds rows of several.",
        show_default=False,
        rich_help_panel=READING,
    ),
]


@dataclass(frozen=True)
class Where:
    """Which rows of a store are read."""

    site: str | float = "last"
    """A site by name, or a relative depth."""
    pooling: str = "mean"
    """Pooling."""
    models: tuple[str, ...] = ()
    """Models; all where none is named."""
    corpus: str | None = None
    """Name of the texts; None where the store has one corpus."""

    @classmethod
    def of(
        cls,
        depth: float | None,
        site: str | None,
        pooling: str,
        models: str | None = None,
        corpus: str | None = None,
    ) -> Where:
        """From what was typed.

        Raises
        ------
        InputError
            For a depth and a site, or a depth out of [0, 1].
        """
        if depth is not None and site is not None:
            raise InputError(f"--depth {depth:g} and --site {site} were given: name one of them.")
        if depth is not None:
            check_depth(depth, "--depth")
        where: str | float = "last" if site is None else site
        return cls(where if depth is None else depth, pooling, tuple(split(models)), corpus)


@dataclass(frozen=True)
class Searched:
    """What is set aside, and what else is searched."""

    held_out: int | float
    """Share or number of texts that no fit sees, as ``share_of`` gives it."""
    paraphrases: Path | None = None
    """Store of the packaged paraphrases."""
    transfer: tuple[Path, ...] = ()
    """Stores of other texts."""
    texts: str | None = None
    """Where the texts themselves are, if they are no packaged set."""
    limit: int | None = None
    """How many of these are read."""
    columns: tuple[str, ...] = ()
    """Their columns."""
    seed: int = 0
    """Of the split."""


@dataclass(frozen=True)
class Material:
    """Rows to fit on and sets to search."""

    fit: dict[str, Space]
    """Model -> rows of the fit."""
    sets: list[RetrievalSet]
    """What is searched."""
    texts: tuple[str, ...]
    """Texts of the fit, where they are known."""
    manifests: dict[str, Any]
    """Manifests of the stores."""


def read(inputs: Sequence[str], where: Where, typed: Mapping[str, str]) -> dict[str, Space]:
    """Rows of every model: of one store, or of array files.

    Raises
    ------
    InputError
        For a mixture, or options of stores beside array files.
    StoreError
        For what the store lacks.
    """
    from cospace.spacefile import spaces_of

    if not are_files(inputs):
        return spaces_at(opened(inputs), where)
    for name in ("depth", "site", "pooling", "models", "corpus"):
        if name in typed:
            raise InputError(
                f"{typed[name]} is for a store, and these are array files: leave it out."
            )
    return {space.name: space for space in spaces_of(inputs)}


def are_files(inputs: Sequence[str]) -> bool:
    """Whether array files are named, and not a store.

    Raises
    ------
    InputError
        For a mixture, or several stores.
    """
    from cospace.spacefile import SUFFIXES

    files = [
        one for one in inputs if Path(one).suffix.lower() in SUFFIXES and not Path(one).is_dir()
    ]
    if files and len(files) < len(inputs):
        other = next(one for one in inputs if one not in files)
        raise InputError(
            f"{other!r} is no array file and {files[0]!r} is one: give one store, or array files alone."
        )
    if not files and len(inputs) > 1:
        raise InputError(f"{len(inputs)} stores were given: give one, or array files.")
    return bool(files)


def opened(inputs: Sequence[str]) -> Store:
    """The store that is named."""
    from cospace.store import open_store

    return open_store(inputs[0])


def runs_of(store: Store, where: Where) -> dict[str, Run]:
    """One run of every model, over one corpus.

    Raises
    ------
    UnknownNameError
        For texts or a model that the store lacks.
    InputError
        Where the store has rows of several texts and none is named.
    StoreError
        For two runs of a model over one corpus.
    """
    known = list(dict.fromkeys(run.corpus for run in store.runs))
    if where.corpus is not None and where.corpus not in known:
        raise UnknownNameError.among(where.corpus, known, f"name of texts in {store.path}")
    if where.corpus is None and len(known) > 1:
        raise InputError(
            f"{store.path} holds rows of several texts ({', '.join(known)}): name one, --corpus {known[0]}."
        )
    found: dict[str, Run] = {}
    for run in store.runs:
        if where.corpus is not None and run.corpus != where.corpus:
            continue
        name = run.facts.name
        if name in found:
            raise StoreError(
                f"{store.path} has two runs of {name} on {run.corpus}, {found[name].folder} and {run.folder}: extract "
                "one of them into a store of its own."
            )
        found[name] = run
    for name in where.models:
        if name not in found:
            raise UnknownNameError.among(name, found, f"model in {store.path}")
    return {name: found[name] for name in where.models or found}


def spaces_at(store: Store, where: Where) -> dict[str, Space]:
    """Rows of every model at one site."""
    return {
        name: store.space(run.folder, where.site, where.pooling)
        for name, run in runs_of(store, where).items()
    }


def material(
    inputs: Sequence[str], where: Where, asked: Searched, typed: Mapping[str, str]
) -> Material:
    """Split the texts, and read what else is searched.

    Raises
    ------
    InputError, StoreError, RowMismatchError
        For what cannot be read, or does not match.
    """
    from cospace.shared import RetrievalSet, split_texts
    from cospace.shared.training import repeats
    from cospace.space import Space, matched

    spaces = read(inputs, where, typed)
    if len(spaces) < 2:
        raise InputError(
            f"{', '.join(inputs)} holds {len(spaces)} model: a shared space is of at least 2; extract another into it."
        )
    rows = dict(zip(spaces, matched(list(spaces.values())).spaces, strict=True))
    first = next(iter(rows.values()))
    if first.ids is None:
        ids = tuple(f"row {i}" for i in range(first.n))
        rows = {
            name: Space(s.rows, ids=ids, name=s.name, facts=s.facts) for name, s in rows.items()
        }
    else:
        ids = first.ids
    files = are_files(inputs)
    manifests: dict[str, Any] = {"files": list(inputs)}
    known: Mapping[str, str] = {}
    if asked.texts is not None:
        known = _named(asked)
    if not files:
        store = opened(inputs)
        manifests = {"store": _manifest(store, where)}
        known = known or _packaged(runs_of(store, where))
    if known and (absent := [one for one in ids if one not in known]):
        raise InputError(
            f"{len(absent)} of the {len(ids)} texts of the rows are not among --texts {asked.texts} ({absent[0]!r} "
            "...): name the texts that the rows were made of."
        )
    told = [known[one] for one in ids] if known else [str(i) for i in repeats(rows)]
    if asked.held_out >= len(ids):
        raise InputError(
            f"--held-out is {asked.held_out} and there are {len(ids)} texts: leave some to fit on."
        )
    parts = split_texts(ids, held_out=asked.held_out, rng=asked.seed, together=told)
    fit = {name: space.take(parts.fit) for name, space in rows.items()}
    new = {name: space.take(parts.held_out) for name, space in rows.items()}
    sets = [RetrievalSet("new", new, texts=_of(known, parts.held_out))]
    names = tuple(rows)
    if asked.paraphrases is not None:
        manifests["paraphrases"] = str(asked.paraphrases)
        sets.append(_paraphrases(asked.paraphrases, where, names))
    for path in asked.transfer:
        manifests.setdefault("transfer", []).append(str(path))
        sets.append(_transfer(path, where, names))
    return Material(fit, sets, _of(known, parts.fit) or (), manifests)


def _of(known: Mapping[str, str], ids: Sequence[str]) -> tuple[str, ...] | None:
    return tuple(known[one] for one in ids) if known else None


@lru_cache(maxsize=1)
def _named(asked: Searched) -> Mapping[str, str]:
    told = {"texts": "--texts"}
    corpus = corpus_of(
        Reading(texts=str(asked.texts), limit=asked.limit, columns=asked.columns, typed=told)
    )
    return dict(zip(corpus.ids, corpus.texts, strict=True))


def _packaged(runs: Mapping[str, Run]) -> dict[str, str]:
    """The texts of rows of a packaged set, which are known without asking."""
    from cospace.corpus import PACKAGED, Corpus

    run = next(iter(runs.values()))
    if run.corpus not in PACKAGED:
        return {}
    corpus = Corpus.packaged(run.corpus)
    same = corpus.fingerprint == run.fingerprint
    return dict(zip(corpus.ids, corpus.texts, strict=True)) if same else {}


def _manifest(store: Store, where: Where) -> dict[str, Any]:
    folders = {run.folder for run in runs_of(store, where).values()}
    return {name: one for name, one in store.manifest.items() if name in folders}


def _paraphrases(path: Path, where: Where, names: tuple[str, ...]) -> RetrievalSet:
    from cospace.corpus import Corpus
    from cospace.shared import RetrievalSet
    from cospace.store import open_store

    corpus, store = Corpus.packaged("paraphrase"), open_store(path)
    if not any(run.fingerprint == corpus.fingerprint for run in store.runs):
        there = ", ".join(dict.fromkeys(f"{run.corpus}, {run.rows} texts" for run in store.runs))
        raise InputError(
            f"{path} holds no rows of all packaged paraphrases, only of {there}: extract them, cospace extract MODEL "
            f"--texts paraphrase --store {path}."
        )
    there_at = Where(where.site, where.pooling, names, corpus.name)
    return RetrievalSet.paraphrases("paraphrase", spaces_at(store, there_at), corpus)


def _transfer(path: Path, where: Where, names: tuple[str, ...]) -> RetrievalSet:
    from cospace.shared import RetrievalSet
    from cospace.store import open_store

    store = open_store(path)
    there = Where(where.site, where.pooling, names)
    runs = runs_of(store, there)
    known = _packaged(runs)
    spaces = spaces_at(store, there)
    ids = next(iter(spaces.values())).ids or ()
    return RetrievalSet(next(iter(runs.values())).corpus, spaces, texts=_of(known, ids))
