"""``cospace demo``: three real models compared, and a report of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cospace.cli.console import check_writable, progress_bar, say
from cospace.cli.inputs import Reading, run
from cospace.cli.tables import print_comparison
from cospace.errors import CospaceError, InputError

if TYPE_CHECKING:
    from cospace.comparison import Comparison
    from cospace.space import Space

__all__ = ["demo"]

MODELS = ("minilm", "mpnet", "smollm2-135m")


def demo(
    into: Annotated[
        Path,
        typer.Option("--into", metavar="FOLDER", help="For activations, result and report."),
    ] = Path("demo"),
) -> None:
    """Compare three packaged models on the packaged sentences, and write a report."""
    start = time.monotonic()
    try:
        into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{into} cannot be made: {error.strerror}. Name another folder.") from None
    kept, page = into / "comparison.json", into / "report.html"
    check_writable(kept)
    check_writable(page)
    say(f"comparing {', '.join(MODELS)} on the 480 sentences 'plain', at all sites")
    store, _ = run(MODELS, Reading(store=into / "store"))
    spaces = store.spaces()
    result = _still_true(kept, spaces)
    if result is None:
        from cospace.comparison import compare

        try:
            with progress_bar() as progress:
                result = compare(spaces, progress=progress)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"Stopped while comparing: activations are kept in {into / 'store'}, the same "
                "command goes on from them."
            ) from None
        result = result.with_provenance(
            command=f"cospace compare {' '.join(MODELS)} --texts plain --report report.html",
            store=store.manifest,
        )
        result.save(kept)
    from cospace.report import write_report

    write_report(result, page)
    print_comparison(result, brief=True)
    say(f"done in {time.monotonic() - start:.0f} s")
    say(f"report: {page.resolve()}")


def _still_true(path: Path, spaces: list[Space]) -> Comparison | None:
    """The saved comparison, if this version of the library made it of these very rows."""
    from cospace import __version__
    from cospace.comparison import Comparison

    try:
        saved = Comparison.load(path)
    except CospaceError:
        return None
    same = [(s.name, s.fingerprint) for s in saved.spaces] == [
        (s.name, s.fingerprint) for s in spaces
    ]
    made_by = saved.provenance.get("versions", {}).get("cospace")
    return saved if same and made_by == __version__ else None
