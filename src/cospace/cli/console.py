"""What commands share of printing: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from cospace.errors import InputError

if TYPE_CHECKING:
    import typer

    from cospace.result import Result

__all__ = [
    "check_writable",
    "command_line",
    "print_json",
    "progress_bar",
    "say",
    "typed",
    "write",
]


def say(line: str) -> None:
    """Tell the user something that is no result."""
    sys.stdout.flush()
    sys.stderr.write(f"{line}\n")


def write(lines: Sequence[str]) -> None:
    """Print lines of a result, without blanks at their ends."""
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines))


def print_json(value: Result | list[Any]) -> None:
    """Print a result's dictionary, or plain values."""
    plain = value if isinstance(value, list) else value.to_dict()
    sys.stdout.write(json.dumps(plain, allow_nan=False) + "\n")


def command_line(ctx: typer.Context) -> str:
    """The command as it was typed, quoted for a shell."""
    return shlex.join(["cospace", *ctx.find_root().obj["words"]])


def typed(ctx: typer.Context) -> dict[str, str]:
    """Options that were typed: name of the parameter -> how it is written."""
    return {
        param.name: param.opts[-1]
        for param in ctx.command.params
        if param.name and getattr(ctx.get_parameter_source(param.name), "name", "") == "COMMANDLINE"
    }


@overload
def check_writable(path: str | Path, inputs: Sequence[str | Path] = ()) -> Path: ...
@overload
def check_writable(path: None, inputs: Sequence[str | Path] = ()) -> None: ...
@overload
def check_writable(path: str | Path | None, inputs: Sequence[str | Path] = ()) -> Path | None: ...
def check_writable(path: str | Path | None, inputs: Sequence[str | Path] = ()) -> Path | None:
    """Refuse now what could not be written after a long computation.

    Parameters
    ----------
    path
        The file to be written, as it was typed; None for none.
    inputs
        What is read, and must not be overwritten.

    Returns
    -------
    Path or None
        The file to be written.

    Raises
    ------
    InputError
        When it is an input or no regular file, its folder is missing, or it cannot be created.
    """
    if path is None:
        return None
    word, path = str(path), Path(path)
    if word in ("", "-"):
        raise InputError(f"{word!r} names no file, and a file is written: name one.")
    if word.endswith(("/", os.sep)) and not path.is_dir():
        raise InputError(f"{word} names a folder: name a file, such as {path}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it.")
    if any(path.resolve() == Path(one).resolve() for one in inputs):
        raise InputError(f"{path} would be overwritten, and it is read: name another file.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is no regular file: name one that can be replaced.")
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
    return path


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Show steps done with the time left, on a terminal; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description:<28}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeLeft(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("comparing", total=None)

        def step(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield step
