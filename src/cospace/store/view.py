"""Reading a store: runs, and the spaces in them."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from cospace.errors import InputError, StoreError, UnknownNameError
from cospace.models.base import ModelFacts, Pooling, Site, TokenPolicy, resolve_sites
from cospace.space import Space
from cospace.store.files import read_tensor, sha256_of, shard_problem
from cospace.store.manifest import MANIFEST, Manifest, Part, read_manifest, tensor_name

__all__ = ["Run", "Store", "is_store", "open_store", "view_of"]


@dataclass(frozen=True, repr=False)
class Run:
    """One model on one corpus under one token policy: what is there of it."""

    folder: str
    """Name of its folder in the store, which also names the run where a model has several."""
    key: str
    """Key of the run."""
    facts: ModelFacts
    """The model."""
    policy: TokenPolicy
    """Which tokens took part in pooling."""
    corpus: str
    """Name of the corpus."""
    fingerprint: str
    """Fingerprint of the corpus."""
    rows: int
    """Number of texts."""
    tokens: int | None
    """Attended tokens of all texts; None while unfinished."""
    truncated: int | None
    """Texts that were cut; None while unfinished."""
    sites: tuple[Site, ...]
    """Sites in the order of the forward pass."""
    poolings: tuple[Pooling, ...]
    """Poolings."""
    shards: tuple[str, ...]
    """Files of the finished shards."""
    finished: int
    """Texts for which every site and pooling above is there."""

    def __repr__(self) -> str:
        where = f"{len(self.sites)} sites, pooled by {', '.join(self.poolings)}"
        return f"Run({self.facts.name!r}, {self.finished} of {self.rows} texts at {where})"

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.finished == self.rows


@dataclass(frozen=True, eq=False, repr=False)
class Store:
    """A frozen view on a folder of activations; get one from ``extract`` or :func:`open_store`."""

    path: Path
    """The folder."""
    runs: tuple[Run, ...]
    """Runs in view, in order."""
    _manifests: Mapping[str, Manifest] = field(repr=False)
    _seen: dict[str, Any] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r}, {', '.join(run.facts.name for run in self.runs)})"

    @property
    def manifest(self) -> dict[str, Any]:
        """Manifest of every run in view as plain values, by the name of its folder."""
        return {
            run.folder: self._manifests[run.folder].model_dump(mode="json") for run in self.runs
        }

    def beside(self, other: Store) -> Store:
        """View on the runs of both, which lie in one folder.

        Raises
        ------
        InputError
            When a run is in both: two references of one model.
        """
        for run in other.runs:
            if run.folder in self._manifests:
                raise InputError(
                    f"{run.facts.reference} and a model before it are the same model (weights, tokenizer, "
                    "configuration, revision, number type): name it once."
                )
        return Store(self.path, (*self.runs, *other.runs), {**self._manifests, **other._manifests})

    def space(
        self, model: str, site: str | float = "last", pooling: str = Pooling.MEAN.value
    ) -> Space:
        """Rows of one model at one site.

        Parameters
        ----------
        model
            Name of the model, or the folder of the run where the model has several.
        site
            A site by name, negative index, ``last`` or relative depth.
        pooling
            The pooling.

        Returns
        -------
        Space
            float32 rows of shape (texts, width) with the ids and groups of the corpus. Only this
            tensor is read; the checksum of each shard is checked when the view first reads it.

        Raises
        ------
        UnknownNameError
            If the view has no such model, or the model no such site.
        StoreError
            If the rows were not extracted, are unfinished, or a shard is damaged.
        """
        run = self._run(model)
        return self._read(run, self._sites(run, [site])[0], self._poolings(run, pooling)[0])

    def spaces(
        self,
        models: str | Iterable[str] | None = None,
        sites: str | float | Iterable[str | float] | None = None,
        pooling: str | Iterable[str] | None = None,
    ) -> list[Space]:
        """Spaces of several models, sites and poolings, in this order; None means all in view.

        A space is called ``model:site``, or ``model:site:pooling`` where the run has several
        poolings in view.

        Raises
        ------
        UnknownNameError, StoreError
            As for :meth:`space`.
        """
        names = [models] if isinstance(models, str) else models
        runs = self.runs if names is None else tuple(map(self._run, names))
        return [
            self._read(run, site, kind)
            for run in runs
            for site in (run.sites if sites is None else self._sites(run, sites))
            for kind in (run.poolings if pooling is None else self._poolings(run, pooling))
            if (sites is not None and pooling is not None) or self._part(run, site, kind)
        ]

    def verify(self) -> list[str]:
        """Read every file of the runs in view and list what is damaged, one line each."""
        return [
            f"{run.folder}: {problem}"
            for run in self.runs
            for problem in _problems(self.path, self._manifests[run.folder], run, checksum=True)
        ]

    def _run(self, model: str) -> Run:
        found = [run for run in self.runs if model in (run.facts.name, run.folder, run.key)]
        if not found:
            raise UnknownNameError.among(
                model, {run.facts.name for run in self.runs}, f"model in {self.path}"
            )
        if len(found) > 1:
            folders = " or ".join(run.folder for run in found)
            raise StoreError(f"{self.path} has {len(found)} runs of {model}: say {folders}.")
        return found[0]

    def _sites(self, run: Run, asked: str | float | Iterable[str | float]) -> tuple[Site, ...]:
        found = resolve_sites(
            asked,
            blocks=run.facts.blocks,
            final_norm=run.facts.final_norm,
            model=run.facts.name,
        )
        for site in found:
            if site not in run.sites:
                there = ", ".join(one.name for one in run.sites)
                raise StoreError(
                    f"{run.folder} has no {site.name}, only {there}: extract it into the same store."
                )
        return found

    def _poolings(self, run: Run, asked: str | Iterable[str]) -> tuple[Pooling, ...]:
        found = []
        for name in [asked] if isinstance(asked, str) else asked:
            if name not in [kind.value for kind in Pooling]:
                raise UnknownNameError.among(name, [kind.value for kind in Pooling], "pooling")
            if name not in run.poolings:
                raise StoreError(
                    f"{run.folder} has no pooling {name}, only {', '.join(run.poolings)}: "
                    "extract it into the same store."
                )
            found.append(Pooling(name))
        return tuple(found)

    def _part(self, run: Run, site: Site, pooling: Pooling) -> Part | None:
        return self._manifests[run.folder].part_of(tensor_name(site.name, pooling.value))

    def _read(self, run: Run, site: Site, pooling: Pooling) -> Space:
        manifest = self._manifests[run.folder]
        name = tensor_name(site.name, pooling.value)
        part = self._part(run, site, pooling)
        if part is None:
            raise StoreError(f"{run.folder} has no {name}: extract it into the same store.")
        missing = sum(stop - start for _, start, stop in part.missing(run.rows))
        if missing or manifest.rows is None:
            raise StoreError(
                f"{run.folder} has {name} of {run.rows - missing:,} of {run.rows:,} texts: "
                "run the same extract again, it goes on from there."
            )
        ids, groups = self._texts(run.folder, manifest)
        several = Counter(one.facts.name for one in self.runs)[run.facts.name] > 1
        label = run.folder if several else run.facts.name
        end = f":{pooling.value}" if len(run.poolings) > 1 else ""
        return Space(
            self._tensor(run.folder, part, name),
            ids=ids,
            name=f"{label}:{site.name}{end}",
            groups=groups,
            facts=_facts(run, site, pooling),
        )

    def _tensor(self, folder: str, part: Part, name: str) -> npt.NDArray[np.float32]:
        pieces = []
        for shard in part.shards:
            token = f"{folder}/{shard.file}"
            if token not in self._seen:
                problem = shard_problem(self.path / folder, part, shard, checksum=True)
                if problem is not None:
                    raise _untrusted(self.path, [f"{folder}: {problem}"])
                self._seen[token] = True
            pieces.append(read_tensor(self.path / folder / shard.file, name))
        return np.concatenate(pieces)

    def _texts(
        self, folder: str, manifest: Manifest
    ) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
        if folder not in self._seen:
            problem = _rows_problem(self.path / folder, manifest)
            if problem is not None or manifest.rows is None:
                raise _untrusted(self.path, [f"{folder}: {problem}"])
            data = (self.path / folder / manifest.rows.file).read_bytes()
            table = pq.read_table(io.BytesIO(data), columns=["id", "group"])
            ids = tuple(table["id"].to_pylist())
            groups = tuple(table["group"].to_pylist())
            self._seen[folder] = (ids, None if None in groups else groups)
        texts: tuple[tuple[str, ...], tuple[str, ...] | None] = self._seen[folder]
        return texts


def is_store(path: Path) -> bool:
    """Whether a folder holds runs of a store."""
    return any(path.glob(f"*/{MANIFEST}"))


def open_store(path: str | Path, *, check: bool = True) -> Store:
    """Open a folder of activations.

    Parameters
    ----------
    path
        The folder that ``extract`` wrote.
    check
        Whether the size, the tensors and the number of rows of every shard are looked at now.
        Checksums are checked when rows are read, and by :meth:`Store.verify`.

    Raises
    ------
    StoreError
        If there is no run in it, a manifest cannot be understood, or a shard is damaged; the
        shard is named. ``check=False`` opens the store all the same.
    """
    store = Path(path)
    if not store.is_dir():
        found = "is a file" if store.exists() else "does not exist"
        raise StoreError(f"{store} {found}: name the folder that an extraction wrote.")
    folders = sorted(found.parent for found in store.glob(f"*/{MANIFEST}"))
    if not folders:
        raise StoreError(f"{store} holds no run: name the folder that an extraction wrote.")
    manifests = {folder.name: read_manifest(folder) for folder in folders}
    runs = tuple(
        _run(name, manifest, manifest.sites, [Pooling(kind) for kind in manifest.poolings])
        for name, manifest in manifests.items()
    )
    if check:
        problems = [
            f"{run.folder}: {problem}"
            for run in runs
            for problem in _problems(store, manifests[run.folder], run, checksum=False)
        ]
        if problems:
            raise _untrusted(store, problems)
    return Store(store, runs, manifests)


def view_of(
    path: Path,
    manifests: Mapping[str, Manifest],
    sites: Mapping[str, Sequence[Site]],
    poolings: Sequence[Pooling],
) -> Store:
    """View on some runs of a folder, in the order of ``manifests``, at some sites."""
    runs = tuple(
        _run(name, manifest, sites[name], poolings) for name, manifest in manifests.items()
    )
    return Store(path, runs, manifests)


def _run(
    folder: str, manifest: Manifest, sites: Iterable[Site], poolings: Iterable[Pooling]
) -> Run:
    rows, sites, poolings = manifest.corpus.rows, tuple(sites), tuple(poolings)
    names = {tensor_name(site.name, kind.value) for site in sites for kind in poolings}
    parts = [part for part in manifest.parts if names & set(part.tensors)]
    missing = [span for part in parts for span in part.missing(rows)]
    done = rows - sum({start: stop - start for _, start, stop in missing}.values())
    return Run(
        folder=folder,
        key=manifest.key,
        facts=manifest.model,
        policy=manifest.policy,
        corpus=manifest.corpus.name,
        fingerprint=manifest.corpus.fingerprint,
        rows=rows,
        tokens=manifest.rows.tokens if manifest.rows else None,
        truncated=manifest.rows.truncated if manifest.rows else None,
        sites=sites,
        poolings=poolings,
        shards=tuple(shard.file for part in parts for shard in part.shards),
        finished=done,
    )


def _facts(run: Run, site: Site, pooling: Pooling) -> dict[str, Any]:
    plain = asdict(run.facts)
    plain["model"] = plain.pop("name")
    return plain | {
        "site": site.name,
        "depth": site.depth,
        "order": site.order,
        "pooling": pooling.value,
        "policy": asdict(run.policy),
        "corpus": run.corpus,
        "corpus_fingerprint": run.fingerprint,
        "run": run.key,
        "tokens": run.tokens,
        "truncated": run.truncated,
    }


def _problems(store: Path, manifest: Manifest, run: Run, *, checksum: bool) -> list[str]:
    folder = store / run.folder
    found = [
        shard_problem(folder, part, shard, checksum=checksum)
        for part in manifest.parts
        for shard in part.shards
    ]
    if checksum and manifest.rows is not None:
        found.append(_rows_problem(folder, manifest))
    return [problem for problem in found if problem is not None]


def _rows_problem(folder: Path, manifest: Manifest) -> str | None:
    if manifest.rows is None:
        return "the table of texts is not written yet"
    path = folder / manifest.rows.file
    if not path.is_file():
        return f"{path.name} is missing"
    if sha256_of(path) != manifest.rows.sha256:
        return f"{path.name} has another checksum than the one recorded"
    return None


def _untrusted(store: Path, problems: Sequence[str]) -> StoreError:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return StoreError(
        f"{store} is damaged, {problems[0]}{more}: run the same extract again, it computes "
        "damaged shards anew."
    )
