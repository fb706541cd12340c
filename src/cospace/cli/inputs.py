"""From what a user names to spaces: array files, a store, or models and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from cospace.cli.console import say
from cospace.corpus import Corpus
from cospace.errors import InputError
from cospace.models.base import TokenPolicy
from cospace.models.cache import cache_folder
from cospace.space import Space
from cospace.store import Store, is_store, open_store

__all__ = ["Inputs", "Reading", "spaces_of", "split", "texts_of"]

ARRAYS = (".npy", ".npz", ".safetensors", ".parquet")

Texts = Annotated[
    str, typer.Option("--texts", help="JSONL, CSV, Parquet or plain lines; or a packaged set.")
]
Sites = Annotated[
    str,
    typer.Option(
        help="Sites, separated by commas: all, last, embed, block.3, block.-1, final_norm, or depths such as 0.5."
    ),
]
Poolings = Annotated[
    str, typer.Option("--pooling", help="mean, last, first, max; several by commas.")
]
Folder = Annotated[
    Path | None,
    typer.Option("--store", help="Folder of activations; by default one in the user's cache."),
]
Special = Annotated[bool, typer.Option("--special", help="Keep special tokens in the pooling.")]
NoSink = Annotated[
    bool, typer.Option("--no-sink", help="Leave the first position out of the pooling.")
]
Truncate = Annotated[
    bool, typer.Option("--truncate", help="Cut overlong texts (counted), not refuse them.")
]
Dtype = Annotated[
    str, typer.Option(help="Number type of the forward pass: float32, bfloat16, float16.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
BatchTokens = Annotated[int, typer.Option(help="Most padded tokens of one forward pass.")]
Accept = Annotated[
    list[str] | None, typer.Option("--accept", help="Accept a model's terms of use, by their name.")
]
Trust = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run Python code that lies beside the weights.")
]


@dataclass(frozen=True)
class Reading:
    """How models are read."""

    texts: str = "plain"
    """A corpus."""
    sites: str = "all"
    """Sites, separated by commas."""
    pooling: str = "mean"
    """Poolings, separated by commas."""
    store: Path | None = None
    """Folder of activations."""
    policy: TokenPolicy = field(default_factory=TokenPolicy)
    """Which tokens take part."""
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


@dataclass(frozen=True)
class Inputs:
    """Spaces, and where they come from."""

    spaces: list[Space]
    """In the order named."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Manifests of what was read."""
    corpus: Corpus | None = None
    """The texts, where they are known."""


def split(text: str | None) -> list[str]:
    """Words separated by commas."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def spaces_of(references: Sequence[str], how: Reading) -> Inputs:
    """Spaces of the references: all array files, or one store, or models.

    Raises
    ------
    InputError
        For a mixture, or a reference that is named twice.
    """
    files = [Path(r) for r in references if Path(r).suffix in ARRAYS]
    if files:
        if len(files) < len(references):
            other = next(r for r in references if Path(r).suffix not in ARRAYS)
            raise InputError(
                f"{other!r} is no array file, {str(files[0])!r} is one: compare arrays with arrays, models with models."
            )
        from cospace import spacefile

        return Inputs(spacefile.spaces_of(files), {"files": [str(f) for f in files]})
    if len(references) == 1 and is_store(Path(references[0])):
        store = open_store(references[0])
        asked = split(how.sites)
        found = store.spaces(sites=None if asked == ["all"] else asked, pooling=None)
        return Inputs(found, {"store": store.manifest})
    store, corpus = run(references, how)
    return Inputs(store.spaces(), {"store": store.manifest}, corpus)


def run(references: Sequence[str], how: Reading) -> tuple[Store, Corpus]:
    """Extract the activations of models, or find them in the store."""
    again = next((r for r in references if list(references).count(r) > 1), None)
    if again is not None:
        raise InputError(f"{again!r} is named twice: name each model once.")
    corpus = texts_of(how.texts)
    from cospace.extraction import extract
    from cospace.models.hf import load_model

    folder = how.store or cache_folder() / "activations"
    models = [
        load_model(
            reference,
            dtype=how.dtype,
            device=how.device,  # type: ignore[arg-type]  # checked where it is used
            accept=tuple(how.accept),
            trust_remote_code=how.trust_remote_code,
        )
        for reference in references
    ]
    store = extract(
        models,
        corpus,
        sites=split(how.sites),
        pooling=split(how.pooling),
        store=folder,
        policy=how.policy,
        batch_tokens=how.batch_tokens,
    )
    return store, corpus


def texts_of(reference: str) -> Corpus:
    """The corpus, with its duplicates reported."""
    corpus = Corpus.read(reference)
    copies = corpus.duplicates()
    if copies:
        extra = sum(len(group) - 1 for group in copies)
        say(
            f"texts: {extra} of {len(corpus)} repeat an earlier one (first: {', '.join(copies[0][:3])}); "
            "repeats make spaces look more alike"
        )
    return corpus
