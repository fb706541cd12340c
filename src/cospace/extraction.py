"""From models and a corpus to activations on disk."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from cospace.corpus import Corpus
from cospace.errors import ExtractionError, InputError, StoreError, UnknownNameError
from cospace.models.base import LanguageModel, Pooled, Pooling, Site, TokenPolicy, resolve_sites
from cospace.store import (
    Circumstances,
    RunWriter,
    Store,
    Work,
    library_versions,
    open_writer,
    run_key,
    view_of,
)

__all__ = ["ChecksTexts", "TellsCircumstances", "extract"]

_SPARE = 16 * 2**20


@runtime_checkable
class ChecksTexts(Protocol):
    """A language model that can refuse texts before its first forward pass."""

    def check_texts(self, texts: Sequence[str], *, ids: Sequence[str], policy: TokenPolicy) -> None:
        """Raise ``TextTooLongError`` naming the texts that are too long."""
        ...


@runtime_checkable
class TellsCircumstances(Protocol):
    """A language model that says how it runs, for the manifest."""

    @property
    def circumstances(self) -> Mapping[str, str | int | float | bool | None]:
        """Plain values such as device, attention implementation and padding side.

        Read after each shard, so that what changes on the way, such as a batch that memory did
        not hold, is recorded of the shards that it concerns.
        """
        ...


@dataclass(frozen=True)
class _Job:
    """A model, the run it writes, and what is to be computed."""

    model: LanguageModel
    run: RunWriter
    sites: tuple[Site, ...]
    work: tuple[Work, ...]

    @property
    def name(self) -> str:
        return self.model.facts.name

    @property
    def texts(self) -> int:
        return sum(one.stop - one.start for one in self.work)

    @property
    def size(self) -> int:
        """Bytes to be written."""
        width = self.model.facts.width
        return sum((one.stop - one.start) * (len(one.tensors) * width * 4 + 9) for one in self.work)


def extract(
    models: LanguageModel | Sequence[LanguageModel],
    corpus: Corpus,
    *,
    sites: str | float | Iterable[str | float] = "all",
    pooling: str | Iterable[str] = Pooling.MEAN.value,
    store: str | Path,
    policy: TokenPolicy | None = None,
    batch_tokens: int = 4096,
    rows_per_shard: int = 128,
    progress: bool = True,
) -> Store:
    """Read the activations of ``models`` on ``corpus`` into a store, and return a view on them.

    What is in the store already is not computed again. A shard is the unit of work: an extraction
    that was ended, however, goes on after its last finished shard when the same call is made
    again, and ends with the same bytes as one that ran undisturbed. Damaged shards are found by
    their checksum and computed anew. A model with a ``check_texts`` method (:class:`ChecksTexts`)
    is asked about all texts before anything is computed.

    Parameters
    ----------
    models
        The models; their names must differ.
    corpus
        The texts.
    sites
        As :func:`cospace.models.base.resolve_sites` takes them, resolved for each model.
    pooling
        ``mean``, ``last``, ``first``, ``max`` or several of them, from one forward pass.
    store
        Folder of activations; made where it does not exist.
    policy
        Which tokens take part; by default ``TokenPolicy()``.
    batch_tokens
        Most padded tokens of one forward pass. Recorded; no part of the key of a run.
    rows_per_shard
        Texts in a shard; a pass that was begun with another number keeps it.
    progress
        Whether progress is shown on the standard error stream: bars on a terminal, else one line
        a model at its start and end. What was found damaged, and which texts were cut, is said in
        any case.

    Returns
    -------
    Store
        View on the runs of ``models``, in their order, at these sites and poolings alone.

    Raises
    ------
    InputError, UnknownNameError
        For options that make no sense, an unknown site or pooling, two models of one name.
    StoreError
        If the disk lacks room (checked before the start), the folder cannot be written, or
        another process writes the same run.
    ExtractionError
        If a model returns no usable rows.
    KeyboardInterrupt
        When interrupted; its message says what is kept.
    """
    chosen = policy or TokenPolicy()
    several = _models(models, corpus, chosen)
    kinds = _poolings(pooling)
    for name, value in (("batch_tokens", batch_tokens), ("rows_per_shard", rows_per_shard)):
        if value < 1:
            raise InputError(f"{name} is {value}, expected at least 1.")
    folder = Path(store)
    asked = list(sites) if isinstance(sites, Iterable) and not isinstance(sites, str) else sites
    places = [
        resolve_sites(
            asked,
            blocks=one.facts.blocks,
            final_norm=one.facts.final_norm,
            model=one.facts.name,
        )
        for one in several
    ]
    console = Console(stderr=True)
    with ExitStack() as stack:
        jobs = []
        for model, found in zip(several, places, strict=True):
            run = stack.enter_context(open_writer(folder, model.facts, corpus, chosen))
            work = run.want(found, kinds, rows_per_shard=rows_per_shard)
            jobs.append(_Job(model, run, found, work))
        for job in jobs:
            for note in job.run.notes:
                _say(console, note)
        _check_room(folder, jobs)
        for job in jobs:
            if job.work and isinstance(job.model, ChecksTexts):
                job.model.check_texts(corpus.texts, ids=corpus.ids, policy=chosen)
        with _display(console, jobs, shown=progress) as display:
            for job in jobs:
                _compute(job, corpus, chosen, batch_tokens, display)
        for job in jobs:
            _tell_cut(job, console)
        return view_of(
            folder,
            {job.run.folder.name: job.run.manifest for job in jobs},
            {job.run.folder.name: job.sites for job in jobs},
            kinds,
        )


def _models(
    models: LanguageModel | Sequence[LanguageModel], corpus: Corpus, policy: TokenPolicy
) -> list[LanguageModel]:
    several = list(models) if isinstance(models, Sequence) else [models]
    if not several:
        raise InputError("No model was given: name at least one.")
    runs: dict[str, str] = {}
    for model in several:
        name = model.facts.name
        if name in runs.values():
            raise InputError(f"Two models are called {name!r}: give each a name of its own, once.")
        key = run_key(model.facts, policy, corpus.fingerprint)
        if key in runs:
            raise InputError(
                f"{runs[key]} and {name} are the same model (weights, tokenizer, configuration, "
                "revision, number type): name it once."
            )
        runs[key] = name
    return several


def _poolings(asked: str | Iterable[str]) -> tuple[Pooling, ...]:
    known = [kind.value for kind in Pooling]
    names = [asked] if isinstance(asked, str) else list(asked)
    if not names:
        raise InputError(f"No pooling was asked for: name at least one of {', '.join(known)}.")
    for name in names:
        if name not in known:
            raise UnknownNameError.among(name, known, "pooling")
    return tuple(kind for kind in Pooling if kind in names)


def _check_room(folder: Path, jobs: Sequence[_Job]) -> None:
    needed = sum(job.size for job in jobs)
    free = shutil.disk_usage(folder).free
    if needed and needed + _SPARE > free:
        raise StoreError(
            f"{folder} needs {_bytes(needed)} and its disk has {_bytes(free)} free: free some "
            "space, name another folder, or ask for fewer sites."
        )


def _compute(
    job: _Job, corpus: Corpus, policy: TokenPolicy, batch_tokens: int, display: _Display
) -> None:
    done = 0
    versions = library_versions()
    display.start(job)
    try:
        for work in job.work:
            pooled = job.model.activations(
                corpus.texts[work.start : work.stop],
                ids=corpus.ids[work.start : work.stop],
                sites=tuple(dict.fromkeys(site for site, _ in work.tensors)),
                poolings=tuple(dict.fromkeys(kind for _, kind in work.tensors)),
                policy=policy,
                batch_tokens=batch_tokens,
                progress=display.advance,
            )
            _check_pooled(job.name, work, pooled)
            told = job.model.circumstances if isinstance(job.model, TellsCircumstances) else {}
            made = Circumstances(batch_tokens=batch_tokens, versions=versions, model=dict(told))
            job.run.add(work, pooled, made)
            done += work.stop - work.start
            display.reached(done)
        job.run.finish()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Stopped at {job.name}, {done:,} of {job.texts:,} texts: finished shards are kept in "
            f"{job.run.folder}, the same call goes on from there."
        ) from None
    display.end(job)


def _tell_cut(job: _Job, console: Console) -> None:
    cut = job.run.cut
    if cut:
        most = job.model.max_tokens
        to = "" if most is None else f" to {most:,} tokens"
        _say(
            console,
            f"{job.name}: {len(cut):,} of {job.run.manifest.corpus.rows:,} texts "
            f"{'was' if len(cut) == 1 else 'were'} cut{to} (first: {cut[0]})",
        )


def _check_pooled(name: str, work: Work, pooled: Pooled) -> None:
    n = work.stop - work.start
    if np.shape(pooled.tokens) != (n,):
        raise ExtractionError(
            f"{name} counted tokens of shape {np.shape(pooled.tokens)} for {n} texts: "
            "its activations() must count each text."
        )
    for site, pooling in work.tensors:
        rows = pooled.rows.get((site.name, pooling.value))
        if rows is None:
            raise ExtractionError(
                f"{name} gave no rows at {site.name} with pooling {pooling.value}: its "
                "activations() must give every site and pooling it is asked for."
            )
        if rows.ndim != 2 or rows.shape[0] != n or rows.dtype != np.float32:
            raise ExtractionError(
                f"{name} gave {rows.dtype} rows of shape {rows.shape} at {site.name}, expected "
                f"float32 of shape ({n}, width): its activations() must convert them."
            )
        if not np.isfinite(rows).all():
            raise ExtractionError(
                f"{name} gave NaN or infinity at {site.name}, texts {work.start + 1} to "
                f"{work.stop} of the corpus: try float32, or leave out the text at fault."
            )


class _Display:
    """Nothing at all, unless a kind of display says otherwise."""

    def start(self, job: _Job) -> None:
        """Begin with a model."""

    def advance(self, texts: int) -> None:
        """Count texts that went through the model."""

    def reached(self, texts: int) -> None:
        """Set the count to the texts that are safely on the disk."""

    def end(self, job: _Job) -> None:
        """Be done with a model."""


class _Lines(_Display):
    """One line a model at its start and end, for logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._since = 0.0

    def start(self, job: _Job) -> None:
        if job.work:
            _say(
                self._console,
                f"{job.name}: {job.texts:,} texts to do, {_bytes(job.size)} to write",
            )
        self._since = time.monotonic()

    def end(self, job: _Job) -> None:
        if not job.work:
            _say(self._console, f"{job.name}: everything is there already")
            return
        took = max(time.monotonic() - self._since, 1e-9)
        rate = job.texts / took
        _say(self._console, f"{job.name}: {job.texts:,} texts in {took:.1f} s, {rate:.1f} texts/s")


class _Rate(ProgressColumn):
    """Texts per second."""

    def render(self, task: Task) -> Text:
        """Show the speed of a task."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f} texts/s")


class _Bars(_Display):
    """A bar a model, and one for all of them together."""

    def __init__(self, progress: Progress, jobs: Sequence[_Job]) -> None:
        self._progress = progress
        self._tasks = {
            job.name: progress.add_task(job.name, total=job.texts, start=False)
            for job in jobs
            if job.work
        }
        self._all: TaskID | None = None
        if len(self._tasks) > 1:
            self._all = progress.add_task("all models", total=sum(job.texts for job in jobs))
        self._task: TaskID | None = None
        self._before = 0
        self._at = 0

    def start(self, job: _Job) -> None:
        self._task, self._at = self._tasks.get(job.name), 0
        if self._task is None:
            _say(self._progress.console, f"{job.name}: everything is there already")
        else:
            self._progress.start_task(self._task)

    def advance(self, texts: int) -> None:
        self.reached(self._at + texts)

    def reached(self, texts: int) -> None:
        self._at = texts
        if self._task is not None:
            self._progress.update(self._task, completed=texts)
        if self._all is not None:
            self._progress.update(self._all, completed=self._before + texts)

    def end(self, job: _Job) -> None:
        self._before += job.texts


@contextmanager
def _display(console: Console, jobs: Sequence[_Job], *, shown: bool) -> Iterator[_Display]:
    if not shown:
        yield _Display()
    elif not console.is_terminal:
        yield _Lines(console)
    else:
        columns: list[ProgressColumn | str] = [
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("texts"),
            _Rate(),
            TimeRemainingColumn(),
        ]
        with Progress(*columns, console=console) as progress:
            yield _Bars(progress, jobs)


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _bytes(size: int) -> str:
    for unit, scale in (("GB", 1000**3), ("MB", 1000**2)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size / 1000:.1f} kB"
