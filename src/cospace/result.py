"""What results share: a schema version, a dictionary, a file, a table."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cospace.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Result", "plain"]


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


def _wrong(error: BaseException) -> str:
    """Say in a few words what a dictionary lacks, from what building the result raised."""
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
        except (InputError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{path} is no whole {cls.kind} ({_wrong(error)}): it was changed or cut since it was "
                "saved; save it again."
            ) from None
