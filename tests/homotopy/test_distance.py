"""The affine distance as a user meets it: directions, groups, held-out rows, ids, refusals, files."""

from __future__ import annotations

import json

import numpy as np
import pytest

import cospace as cs
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.homotopy import AffineDistance, AffineMap, Errors, Interval, affine_distance
from cospace.homotopy.basis import Basis
from cospace.homotopy.minmax import minimise_maximum

ZERO = 1e-11


def rows(seed=0, n=60, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def turned(d=4, seed=5):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]


def test_it_is_a_public_name():
    assert cs.affine_distance is affine_distance
    assert cs.AffineDistance is AffineDistance


def test_a_line_through_three_heights_by_hand():
    """Heights 0, 0, 1 over 0, 1, 2: the line x / 2 - 1 / 4 misses each by 1 / 4; the radius is 1 / 2."""
    found = affine_distance(
        target=[[0.0], [0.0], [1.0]], source=[[0.0], [1.0], [2.0]], gap=1e-4, held_out=None
    )
    assert found.lower <= 0.25 <= found.upper
    assert found.upper == pytest.approx(0.25, rel=1e-4)
    assert found.radius.lower <= 0.5 <= found.radius.upper
    assert found.normalised.lower <= 0.5 <= found.normalised.upper
    assert found.matrix[0, 0] == pytest.approx(0.5, abs=1e-3)
    assert found.offset[0] == pytest.approx(-0.25, abs=1e-3)
    assert found.attaining >= 1
    assert found.closed


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_an_affine_image_is_at_distance_0_both_ways(shift):
    x = rows(n=200) + shift
    image = x @ rows(1, 4, 4) - 3.0
    for target, source in ((image, x), (x, image)):
        found = affine_distance(target=target, source=source)
        assert found.closed
        assert found.normalised.upper < ZERO * max(1.0, shift)
        assert found.held_out.maximum / found.radius.lower < 10 * ZERO * max(1.0, shift)
        assert found.rank_source == found.rank_target == 4


def test_a_copy_of_lower_rank_is_at_distance_0_one_way_only():
    x = rows(n=100, d=6)
    flat = x[:, :3] @ rows(1, 3, 6) + 2.0
    onto_flat = affine_distance(target=flat, source=x)
    onto_x = affine_distance(target=x, source=flat)
    assert onto_flat.normalised.upper < ZERO
    assert onto_x.normalised.lower > 0.3
    assert (onto_flat.rank_source, onto_flat.rank_target) == (6, 3)
    assert (onto_x.rank_source, onto_x.rank_target) == (3, 6)


def test_widths_may_differ():
    x = rows(n=100, d=5)
    found = affine_distance(target=x[:, :2] * 3.0, source=x)
    assert found.normalised.upper < ZERO
    assert found.matrix.shape == (5, 2)
    assert (found.width_source, found.width_target) == (5, 2)


@pytest.mark.parametrize("tails", ["gaussian", "heavy"])
def test_the_gap_is_reached_and_held_out_errors_stand_beside(noisy, tails):
    target, source = noisy(0, 500, 15, tails)
    found = affine_distance(target=target, source=source)
    assert found.closed
    assert found.upper <= 1.01 * found.lower + 1e-12
    assert (found.in_sample.n, found.held_out.n, found.trained_on) == (500, 100, 400)
    errors = np.linalg.norm(target - found.points(source), axis=1)
    assert found.upper == pytest.approx(errors.max(), rel=1e-9)
    assert found.in_sample.maximum == found.upper
    assert found.in_sample.mean == pytest.approx(errors.mean(), rel=1e-9)
    assert found.in_sample.p95 == pytest.approx(np.percentile(errors, 95), rel=1e-9)
    assert found.in_sample.p99 == pytest.approx(np.percentile(errors, 99), rel=1e-9)
    assert found.attaining == np.sum(errors >= found.lower)
    assert found.held_out.maximum > found.upper


def test_held_out_rows_are_not_fitted(noisy):
    """What happens to them changes nothing of the map that is scored on them."""
    target, source = noisy(1, 200, 5)
    first = affine_distance(target=target, source=source, rng=3)
    order = np.random.default_rng(3).permutation(200)
    held, kept = np.sort(order[:40]), np.sort(order[40:])
    alone = affine_distance(target=target[kept], source=source[kept], held_out=None)
    errors = np.linalg.norm(target[held] - alone.points(source[held]), axis=1)
    assert first.held_out.maximum == pytest.approx(errors.max(), rel=0.02)
    assert first.held_out.mean == pytest.approx(errors.mean(), rel=0.02)


def test_the_same_seed_gives_the_same_bytes(noisy):
    target, source = noisy(2, 150, 5, "heavy")
    one, two = (
        json.dumps(affine_distance(target=target, source=source, rng=1).to_dict()) for _ in range(2)
    )
    assert one == two
    other = affine_distance(target=target, source=source, rng=2)
    assert other.to_dict()["held_out"] != json.loads(one)["held_out"]
    assert other.upper == json.loads(one)["upper"]


def test_points_take_the_offset_and_directions_do_not():
    x = rows(n=80)
    found = affine_distance(target=x @ rows(1, 4, 4) + 100.0, source=x)
    one, two = x[:1], x[1:2]
    np.testing.assert_allclose(
        found.points(one) - found.points(two), found.directions(one - two), atol=1e-9
    )
    np.testing.assert_allclose(found.points(one), one @ found.matrix + found.offset, atol=1e-9)
    assert np.abs(found.directions(one)).max() < 50.0


def test_a_map_refuses_rows_of_another_width():
    found = affine_distance(target=rows(0), source=rows(1))
    with pytest.raises(InputError, match="points have width 3; this map takes rows of width 4"):
        found.points(rows(d=3))
    with pytest.raises(InputError, match="directions have width 9; this map takes rows of width 4"):
        found.directions(rows(d=9))


def test_rows_are_matched_by_id():
    x, y = rows(0, n=50), rows(1, n=50)
    ids = tuple(f"text-{i}" for i in range(50))
    order = np.random.default_rng(0).permutation(50)
    target = cs.Space(y, ids=ids, name="y")
    shuffled = cs.Space(x[order], ids=tuple(ids[i] for i in order), name="x")
    by_id = affine_distance(target=target, source=shuffled)
    plain = affine_distance(target=y, source=x)
    assert (by_id.lower, by_id.upper) == (plain.lower, plain.upper)
    assert by_id.settings["matched_by"] == "ids"
    assert by_id.worst_ids[0] == f"text-{plain.worst_ids[0]}"
    assert not [note for note in by_id.warnings if "position" in note]
    assert plain.settings["matched_by"] == "position"
    assert "matched by position" in plain.warnings[0]


def test_the_rows_that_attain_the_maximum_are_named(known):
    """24 rows come in pairs that no map can do better on; the others can be met better."""
    target, source = known(0, n=60)
    names = tuple(f"t{i}" for i in range(60))
    found = affine_distance(
        target=cs.Space(target, ids=names), source=cs.Space(source, ids=names), gap=1e-4
    )
    errors = np.linalg.norm(target - found.points(source), axis=1)
    assert found.worst_ids == tuple(f"t{i}" for i in np.argsort(-errors, kind="stable")[:10])
    assert len(found.worst_ids) == 10
    assert 10 <= found.attaining <= 60


def test_a_translation_by_hand():
    """Apart by (0, 0), (2, 0) and (1, 0): moved by (1, 0) the largest error is 1."""
    source = np.array([[0.0, 0.0], [5.0, 1.0], [3.0, -4.0]])
    target = source + np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    found = affine_distance(
        target=target, source=source, group="translation", gap=1e-4, held_out=None
    )
    assert found.lower <= 1.0 <= found.upper * (1 + 1e-12)
    assert found.closed
    assert found.matrix.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    np.testing.assert_allclose(found.offset, [1.0, 0.0], atol=1e-3)


def test_groups_are_nested():
    """Fewer maps, more distance: translations in orthogonal, low rank in affine."""
    x = rows(0, n=80)
    y = x @ turned() + 0.3 * rows(1, n=80)
    affine, orthogonal, shifted, low = (
        affine_distance(target=y, source=x, group=group, rank=rank)
        for group, rank in (
            ("affine", None),
            ("orthogonal", None),
            ("translation", None),
            ("low_rank", 2),
        )
    )
    assert affine.lower <= orthogonal.lower
    assert orthogonal.lower <= shifted.upper
    assert affine.lower <= low.lower
    assert affine.upper < low.upper
    np.testing.assert_allclose(orthogonal.matrix @ orthogonal.matrix.T, np.eye(4), atol=1e-10)
    assert np.linalg.matrix_rank(low.matrix, tol=1e-8) == 2


def test_a_rotation_is_found_and_is_0():
    x = rows(0, n=50)
    found = affine_distance(target=x @ turned() + 3.0, source=x, group="orthogonal")
    assert found.closed
    assert found.normalised.upper < 1e-7
    np.testing.assert_allclose(found.matrix, turned(), atol=1e-6)
    stretched = affine_distance(target=2.0 * x @ turned(), source=x, group="orthogonal")
    assert stretched.normalised.lower > 0.3


def test_a_narrower_source_keeps_its_distances():
    x = rows(0, n=50, d=3)
    wide = x @ turned(5)[:3] + 1.0
    found = affine_distance(target=wide, source=x, group="orthogonal")
    assert found.normalised.upper < 1e-7
    np.testing.assert_allclose(found.matrix @ found.matrix.T, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_no_rotation_of_the_plane_goes_below_the_lower_end(seed):
    """Tried one by one, each with its best offset; the upper end is attained, and no worse than Procrustes'."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(12, 2))
    y = x @ turned(2, seed) + 0.5 * rng.normal(size=(12, 2))
    found = affine_distance(target=y, source=x, group="orthogonal", held_out=None)
    best = np.inf
    for mirror in (1.0, -1.0):
        for angle in np.linspace(0.0, 2.0 * np.pi, 73):
            c, s = np.cos(angle), np.sin(angle)
            moved = x @ np.array([[c, s], [-s * mirror, c * mirror]])
            apart = minimise_maximum(y - moved, Basis.constant(12), gap=0.01)
            best = min(best, apart.upper)
    assert found.lower <= best
    assert found.upper <= best * 1.01
    u, _, vt = np.linalg.svd((x - x.mean(axis=0)).T @ (y - y.mean(axis=0)))
    rest = y - y.mean(axis=0) - (x - x.mean(axis=0)) @ u @ vt
    assert found.upper <= np.linalg.norm(rest, axis=1).max() * (1 + 1e-9)
    errors = np.linalg.norm(y - found.points(x), axis=1)
    assert found.upper == pytest.approx(errors.max(), rel=1e-9)


def test_an_open_interval_says_so():
    x, y = rows(0, n=40), rows(1, n=40)
    found = affine_distance(target=y, source=x, group="low_rank", rank=1, gap=1e-4)
    assert not found.closed
    assert found.lower < found.upper
    assert any("Low-rank maps form no convex set" in note for note in found.warnings)
    stopped = affine_distance(target=y, source=x, gap=1e-4, limit=2)
    assert not stopped.closed
    assert any("still open after 2 steps" in note for note in stopped.warnings)


def test_a_low_rank_image_is_found():
    x = rows(0, n=60, d=5)
    y = x[:, :2] @ rows(1, 2, 3)
    found = affine_distance(target=y, source=x, group="low_rank", rank=2)
    assert found.closed
    assert found.normalised.upper < 1e-7


def test_fewer_components_are_the_way_out_of_few_rows():
    x, y = rows(0, n=30, d=40), rows(1, n=30, d=3)
    with pytest.raises(
        UndefinedMeasureError,
        match=r"source has rank 29 on 30 rows: an affine map then meets every row whatever the target, "
        r".* At least 31 rows are needed",
    ):
        affine_distance(target=y, source=x)
    found = affine_distance(target=y, source=x, reduced=5)
    assert found.rank_source == 5
    assert found.settings["reduced"] == 5
    by_hand = affine_distance(target=y, source=cs.Space(x).reduce(5))
    assert found.lower == pytest.approx(by_hand.lower, rel=1e-6)


@pytest.mark.parametrize("n", [5, 6])
def test_rows_must_outnumber_the_rank(n):
    x, y = rows(0, n=n, d=4), rows(1, n=n, d=2)
    if n == 5:
        with pytest.raises(UndefinedMeasureError, match="source has rank 4 on 5 rows"):
            affine_distance(target=y, source=x)
        with pytest.raises(UndefinedMeasureError, match="the distance is 0 by dimension alone"):
            affine_distance(target=y, source=x, group="low_rank", rank=1)
    else:
        found = affine_distance(target=y, source=x)
        assert found.held_out is None
        assert found.trained_on is None
        assert any("No errors on held-out rows: of 6 rows 5 would be" in w for w in found.warnings)
        assert any("fewer than 5 times the rank" in w for w in found.warnings)


def test_a_source_of_low_rank_needs_fewer_rows():
    flat = rows(0, n=8, d=2) @ rows(1, 2, 20)
    found = affine_distance(target=rows(2, n=8, d=3), source=flat, held_out=None)
    assert found.rank_source == 2
    assert found.normalised.lower > 0.0


def test_a_constant_target_is_refused():
    with pytest.raises(
        UndefinedMeasureError, match="All 60 rows of target are the same: as a target it has no"
    ):
        affine_distance(target=np.full((60, 4), 0.1), source=rows(1))


def test_rows_that_do_not_match_are_refused():
    with pytest.raises(RowMismatchError, match="target has 60 rows and source has 59"):
        affine_distance(target=rows(0), source=rows(1, n=59))
    ids = tuple(map(str, range(60)))
    other = tuple(map(str, range(1, 61)))
    with pytest.raises(RowMismatchError, match="60 ids and b has 60, 59 of them shared"):
        affine_distance(
            target=cs.Space(rows(0), ids=ids, name="a"),
            source=cs.Space(rows(1), ids=other, name="b"),
        )
    with pytest.raises(RowMismatchError, match="a has ids and source has none"):
        affine_distance(target=cs.Space(rows(0), ids=ids, name="a"), source=rows(1))
    with pytest.raises(InputError, match="source has NaN or infinite entries in 1 of 60 rows"):
        affine_distance(
            target=rows(0), source=np.where(np.arange(240) == 7, np.nan, 1.0).reshape(60, 4)
        )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"gap": 0.0}, r"gap is 0.0; from 0.0001 to below 1 is expected"),
        ({"gap": 1.0}, r"gap is 1.0; from 0.0001 to below 1"),
        ({"group": "low_rank"}, r"group='low_rank' needs rank=, the most rank of a map"),
        ({"rank": 2}, r"group='affine' takes no rank: rank goes with group='low_rank'"),
        ({"group": "low_rank", "rank": 0}, "rank is 0; at least 1 is expected"),
        (
            {"group": "low_rank", "rank": 4},
            "rank is 4 and source has rank 4: such maps are all affine",
        ),
        ({"reduced": 0}, "reduced is 0; at least 1 principal component"),
        ({"held_out": 1.0}, "held_out is 1.0; a share of the rows between 0 and 1"),
        ({"held_out": 0.0}, "held_out is 0.0; a share"),
        ({"limit": 0}, "limit is 0; at least 1 step"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, says):
    with pytest.raises(InputError, match=says):
        affine_distance(target=rows(0), source=rows(1), **options)


def test_an_unknown_group_is_answered_with_the_nearest():
    with pytest.raises(
        UnknownNameError, match=r"'orthogonl' is not a group of maps\. Did you mean 'orthogonal'\?"
    ):
        affine_distance(target=rows(0), source=rows(1), group="orthogonl")


def test_widths_that_a_group_cannot_map_are_refused():
    with pytest.raises(
        InputError, match="source has width 5 and the target 4: a translation needs"
    ):
        affine_distance(target=rows(0), source=rows(1, d=5), group="translation")
    with pytest.raises(InputError, match="no orthogonal map leads to fewer coordinates"):
        affine_distance(target=rows(0), source=rows(1, d=5), group="orthogonal")


def test_too_few_rows_to_hold_out_are_told():
    found = affine_distance(target=rows(0, n=20), source=rows(1, n=20), held_out=0.01)
    assert found.held_out is None
    assert any("of 20 rows 20 would be left to fit and 0 to score" in w for w in found.warnings)


def test_repeated_rows_and_maps_that_do_not_carry_over_are_told(noisy):
    target, source = noisy(3, 100, 18, "heavy")
    twice = np.concatenate([np.arange(100), np.arange(10)])
    found = affine_distance(target=target[twice], source=source[twice])
    assert any("has 10 repeated rows of 110" in w for w in found.warnings)
    assert any("does not carry over to new texts" in w for w in found.warnings)


def test_a_distance_survives_its_file(tmp_path):
    x = rows(0, n=40)
    found = affine_distance(
        target=cs.Space(rows(1, n=40), name="y", facts={"model": "m"}), source=x
    ).with_provenance(command="cospace affine y x")
    path = tmp_path / "distance.json"
    found.save(path)
    again = AffineDistance.load(path)
    assert again == found
    assert again.matrix.tobytes() == found.matrix.tobytes()
    np.testing.assert_array_equal(again.points(x), found.points(x))
    assert again.provenance["command"] == "cospace affine y x"
    assert again.provenance["facts"]["target"] == {"model": "m"}
    assert list(tmp_path.iterdir()) == [path]


def test_a_dictionary_holds_everything_but_the_map():
    found = affine_distance(target=rows(1), source=rows(0))
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert data["kind"] == "affine_distance"
    assert "map" not in data
    again = AffineDistance.from_dict(data)
    assert again == found
    with pytest.raises(InputError, match="read from a dictionary, which holds no map"):
        _ = again.matrix
    again_file = again.to_dict()
    assert again_file == data


def test_one_record_and_a_frame():
    found = affine_distance(target=rows(1), source=rows(0))
    (row,) = found.records()
    assert (row["lower"], row["upper"], row["n"]) == (found.lower, found.upper, 60)
    assert row["held_out_maximum"] == found.held_out.maximum
    assert found.to_frame().shape == (1, len(row))
    (bare,) = affine_distance(target=rows(1), source=rows(0), held_out=None).records()
    assert bare["held_out_maximum"] is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lower": 9.0, "nonsense": 1}, "nonsense"),
        ({"radius": {"lower": 2.0, "upper": 1.0}}, "the lower end comes first"),
        ({"in_sample": {"n": 3}}, "missing"),
    ],
)
def test_a_changed_dictionary_is_refused(change, says):
    data = affine_distance(target=rows(1), source=rows(0)).to_dict()
    with pytest.raises(InputError, match=says):
        AffineDistance.from_dict({**data, **change})


def test_a_changed_file_is_refused(tmp_path):
    path = tmp_path / "distance.json"
    affine_distance(target=rows(1), source=rows(0)).save(path)
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "map": {"matrix": {"shape": [4, 4], "float64": "AAAA"}}}))
    with pytest.raises(InputError, match="is no whole affine_distance"):
        AffineDistance.load(path)
    with pytest.raises(InputError, match="cannot be written"):
        AffineDistance.from_dict(data).save(tmp_path / "gone" / "x.json")


def test_an_interval_has_its_ends_in_order():
    assert Interval(1.0, 1.0).upper == 1.0
    with pytest.raises(InputError, match=r"An interval from 2\.0 to 1\.0 is none"):
        Interval(2.0, 1.0)


def test_errors_are_summed_up_by_hand():
    found = Errors.of(np.array([1.0, 2.0, 3.0, 6.0]))
    assert (found.n, found.mean, found.maximum) == (4, 3.0, 6.0)
    assert found.p95 == pytest.approx(3.0 + 0.85 * 3.0)


def test_a_map_is_kept_about_its_centre():
    """Far from the origin an offset would lose the digits that the centre keeps."""
    far = AffineMap(np.eye(2) * 3.0, np.array([1e9, 1e9]), np.array([1.0, 2.0]))
    assert far.points([[1e9, 1e9 + 1.0]]).tolist() == [[1.0, 5.0]]
    again = AffineMap.from_dict(far.to_dict())
    assert again.matrix.tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert again.image.tolist() == [1.0, 2.0]


def test_progress_names_both_fits():
    told = []
    affine_distance(target=rows(1), source=rows(0), progress=lambda *step: told.append(step))
    assert any(what.startswith("without held-out rows: gap ") for what, _, _ in told)
    assert told[-1][0].startswith("all rows: gap ")
    assert told[-1][1:] == (100, 100)
    affine_distance(
        target=rows(1),
        source=rows(0),
        group="orthogonal",
        progress=lambda *step: told.append(step),
    )
    assert told[-1][2] == 100


def test_torch_rows_are_taken():
    import torch

    x, y = rows(0), rows(1)
    found = affine_distance(target=torch.tensor(y), source=torch.tensor(x))
    plain = affine_distance(target=y, source=x)
    assert (found.lower, found.upper) == pytest.approx((plain.lower, plain.upper), rel=1e-9)
    narrow = affine_distance(target=y.astype(np.float32), source=x.astype(np.float32))
    assert narrow.upper == pytest.approx(plain.upper, rel=0.02)
