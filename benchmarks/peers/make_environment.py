"""Make the peers' environments: ``python benchmarks/peers/make_environment.py [FOLDER]``.

Two virtual environments, ``current`` and ``numpy1``, in FOLDER (by default ``.venv`` beside this
file, which git ignores). What cannot be had is printed as 'not run here' with the reason, and is left
out of every table.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
FROM_GIT = {
    "netrep": "https://github.com/ahwillia/netrep",
    "ReSi": "https://github.com/mklabunde/resi",
    "anatome": "https://github.com/moskomule/anatome",
    "platonic-rep": "https://github.com/minyoungg/platonic-rep",
}
PATIENCE = 20
"""Seconds to wait for a git host."""


def install(python: Path, *arguments: str) -> str | None:
    """Run pip; return the last line of what it says where it fails."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if "ERROR" in line]
    return (errors or ["pip failed without a message"])[-1].removeprefix("ERROR: ")


def reached(address: str) -> bool:
    """Whether a git repository answers."""
    try:
        found = subprocess.run(
            ["git", "ls-remote", "--exit-code", address, "HEAD"],
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env={"GIT_TERMINAL_PROMPT": "0", "PATH": "/usr/local/bin:/usr/bin:/bin"},
        )
    except (subprocess.TimeoutExpired, FileNotFoundError):
        return False
    return found.returncode == 0


def environment(folder: Path) -> Path:
    """Make a virtual environment, unless it is there; return its interpreter."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    return python


def each_line(name: str) -> list[str]:
    """Requirements of a file."""
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def main(into: Path) -> None:
    """Make both environments and say what is missing."""
    current, older = environment(into / "current"), environment(into / "numpy1")
    constraints = ("--constraint", str(HERE.parent.parent / "constraints.txt"))
    if install(current, "--requirement", str(HERE / "requirements.txt"), *constraints):
        for line in each_line("requirements.txt"):  # one by one, so that the others are had
            if problem := install(current, line, *constraints):
                print(f"{line}: not run here ({problem})")
    for line in each_line("requirements-without-dependencies.txt"):
        if problem := install(current, "--no-deps", line):
            print(f"{line}: not run here ({problem})")
    if problem := install(older, "--requirement", str(HERE / "requirements-numpy1.txt")):
        print(f"dadapy: not run here ({problem})")
    for name, address in FROM_GIT.items():
        if not reached(address):
            print(f"{name}: not run here (its git repository cannot be reached)")
        elif problem := install(current, "--no-deps", f"git+{address}"):
            print(f"{name}: not run here ({problem})")
        else:
            print(f"{name}: installed, but it has no adapter in peers/serve.py yet: not run here")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE / ".venv")
