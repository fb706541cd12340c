"""Whether the parts of a saved result go together."""

from __future__ import annotations

import pytest

from cospace.errors import ContradictionError, InputError
from cospace.whole import (
    check_lengths,
    check_names,
    check_once,
    check_order,
    check_p,
    check_pairs,
)

PAIRS = [(a, b) for a in "abc" for b in "abc" if a != b]


def test_what_goes_together_is_let_through():
    check_pairs(PAIRS, "abc", "here", ordered=True)
    check_pairs([("b", "a"), ("a", "c"), ("c", "b")], "abc", "here", ordered=False)
    check_order("here", low=None, middle=1.0, high=1.0)
    check_order("here", slack=1e-9, low=3e-15, high=1e-15)
    check_p("here", p=0.0, q=1.0, r=None)


@pytest.mark.parametrize(
    ("check", "told"),
    [
        (lambda: check_pairs(PAIRS[1:], "abc", "at 1", ordered=True), "at 1: a to b is missing"),
        (
            lambda: check_pairs([*PAIRS, ("b", "c")], "abc", "at 1", ordered=True),
            "at 1: b to c is there 2 times",
        ),
        (
            lambda: check_pairs([("a", "b"), ("b", "a")], "ab", "at 1", ordered=False),
            "at 1: a to b is there 2 times",
        ),
        (
            lambda: check_pairs([("a", "b"), ("a", "a")], "ab", "at 1", ordered=False),
            "at 1: a is compared with itself",
        ),
        (lambda: check_pairs([("a", "x")], "ab", "at 1", ordered=False), "x is none of a, b"),
        (lambda: check_names(["x"], ["a"], "routing"), "routing: x is none of a"),
        (lambda: check_once("aba", "models"), "models: a is there 2 times"),
        (lambda: check_order("here", low=2.0, high=1.0), "here: low 2 is above high 1"),
        (
            lambda: check_order("here", low=2.0, middle=None, high=1.0),
            "here: low 2 is above high 1",
        ),
        (lambda: check_p("here", p=1.5), r"here: p is 1\.5, which is no probability"),
    ],
)
def test_what_does_not_go_together_is_told(check, told):
    with pytest.raises(ContradictionError, match=told) as found:
        check()
    assert isinstance(found.value, InputError)


def test_lists_that_go_together_are_as_long_as_each_other():
    check_lengths("here", [1, 2], other=("a", "b"))
    with pytest.raises(
        ContradictionError, match=r"^here: other has 1 entries where 2 are expected$"
    ):
        check_lengths("here", [1, 2], other=[3])
