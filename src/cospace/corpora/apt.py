"""Fetching one Debian package with apt-get, without installing it and without being root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from cospace.errors import AcquisitionError

__all__ = ["fetch_deb", "installed_version"]

UNKNOWN = re.compile(r"Unable to locate|no installation candidate|Can't (find|select)|No packages")
QUICK = ("-q", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::Retries=1")


def fetch_deb(package: str, into: Path) -> Path:
    """Download a package with ``apt-get download``, and return its path in ``into``.

    apt reads the machine's own sources and checks signatures. Where the machine has no package
    lists yet, as a fresh container, lists are fetched into ``into`` and left there.

    Raises
    ------
    AcquisitionError
        If there is no apt-get, or it cannot fetch the package; with what it said.
    """
    apt = shutil.which("apt-get")
    if apt is None:
        raise AcquisitionError("there is no apt-get on this machine")
    code, said = _run([apt, "download", *QUICK, package], into)
    if code and UNKNOWN.search(said):
        own = _own_lists(into)
        code, said = _run([apt, "update", *QUICK, *own], into)
        if not code:
            code, said = _run([apt, "download", *QUICK, *own, package], into)
    found = sorted(into.glob(f"{package}_*.deb"))
    if code or len(found) != 1:
        raise AcquisitionError(f"apt-get says: {_reason(said)}")
    return found[0]


def installed_version(package: str) -> str | None:
    """The version of an installed package; None where dpkg does not know it."""
    dpkg = shutil.which("dpkg-query")
    if dpkg is None:
        return None
    code, said = _run([dpkg, "--show", "--showformat=${Version}", package], Path.cwd())
    return said.strip() or None if not code else None


def _own_lists(into: Path) -> list[str]:
    lists, cache = into / "lists", into / "cache"
    (lists / "partial").mkdir(parents=True)
    (cache / "archives" / "partial").mkdir(parents=True)
    options = [f"Dir::State::lists={lists}", f"Dir::Cache={cache}", "Acquire::Languages=none"]
    return [word for option in options for word in ("-o", option)]


def _run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout if not done.returncode else done.stderr or done.stdout


def _reason(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "Err:"))] or lines
    return errors[-1].removeprefix("E:").strip().rstrip(".") if errors else "it gave no reason"
