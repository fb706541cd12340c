"""What studies share of reading: texts beside the study file, and models, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from cospace.corpora import open_corpus
from cospace.corpus import Corpus
from cospace.errors import InputError, UnknownNameError
from cospace.models.packaged import catalogue

__all__ = ["Loading", "check_models", "each_model", "once", "texts_of"]

_HUB = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?$")


class Loading(Protocol):
    """What a study file says of loading models."""

    @property
    def dtype(self) -> str:
        """Number type of the forward pass."""
        ...

    @property
    def device(self) -> str:
        """Where models run."""
        ...

    @property
    def accept(self) -> tuple[str, ...]:
        """Terms of use accepted, by name."""
        ...


def texts_of(reference: str, base: Path) -> Corpus:
    """Texts of a file beside the study file, or by name."""
    path = base / reference
    return open_corpus(path if path.is_file() else reference)


def check_models(references: Sequence[str], what: str) -> None:
    """Refuse models that are not there, before those in front of them are read.

    Parameters
    ----------
    references
        Packaged names, folders, files, hub ids.
    what
        What the study calls them, such as ``encoders``.

    Raises
    ------
    InputError
        For a folder without a model, or two folders of one name.
    UnknownNameError
        For a name that is none.
    """
    names: list[str] = []
    for reference in references:
        path = Path(reference)
        if path.is_dir():
            if not (path / "config.json").is_file():
                raise InputError(f"{reference} is no model: there is no config.json in it.")
            names.append(path.resolve().name)
        elif not path.is_file() and reference not in catalogue() and not _HUB.match(reference):
            raise UnknownNameError.among(reference, catalogue(), "model")
    once(names, what)


def each_model(
    references: Sequence[str], settings: Loading, load_model: Callable[..., Any], what: str
) -> Iterator[tuple[str, Any]]:
    """Load models one after the other: (reference, model).

    Raises
    ------
    InputError
        For two of one name.
    """
    names: list[str] = []
    for reference in references:
        model = load_model(
            reference, dtype=settings.dtype, device=settings.device, accept=settings.accept
        )
        names.append(model.facts.name)
        once(names, what)
        yield reference, model


def once(names: Sequence[str], what: str) -> None:
    """Refuse a name that comes twice.

    Raises
    ------
    InputError
        For this.
    """
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InputError(f"Two {what} are called {again!r}: name each once, or rename one.")
