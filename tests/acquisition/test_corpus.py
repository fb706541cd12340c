"""Texts with identity: what is read, what is refused, and in which words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cospace.corpus import PACKAGED, Corpus
from cospace.errors import InputError, UnknownNameError

RECORDS = [
    {"id": "a", "text": "One, two.", "group": "g1", "label": "x", "pair": "p"},
    {"id": "b", "text": 'She said "no".', "group": "g1", "label": "y", "pair": "q"},
    {"id": "c", "text": "Grüße \u2028 aus Köln", "group": "g2", "label": "x", "pair": "p"},
    {"id": "d", "text": "  kept as it is ", "group": "g2", "label": "y", "pair": "q"},
]
WHOLE = Corpus(
    "texts",
    ids=("a", "b", "c", "d"),
    texts=tuple(record["text"] for record in RECORDS),
    groups=("g1", "g1", "g2", "g2"),
    labels=("x", "y", "x", "y"),
    pairs=("p", "q", "p", "q"),
)


def delimited(separator: str) -> bytes:
    rows = [list(RECORDS[0]), *(list(record.values()) for record in RECORDS)]
    quoted = [separator.join('"' + v.replace('"', '""') + '"' for v in row) for row in rows]
    return "\r\n".join([*quoted, "", ""]).encode()


def parquet(table: dict[str, object] | pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), sink)
    return sink.getvalue().to_pybytes()


def lines(*values: object) -> bytes:
    return "\n".join(json.dumps(v, ensure_ascii=False) for v in values).encode()


@pytest.fixture
def read(tmp_path):
    def write_and_read(suffix: str, data: bytes, **columns: str) -> Corpus:
        path = tmp_path / f"texts{suffix}"
        path.write_bytes(data)
        return Corpus.read(path, **columns)

    return write_and_read


@pytest.fixture
def refused(read, tmp_path):
    def message(suffix: str, data: bytes, **columns: str) -> str:
        with pytest.raises(InputError) as caught:
            read(suffix, data, **columns)
        found = str(caught.value)
        assert "\n" not in found
        return found.replace(f"{tmp_path}/", "")

    return message


@pytest.mark.parametrize(
    ("suffix", "data"),
    [
        (".jsonl", lines(*RECORDS)),
        (".ndjson", b"\xef\xbb\xbf" + lines(*RECORDS) + b"\r\n\r\n \n"),
        (".JSONL", lines(*RECORDS).replace(b"\n", b"\r\n")),
        (".csv", delimited(",")),
        (".tsv", delimited("\t")),
        (".parquet", parquet({k: [r[k] for r in RECORDS] for k in RECORDS[0]})),
    ],
)
def test_every_kind_of_file_gives_the_same_corpus(read, suffix, data):
    corpus = read(suffix, data)
    assert corpus == WHOLE
    assert corpus.fingerprint == WHOLE.fingerprint


def test_plain_lines_and_json_strings_get_ids_from_their_texts(read):
    texts = ("first line", "second", "first line")
    plain = read(".txt", "\n".join([*texts, "", ""]).encode())
    assert plain.texts == texts
    assert plain.ids == Corpus.of(texts).ids
    assert plain.ids[2] == f"{plain.ids[0]}-2"
    assert read(".jsonl", lines(*texts)).ids == plain.ids
    assert read(".jsonl", lines({"text": "second"}, "first line")).ids == plain.ids[1::-1]
    assert (plain.groups, plain.labels, plain.pairs) == (None, None, None)


def test_other_columns_can_be_named(read):
    data = b"sentence,topic,text\nGood day.,t1,ignored\nGood night.,t2,ignored\n"
    corpus = read(".csv", data, text="sentence", group="topic", name="greetings")
    assert corpus.name == "greetings"
    assert corpus.texts == ("Good day.", "Good night.")
    assert corpus.groups == ("t1", "t2")


def test_numbers_and_truth_values_are_names_as_they_are_written(read):
    data = b'{"text": "x", "id": 1.10, "label": true}\n{"text": "y", "id": 12, "label": false}'
    corpus = read(".jsonl", data)
    assert corpus.ids == ("1.10", "12")
    assert corpus.labels == ("true", "false")
    data = parquet({"text": ["x", "y"], "id": [7, 8], "group": [0.5, 1.5], "label": [True, False]})
    corpus = read(".parquet", data)
    assert (corpus.ids, corpus.groups) == (("7", "8"), ("0.5", "1.5"))
    assert corpus.labels == ("true", "false")


def test_parquet_may_hold_dictionaries_and_columns_that_are_not_asked_for(read):
    table = pa.table(
        {
            "text": pa.array(["x", "y", "x"]).dictionary_encode(),
            "vector": [[1.0], [2.0], [3.0]],
            "when": pa.array([1, 2, 3], pa.timestamp("ns")),
        }
    )
    assert read(".parquet", parquet(table)).texts == ("x", "y", "x")


def test_a_column_that_is_empty_everywhere_is_absent(read):
    assert read(".csv", b"text,group\nx,\ny,\n").groups is None
    assert read(".jsonl", lines({"text": "x", "id": None})).ids == Corpus.of(["x"]).ids


BROKEN = {
    "empty": (".jsonl", b"", "texts.jsonl holds no texts."),
    "only a header": (".csv", b"text,id\n", "texts.csv holds no texts."),
    "no bytes of a table": (".csv", b"", "texts.csv holds no texts."),
    "no rows": (".parquet", parquet({"text": pa.array([], pa.string())}), "holds no texts."),
    "blank line": (".txt", b"a\n \nb\n", "line 2 is blank, expected a text: remove the line."),
    "blank JSON line": (".jsonl", b'"a"\n\n"b"', "line 2 is blank, expected a text: remove"),
    "blank row": (".csv", b"text\na\n\nb\n", "line 3 is blank, expected a row: remove the line."),
    "semicolons": (".csv", b"id;text\n1;a\n", "line 1 seems to be separated by ';', expected ','"),
    "quoted semicolons": (
        ".csv",
        b'"id";"text"\n"1";"a, b"\n',
        "line 1 seems to be separated by ';'",
    ),
    "tabs": (
        ".csv",
        b"\nid\ttext\n",
        "line 2 seems to be separated by tabs, expected ',': save it",
    ),
    "commas": (".tsv", b"id,text\n1,a\n", "seems to be separated by ',', expected tabs: save it"),
    "blank text": (
        ".jsonl",
        lines("a", {"text": " \t"}),
        "line 2: the text is blank, expected some text.",
    ),
    "blank cell": (
        ".csv",
        b"id,text\n1,a\n2,\n",
        "line 3: the text is blank, expected some text.",
    ),
    "not JSON": (
        ".jsonl",
        b'"a"\n{"text": b}',
        "line 2 is not JSON (Expecting value at column 10), expected one JSON object.",
    ),
    "NaN": (".jsonl", b'{"text": "a", "id": NaN}', "line 1 is not JSON (NaN is no JSON value)"),
    "key twice": (
        ".jsonl",
        b'{"text": "a", "text": "b"}',
        "line 1 is not JSON ('text' is given twice)",
    ),
    "too deep": (".jsonl", b"[" * 200_000, "line 1 is not JSON ("),
    "neither": (".jsonl", b"[1]", "line 1 is neither a JSON object nor a JSON string: [1]"),
    "a number": (".jsonl", b"17", "line 1 is neither a JSON object nor a JSON string: 17"),
    "no text": (
        ".jsonl",
        lines({"text": "a"}, {"sentence": "b", "id": "1"}),
        "line 2 has no 'text', only 'sentence', 'id': every text needs one.",
    ),
    "text a number": (
        ".jsonl",
        lines({"text": 5}),
        "line 1: the text is a number, expected a string.",
    ),
    "text null": (
        ".parquet",
        parquet({"text": ["a", None]}),
        "row 2: the text is a null, expected a string.",
    ),
    "text a list": (
        ".parquet",
        parquet({"text": [["a"], ["b"]]}),
        "row 1: the text is a list<element: string>, expected a string.",
    ),
    "no such column": (
        ".csv",
        b"id,sentence\n1,a\n",
        "has no column 'text', only 'id', 'sentence': name it with text=.",
    ),
    "no such Parquet column": (
        ".parquet",
        parquet({"sentence": ["a"], "id": [1]}),
        "has no column 'text', only 'sentence', 'id': name it with text=.",
    ),
    "column twice": (".csv", b"text,text\na,b\n", "line 1 has 2 columns 'text', expected one."),
    "too many cells": (
        ".csv",
        b"id,text\n1,a\n2,b, c\n",
        "line 3 has 3 cells where the header has 2: "
        "put texts that hold the separator in double quotes.",
    ),
    "open quote": (
        ".csv",
        b'text\na\n"b\nc\n',
        "line 3 is not a row of a table (unexpected end of data): mend its quotes.",
    ),
    "Latin-1": (
        ".txt",
        "a\nb\ncafé".encode("latin-1"),
        "line 3 is not UTF-8 (byte 0xe9): save the file as UTF-8.",
    ),
    "UTF-16": (".csv", "text\na".encode("utf-16"), "is UTF-16, expected UTF-8: save it as UTF-8."),
    "binary": (".txt", b"a\nb\0c", "line 2 holds a NUL byte, expected text: is it a binary file?"),
    "half a surrogate pair": (
        ".jsonl",
        b'"a"\n"b\\ud800"',
        "line 2: the text holds a NUL or half a surrogate pair, expected plain Unicode.",
    ),
    "an escaped NUL": (".jsonl", b'"b\\u0000"', "line 1: the text holds a NUL or half a surrogate"),
    "not Parquet": (".parquet", b"text\na\n", "cannot be read as Parquet: "),
    "ids twice": (
        ".csv",
        b"id,text\n1,a\n2,b\n1,c\n2,b\n1,d\n",
        "texts.csv gives ids twice: '1' (line 2 and line 4 and line 6); "
        "'2' (line 3 and line 5). Every text needs its own id.",
    ),
    "many ids twice": (
        ".csv",
        b"id,text\n" + b"".join(f"{i % 5},a\n".encode() for i in range(20)),
        "'2' (line 4 and line 9 and line 14, ...); and 2 more. Every text needs its own id.",
    ),
    "groups in part": (
        ".jsonl",
        lines({"text": "a", "group": "g"}, {"text": "b", "group": ""}, "c"),
        "line 2 has no 'group', as 2 of 3 texts: give every text its group, or none.",
    ),
    "labels in part": (
        ".parquet",
        parquet({"text": ["a", "b"], "label": [0.5, float("nan")]}),
        "row 2 has no 'label', as 1 of 2 texts: give every text its label, or none.",
    ),
    "a list as label": (
        ".jsonl",
        lines({"text": "a", "label": ["x"]}),
        "line 1: the label is a list, expected a string or number.",
    ),
    "a time as id": (
        ".parquet",
        parquet({"text": ["a"], "id": pa.array([1], pa.timestamp("ns"))}),
        "row 1: the id is a timestamp[ns], expected a string or number.",
    ),
    "an odd pair": (
        ".csv",
        b"text,pair\na,p\nb,q\nc,p\n",
        "line 3: the pair 'q' has 1 text, expected 2.",
    ),
    "a pair of three": (
        ".csv",
        b"text,pair\na,p\nb,p\nc,p\n",
        "line 2: the pair 'p' has 3 texts, expected 2.",
    ),
    "kind of file": (
        ".json",
        b"[]",
        "has the suffix '.json', expected one of .jsonl, .ndjson, .csv, .tsv, .parquet, .txt: "
        "convert it.",
    ),
    "no suffix": ("", b"a", "has no suffix, expected one of .jsonl"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_faulty_file_is_refused_in_one_clear_line(refused, fault):
    suffix, data, message = BROKEN[fault]
    found = refused(suffix, data)
    assert found.startswith("texts")
    assert message in found


def test_a_column_that_was_asked_for_must_be_there(refused):
    data = b"text,id\na,1\n"
    assert "has no column 'topic', only 'text', 'id': name it with group=." in refused(
        ".csv", data, group="topic"
    )
    empty = refused(".csv", b"text,group\na,\nb,\n", group="group")
    assert "line 2 has no 'group', as 2 of 2 texts" in empty


def test_a_long_cell_is_refused(refused):
    found = refused(".csv", b"text\n" + b"x" * 200_000)
    assert "line 2 is not a row of a table (field larger than field limit" in found


def test_what_is_neither_a_file_nor_a_packaged_corpus(tmp_path):
    with pytest.raises(InputError) as caught:
        Corpus.read("plane")
    assert str(caught.value) == (
        f"'plane' is neither a file nor a packaged corpus ({', '.join(PACKAGED)}): give the path "
        "of a file of texts (.jsonl, .ndjson, .csv, .tsv, .parquet, .txt)."
    )
    with pytest.raises(InputError, match=r"is a folder, expected a file of texts \(\.jsonl, "):
        Corpus.read(tmp_path)


def test_a_file_that_the_system_refuses(tmp_path, monkeypatch):
    path = tmp_path / "texts.txt"
    path.write_text("a")

    def deny(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", deny)
    with pytest.raises(InputError, match=r"texts\.txt cannot be read: Permission denied\.$"):
        Corpus.read(path)


def test_a_packaged_set_is_read_by_its_name(tmp_path, monkeypatch):
    assert Corpus.read("plain") == Corpus.packaged("plain")
    with pytest.raises(UnknownNameError) as caught:
        Corpus.packaged("sentimant")
    assert str(caught.value) == "'sentimant' is not a packaged corpus. Did you mean 'sentiment'?"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_text("a file of that name")
    assert len(Corpus.read("plain")) == 480
    with pytest.raises(InputError, match="plain has no suffix"):
        Corpus.read(Path("plain"))


def test_a_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "own.txt").write_text("a\n")
    assert Corpus.read("~/own.txt").name == "own"


def test_take_by_id_and_by_position():
    taken = WHOLE.take(["d", "a"])
    assert (taken.ids, taken.groups, taken.labels) == (("d", "a"), ("g2", "g1"), ("y", "x"))
    assert WHOLE.take([3, 0]) == WHOLE.take(np.array([-1, 0])) == taken
    assert len(WHOLE.take(range(2))) == 2
    assert Corpus.of(["x", "y"]).take([1]).texts == ("y",)


@pytest.mark.parametrize(
    ("which", "error", "message"),
    [
        ("abc", InputError, "take() got one string, 'abc': give a list of ids or positions."),
        ([], InputError, "No text of corpus 'texts' was asked for: name at least one."),
        (["a", "a"], InputError, "Text 'a' was asked for 2 times; ask once."),
        ([0, -4], InputError, "Text 'a' was asked for 2 times; ask once."),
        ([4], InputError, "Corpus 'texts' has 4 texts, none at 4."),
        ([-5], InputError, "Corpus 'texts' has 4 texts, none at -5."),
        ([0.0], InputError, "take() got 0.0: give ids or positions."),
        ([True], InputError, "take() got truth values: give the positions, np.flatnonzero(mask)."),
        (
            np.array([True, False, True, False]),
            InputError,
            "take() got truth values: give the positions, np.flatnonzero(mask).",
        ),
        (
            ["z"],
            UnknownNameError,
            "No text of corpus 'texts' has the id 'z'; its first id is 'a'.",
        ),
    ],
)
def test_take_refuses(which, error, message):
    with pytest.raises(error) as caught:
        WHOLE.take(which)
    assert str(caught.value) == message


def test_fingerprint_follows_ids_texts_and_order_alone():
    one = Corpus("c", ids=("a", "b"), texts=("x", "y"))
    assert re.fullmatch("[0-9a-f]{64}", one.fingerprint)
    assert Corpus("other", one.ids, one.texts, groups=("g", "h")).fingerprint == one.fingerprint
    others = {
        Corpus("c", ids, texts).fingerprint
        for ids, texts in [
            (("b", "a"), ("y", "x")),
            (("a", "b"), ("x", "z")),
            (("a", "d"), ("x", "y")),
            (("ax", "b"), ("y", "x")),
            (("a", "xb"), ("y", "y")),
        ]
    }
    assert len(others) == 5
    assert one.fingerprint not in others


def test_fingerprint_does_not_change_between_versions():
    assert Corpus("c", ("a",), ("é",)).fingerprint == (
        "dbe152f80bbb24538dd5e55a5f57b37ec95331fbc7154a5907f5f396d915ed1d"
    )


def test_duplicates_are_reported_and_kept(read):
    corpus = read(".csv", b"id,text\n1,a\n2,b\n3,a\n4,b\n5,c\n6,a\n")
    assert len(corpus) == 6
    assert corpus.duplicates() == (("1", "3", "6"), ("2", "4"))
    assert WHOLE.duplicates() == ()


def test_a_corpus_is_a_value():
    listed = Corpus("texts", *(list(c) for c in (WHOLE.ids, WHOLE.texts)))
    assert listed == Corpus("texts", WHOLE.ids, WHOLE.texts)
    assert hash(listed) == hash(Corpus("texts", WHOLE.ids, WHOLE.texts))
    with pytest.raises(AttributeError):
        listed.name = "other"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"ids": (), "texts": ()}, "corpus 'c' holds no texts."),
        ({"ids": "ab", "texts": ("x", "y")}, "The ids of corpus 'c' are one string, expected one"),
        ({"ids": ("a",), "texts": ("x", "y")}, "corpus 'c' has 1 ids and 2 texts, expected as"),
        (
            {"ids": ("a", "b"), "texts": ("x", "y"), "pairs": ("p",)},
            "corpus 'c' has 1 pairs and 2 texts, expected as many.",
        ),
        ({"ids": ("a", "a"), "texts": ("x", "y")}, "gives ids twice: 'a' (text 1 and text 2)."),
        ({"ids": ("a",), "texts": (" ",)}, "corpus 'c', text 1: the text is blank, expected"),
        ({"ids": (3,), "texts": ("x",)}, "corpus 'c', text 1: the id is a number, expected a"),
        (
            {"ids": ("a",), "texts": ("x",), "labels": ("",)},
            "corpus 'c', text 1: the label is blank, expected some text.",
        ),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, message):
    with pytest.raises(InputError) as caught:
        Corpus("c", **columns)
    assert message in str(caught.value)


def test_bare_texts_are_a_list_of_strings():
    with pytest.raises(InputError, match=r"Corpus\.of\(\) got one string, 'abc': give a list"):
        Corpus.of("abc")
    with pytest.raises(InputError, match="text 2: the text is a number, expected a string"):
        Corpus.of(["a", 2])


def test_reading_needs_neither_pandas_nor_pyarrow_at_import():
    code = (
        "import sys, cospace.corpus as c; c.Corpus.packaged('plain'); "
        "sys.exit(bool({'pandas', 'pyarrow', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
