"""The folder where fetched weights are kept: whole or not at all, whoever else is writing."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from cospace.errors import AcquisitionError, CospaceError

__all__ = [
    "Reporter",
    "cache_folder",
    "files_hash",
    "hash_file",
    "install",
    "readable_size",
    "write_facts",
    "writing",
]

FACTS = "cospace.json"
# Raised when the kept form of a model changes, so that older copies are made anew.
SCHEMA = 1
BLOCK = 1 << 20
STALE_SECONDS = 24 * 3600.0


def cache_folder(explicit: Path | None = None) -> Path:
    r"""Give the folder under which weights are kept.

    In this order: ``explicit``; ``$COSPACE_CACHE``; ``$XDG_CACHE_HOME/cospace``; on Windows
    ``%LOCALAPPDATA%\cospace``; ``~/.cache/cospace``.
    """
    if explicit is not None:
        return explicit.expanduser().absolute()
    if own := os.environ.get("COSPACE_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    if Path(shared).is_absolute():
        return Path(shared) / "cospace"
    local = os.environ.get("LOCALAPPDATA") if os.name == "nt" else None
    return (Path(local) if local else Path.home() / ".cache") / "cospace"


def readable_size(size: int) -> str:
    """Size in decimal units.

    Examples
    --------
    >>> readable_size(94_387_430), readable_size(1_500)
    ('94 MB', '1.5 kB')
    """
    value = float(size)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            break
        value /= 1000
    return f"{value:.1f} {unit}" if value < 9.95 and unit != "B" else f"{value:.0f} {unit}"


class Reporter:
    """Says on stderr what is being done, and how far it is."""

    def __init__(self, *, shown: bool) -> None:
        # The stream is bound here: what a library prints is kept off sys.stderr for a while.
        self._console = Console(file=sys.stderr, quiet=not shown, highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Print one line."""
        self._console.print(text, markup=False)

    @contextmanager
    def bar(self, text: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show a bar in bytes, or without ``total`` a spinner; yields the function that moves it."""
        amount = [BarColumn(), DownloadColumn()] if total is not None else []
        columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False), *amount]
        progress = Progress(
            *columns,
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        with progress:
            task = progress.add_task(text, total=total)
            yield lambda count: progress.advance(task, count)


def hash_file(path: Path, moved: Callable[[int], None] | None = None) -> str:
    """SHA-256 of a file, read in blocks; ``moved`` is told the bytes of each."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
            if moved is not None:
                moved(len(block))
    return digest.hexdigest()


def files_hash(paths: Iterable[Path], moved: Callable[[int], None] | None = None) -> str:
    """One SHA-256 for several files of a folder.

    For a single file it is the file's own; for several it is that of the lines
    ``<sha256>  <name>`` in the order of their names, as ``sha256sum`` prints them.

    Parameters
    ----------
    paths
        The files; only their names and content count, not the folder.
    moved
        Told the number of bytes read, block by block.
    """
    hashes = {path.name: hash_file(path, moved) for path in sorted(paths, key=lambda p: p.name)}
    if len(hashes) == 1:
        return next(iter(hashes.values()))
    lines = "".join(f"{digest}  {name}\n" for name, digest in hashes.items())
    return hashlib.sha256(lines.encode()).hexdigest()


@contextmanager
def writing(what: str, folder: Path) -> Iterator[None]:
    """Turn the system's refusals to write under ``folder`` into one clear line."""
    try:
        yield
    except CospaceError:
        raise
    except OSError as error:
        choose = "name another folder in COSPACE_CACHE"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            text = f"No space left in {folder} for {what}: free some, or {choose}."
        else:
            reason = error.strerror or error
            text = f"{what} cannot be kept in {folder} ({reason}): {choose}."
        raise AcquisitionError(text) from error


def write_facts(folder: Path, key: str, weights: Iterable[Path], facts: Mapping[str, Any]) -> None:
    """Write what is known of the kept model in ``folder``; this is what makes it whole.

    Parameters
    ----------
    folder
        The folder under way; all its files are listed with their sizes.
    key
        Checksum of what the model was made from.
    weights
        Its weight files.
    facts
        Whatever else should be read back.
    """
    files = {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    record = {"schema": SCHEMA, "key": key, "weights_hash": files_hash(weights), "files": files}
    text = json.dumps({**facts, **record}, indent=1, ensure_ascii=False)
    (folder / FACTS).write_text(text + "\n", encoding="utf-8")


def read_facts(folder: Path, key: str) -> dict[str, Any] | None:
    """Facts of the kept model in ``folder``; None if it is absent, damaged or made from other data."""
    try:
        record = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        if record["schema"] != SCHEMA or record["key"] != key:
            return None
        if any((folder / name).stat().st_size != size for name, size in record["files"].items()):
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return dict(record)


def install(
    final: Path, key: str, what: str, build: Callable[[Path], None], report: Reporter
) -> dict[str, Any]:
    """Facts of the model kept at ``final``, which ``build`` makes if it is not there whole.

    ``build`` gets an empty folder beside ``final`` and ends with `write_facts`; the folder is
    renamed into place only then. Leftovers of interrupted runs are removed.

    Parameters
    ----------
    final
        Where the model is kept.
    key
        Checksum of what it is made from.
    what
        How messages call it.
    build
        Fills the folder it is given.
    report
        Told when another process is waited for, and when a damaged copy is replaced.

    Raises
    ------
    AcquisitionError
        If the folder cannot be written, or is full; besides what ``build`` raises.
    """
    if (facts := read_facts(final, key)) is not None:
        return facts
    with writing(what, final.parent):
        final.parent.mkdir(parents=True, exist_ok=True)
        with _lock(final, what, report) as alone:
            if (facts := read_facts(final, key)) is not None:
                return facts
            if final.exists():
                report.say(f"{what}: the kept copy is damaged or outdated, and is made anew")
            _sweep(final, everything=alone)
            partial = _beside(final)
            partial.mkdir()
            try:
                build(partial)
                _put(partial, final, key)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    facts = read_facts(final, key)
    if facts is None:
        raise AcquisitionError(f"{what} was changed in {final} while it was kept there: try again.")
    return facts


def _beside(final: Path) -> Path:
    return final.with_name(f"{final.name}.partial-{os.getpid()}-{secrets.token_hex(4)}")


def _put(partial: Path, final: Path, key: str) -> None:
    """Rename into place; a whole copy that got there first stays."""
    if final.exists() and read_facts(final, key) is None:
        trash = _beside(final)
        final.rename(trash)
        if trash.is_dir():
            shutil.rmtree(trash, ignore_errors=True)
        else:
            trash.unlink()
    try:
        partial.rename(final)
    except OSError:
        if read_facts(final, key) is None:
            raise


def _sweep(final: Path, *, everything: bool) -> None:
    """Remove folders that interrupted runs left: all of them if no other process can be at work."""
    for stale in final.parent.glob(f"{final.name}.partial-*"):
        try:
            if everything or time.time() - stale.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(stale, ignore_errors=True)
        except FileNotFoundError:
            continue


@contextmanager
def _lock(final: Path, what: str, report: Reporter) -> Iterator[bool]:
    """Hold the model's lock file; yields whether it is held (some file systems have no locks).

    Without it two processes do the same work twice, and the first to rename wins.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    with (final.parent / f".{final.name}.lock").open("w") as stream:
        held = True
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report.say(f"{what}: waiting for another process that is fetching it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        except OSError:
            held = False
        yield held
