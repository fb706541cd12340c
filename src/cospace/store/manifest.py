"""What a run says of itself on disk: the manifest, and the key that names the run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from cospace.errors import StoreError
from cospace.models.base import ModelFacts, Site, TokenPolicy

__all__ = [
    "FORMAT",
    "MANIFEST",
    "Circumstances",
    "CorpusFacts",
    "Manifest",
    "Part",
    "RowsFile",
    "Shard",
    "library_versions",
    "plain_json",
    "read_manifest",
    "run_key",
    "tensor_name",
]

FORMAT = 2
"""Version of the layout on disk."""
MANIFEST = "manifest.json"
"""Name of the manifest in the folder of a run."""

_LIBRARIES = ("cospace", "numpy", "torch", "transformers", "safetensors", "pyarrow")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CorpusFacts(_Record):
    """The texts of a run."""

    name: str
    """Name of the corpus."""
    fingerprint: str
    """Fingerprint of its ids and texts."""
    rows: int
    """Number of texts."""


class Circumstances(_Record):
    """What shards were made with; it may differ from shard to shard after a resumption."""

    batch_tokens: int
    """Most padded tokens of one forward pass."""
    versions: dict[str, str]
    """Versions of the libraries that had a hand in it."""
    model: dict[str, str | int | float | bool | None]
    """What the model says of how it runs, such as device, attention and padding side."""


class Shard(_Record):
    """One file of rows."""

    file: str
    """Name in the folder of the run."""
    start: int
    """First row."""
    stop: int
    """One past the last row."""
    size: int
    """Bytes."""
    sha256: str
    """Checksum of the file."""
    made: int
    """Index of its circumstances in the manifest."""


class Part(_Record):
    """The tensors that one pass over the texts gives."""

    tensors: tuple[str, ...]
    """Their names, ``site/pooling``."""
    first: int
    """Number of its first shard."""
    rows_per_shard: int
    """Rows in every shard but the last."""
    shards: tuple[Shard, ...] = ()
    """Finished shards in the order of their rows."""

    def spans(self, rows: int) -> tuple[tuple[str, int, int], ...]:
        """Every (file, start, stop) that the part has once it is finished."""
        starts = range(0, rows, self.rows_per_shard)
        return tuple(
            (f"shard-{self.first + i:05d}.safetensors", a, min(a + self.rows_per_shard, rows))
            for i, a in enumerate(starts)
        )

    def missing(self, rows: int) -> tuple[tuple[str, int, int], ...]:
        """Every (file, start, stop) that is still to be computed."""
        there = {shard.file for shard in self.shards}
        return tuple(span for span in self.spans(rows) if span[0] not in there)


class RowsFile(_Record):
    """The table of texts."""

    file: str
    """Name in the folder of the run."""
    sha256: str
    """Checksum of the file."""
    tokens: int
    """Attended tokens of all texts."""
    truncated: int
    """Texts that were cut."""


class Manifest(_Record):
    """All that is known of a run: a model, a corpus, a token policy, a number type."""

    format: int
    """Version of the layout."""
    key: str
    """Key of the run."""
    model: ModelFacts
    """The model."""
    policy: TokenPolicy
    """Which tokens took part."""
    corpus: CorpusFacts
    """The texts."""
    sites: tuple[Site, ...] = ()
    """Sites in the order of the forward pass."""
    poolings: tuple[str, ...] = ()
    """Poolings in the order of their catalogue."""
    circumstances: tuple[Circumstances, ...] = ()
    """What the shards were made with."""
    parts: tuple[Part, ...] = ()
    """Passes over the texts."""
    rows: RowsFile | None = None
    """The table of texts; None until a first pass is finished."""

    def part_of(self, tensor: str) -> Part | None:
        """Return the part that holds or will hold ``tensor``."""
        return next((part for part in self.parts if tensor in part.tensors), None)

    def to_json(self) -> bytes:
        """Return the manifest as it stands on disk."""
        plain = self.model_dump(mode="json")
        text = json.dumps(plain, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return text.encode() + b"\n"


def tensor_name(site: str, pooling: str) -> str:
    """Name of a tensor in a shard.

    Examples
    --------
    >>> tensor_name("block.3", "mean")
    'block.3/mean'
    """
    return f"{site}/{pooling}"


def plain_json(value: Mapping[str, Any]) -> str:
    """Canonical JSON of plain values, for keys and headers.

    Examples
    --------
    >>> plain_json({"b": None, "a": 1})
    '{"a":1,"b":null}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def run_key(facts: ModelFacts, policy: TokenPolicy, fingerprint: str) -> str:
    """Key of a run: what decides its rows, hashed.

    The first 16 hexadecimal digits of the SHA-256 of a JSON object of plain values: weights,
    tokenizer, configuration, revision, architecture and number type of the model, the token
    policy, the fingerprint of the corpus and the version of the layout. Neither names nor paths
    take part in it.
    """
    plain = {
        "format": FORMAT,
        "weights": facts.weights_hash,
        "tokenizer": facts.tokenizer_hash,
        "config": facts.config_hash,
        "revision": facts.revision,
        "architecture": facts.architecture,
        "dtype": facts.dtype,
        "policy": asdict(policy),
        "corpus": fingerprint,
    }
    return hashlib.sha256(plain_json(plain).encode()).hexdigest()[:16]


def library_versions(names: Sequence[str] = _LIBRARIES) -> dict[str, str]:
    """Return the versions of those libraries that are installed, without importing them."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of the run in ``folder``.

    Raises
    ------
    StoreError
        If it cannot be read, is damaged, or was written by an older or newer version.
    """
    path = folder / MANIFEST
    try:
        plain = json.loads(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise StoreError(f"{path} is not JSON: {_damaged(folder)}") from error
    found = plain.get("format") if isinstance(plain, dict) else None
    if isinstance(found, int) and found > FORMAT:
        raise StoreError(
            f"{path} has format {found}, this version of cospace reads {FORMAT}: "
            "update cospace, or name another folder."
        )
    if isinstance(found, int) and found < FORMAT:
        raise StoreError(
            f"{path} has format {found}, which does not tell tokenizers and configurations apart; "
            f"this version of cospace reads {FORMAT}: extract into another folder, or delete the "
            f"folder {folder} and extract again."
        )
    try:
        return Manifest.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise StoreError(
            f"{path} is not a manifest ({where}: {first['msg']}): {_damaged(folder)}"
        ) from error


def _damaged(folder: Path) -> str:
    return f"restore it, or delete the folder {folder} and extract again."
