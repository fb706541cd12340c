"""Arguments of the wrong kind: one line each, and no exception of the inside."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError
from cospace.homotopy import (
    affine_distance,
    affine_distances,
    hausdorff_hoare,
    legacy_distance,
    rank_correlation,
    rank_sweep,
    truncated,
    truncation_grid,
)
from cospace.space import Space


def rows(seed=0, n=60, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


WRONG = [
    ({"rng": -1}, r"^rng is -1; a whole number, 0 or more, is expected\.$"),
    ({"rng": "a"}, r"^rng is 'a'; a whole number, 0 or more"),
    ({"rng": None}, r"^rng is None; a whole number"),
    ({"rng": 1.5}, r"^rng is 1\.5; a whole number"),
    ({"rng": True}, r"^rng is True; a whole number"),
    ({"gap": "1"}, r"^gap is '1'; a number is expected\.$"),
    ({"gap": None}, r"^gap is None; a number is expected\.$"),
    ({"gap": float("nan")}, "^gap is nan; from 0.0001 to below 1 is expected"),
    ({"group": "low_rank", "rank": "2"}, r"^rank is '2'; a whole number, or None, is expected\.$"),
    ({"group": "low_rank", "rank": 1.5}, r"^rank is 1\.5; a whole number"),
    ({"reduced": 1.5}, r"^reduced is 1\.5; a whole number, or None, is expected\.$"),
    ({"held_out": "a"}, r"^held_out is 'a'; a number, or None, is expected\.$"),
    ({"limit": 2.5}, r"^limit is 2\.5; a whole number is expected\.$"),
]


@pytest.mark.parametrize(("options", "says"), WRONG)
def test_options_of_another_kind(options, says):
    with pytest.raises(InputError, match=says):
        affine_distance(target=rows(0), source=rows(1), **options)
    with pytest.raises(InputError, match=says):
        affine_distances([Space(rows(0), name="a"), Space(rows(1), name="b")], **options)


def test_numbers_of_numpy_are_numbers():
    found = affine_distance(
        target=rows(0),
        source=rows(1),
        gap=np.float32(0.01),
        group="low_rank",
        rank=np.int64(2),
        reduced=np.int32(3),
        rng=np.int64(1),
    )
    assert found.rank_source == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rng": -1}, "^rng is -1; a whole number, 0 or more"),
        ({"batch": "8"}, "^batch is '8'; a whole number is expected"),
        ({"epochs": 1.5}, r"^epochs is 1\.5; a whole number is expected"),
        ({"rates": ("a",)}, "^rate is 'a'; a number is expected"),
        ({"rates": (float("nan"),)}, "^batch is 128, epochs 20, rates .nan,.; at least 1 row"),
        ({"rates": 0.1}, "^rates are 0.1; a list of learning rates is expected"),
    ],
)
def test_options_of_the_recipe(options, says):
    with pytest.raises(InputError, match=says):
        legacy_distance(target=rows(0), source=rows(1), **options)


@pytest.mark.parametrize(
    "call",
    [
        affine_distances,
        truncation_grid,
        lambda encoders: hausdorff_hoare(targets=encoders, sources=encoders),
    ],
)
def test_arrays_in_place_of_spaces(call):
    with pytest.raises(
        InputError, match=r"^Encoder 0 is of type ndarray; a space is expected, which has a name: "
    ):
        call([rows(0), rows(1)])
    with pytest.raises(InputError, match=r"^Encoder 1 is of type str; a space is expected"):
        call([Space(rows(0), name="a"), "b"])
    with pytest.raises(InputError, match=r"^Encoders are one Space; several spaces are expected"):
        call(Space(rows(0), name="a"))


def test_tolerances_and_shares():
    with pytest.raises(InputError, match=r"^tolerance is 'a'; a number is expected\.$"):
        rank_sweep(rows(0), ["a"])
    with pytest.raises(InputError, match=r"^tolerances are 0\.1; a list of them is expected"):
        rank_sweep(rows(0), 0.1)
    with pytest.raises(InputError, match=r"^share is '1'; a number is expected\.$"):
        truncated(Space(rows(0)), "1")
    with pytest.raises(InputError, match=r"^share is '1'; a number is expected\.$"):
        truncation_grid([Space(rows(0), name="a"), Space(rows(1), name="b")], ["1"])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "^The mappability of b is nan; a finite number is expected: leave b out"),
        (float("inf"), "^The mappability of b is inf; a finite number"),
        (None, "^The mappability of b is None; a number is expected"),
    ],
)
def test_values_that_cannot_be_ordered(value, says):
    ranks = {"a": 1, "b": 2, "c": 3}
    with pytest.raises(InputError, match=says):
        rank_correlation(ranks, {"a": 0.1, "b": value, "c": 0.3})
    with pytest.raises(InputError, match=r"^The rank of b is nan"):
        rank_correlation({**ranks, "b": float("nan")}, {"a": 0.1, "b": 0.2, "c": 0.3})
    with pytest.raises(InputError, match=r"^rng is -1; a whole number"):
        rank_correlation(ranks, {"a": 0.1, "b": 0.2, "c": 0.3}, rng=-1)
