"""Continuations with and without a vector, scored by any scorer."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cospace.errors import InputError, TextTooLongError
from cospace.steering import Continuations, Contrast, WordList, build, continuations, read_prompts


class Writer:
    """Adds to a toy what continues a text: greedy choice after greedy choice, and its words."""

    def __init__(self, toy):
        self.toy = toy
        self.tokenizer = self
        self.max_tokens = None
        self.facts = toy.facts

    def __getattr__(self, name):
        return getattr(self.toy, name)

    def next(self, ids):
        """The likeliest word; never the mark of a beginning, which is number 0."""
        return 1 + int(self.toy.logs(np.array(ids))[-1][1 : len(self.toy.words)].argmax())

    def generate(self, texts, new_tokens, *, cached=True):
        found = []
        for text in texts:
            ids = list(text.ids)
            for _ in range(new_tokens):
                ids.append(self.next(ids))
            found.append(np.array(ids[len(text.ids) :]))
        return found

    def decode(self, ids, *, skip_special_tokens):
        assert skip_special_tokens
        names = {number: word for word, number in self.toy.words.items()}
        return " ".join(names[int(i)] for i in ids if i != self.toy.words["<s>"])


PROMPTS = ["red red blue", "the sky is", "a day of", "blue the", "one more", "sky a red"]


@pytest.fixture
def writer(toy):
    made = Writer(toy("writer", width=8, seed=1))
    made.encode([*PROMPTS, "good bad"])
    return made


@pytest.fixture
def vector(writer):
    contrast = Contrast([f"good {w}" for w in "abc"], [f"bad {w}" for w in "abc"], "mean")
    return build(writer, contrast, sites="block.1")[0]


def reds(texts):
    return [text.split().count("red") / len(text.split()) for text in texts]


def test_only_what_is_added_is_scored(writer):
    """Fault: the prompt scored with its continuation."""
    seen = []

    def scorer(texts):
        seen.append(list(texts))
        return reds(texts)

    found = continuations(writer, PROMPTS, scorer, new_tokens=4)
    (point,) = found.points
    tokens = writer.encode(PROMPTS)
    names = {number: word for word, number in writer.words.items()}
    for text, prompt in zip(seen[0], tokens, strict=True):
        ids = list(prompt.ids)
        for _ in range(4):
            ids.append(writer.next(ids))
        assert text.split() == [names[i] for i in ids[-4:]]
    assert point.score == pytest.approx(np.mean(reds(seen[0])))
    assert point.texts == tuple(seen[0])
    assert (point.change, point.above, found.scorer, found.threshold) == (
        None,
        None,
        "scorer",
        None,
    )
    assert (found.n, found.new_tokens, found.cut, found.site) == (6, 4, 0, None)
    assert point.words == 4.0


def test_every_coefficient_is_compared_with_the_model_as_it_is(writer, vector):
    found = continuations(
        writer, PROMPTS, reds, vector=vector, coefficients=[2.0, -2.0], neutral=["the sky is"]
    )
    assert [p.coefficient for p in found.points] == [-2.0, 0.0, 2.0]
    plain = found.point(0.0)
    assert plain.texts == continuations(writer, PROMPTS, reds).points[0].texts
    assert (plain.change, plain.change_low) == (None, None)
    for value in (-2.0, 2.0):
        point = found.point(value)
        with vector.applied(writer, value, unit="spread"):
            alone = continuations(writer, PROMPTS, reds).points[0]
        assert point.texts == alone.texts
        gap = np.array(point.by_prompt) - np.array(plain.by_prompt)
        assert point.change == pytest.approx(gap.mean())
        assert point.change_low <= point.change <= point.change_high
        assert point.perplexity != plain.perplexity
    assert not writer.added
    assert len(found.records()) == 3
    assert "texts" not in found.records()[0]


def test_repetition_is_said(writer):
    found = continuations(writer, PROMPTS, reds, new_tokens=6).points[0]
    shares = [len(set(t.split())) / len(t.split()) for t in found.texts]
    assert found.distinct == pytest.approx(np.mean(shares))


def test_what_cannot_be_scored_is_counted(writer, vector):
    def some(texts):
        return [None, 1.0, 0.0, 1.0, 1.0, 0.5][: len(texts)]

    some.threshold = 0.5
    found = continuations(writer, PROMPTS, some, vector=vector, coefficients=[1.0])
    point = found.point(1.0)
    assert (point.unscored, point.score, point.above) == (1, 0.7, 0.6)
    assert point.change == 0.0
    assert point.by_prompt[0] is None
    nothing = continuations(writer, PROMPTS, lambda texts: [None] * len(texts)).points[0]
    assert (nothing.score, nothing.low, nothing.unscored) == (None, None, 6)


def test_results_are_saved(writer, vector, tmp_path):
    found = continuations(
        writer, PROMPTS, WordList.read("rude"), vector=vector, coefficients=[1.0]
    ).with_provenance(command="cospace steer generate")
    found.save(tmp_path / "c.json")
    assert Continuations.load(tmp_path / "c.json") == found
    assert (found.scorer, found.threshold) == ("lexical score, rude", 0.0)
    bare = continuations(writer, PROMPTS, reds, keep=False)
    assert bare.points[0].texts == ()


def test_prompts_may_be_cut_and_it_is_said(writer):
    found = continuations(writer, PROMPTS, reds, prompt_tokens=3)
    assert found.cut == 4  # <s> and two words
    assert found.points[0].texts[0] == continuations(writer, ["red red"], reds).points[0].texts[0]
    writer.max_tokens = 10
    with pytest.raises(TextTooLongError, match="reads at most 10 tokens, and prompt 0 has 4, with"):
        continuations(writer, PROMPTS, reds)
    assert continuations(writer, PROMPTS, reds, new_tokens=6).n == 6


def test_what_cannot_be_continued_is_refused(writer, vector, toy):
    def run(prompts=PROMPTS, scorer=reds, **options):
        return continuations(writer, prompts, scorer, **options)

    with pytest.raises(InputError, match="No prompt was given"):
        run([])
    with pytest.raises(InputError, match="new_tokens=0 and prompt_tokens=None: numbers from 1"):
        run(new_tokens=0)
    with pytest.raises(InputError, match=r"new_tokens is 1\.5; a whole number is expected"):
        run(new_tokens=1.5)
    with pytest.raises(InputError, match="coefficient is given twice"):
        run(vector=vector, coefficients=[1.0, 1.0])
    with pytest.raises(InputError, match="The coefficients 0, 1 were given without a vector"):
        run(coefficients=[1.0])
    with pytest.raises(InputError, match="The scorer gave 1 scores for 6 texts"):
        run(scorer=lambda texts: [1.0])
    with pytest.raises(InputError, match="The scorer gave nan for a text: a finite number"):
        run(scorer=lambda texts: [float("nan")] * len(texts))
    with pytest.raises(InputError, match=r"is for writer .* and other has weights"):
        continuations(Writer(toy("other")), PROMPTS, reds, vector=vector)
    with pytest.raises(InputError, match=r"Nothing was written at 3: 0 were run\."):
        run().point(3.0)


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_prompts_are_read_as_they_are_published(tmp_path):
    lines = [
        json.dumps(
            {
                "filename": "0001.txt",
                "challenging": False,
                "prompt": {"text": f"The {i} began", "toxicity": 0.1},
                "continuation": {"text": " to rain.", "toxicity": None},
            }
        )
        for i in range(20)
    ]
    path = write(tmp_path / "prompts.jsonl", lines)
    whole = read_prompts(path)
    assert whole == tuple(f"The {i} began" for i in range(20))
    some = read_prompts(path, limit=5, rng=1)
    assert len(set(some)) == 5
    assert list(some) == [text for text in whole if text in some]
    assert some == read_prompts(path, limit=5, rng=1)
    assert some != read_prompts(path, limit=5, rng=2)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"prompt": {"text": "a"}}', '{"prompt": "a"}'], "line 2 of .* has no prompt"),
        (['{"prompt": {"text": "  "}}'], "line 1 of .* has no prompt"),
        (["no json"], "line 1 of .* has no prompt"),
        (["[]"], "line 1 of .* has no prompt"),
        ([], "holds no prompt"),
    ],
)
def test_files_without_prompts_are_refused(tmp_path, lines, message):
    with pytest.raises(InputError, match=message):
        read_prompts(write(tmp_path / "p.jsonl", lines))


def test_prompts_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"absent\.jsonl cannot be read: No such file"):
        read_prompts(tmp_path / "absent.jsonl")
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read: it is not UTF-8"):
        read_prompts(tmp_path / "b.jsonl")
    path = write(tmp_path / "p.jsonl", ['{"prompt": {"text": "a"}}'])
    for limit in (0, 2):
        with pytest.raises(InputError, match=f"{limit} prompts were asked for, and .* holds 1"):
            read_prompts(path, limit=limit)
