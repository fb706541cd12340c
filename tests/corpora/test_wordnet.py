"""Glosses taken apart by hand, and lines that are no synsets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cospace.corpora.wordnet import read_glosses, split_gloss, version_of
from cospace.errors import InputError


@pytest.mark.parametrize(
    ("gloss", "definition", "examples", "unclear"),
    [
        ("a thing", "a thing", (), 0),
        ('food; "hot soup"; "cold soup"', "food", ("hot soup", "cold soup"), 0),
        ('lively; full of life; "a ball"', "lively; full of life", ("a ball",), 0),
        ('a range: "a gamut"', "a range", ("a gamut",), 0),
        ('fold, "Pleat the cloth"', "fold", ("Pleat the cloth",), 0),
        ('as in "carrot and stick"; "use the carrot;"', 'as in "carrot and stick"',
         ("use the carrot",), 0),
        ('(e.g.: "he said so") told', '(e.g.: "he said so") told', (), 0),
        ('free; "not original"- John Dewey; "new"', "free", ("not original", "new"), 0),
        ('reach; "Can he?" "The chair must"', "reach", ("Can he?", "The chair must"), 0),
        ('feel; "a feel" or "the feel";', "feel", ("a feel", "the feel"), 0),
        ('fix; "pin it". "pin that"', "fix", ("pin it", "pin that"), 0),
        ('begin; "Now," he began; "begin it"', "begin", ("begin it",), 1),
        ('old; "a jug"; often in pairs; "two jugs"', "old; often in pairs", ("a jug", "two jugs"), 0),
        ('burned; "a stove; "a wood stove"', "burned", (), 2),
        ('x; " ; "', "x", (), 0),
        ('"begins with it"', "", ("begins with it",), 0),
    ],
)  # fmt: skip
def test_a_gloss_by_hand(gloss, definition, examples, unclear):
    assert split_gloss(gloss) == (definition, examples, unclear)


@given(st.text(alphabet='ab ";,:.()-', max_size=40))
def test_no_word_of_an_example_is_invented(gloss):
    definition, examples, unclear = split_gloss(gloss)
    assert unclear >= 0
    assert all(example and example in gloss for example in examples)
    letters = sum(map(str.isalpha, definition + "".join(examples)))
    assert letters <= sum(map(str.isalpha, gloss))


def test_files_are_read_in_their_order_with_their_topics(wordnet):
    glosses = list(read_glosses(wordnet))
    assert [gloss.topic for gloss in glosses] == [
        "noun.food",
        "noun.Tops",
        "verb.consumption",
        "verb.communication",
        "adj.all",
        "adv.all",
    ]
    assert [gloss.definition for gloss in glosses] == [
        "liquid food",
        "a thing one can see",
        "take in food",
        "utter",
        "having heat",
        "take in food",
    ]
    assert [gloss.examples for gloss in glosses] == [
        ("the soup is hot", "a thin soup"),
        (),
        ("the soup is hot",),
        ("say it again",),
        (),
        (),
    ]
    assert [gloss.unclear for gloss in glosses] == [0, 0, 0, 1, 1, 0]


def test_the_version_stands_in_the_licence(wordnet):
    assert version_of(wordnet) == "3.0"
    (wordnet / "data.noun").write_text("00000100 13 n 01 soup 0 000 | food\n")
    assert version_of(wordnet) is None
    (wordnet / "data.noun").write_text("  only a licence\n")
    assert version_of(wordnet) is None


@pytest.mark.parametrize(
    "line",
    [
        "words without any form",
        "00000100 13 n 01 soup 0 000 no bar",
        "100 13 n 01 soup 0 000 | short offset",
        "00000100 13 q 01 soup 0 000 | odd part of speech",
        "{'json': 1} | text",
    ],
)
def test_a_line_that_is_no_synset_is_named(wordnet, line):
    path = wordnet / "data.verb"
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(
        InputError,
        match=rf"{re.escape(str(path))}, line 5 is .*expected a synset of WordNet .*give the folder",
    ):
        list(read_glosses(wordnet))


def test_a_file_number_that_does_not_exist(wordnet):
    path = wordnet / "data.adv"
    path.write_text("00000100 45 r 01 hotly 0 000 | in heat\n")
    with pytest.raises(
        InputError, match=r"data.adv, line 1 has the file number 45, expected 00 to 44"
    ):
        list(read_glosses(wordnet))


def test_a_missing_file(wordnet):
    (wordnet / "data.adj").unlink()
    with pytest.raises(
        InputError, match=r"There is no data.adj in .*, expected data.noun, data.verb"
    ):
        list(read_glosses(wordnet))


def test_a_file_that_cannot_be_read(wordnet):
    (wordnet / "data.adj").unlink()
    (wordnet / "data.adj").mkdir()
    with pytest.raises(InputError, match=r"data.adj cannot be read: Is a directory"):
        list(read_glosses(wordnet))


def test_bytes_that_are_no_utf8(wordnet):
    path = wordnet / "data.adj"
    path.write_bytes(path.read_bytes() + b"00000200 00 a 01 caf\xe9 0 000 | x\n")
    with pytest.raises(InputError, match=r"data.adj, line 4 is not UTF-8 \(byte 0xe9\)"):
        list(read_glosses(wordnet))
