"""``cospace route``: routers judged from a file of correctness, or from models that answer."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cospace.routing import Routing

QUICK = ("--samples", 200, "--permutations", 19, "--predictor", "ridge", "--folds", 3)


@pytest.fixture
def table(tmp_path):
    """A file of two models, one of which is right on one half of the group ``sums``."""
    rng = np.random.default_rng(0)
    lines = ["id,model,correct,group,length,confidence"]
    for i in range(120):
        hard = i % 3 == 0
        for model, chance in (("small", 0.2 if hard else 0.5), ("large", 0.7 if hard else 0.4)):
            right = rng.random() < chance
            lines.append(
                f"q{i},{model},{int(right)},{'sums' if hard else 'words'},{10 + i % 7},{-rng.random():.3f}"
            )
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def prompts(tmp_path):
    """Prompts of random words; many words are accepted, so that some answers are right."""
    rng = np.random.default_rng(1)
    letters = [f"w{chr(97 + i)}" for i in range(26)]
    lines = []
    for i in range(60):
        text = " ".join(rng.choice(letters, 3 + i % 4))
        label = " | ".join(sorted(set(rng.choice(letters, 12).tolist())))
        lines.append(
            json.dumps({"id": f"p{i}", "text": text, "group": "xy"[i % 2], "label": label})
        )
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_is_judged(cli, table, tmp_path):
    shown = cli("route", "--correctness", table, *QUICK, "--cost", "small=1", "--cost", "large=3",
                "--save", "r.json", "--report", "r.html")  # fmt: skip
    assert shown.code == 0, shown.err
    first = shown.out.split("\n")[0]
    assert first.startswith("2 models, a choice between two; they disagree on ")
    assert "a headroom of" in first
    assert shown.out.index("disagree") < shown.out.index("router")
    for words in ("right, in %", "router group *", "router confidence +", "oracle +", "only large", "within groups",
                  "best coin %", "controls alone"):  # fmt: skip
        assert words in shown.out, words
    result = Routing.load(tmp_path / "r.json")
    assert result.models == ("small", "large")
    assert result.provenance["command"].startswith("cospace route --correctness")
    assert "<html" in (tmp_path / "r.html").read_text()
    again = cli(
        "route", "--correctness", table, *QUICK, "--cost", "small=1", "--cost", "large=3", "--json"
    )
    kept = result.to_dict()
    assert {k: v for k, v in again.json.items() if k != "provenance"} == {
        k: v for k, v in kept.items() if k != "provenance"
    }
    page = cli("report", tmp_path / "r.json", "--out", "again.html")
    assert page.code == 0
    assert (tmp_path / "again.html").read_text() == (tmp_path / "r.html").read_text()


def test_coordinates_come_from_arrays(cli, table, tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(120, 4)))
    shown = cli(
        "route", "--correctness", table, "--coordinates", "rows.npy", "--features", "prompt", *QUICK
    )
    assert shown.code == 0, shown.err
    assert "router prompt *" in shown.out
    assert "router on prompt" in shown.out or "No verdict" in shown.out


def test_models_answer_and_their_answers_are_kept(cli, decoders, prompts, tmp_path):
    words = ("route", *decoders, "--texts", prompts, "--answers", "kept", "--store", "acts", "--new-tokens", 2,
             "--features", "prompt,group,confidence", *QUICK)  # fmt: skip
    first = cli(*words, "--json")
    assert first.json["models"] == ["one", "two"]
    assert first.json["sets"][0]["blocks"] == ["consensus", "dispersion", "neighbours"]
    assert 0.0 < first.json["disagreement"] < 1.0
    assert [m["name"] for m in first.json["provenance"]["models"]] == ["one", "two"]
    files = sorted((tmp_path / "kept").iterdir())
    assert [len(file.read_text().splitlines()) for file in files] == [61, 61]
    before = [file.read_text() for file in files]
    again = cli(*words, "--json")
    assert again.json == first.json
    assert [file.read_text() for file in files] == before


def test_an_interrupt_says_where_the_answers_are(cli, decoders, prompts, monkeypatch):
    from cospace.models.decoder import Decoder

    def stop(self, texts, new_tokens, *, cached=True):
        raise KeyboardInterrupt

    monkeypatch.setattr(Decoder, "generate_scored", stop)
    shown = cli("route", *decoders, "--texts", prompts, "--answers", "kept")
    assert shown.code == 130
    assert "Answers made so far are kept in kept: the same command goes on." in shown.err


def test_mistakes_are_told_in_one_line(cli, table, decoders, prompts, tmp_path):
    def mistake(*words):
        return cli("route", *words).mistake

    assert mistake().startswith("Models named: none. At least 2 different ones, or --correctness,")
    assert mistake("a").startswith("Models named: a. At least 2")
    assert mistake("a", "a").startswith("Models named: a, a. At least 2")
    assert "Models (a) and --correctness were given" in mistake("a", "--correctness", table)
    assert "--answers is for models that answer" in mistake(
        "--correctness", table, "--answers", "x"
    )
    assert "--new-tokens is for models" in mistake("--correctness", table, "--new-tokens", 3)
    assert "--cost small is no price" in mistake("--correctness", table, "--cost", "small")
    assert "--cost small=dear is no price" in mistake(
        "--correctness", table, "--cost", "small=dear"
    )
    assert "--cost names small twice" in mistake(
        "--correctness", table, "--cost", "small=1", "--cost", "small=2"
    )
    assert "'medium' is not a model of the pool" in mistake(
        "--correctness", table, "--cost", "medium=1"
    )
    assert "'forest' is not a predictor" in mistake("--correctness", table, "--predictor", "forest")
    assert "'grup' is not a block of features" in mistake(*decoders, "--features", "prompt+grup")
    assert "--coordinates none stands alone" in mistake(
        "--correctness", table, "--coordinates", "none", "--coordinates", "minilm"
    )
    assert "--sites is for activations, and none are read" in mistake(
        "--correctness", table, "--sites", "last"
    )
    assert "needs the prompts whose ids" in mistake(
        "--correctness", table, "--coordinates", "minilm"
    )
    assert "would be overwritten" in mistake("--correctness", table, "--save", table)
    assert "is no table of correctness" in mistake("--correctness", tmp_path / "x.xlsx")
    bare = tmp_path / "bare.txt"
    bare.write_text("one\ntwo\n")
    assert "has no labels, which are the accepted answers" in mistake(*decoders, "--texts", bare)
    same = decoders[1].parent / "twin" / decoders[1].name
    if not same.exists():
        import shutil

        shutil.copytree(decoders[1], same)
    assert "Two of the models are called two" in mistake(
        decoders[1], same, "--texts", prompts, "--answers", "kept2", "--new-tokens", 1
    )
