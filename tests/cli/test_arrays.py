"""``cospace compare`` on arrays: numbers that are known, and how they are shown."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from scipy.linalg import hadamard

A, C, COS = np.array([3.0, 1.0]), np.array([2.0, 1.0]), np.array([0.8, 0.6])


def closed_form(tmp_path):
    """Columns of a Hadamard matrix are centred and orthogonal: every measure is a short sum."""
    u = hadamard(16)[:, 1:5] / 4
    x = A * u[:, :2]
    y = C * (COS * u[:, :2] + np.sqrt(1 - COS**2) * u[:, 2:])
    np.save(tmp_path / "x.npy", x + 5)
    np.save(tmp_path / "y.npy", y - 2)
    return {
        ("linear_cka", "x"): np.sum((A * C * COS) ** 2) / np.sqrt(np.sum(A**4) * np.sum(C**4)),
        ("procrustes_similarity", "x"): np.sum(A * C * COS) / np.sqrt(np.sum(A**2) * np.sum(C**2)),
        ("mean_cca", "x"): np.mean(COS),
        ("r2_cca", "x"): np.mean(COS**2),
        ("predictive_r2", "x"): np.sum((C * COS) ** 2) / np.sum(C**2),
        ("predictive_r2", "y"): np.sum((A * COS) ** 2) / np.sum(A**2),
    }


def test_values_known_in_closed_form_come_out_as_json(cli, tmp_path):
    known = closed_form(tmp_path)
    names = ",".join(dict.fromkeys(name for name, _ in known))
    found = cli("compare", "x.npy", "y.npy", "--measures", names, "--json")
    records = {(r["measure"], r["source"]): r for r in found.json["records"]}
    for key, value in known.items():
        assert records[key]["value"] == pytest.approx(value, abs=1e-8)
    assert {"measure", "source", "target", "value", "null_mean", "p", "n"} <= set(records[key])
    assert {r["n"] for r in records.values()} == {16}
    assert found.err == ""


def test_independent_arrays_are_said_to_be_at_their_null(cli, arrays, tmp_path):
    arrays(n=100, d=40)
    found = cli("compare", "a.npy", "b.npy", "--report", "out.html")
    assert found.code == 0
    rows = [line for line in found.out.splitlines() if line[:1].islower() and "  " in line]
    readings = [row for row in rows if not row.startswith(("measure", "chance"))]
    assert len(readings) == 12
    assert all("at chance" in row or "within null" in row for row in readings)
    page = (tmp_path / "out.html").read_text()
    assert "not distinguishable from chance" in page
    assert found.err == "report: out.html\n"


def test_the_table_is_plain_and_keeps_to_80_columns(cli, arrays):
    arrays(d=6)
    out = cli("compare", "a.npy", "b.npy").out
    table = out.split("\n\n")[1].splitlines()
    assert table[0].split() == ["measure", "value", "chance", "p", "reading"]
    assert max(map(len, table)) <= 80
    assert out.startswith("a and b: 40 rows, widths 6 and 6\n")
    assert "procrustes_similarity " in out
    assert "mean_cca (4 PCs)" in out
    assert not any(line != line.rstrip() for line in out.splitlines())
    assert not set("│─╭┃━…\x1b") & set(out)
    ends = {line[: line.index(".") + 5] for line in table[1:]}
    assert len({len(end) for end in ends}) == 1
    assert out.splitlines()[-1].startswith("! ")


def test_each_direction_of_a_directed_measure_is_shown(cli, arrays):
    arrays()
    out = cli("compare", "a.npy", "b.npy", "--measures", "heldout_r2,linear_cka").out
    rows = [line for line in out.splitlines() if line.startswith("heldout_r2")]
    assert [row.split("null")[1].strip() for row in rows] == ["a -> b", "a <- b"]


def test_lines_wrap_on_a_terminal_alone(cli, arrays, monkeypatch):
    arrays()
    long = cli("compare", "a.npy", "b.npy").out.splitlines()
    assert max(map(len, long)) > 80
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    short = cli("compare", "a.npy", "b.npy").out.splitlines()
    assert max(map(len, short)) <= 80
    assert " ".join(" ".join(long).split()) == " ".join(" ".join(short).split())


def test_many_arrays_are_shown_by_the_main_measure(cli, tmp_path):
    rng = np.random.default_rng(0)
    for i in range(6):
        np.save(tmp_path / f"s{i}.npy", rng.normal(size=(30, 3)))
    files = [f"s{i}.npy" for i in range(6)]
    found = cli("compare", *files, "--measures", "linear_cka,debiased_cka")
    assert found.out.startswith("Debiased CKA, similarity; 30 rows\n")
    assert sum(" chance " in line for line in found.out.splitlines()) == 15 + 1
    assert "--report out.html" in found.err
    assert cli("compare", *files[:3], "--measures", "linear_cka").err == ""


def test_an_empty_cell_has_its_reason_below(cli, arrays):
    arrays(n=9, d=8)
    found = cli("compare", "a.npy", "b.npy")
    assert found.code == 0
    assert "no value [1]" in found.out
    reason = next(line for line in found.out.splitlines() if line.startswith("[1] "))
    assert "9 rows" in reason


def test_nothing_is_hidden_in_json(cli, arrays, tmp_path):
    arrays(n=9, d=8)
    found = cli("compare", "a.npy", "b.npy", "--json", "--save", "r.json")
    empty = [r for r in found.json["records"] if r["value"] is None]
    assert empty
    assert all(r["reason"] for r in empty)
    assert found.err == "saved: r.json\n"
    assert json.loads((tmp_path / "r.json").read_text()) == found.json


def test_the_recorded_command_repeats_the_comparison(cli, arrays, tmp_path):
    a, _ = arrays()
    odd = tmp_path / "it's a $(name).npy"
    a.rename(odd)
    words = ["compare", odd.name, "b.npy", "--measures", "linear_cka", "--seed", "3", "--json"]
    first = cli(*words)
    command = first.json["provenance"]["command"]
    assert shlex.split(command) == ["cospace", *words]
    assert cli(*shlex.split(command)[1:]).out == first.out


def test_a_saved_result_becomes_the_same_report(cli, arrays, tmp_path):
    arrays()
    cli("compare", "a.npy", "b.npy", "--save", "r.json", "--report", "first.html")
    found = cli("report", "r.json", "--out", "second.html")
    assert (found.code, found.out, found.err) == (0, "", "report: second.html\n")
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()


def test_a_file_that_cannot_be_written_does_not_cost_the_result(cli, arrays, monkeypatch):
    arrays()

    def fail(self, text, **options):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr("pathlib.Path.write_text", fail)
    found = cli("compare", "a.npy", "b.npy", "--measures", "linear_cka", "--save", "r.json")
    assert found.code == 2
    assert found.err == "cospace: r.json cannot be written: No space left on device.\n"
    assert "linear_cka" in found.out


def test_drift_of_arrays_in_two_files(cli, tmp_path):
    rng = np.random.default_rng(0)
    spaces = {name: rng.normal(size=(30, 3)) for name in ("one", "two")}
    ids = np.array([f"text {i}" for i in range(30)])
    np.savez(tmp_path / "old.npz", ids=ids, **spaces)
    after = {name: rows + 0.1 * rng.normal(size=rows.shape) for name, rows in spaces.items()}
    np.savez(tmp_path / "new.npz", ids=ids, **after)
    found = cli("compare", "old.npz", "new.npz", "--drift", "--k", "5", "--report", "d.html")
    assert found.code == 0, found.err
    assert found.out.startswith("old.npz -> new.npz: 30 rows\n")
    table = found.out.split("\n\n")[1].splitlines()
    assert [row.split()[0] for row in table] == ["site", "one", "two"]
    assert 0.05 < float(table[1].split()[1]) < 0.2
    assert max(map(len, table)) <= 80
    assert "Texts that moved most" in found.out
    assert "of 5 neighbours" in found.out
    assert cli("compare", "old.npz", "new.npz", "--drift", "--json").json["kind"] == "drift"


def test_shared_ids_are_kept_on_request(cli, tmp_path):
    rng = np.random.default_rng(0)
    for name, ids in (("a", range(20)), ("b", range(5, 25))):
        np.savez(tmp_path / f"{name}.npz", ids=np.array(ids), rows=rng.normal(size=(20, 3)))
    words = ("compare", "a.npz", "b.npz", "--measures", "linear_cka")
    line = cli(*words).mistake
    assert "15 of them shared" in line
    assert "--align" in line
    found = cli(*words, "--align", "--json")
    assert found.json["records"][0]["n"] == 15
    assert found.err == "aligned: 15 shared ids kept\n"
