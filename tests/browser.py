"""See to it that a Chromium is there for the browser tests; `make check` runs this first."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"),
)


def find() -> str | None:
    """Path of an installed Chromium."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def install() -> str:
    """Install Chromium where that is ours to do; return why not, or an empty text."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if not (root and Path("/etc/debian_version").exists() and shutil.which("apt-get")):
        return "no Chromium found"
    print("installing Chromium for the browser tests (once)")
    for command in INSTALL:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            return f"{' '.join(command[:2])} failed: {last}"
    return "" if find() else "apt-get installed no chromium"


def main() -> int:
    """Return the exit code: failing matters only in CI."""
    if find():
        return 0
    problem = install()
    if not problem:
        return 0
    print(
        f"{problem}: install chromium or google-chrome to run the browser tests "
        "(Debian, Ubuntu: apt-get install chromium); they are skipped without.",
        file=sys.stderr,
    )
    return 1 if os.environ.get("CI") else 0


if __name__ == "__main__":
    sys.exit(main())
