"""``cospace demo``: three real models compared, and a report of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from cospace.cli.console import progress_bar, say
from cospace.cli.inputs import Reading, spaces_of
from cospace.comparison import Comparison, compare
from cospace.errors import CospaceError, InputError
from cospace.space import Space

__all__ = ["demo"]

MODELS = ("minilm", "mpnet", "smollm2-135m")


def demo(
    into: Annotated[
        Path, typer.Option("--into", help="Folder for activations, result, report.")
    ] = Path("demo"),
) -> None:
    """Compare three packaged models on the packaged sentences, and write a report."""
    from cospace.report import write_report

    start = time.monotonic()
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{into} cannot be made: {error.strerror}.") from None
    say(f"comparing {', '.join(MODELS)} on 480 plain sentences, at all sites")
    inputs = spaces_of(MODELS, Reading(store=into / "store"))
    kept, page = into / "comparison.json", into / "report.html"
    result = _still_true(kept, inputs.spaces)
    if result is None:
        with progress_bar() as progress:
            result = compare(inputs.spaces, progress=progress)
        result = result.with_provenance(
            command=f"cospace compare {' '.join(MODELS)} --texts plain --report report.html",
            **inputs.provenance,
        )
        result.save(kept)
    write_report(result, page)
    say(f"done in {time.monotonic() - start:.0f} s")
    say(f"report: {page.resolve()}")


def _still_true(path: Path, spaces: list[Space]) -> Comparison | None:
    """The saved comparison, if this version of the library made it of these very rows."""
    try:
        saved = Comparison.load(path)
    except CospaceError:
        return None
    from cospace import __version__

    same = [(s.name, s.fingerprint) for s in saved.spaces] == [
        (s.name, s.fingerprint) for s in spaces
    ]
    return (
        saved
        if same and saved.provenance.get("versions", {}).get("cospace") == __version__
        else None
    )
