"""Arrays and what is said of them in one safetensors file: its header holds the JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from cospace.errors import InputError
from cospace.result import plain

__all__ = ["TensorFile", "read_tensors", "write_tensors"]

_KEY = "cospace"


class TensorFile(NamedTuple):
    """What a file holds."""

    arrays: dict[str, npt.NDArray[Any]]
    """The arrays by name."""
    facts: dict[str, Any]
    """What was said of them."""


def write_tensors(
    path: str | Path,
    arrays: Mapping[str, npt.NDArray[Any]],
    facts: Mapping[str, Any],
    *,
    kind: str,
    schema: int,
) -> None:
    """Write arrays and facts; the same ones give the same bytes, a file is replaced in one step.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    path = Path(path)
    # One header entry: safetensors writes several in an order that changes from run to run.
    header = json.dumps(
        {"kind": kind, "schema": schema, **plain(dict(facts))}, allow_nan=False, sort_keys=True
    )
    data = save({k: np.ascontiguousarray(a) for k, a in arrays.items()}, metadata={_KEY: header})
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None


def read_tensors(path: str | Path, *, kind: str, schema: int) -> TensorFile:
    """Read what :func:`write_tensors` wrote.

    Raises
    ------
    InputError
        If the file cannot be read, holds something else, or is of another layout.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get(_KEY, "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (SafetensorError, ValueError) as error:
        raise InputError(
            f"{path} is not a saved {kind}: it is no whole safetensors file ({error})."
        ) from None
    found = header.get("kind") if isinstance(header, dict) else None
    if found != kind:
        raise InputError(
            f"{path} holds {found or 'tensors of something else'}; a saved {kind} is expected."
        )
    if header.get("schema") != schema:
        raise InputError(
            f"{path} has layout version {header.get('schema')}; this cospace reads version {schema}."
        )
    return TensorFile(arrays, {k: v for k, v in header.items() if k not in ("kind", "schema")})
