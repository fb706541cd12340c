"""``cospace steer generate``: what a model writes with and without a vector."""

from __future__ import annotations

import json

import pytest

from cospace.steering import Continuations

TOKENS = ["[UNK]", "[PAD]", "idiot", "joy", "(", ")", "A", "B", "Question", ":", "?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, word_tokenizer, random_decoder):
    """A tiny decoder with random weights that knows a rude word and a cheerful one."""
    words = [*TOKENS, *(f"word{chr(97 + i)}" for i in range(20))]
    return random_decoder(tmp_path_factory.mktemp("decoder"), word_tokenizer(words))


@pytest.fixture
def prompts(tmp_path):
    lines = [{"prompt": {"text": f"word{chr(97 + i)} worda"}} for i in range(8)]
    path = tmp_path / "prompts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def vector(cli, folder, tmp_path):
    values = [
        {
            "question": f"Question word{chr(97 + i)}?\n (A) idiot\n (B) joy",
            "answer_matching_behavior": "(A)",
            "answer_not_matching_behavior": "(B)",
        }
        for i in range(10)
    ]
    (tmp_path / "items.json").write_text(json.dumps(values))
    lines = [{"positive": f"word{c} idiot", "negative": f"word{c} joy"} for c in "abcdef"]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["--items", "items.json", "--pairs", "p.jsonl", "--into", "v.safetensors"]
    made = cli("steer", "build", folder, *words)
    assert made.code == 0, made.err
    return "v.safetensors"


def test_a_model_continues_with_and_without_a_vector(cli, folder, prompts, vector, tmp_path):
    words = ["steer", "generate", folder, "--prompts", prompts, "--vector", vector]
    words += ["--coefficients", "-2,2", "--new-tokens", 5, "--neutral", 2]
    found = cli(*words, "--save", "c.json", "--show", 1)
    assert found.code == 0, found.err
    assert "scored by lexical score, rude" in found.out
    assert "toxic" not in found.out.lower()
    told = Continuations.load(tmp_path / "c.json")
    assert [p.coefficient for p in told.points] == [-2.0, 0.0, 2.0]
    assert told.provenance["command"].startswith("cospace steer generate")
    rows = [line.split() for line in found.out.splitlines()[2:5]]
    assert [row[:2] for row in rows] == [
        [f"{p.coefficient:g}", f"{p.score:.4f}"] for p in told.points
    ]
    assert rows[1][-1] == f"{told.points[1].perplexity:.2f}"
    shown = [line for line in found.out.splitlines() if " | " in line]
    assert [line.split(" | ")[1].strip() for line in shown] == [
        p.texts[0].strip() for p in told.points
    ]


def test_what_was_saved_becomes_a_page(cli, folder, prompts, vector, tmp_path):
    words = ["steer", "generate", folder, "--prompts", prompts, "--vector", vector]
    words += ["--new-tokens", 5, "--neutral", 0, "--save", "c.json", "--report", "c.html"]
    found = cli(*words)
    assert found.code == 0, found.err
    assert "report: c.html" in found.err
    page = (tmp_path / "c.html").read_text("utf-8")
    again = cli("report", "c.json", "--out", "again.html")
    assert again.code == 0, again.err
    assert (tmp_path / "again.html").read_text("utf-8") == page
    told = Continuations.load(tmp_path / "c.json")
    assert told.prompts[2] == "wordc worda"
    for point in told.points:
        assert f"{point.score:.3f}" in page
        assert all(text.strip() in page for text in point.texts)


def test_without_a_vector_the_model_runs_as_it_is(cli, folder, prompts):
    words = ["steer", "generate", folder, "--prompts", prompts, "--neutral", 0]
    found = cli(*words, "--limit", 5, "--prompt-tokens", 1, "--scorer", "cheerful")
    assert found.code == 0, found.err
    assert "the model as it is: 5 prompts" in found.out
    assert "5 prompts were cut to 1 tokens" in found.out
    (point,) = cli(*words, "--json").json["points"]
    assert (point["coefficient"], point["change"], len(point["texts"])) == (0.0, None, 8)


def test_mistakes_are_told(cli, folder, prompts, vector, monkeypatch):
    monkeypatch.delenv("PERSPECTIVE_API_KEY", raising=False)

    def said(*words, file=prompts):
        return cli("steer", "generate", folder, "--prompts", file, *words).mistake

    assert "absent.jsonl cannot be read" in said(file="absent.jsonl")
    assert "horrid is neither a file nor one of the packaged" in said("--scorer", "horrid")
    assert "Perspective needs a key" in said("--scorer", "perspective")
    assert "--label rude is for a classifier" in said("--label", "rude")
    assert "without a vector: give one" in said("--coefficients", "1,2")
    assert "--positions 0 is where a vector is added" in said("--positions", "0")
    assert "the set 'plain' has 480 sentences" in said("--neutral", 481)
    beyond = said("--vector", vector, "--positions", "99999")
    assert "The positions 99999 name no token that is read in any of 8 texts" in beyond
    assert "20 prompts were asked for" in said("--limit", 20)
    assert "lacks the weights score.weight" in said("--scorer", folder, "--label", "x")
