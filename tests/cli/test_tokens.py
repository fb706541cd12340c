"""``cospace tokens`` as a user meets it."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from cospace.tokens import TokenGeometry

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
    result = TokenGeometry.load(tmp_path / "out.json")
    assert result.models == ("one", "two")
    assert result.comparisons[0].local[0].mean == pytest.approx(1.0, abs=1e-6)
    assert result.provenance["command"].startswith("cospace tokens ./one ./two")
    assert len(list((tmp_path / "kept").glob("*/*.npy"))) == 4


def test_json_of_one_pair_and_of_many(cli, models, tmp_path):
    one = cli("tokens", "./one", "./three", *QUICK, "--json", "--tokens", 50).json
    (pair,) = one["comparisons"]
    assert (one["kind"], pair["local"][0]["tokens"]) == ("token geometry", 50)
    assert abs(pair["overall"][0]["pearson"]) < 4 * pair["overall"][0]["null_sd"]
    many = cli("tokens", "./one", "./two", "./three", *QUICK, "--json", "--save", "all.json").json
    assert [(each["a"]["name"], each["b"]["name"]) for each in many["comparisons"]] == [
        ("one", "two"),
        ("one", "three"),
        ("two", "three"),
    ]
    saved = TokenGeometry.load(tmp_path / "all.json")
    assert saved.to_dict() == many
    assert len(saved.records()) == 3 * 8


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
        (("./one",), "Two models or more are compared, and ./one was named: name another, or"),
        (("./one", "./two", "--metric", "l1"), "metric is 'l1'; 'euclidean' or 'cosine'"),
        (("./one", "./two", "--dimension-k", "a"), "--dimension-k is 'a'; whole numbers"),
        (("./one", "./two", "--k", "0"), "k is 0; 1 or more is expected."),
        (("./one", "./none"), "There is no such folder: ./none."),
        (("./one", "./two", "--save", "no/out.json"), "there is no folder no"),
        (("./one", "./two", "--k", "399"), "399 neighbours of 400 rows are all or nearly all"),
        (("./one", "./two", "--save", "."), ". is a folder: name a file in it."),
        (
            ("./one", "./two", "--verify", "3"),
            "--verify says how, and --undertrained was not asked",
        ),
        (("./one", "./two", "--text", "plain"), "--text says how, and --depths was not asked for"),
        (("./one", "./two", "--depths", "a"), "--depths is 'a'; numbers with commas between them"),
        (("./one", "./two", "--depths", "2"), "A relative depth lies in [0, 1], got 2.0"),
        (("./one", "./two", "--depths", "0", "--context", "x"), "context is 'x'; 'alone', 'text'"),
        (
            ("./one", "./two", "--depths", "0", "--text", "nowhere"),
            "--text is for tokens in a text, and --context is 'alone': add text to it, or leave --text out.",
        ),
        (("./one", "--undertrained", "--depths", "0"), "States at depths are compared between two"),
        (("./one", "./two", "--coherence", "none"), "There is no graph none: 'wordnet', a folder"),
        (("./one", "--undertrained", "--reference", "x"), "--reference is 'x'; MODEL=FILE is"),
        (("./one", "--undertrained", "--unused", "one=a"), "--unused names the rows 'a'; numbers"),
        (
            ("./one", "--undertrained", "--unused", "one=3-"),
            "--unused names the rows '3-'; numbers",
        ),
        (("./one", "--undertrained", "--unused", "one=²"), "--unused names the rows '²'; numbers"),
        (
            ("./one", "--undertrained", "--unused", "one=" + "9" * 5000),
            "--unused names the rows '9",
        ),
        (
            ("./one", "--undertrained", "--unused", "one=0,7-3"),
            "--unused names the rows '7-3', which end before they begin; the lower number goes first, as in 3-7.",
        ),
        (
            ("./one", "--undertrained", "--unused", "x=1"),
            "'x' is not a model that is compared. Known: one.",
        ),
        (
            ("./one", "--undertrained", "--unused", "one=900"),
            "--unused names row 900 of one, which has the rows 0 to 399: name rows among these.",
        ),
        (
            ("./one", "--undertrained", "--unused", "one=0-999999999999"),
            "--unused names row 999,999,999,999 of one, which has the rows 0 to 399: name rows",
        ),
        (("./one", "--undertrained", "--unused", "x=0-999999999999"), "'x' is not a model that is"),
        (("./one", "--undertrained", "--verify", "-1"), "verify is -1; 0 or more is expected."),
    ],
)
def test_mistakes_are_told_in_one_line(cli, models, tmp_path, words, text):
    (tmp_path / "file").write_text("")
    assert text in cli("tokens", *words).mistake


def test_an_encoder_is_not_asked_to_repeat_tokens(cli, model_folders):
    """Fault: a head of random numbers, or a line on which of its tensors lack."""
    found = cli("tokens", model_folders[0], "--undertrained", "--verify", 3).mistake
    assert found == (
        f"{model_folders[0]} has no head that gives the next token, as encoders have none: name a decoder."
    )


def test_an_interrupt_says_how_to_go_on(cli, models, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("cospace.tokens.geometry.compare", stop)
    found = cli("tokens", "./one", "./two", *QUICK)
    assert found.code == 130
    assert "finished neighbours are kept in kept, the same command goes on" in found.err


def test_what_is_kept_from_an_earlier_run_is_said(cli, models):
    words = ("tokens", "./one", "./two", *QUICK, "--tokens", 50)
    assert "kept from an earlier run" not in cli(*words).err
    again = cli(*words)
    assert again.err.splitlines() == [
        f"neighbours, {name}: those of 50 of 50 tokens are kept from an earlier run"
        for name in ("one", "two")
    ]


def test_a_report_at_once_and_from_the_saved_result(cli, models, tmp_path):
    words = ("./one", "./two", "./three", *QUICK, "--tokens", 50, "--save", "all.json")
    found = cli("tokens", *words, "--report", "page.html")
    assert found.code == 0, found.err
    assert "report: page.html" in found.err
    page = (tmp_path / "page.html").read_text()
    assert "Of 3 pairs of models the tokens of one and two are most alike" in page
    assert cli("report", "all.json", "--out", "again.html").code == 0
    assert (tmp_path / "again.html").read_text() == page


def test_undertrained_tokens_with_a_list_and_rows_known_to_be_unused(cli, models, tmp_path):
    lines = [{"i": i, "max_prob": 0.001 * i} for i in range(5, 25)]
    (tmp_path / "list.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    words = ("--undertrained", "--unused", "one=0,3-4", "--reference", "one=list.jsonl")
    found = cli("tokens", "./one", *words)
    assert found.code == 0, found.err
    assert (
        "one (tied): candidates for undertrained tokens among 400 used ones: 8 indicator"
        in found.out
    )
    table = {
        line.split()[1]: line.split() for line in found.out.splitlines() if "indicator  " in line
    }
    assert table["tested"][2:4] == ["8", "20"]
    assert table["verified"][2:4] == ["8", "5"]
    result = cli("tokens", "./one", *words, "--json").json
    assert result["undertrained"][0]["unused"] == 3


def test_coherence_beside_frequency(cli, models, tmp_path):
    letters = "abcdefghijklmnopqrst"
    content = {
        "model": {
            "type": "BPE",
            "vocab": {
                f"Ġ{a}{b}": 20 * i + j for i, a in enumerate(letters) for j, b in enumerate(letters)
            },
            "merges": [],
        },
    }
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    content |= {"decoder": {**level, "use_regex": True}, "pre_tokenizer": level}
    (tmp_path / "one" / "tokenizer.json").write_text(json.dumps(content))
    edges = [(a + b, a + c) for a in letters for b in letters for c in letters]
    lines = [f"/a\t/r/IsA\t/c/en/{x}\t/c/en/{y}\t{{}}\n" for x, y in edges]
    (tmp_path / "graph").write_text("".join(lines))
    (tmp_path / "text.txt").write_text("ab ac ad\nab\n")
    words = ("--coherence", "graph", "--coherence-tokens", 50, "--frequency", "text.txt")
    found = cli("tokens", "./one", *words)
    assert found.code == 0, found.err
    assert "one: coherence of neighbours by ConceptNet, 50 of 400 words, 10 neighbours" in found.out
    assert "Frequency: tokens counted in text" in found.out
    assert "lowest dimension" in found.out
    assert "highest dimension" in found.out


def test_states_at_depths(cli, model_folders, monkeypatch, tmp_path):
    from tokenizers import Tokenizer

    monkeypatch.setenv("COSPACE_CACHE", str(tmp_path / "cache"))
    for folder in model_folders:  # a tokenizer of words, written as one of WordPiece
        path = shutil.copytree(folder, tmp_path / folder.name) / "tokenizer.json"
        content = json.loads(path.read_text())
        content["model"] |= {
            "type": "WordPiece",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 50,
        }
        path.write_text(json.dumps(content))
        assert Tokenizer.from_file(str(path)).encode("w1 w2").ids == [2, 5, 6, 3]
    text = "".join(f"w{i} w{i + 1} w{i + 2}\n" for i in range(50))
    (tmp_path / "text.txt").write_text(text)
    words = ("--depths", "0,1", "--context", "alone,text", "--text", "text.txt")
    few = ("--sample", 20, "--tokens", 0, "--dimension-tokens", 0, "--occurrences", 2)
    found = cli("tokens", "./first", "./second", *few, *words, "--hidden-tokens", 30)
    assert found.code == 0, found.err
    rows = [line.split() for line in found.out.splitlines() if line.startswith("first, second  ")]
    assert len([row for row in rows if "embed," in row]) == 2
    assert len([row for row in rows if "block.1," in row]) == 2
    assert "In texts: mean over occurrences in 4" in found.out
