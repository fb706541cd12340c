"""Files of texts as records: JSON lines, tables, Parquet, plain lines; each fault in one line."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from cospace.errors import InputError

__all__ = ["KINDS", "Number", "Other", "Records", "load", "parse"]


@dataclass(frozen=True)
class Records:
    """What a file holds, before anything is asked of its values."""

    names: tuple[str, ...]
    """Every column of the file."""
    at: tuple[int, ...]
    """Line or row on which each record begins, from 1."""
    values: tuple[Mapping[str, Any], ...]
    """Column -> value of each record; of the wanted columns at least."""


class Number(str):
    """A JSON number as it was written."""


@dataclass(frozen=True)
class Other:
    """Stands for a value that is neither text nor a number."""

    kind: str


class _Unreadable(Exception):
    """What is wrong with a file, said without its name."""


_SEPARATORS = {";": "';'", "\t": "tabs", ",": "','", "|": "'|'"}

_Parser = Callable[[bytes, str, Container[str]], Records]


def load(path: Path) -> bytes:
    """Read the bytes of a file with a suffix of :data:`KINDS`.

    Raises
    ------
    InputError
        If it is a folder, has another suffix or cannot be read.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder, expected a file of texts ({', '.join(KINDS)}).")
    if path.suffix.lower() not in KINDS:
        found = f"the suffix {path.suffix!r}" if path.suffix else "no suffix"
        raise InputError(f"{path} has {found}, expected one of {', '.join(KINDS)}: convert it.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def parse(data: bytes, *, suffix: str, source: str, text: str, wanted: Container[str]) -> Records:
    """Turn the bytes of a file into records.

    Parameters
    ----------
    data
        Content of the file.
    suffix
        One of :data:`KINDS`.
    source
        Name of the file in messages.
    text
        Column that bare texts (plain lines, JSON strings) are put in.
    wanted
        Columns that are read from a file that can be read by columns.

    Raises
    ------
    InputError
        If the bytes are not what the suffix says, with the line.
    """
    try:
        return _PARSERS[suffix](data, text, wanted)
    except _Unreadable as found:
        raise InputError(f"{source}{found}") from None


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _Unreadable(" is UTF-16, expected UTF-8: save it as UTF-8.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise _Unreadable(f", line {line} holds a NUL byte, expected text: is it a binary file?")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        raise _Unreadable(
            f", line {line} is not UTF-8 (byte 0x{byte:02x}): save the file as UTF-8."
        ) from None


def _lines(data: bytes) -> list[str]:
    # not splitlines(): a text may hold U+2028 and its like
    lines = _decode(data).replace("\r\n", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise _Unreadable(f", line {number} is blank, expected a text: remove the line.")
    return lines


def _parse_plain(data: bytes, text: str, wanted: Container[str]) -> Records:
    lines = _lines(data)
    return Records((text,), tuple(range(1, len(lines) + 1)), tuple({text: line} for line in lines))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"{twice!r} is given twice")
    return values


_from_json = partial(
    json.loads,
    parse_int=Number,
    parse_float=Number,
    parse_constant=_no_constant,
    object_pairs_hook=_no_twins,
)


def _parse_jsonl(data: bytes, text: str, wanted: Container[str]) -> Records:
    values: list[dict[str, Any]] = []
    for number, line in enumerate(_lines(data), 1):
        try:
            value = _from_json(line)
        except json.JSONDecodeError as error:
            raise _Unreadable(
                f", line {number} is not JSON ({error.msg} at column {error.colno}), "
                "expected one JSON object."
            ) from None
        except (ValueError, RecursionError) as error:
            raise _Unreadable(
                f", line {number} is not JSON ({error}), expected one JSON object."
            ) from None
        if isinstance(value, str) and not isinstance(value, Number):
            value = {text: value}
        if not isinstance(value, dict):
            raise _Unreadable(
                f", line {number} is neither a JSON object nor a JSON string: {line[:40]}"
            )
        values.append(value)
    names = dict.fromkeys(name for value in values for name in value)
    return Records(tuple(names), tuple(range(1, len(values) + 1)), tuple(values))


def _parse_table(data: bytes, text: str, wanted: Container[str], *, delimiter: str) -> Records:
    content = _decode(data)
    _check_separator(content, delimiter, wanted)
    stream = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    table: list[tuple[int, list[str]]] = []
    blank = 0
    while True:
        number = stream.line_num + 1
        try:
            cells = next(stream, None)
        except csv.Error as error:
            raise _Unreadable(
                f", line {number} is not a row of a table ({error}): mend its quotes."
            ) from None
        if cells is None:
            break
        if not any(cell.strip() for cell in cells) and len(cells) < 2:
            blank = blank or number
            continue
        if blank:
            raise _Unreadable(f", line {blank} is blank, expected a row: remove the line.")
        if table and len(cells) != len(table[0][1]):
            raise _Unreadable(
                f", line {number} has {len(cells)} cells where the header has {len(table[0][1])}: "
                "put texts that hold the separator in double quotes."
            )
        table.append((number, cells))
    if not table:
        return Records((), (), ())
    (number, header), *body = table
    name, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise _Unreadable(f", line {number} has {times} columns {name!r}, expected one.")
    values = tuple(dict(zip(header, cells, strict=True)) for _, cells in body)
    return Records(tuple(header), tuple(at for at, _ in body), values)


def _check_separator(content: str, delimiter: str, wanted: Container[str]) -> None:
    """Refuse a header that is one column by the expected separator, and several by another."""
    number, head = next(
        ((i, line) for i, line in enumerate(content.split("\n"), 1) if line.strip()), (1, "")
    )
    if delimiter in head or head.strip().strip('"') in wanted:
        return
    for other, name in _SEPARATORS.items():
        if other in head:
            raise _Unreadable(
                f", line {number} seems to be separated by {name}, expected {_SEPARATORS[delimiter]}: "
                "save it with commas as .csv, or with tabs as .tsv."
            )


def _parse_parquet(data: bytes, text: str, wanted: Container[str]) -> Records:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        names = tuple(file.schema_arrow.names)
        table = file.read(columns=[name for name in names if name in wanted])
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise _Unreadable(f" cannot be read as Parquet: {reason}.") from None
    columns = {name: _values(table.column(name)) for name in table.column_names if name in wanted}
    values = tuple(
        {name: column[i] for name, column in columns.items()} for i in range(table.num_rows)
    )
    return Records(names, tuple(range(1, len(values) + 1)), values)


def _values(column: Any) -> list[Any]:
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    readable = (
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
    )
    # the others are left alone: some become Python values with pandas alone
    return list(column.to_pylist()) if readable else [Other(str(kind))] * len(column)


_PARSERS: dict[str, _Parser] = {
    ".jsonl": _parse_jsonl,
    ".ndjson": _parse_jsonl,
    ".csv": partial(_parse_table, delimiter=","),
    ".tsv": partial(_parse_table, delimiter="\t"),
    ".parquet": _parse_parquet,
    ".txt": _parse_plain,
}

KINDS = tuple(_PARSERS)
"""The suffixes that are read."""
