"""Spaces from arrays made elsewhere: ``.npy``, ``.npz``, ``.safetensors``, ``.parquet``."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cospace.errors import InputError, RowMismatchError
from cospace.space import Space

__all__ = ["SUFFIXES", "read_spaces", "spaces_of"]

SUFFIXES = (".npy", ".npz", ".safetensors", ".parquet")
"""Kinds of file that hold spaces."""

_NAMING = {"ids": "ids", "id": "ids", "groups": "groups", "group": "groups"}
_TENSORS = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
    "BOOL": "?",
}
_PANDAS_INDEX = "__index_level_"

Column = tuple[str, ...]


@dataclass
class _Content:
    """What a file holds, before it is split into spaces."""

    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    columns: dict[str, Column] = field(default_factory=dict)
    unread: Column = ()


def read_spaces(path: str | Path) -> list[Space]:
    """Read every space that a file of arrays holds.

    ========================  =====================================================================
    ``.npy``                  one array of shape (n, d), without ids
    ``.npz``                  every 2-D array is a space; 1-D arrays ``ids`` and ``groups`` (strings
                              or whole numbers) name the rows of all of them
    ``.safetensors``          every 2-D tensor is a space; ``ids`` and ``groups`` are JSON lists in
                              the file's metadata, or 1-D tensors of whole numbers
    ``.parquet``              a column ``id`` names the rows, ``group`` is optional; every column of
                              lists is a space, or else all other columns together are one
    ========================  =====================================================================

    float16 and bfloat16 become float32. Nothing is unpickled. Columns beside columns of lists
    (texts, labels) are not part of a space; ``facts["unread"]`` names them.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    list of Space
        In the order of the file. A space is called by the stem of the file where there is one,
        else ``stem:key``; ``facts`` hold ``file`` and, where there are several, ``key``.

    Raises
    ------
    InputError
        If the file cannot be read, is of another kind, is damaged, holds arrays that are not
        tables of finite numbers, or names its rows wrongly.
    """
    return _read(Path(path), Path(path).stem, Path(path).name)


def spaces_of(paths: Sequence[str | Path]) -> list[Space]:
    """Read the spaces of several files, under names that differ.

    Files of one stem are told apart by as many of their folders as that takes (``a/x``, ``b/x``),
    files that differ in their kind alone by it (``x.npy``, ``x.npz``).

    Raises
    ------
    InputError
        As :func:`read_spaces`; and if a file is given twice.
    """
    files = [Path(path) for path in paths]
    return [
        space
        for file, (label, name) in zip(files, _labels(files), strict=True)
        for space in _read(file, label, name)
    ]


def _labels(files: Sequence[Path]) -> list[tuple[str, str]]:
    """Names of the spaces and of the files, as short as they can be and still differ."""
    full = [Path(os.path.normpath(file.absolute())) for file in files]
    again = next((file for file, times in Counter(full).items() if times > 1), None)
    if again is not None:
        raise InputError(f"{again.name} is given twice: name every file once.")
    bare = [file.with_suffix("") for file in full]
    twins = {file for file, times in Counter(bare).items() if times > 1}
    ends = [whole if stem in twins else stem for whole, stem in zip(full, bare, strict=True)]
    labels = []
    for end, whole in zip(ends, full, strict=True):
        others = [other for other in ends if other != end]
        parts = end.parts
        depth = 1
        while any(other.parts[-depth:] == parts[-depth:] for other in others):
            depth += 1
        labels.append(("/".join(parts[-depth:]), "/".join(whole.parts[-depth:])))
    return labels


def _read(path: Path, label: str, name: str) -> list[Space]:
    suffix = path.suffix.lower()
    if path.is_dir():
        raise InputError(f"{path} is a folder; a file of arrays is expected ({_known()}).")
    if suffix not in SUFFIXES:
        raise InputError(
            f"{path} ends in {suffix!r}; arrays are read from {_known()}: numpy.save writes the first."
        )
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{path} is empty; an array is expected.")
        content = _READERS[suffix](path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    try:
        return _spaces(path, label, name, content)
    except (InputError, RowMismatchError) as error:
        # What is wrong with rows is said of the space; its file is what the user knows.
        raise error if str(path) in str(error) else type(error)(f"{path}: {error}") from None


def _known() -> str:
    return f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"


def _spaces(path: Path, label: str, name: str, content: _Content) -> list[Space]:
    tables: dict[str, npt.NDArray[Any]] = {}
    columns = dict(content.columns)
    for key, array in content.arrays.items():
        if key in _NAMING and array.ndim == 1:
            column = _NAMING[key]
            if column in columns:
                raise InputError(f"{path} has {column} twice: keep one of them.")
            columns[column] = _names(path, key, array)
        elif array.ndim != 2:
            what = f"array {key!r}" if len(content.arrays) > 1 else "array"
            raise InputError(
                f"{path} holds an {what} of shape {array.shape}; (rows, width) is expected, one row for each text"
                f"{_advice(key, array)}."
            )
        else:
            tables[key] = array
    if not tables:
        there = ", ".join(content.arrays) or "nothing"
        raise InputError(
            f"{path} has no 2-D array, only {there}; one of shape (rows, width) is expected."
        )
    several = len(tables) > 1
    for column, values in columns.items():
        _check_column(path, column, values, next(iter(tables.values())).shape[0])
    facts: dict[str, Any] = {"file": name}
    if content.unread:
        facts["unread"] = content.unread
    return [
        Space(
            _number(array),
            ids=columns.get("ids"),
            name=f"{label}:{key}" if several else label,
            groups=columns.get("groups"),
            facts={**facts, "key": key} if several else facts,
        )
        for key, array in tables.items()
    ]


def _advice(key: str, array: npt.NDArray[Any]) -> str:
    if array.ndim == 1:
        return "" if key == "array" else " (1-D arrays called ids or groups name the rows)"
    return ": save one array for each layer" if array.ndim == 3 else ""


def _check_column(path: Path, column: str, values: Column, n: int) -> None:
    if len(values) != n:
        raise InputError(f"{path} has {n} rows and {len(values)} {column}; one is expected a row.")
    if column == "ids":
        value, times = Counter(values).most_common(1)[0] if values else ("", 0)
        if times > 1:
            raise InputError(f"{path} has the id {value!r} {times} times: an id names one row.")


def _names(path: Path, key: str, values: npt.NDArray[Any]) -> Column:
    """Ids or groups as strings."""
    if values.dtype.kind in "iu":
        return tuple(str(int(value)) for value in values)
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind != "U":
        raise InputError(
            f"{path} has {key} of type {values.dtype}; strings or whole numbers are expected."
        )
    return tuple(map(str, values))


def _number(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Array in this machine's byte order; half precision as single, long double as double."""
    if array.dtype.kind == "f":
        return array.astype(np.float32 if array.dtype.itemsize < 8 else np.float64, copy=False)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _read_npy(path: Path) -> _Content:
    try:
        # Mapping compares the length of the file with what its head claims, before any is read.
        array = np.array(np.lib.format.open_memmap(path, mode="r"))
    except (ValueError, EOFError) as error:
        raise _unreadable(path, "array", error) from None
    return _Content({"array": array})


def _read_npz(path: Path) -> _Content:
    content = _Content()
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                key = member.removesuffix(".npy")
                with archive.open(member) as stream:
                    content.arrays[key] = np.asarray(
                        np.lib.format.read_array(stream, allow_pickle=False)
                    )
    except zipfile.BadZipFile as error:
        raise _unreadable(path, "archive", error) from None
    except (ValueError, EOFError, RuntimeError, MemoryError, zlib.error) as error:
        raise _unreadable(path, f"array {key!r}", error) from None
    return content


def _unreadable(path: Path, what: str, error: Exception) -> InputError:
    if "object" in str(error).lower():
        return InputError(
            f"{path} holds Python objects ({what}), which are never unpickled: save numbers as float32, "
            "ids as numpy.array(ids, dtype=str)."
        )
    return InputError(
        f"{path} is damaged or no {path.suffix} file ({what}: {_line(error)}): write it again."
    )


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _read_safetensors(path: Path) -> _Content:
    from safetensors import SafetensorError, safe_open

    try:
        # The library checks the head; numpy lacks bfloat16, so the numbers are read here.
        with safe_open(path, framework="numpy") as handle:
            metadata: Mapping[str, str] = handle.metadata() or {}
    except SafetensorError as error:
        raise _unreadable(path, "head", error) from None
    with path.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        head = json.loads(stream.read(size))
    content = _Content()
    for key, entry in head.items():
        if key == "__metadata__":
            continue
        kind = _TENSORS.get(entry["dtype"])
        if kind is None:
            raise InputError(
                f"{path} holds {entry['dtype']} numbers in {key!r}; F32, F16, BF16 or F64 are expected."
            )
        start, stop = entry["data_offsets"]
        dtype = np.dtype(kind)
        flat = np.fromfile(
            path, dtype=dtype, count=(stop - start) // dtype.itemsize, offset=8 + size + start
        )
        if entry["dtype"] == "BF16":
            flat = (flat.astype(np.uint32) << 16).view(np.float32)
        content.arrays[key] = flat.reshape(entry["shape"])
    for column in ("ids", "groups"):
        if column in metadata:
            content.columns[column] = _json_names(path, column, metadata[column])
    return content


def _json_names(path: Path, column: str, text: str) -> Column:
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, list) or not all(
        isinstance(value, str | int) and not isinstance(value, bool) for value in values
    ):
        raise InputError(
            f"{path} has metadata {column} that are no JSON list of strings or whole numbers: "
            f"write json.dumps({column})."
        )
    return tuple(map(str, values))


def _read_parquet(path: Path) -> _Content:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, partitioning=None)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, "table", error) from None
    content = _Content()
    lists, scalars = [], []
    for key in table.column_names:
        kind = table.schema.field(key).type
        if key in _NAMING:
            column = _NAMING[key]
            if column in content.columns:
                raise InputError(f"{path} has {column} twice: keep one of them.")
            content.columns[column] = _parquet_names(path, key, table[key])
        elif _is_list(kind):
            lists.append(key)
        else:
            scalars.append(key)
    if lists:
        for key in lists:
            content.arrays[key] = _list_rows(path, key, table[key])
        content.unread = tuple(scalars)
    elif scalars:
        content.arrays["columns"] = _column_rows(path, scalars, table)
    return content


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _parquet_names(path: Path, key: str, column: Any) -> Column:
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)
    ):
        raise InputError(f"{path} has {key} of type {kind}; strings or whole numbers are expected.")
    if column.null_count:
        raise InputError(f"{path} has {column.null_count} rows without {key}; every row needs one.")
    return tuple(map(str, column.to_pylist()))


def _list_rows(path: Path, key: str, column: Any) -> npt.NDArray[Any]:
    import pyarrow.compute as pc

    if not _is_number(column.type.value_type):
        raise InputError(
            f"{path} has lists of {column.type.value_type} in {key!r}; lists of numbers are expected."
        )
    if column.null_count:
        raise InputError(
            f"{path} has {column.null_count} rows without a list in {key!r}; every row needs one."
        )
    lengths = pc.list_value_length(column).to_numpy()
    width = int(lengths[0]) if len(lengths) else 0
    odd = np.flatnonzero(lengths != width)
    if len(odd):
        raise InputError(
            f"{path} has lists of unequal lengths in {key!r}: row {odd[0]} has {lengths[odd[0]]} numbers, "
            f"row 0 has {width}."
        )
    values = column.combine_chunks().flatten()
    _check_present(path, key, values)
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(column), width)


def _column_rows(path: Path, keys: Sequence[str], table: Any) -> npt.NDArray[Any]:
    index = [key for key in keys if key.startswith(_PANDAS_INDEX)]
    if index:
        raise InputError(
            f"{path} holds the index of a data frame ({index[0]}): call it id, or write with index=False."
        )
    odd = [key for key in keys if not _is_number(table.schema.field(key).type)]
    if odd:
        more = f" and {len(odd) - 5} more" if len(odd) > 5 else ""
        raise InputError(
            f"{path} has columns that hold no numbers ({', '.join(odd[:5])}{more}): take them out, "
            "or put the rows into one column of lists."
        )
    for key in keys:
        _check_present(path, key, table[key])
    return np.column_stack([table[key].to_numpy() for key in keys])


def _check_present(path: Path, key: str, values: Any) -> None:
    if values.null_count:
        raise InputError(
            f"{path} lacks {values.null_count} numbers in {key!r}; none may be missing."
        )


_READERS: dict[str, Callable[[Path], _Content]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".safetensors": _read_safetensors,
    ".parquet": _read_parquet,
}
