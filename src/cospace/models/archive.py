"""Reading zips whose makers are not trusted: only named members, and no path that leaves the folder."""

from __future__ import annotations

import re
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from cospace.errors import AcquisitionError

__all__ = ["Archive", "inside"]

BLOCK = 1 << 20


def inside(folder: Path, name: str, what: str) -> Path:
    """Where a member called ``name`` goes in ``folder``.

    Parameters
    ----------
    folder
        The folder that must not be left.
    name
        A relative path with forward slashes.
    what
        How the message calls the origin of the name.

    Raises
    ------
    AcquisitionError
        For an absolute path, a drive letter, a backslash, a null or ``..``.
    """
    parts = name.removesuffix("/").split("/")
    if re.search(r"[\\\0]|^[A-Za-z]:", name) or not set(parts).isdisjoint({"", ".", ".."}):
        raise AcquisitionError(
            f"{what} holds the path {name!r}, which leaves the folder or may do so: nothing of it "
            "is kept."
        )
    return folder.joinpath(*parts)


class Archive:
    """A zip of which every path was checked when it was opened.

    Parameters
    ----------
    path
        The zip.
    what
        How messages call it.

    Raises
    ------
    AcquisitionError
        If it is no zip, or holds a link, or a path that leaves the folder.
    """

    def __init__(self, path: Path, what: str) -> None:
        self._what = what
        try:
            self._zip = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise AcquisitionError(f"{what} is not a readable zip ({error}): try again.") from error
        try:
            for info in self._zip.infolist():
                # orig_filename is what the maker wrote; filename has had separators mended.
                inside(path.parent, info.orig_filename, what)
                if stat.S_ISLNK(info.external_attr >> 16):
                    raise AcquisitionError(
                        f"{what} holds the symbolic link {info.filename!r}: nothing of it is kept."
                    )
        except AcquisitionError:
            self._zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    @property
    def size(self) -> int:
        """Bytes of all members, unpacked."""
        return sum(info.file_size for info in self._zip.infolist())

    def members(self) -> tuple[str, ...]:
        """Names of the files in it."""
        return tuple(info.filename for info in self._zip.infolist() if not info.is_dir())

    def length(self, member: str) -> int:
        """Bytes of one member, unpacked."""
        return self._info(member).file_size

    def copy(
        self, member: str, into: IO[bytes], moved: Callable[[int], None] | None = None
    ) -> None:
        """Write the content of one member, telling ``moved`` the bytes of each block.

        Raises
        ------
        AcquisitionError
            If there is no such member, or it is damaged.
        """
        info = self._info(member)
        try:
            with self._zip.open(info) as stream:
                while block := stream.read(BLOCK):
                    into.write(block)
                    if moved is not None:
                        moved(len(block))
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
        ) as error:
            raise AcquisitionError(
                f"{self._what} is damaged at {member!r} ({error}): nothing of it is kept; try again."
            ) from error

    def _info(self, member: str) -> zipfile.ZipInfo:
        try:
            return self._zip.getinfo(member)
        except KeyError:
            raise AcquisitionError(
                f"{self._what} holds no {member!r}, which the catalogue expects: report this."
            ) from None
