"""What tokens are, and which of two vocabularies are the same text."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cospace.errors import AcquisitionError, InputError, UnknownNameError
from cospace.tokens.matching import match, text_kind
from cospace.tokens.normal import NormalForm, marker_of, normal_form
from cospace.tokens.vocabulary import read_vocabulary

MARKERS = ("byte_level", "sentencepiece", "unigram", "wordpiece")


@pytest.fixture
def read(families, tmp_path):
    """A function: vocabulary of a family, with this many rows beyond its tokens."""

    def make(family, spare=0):
        tokenizer = families[family]()
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        rows = max(tokenizer.get_vocab().values()) + 1 + spare
        return tokenizer, read_vocabulary(tmp_path, rows)

    return make


@pytest.mark.parametrize("family", MARKERS)
def test_tokens_are_those_of_the_tokenizers_library(read, family):
    tokenizer, found = read(family)
    assert found.tokens == tuple(tokenizer.id_to_token(i) for i in range(len(found)))
    assert found.rowless == 0


@pytest.mark.parametrize("family", ["byte_level", "sentencepiece"])
def test_text_is_what_the_tokenizer_decodes(read, family):
    """Fault: marker characters (Ġ, ▁) taken for text."""
    tokenizer, found = read(family)
    seen = 0
    for i in found.ids("used"):
        form = found.forms[i]
        text = (" " if form.initial else "") + form.text.decode()
        assert tokenizer.decode([int(i)], skip_special_tokens=False) == text
        seen += 1
    assert seen > 20


@pytest.mark.parametrize("family", ["byte_level", "sentencepiece", "unigram", "wordpiece"])
def test_words_have_one_form_in_every_family(read, family):
    _, found = read(family)
    forms = {found.forms[i] for i in found.ids("used")}
    for word in ("the", "river", "é"):
        assert NormalForm(word.encode(), True) in forms
        assert NormalForm(word.encode(), False) in forms


def test_hand_worked_forms():
    assert normal_form("Ġ", "byte_level") == (b"", True) == normal_form("▁", "sentencepiece")
    assert normal_form("ĠĠĠ", "byte_level") == (b"  ", True) == normal_form("▁▁▁", "sentencepiece")
    assert (
        normal_form("Ċ", "byte_level") == (b"\n", False) == normal_form("<0x0A>", "sentencepiece")
    )
    assert normal_form("ä¸Ń", "byte_level") == ("中".encode(), False)
    assert normal_form("中", "wordpiece") == ("中".encode(), None)
    assert normal_form("<tool_call>\u3000", "byte_level") == ("<tool_call>\u3000".encode(), False)
    assert normal_form("##", "wordpiece") == (b"##", None)
    assert normal_form("don", "wordpiece", prefix="@@") == (b"don", True)
    assert normal_form("@@t", "wordpiece", prefix="@@") == (b"t", False)
    with pytest.raises(UnknownNameError, match=r"'bytelevel' is not a way to mark words. Did you"):
        normal_form("a", "bytelevel")


def test_every_byte_has_one_sign():
    from tokenizers import pre_tokenizers

    forms = {normal_form(sign, "byte_level") for sign in pre_tokenizers.ByteLevel.alphabet()}
    texts = {b" " if form.initial else form.text for form in forms}
    assert texts == {bytes([byte]) for byte in range(256)}


@pytest.mark.parametrize("spare", [0, 28])
def test_rows_are_classified_wherever_they_stand(read, spare):
    """Fault: 32 128 rows for 32 100 tokens, taken for tokens; spare rows in the middle or at the front."""
    _, found = read("wordpiece", spare)
    assert [found.tokens[i] for i in found.ids("special")] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    reserved = found.ids("reserved")
    assert [found.tokens[i] for i in reserved[:2]] == ["[unused0]", "[unused1]"]
    assert reserved[:2].tolist() == [1, 2]
    assert len(reserved) == 2 + spare == found.counts()["reserved"]
    assert len(found.nameless) == spare
    assert sum(found.counts().values()) == len(found)
    _, found = read("sentencepiece", spare)
    assert found.ids("reserved")[0] == 2
    assert found.counts()["undecodable"] == 128
    _, found = read("byte_level", spare)
    assert found.ids("special").tolist() == [0]
    assert found.ids("reserved")[0] == 1
    assert found.counts()["undecodable"] == 128


def test_rows_missing_inside_the_vocabulary(tmp_path):
    content = {
        "model": {"type": "BPE", "vocab": {"Ġa": 0, "Ġb": 2, "Ġc": 7}},
        "pre_tokenizer": {"type": "ByteLevel"},
        "added_tokens": [{"id": 4, "content": "<|im_start|>", "special": False}],
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    found = read_vocabulary(tmp_path, 6)
    assert found.nameless.tolist() == [1, 3, 5]
    assert found.ids("used").tolist() == [0, 2]
    assert found.ids("special").tolist() == [4]
    assert found.rowless == 1
    assert (found.text(0), found.text(1), found.text(4)) == (" a", "[row 1]", "<|im_start|>")


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("[unused12]", True),
        ("<unused7>", True),
        ("<extra_id_99>", True),
        ("<|reserved_special_token_3|>", True),
        ("<SPECIAL_41>", True),
        ("[control_8]", True),
        ("<|placeholder1|>", True),
        (">>UNUSED_12<<", True),
        ("madeupword0002", True),
        ("unused", False),
        ("Ġreserved", False),
        ("<table>", False),
        ("[1]", False),
        ("<special>", False),
    ],
)
def test_names_of_reserved_tokens(tmp_path, name, reserved):
    content = {
        "model": {"type": "BPE", "vocab": {"Ġa": 0}},
        "decoder": {"type": "ByteLevel"},
        "added_tokens": [{"id": 1, "content": name, "special": False}],
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    found = read_vocabulary(tmp_path, 2)
    assert found.ids("reserved").tolist() == ([1] if reserved else [])


@pytest.mark.parametrize("one", MARKERS)
@pytest.mark.parametrize("other", MARKERS)
def test_words_match_across_families(read, one, other):
    (_, a), (_, b) = read(one), read(other)
    found = match(a, b)
    assert len(set(found.ids_a)) == len(set(found.ids_b)) == len(found)
    words = {a.text(i): b.text(j) for i, j in zip(found.ids_a, found.ids_b, strict=True)}
    assert {" river", "river", " the", " é"} <= set(words)
    assert all(
        x.strip() == y.strip() and (x == y or not x.strip().isalpha() or x.strip() in ("A", "水"))
        for x, y in words.items()
    )
    assert sum(found.kinds.values()) == len(found)
    assert (found.kinds["word"], found.kinds["piece"]) >= (10, 10)
    back = match(b, a)
    assert sorted(zip(back.ids_b, back.ids_a, strict=True)) == sorted(
        zip(found.ids_a, found.ids_b, strict=True)
    )


def test_a_text_written_twice_is_matched_once(read):
    """Fault: a letter and its byte token counted as two shared tokens."""
    _, a = read("sentencepiece")
    _, b = read("byte_level")
    found = match(a, b)
    texts = [a.tokens[i] for i in found.ids_a]
    assert "A" in texts
    assert "<0x41>" not in texts
    assert "<0x42>" in texts
    assert found.repeats_a == 3  # the bytes of A, of the comma, and of the space
    assert found.repeats_b == 0
    assert found.candidates_a == a.counts()["used"]


def test_punctuation_that_tells_no_place_is_matched_without_its_space(read):
    """Fault: the comma of WordPiece compared with ' ,', or its unused '##,' with ','."""
    _, a = read("wordpiece")
    _, b = read("sentencepiece")
    for one, other in ((a, b), (b, a)):
        found = match(one, other)
        pairs = {
            (one.tokens[i], other.tokens[j])
            for i, j in zip(found.ids_a, found.ids_b, strict=True)
            if "," in one.tokens[i]
        }
        assert pairs == {(",", ",")}


def test_bytes_that_are_no_text_match_on_request(read):
    (_, a), (_, b) = read("sentencepiece"), read("byte_level")
    found = match(a, b, classes=("undecodable",))
    assert found.kinds == {"bytes": 128}
    assert a.forms[found.ids_a[5]].text == b.forms[found.ids_b[5]].text
    with pytest.raises(
        UnknownNameError, match="'special' is not a class of tokens that have a text"
    ):
        match(a, b, classes=("special",))


def test_kinds_of_text():
    kinds = {
        "word": (b"the", True),
        "piece": (b"ing", False),
        "number": (b"1999", True),
        "mark": (b"...", False),
        "space": (b"\n\n", False),
        "mixed": (b"3rd", True),
        "bytes": (b"\xc3", False),
    }
    for kind, form in kinds.items():
        assert text_kind(NormalForm(*form)) == kind
    assert text_kind(NormalForm("हिन्दी".encode(), True)) == "word"


def test_vocabularies_without_a_common_token(tmp_path, plain):
    (tmp_path / "tokenizer.json").write_text(json.dumps(plain(5)))
    a = read_vocabulary(tmp_path, 5)
    (tmp_path / "tokenizer.json").write_text(json.dumps(plain(5, first=9)))
    with pytest.raises(
        InputError, match="share no token that is used: there is nothing to compare"
    ):
        match(a, read_vocabulary(tmp_path, 5))


def test_tokenizers_that_cannot_be_read(tmp_path):
    with pytest.raises(AcquisitionError, match=r"holds no tokenizer.json: save it with"):
        read_vocabulary(tmp_path, 5)
    for content in ("{", "[]", '{"model": {}}', '{"model": {"vocab": [1]}}'):
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(AcquisitionError, match=r"cannot be read .*fetch it again"):
            read_vocabulary(tmp_path, 5)
    with pytest.raises(InputError, match=r"marks the ends of words \('</w>'\)"):
        marker_of({"model": {"type": "BPE", "end_of_word_suffix": "</w>"}})
    with pytest.raises(InputError, match=r"\(WordLevel\) marks words is not known"):
        marker_of({"model": {"type": "WordLevel"}})


@pytest.mark.weights
def test_packaged_vocabularies():
    from cospace.models.embeddings import read_embeddings

    found = {}
    for name in ("minilm", "mpnet"):
        matrix = read_embeddings(name, progress=False)
        found[name] = read_vocabulary(matrix.weights.folder, matrix.input.shape[0])
    # The second keeps the first's vocabulary four places further, behind its own special tokens.
    assert found["minilm"].counts() == {
        "used": 29523,
        "special": 5,
        "reserved": 994,
        "undecodable": 0,
    }
    assert found["mpnet"].counts() == {
        "used": 29523,
        "special": 10,
        "reserved": 994,
        "undecodable": 0,
    }
    matched = match(found["minilm"], found["mpnet"])
    assert len(matched) == 29523
    assert np.unique(matched.ids_b - matched.ids_a).tolist() == [4]


def test_other_sizes_and_other_padding_ids_are_told_and_do_not_shift_tokens(tmp_path, plain):
    """Fault: two vocabularies of one family, of 800 and 428 tokens, compared id by id."""
    found = []
    for pad, size in ((0, 428), (3, 800)):
        content = plain(size)
        content["model"]["vocab"] = {f"Ġt{i}": i + (i >= pad) for i in range(size)}
        content["added_tokens"] = [{"id": pad, "content": "<pad>", "special": True}]
        (tmp_path / "tokenizer.json").write_text(json.dumps(content))
        found.append(read_vocabulary(tmp_path, size + 1))
    assert [each.ids("special").tolist() for each in found] == [[0], [3]]
    matched = match(*found)
    assert len(matched) == 428
    assert (matched.candidates_a, matched.candidates_b) == (428, 800)
    for i, j in zip(matched.ids_a, matched.ids_b, strict=True):
        assert found[0].tokens[i] == found[1].tokens[j]
    assert matched.ids_a[0] != matched.ids_b[0]
