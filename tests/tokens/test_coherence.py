"""Semantic coherence: graphs from their files, scores by hand, a planted relation found."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from scipy.stats import spearmanr

from cospace.errors import InputError, UndefinedMeasureError
from cospace.tokens import read_embeddings
from cospace.tokens.coherence import Coherence, coherence_scores, measure_coherence
from cospace.tokens.frequency import Frequencies
from cospace.tokens.graph import WordGraph, open_graph, read_conceptnet, read_wordnet

NOUNS = """\
  1 This software and database is provided by someone.
00000100 03 n 02 dog 0 domestic_dog 0 001 @ 00000200 n 0000 | a pet
00000200 03 n 03 animal 0 Beast 0 brute 0 000 | a living thing
"""
ADJECTIVES = "00000300 00 s 02 big(p) 0 large 0 001 & 00000100 n 0000 | of size\n"


@pytest.fixture
def wordnet(tmp_path):
    """Folder of a WordNet of three synsets."""
    texts = {"noun": NOUNS, "adj": ADJECTIVES, "verb": "", "adv": ""}
    for name, text in texts.items():
        (tmp_path / f"data.{name}").write_text(text)
    return tmp_path


def test_wordnet_joins_synonyms_and_pointers(wordnet):
    graph = read_wordnet(wordnet)
    assert set(graph.edges) == {"dog", "animal", "beast", "brute", "big", "large"}
    assert graph.edges["dog"] == {"animal", "beast", "brute", "big", "large"}
    assert graph.edges["large"] == {"big", "dog"}
    assert not graph.joined("large", "animal")


def test_wordnet_that_is_none(wordnet):
    (wordnet / "data.verb").write_text("no synset\n")
    with pytest.raises(InputError, match=r"data.verb, line 1 is no synset of WordNet"):
        read_wordnet(wordnet)
    (wordnet / "data.verb").unlink()
    with pytest.raises(InputError, match=r"data.verb cannot be read .*database files"):
        read_wordnet(wordnet)


@pytest.mark.parametrize("packed", [True, False])
def test_conceptnet_joins_english_words(tmp_path, packed):
    rows = [
        ("RelatedTo", "/c/en/dog/n", "/c/en/Cat"),
        ("RelatedTo", "/c/en/dog", "/c/fr/chien"),
        ("RelatedTo", "/c/en/dog", "/c/en/hot_dog"),
        ("FormOf", "/c/en/dogs", "/c/en/dog"),
        ("ExternalURL", "/c/en/dog", "http://example.org/dog"),
    ]
    text = "".join(f"/a/[...]\t/r/{r}\t{a}\t{b}\t{{}}\n" for r, a, b in rows)
    path = tmp_path / "assertions"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert set(read_conceptnet(path).edges) == {"dog", "cat", "dogs"}
    assert set(read_conceptnet(path, forms=False).edges) == {"dog", "cat"}


def test_conceptnet_that_is_none(tmp_path):
    (tmp_path / "odd").write_text("a\tb\n")
    with pytest.raises(InputError, match="line 1 has 2 columns; address, relation"):
        read_conceptnet(tmp_path / "odd")
    with pytest.raises(InputError, match="cannot be read"):
        read_conceptnet(tmp_path / "none")


def test_hand_worked_scores():
    graph = WordGraph.of([("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")])
    star, pair = coherence_scores(
        graph,
        ["a", "a", "d"],
        [["b", "c", "d", None], ["a", "a", "b", "c"], ["x", None, None, "a"]],
    )
    np.testing.assert_allclose(star, [2 / 4, 2 / 4, 0])
    # Pairs b-c and c-d; then a-b and a-c twice each, and b-c.
    np.testing.assert_allclose(pair, [2 / 6, 5 / 6, 0])


@pytest.fixture
def planted(checkpoint):
    """A model of 30 clusters of 20 words; in the first 15 they lie in few dimensions and are joined."""
    rng = np.random.default_rng(0)
    letters = [chr(97 + i) for i in range(26)]
    words = ["".join(w) for w in np.random.default_rng(1).choice(letters, size=(600, 6))]
    rows, pairs = np.empty((600, 20)), []
    for c in range(30):
        some = slice(20 * c, 20 * c + 20)
        width = 2 if c < 15 else 18
        spread = rng.normal(size=(20, width)) @ rng.normal(size=(width, 20)) / np.sqrt(width)
        rows[some] = 30 * rng.normal(size=20) + spread + 0.001 * rng.normal(size=(20, 20))
        if c < 15:
            pairs += [(a, b) for a in words[some] for b in words[some]]
        else:
            pairs += [(a, a) for a in words[some]]
    content = {
        "model": {"type": "BPE", "vocab": {f"Ġ{w.title()}": i for i, w in enumerate(words)}},
        "decoder": {"type": "ByteLevel"},
    }
    model = read_embeddings(checkpoint("m", content, rows), progress=False)
    return model, WordGraph.of(pairs, name="planted"), words


def test_a_planted_relation_is_found(planted):
    model, graph, words = planted
    found = measure_coherence(model, graph, tokens=200, k=8, dimension_k=15)
    assert (found.usable, found.tokens, found.graph) == (600, 200, "planted")
    assert found.star_spearman < -0.7
    assert found.pair_spearman < -0.7
    assert found.star_partial < -0.7
    assert (found.star_p, found.pair_p) == (0.01, 0.01)
    assert found.star > 0.3 > 0.1 > found.null_star
    assert {one.dimension for one in found.lowest} <= {1, 2}
    assert all(one.star == 1 for one in found.lowest)
    assert all(one.star == 0 for one in found.highest)
    first = found.lowest[0]
    assert first.text.strip().lower() == words[first.id]
    assert all(words.index(n.strip().lower()) // 20 == first.id // 20 for n in first.neighbours)


def test_a_graph_without_meaning_has_no_relation(planted):
    model, graph, words = planted
    shuffled = dict(zip(words, np.random.default_rng(5).permutation(words).tolist(), strict=True))
    pairs = [(shuffled[a], shuffled[b]) for a, others in graph.edges.items() for b in [a, *others]]
    found = measure_coherence(model, WordGraph.of(pairs), tokens=200, k=8, dimension_k=15)
    assert abs(found.star_spearman) < 0.25
    assert found.star_p > 0.05


def test_length_is_taken_out_of_both():
    from cospace.tokens.coherence import _partial

    rng = np.random.default_rng(6)
    z = rng.normal(size=400)
    x, y = z + 0.3 * rng.normal(size=400), z + 0.3 * rng.normal(size=400)
    a, b, c = spearmanr(x, y)[0], spearmanr(x, z)[0], spearmanr(y, z)[0]
    expected = (a - b * c) / np.sqrt((1 - b**2) * (1 - c**2))
    assert _partial(x, y, z) == pytest.approx(expected, abs=1e-12)
    assert a > 0.8 > 0.2 > abs(expected)


def test_round_trip_and_tables(planted, tmp_path):
    model, graph, _ = planted
    found = measure_coherence(model, graph, tokens=50, k=5, dimension_k=10, shuffles=3)
    found.save(tmp_path / "found.json")
    assert Coherence.load(tmp_path / "found.json") == found
    assert len(found.records()) == 20
    with pytest.raises(InputError, match="no semantic coherence that this version wrote"):
        Coherence.from_dict({"lowest": []})


def test_what_cannot_be_measured(planted):
    model, graph, words = planted
    with pytest.raises(InputError, match="k is 1, dimension_k 100 and shuffles 99; 2, 2 and 1"):
        measure_coherence(model, graph, k=1)
    with pytest.raises(
        UndefinedMeasureError, match="2 tokens of m are words of edges: at least 10"
    ):
        measure_coherence(model, WordGraph.of([(words[0], words[1])]))
    flat = measure_coherence(
        model, WordGraph.of([(w, w) for w in words]), tokens=30, k=5, dimension_k=10, shuffles=2
    )
    assert (flat.star_spearman, flat.star_p, flat.star) == (None, None, 0.0)


def test_a_graph_is_opened_by_what_it_is(wordnet, tmp_path, monkeypatch):
    assert open_graph(wordnet).name == "WordNet"
    (tmp_path / "assertions").write_text("/a\t/r/IsA\t/c/en/dog\t/c/en/pet\t{}\n")
    assert set(open_graph(str(tmp_path / "assertions")).edges) == {"dog", "pet"}
    with pytest.raises(InputError, match="There is no graph wordnett: 'wordnet', a folder of"):
        open_graph("wordnett")
    root = tmp_path / "root"
    monkeypatch.setattr("cospace.corpora.keeping.ROOT", root)
    (root / "usr/share").mkdir(parents=True)
    installed = root / "usr/share/wordnet"
    installed.mkdir()
    for name in ("noun", "verb", "adj", "adv"):
        (installed / f"data.{name}").write_text((wordnet / f"data.{name}").read_text())
    assert open_graph("wordnet", progress=False).edges == read_wordnet(wordnet).edges


def test_frequency_and_length_are_taken_out_together():
    from cospace.tokens.coherence import _partial

    rng = np.random.default_rng(7)
    z, f = rng.normal(size=(2, 500))
    x, y = z + f + 0.3 * rng.normal(size=500), z - f + 0.3 * rng.normal(size=500)
    ranks = np.argsort(np.argsort(np.stack([x, y, z, f]), axis=1), axis=1)
    precision = np.linalg.inv(np.corrcoef(ranks))
    expected = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
    assert _partial(x, y, z, f) == pytest.approx(expected, abs=1e-12)
    assert _partial(x, y, f, np.zeros(500)) == pytest.approx(_partial(x, y, f), abs=1e-12)


def test_a_relation_that_is_frequency_alone_vanishes_with_it(planted):
    model, graph, _ = planted
    counts = 7 * np.repeat(np.arange(30) < 15, 20)
    options = {"tokens": 200, "k": 8, "dimension_k": 15, "shuffles": 2}
    found = measure_coherence(
        model, graph, frequencies=Frequencies("a text", int(counts.sum()), counts), **options
    )
    assert (found.frequency, found.star_spearman < -0.7) == ("a text", True)
    assert found.frequency_spearman < -0.7
    assert found.star_partial < -0.7
    # Frequency says which words are joined: nothing is left of the score.
    assert found.star_both is None
    assert 50 < found.unseen < 150
    assert measure_coherence(model, graph, **options).star_both is None
    with pytest.raises(InputError, match="Frequencies of 3 tokens were given, and m has 600 rows"):
        measure_coherence(model, graph, frequencies=Frequencies("t", 0, np.zeros(3, int)))
