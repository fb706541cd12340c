"""What a study file holds: TOML, every key checked before anything is computed."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from cospace.errors import InputError

__all__ = ["Settings", "models_named", "read_settings"]


class Settings(BaseModel):
    """Base of study files: frozen, no key that nobody reads, and finite numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


_S = TypeVar("_S", bound=Settings)


def read_settings(path: str | Path, kind: type[_S]) -> _S:
    """Read a study file.

    Raises
    ------
    InputError
        For a file that cannot be read, is not TOML, or holds a key or a value that the study does
        not know.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}. Name a study file.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no study file: it is not text in UTF-8.") from None
    try:
        return kind.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(f"{path}: {_told(first['loc'], first, kind)}") from None


def _told(where: tuple[int | str, ...], first: object, kind: type[Settings]) -> str:
    key = ".".join(map(str, where))
    found = dict(first) if isinstance(first, dict) else {}
    if found.get("type") == "extra_forbidden":
        known = _section(kind, where[:-1]).model_fields
        near = difflib.get_close_matches(str(where[-1]), known, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        return f"there is no key {key!r}.{meant} Known: {', '.join(known)}."
    if found.get("type") == "missing":
        return f"the key {key!r} is missing."
    words = str(found.get("msg", "")).removeprefix("Value error, ")
    return f"{key} is {found.get('input')!r}: {words[:1].lower()}{words[1:].rstrip('.')}."


def _section(kind: type[Settings], where: Sequence[int | str]) -> type[Settings]:
    """Settings of a section of the file, such as ``[steering]``."""
    for key in where:
        hint = kind.model_fields[str(key)].annotation
        kinds = [one for one in (hint, *get_args(hint)) if isinstance(one, type)]
        kind = next(one for one in kinds if issubclass(one, Settings))
    return kind


def models_named(references: tuple[str, ...], base: Path) -> tuple[str, ...]:
    """References as given, with a pattern such as ``ensemble/seed-*`` replaced by its folders.

    Parameters
    ----------
    references
        Packaged names, hub ids, files, folders or patterns of folders.
    base
        Folder from which relative paths and patterns are seen, that of the study file.

    Raises
    ------
    InputError
        For a pattern that nothing matches, or a model that is named twice.
    """
    found: list[str] = []
    for reference in references:
        at = base / Path(reference).expanduser()
        if "*" in reference:
            folders = sorted(at.parent.glob(at.name)) if "*" not in str(at.parent) else []
            models = [str(folder) for folder in folders if (folder / "config.json").is_file()]
            if not models:
                raise InputError(f"No folder with a model in it matches {reference!r}.")
            found += models
        else:
            found.append(str(at) if at.exists() else reference)
    again = next((name for name in found if found.count(name) > 1), None)
    if again is not None:
        raise InputError(f"The study names {again!r} twice: name each model once.")
    return tuple(found)
