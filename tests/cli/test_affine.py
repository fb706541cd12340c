"""``cospace affine``: from files, stores and models to an interval; mistakes in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cospace.homotopy import AffineDistance, affine_distance
from cospace.space import Space


def test_two_files_give_the_interval_of_the_library(cli, arrays):
    a, b = arrays()
    found = cli("affine", a, b, "--json").json
    by_hand = affine_distance(
        target=Space(np.load(a), name="a"), source=Space(np.load(b), name="b")
    )
    assert found["kind"] == "affine_distance"
    assert (found["lower"], found["upper"]) == (by_hand.lower, by_hand.upper)
    assert (found["target"], found["source"]) == ("a", "b")
    assert found["provenance"]["command"].startswith("cospace affine ")
    assert "map" not in found


def test_the_first_is_the_target(cli, tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 4))
    np.save(tmp_path / "full.npy", x)
    np.save(tmp_path / "flat.npy", x[:, :2])
    assert cli("affine", "flat.npy", "full.npy", "--json").json["normalised"]["upper"] < 1e-10
    assert cli("affine", "full.npy", "flat.npy", "--json").json["normalised"]["lower"] > 0.3


def test_the_text_says_what_was_found(cli, arrays):
    arrays()
    found = cli("affine", "a.npy", "b.npy")
    assert found.code == 0
    assert found.err == ""
    lines = found.out.splitlines()
    assert lines[0] == "b → a, affine maps; 40 rows"
    assert lines[2].startswith("largest row error of the best map: ")
    assert any(line.startswith("divided by the target's radius (") for line in lines)
    assert any(line.split()[:3] == ["held", "out", "8"] for line in lines)
    assert any(line.startswith("rows that attain it: ") for line in lines)
    assert "! Rows are matched by position" in found.out
    assert "rank: source 4, target 4" in lines


def test_a_constant_source_gives_the_radius_and_says_so(cli, tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 4))
    np.save(tmp_path / "y.npy", x)
    np.save(tmp_path / "const.npy", np.full((60, 3), 0.1))
    found = cli("affine", "y.npy", "const.npy")
    assert found.code == 0
    assert "! All rows of const are the same: it tells nothing of the target" in found.out
    assert ": 1.0000 to 1.0000" in found.out
    refused = cli("affine", "const.npy", "y.npy")
    assert refused.code == 2
    assert "All 60 rows of const are the same: as a target it has no radius" in refused.err


def test_options_reach_the_library(cli, arrays):
    arrays()
    words = "affine a.npy b.npy --group low_rank --rank 2 --gap 0.05 --held-out 0 --seed 3 --json"
    found = cli(*words.split()).json
    assert (found["group"], found["gap"], found["held_out"]) == ("low_rank", 0.05, None)
    assert found["settings"]["rank"] == 2
    assert found["settings"]["seed"] == 3
    few = cli("affine", "a.npy", "b.npy", "--reduced", 2, "--json").json
    assert few["rank_source"] == 2


def test_the_map_is_saved(cli, arrays):
    a, b = arrays()
    found = cli("affine", a, b, "--save", "d.json")
    assert found.err == "saved: d.json\n"
    saved = AffineDistance.load("d.json")
    errors = np.linalg.norm(np.load(a) - saved.points(np.load(b)), axis=1)
    assert errors.max() == pytest.approx(saved.upper, rel=1e-9)


def test_the_published_recipe(cli, arrays):
    arrays()
    found = cli("affine", "a.npy", "b.npy", "--legacy")
    assert found.code == 0
    assert found.out.startswith("b → a, the published recipe; 40 rows\n")
    assert "It bounds nothing" in found.out
    data = cli("affine", "a.npy", "b.npy", "--legacy", "--json").json
    assert data["kind"] == "legacy_distance"
    assert data["settings"]["seed"] == 42


def test_files_with_ids_are_matched_and_aligned(cli, tmp_path):
    rng = np.random.default_rng(0)
    ids = np.array([f"t{i}" for i in range(50)])
    np.savez(tmp_path / "a.npz", rows=rng.normal(size=(50, 3)), ids=ids)
    np.savez(tmp_path / "b.npz", rows=rng.normal(size=(49, 3)), ids=ids[1:])
    assert "50 ids and" in cli("affine", "a.npz", "b.npz").mistake
    found = cli("affine", "a.npz", "b.npz", "--align")
    assert found.code == 0
    assert found.err == "aligned: 49 shared ids kept\n"
    assert "49 rows" in found.out


def test_models_are_read_at_their_last_site(cli, model_folders, texts, tmp_path):
    words = texts(n=120)
    first, second = model_folders
    options = ("--texts", words, "--store", tmp_path / "store")
    found = cli("affine", first, second, *options, "--json").json
    assert found["target"].startswith("first:")
    assert found["source"].startswith("second:")
    assert found["settings"]["matched_by"] == "ids"
    shown = cli("affine", first, second, *options)
    assert found["worst_ids"][0] + ": w" in shown.out


def test_control_characters_of_the_texts_that_decide_are_shown(cli, model_folders, tmp_path):
    path = tmp_path / "t.jsonl"
    lines = [
        {"id": f"i{k}", "text": f"w{k % 40} w{(3 * k) % 50} \x1b[2Jw{(7 * k) % 60}"}
        for k in range(120)
    ]
    path.write_text("".join(f"{json.dumps(x)}\n" for x in lines))
    found = cli("affine", *model_folders[:2], "--texts", path)
    assert found.code == 0, found.err
    assert r"\x1b[2Jw" in found.out
    assert "\x1b" not in found.out


def test_two_sites_of_a_store(cli, model_folders, texts, tmp_path):
    words, folder = texts(n=120), tmp_path / "store"
    assert cli("extract", model_folders[0], "--texts", words, "--store", folder).code == 0
    mistake = cli("affine", folder).mistake
    assert "spaces were read (first:embed, " in mistake
    assert mistake.endswith("name two of them with --target and --source.")
    words = ("--target", "first:block.1", "--source", "first:embed")
    found = cli("affine", folder, *words, "--json").json
    assert (found["target"], found["source"]) == ("first:block.1", "first:embed")
    near = cli("affine", folder, "--target", "first:blok.1", "--source", "first:embed").mistake
    assert near.startswith("'first:blok.1' is not a space among those read. Did you mean")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("affine", "Missing argument 'TARGET SOURCE'"),
        ("affine a.npy", "1 spaces were read (a): name two of them"),
        ("affine a.npy b.npy c.npy", "A distance is between two spaces, and 3 inputs were given"),
        ("affine a.npy b.npy --group orthogonl", "Did you mean 'orthogonal'"),
        ("affine a.npy b.npy --rank 2", "group='affine' takes no rank"),
        ("affine a.npy b.npy --group low_rank", "needs rank=, the most rank of a map"),
        ("affine a.npy b.npy --gap 0", "gap is 0.0; from 0.0001 to below 1"),
        ("affine a.npy b.npy --held-out 1", "held_out is 1.0; a share of the rows"),
        ("affine a.npy b.npy --legacy --gap 0.1", "--gap has no part in --legacy: leave it out."),
        ("affine a.npy a.npy", "a.npy is given twice"),
        ("affine a.npy b.npy --texts my.jsonl", "--texts is for models, and this is array files"),
        ("affine a.npy short.npy", "a has 40 rows and short has 39."),
        ("affine a.npy wide.npy", "On the command line: --reduced K."),
        ("affine still.npy a.npy", "All 40 rows of still are the same"),
        ("affine a.npy nan.npy", "nan has NaN or infinite entries"),
        ("affine a.npy b.npy --save gone/d.json", "there is no folder gone"),
        ("affine a.npy b.npy --align", "a has no ids"),
        ("affine a.npy minilm", "'minilm' is no array file"),
    ],
)
def test_mistakes_are_told_in_one_line(cli, arrays, tmp_path, words, says):
    arrays()
    rng = np.random.default_rng(2)
    np.save(tmp_path / "short.npy", rng.normal(size=(39, 4)))
    np.save(tmp_path / "wide.npy", rng.normal(size=(40, 60)))
    np.save(tmp_path / "still.npy", np.ones((40, 3)))
    np.save(tmp_path / "nan.npy", np.where(np.arange(160) == 5, np.nan, 1.0).reshape(40, 4))
    assert says in cli(*words.split()).mistake


def test_an_interrupt_ends_quietly(cli, arrays, monkeypatch):
    def stop(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cospace.homotopy.affine_distance", stop)
    arrays()
    found = cli("affine", "a.npy", "b.npy")
    assert found.code == 130
    assert "Stopped while fitting, nothing was written." in found.err


def test_a_saved_file_is_the_json_and_the_map(cli, arrays, tmp_path):
    arrays()
    printed = cli("affine", "a.npy", "b.npy", "--json", "--save", "d.json")
    data = json.loads((tmp_path / "d.json").read_text())
    assert {key: value for key, value in data.items() if key != "map"} == json.loads(printed.out)
