"""What studies share of reading: names that are there, and each once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cospace.errors import InputError, UnknownNameError
from cospace.studies.reading import check_models, each_model, once, texts_of

SETTINGS = SimpleNamespace(dtype="float32", device="cpu", accept=("gemma",))


def test_models_are_loaded_one_after_the_other_as_the_file_says():
    asked = []

    def load(reference, **options):
        asked.append((reference, options))
        return SimpleNamespace(facts=SimpleNamespace(name=reference.upper()))

    models = each_model(["a", "b"], SETTINGS, load, "models")
    assert next(models)[0] == "a"
    assert [name for name, _ in asked] == ["a"]
    assert next(models)[1].facts.name == "B"
    assert asked[1][1] == {"dtype": "float32", "device": "cpu", "accept": ("gemma",)}


def test_two_models_of_one_name_are_refused():
    def load(reference, **options):
        return SimpleNamespace(facts=SimpleNamespace(name="same"))

    with pytest.raises(InputError, match="Two encoders are called 'same': name each once, or"):
        list(each_model(["a", "b"], SETTINGS, load, "encoders"))
    with pytest.raises(InputError, match="Two tasks are called 't': name each once, or rename one"):
        once(["s", "t", "t"], "tasks")


def test_models_that_are_not_there_are_refused(tmp_path):
    for name in ("x/m", "y/m"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").write_text("{}")
    check_models([str(tmp_path / "x/m"), "minilm", "someone/model@main"], "models")
    with pytest.raises(InputError, match="Two models are called 'm'"):
        check_models([str(tmp_path / "x/m"), str(tmp_path / "y/m")], "models")
    with pytest.raises(InputError, match=r"is no model: there is no config\.json in it"):
        check_models([str(tmp_path)], "models")
    with pytest.raises(UnknownNameError, match="'minilmm' is not a model"):
        check_models(["minilmm"], "models")


def test_texts_are_seen_from_the_study_file(tmp_path):
    (tmp_path / "own.txt").write_text("one\ntwo\n")
    assert texts_of("own.txt", tmp_path).texts == ("one", "two")
    assert texts_of("plain", tmp_path).name == "plain"
