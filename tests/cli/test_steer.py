"""``cospace steer``: from questions to a vector, from a vector to scores."""

from __future__ import annotations

import json

import pytest

from cospace.steering import SteeringCurve, SteeringVector, read_items, split_items

TOKENS = ["[UNK]", "[PAD]", "[CLS]", "(", ")", "A", "B", "Question", "Answer", ":", "?", "."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, word_tokenizer, random_decoder):
    """A tiny decoder with random weights."""
    words = [*TOKENS, *(f"w{i}" for i in range(64 - len(TOKENS)))]
    path = tmp_path_factory.mktemp("decoder")
    return random_decoder(path, word_tokenizer(words), num_hidden_layers=4)


@pytest.fixture
def items(tmp_path):
    values = [
        {
            "question": f"Question w{i}?\n\nChoices:\n (A) w{i + 1}\n (B) w{i + 2}",
            "answer_matching_behavior": "(A)" if i % 2 else "(B)",
            "answer_not_matching_behavior": "(B)" if i % 2 else "(A)",
        }
        for i in range(20)
    ]
    path = tmp_path / "items.json"
    path.write_text(json.dumps(values))
    return path


def test_a_vector_is_made_and_scored_on_other_questions(cli, folder, items, tmp_path):
    made = cli("steer", "build", folder, "--items", items, "--into", "v.safetensors")
    assert made.code == 0, made.err
    assert "block.1: mean_difference of 28 pairs" in made.out
    assert "saved: v.safetensors" in made.err
    vector = SteeringVector.load(tmp_path / "v.safetensors")
    used, rest = split_items(read_items(items), 0.7)
    assert vector.provenance["items"] == sorted(item.id for item in used)
    words = ["steer", "score", folder, "v.safetensors", "--items", items, "--neutral", 0]
    words += ["--coefficients", "-0.4,0,0.4", "--positions", "-1", "--save", "curve.json"]
    scored = cli(*words)
    assert scored.code == 0, scored.err
    assert f"{len(rest)} questions by their letters" in scored.out
    assert len(scored.out.splitlines()) == 6
    curve = SteeringCurve.load(tmp_path / "curve.json")
    assert (curve.n, curve.seen) == (6, 0)
    assert [p.coefficient for p in curve.points] == [-0.4, 0.0, 0.4]
    assert f"{curve.points[0].score:.4f}" in scored.out
    again = cli(*words, "--json").json
    by_texts = cli(*words, "--positions", "-2", "--answers", "texts", "--json").json
    assert by_texts["answers"] == "texts"
    assert by_texts["points"][0]["mass"] is None
    assert again["points"] == curve.to_dict()["points"]


def test_what_a_probe_does_to_held_out_pairs_is_told(cli, folder, items, tmp_path):
    words = ["steer", "build", folder, "--items", items, "--into", "v.safetensors"]
    made = cli(*words, "--method", "probe")
    assert made.code == 0, made.err
    facts = SteeringVector.load(tmp_path / "v.safetensors").provenance
    # 14 questions in both orders: those of one question are held out together.
    assert (facts["positive"], facts["held_out_pairs"]) == (28, 14 - 5)
    told = f"of 9 held-out pairs {facts['held_out_separation']:.3f} in the right order, p = "
    assert told in made.out
    assert ("is not told from chance" in made.err) == (facts["held_out_p"] > 0.05)


def test_the_best_of_several_sites_is_taken(cli, folder, items):
    made = cli(
        "steer",
        "build",
        folder,
        "--items",
        items,
        "--into",
        "v.safetensors",
        "--sites",
        "0.25,0.5,1",
    )
    assert made.code == 0, made.err
    spans = [line.split() for line in made.out.splitlines()[-3:]]
    best = max(spans, key=lambda row: float(row[1]))
    assert made.out.startswith(f"{folder.name}, {best[0]}: ")
    found = cli(
        "steer", "build", folder, "--items", items, "--into", "w.safetensors", "--json"
    ).json
    assert found[0]["operation"] == "add"


def test_texts_may_build_and_questions_choose(cli, folder, items, tmp_path):
    lines = [{"positive": f"w{i} w{i + 9} w1", "negative": f"w{i} w2"} for i in range(9)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["steer", "build", folder, "--items", items, "--into", "v.safetensors"]
    made = cli(*words, "--pairs", "p.jsonl", "--sites", "0.5,1", "--answers", "texts")
    assert made.code == 0, made.err
    assert ": mean_difference of 9 pairs" in made.out
    made = SteeringVector.load(tmp_path / "v.safetensors")
    assert (made.token, made.provenance["mean_over"]) == ("mean", "all tokens but the first")
    (tmp_path / "empty.jsonl").write_text("")
    empty = cli(*words, "--pairs", "empty.jsonl").mistake
    assert "empty.jsonl holds 0 pairs of texts; at least 2 are needed" in empty
    assert (
        "line 1 of items.json has no text 'positive'"
        in cli(*words, "--pairs", "items.json").mistake
    )


def test_perplexity_of_neutral_texts_stands_beside(cli, folder, items):
    cli("steer", "build", folder, "--items", items, "--into", "v.safetensors")
    words = ["steer", "score", folder, "v.safetensors", "--items", items, "--neutral", 3]
    found = cli(*words, "--coefficients", "0", "--json").json
    assert found["points"][0]["perplexity"] > 1
    assert found["spearman"] is None


def test_a_rank_correlation_needs_three_coefficients(cli, folder, items):
    """Fault: one coefficient, and the score said not to move."""
    cli("steer", "build", folder, "--items", items, "--into", "v.safetensors")
    words = ["steer", "score", folder, "v.safetensors", "--items", items, "--neutral", 0]
    for given, told in (("0", "1 coefficient was"), ("-1,1", "2 coefficients were")):
        found = cli(*words, f"--coefficients={given}").out
        assert f"no rank correlation: {told} scored, and it needs at least 3" in found
        assert "move" not in found
    three = cli(*words, "--coefficients=-1,0,1").out
    assert "rank correlation of score and coefficient: " in three


def test_random_directions_stand_beside_a_vector(cli, folder, items, tmp_path):
    cli("steer", "build", folder, "--items", items, "--into", "v.safetensors")
    words = ["steer", "score", folder, "v.safetensors", "--items", items, "--neutral", 0]
    words += ["--coefficients=-1,0,1", "--draws", 4, "--save", "c.json", "--report", "c.html"]
    found = cli(*words)
    assert found.code == 0, found.err
    curve = SteeringCurve.load(tmp_path / "c.json")
    assert len(curve.random) == 4
    as_large = sum(span >= curve.span for span in curve.random_spans)
    assert curve.p_random == (1 + as_large) / 5
    assert f"4 random directions at the same norms {min(curve.random_spans):+.4f} to" in found.out
    assert f"p = {curve.p_random:.2g}" in found.out
    assert curve.provenance["vector"]["site"] == "block.1"
    assert curve.provenance["command"].startswith("cospace steer score")
    page = (tmp_path / "c.html").read_text("utf-8")
    again = cli("report", "c.json", "--out", "again.html")
    assert again.code == 0, again.err
    assert (tmp_path / "again.html").read_text("utf-8") == page
    assert f"{curve.points[0].score:.3f}" in page
    assert "draws=-1 random directions" in cli(*words, "--draws", -1).mistake


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--items": "absent.json"}, "absent.json is neither a file nor one of the packaged"),
        ({"--method": "pcaa"}, "'pcaa' is not a method of a steering vector. Did you mean 'pca'?"),
        ({"--sites": "block.9"}, "'block.9' is not a site of"),
        ({"--share": "2"}, "A share of 2.0 was asked for"),
        ({"--into": "no/v.safetensors"}, "there is no folder no"),
        ({"--answers": "foo"}, "'foo' is not a way to compare answers"),
        ({"--sites": "0.5,0.5"}, "The sites 0.5, 0.5 are 1 of decoder0, block.1: name each once"),
        ({"--sites": "0.5,block.1"}, "The sites 0.5, block.1 are 1 of"),
        ({"--device": "tpu"}, "'tpu' is not a device"),
    ],
)
def test_mistakes_of_building_are_told(cli, folder, items, change, message):
    options = {"--items": items, "--into": "v.safetensors"} | change
    words = [word for pair in options.items() for word in pair]
    assert message in cli("steer", "build", folder, *words).mistake


def test_mistakes_of_scoring_are_told(cli, folder, items):
    cli("steer", "build", folder, "--items", items, "--into", "v.safetensors")

    def said(*words, vector="v.safetensors"):
        return cli("steer", "score", folder, vector, "--items", items, *words).mistake

    assert "--coefficients 1,x: numbers, separated by commas" in said("--coefficients", "1,x")
    assert "--positions last: whole numbers, separated" in said("--positions", "last")
    assert "absent.safetensors cannot be read" in said(vector="absent.safetensors")
    assert "items.json is not a saved steering_vector" in said(vector=items)
    assert "'words' is not a way to compare" in said("--answers", "words")
    assert "different numbers are needed" in said("--coefficients", "1,1")
    assert "The positions 0, 0 name a token twice" in said("--positions", "0,0")
    assert "name no token that is read in any of 12 texts" in said("--positions", "99999")
    assert "--neutral 100000: the set 'plain' has 480 sentences" in said("--neutral", 100000)
    last = said("--positions", "-1", "--answers", "texts")
    assert "of which the last is never read: nothing would be steered" in last


def test_what_breaks_the_model_is_told(cli, folder, items, tmp_path, monkeypatch):
    """Fault: a huge push, a perplexity of that of chance, and scores without a word."""
    cli("steer", "build", folder, "--items", items, "--into", "v.safetensors")
    words = ["steer", "score", folder, "v.safetensors", "--items", items, "--neutral", 3]
    quiet = cli(*words, "--coefficients=0,0.1")
    assert (quiet.code, "broken" in quiet.err) == (0, False)
    found = cli(*words, "--coefficients=0,1e6", "--save", "c.json", "--positions", "0")
    curve = SteeringCurve.load(tmp_path / "c.json")
    assert curve.settings["positions"] == "[0]"
    assert "broken" not in found.err  # random weights: perplexity is that of chance anyway
    monkeypatch.setattr("cospace.steering.reach.BROKEN", curve.points[1].perplexity / 100)
    assert "the model is broken rather than steered" in cli(*words, "--coefficients=0,1e6").err
