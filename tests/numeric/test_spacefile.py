"""Spaces read from files of arrays, and every file that is refused."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from cospace.errors import InputError
from cospace.spacefile import read_spaces, spaces_of

ROWS = np.arange(12.0).reshape(4, 3)
IDS = ("a", "b", "c", "d")


def one_line(read: Callable[[], Any]) -> str:
    with pytest.raises(InputError) as caught:
        read()
    message = str(caught.value)
    assert "\n" not in message
    return message


# what is read


def test_npy_is_one_space_without_ids(tmp_path: Path) -> None:
    np.save(tmp_path / "acts.npy", ROWS.astype(np.float32))
    (space,) = read_spaces(tmp_path / "acts.npy")
    assert (space.name, space.ids, space.groups) == ("acts", None, None)
    assert dict(space.facts) == {"file": "acts.npy"}
    assert type(space.rows) is np.ndarray
    assert space.rows.dtype == np.float32
    np.testing.assert_array_equal(space.rows, ROWS)


@pytest.mark.parametrize("dtype", ["<f2", ">f4", ">f8", "<i4", ">i8", "?", np.longdouble])
def test_npy_of_any_number_type(tmp_path: Path, dtype: Any) -> None:
    rows = (ROWS > 4).astype(dtype)
    np.save(tmp_path / "acts.npy", rows)
    (space,) = read_spaces(str(tmp_path / "acts.npy"))
    assert space.rows.dtype in (np.dtype("f4"), np.dtype("f8"))
    assert space.rows.dtype.isnative
    np.testing.assert_array_equal(space.rows, ROWS > 4)


def test_fortran_order_is_kept_as_values(tmp_path: Path) -> None:
    np.save(tmp_path / "acts.npy", np.asfortranarray(ROWS))
    np.testing.assert_array_equal(read_spaces(tmp_path / "acts.npy")[0].rows, ROWS)


def test_npz_with_one_array_is_called_by_the_stem(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.1.npz", acts=ROWS, ids=np.array(IDS), groups=np.array([1, 1, 2, 2]))
    (space,) = read_spaces(tmp_path / "run.1.npz")
    assert (space.name, space.ids, space.groups) == ("run.1", IDS, ("1", "1", "2", "2"))


def test_npz_with_several_arrays_names_each_by_its_key(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "run.npz", low=ROWS, ids=np.arange(4), high=ROWS[:, :2])
    low, high = read_spaces(tmp_path / "run.npz")
    assert (low.name, high.name) == ("run:low", "run:high")
    assert low.ids == high.ids == ("0", "1", "2", "3")
    assert dict(high.facts) == {"file": "run.npz", "key": "high"}
    np.testing.assert_array_equal(high.rows, ROWS[:, :2])


def test_npz_ids_as_bytes(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", acts=ROWS, ids=np.array(["é".encode(), b"b", b"c", b"d"]))
    assert read_spaces(tmp_path / "run.npz")[0].ids == ("é", "b", "c", "d")


def test_safetensors_with_ids_and_half_precision(tmp_path: Path) -> None:
    half = (ROWS / 7).astype(np.float16)
    save_file(
        {"x": ROWS, "y": half},
        tmp_path / "run.safetensors",
        metadata={"ids": json.dumps(list(IDS)), "groups": json.dumps([0, 0, 1, 1])},
    )
    spaces = {space.name: space for space in read_spaces(tmp_path / "run.safetensors")}
    assert set(spaces) == {"run:x", "run:y"}
    assert spaces["run:x"].ids == IDS
    assert spaces["run:x"].groups == ("0", "0", "1", "1")
    assert spaces["run:y"].rows.dtype == np.float32
    np.testing.assert_array_equal(spaces["run:y"].rows, half.astype(np.float32))


def write_bfloat16(path: Path, words: np.ndarray) -> None:
    entry = {"dtype": "BF16", "shape": list(words.shape), "data_offsets": [0, words.nbytes]}
    head = json.dumps({"x": entry}).encode()
    path.write_bytes(struct.pack("<Q", len(head)) + head + words.astype("<u2").tobytes())


def test_bfloat16_becomes_single_exactly(tmp_path: Path) -> None:
    values = np.array([[1.0, -2.5], [3.140625, 2.0**-100]], dtype=np.float32)
    write_bfloat16(tmp_path / "x.safetensors", (values.view(np.uint32) >> 16).astype(np.uint16))
    (space,) = read_spaces(tmp_path / "x.safetensors")
    assert space.rows.dtype == np.float32
    np.testing.assert_array_equal(space.rows, values)


def test_bfloat16_that_torch_wrote(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file as save_tensors

    tensor = torch.linspace(-3, 3, 12).reshape(4, 3).to(torch.bfloat16)
    save_tensors({"ids": torch.arange(4), "x": tensor}, tmp_path / "x.safetensors")
    (space,) = read_spaces(tmp_path / "x.safetensors")
    assert (space.name, space.ids) == ("x", ("0", "1", "2", "3"))
    np.testing.assert_array_equal(space.rows, tensor.float().numpy())


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float16(), 3)]
)
def test_parquet_with_one_column_of_lists(tmp_path: Path, kind: Any) -> None:
    rows = pa.array([list(row.astype(np.float16)) for row in ROWS], kind)
    table = pa.table({"id": list(IDS), "text": ["t"] * 4, "vector": rows, "group": [1, 1, 2, 2]})
    pq.write_table(table, tmp_path / "run.parquet", row_group_size=2)
    (space,) = read_spaces(tmp_path / "run.parquet")
    assert (space.name, space.ids, space.groups) == ("run", IDS, ("1", "1", "2", "2"))
    assert dict(space.facts) == {"file": "run.parquet", "unread": ("text",)}
    np.testing.assert_array_equal(space.rows, ROWS)


def test_parquet_with_several_columns_of_lists(tmp_path: Path) -> None:
    table = pa.table({"low": ROWS.tolist(), "high": (-ROWS[:, :2]).tolist()})
    pq.write_table(table, tmp_path / "run.parquet")
    low, high = read_spaces(tmp_path / "run.parquet")
    assert (low.name, high.name, low.ids) == ("run:low", "run:high", None)
    np.testing.assert_array_equal(high.rows, -ROWS[:, :2])


def test_parquet_with_a_column_a_coordinate(tmp_path: Path) -> None:
    table = pa.table({"ids": pa.array(IDS).dictionary_encode(), "z": ROWS[:, 0], "a": [1, 2, 3, 4]})
    pq.write_table(table, tmp_path / "run.parquet")
    (space,) = read_spaces(tmp_path / "run.parquet")
    assert space.ids == IDS
    np.testing.assert_array_equal(space.rows, [[0, 1], [3, 2], [6, 3], [9, 4]])


def test_suffix_in_capitals(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", ROWS)
    (tmp_path / "x.npy").rename(tmp_path / "X.NPY")
    assert read_spaces(tmp_path / "X.NPY")[0].name == "X"


# names over several files


def test_files_of_one_stem_are_told_apart(tmp_path: Path) -> None:
    files = []
    for name in ("a/x.npy", "b/x.npy", "c/y.npy", "d/a/x.npy"):
        files.append(tmp_path / name)
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        np.save(files[-1], ROWS)
    assert [s.name for s in spaces_of(files[:3])] == ["a/x", "b/x", "y"]
    assert [s.facts["file"] for s in spaces_of(files[:3])] == ["a/x.npy", "b/x.npy", "y.npy"]
    assert [s.name for s in spaces_of(files)] == [f"{tmp_path.name}/a/x", "b/x", "y", "d/a/x"]


def test_files_of_one_stem_in_one_folder_keep_their_suffix(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", ROWS)
    np.savez(tmp_path / "x.npz", p=ROWS, q=ROWS)
    spaces = spaces_of([tmp_path / "x.npy", tmp_path / "x.npz"])
    assert [space.facts["file"] for space in spaces] == ["x.npy", "x.npz", "x.npz"]
    assert [space.name for space in spaces] == ["x.npy", "x.npz:p", "x.npz:q"]


def test_a_file_given_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "x.npy", ROWS)
    monkeypatch.chdir(tmp_path)
    message = one_line(lambda: spaces_of(["x.npy", tmp_path / "x.npy"]))
    assert message == "x.npy is given twice: name every file once."


# what is refused


def test_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    assert one_line(lambda: read_spaces(path)) == (
        f"{path} cannot be read: No such file or directory."
    )


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "x.npy"
    folder.mkdir()
    assert "is a folder; a file of arrays is expected" in one_line(lambda: read_spaces(folder))


@pytest.mark.parametrize("name", ["x.csv", "x.pt", "x"])
def test_unknown_suffix(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1,2")
    message = one_line(lambda: read_spaces(tmp_path / name))
    assert f"ends in {Path(name).suffix!r}" in message
    assert ".npy, .npz, .safetensors or .parquet" in message


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors", "parquet"])
def test_empty_damaged_and_foreign_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(b"")
    assert one_line(lambda: read_spaces(path)) == f"{path} is empty; an array is expected."
    path.write_bytes(b"hello, I am a text file and nothing else\n" * 9)
    assert f"is damaged or no .{suffix} file" in one_line(lambda: read_spaces(path))


def written(path: Path) -> Path:
    rows = np.random.default_rng(0).normal(size=(200, 30))
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".npz":
        np.savez_compressed(path, x=rows)
    elif path.suffix == ".safetensors":
        save_file({"x": rows}, path)
    else:
        pq.write_table(pa.table({"x": rows.tolist()}), path)
    return path


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors", "parquet"])
@pytest.mark.parametrize("keep", [0.001, 0.1, 0.5, 0.9, 0.9999])
def test_truncated_files(tmp_path: Path, suffix: str, keep: float) -> None:
    path = written(tmp_path / f"x.{suffix}")
    data = path.read_bytes()
    path.write_bytes(data[: max(3, int(keep * len(data)))])
    assert f"is damaged or no .{suffix} file" in one_line(lambda: read_spaces(path))


def test_a_flipped_byte_inside_an_archive(tmp_path: Path) -> None:
    path = written(tmp_path / "x.npz")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(bytes(data))
    assert "is damaged or no .npz file" in one_line(lambda: read_spaces(path))


def test_a_head_that_claims_more_than_there_is(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)}
        )
        stream.write(bytes(64))
    assert "is damaged or no .npy file" in one_line(lambda: read_spaces(path))


def test_an_archive_member_that_is_no_array(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("notes.txt", "hello")
    assert "array 'notes.txt'" in one_line(lambda: read_spaces(tmp_path / "x.npz"))


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[1, "a"]], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=ROWS, ids=np.array(IDS, dtype=object))
    for path in (tmp_path / "x.npy", tmp_path / "x.npz"):
        message = one_line(lambda path=path: read_spaces(path))
        assert "holds Python objects" in message
        assert "never unpickled" in message


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), ()])
def test_arrays_of_another_shape(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.ones(shape)
    np.save(tmp_path / "x.npy", array)
    message = one_line(lambda: read_spaces(tmp_path / "x.npy"))
    assert f"an array of shape {shape}; (rows, width) is expected" in message
    np.savez(tmp_path / "x.npz", x=ROWS, y=array)
    assert f"array 'y' of shape {shape}" in one_line(lambda: read_spaces(tmp_path / "x.npz"))
    save_file({"x": ROWS, "y": array}, tmp_path / "x.safetensors")
    message = one_line(lambda: read_spaces(tmp_path / "x.safetensors"))
    assert f"array 'y' of shape {shape}" in message


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (3, 0)])
def test_arrays_of_too_few_rows_or_columns(tmp_path: Path, shape: tuple[int, int]) -> None:
    np.save(tmp_path / "x.npy", np.ones(shape))
    message = one_line(lambda: read_spaces(tmp_path / "x.npy"))
    assert f"x has {shape[0]} rows of width {shape[1]}" in message


def test_no_rows_in_a_table(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([], pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "x.parquet")
    assert "x has 0 rows" in one_line(lambda: read_spaces(tmp_path / "x.parquet"))


def test_nan_names_the_space_and_the_row(tmp_path: Path) -> None:
    rows = ROWS.copy()
    rows[2, 1] = np.nan
    np.savez(tmp_path / "x.npz", good=ROWS, bad=rows)
    message = one_line(lambda: read_spaces(tmp_path / "x.npz"))
    assert "x:bad has NaN or infinite entries in 1 of 4 rows (first: row 2, column 1)" in message


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (ROWS + 1j, "x is complex"),
        (np.full((3, 2), "a"), "numbers are expected"),
        (np.zeros((3, 2), "M8[s]"), "numbers are expected"),
        (np.zeros((3, 2), [("a", "f4")]), "numbers are expected"),
    ],
)
def test_arrays_of_no_numbers(tmp_path: Path, array: np.ndarray, expected: str) -> None:
    np.save(tmp_path / "x.npy", array)
    assert expected in one_line(lambda: read_spaces(tmp_path / "x.npy"))


def test_archive_without_a_table(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", ids=np.array(IDS))
    assert "has no 2-D array, only ids" in one_line(lambda: read_spaces(tmp_path / "x.npz"))
    np.savez(tmp_path / "y.npz")
    assert "has no 2-D array, only nothing" in one_line(lambda: read_spaces(tmp_path / "y.npz"))
    pq.write_table(pa.table({"id": list(IDS)}), tmp_path / "x.parquet")
    assert "has no 2-D array" in one_line(lambda: read_spaces(tmp_path / "x.parquet"))


@pytest.mark.parametrize("column", ["ids", "groups"])
def test_columns_of_another_length(tmp_path: Path, column: str) -> None:
    np.savez(tmp_path / "x.npz", x=ROWS, **{column: np.array(["a", "b"])})
    message = one_line(lambda: read_spaces(tmp_path / "x.npz"))
    assert message.endswith(f"x.npz has 4 rows and 2 {column}; one is expected a row.")


def test_tables_of_unequal_length_beside_ids(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=ROWS, y=ROWS[:3], ids=np.array(IDS))
    assert "x:y has 3 rows but 4 ids" in one_line(lambda: read_spaces(tmp_path / "x.npz"))


def test_ids_that_repeat(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=ROWS, ids=np.array(["a", "b", "a", "a"]))
    message = one_line(lambda: read_spaces(tmp_path / "x.npz"))
    assert message.endswith("x.npz has the id 'a' 3 times: an id names one row.")


def test_ids_of_another_type(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=ROWS, ids=np.arange(4.0))
    assert "ids of type float64; strings or whole" in one_line(
        lambda: read_spaces(tmp_path / "x.npz")
    )
    pq.write_table(pa.table({"id": np.arange(4.0), "x": ROWS.tolist()}), tmp_path / "x.parquet")
    assert "id of type double; strings or whole" in one_line(
        lambda: read_spaces(tmp_path / "x.parquet")
    )


def test_ids_that_are_there_twice(tmp_path: Path) -> None:
    save_file(
        {"x": ROWS, "ids": np.arange(4)}, tmp_path / "x.safetensors", metadata={"ids": "[1,2,3,4]"}
    )
    assert "has ids twice" in one_line(lambda: read_spaces(tmp_path / "x.safetensors"))
    table = pa.table({"id": list(IDS), "ids": list(IDS), "x": ROWS.tolist()})
    pq.write_table(table, tmp_path / "x.parquet")
    assert "has ids twice" in one_line(lambda: read_spaces(tmp_path / "x.parquet"))


@pytest.mark.parametrize("text", ["a,b,c,d", '{"a": 1}', "[1.5, 2, 3, 4]", "[true, 2, 3, 4]"])
def test_metadata_ids_that_are_no_list(tmp_path: Path, text: str) -> None:
    save_file({"x": ROWS}, tmp_path / "x.safetensors", metadata={"ids": text})
    message = one_line(lambda: read_spaces(tmp_path / "x.safetensors"))
    assert "no JSON list of strings or whole numbers: write json.dumps(ids)." in message


def test_safetensors_of_unknown_numbers(tmp_path: Path) -> None:
    entry = {"dtype": "F8_E4M3", "shape": [2, 2], "data_offsets": [0, 4]}
    head = json.dumps({"x": entry}).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(head)) + head + bytes(4))
    assert "holds F8_E4M3 numbers in 'x'" in one_line(lambda: read_spaces(path))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"x": [[1.0, 2.0], [3.0]]}, "unequal lengths in 'x': row 1 has 1 numbers, row 0 has 2."),
        ({"x": [[1.0, 2.0], None]}, "has 1 rows without a list in 'x'"),
        ({"x": [[1.0, 2.0], [1.0, None]]}, "lacks 1 numbers in 'x'"),
        ({"x": [["a"], ["b"]]}, "has lists of string in 'x'; lists of numbers are expected."),
        ({"x": [[[1.0]], [[2.0]]]}, "has lists of list<"),
        ({"x": [1.0, None]}, "lacks 1 numbers in 'x'"),
        ({"x": [1.0, 2.0], "text": ["a", "b"]}, "columns that hold no numbers (text): take them"),
        ({"x": [1.0, 2.0], "__index_level_0__": [0, 1]}, "holds the index of a data frame"),
        ({"x": [[1.0], [2.0]], "id": ["a", None]}, "has 1 rows without id"),
        ({f"t{i}": ["a", "b"] for i in range(7)}, "(t0, t1, t2, t3, t4 and 2 more)"),
    ],
)
def test_tables_that_hold_no_rows(tmp_path: Path, columns: dict[str, Any], expected: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    assert expected in one_line(lambda: read_spaces(tmp_path / "x.parquet"))
