"""Reading a few files out of a Debian package; nothing of it is installed or run."""

from __future__ import annotations

import gzip
import io
import lzma
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from cospace.errors import AcquisitionError
from cospace.models.archive import inside

__all__ = ["take_files"]

MAGIC = b"!<arch>\n"
HEADER = 60
MOST = 1 << 30
"""Bytes of all members, unpacked, beyond which a package is not read."""


def take_files(package: Path, wanted: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Copy some files of a Debian package into ``folder``, and return its control fields.

    Parameters
    ----------
    package
        The ``.deb``.
    wanted
        Path in the package -> name of the file in ``folder``.
    folder
        Where the files go.

    Raises
    ------
    AcquisitionError
        If it is no Debian package, is damaged, holds a path that leaves the folder, or lacks one
        of the files: then nothing of it should be kept.

    Notes
    -----
    A ``.deb`` is an ar archive of ``debian-binary``, ``control.tar.*`` and ``data.tar.*``, in this
    order. Members are written by name alone, and only where they are regular files.
    """
    what = f"The Debian package {package.name}"
    parts = dict(_ar_members(package.read_bytes(), what))
    fields: dict[str, str] = {}
    with _tar(parts, "control.tar", what) as control:
        for name, stream in _files(control, package.parent, what):
            if name == "control":
                fields = _fields(stream.read(1 << 20).decode("utf-8", errors="replace"))
    missing = dict(wanted)
    with _tar(parts, "data.tar", what) as data:
        for name, stream in _files(data, package.parent, what):
            if name in missing:
                with (folder / missing.pop(name)).open("wb") as target:
                    while block := stream.read(1 << 20):
                        target.write(block)
    if missing:
        raise AcquisitionError(
            f"{what} holds no {next(iter(missing))!r} as a regular file: it is another package than "
            "expected, and nothing of it is kept."
        )
    return fields


def _ar_members(data: bytes, what: str) -> Iterator[tuple[str, bytes]]:
    if not data.startswith(MAGIC):
        raise AcquisitionError(f"{what} is no Debian package (no ar archive): try again.")
    at = len(MAGIC)
    while at < len(data):
        header = data[at : at + HEADER]
        found = re.fullmatch(rb"(.{16}).{32}(\d+) *`\n", header, re.DOTALL)
        end = at + HEADER + int(found[2]) if found else len(data) + 1
        if found is None or end > len(data):
            raise AcquisitionError(f"{what} is damaged at byte {at}: try again.")
        yield found[1].decode("latin-1").strip().removesuffix("/"), data[at + HEADER : end]
        at = end + end % 2


@contextmanager
def _tar(parts: Mapping[str, bytes], start: str, what: str) -> Iterator[tarfile.TarFile]:
    name = next((each for each in parts if each == start or each.startswith(f"{start}.")), None)
    if name is None:
        raise AcquisitionError(f"{what} holds no {start}, expected one: try again.")
    from pyarrow import ArrowInvalid

    try:
        with (
            closing(_unpacked(io.BytesIO(parts[name]), name.removeprefix(start), what)) as stream,
            tarfile.open(fileobj=stream, mode="r|") as archive,
        ):
            yield archive
    except AcquisitionError:
        raise
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, ArrowInvalid, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise AcquisitionError(f"{what} is damaged in {name} ({error}): try again.") from error


def _unpacked(stream: IO[bytes], suffix: str, what: str) -> IO[bytes]:
    if suffix == ".xz":
        return lzma.open(stream)
    if suffix == ".gz":
        return gzip.open(stream)  # type: ignore[return-value]
    if suffix == ".zst":
        from pyarrow import CompressedInputStream

        return CompressedInputStream(stream, "zstd")  # type: ignore[no-any-return]
    if suffix == "":
        return stream
    raise AcquisitionError(
        f"{what} is packed as {suffix!r}, expected .xz, .gz, .zst or none: unpack it yourself, and "
        "give the folder."
    )


def _files(archive: tarfile.TarFile, folder: Path, what: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Regular files of a tar, each path checked."""
    size = 0
    for member in archive:
        name = member.name.removeprefix("./")
        if name not in ("", "."):
            inside(folder, name, what)
        size += member.size
        if size > MOST:
            raise AcquisitionError(
                f"{what} holds more than {MOST:,} bytes: it is another package than expected."
            )
        if member.isreg() and (stream := archive.extractfile(member)) is not None:
            yield name, stream


def _fields(text: str) -> dict[str, str]:
    lines = (line.partition(":") for line in text.splitlines() if line[:1].strip())
    return {name: value.strip() for name, colon, value in lines if colon}
