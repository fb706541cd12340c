"""How a completion is checked against the accepted answers of its prompt."""

from __future__ import annotations

import pytest

from cospace.routing.grading import accepted, is_right


@pytest.mark.parametrize(
    ("completion", "label", "right"),
    [
        (" Paris, which", "Paris", True),
        (" PARIS", "Paris", True),
        (" the city of Paris", "Paris", False),
        (" Parisian", "Paris", False),
        (" 12\n12 + 1", "12", True),
        (" 128", "12", False),
        (" twelve.", "12 | twelve", True),
        (" Fe", "iron", False),
        ("", "iron", False),
    ],
)
def test_how_an_answer_is_checked(completion, label, right):
    assert is_right(completion, label) is right


def test_the_length_of_an_answer_is_that_of_its_folded_form():
    """Fault: a letter that folds to two moves the place where the answer ends."""
    assert is_right("STRASSE.", "Straße")
    assert not is_right("Strassen", "Straße")


def test_a_label_names_its_answers():
    assert accepted("iron") == ("iron",)
    assert accepted("12 | twelve") == ("12", "twelve")
