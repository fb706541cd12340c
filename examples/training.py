"""What the training examples share: the run, which resumes exactly, and the command around it."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from token_rows import Shape

from cospace.errors import CospaceError, InputError
from cospace.models.checkpoint import quiet

SAVE_SECONDS = 60.0
TELL_SECONDS = 30.0


def known_record(path: Path, record: dict[str, Any], what: str) -> dict[str, Any] | None:
    """Give the record that a folder has, None if it has none.

    Raises
    ------
    InputError
        If it is of another schema, or of other settings.
    """
    if not path.exists():
        return None
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    found = {"schema": known.get("schema"), "settings": known.get("settings")}
    if found != record:
        raise InputError(
            f"{path.parent} holds {what} with {_first_difference(found, record)}: name another "
            "folder with --into, or remove this one."
        )
    return known


@dataclass
class Run:
    """One model on its way: weights, optimiser, and how far it is."""

    model: Any
    """Model with its head."""
    optimiser: Any
    """AdamW over its parameters."""
    step: int = 0
    """Steps done."""
    seconds: float = 0.0
    """Time they took."""
    losses: list[float] = field(default_factory=list)
    """Loss in nats of each step, over the tokens that were drawn."""

    @classmethod
    def of(cls, model: Any, settings: Shape) -> Run:
        """Begin with an untrained model; what is not a matrix has no weight decay."""
        matrices = [p for p in model.parameters() if p.ndim > 1]
        others = [p for p in model.parameters() if p.ndim <= 1]
        return cls(model, adam(matrices, others, settings))

    def save(self, path: Path) -> None:
        """Write everything that is needed to go on, as one file."""
        tensors, state = {}, self.optimiser.state
        for name, parameter in self.model.named_parameters():
            tensors[f"weight {name}"] = parameter.detach()
            for kind in ("exp_avg", "exp_avg_sq"):
                tensors[f"{kind} {name}"] = state[parameter][kind]
        facts = {"step": self.step, "seconds": self.seconds, "losses": self.losses}
        replace(path, lambda at: save_file(tensors, at, metadata={"run": json.dumps(facts)}))

    def load(self, path: Path) -> None:
        """Go on from what `save` wrote.

        Raises
        ------
        InputError
            If the file is damaged.
        """
        try:
            self._load(path)
        except SafetensorError as error:
            raise InputError(f"{path} is damaged ({error}): remove it to begin anew.") from None

    def _load(self, path: Path) -> None:
        with safe_open(path, "pt") as stored, torch.no_grad():
            facts = json.loads(stored.metadata()["run"])
            for name, parameter in self.model.named_parameters():
                parameter.copy_(stored.get_tensor(f"weight {name}"))
                self.optimiser.state[parameter] = {
                    "step": torch.tensor(float(facts["step"])),
                    **{k: stored.get_tensor(f"{k} {name}") for k in ("exp_avg", "exp_avg_sq")},
                }
        self.step, self.seconds, self.losses = facts["step"], facts["seconds"], facts["losses"]

    def update(self, settings: Shape, loss: float) -> None:
        """Step down the gradients that the parameters have, clipped to norm 1."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate_of(self.step, settings)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.step += 1
        self.losses.append(round(loss, 4))

    def go_on(
        self,
        state: Path,
        steps: int,
        one_step: Callable[[], None],
        *,
        stop: threading.Event,
        moved: Callable[[int, float], None],
    ) -> bool:
        """Do the steps that are left, from what ``state`` has; False if stopped on the way.

        Parameters
        ----------
        state
            File that everything is written to, now and then and when stopped.
        steps
            Steps of the whole training.
        one_step
            Does the next one.
        stop
            Set when the model should be put down after the step it is in.
        moved
            Told the steps done and the last loss.
        """
        if state.exists():
            self.load(state)
        saved = time.monotonic()
        while self.step < steps:
            began = time.monotonic()
            one_step()
            self.seconds += time.monotonic() - began
            moved(self.step, self.losses[-1])
            if stop.is_set() or time.monotonic() - saved > SAVE_SECONDS:
                self.save(state)
                saved = time.monotonic()
                if stop.is_set():
                    return False
        return True

    def mean_losses(self, every: int = 50) -> list[float]:
        """Mean losses of so many steps at a time."""
        pieces = range(0, len(self.losses), every)
        return [round(float(np.mean(self.losses[i : i + every])), 4) for i in pieces]


def adam(matrices: list[Any], others: list[Any], settings: Shape) -> Any:
    """AdamW with weight decay on the first of two lists of parameters."""
    groups = [{"params": matrices}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(
        groups, lr=settings.rate, betas=(0.9, 0.98), weight_decay=settings.decay, fused=True
    )


def rate_of(step: int, settings: Shape) -> float:
    """Learning rate of a step: up over a tenth of the steps, then down to 0, both linearly."""
    warm = math.ceil(settings.steps / 10)
    risen, left = (step + 1) / warm, settings.steps - step
    return settings.rate * min(risen, left / max(settings.steps - warm, 1))


class Teller:
    """Says on stderr how far the models are, with the time left.

    Parameters
    ----------
    settings
        Those of the training.
    naming
        What a model is called, with a place for its seed.
    """

    def __init__(self, settings: Shape, naming: str) -> None:
        self._settings = settings
        self._naming = naming
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._lock = threading.Lock()
        self._at: dict[int, tuple[int, float]] = {}
        self._steps = self._left = 0
        self._began = self._told = time.monotonic()

    def say(self, line: str) -> None:
        """Print one line."""
        self._console.print(line, markup=False)

    def expect(self, models: int) -> None:
        """Hear how many models are to be trained."""
        self._left = models * self._settings.steps
        self._began = self._told = time.monotonic()

    def moved(self, seed: int, step: int, loss: float) -> None:
        """Hear of a step, and now and then print a line."""
        with self._lock:
            before = self._at.get(seed, (step - 1, loss))[0]
            if seed not in self._at:
                self._left -= before
            self._steps += step - before
            self._left -= step - before
            self._at[seed] = (step, loss)
            now = time.monotonic()
            if now - self._told < TELL_SECONDS and step < self._settings.steps:
                return
            self._told = now
            rate = self._steps / (now - self._began)
            tokens = rate * self._settings.rows * self._settings.length
            under_way = ", ".join(
                f"{self._naming.format(each)}: step {at:,} of {self._settings.steps:,}, "
                f"loss {last:.2f}"
                for each, (at, last) in sorted(self._at.items())
            )
            self.say(f"{under_way}; {tokens:,.0f} tokens/s, {self._left / rate / 60:.0f} min left")
            if step == self._settings.steps:
                del self._at[seed]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, where the system has locks.

    Raises
    ------
    InputError
        If another process trains there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as stream:
        try:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except BlockingIOError:
            raise InputError(
                f"Another process trains in {folder}: wait for it, or name another folder."
            ) from None
        yield


def carried_out(folder: Path, work: Callable[[threading.Event], bool]) -> int:
    """Do the work of a command; give its exit status.

    Parameters
    ----------
    folder
        Folder that is written to.
    work
        Given an event that Ctrl-C sets; gives False if it was stopped by it. What it raises of
        input and of files is said in one line.
    """
    stop = threading.Event()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        for each in before:
            signal.signal(each, lambda *_: stop.set())
        with quiet():
            whole = work(stop)
        if not whole:
            sys.stderr.write("Stopped; give the same command again to go on.\n")
            return 130
    except CospaceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except OSError as error:
        reason = error.strerror or str(error)
        sys.stderr.write(f"{folder}: {reason}. Name another folder with --into.\n")
        return 2
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    return 0


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def plain(settings: Any) -> dict[str, Any]:
    """Settings as JSON has them."""
    return dict(json.loads(json.dumps(asdict(settings))))


def replace(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file whole or not at all: ``write`` is given another name beside it."""
    beside = path.with_name(f"partial-{path.name}")
    write(beside)
    beside.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    replace(path, lambda at: at.write_text(text, encoding="utf-8"))


def write_rows(path: Path, rows: Any) -> None:
    """Write an array, whole or not at all."""
    replace(path, lambda at: np.save(at, rows))


def _first_difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    old, new = found.get("settings") or {}, wanted["settings"]
    for name, value in new.items():
        if old.get(name) != value:
            return f"{name} {old.get(name)!r}, and {value!r} was asked for"
    return f"schema {found.get('schema')!r}, and {wanted['schema']!r} was expected"
