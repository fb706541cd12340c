"""What commands share of printing: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from cospace.errors import InputError
from cospace.result import Result

__all__ = ["check_writable", "command_line", "print_json", "progress_bar", "say"]

_ERR = Console(stderr=True, highlight=False, soft_wrap=True)


def say(line: str) -> None:
    """Tell the user something that is no result."""
    _ERR.print(line, markup=False)


def print_json(result: Result) -> None:
    """Print a result's dictionary."""
    sys.stdout.write(json.dumps(result.to_dict(), allow_nan=False) + "\n")


def command_line() -> str:
    """The command as it was typed, for the report."""
    return shlex.join(["cospace", *sys.argv[1:]])


def check_writable(path: Path | None) -> None:
    """Refuse now what could not be written after a long computation.

    Raises
    ------
    InputError
        When the folder is missing or the file cannot be created in it.
    """
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise InputError(
            f"{path} cannot be written: there is no folder {path.parent}. Make it first."
        )
    probe = path.with_name(f".{path.name}.probe")
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror}. Name a file in a folder you can write to."
        ) from None


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show steps done with the time left, on a terminal; elsewhere nothing."""
    with Progress(
        TextColumn("{task.description:<28}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=_ERR,
        transient=True,
        disable=not _ERR.is_terminal,
    ) as bar:
        task = bar.add_task("comparing", total=None)

        def step(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield step
