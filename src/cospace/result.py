"""What results share: a schema version, a dictionary, a file, a table."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from cospace.errors import ContradictionError, InputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Result", "checked", "plain", "record"]


def plain(value: Any) -> Any:
    """Reduce ``value`` to what JSON holds; a number that is not finite becomes None.

    Examples
    --------
    >>> plain({"value": float("nan"), "ids": ("a", "b")})
    {'value': None, 'ids': ['a', 'b']}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [plain(item) for item in items]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value)


def record(kind: Any, values: Mapping[str, Any]) -> Any:
    """One frozen record from what JSON holds of it: lists become tuples where the field says so."""
    tuples = _tuples(kind)
    return kind(**{k: tuple(v) if k in tuples else v for k, v in values.items()})


def checked(kind: Any, values: Mapping[str, Any]) -> Any:
    """Make the same record where each value is of the kind that its field says.

    Raises
    ------
    TypeError
        For a value of another kind, and where a field lacks or is unknown.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> Point = dataclass(type("Point", (), {"__annotations__": {"x": float | None, "at": tuple[int, ...]}}))
    >>> checked(Point, {"x": 1.5, "at": [2, 3]}).at
    (2, 3)
    """
    tests = _tests(kind)
    for name, value in values.items():
        if name in tests and not tests[name](value):
            raise TypeError(f"{name} is {value!r}")
    return record(kind, values)


@lru_cache
def _tuples(kind: Any) -> frozenset[str]:
    return frozenset(n for n, hint in get_type_hints(kind).items() if get_origin(hint) is tuple)


@lru_cache
def _tests(kind: Any) -> dict[str, Callable[[Any], bool]]:
    hints = get_type_hints(kind)
    return {f.name: _test(hints[f.name]) for f in fields(kind)}


def _test(hint: Any) -> Callable[[Any], bool]:
    """Whether a value is what a type hint says; an int will do for a float, a list for a tuple."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if origin in (Union, UnionType):
        tests = [_test(one) for one in inner]
        usual = set(inner)  # what most values are of, found at once
        return lambda value: type(value) in usual or any(test(value) for test in tests)
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in inner
    if origin is tuple:
        if inner[1:] == (...,):
            each = _test(inner[0])
            return lambda value: isinstance(value, list | tuple) and all(map(each, value))
        tests = [_test(one) for one in inner]
        return lambda value: (
            isinstance(value, list | tuple)
            and len(value) == len(tests)
            and all(test(one) for test, one in zip(tests, value, strict=True))
        )
    if origin is not None and issubclass(origin, Mapping):
        key, item = map(_test, inner)
        return lambda value: (
            isinstance(value, Mapping) and all(map(key, value)) and all(map(item, value.values()))
        )
    if hint in (int, float):
        accepted = (int, float) if hint is float else int
        return lambda value: isinstance(value, accepted) and not isinstance(value, bool)
    return lambda value: isinstance(value, hint)


def _wrong(error: BaseException) -> str:
    """Say in a few words what a dictionary lacks, from what building the result raised."""
    if isinstance(error, ContradictionError):
        return str(error)
    found = error.__context__ if isinstance(error, InputError) and error.__context__ else error
    text = str(found)
    if isinstance(found, KeyError) and found.args:
        return f"it lacks {found.args[0]}"
    if absent := re.findall(r"'(\w+)'", text.partition("missing")[2]):
        return f"it lacks {', '.join(absent)}"
    if unknown := re.search(r"unexpected keyword argument '(\w+)'", text):
        return f"it holds an unknown {unknown[1]}"
    return "a value is of the wrong kind"


class Result:
    """Base of frozen results: subclasses name their ``kind`` and say how a dictionary is read."""

    kind: ClassVar[str]
    """Name of the result type inside its file."""
    schema: ClassVar[int] = 1
    """Version of the dictionary's layout."""

    def to_dict(self) -> dict[str, Any]:
        """Everything the result holds, as values that JSON holds."""
        return {"kind": self.kind, "schema": self.schema, **plain(self)}

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a row of ``to_frame``."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from what ``to_dict`` gave."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """One row a record, as a pandas data frame."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError.needs("pandas", "A data frame", "frames") from None
        return pd.DataFrame.from_records(self.records())

    def save(self, path: str | Path) -> None:
        """Write the dictionary as JSON; an existing file is replaced in one step."""
        path = Path(path)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            draft.write_text(json.dumps(self.to_dict(), allow_nan=False), encoding="utf-8")
            draft.replace(path)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise InputError(f"{path} cannot be written: {error.strerror}.") from None

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from None
        except ValueError:
            raise InputError(f"{path} is not a saved {cls.kind}: it is not JSON.") from None
        found = data.get("kind") if isinstance(data, dict) else None
        if found != cls.kind:
            raise InputError(
                f"{path} holds {found or 'something else'}; a saved {cls.kind} is expected."
            )
        if data.get("schema") != cls.schema:
            raise InputError(
                f"{path} has layout version {data.get('schema')}; this cospace reads version {cls.schema}."
            )
        try:
            return cls.from_dict(data)
        except (
            InputError,
            ArithmeticError,
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
        ) as error:
            raise InputError(
                f"{path} is no whole {cls.kind} ({_wrong(error)}): it was changed or cut since it was "
                "saved; save it again."
            ) from None
