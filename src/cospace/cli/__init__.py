"""The command line: each command parses, calls the library, prints."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

import typer

from cospace.cli.compare import compare
from cospace.cli.demo import demo
from cospace.cli.extract import extract
from cospace.cli.measures import measures
from cospace.cli.models import models
from cospace.cli.report import report
from cospace.errors import CospaceError

__all__ = ["main"]

# typer carries its own copy of click in some versions; its exceptions are reached through typer.
UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]  # type: ignore[assignment]

app = typer.Typer(
    name="cospace",
    help="How alike are the spaces in which language models represent text?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in (demo, models, measures, extract, compare, report):
    app.command()(command)


@app.callback()
def _root() -> None:
    """How alike are the spaces in which language models represent text."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a mistake of input is one line on standard error and exit code 2."""
    try:
        sys.exit(app(arguments, standalone_mode=False) or 0)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except UsageError as error:
        _fail(f"{error.format_message()} See 'cospace {_command(arguments)}--help'.")
    except CospaceError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort) as stop:
        _fail(str(stop) or "Interrupted.", code=130)
    except BrokenPipeError:
        # The reader of our output went away: nothing to say, and no one to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        _fail(
            "Not enough memory: compare fewer texts or sites (--sites), or measure fewer (--measures)."
        )
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        advice = (
            " Free some space and run the same command again."
            if error.errno == errno.ENOSPC
            else ""
        )
        _fail(f"{where}{error.strerror or error}.{advice}")


def _command(arguments: Sequence[str] | None) -> str:
    words = list(sys.argv[1:] if arguments is None else arguments)
    known = {
        command.name or getattr(command.callback, "__name__", "")
        for command in app.registered_commands
    }
    return f"{words[0]} " if words and words[0] in known else ""


def _fail(message: str, code: int = 2) -> None:
    line = " ".join(message.split())
    sys.stderr.write(f"cospace: {line}\n")
    sys.exit(code)
