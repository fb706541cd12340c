"""Ask the peers: each environment is one process, spoken to by lines of JSON."""

from __future__ import annotations

import json
import os
import select
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE / ".venv"
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in THREADS} | {"LOKY_MAX_CPU_COUNT": "1"}


@dataclass
class Environment:
    """One interpreter with the peers that it has."""

    python: Path
    peers: dict[str, dict] = field(init=False)
    file: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.start()
        self.peers = self.say({"list": True}, 60)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.python, HERE / "serve.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **ONE_THREAD, "MPLBACKEND": "agg"},
        )

    def say(self, message: dict, patience: float) -> dict:
        """Send one line and wait for one line; a peer that dies or hangs is started again."""
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], patience)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.process.kill()
        self.process.wait()
        self.start()
        if self.file is not None and "load" not in message:
            self.say({"load": self.file}, 60)
        return {"error": "died" if ready else f"no answer in {patience:.0f} s"}

    def load(self, file: Path) -> None:
        self.file = str(file)
        self.say({"load": self.file}, 60)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=30)


class Peers:
    """All peers of all environments that are there."""

    def __init__(self, folder: Path) -> None:
        found = [folder / name / "bin" / "python" for name in ("current", "numpy1")]
        self.environments = [Environment(python) for python in found if python.exists()]
        if not self.environments:
            raise SystemExit(
                f"{folder} has no peers: run python benchmarks/peers/make_environment.py {folder}"
            )

    def __enter__(self) -> Peers:
        return self

    def __exit__(self, *_: object) -> None:
        for environment in self.environments:
            environment.close()

    @property
    def versions(self) -> dict[str, str]:
        return {k: v["version"] for e in self.environments for k, v in e.peers.items()}

    def of(self, measure: str) -> list[str]:
        """Names of the peers that have a measure."""
        return [
            name
            for environment in self.environments
            for name, about in environment.peers.items()
            if measure in about["measures"]
        ]

    def load(self, x: np.ndarray, y: np.ndarray, folder: Path) -> None:
        """Hand both tables to every environment."""
        np.savez(folder / "pair.npz", x=x, y=y)
        for environment in self.environments:
            environment.load(folder / "pair.npz")

    def ask(self, peer: str, measure: str, patience: float = 60) -> dict:
        """``value``, ``seconds`` and ``peak_kb``, or ``error``."""
        environment = next(e for e in self.environments if peer in e.peers)
        return environment.say({"peer": peer, "measure": measure}, patience)
