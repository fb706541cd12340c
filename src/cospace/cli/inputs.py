"""From what a user names to spaces: array files, a store, or models and texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cospace.cli.console import say
from cospace.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from cospace.corpus import Corpus
    from cospace.models.base import ModelFacts
    from cospace.space import Space
    from cospace.store import Store

__all__ = ["Inputs", "Reading", "check_neighbours", "corpus_of", "run", "spaces_of", "split"]

READING = "How models are read"
COLUMNS = ("text", "id", "group", "label", "pair")
OF_MODELS = (
    "texts",
    "limit",
    "columns",
    "sites",
    "pooling",
    "store",
    "special",
    "no_sink",
    "truncate",
    "dtype",
    "device",
    "batch_tokens",
    "accept",
    "trust_remote_code",
)
OF_STORES = ("sites", "pooling")
OF_TEXTS = ("texts", "limit", "columns")


def _option(*names: str, help: str, metavar: str | None = None, least: int | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, min=least, rich_help_panel=READING)


Texts = Annotated[
    str,
    _option(
        "--texts",
        metavar="FILE",
        help="JSONL, CSV, Parquet or plain lines; or a name that 'cospace corpus' lists.",
    ),
]
Limit = Annotated[
    int | None,
    _option("--limit", metavar="N", least=1, help="Read a random subset of N texts."),
]
Columns = Annotated[
    list[str] | None,
    _option(
        "--column",
        metavar="KIND=NAME",
        help="Column of the texts' file that holds the text, id, group, label or pair, where it is "
        "called otherwise: --column text=sentence.",
    ),
]
Sites = Annotated[
    str,
    _option(
        "--sites",
        metavar="SITES",
        help="By commas: all, last, embed, block.3, block.-1, final_norm, or depths such as 0.5.",
    ),
]
Poolings = Annotated[
    str, _option("--pooling", metavar="KINDS", help="By commas: mean, last, first, max.")
]
Folder = Annotated[
    Path | None,
    _option(
        "--store",
        metavar="FOLDER",
        help="Where activations are kept; by default in the user's cache.",
    ),
]
Special = Annotated[bool, _option("--special", help="Keep special tokens in the pooling.")]
NoSink = Annotated[bool, _option("--no-sink", help="Leave the first position out of the pooling.")]
Truncate = Annotated[
    bool, _option("--truncate", help="Cut overlong texts, and count them, instead of refusing.")
]
Dtype = Annotated[
    str,
    _option(
        "--dtype",
        metavar="TYPE",
        help="Number type of the forward pass: float32, bfloat16, float16, float64.",
    ),
]
Device = Annotated[str, _option("--device", metavar="WHERE", help="auto, cpu or cuda.")]
BatchTokens = Annotated[
    int,
    _option("--batch-tokens", metavar="N", least=1, help="Most padded tokens of one forward pass."),
]
Accept = Annotated[
    list[str] | None,
    _option("--accept", metavar="TERMS", help="Accept terms of use by name, such as gemma."),
]
Trust = Annotated[
    bool, _option("--trust-remote-code", help="Run Python code that lies beside the weights.")
]


@dataclass(frozen=True)
class Reading:
    """How models are read, or spaces taken out of a store."""

    texts: str = "plain"
    """A corpus."""
    limit: int | None = None
    """How many of the texts are read; None for all."""
    columns: Sequence[str] = ()
    """``kind=name`` of columns that are called otherwise."""
    sites: str = "all"
    """Sites, separated by commas."""
    pooling: str = "mean"
    """Poolings, separated by commas."""
    store: Path | None = None
    """Folder of activations."""
    special: bool = False
    """Whether special tokens are pooled."""
    no_sink: bool = False
    """Whether the first position is left out."""
    truncate: bool = False
    """Whether overlong texts are cut."""
    dtype: str = "float32"
    """Number type."""
    device: str = "auto"
    """Where it runs."""
    batch_tokens: int = 4096
    """Most padded tokens of one pass."""
    accept: Sequence[str] = ()
    """Terms accepted."""
    trust_remote_code: bool = False
    """Whether code beside the weights may run."""
    groups: str | None = None
    """What needs groups of the texts, as it was typed."""
    beyond: bool = False
    """Whether the texts themselves are needed beside the spaces."""
    same_sites: bool = False
    """Whether all models need the same sites."""
    neighbours: int | None = None
    """How many neighbours of each text were asked for."""
    typed: Mapping[str, str] = field(default_factory=dict)
    """Options that the user gave: parameter -> how it is written."""


@dataclass(frozen=True)
class Inputs:
    """Spaces, and where they come from."""

    spaces: list[Space]
    """In the order named."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Manifests of what was read."""
    texts: Mapping[str, str] | None = None
    """Id -> text, where they are known."""


def split(text: str | None) -> list[str]:
    """Words separated by commas."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def spaces_of(references: Sequence[str], how: Reading) -> Inputs:
    """Spaces of the references: all array files, or one store, or models.

    Raises
    ------
    InputError
        For a mixture, a reference that is named twice, or options that have no part in it.
    """
    from cospace import spacefile
    from cospace.store import is_store, open_store

    files = [Path(r) for r in references if _is_array(r)]
    if files:
        if len(files) < len(references):
            other = next(r for r in references if not _is_array(r))
            raise InputError(
                f"{other!r} is no array file, {str(files[0])!r} is one: compare arrays with arrays, "
                "models with models."
            )
        _refuse(how, OF_MODELS, "models", "array files")
        found = spacefile.spaces_of(files)
        return Inputs(found, {"files": [str(file) for file in files]}, _texts_beside(how))
    stores = [r for r in references if Path(r).is_dir() and is_store(Path(r))]
    if stores:
        if len(references) > 1:
            raise InputError(
                f"{stores[0]!r} is a store of activations: compare one store at a time, on its own."
            )
        _refuse(how, [name for name in OF_MODELS if name not in OF_STORES], "models", "a store")
        view = open_store(stores[0])
        sites = split(how.sites) if "sites" in how.typed and how.sites != "all" else None
        pooling = split(how.pooling) if "pooling" in how.typed else None
        spaces = view.spaces(sites=sites, pooling=pooling)
        return Inputs(spaces, {"store": view.manifest}, _texts_beside(how))
    store, corpus = run(references, how)
    return Inputs(store.spaces(), {"store": store.manifest}, _by_id(corpus))


def _texts_beside(how: Reading) -> dict[str, str] | None:
    """The texts of spaces that are here already, where they are needed and were named."""
    return _by_id(corpus_of(how)) if how.beyond and "texts" in how.typed else None


def _by_id(corpus: Corpus) -> dict[str, str]:
    return dict(zip(corpus.ids, corpus.texts, strict=True))


def _is_array(reference: str) -> bool:
    from cospace.spacefile import SUFFIXES

    return Path(reference).suffix.lower() in SUFFIXES and not Path(reference).is_dir()


def _refuse(how: Reading, options: Sequence[str], owner: str, found: str) -> None:
    for name in options:
        if name in how.typed and not (how.beyond and name in OF_TEXTS):
            raise InputError(
                f"{how.typed[name]} is for {owner}, and this is {found}: leave it out."
            )


def run(references: Sequence[str], how: Reading) -> tuple[Store, Corpus]:
    """Extract the activations of models, or find them in the store.

    Raises
    ------
    InputError
        For a mistake that shows before a model is read; and what reading them raises.
    """
    again = next((r for r, times in Counter(references).items() if times > 1), None)
    if again is not None:
        raise InputError(f"{again!r} is named twice: name each model once.")
    _check_reading(how)
    corpus = corpus_of(how)
    if how.groups is not None and corpus.groups is None:
        raise InputError(
            f"{how.groups} needs texts with groups, and {how.texts} has none: add a column 'group', "
            "or name it with --column group=NAME."
        )
    _check_references(references, how)
    from cospace.extraction import extract
    from cospace.models.base import TokenPolicy
    from cospace.models.cache import cache_folder
    from cospace.models.checkpoint import number_type, where_to_run
    from cospace.models.hf import load_model
    from cospace.store import Store
    from cospace.store.files import make_folder

    number_type(how.dtype)
    where_to_run(how.device)
    if "texts" not in how.typed and how.texts == "plain":
        say(f"texts: plain, {len(corpus)} packaged sentences (--texts for your own)")
    _tell_duplicates(corpus)
    folder = how.store
    if folder is None:
        folder = cache_folder() / "activations"
        say(f"activations are kept in {folder} (--store for another folder)")
    make_folder(folder)
    labels = _labels(references)
    views: list[Store] = []
    # One model at a time: only one of them need fit in memory.
    for reference in references:
        model = load_model(
            reference,
            dtype=how.dtype,
            device=how.device,  # type: ignore[arg-type]  # checked above
            accept=tuple(how.accept),
            trust_remote_code=how.trust_remote_code,
            name=labels[reference],
        )
        if how.same_sites and views:
            _check_same_sites(views[0], model.facts, how)
        views.append(
            extract(
                model,
                corpus,
                sites=split(how.sites),
                pooling=split(how.pooling),
                store=folder,
                policy=TokenPolicy(
                    special=how.special, sink=not how.no_sink, truncate=how.truncate
                ),
                batch_tokens=how.batch_tokens,
            )
        )
    return reduce(Store.beside, views), corpus


def _check_same_sites(view: Store, facts: ModelFacts, how: Reading) -> None:
    """Refuse a model that has other sites than the one before, before it is run."""
    from cospace.models.base import resolve_sites

    sites = resolve_sites(
        split(how.sites), blocks=facts.blocks, final_norm=facts.final_norm, model=facts.name
    )
    run = view.runs[0]
    names, known = [site.name for site in sites], [site.name for site in run.sites]
    other = [name for name in (*known, *names) if (name in known) != (name in names)]
    if other:
        owner = run.facts.name if other[0] in known else facts.name
        raise InputError(
            f"--drift needs the same sites in both forms: {run.facts.name} has {run.facts.blocks} "
            f"blocks and {facts.name} has {facts.blocks}, and {other[0]} is in {owner} alone. Name "
            "sites that both have (--sites), or leave --drift out."
        )


def _check_reading(how: Reading) -> None:
    """Refuse words that no model understands, before one is loaded or fetched."""
    from cospace.models.base import Pooling, check_site_names
    from cospace.models.packaged import check_terms

    for name, text in (("--sites", how.sites), ("--pooling", how.pooling)):
        if not split(text):
            raise InputError(f"{name} names nothing: leave it out for its default.")
    kinds = [kind.value for kind in Pooling]
    for kind in split(how.pooling):
        if kind not in kinds:
            raise UnknownNameError.among(kind, kinds, "pooling")
    check_site_names(split(how.sites))
    check_terms(how.accept)
    if how.store is not None and how.store.exists() and not how.store.is_dir():
        raise InputError(f"{how.store} is a file: --store takes a folder, made if it is missing.")


def _check_references(references: Sequence[str], how: Reading) -> None:
    """Refuse an unknown name, or terms not accepted, before the models in front are loaded."""
    from cospace.models.weights import packaged_models, resolve_weights

    free = {model.name for model in packaged_models() if model.cached or not model.terms}
    for reference in references:
        path = Path(reference)
        if path.is_dir() and not (path / "config.json").is_file() and reference not in free:
            raise InputError(
                f"{reference} is neither a model (no config.json in it) nor a store of activations."
            )
        # Files that are here are left for later: taking their checksum twice costs time.
        here = path.is_dir() or (path.is_file() and path.suffix.lower() == ".gguf")
        if reference not in free and not here:
            resolve_weights(reference, accept=tuple(how.accept))


def _labels(references: Sequence[str]) -> dict[str, str | None]:
    """Names for models that would share one: the references themselves."""
    short: dict[str, str] = {}
    for reference in references:
        path = Path(reference)
        if not path.exists():
            path = Path(reference.partition("@")[0])
        short[reference] = path.stem if path.suffix.lower() == ".gguf" else path.resolve().name
    twice = Counter(short.values())
    return {reference: reference if twice[name] > 1 else None for reference, name in short.items()}


def check_neighbours(k: int, n: int) -> None:
    """Refuse more neighbours than can tell anything: each of n rows has n - 1 others.

    Raises
    ------
    InputError
        For k >= n - 1.
    """
    if k >= n - 1:
        raise InputError(
            f"--k {k} of {n} rows makes all or nearly all of them neighbours: fewer than {n - 1} are "
            "expected; take fewer, or more rows."
        )


def corpus_of(how: Reading) -> Corpus:
    """The texts that are named, in the columns that are named.

    Raises
    ------
    InputError
        For a column that is not understood, and what reading them raises.
    """
    from cospace.corpora import open_corpus

    columns: dict[str, Any] = {}
    for word in how.columns:
        kind, sign, name = word.partition("=")
        if not (sign and name):
            raise InputError(f"--column {word} has no name: write --column text=NAME.")
        if kind not in COLUMNS:
            raise UnknownNameError.among(kind, COLUMNS, "kind of column")
        columns[kind] = name
    try:
        corpus = open_corpus(how.texts, limit=how.limit, **columns)
    except InputError as error:
        if " no column " in str(error) or " has no 'text'" in str(error):
            raise InputError(f"{error} On the command line: --column text=NAME.") from None
        raise
    if how.neighbours is not None:
        check_neighbours(how.neighbours, len(corpus))
    return corpus


def _tell_duplicates(corpus: Corpus) -> None:
    copies = corpus.duplicates()
    if copies:
        extra = sum(len(group) - 1 for group in copies)
        say(
            f"texts: {extra} of {len(corpus)} repeat an earlier one (first: "
            f"{', '.join(copies[0][:3])}); repeats make spaces look more alike"
        )
