"""Answers are kept as they are made, and a run goes on where it was stopped."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from cospace.corpus import Corpus
from cospace.errors import InputError, TextTooLongError
from cospace.models.base import ModelFacts
from cospace.models.batching import Tokens
from cospace.routing import answers
from cospace.routing.answers import answer_prompts

CORPUS = Corpus(
    "c", ids=tuple(f"i{i}" for i in range(40)), texts=tuple("ab" * (i + 1) for i in range(40))
)


class Letters:
    """A token is a letter; it adds the last letter, a line end, and the letter again."""

    max_tokens: int | None = 100

    def __init__(self, name="toy", *, stop_after=None):
        self.facts = ModelFacts(
            reference="tests/toy", name=name, architecture="toy", blocks=1, width=1,
            final_norm=False, dtype="float32", weights_hash="w" + name, parameters=0,
        )  # fmt: skip
        self.calls: list[int] = []
        self.stop_after = stop_after
        self.tokenizer = self

    def encode(self, texts):
        return [Tokens(np.array([ord(c) for c in t]), np.zeros(len(t), bool)) for t in texts]

    def decode(self, ids, *, skip_special_tokens):
        assert skip_special_tokens
        return "".join(map(chr, ids))

    def generate_scored(self, texts, new_tokens):
        if self.stop_after is not None and len(self.calls) == self.stop_after:
            raise KeyboardInterrupt
        self.calls.append(len(texts))
        return [
            (self._next(t)[:new_tokens], np.array([-1.0, -3.0, -8.0, -8.0])[:new_tokens])
            for t in texts
        ]

    def _next(self, text):
        return np.array([text.ids[-1], text.ids[-1], 10, text.ids[-1]])


def test_the_log_probability_is_the_mean_of_the_first_line():
    (first, *_) = found = answer_prompts(Letters(), CORPUS)
    assert [each.id for each in found] == list(CORPUS.ids)
    assert first.completion == "bb\nb"
    assert first.log_prob == -2.0
    assert [each.tokens for each in found] == [2 * (i + 1) for i in range(40)]


def test_a_line_end_before_the_answer_ends_nothing():
    class Late(Letters):
        def _next(self, text):
            return np.array([10, 32, text.ids[-1], 10])

    (first, *_) = answer_prompts(Late(), CORPUS)
    assert first.log_prob == pytest.approx((-1 - 3 - 8) / 3)


def test_a_model_that_adds_nothing_has_no_log_probability():
    class Silent(Letters):
        def _next(self, text):
            return np.array([], np.int64)

        def generate_scored(self, texts, new_tokens):
            return [(self._next(t), np.array([])) for t in texts]

    (first, *_) = answer_prompts(Silent(), CORPUS)
    assert (first.completion, first.log_prob) == ("", None)


def test_an_interrupted_run_goes_on_and_is_the_same(tmp_path):
    stopped = Letters(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        answer_prompts(stopped, CORPUS, folder=tmp_path)
    assert stopped.calls == [16, 16]
    again = Letters()
    told = []
    found = answer_prompts(again, CORPUS, folder=tmp_path, progress=lambda *a: told.append(a))
    assert again.calls == [8]
    assert told == [("toy", 32, 40), ("toy", 40, 40)]
    assert found == answer_prompts(Letters(), CORPUS)
    third = Letters()
    assert answer_prompts(third, CORPUS, folder=tmp_path) == found
    assert third.calls == []


def test_a_torn_line_is_made_again(tmp_path):
    found = answer_prompts(Letters(), CORPUS, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-20])
    again = Letters()
    assert answer_prompts(again, CORPUS, folder=tmp_path) == found
    assert again.calls == [1]
    third = Letters()
    assert answer_prompts(third, CORPUS, folder=tmp_path) == found
    assert third.calls == []


def test_what_the_answers_are_of_decides_whether_they_are_taken(tmp_path):
    answer_prompts(Letters(), CORPUS, folder=tmp_path)
    other = Letters("other")
    answer_prompts(other, CORPUS, folder=tmp_path)
    assert sum(other.calls) == 40
    fewer = Letters()
    answer_prompts(fewer, CORPUS, folder=tmp_path, new_tokens=2)
    assert sum(fewer.calls) == 40
    changed = replace(CORPUS, texts=("new", *CORPUS.texts[1:]))
    third = Letters()
    assert answer_prompts(third, changed, folder=tmp_path)[0].completion == "ww\nw"
    assert third.calls == [1]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_line_of_other_values_is_made_again(tmp_path):
    found = answer_prompts(Letters(), CORPUS, folder=tmp_path)
    (file,) = tmp_path.iterdir()
    lines = file.read_text().splitlines()
    values = json.loads(lines[5])
    lines[5] = json.dumps(values | {"completion": 3})
    file.write_text("\n".join(lines) + "\n")
    again = Letters()
    assert answer_prompts(again, CORPUS, folder=tmp_path) == found
    assert again.calls == [1]


def test_mistakes_are_told_in_one_line(tmp_path):
    with pytest.raises(InputError, match=r"^new_tokens is 0: a number from 1 is expected\.$"):
        answer_prompts(Letters(), CORPUS, new_tokens=0)
    small = Letters()
    small.max_tokens = 50
    with pytest.raises(
        TextTooLongError, match=r"reads at most 50 tokens, and prompt i20 has 42, with 10"
    ):
        answer_prompts(small, CORPUS)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be kept in .*file: .*Name another folder"):
        answer_prompts(Letters(), CORPUS, folder=tmp_path / "file")
    folder = tmp_path / "kept"
    answer_prompts(Letters(), CORPUS, folder=folder)
    (file,) = folder.iterdir()
    file.write_text("something else\n")
    with pytest.raises(InputError, match=r"does not hold the answers that its name says"):
        answer_prompts(Letters(), CORPUS, folder=folder)


def test_a_full_disk_is_told(tmp_path, monkeypatch):
    file = answers.kept_in(tmp_path, {"model": "m"})
    file.unlink()
    with pytest.raises(InputError, match=r"cannot be written: No such file.*Free some space"):
        answers._append(file, [], {})
