"""Files that are whole or absent, their checksums, and the lock of a run."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from cospace.errors import StoreError
from cospace.store.manifest import Part, Shard, plain_json

__all__ = [
    "locked",
    "make_folder",
    "read_tensor",
    "remove_leftovers",
    "sha256_of",
    "shard_bytes",
    "shard_problem",
    "write_file",
    "write_problem",
]

_TEMPORARY = ".writing"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def write_problem(path: Path, error: OSError) -> StoreError:
    """Say in one line why ``path`` could not be written and what to do."""
    if error.errno in _FULL:
        told = "the disk is full. Free some space and run the same again: what is finished is kept."
    elif error.errno in _FORBIDDEN:
        told = "it may not be written. Change its permissions, or name another folder."
    elif error.errno in {errno.EEXIST, errno.ENOTDIR}:
        told = "a file is where a folder should be. Move it, or name another folder."
    else:
        told = f"{error.strerror or error}. Name another folder, or run the same again."
    return StoreError(f"{path} cannot be written: {told}")


def make_folder(path: Path) -> None:
    """Make the folder ``path`` where it does not exist.

    Raises
    ------
    StoreError
        If a file is in its place or it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_problem(path, error) from error


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` under a temporary name, flush it to the disk, and rename it to ``path``.

    Raises
    ------
    StoreError
        If the disk is full or the folder may not be written; nothing half-made is left.
    """
    temporary = path.with_name(f".{path.name}{_TEMPORARY}")
    try:
        _write_through(temporary, data)
        temporary.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        raise write_problem(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(path: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed writer left half-written in ``folder``."""
    for path in folder.glob(f".*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def shard_bytes(arrays: Mapping[str, npt.NDArray[Any]], header: Mapping[str, Any]) -> bytes:
    """Bytes of a shard; the same arrays give the same bytes."""
    # one header entry: safetensors writes several in an order that changes from run to run
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return bytes(save(whole, metadata={"cospace": plain_json(header)}))


def read_tensor(path: Path, name: str) -> npt.NDArray[Any]:
    """Read one tensor of a shard and nothing else of it.

    Raises
    ------
    StoreError
        If the shard cannot be read or does not hold the tensor.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            tensor: npt.NDArray[Any] = file.get_tensor(name)
            return tensor
    except (SafetensorError, OSError) as error:
        raise StoreError(f"{path} cannot be read ({error}): run the same extract again.") from error


def shard_problem(folder: Path, part: Part, shard: Shard, *, checksum: bool) -> str | None:
    """Say what is wrong with a shard, None if nothing is.

    Size, tensors and number of rows are always looked at; the whole file is read only for its
    ``checksum``.
    """
    path = folder / shard.file
    try:
        size = path.stat().st_size
        if size != shard.size:
            return f"{shard.file} has {size:,} bytes instead of {shard.size:,}"
        with safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            for name in (*part.tensors, "tokens", "truncated"):
                if name not in names:
                    return f"{shard.file} does not hold {name}"
                rows = file.get_slice(name).get_shape()[0]
                if rows != shard.stop - shard.start:
                    return f"{shard.file} holds {rows} rows instead of {shard.stop - shard.start}"
        if checksum and sha256_of(path) != shard.sha256:
            return f"{shard.file} has another checksum than the one recorded"
    except FileNotFoundError:
        return f"{shard.file} is missing"
    except (SafetensorError, OSError) as error:
        return f"{shard.file} cannot be read ({error})"
    return None


@contextlib.contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold the lock file ``path``; the system frees it when its process ends, however it ends.

    Raises
    ------
    StoreError
        If another process holds it.
    """
    handle = _open_lock(path, what)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        # removed while still held: whoever opened it in between sees that it is gone, and retries
        with contextlib.suppress(OSError):
            path.unlink()
        os.close(handle)


def _open_lock(path: Path, what: str) -> int:
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise write_problem(path, error) from error
        try:
            _hold(handle)
        except OSError as error:
            holder = os.pread(handle, 32, 0).decode(errors="replace")
            os.close(handle)
            if error.errno not in {errno.EAGAIN, errno.EACCES}:
                raise write_problem(path, error) from error
            raise StoreError(
                f"{what} is being written by process {holder or 'unknown'}: "
                "wait until it has ended, or name another folder."
            ) from error
        try:
            if os.fstat(handle).st_ino == path.stat().st_ino:
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)


def _hold(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
