"""The affine-homotopy study end to end on tiny models with random weights: the path, not results."""

from __future__ import annotations

import json
import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from cospace.studies.affine_homotopy.result import AffineHomotopyStudy


@pytest.fixture(scope="module")
def encoders(tmp_path_factory, model_folders):
    """Four forms of a tiny encoder, in folders that a pattern names."""
    import torch
    import transformers

    root = tmp_path_factory.mktemp("ensemble")
    for seed in range(4):
        folder = root / f"seed-{seed}"
        shutil.copytree(model_folders[0], folder)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = transformers.BertModel.from_pretrained(folder)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter += 0.05 * torch.randn_like(parameter)
            model.save_pretrained(folder)
    return root


@pytest.fixture
def study(tmp_path, encoders, monkeypatch):
    """Write a study file, its texts and its task."""
    monkeypatch.setenv("COSPACE_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(3)

    def words(count):
        return [f"w{k}" for k in rng.choice(60, count, replace=False)]

    lines = [{"text": " ".join(words(5 + i % 4))} for i in range(130)]
    (tmp_path / "texts.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in lines))
    task = []
    for i in range(120):
        chosen = [w for w in words(5) if w not in ("w1", "w2")]
        label = ("yes", "no")[i % 2]
        task.append({"text": " ".join([*chosen, "w1" if i % 2 else "w2"]), "label": label})
    (tmp_path / "task.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in task))

    def write(**changes):
        settings = {
            "encoders": [f"{encoders}/seed-*"],
            "texts": "texts.jsonl",
            "tasks": ["task.jsonl"],
            "depths": [0.5, 1.0],
            "truncations": [50, 90],
            "truncated_encoders": 2,
            "directions": 2,
            "steps": 2,
            "permutations": 99,
            "samples": 20,
        } | changes
        path = tmp_path / "study.toml"
        path.write_text("".join(f"{k} = {json.dumps(v)}\n" for k, v in settings.items()))
        return path

    return write


def test_a_study_from_its_file_to_its_report_and_once_more(cli, study, tmp_path, monkeypatch):
    first = cli("study", "affine-homotopy", study(), "--json")
    result = first.json
    assert result["kind"] == "affine-homotopy study"
    assert len(result["intrinsic"]) == 2 * 12
    assert len(result["extrinsic"]) == 12
    for pair in result["intrinsic"]:
        assert 0 < pair["lower"] <= pair["upper"] <= 1.01 * pair["lower"] + 1e-12
        assert 0 < pair["normalised"] <= 1
        assert pair["mean"] <= pair["p95"] <= pair["p99"] <= pair["upper"] + 1e-12
        assert set(pair["baselines"]) == {
            "procrustes_distance",
            "mean_cca",
            "r2_cca",
            "pwcca",
            "linear_cka",
        }
    for pair in result["extrinsic"]:
        assert pair["fixed"] <= pair["bound"] * (1 + 1e-9)
        assert pair["worst_certified"] <= pair["worst"] <= pair["bound"] * (1 + 1e-9)
        assert pair["bound"] == pytest.approx(pair["norm"] / 2 * pair["distance"])
    assert {(t["source"], t["target"]) for t in result["truncations"]} == {
        (x, y) for x in (50, 90) for y in (50, 90)
    }
    assert {link["smallest_p"] for link in result["links"]} == {1 / 24}
    assert any("24 relabellings" in warning for warning in result["warnings"])
    assert (tmp_path / "study" / "report.html").read_text().startswith("<!doctype html>")
    assert AffineHomotopyStudy.load(tmp_path / "study" / "study.json").title == result["title"]

    def stop(*args, **options):
        raise AssertionError("this was done already")

    for name in ("intrinsic.distance_between", "extrinsic.worst_case", "study.truncation_grid"):
        monkeypatch.setattr(f"cospace.studies.affine_homotopy.{name}", stop)
    again = cli("study", "affine-homotopy", study(), "--json")
    assert again.json == result
    printed = cli("study", "affine-homotopy", study())
    assert printed.code == 0
    assert "depth  pairs  median" in printed.out
    assert "cannot reach a p below 0.042" in printed.out


def test_a_saved_study_becomes_a_report_again(cli, study, tmp_path):
    assert cli("study", "affine-homotopy", study(truncated_encoders=0)).code == 0
    made = cli("report", tmp_path / "study" / "study.json", "--out", tmp_path / "again.html")
    assert made.code == 0, made.err
    assert (tmp_path / "again.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"encoders": ["minilm", "mpnet"]}, "names 2 encoders; 3 or more are needed"),
        ({"encoders": ["none/seed-*"]}, "No folder with a model in it matches 'none/seed-*'"),
        ({"extrinsic_depths": [0.25]}, "extrinsic_depths names 0.25, and depths does not"),
        ({"tasks": ["texts.jsonl"]}, "label"),
        ({"tasks": ["task.jsonl", "task.jsonl"]}, "Two tasks are called"),
        ({"texts": "wordnet-exmples"}, "Did you mean"),
        ({"gap": 5}, "gap is 5"),
        ({"gap": 1e-9}, "gap is 1e-09: input should be greater than or equal to 0.0001"),
        ({"truncations": []}, "truncations is []: name at least one share, and each once"),
        ({"truncations": [50, 50]}, "name at least one share, and each once"),
        ({"truncated_encoders": 1}, "truncated_encoders is 1: 2 or more make pairs"),
        ({"rows": 1000}, "rows is 1,000 and texts.jsonl has 130 texts: ask for fewer"),
        ({"encoders": ["minilm", "mpnet", "m7"]}, "'m7' is not a model"),
        ({"encoders": ["minilm", "mpnet", "."]}, "is no model: there is no config.json in it"),
        ({"tasks": ["plain"]}, "groups of task plain cannot be parted into folds"),
    ],
)
def test_mistakes_are_told_in_one_line_before_a_model_is_read(cli, study, changes, words):
    assert words in cli("study", "affine-homotopy", study(**changes)).mistake


def test_texts_too_few_for_the_width_are_refused(cli, study):
    result = cli("study", "affine-homotopy", study(rows=50))
    assert result.code == 2
    words = "rows is 50 and the widest encoder has 16 coordinates: 96 texts or more"
    assert words in result.err.splitlines()[-1]


def test_a_text_too_short_for_the_width_is_told_as_such(cli, study, tmp_path):
    path = study(texts="short.jsonl")
    lines = (tmp_path / "texts.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "short.jsonl").write_text("".join(lines[:40]))
    result = cli("study", "affine-homotopy", path)
    assert result.code == 2
    words = "short.jsonl has 40 texts and the widest encoder 16 coordinates: 96 texts or more"
    assert words in result.err.splitlines()[-1]


def test_rows_that_are_all_the_same_are_told_with_their_depth(cli, study):
    result = cli("study", "affine-homotopy", study(pooling="first", depths=[0.0, 1.0]))
    assert result.code == 2
    last = result.err.splitlines()[-1]
    assert "At depth 0 all rows of seed-0 pooled by 'first' are the same: leave that depth" in last


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("intrinsic", 0, "upper"), None),
        (("intrinsic", 0, "upper"), "<b>"),
        (("links", 0, "p"), "x"),
        (("title",), None),
        (("settings",), None),
        (("encoders",), []),
    ],
)
def test_a_changed_study_is_no_whole_study(saved, cli, tmp_path, where, value):
    data = json.loads(saved.read_text())
    *path, last = where
    place = data
    for key in path:
        place = place[key]
    place[last] = value
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(data))
    told = cli("report", changed, "--out", "r.html").mistake
    assert "is no whole affine-homotopy study" in told


def put(where, value):
    def change(data):
        *path, last = where
        for key in path:
            data = data[key]
        data[last] = value

    return change


def cut(table, number=0):
    return lambda data: data[table].pop(number)


def twice(table):
    return lambda data: data[table].append(data[table][0])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (put(("intrinsic", 0, "lower"), 1e6), "depth 0, seed-0 to seed-1: lower 1e+06 is above"),
        (put(("intrinsic", 0, "normalised_lower"), 2.0), "normalised_lower 2 is above normalised"),
        (put(("intrinsic", 0, "p95"), 1e6), "p95 1e+06 is above p99"),
        (put(("intrinsic", 0, "depth"), 0.3), "no encoder or probe is there for depth 0.3"),
        (put(("intrinsic", 0, "source"), "x"), "intrinsic, depth 0: x is none of seed-0, seed-1"),
        (cut("intrinsic"), "intrinsic, depth 0: seed-0 to seed-1 is missing"),
        (twice("intrinsic"), "intrinsic, depth 0: seed-0 to seed-1 is there 2 times"),
        (cut("extrinsic"), "extrinsic, sentiment, depth 1: seed-0 to seed-1 is missing"),
        (put(("extrinsic", 0, "worst_certified"), 9.0), "worst_certified 9 is above worst"),
        (put(("extrinsic", 0, "task"), "x"), "no encoder or probe is there for x, depth 1"),
        (cut("encoders"), "encoders: seed-0 at depth 0 is missing"),
        (twice("encoders"), "encoders: seed-0 at depth 0 is there 2 times"),
        (cut("tasks"), "tasks, sentiment, depth 1: seed-0 is missing"),
        (put(("tasks", 0, "encoder"), "x"), "tasks, sentiment, depth 1: x is none of"),
        (put(("links", 0, "p"), 1.5), "p is 1.5, which is no probability"),
        (put(("links", 0, "text_low"), 0.9), "text_low 0.9 is above text_high"),
        (put(("mappability", 0, "low"), 9.0), "low 9 is above median"),
        (put(("mappability", 0, "target"), "x"), "mappability, affine, depth 0: x is none of"),
        (cut("truncations", 3), "truncations: 20 % to 50 % is missing"),
        (twice("truncations"), "truncations: 20 % to 20 % is there 2 times"),
    ],
)
def test_a_study_that_contradicts_itself_is_refused(saved, cli, tmp_path, change, told):
    data = json.loads(saved.read_text())
    change(data)
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(data))
    found = cli("report", changed, "--out", "r.html").mistake
    assert "is no whole affine-homotopy study (" in found
    assert told in found


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A study as a file."""
    source = Path(__file__).parents[1] / "report" / "study_example.py"
    spec = spec_from_file_location("study_example", source)
    example = module_from_spec(spec)
    spec.loader.exec_module(example)
    path = tmp_path_factory.mktemp("saved") / "study.json"
    example.study(3).save(path)
    return path
