"""Sources with small, nearly equal, badly scaled or no directions: the interval holds for all maps."""

from __future__ import annotations

import numpy as np
import pytest

import cospace as cs
from cospace.homotopy import affine_distance, affine_distances
from cospace.homotopy.basis import RTOL, Basis, Spread


def rows(seed=0, n=60, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def turned(d, seed=5):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def dropped(found):
    return [note for note in found.warnings if "dropped" in note]


@pytest.mark.parametrize("options", [{}, {"group": "low_rank", "rank": 1}, {"reduced": 2}])
@pytest.mark.parametrize("size", [1e7, 1e-7])
def test_a_column_of_another_scale_is_used(options, size):
    """The target is a column of the source, 10 million times smaller or larger than the other."""
    x = np.random.default_rng(24).normal(size=(60, 2))
    found = affine_distance(target=x[:, 1:], source=np.c_[x[:, 0] * size, x[:, 1]], **options)
    assert found.lower == 0.0
    assert found.upper < 1e-9
    assert found.rank_source == 2
    assert found.closed
    assert found.tolerance == RTOL
    assert not dropped(found)


@pytest.mark.parametrize("turn", [np.eye(6), turned(6)], ids=["along", "across"])
@pytest.mark.parametrize("size", [1e3, 1e5])
def test_one_direction_far_larger_than_the_others_costs_nothing(turn, size):
    x = rows(n=200, d=6)
    mixed = rows(1, 6, 6) * [size, 1, 1, 1, 1, 1] @ turn
    y = x @ mixed
    columns = np.linalg.norm(mixed, axis=0)  # their scale is free; what is left are digits of y
    digits = np.linalg.cond(mixed / columns) * np.finfo(float).eps
    for target, source in ((x, y), (y, x)):
        found = affine_distance(target=target, source=source)
        assert found.lower == 0.0
        assert found.normalised.upper < 20 * digits
        assert found.closed
        assert (found.rank_source, found.rank_target) == (6, 6)
    table = affine_distances([cs.Space(x, name="x"), cs.Space(y, name="y")])
    assert table.homotopy("x", "y").exact is True


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("noise", [1e-4, 1e-6, 1e-8])
def test_a_nearly_equal_column_is_used_as_well_as_it_can_be(line, seed, noise):
    """The program is solved on the difference of the columns, which floats hold exactly, at its own scale."""
    rng = np.random.default_rng(seed)
    x, target = rng.normal(size=(61, 4)), rng.normal(size=(61, 1))
    copy = x[:, 0] + noise * rng.normal(size=61)
    optimum = line(target, np.column_stack([x, (copy - x[:, 0]) / noise]))
    found = affine_distance(target=target, source=np.column_stack([x, copy]), gap=1e-4)
    assert found.lower <= optimum * (1.0 + 1e-9)
    assert optimum * (1.0 - 1e-9) <= found.upper <= optimum * (1.0 + 2e-4 + 1e-14 / noise)
    assert found.rank_source == 5
    assert found.closed


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [1e-4, 1e-7])
def test_nearly_equal_columns_and_a_target_of_three_coordinates(cone, seed, noise):
    rng = np.random.default_rng(seed)
    x, target = rng.normal(size=(25, 1)), rng.normal(size=(25, 3))
    copy = x + noise * rng.normal(size=(25, 1))
    low, high = cone(target, np.column_stack([x, (copy - x) / noise]))
    found = affine_distance(target=target, source=np.column_stack([x, copy]), gap=1e-3)
    assert found.lower <= high * (1.0 + 1e-9)
    assert low * (1.0 - 1e-9) <= found.upper <= high * (1.0 + 2e-3)
    assert found.rank_source == 2


@pytest.mark.parametrize("noise", [1e-8, 1e-9, 3e-10])
def test_what_can_just_be_told_from_rounding_is_not_claimed_to_be_proven(noise):
    """The target is the tiny difference of two columns: digits are lost, and the lower end admits it."""
    rng = np.random.default_rng(3)
    x, small = rng.normal(size=(60, 1)), rng.normal(size=(60, 1))
    copy = x + noise * small
    target = (copy - x) / noise
    found = affine_distance(target=target, source=np.column_stack([x, copy]))
    assert found.lower == 0.0
    assert found.normalised.upper < 1e-14 / noise
    assert found.rank_source == 2


@pytest.mark.parametrize(("noise", "said"), [(1e-12, 1), (1e-17, 0)])
def test_dropped_directions_are_told_unless_they_are_rounding(line, noise, said):
    rng = np.random.default_rng(7)
    x, target = rng.normal(size=(61, 4)), rng.normal(size=(61, 1))
    source = np.column_stack([x, x[:, 0] + noise * rng.normal(size=61)])
    found = affine_distance(target=target, source=source)
    assert found.rank_source == 4
    assert found.settings["dropped"] == said
    assert len(dropped(found)) == said
    if said:
        assert (
            "1 direction of source below 1e-10 of its first, but above rounding"
            in dropped(found)[0]
        )
        assert "the interval is that of maps that do not use them" in dropped(found)[0]
    optimum = line(target, x)
    assert found.lower <= optimum * (1 + 1e-9)
    assert optimum * (1 - 1e-9) <= found.upper


def test_rounding_of_rows_far_from_the_origin_is_no_direction():
    x = rows(n=100, d=3) @ rows(1, 3, 6) + 3000.0
    found = affine_distance(target=rows(2, 100), source=x)
    assert found.rank_source == 3
    assert not dropped(found)


def test_dropped_directions_of_an_orthogonal_map_count():
    """Rotations use all directions, so that none is missing from their interval."""
    x = rows(n=60, d=2)
    source = np.column_stack([x, x[:, 0] * (1.0 + 1e-12 * rows(3, 60, 1)[:, 0])])
    found = affine_distance(target=source @ turned(3), source=source, group="orthogonal")
    assert found.settings["dropped"] == 1
    assert not dropped(found)
    assert found.lower == 0.0
    assert found.normalised.upper < 1e-7


def test_a_copy_of_lower_rank_in_float32_is_0_one_way_only():
    x = rows(n=200, d=6)
    flat = (x[:, :3] @ rows(1, 3, 6)).astype(np.float32)
    onto_flat = affine_distance(target=flat, source=x)
    onto_x = affine_distance(target=x, source=flat)
    assert onto_flat.normalised.upper < 1e-6
    assert onto_x.normalised.lower > 0.3
    spaces = [cs.Space(x, name="x"), cs.Space(flat, name="flat")]
    assert affine_distances(spaces).homotopy("x", "flat").exact is False


def test_images_of_float32_rows_with_other_ranks_by_rounding_are_undecided():
    """Rank 2 in three and in five columns of float32: each is the other's image, ranks are rounding."""
    x = rows(n=200, d=2)
    narrow, wide = ((x @ rows(i, 2, i)).astype(np.float32) for i in (3, 5))
    table = affine_distances([cs.Space(narrow, name="a"), cs.Space(wide, name="b")])
    found = table.homotopy("a", "b")
    assert max(found.onto_a.upper, found.onto_b.upper) < 1e-6
    assert (found.rank_a, found.rank_b) == (3, 5)
    assert found.exact is None


def test_float16_rows_keep_their_rank():
    x = rows(n=100, d=3).astype(np.float16)
    assert affine_distance(target=rows(1, 100), source=x).rank_source == 3


@pytest.mark.parametrize("group", ["affine", "translation", "orthogonal"])
@pytest.mark.parametrize("value", [0.0, 0.1, 3e8])
def test_a_constant_source_gives_the_radius(group, value):
    """Heights 0, 0, 1: the middle, 1 / 2, is 1 / 2 from either end."""
    found = affine_distance(
        target=[[0.0], [0.0], [1.0]], source=[[value]] * 3, group=group, gap=1e-4, held_out=None
    )
    assert found.lower <= 0.5 <= found.upper * (1 + 1e-12)
    assert found.upper == pytest.approx(0.5, rel=1e-4)
    assert (found.normalised.lower, found.normalised.upper) == (1.0, 1.0)
    assert found.closed
    assert found.rank_source == 0
    assert any("All rows of source are the same: it tells nothing" in w for w in found.warnings)


def test_a_constant_source_scores_held_out_rows_too():
    found = affine_distance(target=rows(), source=np.ones((60, 2)))
    assert found.held_out.n == 12
    assert found.closed


def test_rank_of_columns_at_norm_1():
    x = rows(n=50, d=3) * [1e12, 1.0, 1e-12]
    spread = Spread.of(x, np.linalg.qr(x - x.mean(axis=0), mode="r"))
    assert (spread.rank, spread.dropped) == (3, 0)
    raw = Spread.of(x, np.linalg.qr(x - x.mean(axis=0), mode="r"), scaled=False)
    assert (raw.rank, raw.dropped) == (1, 1)
    basis = Basis.of(x)
    np.testing.assert_allclose((x - x.mean(axis=0)) @ basis.back, basis.q[:, :-1], atol=1e-12)


@pytest.mark.parametrize("group", ["affine", "low_rank", "orthogonal", "translation"])
def test_closed_is_a_plain_truth_value(group):
    rank = 2 if group == "low_rank" else None
    found = affine_distance(target=rows(0), source=rows(1), group=group, rank=rank)
    assert type(found.closed) is bool
