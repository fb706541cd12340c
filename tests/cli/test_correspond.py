"""``cospace correspond``: two stores of real models, from extraction to report."""

from __future__ import annotations

import json

import pytest

TEXTS = [
    f"The {a} sees the {b}."
    for a in ("cat", "dog", "king", "child")
    for b in ("sea", "hill", "door", "sun")
]


@pytest.mark.weights
def test_from_extraction_to_report(cli, tmp_path):
    for name, verb in (("first", "sees"), ("second", "likes")):
        (tmp_path / f"{name}.txt").write_text("\n".join(t.replace("sees", verb) for t in TEXTS))
        words = ["extract", "minilm", "smollm2-135m", "--texts", f"{name}.txt", "--sites", "0,1"]
        assert cli(*words, "--pooling", "mean,last", "--store", name).code == 0
    words = ["correspond", "first", "--replica", "second", "--depths", "0,1"]
    words += ["--permutations", "199", "--measures", "debiased_cka,nearest_match"]
    found = cli(*words, "--save", "c.json", "--report", "c.html")
    assert found.code == 0, found.err
    assert "2 models (minilm, smollm2-135m), 1 pair, 16 texts" in found.out
    assert "on other texts" in found.out
    saved = json.loads((tmp_path / "c.json").read_text())
    assert saved["kind"] == "correspondence"
    assert len(saved["agreements"]) == 2 * 2 * 2
    assert cli("report", "c.json", "--out", "d.html").code == 0
    assert (tmp_path / "d.html").read_text() == (tmp_path / "c.html").read_text()
    assert cli(*words, "--json").json["settings"]["families"] == 2
    scaled = cli(*words, "--scale", "standardize", "--json").json
    assert scaled["settings"]["steps"] == ["standardize"]
    assert scaled["agreements"][0]["value"] != saved["agreements"][0]["value"]
    assert "is not a scaling" in cli(*words, "--scale", "wide").mistake
    assert "--depths has 'x'" in cli("correspond", "first", "--depths", "0,x").mistake
    assert "has no block." in cli("correspond", "first", "--depths", "0.5").mistake
    assert "Pooling 'max' is not there" in cli("correspond", "first", "--pooling", "max").mistake


def test_a_folder_that_is_no_store_is_refused(cli):
    assert "does not exist" in cli("correspond", "nowhere").mistake


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--depths", "2"], "--depths is 2; a number from 0"),
        (["--depths", "nan"], "--depths is nan: give finite numbers"),
        (["--depths", "half"], "--depths has 'half': give numbers, by commas"),
        (["--depths", ","], "--depths names nothing"),
        (
            ["--permutations", "10000000000"],
            "'--permutations': Input should be less than or equal to 1000000",
        ),
        (["--permutations", "0"], "'--permutations': Input should be greater than or equal to 1"),
        (["--seed", "-1"], "'--seed': Input should be greater than or equal to 0"),
    ],
)
def test_numbers_that_make_no_sense_are_told_by_their_option(cli, words, told):
    assert told in cli("correspond", "nowhere", *words).mistake
