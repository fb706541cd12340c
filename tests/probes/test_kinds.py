"""Arguments of the wrong kind: one line each, and no exception of the inside."""

from __future__ import annotations

import pytest

from cospace.errors import InputError
from cospace.probes import (
    Search,
    Split,
    carry_probe,
    extrinsic_bound,
    fit_probe,
    fixed_classifier,
    load_task,
    worst_case,
)

ROWS = [[float(i)] for i in range(-10, 10)]
LABELS = ["low"] * 10 + ["high"] * 10
SEEDS = [
    (-1, r"^rng is -1; a whole number, 0 or more, is expected\.$"),
    ("a", r"^rng is 'a'; a whole number, 0 or more"),
    (0.5, r"^rng is 0\.5; a whole number, 0 or more"),
]


@pytest.mark.parametrize(("rng", "says"), SEEDS)
def test_seeds_of_another_kind(rng, says):
    split = Split(tuple(map(str, range(0, 20, 2))), tuple(map(str, range(1, 20, 2))))
    for call in (
        lambda: fit_probe(ROWS, LABELS, rng=rng),
        lambda: fixed_classifier(target=ROWS, source=ROWS, labels=LABELS, rng=rng),
        lambda: carry_probe(target=ROWS, source=ROWS, labels=LABELS, split=split, rng=rng),
        lambda: Search(rng=rng),
        lambda: load_task("sentiment", rng=rng),
    ):
        with pytest.raises(InputError, match=says):
            call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: worst_case(target=ROWS, source=ROWS, cap="1"),
            r"^cap is '1'; a number is expected\.$",
        ),
        (
            lambda: worst_case(target=ROWS, source=ROWS, cap=None),
            r"^cap is None; a number is expected\.$",
        ),
        (lambda: load_task("sentiment", test="x"), r"^test is 'x'; a number is expected\.$"),
        (
            lambda: load_task("sentiment", limit=4.5),
            r"^limit is 4\.5; a whole number, or None, is expected\.$",
        ),
        (lambda: Search(random=1.5), r"^random is 1\.5; a whole number is expected\.$"),
        (lambda: Search(steps=None), r"^steps is None; a whole number is expected\.$"),
        (lambda: Search(classes="3"), r"^classes is '3'; a whole number, or None, is expected\.$"),
        (
            lambda: fit_probe(ROWS, LABELS, width=1.5),
            r"^width is 1\.5; a whole number, or None, is expected\.$",
        ),
        (
            lambda: fit_probe(ROWS, LABELS, ridge="1"),
            r"^ridge is '1'; a number, or None, is expected\.$",
        ),
        (
            lambda: fixed_classifier(target=ROWS, source=ROWS, labels=LABELS, width="1"),
            r"^width is '1'; a whole number, or None",
        ),
        (
            lambda: extrinsic_bound(norm="1", distance=1.0),
            r"^norm is '1'; a number is expected\.$",
        ),
    ],
)
def test_numbers_of_another_kind(call, says):
    with pytest.raises(InputError, match=says):
        call()
