"""Two dictionary files, made by hand and spoiled."""

from __future__ import annotations

import gzip
import sqlite3

import pytest

from cospace.corpora.dictionary import read_entries, read_gloss_lines
from cospace.errors import InputError


def test_lines_of_definitions(tmp_path):
    path = tmp_path / "g.gz"
    path.write_bytes(gzip.compress(b"soup\tliquid food | trouble\nhot\thaving heat\n"))
    assert list(read_gloss_lines(path)) == ["liquid food", "trouble", "having heat"]


@pytest.mark.parametrize("line", ["no tab", "word\t ", "\tno word"])
def test_a_line_of_another_form(tmp_path, line):
    path = tmp_path / "g.gz"
    path.write_bytes(gzip.compress(f"soup\tfood\n{line}\n".encode()))
    with pytest.raises(InputError, match=r"g.gz, line 2 is .*, expected a word, a tab and defin"):
        list(read_gloss_lines(path))


@pytest.mark.parametrize(
    "data", [b"plain", gzip.compress(b"soup\tfood")[:-9], gzip.compress(b"caf\xe9\tx"), None]
)
def test_a_file_that_is_not_gzip_or_not_utf8_or_not_there(tmp_path, data):
    path = tmp_path / "g.gz"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=r"g.gz cannot be read \(.*\), expected lines of UTF-8 in"):
        list(read_gloss_lines(path))


def test_entries_of_a_dictionary(tmp_path):
    path = tmp_path / "dictionary.db"
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE entries (word, wordtype, definition)")
        base.executemany(
            "INSERT INTO entries VALUES (?, ?, ?)",
            [
                ("soup", "n.", "Liquid\n   food."),
                ("sup", "v. t.", "To take in."),
                ("hot", "a. & n.", "Having heat."),
                ("hotly", "adv.", "In heat."),
                ("oh", None, "A word."),
                ("empty", "n.", None),
            ],
        )
    base.close()
    assert list(read_entries(path)) == [
        ("noun", "Liquid\n   food."),
        ("verb", "To take in."),
        ("adjective", "Having heat."),
        ("adverb", "In heat."),
        ("other", "A word."),
    ]


def test_a_database_without_the_table_or_no_database(tmp_path):
    path = tmp_path / "dictionary.db"
    expected = (
        r"dictionary.db cannot be read \({}.*\), expected an SQLite file with a table 'entries'"
    )
    with pytest.raises(InputError, match=expected.format("there is no such file")):
        list(read_entries(path))
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE other (word)")
    base.close()
    with pytest.raises(InputError, match=expected.format("no such table: entries")):
        list(read_entries(path))
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(InputError, match=expected.format("file is not a database")):
        list(read_entries(path))
