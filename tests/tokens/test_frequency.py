"""Tokens counted in a text, by the tokenizer of the model."""

from __future__ import annotations

import builtins

import pytest

from cospace.corpus import Corpus
from cospace.errors import AcquisitionError, MissingDependencyError
from cospace.tokens.frequency import count_tokens

TEXT = Corpus.of(["the river froze", "the geese had left before the river"], name="winter")


@pytest.mark.parametrize("family", ["byte_level", "wordpiece"])
def test_first_words_are_counted_as_beginnings_of_words(families, tmp_path, family):
    """Fault: a tokenizer that cuts long texts counts the first 128 tokens alone."""
    tokenizer = families[family]()
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = count_tokens(tmp_path, tokenizer.get_vocab_size(), TEXT)
    mark = "Ġ" if family == "byte_level" else ""
    of = {w: int(found.counts[tokenizer.token_to_id(mark + w)]) for w in ("the", "river", "left")}
    # The first word of all has no blank before it: byte-level tokenizers tell it from the others.
    assert of == {"the": 3 - bool(mark), "river": 2, "left": 1}
    assert (found.text, found.tokens) == ("winter", 10)
    few = count_tokens(tmp_path, 5, TEXT)
    assert few.counts.shape == (5,)
    assert few.tokens == found.counts[:5].sum()


def test_what_cannot_be_counted(tmp_path, monkeypatch):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(AcquisitionError, match=r"tokenizer.json cannot be read .*fetch it again"):
        count_tokens(tmp_path, 5, TEXT)
    real = builtins.__import__

    def none(name, *rest, **more):
        if name == "tokenizers":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(MissingDependencyError, match="Counting tokens"):
        count_tokens(tmp_path, 5, TEXT)
