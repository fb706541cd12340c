"""``cospace tokens`` as a user meets it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from cospace.tokens import TokenComparison

QUICK = ("--sample", 200, "--dimension-tokens", 40, "--dimension-k", "20,30", "--neighbors", "kept")


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Folders of three models; the second is the first rotated, the third another."""
    monkeypatch.setenv("COSPACE_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 8))
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    tables = {"one": x, "two": 3 * x @ turn, "three": rng.normal(size=(400, 5))}
    for name, table in tables.items():
        folder = tmp_path / name
        folder.mkdir()
        save_file({"model.embed_tokens.weight": table}, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps({"tie_word_embeddings": True}))
        content = {
            "model": {"type": "BPE", "vocab": {f"Ġt{i}": i for i in range(400)}},
            "decoder": {"type": "ByteLevel"},
        }
        (folder / "tokenizer.json").write_text(json.dumps(content))
    return list(tables)


def test_a_table_and_a_saved_result(cli, models, tmp_path):
    found = cli("tokens", "./one", "./two", *QUICK, "--save", "out.json")
    assert found.code == 0, found.err
    assert "400 shared tokens, with the same ids: 400 mixed" in found.out
    lines = {line.split("  ")[0]: line for line in found.out.splitlines()}
    assert "1.000" in lines["cosines of pairs, Pearson"]
    assert "1.000" in lines["weights, mean cosine"]
    assert "0.0%" in lines["apart, share of tokens"]
    assert "one and two use one matrix" in found.out
    assert "saved: out.json" in found.err
    result = TokenComparison.load(tmp_path / "out.json")
    assert result.local[0].mean == pytest.approx(1.0, abs=1e-6)
    assert result.provenance["command"].startswith("cospace tokens ./one ./two")
    assert len(list((tmp_path / "kept").glob("*/*.npy"))) == 4


def test_json_of_one_pair_and_of_many(cli, models, tmp_path):
    one = cli("tokens", "./one", "./three", *QUICK, "--json", "--tokens", 50).json
    assert (one["kind"], one["local"][0]["tokens"]) == ("token comparison", 50)
    assert abs(one["overall"][0]["pearson"]) < 4 * one["overall"][0]["null_sd"]
    many = cli("tokens", "./one", "./two", "./three", *QUICK, "--json", "--save", "all").json
    assert [(each["a"]["name"], each["b"]["name"]) for each in many] == [
        ("one", "two"),
        ("one", "three"),
        ("two", "three"),
    ]
    saved = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert saved == ["one--three.json", "one--two.json", "two--three.json"]


def test_neighbours_are_kept_in_the_cache_unless_told_otherwise(cli, models, tmp_path):
    assert cli("tokens", "./one", "./two", "--dimension-tokens", 0, "--sample", 200).code == 0
    assert len(list((tmp_path / "cache" / "neighbors").glob("*/*.npy"))) == 2


def test_tokens_that_are_apart_are_shown(cli, models):
    out = cli("tokens", "./one", "./three", *QUICK).out
    assert "apart: " in out
    assert "such as ' t" in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("./one",), "Two models or more are compared, and ./one is one: name another."),
        (("./one", "./two", "--metric", "l1"), "metric is 'l1'; 'euclidean' or 'cosine'"),
        (("./one", "./two", "--dimension-k", "a"), "--dimension-k is 'a'; whole numbers"),
        (("./one", "./two", "--k", "0"), "k is 0; 1 or more is expected."),
        (("./one", "./none"), "There is no such folder: ./none."),
        (("./one", "./two", "--save", "no/out.json"), "there is no folder no"),
        (("./one", "./two", "--k", "399"), "399 neighbours of 400 rows are all or nearly all"),
        (("./one", "./two", "./three", "--save", "file"), "file cannot be a folder (File exists)"),
    ],
)
def test_mistakes_are_told_in_one_line(cli, models, tmp_path, words, text):
    (tmp_path / "file").write_text("")
    assert text in cli("tokens", *words).mistake


def test_an_interrupt_says_how_to_go_on(cli, models, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("cospace.tokens.compare", stop)
    found = cli("tokens", "./one", "./two", *QUICK)
    assert found.code == 130
    assert "finished neighbours are kept in kept, the same command goes on" in found.err
