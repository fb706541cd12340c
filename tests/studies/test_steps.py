"""Steps are done once, and done again where anything differs."""

from __future__ import annotations

import pytest

from cospace.errors import InputError
from cospace.studies.steps import Steps


class Counted:
    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return {"value": 0.5, "none": float("nan")}


def test_a_step_is_done_once(tmp_path):
    work = Counted()
    steps = Steps(tmp_path / "steps")
    first = steps.once("pair", {"a": "x"}, work)
    assert first == steps.once("pair", {"a": "x"}, work) == {"value": 0.5, "none": None}
    assert work.times == 1


def test_other_parts_are_another_step(tmp_path):
    work = Counted()
    steps = Steps(tmp_path)
    steps.once("pair", {"a": "x"}, work)
    steps.once("pair", {"a": "y"}, work)
    steps.once("other", {"a": "x"}, work)
    assert work.times == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"of": {}, "is": {"value": 1}}'])
def test_a_damaged_file_is_made_anew(tmp_path, text):
    work = Counted()
    steps = Steps(tmp_path)
    first = steps.once("pair", {"a": "x"}, work)
    next(tmp_path.glob("pair-*.json")).write_text(text, encoding="utf-8")
    assert steps.once("pair", {"a": "x"}, work) == first
    assert work.times == 2


def test_a_changed_result_is_made_anew(tmp_path):
    work = Counted()
    steps = Steps(tmp_path)
    first = steps.once("pair", {"a": "x"}, work)
    path = next(tmp_path.glob("pair-*.json"))
    path.write_text(path.read_text().replace("0.5", "0.7"), encoding="utf-8")
    assert steps.once("pair", {"a": "x"}, work) == first
    assert work.times == 2


def test_an_interrupted_step_leaves_nothing(tmp_path):
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Steps(tmp_path).once("pair", {}, stop)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"cannot be written: Not a directory\. Name another"):
        Steps(tmp_path / "file" / "steps").once("pair", {}, Counted())
