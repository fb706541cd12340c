"""Blocks of several models, from rows, moments, and with texts missing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import cospace as cs
from cospace.errors import InputError, UndefinedMeasureError
from cospace.shared.blocks import Blocks


@pytest.mark.parametrize("scaling", ["none", "standardize", "drop:1", "whiten:0.5"])
def test_moments_in_batches_give_the_blocks_of_the_rows(spaces, scaling):
    one = Blocks.of_rows(spaces, scaling=scaling, width=4)
    cuts = [0, 3, 90, 200]
    moments = cs.Moments.accumulate(
        {name: x[a:b] for name, x in spaces.items()} for a, b in itertools.pairwise(cuts)
    )
    other = Blocks.of_moments(moments, scaling=scaling, width=4)
    assert one.names == other.names
    turn = []
    for a, b in zip(one.encoders, other.encoders, strict=True):
        turn.append(np.sign(np.sum(a.matrix * b.matrix, axis=0)))
    sign = np.concatenate(turn)
    assert np.allclose(one.whole, other.whole * sign[:, None] * sign, rtol=0, atol=1e-10)
    assert other.counts == one.counts == (200,) * 4


def test_a_block_is_the_product_of_encoded_rows_over_the_number_of_models(spaces):
    blocks = Blocks.of_rows(spaces, width=5)
    a, b = (blocks.encoders[i](spaces[f"m{i}"]) for i in (1, 3))
    assert np.allclose(blocks.cross(1, 3), a.T @ b / 4, rtol=0, atol=1e-12)
    assert all(np.trace(own) == pytest.approx(1.0) for own in blocks.own)
    assert not blocks.shift.any()


def test_narrowed_blocks_are_those_of_fewer_coordinates(spaces):
    one = Blocks.of_rows(spaces, scaling="standardize", width=6).narrowed(3)
    other = Blocks.of_rows(spaces, scaling="standardize", width=3)
    assert np.allclose(one.whole, other.whole, rtol=0, atol=1e-12)
    for a, b in zip(one.encoders, other.encoders, strict=True):
        assert np.allclose(a.matrix, b.matrix, rtol=0, atol=1e-12)


def test_a_model_of_lower_rank_gets_its_rank(spaces):
    low = spaces["m1"][:, :2] @ np.ones((2, 9)) + 1e-3 * spaces["m1"][:, :1]
    blocks = Blocks.of_rows({**spaces, "low": low}, width=5)
    assert blocks.widths == (5, 5, 5, 5, 1)


def masks(n, models, seed=0):
    rng = np.random.default_rng(seed)
    return {f"m{m}": rng.random(n) > 0.3 for m in range(models)}


def loss_of_rows(rows, present, maps, shift):
    """Summed squared distance from the mean of each text, plainly, over texts."""
    total = 0.0
    n = len(next(iter(present.values())))
    place = {name: np.cumsum(mask) - 1 for name, mask in present.items()}
    for i in range(n):
        there = [
            rows[name][place[name][i]] @ maps[name] + shift[name]
            for name in rows
            if present[name][i]
        ]
        if there:
            total += float(np.sum((np.array(there) - np.mean(there, axis=0)) ** 2))
    return total


def test_blocks_with_texts_missing_give_the_loss_of_rows_with_the_best_translations(spaces):
    present = masks(200, 4)
    rows = {name: x[present[name]] for name, x in spaces.items()}
    blocks = Blocks.of_rows(rows, width=5, present=present)
    encoded = {e.name: e(rows[e.name]) for e in blocks.encoders}
    rng = np.random.default_rng(0)
    stacked = [rng.normal(size=(5, 3)) for _ in range(4)]
    whole = np.concatenate(stacked)
    short = sum(
        np.trace(r.T @ own @ r) for r, own in zip(stacked, blocks.own, strict=True)
    ) - np.trace(whole.T @ blocks.whole @ whole)
    shift = blocks.shift @ whole
    maps = dict(zip(encoded, stacked, strict=True))
    at = dict(zip(encoded, shift, strict=True))
    assert loss_of_rows(encoded, present, maps, at) == pytest.approx(short, rel=1e-9)
    for name in encoded:  # no other translation is better
        for axis in range(3):
            for step in (-1e-3, 1e-3):
                moved = {k: v.copy() for k, v in at.items()}
                moved[name][axis] += step
                assert loss_of_rows(encoded, present, maps, moved) > short


def test_a_text_weighs_one_over_the_models_that_have_it(planted):
    x = planted(models=2, n=12, k=2)
    present = {"m0": np.arange(12) < 10, "m1": np.arange(12) >= 2}
    rows = {name: x[name][present[name]] for name in x}
    blocks = Blocks.of_rows(rows, width=2, present=present)
    a, b = (e(rows[e.name]) for e in blocks.encoders)
    plain = a[2:].T @ b[:8] / 2
    pull = np.array([[0.0], [0.0]])
    among = np.array([[10 - 2 - 4, -4], [-4, 4]])
    h = np.array([np.r_[a[:2].sum(0) + a[2:].sum(0) / 2, b[:8].sum(0) / 2]])
    k = np.array([np.r_[a[2:].sum(0) / 2, b[8:].sum(0) + b[:8].sum(0) / 2]])
    pull = np.concatenate([h, k])
    wanted = plain + (pull.T @ np.linalg.pinv(among) @ pull)[:2, 2:]
    assert np.allclose(blocks.cross(0, 1), wanted, rtol=0, atol=1e-12)


def test_full_masks_change_nothing(spaces):
    full = {name: np.ones(200, dtype=bool) for name in spaces}
    one, other = (Blocks.of_rows(spaces, width=4, present=p) for p in (None, full))
    assert np.allclose(one.whole, other.whole, rtol=0, atol=1e-12)


def test_blocks_that_cannot_be_are_refused(spaces):
    with pytest.raises(InputError, match="1 model was given; a shared space is of at least 2"):
        Blocks.of_rows({"a": spaces["m0"]}, width=2)
    with pytest.raises(InputError, match=r"different numbers of rows \(m0 200, m1 150\)"):
        Blocks.of_rows({"m0": spaces["m0"], "m1": spaces["m1"][:150]}, width=2)
    half = np.arange(200) < 100
    with pytest.raises(InputError, match="m0 has 200 rows, and its mask tells of 100 in 200"):
        Blocks.of_rows(
            {"m0": spaces["m0"], "m1": spaces["m1"]},
            width=2,
            present={"m0": half, "m1": np.ones(200, dtype=bool)},
        )
    with pytest.raises(UndefinedMeasureError, match="fall into parts that share no text"):
        Blocks.of_rows(
            {"m0": spaces["m0"][half], "m1": spaces["m1"][~half]},
            width=2,
            present={"m0": half, "m1": ~half},
        )
