"""``cospace steer`` on a real model: what it saves becomes a page."""

from __future__ import annotations

import json

import pytest

from cospace.steering import Continuations, SteeringCurve, read_items

PROMPTS = ["The weather this morning", "My neighbour told me", "At the end of the day"]


@pytest.fixture
def vector(cli):
    words = ["--items", "formality", "--pairs", "formality", "--sites", "0.5"]
    made = cli("steer", "build", "smollm2-135m", *words, "--into", "v.safetensors")
    assert made.code == 0, made.err
    return "v.safetensors"


@pytest.mark.weights
def test_files_of_a_real_model_become_pages(cli, vector, tmp_path):
    """Formality goes up with the coefficient, and the page of each saved file shows its numbers."""
    questions = [
        {
            "question": item.question,
            "answer_matching_behavior": item.matching,
            "answer_not_matching_behavior": item.other,
        }
        for item in read_items("formality")[:8]
    ]
    (tmp_path / "items.json").write_text(json.dumps(questions))
    scored = cli(
        *("steer", "score", "smollm2-135m", vector, "--items", "items.json", "--answers", "texts"),
        *("--coefficients=-1,0,1", "--draws", 2, "--neutral", 0, "--save", "curve.json"),
    )
    assert scored.code == 0, scored.err
    curve = SteeringCurve.load(tmp_path / "curve.json")
    assert curve.span_interval[0] > 0.2

    lines = [json.dumps({"prompt": {"text": text}}) for text in PROMPTS]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    written = cli(
        *("steer", "generate", "smollm2-135m", "--prompts", "p.jsonl", "--vector", vector),
        *("--coefficients=1", "--new-tokens", 8, "--neutral", 0, "--save", "texts.json"),
    )
    assert written.code == 0, written.err

    for name in ("curve", "texts"):
        told = cli("report", f"{name}.json", "--out", f"{name}.html")
        assert told.code == 0, told.err
    page = (tmp_path / "curve.html").read_text("utf-8")
    assert all(f"{point.score:.3f}" in page for point in curve.points)
    assert f"{curve.span:.3f}" in page
    assert "too few random pushes to test it (p = " in page
    page = (tmp_path / "texts.html").read_text("utf-8")
    assert all(prompt in page for prompt in PROMPTS)
    found = Continuations.load(tmp_path / "texts.json")
    assert {len(point.texts) for point in found.points} == {3}
    first = found.points[0].texts[0].split("\n")[0].strip().split("'")[0].split('"')[0]
    assert first
    assert first in page
