"""Vectors from contrasts, read at the right tokens."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, UndefinedMeasureError
from cospace.models.batching import Tokens
from cospace.steering import Contrast, build
from cospace.steering.build import _kept, first_difference, read_states

POSITIVE = ["one two (three)", "four (five)", "six seven eight", "nine"]
NEGATIVE = ["two three", "five one two (three)", "eight", "four six nine"]


def by_hand(decoder, text, token):
    ids = decoder.encode([text])[0].ids
    states = decoder.all_states(ids, "block.1")
    return {"last": states[-1], "mean": states[1:].mean(axis=0)}[token]


@pytest.mark.parametrize("token", ["last", "mean"])
def test_states_are_read_at_the_tokens_of_the_text_itself(toy, token):
    """Fault: the last position of a padded batch, or a mean over what the tokenizer added."""
    decoder = toy()
    contrast = Contrast(POSITIVE, NEGATIVE, token=token)
    p, q = read_states(decoder, contrast, ["block.1"])["block.1"]
    assert np.allclose(p, [by_hand(decoder, text, token) for text in POSITIVE])
    assert np.allclose(q, [by_hand(decoder, text, token) for text in NEGATIVE])
    (vector,) = build(decoder, contrast, sites="block.1")
    assert np.allclose(vector.vector, p.mean(axis=0) - q.mean(axis=0))
    norms = np.linalg.norm(np.vstack([p, q]), axis=1)
    assert vector.residual_norm == pytest.approx(norms.mean())
    both = np.vstack([p, q])
    spread = np.sqrt(np.mean(np.sum((both - both.mean(axis=0)) ** 2, axis=1)))
    assert vector.spread == pytest.approx(spread)
    assert vector.warnings == ()
    assert vector.provenance["positive"] == 4
    assert (vector.model, vector.weights_hash, vector.site) == ("toy", "toy-weights", "block.1")


@pytest.mark.parametrize("cut", ["apart", "opening", "closing", "whole"])
def test_the_letter_is_found_whatever_the_tokenizer_makes_of_its_brackets(toy, items, cut):
    """Fault: a fixed token number, where some tokenizers join the letter with a bracket."""
    decoder = toy(cut=cut)
    contrast = Contrast.of_items(items)
    p, _ = read_states(decoder, contrast, ["block.0"])["block.0"]
    for i, item in enumerate(items):
        tokens = decoder.encode([contrast.positive[i]])[0].ids
        words = decoder.cut.findall(contrast.positive[i])
        letter = item.matching[1]
        place = max(j for j, word in enumerate(words) if letter == word.strip("()")) + 1
        assert np.allclose(p[i], decoder.all_states(tokens, "block.0")[place])


@pytest.mark.parametrize("method", ["mean_difference", "trimmed_difference", "pca", "probe"])
def test_sites_come_in_their_order(toy, items, method):
    contrast = Contrast.of_items(items)
    found = build(toy(), contrast, sites=["block.2", 0.25, "embed"], method=method)
    assert [vector.site for vector in found] == ["embed", "block.0", "block.2"]
    assert {vector.method for vector in found} == {method}
    assert -1 <= found[0].provenance["cosine_to_mean_difference"] <= 1 + 1e-12


def test_both_orders_cancel_what_tells_the_letters_apart(toy, items):
    """Answers that are all (A) give the direction of the letter, unless both orders are read."""
    one = [item if item.matching == "(A)" else item.swapped() for item in items]
    decoder = toy()
    letters = [decoder.number(letter) for letter in "AB"]
    direction = decoder.table[letters[0]] - decoder.table[letters[1]]
    (single,) = build(decoder, Contrast.of_items(one), sites="block.1")
    assert single.vector @ direction > 0.9 * single.norm * np.linalg.norm(direction)
    with pytest.raises(UndefinedMeasureError, match="the same mean state"):
        build(decoder, Contrast.of_items(one, both_orders=True), sites="block.1")


def test_huge_coordinates_are_named(toy):
    """Fault: massive activations that rule a mean direction, unnoticed."""
    decoder = toy()
    decoder.table[decoder.number("nine")][2] = 1e4
    contrast = Contrast(["one nine", "two nine"], ["one two", "two three"])
    (vector,) = build(decoder, contrast, sites="block.1")
    assert vector.provenance["dominant"] == [2]
    assert "in each of the coordinates 2" in vector.warnings[0]


def test_a_norm_that_a_constant_coordinate_rules_is_named(toy):
    """Fault: coefficients relative to a norm that one huge, constant coordinate rules."""
    decoder = toy()
    decoder.table[:, 3] = 1e3
    (vector,) = build(decoder, Contrast(POSITIVE, NEGATIVE), sites="block.1")
    assert vector.residual_norm > 100 * vector.spread
    assert "times their spread about their mean" in vector.warnings[0]


@pytest.mark.parametrize(
    ("special", "token", "kept"),
    [
        ([0, 0, 0], "mean", [0, 1, 1]),
        ([1, 0, 0], "mean", [0, 1, 1]),
        ([0, 0, 1], "mean", [0, 1, 0]),
        ([0, 1], "mean", [1, 0]),
        ([0, 0, 1], "last", [0, 1, 0]),
    ],
)
def test_a_mean_leaves_the_attention_sink_out(special, token, kept):
    """Fault: the first token, whose huge state rules the mean."""
    text = Tokens(np.arange(len(special)), np.array(special, dtype=bool))
    assert _kept(text, token, 0).tolist() == [bool(k) for k in kept]


def test_texts_that_cannot_be_told_apart_are_refused(toy):
    decoder = toy()
    with pytest.raises(InputError, match="The two texts of pair 1 have the same tokens"):
        build(decoder, Contrast(["a b", "c"], ["a d", "c e"], "letter"), sites="embed")
    with pytest.raises(InputError, match="Text 3 has no token of its own"):
        build(decoder, Contrast(["a", "b"], ["c", ""]), sites="embed")
    one, two = decoder.encode(["a b c", "a d c"])
    assert first_difference(one, two, "") == 2
