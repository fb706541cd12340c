"""``cospace space score`` and ``sweep``: the table, the report, what is kept, what a store may hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

QUICK = ["--folds", 2, "--scalings", "none", "--widths", 6, "--draws", 50]
SMALL = ["--methods", "gpa,gcca,ridge,raw", *QUICK]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two models with ids and groups, and one bare pair."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(120, 6))
    for name, d in (("a", 8), ("b", 9)):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0][:6]
        rows = latent @ turn + 0.3 * rng.normal(size=(120, d))
        ids = np.array([f"t{i}" for i in range(120)])
        groups = np.array(["uv"[i % 2] for i in range(120)])
        np.savez(tmp_path / f"{name}.npz", rows=rows, ids=ids, groups=groups)
        np.save(tmp_path / f"{name}.npy", rows)
    lines = [{"text": f"word{i} {'very ' * (i % 7)}word{i + 1}", "id": f"t{i}"} for i in range(120)]
    (tmp_path / "texts.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in lines))


def test_the_table_has_baselines_controls_and_small_galleries(cli, files):
    found = cli("space", "score", "a.npz", "b.npz", "--texts", "texts.jsonl", *QUICK, "--save", "r.json",
                "--report", "r.html")  # fmt: skip
    assert found.code == 0, found.err
    for name in ("shared", "gpa", "gcca", "gcpa", "least_squares", "ridge", "procrustes", "relative",
                 "raw", "random", "words", "chance"):  # fmt: skip
        assert f"\n  {name} " in found.out
    assert "new: 36 held-out queries, each text its own answer" in found.out
    assert "texts of the same group" in found.out
    assert "texts nearest in length" in found.out
    saved = json.loads(Path("r.json").read_text())
    assert saved["kind"] == "shared_score"
    assert saved["provenance"]["command"].startswith("cospace space score a.npz")
    top = next(
        s for s in saved["scores"]
        if (s["method"], s["measure"], s["sample"], s["among"]) == ("gpa", "top1", "held out", "all")
    )  # fmt: skip
    assert f"{top['value']:.3f}" in found.out
    assert cli("report", "r.json", "--out", "again.html").code == 0
    assert Path("again.html").read_text() == Path("r.html").read_text()


def test_bare_arrays_are_split_by_position(cli, files):
    by_id = cli("space", "score", "a.npz", "b.npz", *SMALL, "--json").json
    bare = cli("space", "score", "a.npy", "b.npy", *SMALL, "--json").json
    assert (bare["n"], bare["gallery"]) == (by_id["n"], by_id["gallery"]) == (84, 36)
    value = [s["value"] for s in bare["scores"] if s["method"] == "gpa" and s["measure"] == "top1"]
    assert value[0] > 0.5


def extracted(cli, models, texts, store, *words):
    found = cli("extract", *models, "--texts", texts, "--sites", "all", "--store", store, *words)
    assert found.code == 0, found.err


@pytest.fixture
def store(cli, model_folders, texts):
    """Two forms of a tiny model on 60 texts, at all sites."""
    extracted(
        cli, model_folders, texts(60, id=lambda i: f"t{i}"), "store", "--pooling", "mean,last"
    )
    return "store"


def test_a_sweep_keeps_its_steps_and_finds_them_again(cli, store, monkeypatch):
    words = ["space", "sweep", store, "--depths", "0.5,1", "--pooling", "mean,last", *SMALL,
             "--held-out", 20, "--save", "w.json"]  # fmt: skip
    first = cli(*words)
    assert first.code == 0, first.err
    assert "new: 20 queries, galleries of 20 (chance 0.050)" in first.out
    saved = json.loads(Path("w.json").read_text())
    assert [(c["pooling"], c["depth"]) for c in saved["cells"]] == [
        ("mean", 0.5),
        ("mean", 1.0),
        ("last", 0.5),
        ("last", 1.0),
    ]

    def forbidden(*args, **kwargs):
        raise AssertionError("computed again")

    monkeypatch.setattr("cospace.shared.score_shared", forbidden)
    assert cli(*words).out == first.out


def test_an_interrupted_sweep_says_where_it_goes_on(cli, store, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("cospace.shared.score_shared", stop)
    found = cli("space", "sweep", store, "--depths", "1", *SMALL)
    assert found.code == 130
    assert "the same command goes on from it" in found.err
    found = cli("space", "score", store, *SMALL)
    assert (found.code, found.out) == (130, "")
    assert "Stopped while scoring, nothing was written." in found.err


def test_constant_rows_are_refused_and_the_sweep_goes_on(cli, store, monkeypatch):
    from cospace.errors import UndefinedMeasureError
    from cospace.shared import score_shared as real

    def sometimes(fit, *args, **kwargs):
        if next(iter(fit.values())).facts["site"] == "embed":
            raise UndefinedMeasureError("All rows of first are the same.")
        return real(fit, *args, **kwargs)

    monkeypatch.setattr("cospace.shared.score_shared", sometimes)
    found = cli("space", "sweep", store, "--depths", "0,1", *SMALL)
    assert found.code == 0, found.err
    assert "! depth 0, mean: no space. All rows of first are the same." in found.out


def test_a_store_remembers_site_and_pooling_in_the_space(cli, store):
    fit = [
        "space",
        "fit",
        store,
        "--depth",
        "0.5",
        "--method",
        "gpa",
        "--scaling",
        "none",
        "--width",
        6,
    ]
    assert cli(*fit, "--models", "first,second", "--save", "s.safetensors").code == 0
    apply = ["space", "apply", "s.safetensors", store, "--model", "first", "--out", "z.npz"]
    assert cli(*apply).code == 0
    wrong = cli(*apply, "--site", "embed").mistake
    assert "Rows of first have site embed and the space was fitted on block.0" in wrong
    assert (
        "have pooling last and the space was fitted on mean"
        in cli(*apply, "--pooling", "last").mistake
    )
    assert (
        "'frist' is not a model in store"
        in cli(*fit, "--models", "frist,second", "--save", "t.safetensors").mistake
    )


def test_a_model_of_a_store_joins_at_the_depth_of_the_others(cli, store, model_folders, tmp_path):
    from safetensors.numpy import load_file, save_file

    third = tmp_path / "third"
    shutil.copytree(model_folders[0], third)
    weights = load_file(third / "model.safetensors")
    save_file(
        {k: v * 1.01 for k, v in weights.items()}, third / "model.safetensors", {"format": "pt"}
    )
    fit = ["space", "fit", store, "--depth", "0.5", "--method", "gpa", "--scaling", "none"]
    assert cli(*fit, "--width", 6, "--save", "s.safetensors").code == 0
    extracted(cli, [third], "texts.jsonl", "later")
    found = cli("space", "add", "s.safetensors", "later", "--model", "third")
    assert found.code == 0, found.err
    assert "third: read at block.0, pooled by mean" in found.err
    assert "third (added)" in found.out
    words = ["space", "apply", "s.safetensors", "later", "--model", "third", "--out", "z.npz"]
    assert cli(*words).code == 0
    with np.load("z.npz") as made:
        assert made["rows"].shape == (60, 6)


def test_paraphrases_and_other_texts_are_searched_as_well(cli, model_folders, store, tmp_path):
    extracted(cli, model_folders, "paraphrase", "para", "--truncate")
    lines = "".join(f"{json.dumps({'text': f'w{i} w{i + 2}', 'id': f'o{i}'})}\n" for i in range(30))
    (tmp_path / "other.jsonl").write_text(lines)
    extracted(cli, model_folders, "other.jsonl", "others")
    words = ["space", "score", store, *SMALL, "--paraphrases", "para", "--transfer", "others"]
    found = cli(*words, "--json").json
    assert [(s["name"], s["n"]) for s in found["sets"]] == [
        ("new", 18),
        ("paraphrase", 300),
        ("other", 30),
    ]
    assert {s["gallery"] for s in found["scores"] if s["among"] == "all"} == {18}
    assert any((s["method"], s["set"]) == ("words", "paraphrase") for s in found["scores"])
    wrong = cli("space", "score", store, *SMALL, "--paraphrases", "others").mistake
    assert "others holds no rows of all packaged paraphrases, only of other, 30 texts" in wrong


def test_a_store_of_several_texts_needs_a_name(cli, model_folders, store, tmp_path):
    (tmp_path / "more.jsonl").write_text(
        "".join(f"{json.dumps({'text': f'w{i} w{i + 3}', 'id': f'm{i}'})}\n" for i in range(40))
    )
    extracted(cli, model_folders, "more.jsonl", store)
    words = ["space", "score", store, *SMALL]
    assert "store holds rows of several texts (" in cli(*words).mistake
    assert (
        "'mor' is not a name of texts in store. Did you mean 'more'"
        in cli(*words, "--corpus", "mor").mistake
    )
    assert cli(*words, "--corpus", "more", "--json").json["n"] == 28
    again = [
        "extract",
        model_folders[0],
        "--texts",
        "more.jsonl",
        "--sites",
        "all",
        "--store",
        store,
        "--special",
    ]
    assert cli(*again).code == 0
    assert "store has two runs of first on more" in cli(*words, "--corpus", "more").mistake
