"""Undertrained tokens: indicators, lists of others, and the denominators of both."""

from __future__ import annotations

import gzip
import json
from itertools import combinations

import numpy as np
import pytest

from cospace.errors import InputError, UndefinedMeasureError
from cospace.tokens import read_embeddings, read_vocabulary
from cospace.tokens.reference import read_reference
from cospace.tokens.undertrained import (
    Undertrained,
    find_undertrained,
    indicators_of,
    recovery,
)


@pytest.fixture
def planted(checkpoint, plain):
    """A function: model of 500 tokens, 20 of them untrained, and 10 spare rows like these."""

    def make(*, tied):
        rng = np.random.default_rng(0)
        common = rng.normal(size=16)
        x = rng.normal(size=(510, 16)) + 0.5
        x[500:] = common + 0.05 * rng.normal(size=(10, 16))
        x[100:120] = (common if tied else 0.01) + 0.05 * rng.normal(size=(20, 16))
        output = None if tied else rng.normal(size=(510, 16))
        return read_embeddings(checkpoint("m", plain(500), x, output=output), progress=False)

    return make


@pytest.mark.parametrize("tied", [True, False])
def test_planted_tokens_are_found(planted, tied):
    found = find_undertrained(planted(tied=tied), percent=4)
    assert found.indicator == ("distance to unused" if tied else "input norm")
    assert found.candidates["indicator"] == tuple(range(100, 120))
    assert (found.tokens, found.unused) == (500, 10)
    assert found.tying == ("tied" if tied else "untied")


def test_indicators_by_hand(checkpoint, plain):
    x = np.array([[3.0, 4], [0, 2], [1, 0], [0, 0], [0, 1]])
    embeddings = read_embeddings(checkpoint("m", plain(4), x), progress=False)
    vocabulary = read_vocabulary(embeddings.weights.folder, 5)
    found = indicators_of(embeddings, vocabulary)
    assert found.unused.tolist() == [4]
    np.testing.assert_allclose(found.values, [0.2, 0, 1, 0, 0], atol=1e-15)
    far = found.variants["distance to unused, Euclidean"]
    np.testing.assert_allclose(far, [np.sqrt(18), 1, np.sqrt(2), 1, 0], atol=1e-15)
    other = indicators_of(embeddings, vocabulary, unused=[2])
    np.testing.assert_allclose(other.values, [0.4, 1, 0, 0, 1], atol=1e-15)
    untied = read_embeddings(checkpoint("u", plain(4), x, output=x + 1), progress=False)
    np.testing.assert_allclose(indicators_of(untied, vocabulary).values, [5, 2, 1, 0, 1])


@pytest.mark.parametrize(
    ("tokens", "candidates", "listed", "hits", "recall", "precision", "lift"),
    [
        (128_256, 13_967, 2_225, 924, 0.415, 0.066, 3.8),
        (50_257, 3_581, 967, 106, 0.110, 0.0296, 1.5),
    ],
)
def test_published_counts(tokens, candidates, listed, hits, recall, precision, lift):
    """Fault: counts that differ because the denominators are not named."""
    one = np.arange(candidates)
    other = np.arange(candidates - hits, candidates - hits + listed)
    found = recovery(one, other, tokens)
    assert (found.candidates, found.listed, found.hits) == (candidates, listed, hits)
    assert found.recall == pytest.approx(recall, abs=5e-4)
    assert found.precision == pytest.approx(precision, abs=5e-4)
    assert found.lift == pytest.approx(lift, abs=0.05)
    assert found.p < 1e-4


def test_chance_is_that_of_all_lists():
    drawn = [recovery(some, [0, 1, 2], 7) for some in combinations(range(7), 3)]
    assert np.mean([one.hits for one in drawn]) == pytest.approx(drawn[0].expected)
    two = next(one for one in drawn if one.hits == 2)
    assert two.p == pytest.approx(np.mean([one.hits >= 2 for one in drawn]))
    assert (two.jaccard, two.lift) == (0.5, pytest.approx(2 / 3 / (3 / 7)))
    none = recovery([], [], 7)
    assert (none.precision, none.recall, none.lift, none.jaccard, none.p) == (None,) * 4 + (1.0,)


@pytest.fixture
def listed(tmp_path):
    """Verifications in magikarp's format, compressed."""
    lines = [
        {"i": 101, "category": "OK", "verification": [{"max_prob": 1e-5}, {"max_prob": 0.004}]},
        {"i": 102, "category": "OK", "verification": [{"max_prob": 1e-5}, {"max_prob": 0.5}]},
        {"i": 300, "category": "OK", "max_prob": 0.0001},
        {"i": 505, "category": "OK_SPECIAL", "max_prob": 0.0001},
        {"i": 7, "category": "OK", "indicators": [0.5]},
    ]
    path = tmp_path / "list.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return path


def test_lists_of_others_with_both_denominators(planted, listed):
    reference = read_reference(listed)
    assert reference.tested.tolist() == [101, 102, 300, 505]
    assert reference.verified.tolist() == [101, 300, 505]
    apart = [*range(100, 110), 400]
    found = find_undertrained(planted(tied=True), apart=apart, reference=reference, percent=4)
    assert found.left_out == {"tested": 1, "verified": 1}
    scores = {(one.method, one.reference): one for one in found.recoveries}
    assert scores["indicator", "tested"].recall == pytest.approx(2 / 3)
    assert scores["indicator", "verified"].recall == pytest.approx(1 / 2)
    assert scores["apart", "tested"].precision == pytest.approx(2 / 11)
    assert scores["apart", "verified"].listed == 2
    agreed = scores["apart", "indicator"]
    assert (agreed.hits, agreed.jaccard) == (10, 10 / 21)
    assert len(found.records()) == 5


def test_plain_files_and_thresholds(tmp_path, listed):
    plainly = tmp_path / "list.jsonl"
    plainly.write_bytes(gzip.decompress(listed.read_bytes()))
    assert read_reference(plainly, threshold=1.0).verified.tolist() == [101, 102, 300, 505]


def test_a_token_that_is_listed_twice_alike_counts_once(tmp_path):
    (tmp_path / "list").write_text('{"i": 3, "max_prob": 1.0000001}\n' * 2)
    assert read_reference(tmp_path / "list").tested.tolist() == [3]


def test_round_trip(planted, tmp_path):
    found = find_undertrained(planted(tied=False), apart=[1, 2])
    found.save(tmp_path / "found.json")
    assert Undertrained.load(tmp_path / "found.json") == found
    with pytest.raises(InputError, match="no list of undertrained tokens that this version wrote"):
        Undertrained.from_dict({"candidates": {}})


def test_what_cannot_be_answered(planted, checkpoint, plain, tmp_path):
    embeddings = planted(tied=True)
    with pytest.raises(InputError, match="percent is 0; a number between 0 and 100"):
        find_undertrained(embeddings, percent=0)
    with pytest.raises(InputError, match="Token 510 has no row: rows are 0 to 509"):
        find_undertrained(embeddings, apart=[510])
    with pytest.raises(InputError, match="Unused row 900 does not exist"):
        find_undertrained(embeddings, unused=[900])
    x = np.random.default_rng(1).normal(size=(30, 4))
    full = read_embeddings(checkpoint("full", plain(30), x), progress=False)
    with pytest.raises(UndefinedMeasureError, match=r"full is tied and has no reserved rows, nor"):
        find_undertrained(full)
    x[29] = -x[28]
    null = read_embeddings(checkpoint("null", plain(30), x), progress=False)
    with pytest.raises(UndefinedMeasureError, match="unused rows have the mean 0"):
        find_undertrained(null, unused=[28, 29])
    with pytest.raises(InputError, match="9 tokens are listed out of 5"):
        recovery(np.arange(9), [1], 5)
    with pytest.raises(InputError, match="threshold is 0; a probability above 0"):
        read_reference(tmp_path / "none", threshold=0)
    with pytest.raises(InputError, match="cannot be read"):
        read_reference(tmp_path / "none")
    for text, said in (
        ('{"i": 3}\n', "holds no token that was tested"),
        ('{"i": 3, "max_prob": 0.1}\n[1]\n', r"Line 2 of .* is no token with its id"),
        ('{"max_prob": 0.1}\n', r"Line 1 of .* is no token"),
        ('{"i": 3, "max_prob": NaN}\n', r"Line 1 of .* gives token 3 the max_prob nan; a prob"),
        ('{"i": 3, "max_prob": 0.1}\n{"i": 4, "max_prob": 1.1}\n', r"Line 2 of .* max_prob 1.1;"),
        ('{"i": 3, "max_prob": -0.1}\n', r"token 3 the max_prob -0.1; a probability from 0 to 1"),
        (
            '{"i": 3, "verification": [{"max_prob": 0.5}, {"max_prob": NaN}]}\n',
            r"Line 1 of .* token 3 the max_prob nan",
        ),
        (
            '{"i": 3, "max_prob": 0.1}\n{"i": 3, "max_prob": 0.001}\n',
            r"Line 2 of .* token 3 the max_prob 0.001, and a line before it 0.1: leave one of them",
        ),
    ):
        (tmp_path / "odd").write_text(text)
        with pytest.raises(InputError, match=said):
            read_reference(tmp_path / "odd")


@pytest.mark.parametrize("tied", [True, False])
def test_indicators_do_not_depend_on_how_many_rows_are_held(planted, monkeypatch, tied):
    embeddings = planted(tied=tied)
    vocabulary = read_vocabulary(embeddings.weights.folder, 510)
    whole = indicators_of(embeddings, vocabulary)
    monkeypatch.setattr("cospace.tokens.undertrained._ROWS", 64)
    parts = indicators_of(embeddings, vocabulary)
    np.testing.assert_allclose(parts.values, whole.values, rtol=1e-12)
    for name, values in whole.variants.items():
        np.testing.assert_allclose(parts.variants[name], values, rtol=1e-12)
