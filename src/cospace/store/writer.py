"""Writing a run: what is missing, shard after shard, whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from cospace.corpus import Corpus
from cospace.errors import ExtractionError, StoreError
from cospace.models.base import ModelFacts, Pooled, Pooling, Site, TokenPolicy
from cospace.store.files import (
    locked,
    make_folder,
    read_tensor,
    remove_leftovers,
    sha256_of,
    shard_bytes,
    shard_problem,
    write_file,
)
from cospace.store.manifest import (
    FORMAT,
    MANIFEST,
    Circumstances,
    CorpusFacts,
    Manifest,
    Part,
    RowsFile,
    Shard,
    read_manifest,
    run_key,
    tensor_name,
)

__all__ = ["RunWriter", "Work", "find_run", "open_writer"]

_ROWS = "rows.parquet"


@dataclass(frozen=True)
class Work:
    """One shard that is to be computed."""

    part: int
    """Index of its part in the manifest."""
    file: str
    """Its name."""
    start: int
    """First text."""
    stop: int
    """One past the last text."""
    tensors: tuple[tuple[Site, Pooling], ...]
    """What it holds."""


class RunWriter:
    """One run of a store while it is being written; made by :func:`open_writer`."""

    def __init__(self, folder: Path, manifest: Manifest, corpus: Corpus) -> None:
        self.folder = folder
        self.manifest = manifest
        self.notes: list[str] = []
        """What was found damaged, one line each."""
        self.cut: tuple[str, ...] = ()
        """Ids of the texts that were cut; known once the run is finished."""
        self._corpus = corpus
        self._wanted: tuple[str, ...] = ()
        self._tokens = np.full(manifest.corpus.rows, -1, dtype=np.int64)
        if folder.is_dir():
            remove_leftovers(folder)

    def want(
        self,
        sites: Sequence[Site],
        poolings: Sequence[Pooling],
        *,
        rows_per_shard: int,
    ) -> tuple[Work, ...]:
        """Plan the tensors ``sites`` x ``poolings`` and return what is still to be computed.

        Tensors that a part has, finished or not, stay in it; the others make one new part.
        """
        self._wanted = tuple(tensor_name(s.name, p.value) for s in sites for p in poolings)
        self._drop_damaged()
        self._tokens = self._known_tokens()
        now = self.manifest
        new = tuple(name for name in self._wanted if now.part_of(name) is None)
        parts = now.parts
        if new:
            first = sum(len(part.spans(now.corpus.rows)) for part in parts)
            parts = (*parts, Part(tensors=new, first=first, rows_per_shard=rows_per_shard))
        planned = now.model_copy(
            update={
                "sites": tuple(sorted({*now.sites, *sites})),
                "poolings": tuple(p.value for p in Pooling if p in {*now.poolings, *poolings}),
                "parts": parts,
            }
        )
        work = _work(planned, self._wanted)
        if work:
            self.manifest = planned
        return work

    def add(self, work: Work, pooled: Pooled, circumstances: Circumstances) -> None:
        """Write one shard, made under ``circumstances``, and list it in the manifest.

        Raises
        ------
        ExtractionError
            If the tokens of a text are not those of the shards that are there already.
        StoreError
            If it cannot be written.
        """
        make_folder(self.folder)
        self._check_tokens(work, pooled.tokens)
        cut = set(pooled.truncated)
        ids = self._corpus.ids[work.start : work.stop]
        arrays: dict[str, npt.NDArray[Any]] = {
            tensor_name(site.name, pooling.value): pooled.rows[site.name, pooling.value]
            for site, pooling in work.tensors
        }
        arrays["tokens"] = np.asarray(pooled.tokens, dtype=np.int64)
        arrays["truncated"] = np.array([name in cut for name in ids], dtype=np.uint8)
        header = {
            "format": FORMAT,
            "key": self.manifest.key,
            "start": work.start,
            "stop": work.stop,
        }
        data = shard_bytes(arrays, header)
        write_file(self.folder / work.file, data)
        made = list(self.manifest.circumstances)
        if circumstances not in made:
            made.append(circumstances)
        shard = Shard(
            file=work.file,
            start=work.start,
            stop=work.stop,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            made=made.index(circumstances),
        )
        part = self.manifest.parts[work.part]
        shards = tuple(sorted((*part.shards, shard), key=lambda one: one.start))
        self._replace_part(work.part, part.model_copy(update={"shards": shards}))
        self.manifest = self.manifest.model_copy(update={"circumstances": tuple(made)})
        self._save()

    def finish(self) -> None:
        """Write the table of texts once every wanted tensor is there, and bring names up to date.

        Groups, labels and pairs are those of the present corpus: they are no part of the key.
        """
        now = self.manifest
        part = now.part_of(self._wanted[0])
        if part is None or part.missing(now.corpus.rows):
            raise StoreError(f"{self.folder} is not finished: extract again to go on.")
        tokens = self._column(part, "tokens")
        truncated = self._column(part, "truncated").astype(bool)
        self.cut = tuple(self._corpus.ids[i] for i in np.flatnonzero(truncated))
        data = _rows_bytes(self._corpus, tokens, truncated)
        rows = RowsFile(
            file=_ROWS,
            sha256=hashlib.sha256(data).hexdigest(),
            tokens=int(tokens.sum()),
            truncated=int(truncated.sum()),
        )
        path = self.folder / _ROWS
        if not path.is_file() or sha256_of(path) != rows.sha256:
            write_file(path, data)
        self.manifest = now.model_copy(update={"rows": rows})
        self._save()

    def _check_tokens(self, work: Work, tokens: npt.NDArray[np.int64]) -> None:
        there = self._tokens[work.start : work.stop]
        other = np.flatnonzero((there >= 0) & (there != tokens))
        if other.size:
            i = int(other[0])
            raise ExtractionError(
                f"{self.manifest.model.name} reads {tokens[i]} tokens in text "
                f"{self._corpus.ids[work.start + i]!r}, but read {there[i]} when {self.folder} was "
                "begun: its tokenizer has changed. Name another folder."
            )

    def _known_tokens(self) -> npt.NDArray[np.int64]:
        known = np.full(self.manifest.corpus.rows, -1, dtype=np.int64)
        for part in self.manifest.parts:
            for shard in part.shards:
                known[shard.start : shard.stop] = read_tensor(self.folder / shard.file, "tokens")
        return known

    def _column(self, part: Part, name: str) -> npt.NDArray[np.int64]:
        pieces = [read_tensor(self.folder / shard.file, name) for shard in part.shards]
        return np.concatenate(pieces).astype(np.int64)

    def _drop_damaged(self) -> None:
        for i, part in enumerate(self.manifest.parts):
            good = []
            for shard in part.shards:
                problem = shard_problem(self.folder, part, shard, checksum=True)
                if problem is None:
                    good.append(shard)
                    continue
                when = "now" if set(part.tensors) & set(self._wanted) else "once it is asked for"
                self.notes.append(f"{self.folder.name}: {problem}. It is computed again {when}.")
            self._replace_part(i, part.model_copy(update={"shards": tuple(good)}))

    def _replace_part(self, i: int, part: Part) -> None:
        parts = list(self.manifest.parts)
        parts[i] = part
        self.manifest = self.manifest.model_copy(update={"parts": tuple(parts)})

    def _save(self) -> None:
        path = self.folder / MANIFEST
        data = self.manifest.to_json()
        if not path.is_file() or path.read_bytes() != data:
            write_file(path, data)


@contextlib.contextmanager
def open_writer(
    store: Path, facts: ModelFacts, corpus: Corpus, policy: TokenPolicy
) -> Iterator[RunWriter]:
    """Hold the run of ``facts`` x ``corpus`` x ``policy`` in the folder ``store`` for writing.

    What a killed writer left half-written is removed, and damaged shards are taken off the list.

    Raises
    ------
    StoreError
        If the folder may not be written or another process writes the same run.
    """
    make_folder(store)
    key = run_key(facts, policy, corpus.fingerprint)
    with locked(store / f".lock-{key}", f"The run of {facts.name} in {store}"):
        about = CorpusFacts(name=corpus.name, fingerprint=corpus.fingerprint, rows=len(corpus))
        folder = find_run(store, key)
        if folder is None:
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", facts.name).strip("-.") or "model"
            folder = store / f"{name}-{key}"
            manifest = Manifest(format=FORMAT, key=key, model=facts, policy=policy, corpus=about)
        else:
            manifest = read_manifest(folder)
            # the key leaves names out: the last call decides what things are called
            manifest = manifest.model_copy(update={"model": facts, "corpus": about})
        yield RunWriter(folder, manifest, corpus)


def find_run(store: Path, key: str) -> Path | None:
    """Return the folder of a run by its key, None if there is none."""
    found = sorted(path.parent for path in store.glob(f"*-{key}/{MANIFEST}"))
    return found[0] if found else None


def _work(manifest: Manifest, wanted: Sequence[str]) -> tuple[Work, ...]:
    names = {
        tensor_name(site.name, pooling): (site, Pooling(pooling))
        for site in manifest.sites
        for pooling in manifest.poolings
    }
    return tuple(
        Work(i, file, start, stop, tuple(names[name] for name in part.tensors))
        for i, part in enumerate(manifest.parts)
        if set(part.tensors) & set(wanted)
        for file, start, stop in part.missing(manifest.corpus.rows)
    )


def _rows_bytes(
    corpus: Corpus, tokens: npt.NDArray[np.int64], truncated: npt.NDArray[np.bool_]
) -> bytes:
    n = len(corpus)
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in corpus.texts]
    columns = {
        "id": pa.array(corpus.ids, pa.string()),
        "group": pa.array(corpus.groups or [None] * n, pa.string()),
        "label": pa.array(corpus.labels or [None] * n, pa.string()),
        "pair": pa.array(corpus.pairs or [None] * n, pa.string()),
        "text_sha256": pa.array(hashes, pa.string()),
        "tokens": pa.array(tokens, pa.int64()),
        "truncated": pa.array(truncated, pa.bool_()),
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd")
    return buffer.getvalue()
