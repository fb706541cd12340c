"""Two-choice scores and perplexity, against a decoder that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, UnknownNameError
from cospace.steering import (
    ChoiceScores,
    Contrast,
    SteeringCurve,
    SteeringVector,
    build,
    choice_scores,
    perplexity,
    steering_curve,
    sweep,
)
from cospace.steering.items import TEMPLATE, ChoiceItem


def share(decoder, item, joined):
    """P(matching) over both, from the whole distribution behind the prompt."""
    opening, closing = joined
    text = TEMPLATE.format(question=item.question, answer="" if opening else "(")
    logs = decoder.logs(decoder.encode([text])[0].ids)[-1]
    a, b = (
        decoder.number(f"{'(' * opening}{letter}{')' * closing}")
        for letter in (item.matching[1], item.other[1])
    )
    return np.exp(logs[a]) / (np.exp(logs[a]) + np.exp(logs[b]))


@pytest.mark.parametrize(
    ("cut", "joined"),
    [("apart", (0, 0)), ("opening", (1, 0)), ("closing", (0, 1)), ("whole", (1, 1))],
)
def test_the_letter_token_is_found_for_every_tokenizer(toy, items, cut, joined):
    decoder = toy(cut=cut)
    found = choice_scores(decoder, items)
    first = [share(decoder, item, joined) for item in items]
    second = [share(decoder, item.swapped(), joined) for item in items]
    assert np.allclose(found.as_written, first, rtol=0, atol=1e-12)
    assert np.allclose(found.swapped, second, rtol=0, atol=1e-12)
    assert found.score == pytest.approx(np.mean([first, second]))


def test_a_liking_for_a_letter_cancels(toy, items):
    """Fault: an order of options that is never changed, so that a letter's weight is read as will."""
    decoder = toy()
    decoder.encode(["A"])
    decoder.head[:, 0] = 0.0
    decoder.table[:, 0] = 1.0
    decoder.head[decoder.number("A"), 0] = 50.0
    found = choice_scores(decoder, items)
    assert found.first_letter > 0.99
    assert found.score == pytest.approx(0.5, abs=0.01)
    only_a = [item if item.matching == "(A)" else item.swapped() for item in items]
    assert np.mean(choice_scores(decoder, only_a).as_written) > 0.99


def test_mass_says_whether_the_letters_are_what_comes_next(toy, items):
    decoder = toy()
    low = choice_scores(decoder, items).mass
    for letter in "AB":
        decoder.head[decoder.number(letter)] = 0.0
    decoder.head[:, 0] = -50.0
    decoder.table[:, 0] = 1.0
    for letter in "AB":
        decoder.head[decoder.number(letter), 0] = 0.0
    assert low < 0.5
    assert choice_scores(decoder, items).mass > 0.99


def test_texts_are_compared_by_their_mean_log_probability(toy):
    decoder = toy()
    item = ChoiceItem("Which?\n\nChoices:\n (A) red wine\n (B) red cheese please", "(B)", "(A)")
    assert (item.stem, item.texts) == ("Which?", ("red cheese please", "red wine"))
    found = choice_scores(decoder, [item], answers="texts")
    means = []
    for text in item.texts:
        ids = decoder.encode([f"Which?\n\nAnswer: {text}"])[0].ids
        logs = decoder.logs(ids)[np.arange(len(ids) - 1), ids[1:]]
        # The common word red says nothing of the choice.
        means.append(logs[-(len(text.split()) - 1) :].mean())
    expected = np.exp(means[0]) / (np.exp(means[0]) + np.exp(means[1]))
    assert found.score == pytest.approx(expected)
    assert found.as_written == found.swapped == (found.score,)
    assert found.mass is found.first_letter is None
    assert choice_scores(decoder, [item.swapped()], answers="texts") == found
    with pytest.raises(UnknownNameError, match=r"'words' is not a way to compare answers"):
        choice_scores(decoder, [item], answers="words")


def test_perplexity_is_over_all_tokens_but_the_first(toy):
    decoder = toy()
    texts = ["one two three", "four"]
    logs = []
    for text in texts:
        ids = decoder.encode([text])[0].ids
        table = decoder.logs(ids)
        logs += [table[i, ids[i + 1]] for i in range(len(ids) - 1)]
    assert perplexity(decoder, texts) == pytest.approx(np.exp(-np.mean(logs)))
    assert len(logs) == 4


def letters(decoder, size=1.0):
    """A vector that helps A and hinders B."""
    ids = [decoder.encode([letter])[0].ids[1] for letter in "AB"]
    return SteeringVector(
        vector=size * (decoder.head[ids[0]] - decoder.head[ids[1]]),
        model="toy",
        weights_hash="toy-weights",
        site="block.1",
        blocks=4,
        method="mean_difference",
        token="letter",
        residual_norm=2.0,
        spread=1.5,
    )


def test_a_curve_follows_the_coefficient(toy, items):
    decoder = toy()
    only_a = [item if item.matching == "(A)" else item.swapped() for item in items]
    vector = letters(decoder)
    coefficients = [1.0, -1.0, 0.0, 0.5, -0.5, 2.0, -2.0]
    found = steering_curve(decoder, vector, only_a, coefficients, neutral=["one two three"])
    assert [p.coefficient for p in found.points] == sorted(coefficients)
    # Both orders are scored, so a vector of letters moves the two apart and not their mean.
    assert abs(found.span) < 0.2
    zero = next(p for p in found.points if p.coefficient == 0.0)
    assert zero.score == choice_scores(decoder, only_a).score
    assert zero.perplexity == perplexity(decoder, ["one two three"])
    assert found.points[0].perplexity != zero.perplexity
    for value in (-2.0, 0.5):
        with vector.applied(decoder, value, unit="spread"):
            expected = choice_scores(decoder, only_a).score
        assert next(p for p in found.points if p.coefficient == value).score == expected


def test_equal_relative_coefficients_mean_equal_norms(toy, items):
    decoder = toy(reads=True)
    short = letters(decoder)
    long = short.scaled(17.0)
    one = steering_curve(decoder, short, items, [0.3, 0.6])
    two = steering_curve(decoder, long, items, [0.3, 0.6])
    scores = [[p.score for p in each.points] for each in (one, two)]
    assert np.allclose(*scores, rtol=0, atol=1e-12)
    absolute = steering_curve(decoder, long, items, [0.3, 0.6], unit="vector")
    assert abs(absolute.points[0].score - scores[0][0]) > 1e-3


def curve(scores):
    points = [
        {"coefficient": float(i), "score": s, "mass": 1.0, "perplexity": None}
        for i, s in enumerate(scores)
    ]
    return SteeringCurve.from_dict(
        {
            "model": "m",
            "site": "block.0",
            "method": "pca",
            "unit": "spread",
            "answers": "letters",
            "points": points,
            "n": 3,
        }
    )


def test_rank_correlation_by_hand():
    assert curve([0.1, 0.2, 0.3]).spearman == pytest.approx(1.0)
    assert curve([0.1, 0.2]).spearman is None
    assert curve([0.1, 0.3, 0.2]).spearman == pytest.approx(0.5)
    assert curve([0.3, 0.3, 0.3]).spearman is None
    assert curve([0.1, 0.3, 0.2]).span == pytest.approx(0.1)


def test_random_directions_are_scored_at_both_ends(toy, items):
    """Fault: a span over questions alone, where any push of this size moves the score."""
    decoder = toy(reads=True)
    vector = letters(decoder)
    found = steering_curve(decoder, vector, items, [-0.5, 0.0, 1.0], draws=6, seed=4)
    rng = np.random.default_rng(4)
    for first, last in found.random:
        direction = rng.normal(size=vector.width)
        for value, score in ((-0.5, first), (1.0, last)):
            push = value * vector.spread * direction / np.linalg.norm(direction)
            with decoder.adding("block.1", push):
                assert choice_scores(decoder, items).score == pytest.approx(score, abs=1e-12)
    spans = [last - first for first, last in found.random]
    assert found.random_spans == tuple(spans)
    assert found.p_random == (1 + sum(span >= found.span for span in spans)) / 7
    assert found.to_dict()["p_random"] == found.p_random
    assert SteeringCurve.from_dict(found.to_dict()) == found
    from_zero = steering_curve(decoder, vector, items, [0.0, 1.0], draws=2)
    assert [first for first, _ in from_zero.random] == [from_zero.points[0].score] * 2
    assert steering_curve(decoder, vector, items, [1.0], draws=1).p_random is None
    assert steering_curve(decoder, vector, items, [0.0, 1.0]).p_random is None
    with pytest.raises(InputError, match="draws=-1 random directions were asked for"):
        steering_curve(decoder, vector, items, [1.0], draws=-1)


def test_results_are_kept(toy, items, tmp_path):
    decoder = toy()
    scores = choice_scores(decoder, items)
    scores.save(tmp_path / "s.json")
    assert ChoiceScores.load(tmp_path / "s.json") == scores
    assert scores.records()[3]["score"] == (scores.as_written[3] + scores.swapped[3]) / 2
    made = steering_curve(decoder, letters(decoder), items, [0.0, 1.0], neutral=["one two"])
    made.save(tmp_path / "c.json")
    again = SteeringCurve.load(tmp_path / "c.json")
    assert again == made
    assert again.to_dict()["spearman"] == made.spearman
    assert len(made.to_frame()) == 2


def test_what_cannot_be_scored_is_refused(toy, items):
    decoder = toy()
    with pytest.raises(InputError, match="No item was given to score"):
        choice_scores(decoder, [])
    with pytest.raises(InputError, match=r"is not one that ends with \{answer\}"):
        choice_scores(decoder, items, template="{answer}")
    with pytest.raises(InputError, match="The coefficients 1, 1: different numbers are needed"):
        steering_curve(decoder, letters(decoder), items, [1.0, 1.0])
    with pytest.raises(InputError, match="The coefficients are missing"):
        steering_curve(decoder, letters(decoder), items, [])
    with pytest.raises(InputError, match="No text has two tokens"):
        perplexity(decoder, [""])
    with pytest.raises(InputError, match=r"for toy .*and other has weights"):
        steering_curve(toy("other"), letters(decoder), items, [0.0])


def test_a_letter_without_a_prompt_is_refused(toy, items, monkeypatch):
    decoder = toy()
    plain = decoder.encode

    def bare(texts):
        return [type(t)(t.ids[-2:], t.special[-2:]) for t in plain(texts)]

    monkeypatch.setattr(decoder, "encode", bare)
    with pytest.raises(InputError, match="Item 0 has nothing before its answer"):
        choice_scores(decoder, [ChoiceItem("Q (A) red (B) blue", "(A)", "(B)")])


@pytest.mark.parametrize("method", ["mean_difference", "trimmed_difference", "pca", "probe"])
def test_a_vector_built_from_a_behaviour_moves_it(toy, method):
    """The behaviour is to answer red: steering goes by the word, whichever letter it has."""
    decoder = toy(width=16, seed=3, reads=True)

    def item(i):
        words = ("red", "blue") if i % 3 else ("blue", "red")
        letters = ("(A)", "(B)") if i % 3 else ("(B)", "(A)")
        return ChoiceItem(f"Word{i}? (A) {words[0]} (B) {words[1]}", *letters)

    made, held_out = [item(i) for i in range(20)], [item(i) for i in range(20, 30)]
    contrast = Contrast.of_items(made, both_orders=True)
    (vector,) = build(decoder, contrast, sites="block.1", method=method)
    found = steering_curve(decoder, vector, held_out, np.linspace(-1, 1, 7))
    assert found.spearman == pytest.approx(1.0)
    assert found.span > 0.5
    assert found.seen == 0
    # Steering on the questions that the vector was made from is said to be that.
    turned = [held_out[0], made[0], made[1].swapped()]
    assert steering_curve(decoder, vector, turned, [0.0]).seen == 2


def test_the_site_that_moves_the_score_is_found(toy, items):
    decoder = toy(width=16, seed=3, reads=True)
    vectors = build(decoder, Contrast.of_items(items), sites=["block.0", "block.1", "block.2"])
    best, curves = sweep(decoder, vectors, items, 0.2)
    spans = [curve.span for curve in curves]
    # What is added at other sites of the toy is not seen by its head.
    assert spans[0] == spans[2] == 0.0
    assert best.site == ("block.1" if spans[1] > 0 else "block.0")
    assert [curve.site for curve in curves] == ["block.0", "block.1", "block.2"]
    with pytest.raises(InputError, match=r"0 vectors and a coefficient of 0\.1 were given"):
        sweep(decoder, (), items, 0.1)
    with pytest.raises(InputError, match=r"1 vectors and a coefficient of 0 were given"):
        sweep(decoder, vectors[:1], items, 0)
