"""The command line: each command parses, calls the library, prints."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from cospace.errors import (
    CospaceError,
    ExtractionError,
    InputError,
    TextTooLongError,
    UndefinedMeasureError,
)

__all__ = ["main"]

_OPTIONS: tuple[tuple[type[CospaceError], str, str], ...] = (
    (UndefinedMeasureError, "reduced=", "--reduced K"),
    (TextTooLongError, "truncate=True", "--truncate"),
    (InputError, "TokenPolicy(special=", "--special, --no-sink"),
    (ExtractionError, "dtype='", "--dtype TYPE"),
    (InputError, "Take device='cpu'", "--device WHERE"),
)
"""Kind of error, how its message names an argument, and the option that sets it."""

# Little is imported above, so that an interrupt while the rest loads ends as quietly as any other.


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Parameters
    ----------
    arguments
        Words after the name of the program; by default those it was started with.

    Raises
    ------
    SystemExit
        Always: with 0; with 2 after a mistake of input, told in one line on standard error; with
        130 after an interrupt.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    with suppress(AttributeError, ValueError):
        # A name that the terminal cannot show must not cost a result.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        from cospace.cli.app import run

        code = run(words)
        sys.stdout.flush()
    except CospaceError as error:
        _fail(_with_options(error))
    except KeyboardInterrupt as stop:
        _fail(str(stop) or "Interrupted.", code=130)
    except BrokenPipeError:
        # The reader of our output went away: nothing to say, and no one to say it to.
        _drop_output()
        code = 0
    except MemoryError:
        _fail("Not enough memory: take fewer texts, models, sites or measures at once.")
    except OSError as error:
        _drop_output()
        where = f"{error.filename}: " if error.filename else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = " Free some space and run the same command again." if full else ""
        _fail(f"{where}{error.strerror or error}.{advice}")
    sys.exit(code)


def _with_options(error: CospaceError) -> str:
    message = str(error)
    found = [
        option
        for kind, argument, option in _OPTIONS
        if isinstance(error, kind) and argument in message
    ]
    return f"{message} On the command line: {', '.join(found)}." if found else message


def _drop_output() -> None:
    """Send what is still unwritten nowhere, or the interpreter would try again as it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int = 2) -> None:
    line = " ".join(message.split())
    with suppress(OSError):
        sys.stderr.write(f"cospace: {line}\n")
    sys.exit(code)
