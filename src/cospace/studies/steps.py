"""Work of a study that is done once: kept in a folder, found again by what it was made of."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cospace.errors import InputError
from cospace.result import plain

__all__ = ["Steps"]


@dataclass(frozen=True)
class Steps:
    """Results of steps as JSON files, so that an interrupted study goes on where it was."""

    folder: Path
    """Where they lie; made when the first is kept."""

    def once(
        self, name: str, parts: Mapping[str, Any], compute: Callable[[], Mapping[str, Any]]
    ) -> dict[str, Any]:
        """What ``compute`` gives, from the folder where the same step was done before.

        Parameters
        ----------
        name
            Kind of step.
        parts
            All that decides its result: fingerprints of rows and settings. The version of this
            library is added.
        compute
            Makes the result: values that JSON holds.

        Raises
        ------
        InputError
            When the folder cannot be written.
        """
        made_of, path = self._place(name, parts)
        kept = _read(path, made_of)
        if kept is not None:
            return kept
        result = dict(plain(compute()))
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            whole = {"of": made_of, "is": result, "sum": _sum(result)}
            draft.write_text(json.dumps(whole), encoding="utf-8")
            draft.replace(path)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise InputError(
                f"{self.folder} cannot be written: {error.strerror}. Name another folder."
            ) from None
        return result

    def has(self, name: str, parts: Mapping[str, Any]) -> bool:
        """Whether a step was done: what it takes need not be loaded then."""
        made_of, path = self._place(name, parts)
        return _read(path, made_of) is not None

    def _place(self, name: str, parts: Mapping[str, Any]) -> tuple[dict[str, Any], Path]:
        made_of = {"step": name, "cospace": version("cospace"), **plain(parts)}
        text = json.dumps(made_of, sort_keys=True)
        return (
            made_of,
            self.folder / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:20]}.json",
        )


def _read(path: Path, made_of: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(kept, dict) or kept.get("of") != made_of:
        return None
    found = kept.get("is")
    return found if isinstance(found, dict) and kept.get("sum") == _sum(found) else None


def _sum(result: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
