"""What is said of a push before its scores are believed."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, UndefinedMeasureError
from cospace.steering import SteeringVector, continuations, steering_curve
from cospace.steering.reach import BROKEN, check_reach, named_tokens, side_effect, unknown_items


def made(**change):
    row = np.array([3.0, 0.0, 4.0, 0.0, 0.0, 0.0])
    told = ("toy", "toy-weights", "block.1", 4, "mean_difference", "letter", 20.0, 10.0)
    return SteeringVector(row, *told, **change)


@pytest.mark.parametrize(
    ("positions", "more", "missed"),
    [
        ([0], 0, 0),
        ([3], 0, 1),
        ([3], 1, 0),
        ([-1], 0, 0),
        ([-4], 0, 1),
        (slice(3, None), 0, 1),
        (slice(0, 1), -1, 0),
    ],
)
def test_texts_that_positions_miss_are_counted(positions, more, missed):
    found = check_reach(positions, [3, 5], more=more)
    assert len(found) == bool(missed)
    assert all(f"in {missed} of 2 texts: these are not steered" in one for one in found)


@pytest.mark.parametrize(
    ("positions", "more", "words"),
    [
        (
            [5],
            0,
            "The positions 5 name no token that is read in any of 2 texts, of 3 to 5 tokens: ",
        ),
        ([-6, 9], 0, "The positions -6, 9 name no token"),
        ([-1], -1, "of which the last is never read: nothing would be steered"),
        (slice(7, None), 1, "The positions 7: name no token"),
    ],
)
def test_positions_outside_all_texts_are_refused(positions, more, words):
    with pytest.raises(InputError, match=words):
        check_reach(positions, [3, 5], more=more)


def test_a_token_is_named_once(toy):
    assert named_tokens([0, -1]).only == (0, -1)
    with pytest.raises(InputError, match="The positions 0, 2, 0 name a token twice"):
        named_tokens([0, 2, 0])
    with (
        pytest.raises(InputError, match="name a token twice"),
        made().applied(toy(), positions=[1, 1]),
    ):
        pass


def test_the_library_refuses_what_steers_nothing(toy, items):
    decoder = toy()
    decoder.max_tokens = None
    with pytest.raises(InputError, match="The positions 99999 name no token"):
        steering_curve(decoder, made(), items, [-1.0, 1.0], positions=99999)
    with pytest.raises(InputError, match="of which the last is never read"):
        steering_curve(decoder, made(), items, [1.0], positions=-1, answers="texts")
    with pytest.raises(InputError, match="The positions 50 name no token"):
        continuations(decoder, ["one two"], len, vector=made(), coefficients=[1], positions=50)
    with pytest.raises(InputError, match=r"positions=\[0\] were given without a vector"):
        continuations(decoder, ["one two"], len, positions=[0])


def test_a_broken_model_is_told_from_one_that_is_worse():
    assert side_effect({0.0: 20.0, 1.0: 20.0 * BROKEN, -1.0: None}) == ()
    assert side_effect({1.0: 1e9}) == ()
    (said,) = side_effect({-3.0: 201.0, 0.0: 20.0, 3.0: float("nan")})
    assert said.startswith(
        "At -3, 3 the perplexity of neutral text is more than 10 times that at 0"
    )


def test_a_vector_that_does_not_say_its_questions_is_told(toy, items):
    """Fault: an emptied provenance, and the questions that it was made from scored as unseen."""
    curve = steering_curve(toy(), made(), items, [-1.0, 1.0])
    assert "does not say which questions it was made from" in curve.warnings[0]
    known = made(provenance={"items": []})
    assert steering_curve(toy(), known, items, [-1.0, 1.0]).warnings == ()
    assert len(unknown_items({"items": None})) == 1


def test_a_push_without_an_end_is_refused(toy, items):
    decoder = toy()
    decoder.next_log_probs = lambda texts, letters: np.full((len(texts), 2), np.nan)
    with pytest.raises(UndefinedMeasureError, match="gives no probabilities any more at the coef"):
        steering_curve(decoder, made(), items, [1.0])
