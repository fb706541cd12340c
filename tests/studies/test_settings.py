"""Study files: what is read, and every mistake in one line."""

from __future__ import annotations

import pytest

from cospace.errors import InputError
from cospace.studies.affine_homotopy.settings import AffineHomotopySettings
from cospace.studies.settings import models_named, read_settings


def written(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_short_file_is_enough(tmp_path):
    path = written(tmp_path, 'encoders = ["minilm", "mpnet"]\ndepths = [1.0, 0.5, 1.0]\n')
    found = read_settings(path, AffineHomotopySettings)
    assert found.encoders == ("minilm", "mpnet")
    assert found.depths == (0.5, 1.0)
    assert found.tasks == ("sentiment", "acceptability")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the key 'encoders' is missing"),
        ("encoders = []", "encoders is []: name the encoders to compare"),
        ('encoders = ["a"]\ntask = ["x"]', "there is no key 'task'. Did you mean 'tasks'?"),
        ('encoders = ["a"]\nzzz = 1', "there is no key 'zzz'. Known: encoders, title"),
        ('encoders = ["a"]\ngap = 2', "gap is 2: input should be less than 1"),
        ('encoders = ["a"]\ndepths = []', "depths is []: name at least one depth"),
        ('encoders = ["a"]\ndepths = [1.5]', "depths.0 is 1.5: input should be less than or equal"),
        ("encoders = [", "is not TOML"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path, text, words):
    with pytest.raises(InputError) as error:
        read_settings(written(tmp_path, text), AffineHomotopySettings)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_settings(tmp_path / "none.toml", AffineHomotopySettings)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="no study file: it is not text in UTF-8"):
        read_settings(path, AffineHomotopySettings)


def folders(tmp_path, *names):
    for name in names:
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").write_text("{}", encoding="utf-8")


def test_a_pattern_names_folders_with_models_from_where_the_file_lies(tmp_path):
    folders(tmp_path, "e/seed-01", "e/seed-00")
    (tmp_path / "e/seed-notes").mkdir()
    found = models_named(("e/seed-*", "minilm"), tmp_path)
    assert found == (str(tmp_path / "e/seed-00"), str(tmp_path / "e/seed-01"), "minilm")


def test_a_pattern_that_nothing_matches_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"No folder with a model in it matches 'e/seed-\*'"):
        models_named(("e/seed-*",), tmp_path)


def test_a_model_named_twice_is_refused(tmp_path):
    folders(tmp_path, "a")
    with pytest.raises(InputError, match="twice: name each model once"):
        models_named(("a", str(tmp_path / "a")), tmp_path)
