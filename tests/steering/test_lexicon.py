"""The lexical score: words of a text on a named list."""

from __future__ import annotations

import json

import pytest

from cospace.errors import InputError
from cospace.steering import WordList, packaged_word_lists


def test_the_score_is_a_share_of_words():
    found = WordList("small", ("Damn", "half-wit", "ain't"))
    assert found.score("Damn you, DAMN half-wit!") == 3 / 4
    assert found.score("damnation is no damnable word") == 0.0
    assert found.score("It ain’t so") == 1 / 3
    assert found(["damn", "", " 12 !", "fine"]) == [1.0, None, None, 0.0]
    assert found.name == "lexical score, small"


def test_packaged_lists_are_small_and_named():
    assert packaged_word_lists() == ("cheerful", "rude")
    for name in packaged_word_lists():
        found = WordList.read(name)
        assert found.name == f"lexical score, {name}"
        assert "toxic" not in f"{found.name} {found.about}".lower()
        assert 100 <= len(found.words) <= 200
        assert found.about
    assert WordList.read("rude").score("What an awful idiot.") == 0.5
    assert not set(WordList.read("rude").words) & set(WordList.read("cheerful").words)


def test_lists_are_read_from_files(tmp_path):
    (tmp_path / "mine.txt").write_text("# a list\nfool\n\nOaf\n")
    assert WordList.read(tmp_path / "mine.txt").words == ("fool", "oaf")
    (tmp_path / "mine.json").write_text(json.dumps({"name": "m", "words": ["fool", "Fool"]}))
    assert WordList.read(tmp_path / "mine.json").words == ("fool",)


@pytest.mark.parametrize(
    "content",
    ["[]", "{", '{"name": "m"}', '{"name": "m", "words": "fool"}', '{"name": 1, "words": []}'],
)
def test_files_that_are_no_list_are_refused(tmp_path, content):
    (tmp_path / "w.json").write_text(content)
    with pytest.raises(InputError, match=r"w\.json is no word list: an object with name, words"):
        WordList.read(tmp_path / "w.json")


def test_lists_that_score_nothing_are_refused(tmp_path):
    with pytest.raises(InputError, match="'two words' of the word list 'm' is not one word"):
        WordList("m", ("two words",))
    with pytest.raises(InputError, match="The word list 'm' holds no word"):
        WordList("m", ())
    with pytest.raises(InputError, match="absent is neither a file nor one of the packaged word"):
        WordList.read("absent")
    (tmp_path / "w.txt").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"w\.txt cannot be read"):
        WordList.read(tmp_path / "w.txt")
    with pytest.raises(InputError, match="has no word to score"):
        WordList("m", ("fool",)).score("12")
