"""Spaces: rows with identity, what may be done to them, and how they are matched."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import array_api_strict
import numpy as np
import pytest
import torch

from cospace._arrays import to_numpy
from cospace.errors import InputError, RowMismatchError
from cospace.linalg import numerical_rank
from cospace.space import Space, align_rows, matched

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(6, 4)) + 3
IDS = tuple("abcdef")


@pytest.fixture(params=[np.asarray, torch.asarray, array_api_strict.asarray])
def library(request):
    return request.param


def test_what_a_space_holds():
    space = Space(ROWS, ids=list("abcdef"), name="m", groups=[1, 1, 2, 2, 3, 3], facts={"depth": 1})
    assert (space.n, space.width, space.ids) == (6, 4, IDS)
    assert space.groups == ("1", "1", "2", "2", "3", "3")
    assert space.facts["depth"] == 1
    with pytest.raises(TypeError, match="does not support item assignment"):
        space.facts["depth"] = 2
    with pytest.raises(FrozenInstanceError, match="rows"):
        space.rows = ROWS


def test_columns_have_the_length_of_the_rows():
    with pytest.raises(InputError, match="m has 6 rows but 5 ids: one for each row"):
        Space(ROWS, ids="abcde", name="m")
    with pytest.raises(InputError, match="m has 6 rows but 2 groups: one for each row"):
        Space(ROWS, groups=("x", "y"), name="m")


def test_rows_are_checked_under_the_name_of_the_space():
    with pytest.raises(InputError, match="m has NaN or infinite entries in 1 of 2 rows"):
        Space([[1.0], [np.nan]], name="m")


def test_an_id_names_one_row():
    with pytest.raises(RowMismatchError, match="m has the id 'b' more than once"):
        Space(ROWS, ids="abcdeb", name="m")


def test_fingerprint_tells_rows_types_shapes_and_ids_apart(library):
    space = Space(library(ROWS), ids=IDS)
    assert space.fingerprint == Space(ROWS.copy(order="F"), ids=IDS, name="other").fingerprint
    others = (
        Space(ROWS),
        Space(ROWS, ids="abcdfe"),
        Space(ROWS[::-1], ids=IDS),
        Space(ROWS.astype(np.float32), ids=IDS),
        Space(ROWS.reshape(4, 6)),
        Space(ROWS.reshape(12, 2)),
    )
    assert len({space.fingerprint, *(other.fingerprint for other in others)}) == 7


def test_taking_rows_by_id(library):
    space = Space(library(ROWS), ids=IDS, groups="xxyyzz", name="m").take(["e", "a"])
    np.testing.assert_array_equal(to_numpy(space.rows), ROWS[[4, 0]])
    assert (space.ids, space.groups, space.name) == (("e", "a"), ("z", "x"), "m")
    assert Space(ROWS, ids=IDS).take("ab").groups is None


def test_taking_rows_that_are_not_there():
    with pytest.raises(RowMismatchError, match="m has no ids: rows can be taken by id only where"):
        Space(ROWS, name="m").take(["a"])
    with pytest.raises(RowMismatchError, match=r"m lacks 2 of the 3 ids asked for: 'x' \.\.\."):
        Space(ROWS, ids=IDS, name="m").take(["a", "x", "y"])


def test_duplicates_are_counted(library):
    assert Space(library(ROWS)).duplicates() == 0
    assert Space(library(ROWS[[0, 1, 0, 2, 0, 1]])).duplicates() == 3


# Scaling ------------------------------------------------------------------------------------------


def test_none_leaves_everything_as_it_is():
    space = Space(ROWS)
    assert space.scale("none") is space


def test_unit(library):
    scaled = Space(library(ROWS), name="m").scale("unit")
    x = ROWS - ROWS.mean(axis=0)
    np.testing.assert_allclose(to_numpy(scaled.rows), x / np.linalg.norm(x), atol=1e-14)
    assert (scaled.steps, scaled.name) == (("unit",), "m")
    assert not Space(np.full((3, 2), 0.1)).scale("unit").rows.any()


def test_standardize(library):
    """Fault: a constant coordinate is divided by what rounding leaves of it."""
    x = np.insert(np.vstack([ROWS, ROWS + 1]), 0, 0.1, axis=1)[:7]
    found = to_numpy(Space(library(x)).scale("standardize").rows)
    assert not found[:, 0].any()
    np.testing.assert_allclose(found[:, 1:].std(axis=0), 1, atol=1e-14)
    np.testing.assert_allclose(found[:, 1:].mean(axis=0), 0, atol=1e-14)


def test_drop(library):
    """Fault: rogue directions that rule every comparison."""
    rogue = RNG.normal(size=(50, 1)) * 1e4 + 17_000
    clean = RNG.normal(size=(50, 5))
    x = np.hstack([rogue, clean])
    found = to_numpy(Space(library(x)).scale("drop:1").rows)
    u, s, vt = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(found, (u[:, 1:] * s[1:]) @ vt[1:], atol=1e-10)
    assert np.linalg.matrix_rank(found, tol=1e-8) == 5


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_whiten(library, alpha):
    x = np.hstack([ROWS, ROWS[:, :1] + ROWS[:, 1:2]])  # one direction less than columns
    space = Space(library(x)).scale(f"whiten:{alpha}")
    s = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    found = np.linalg.svd(to_numpy(space.rows), compute_uv=False)
    assert numerical_rank(found) == 4
    np.testing.assert_allclose(found[:4], np.sort(s[:4] ** (1 - alpha))[::-1], rtol=1e-9)
    assert space.steps == (f"whiten:{alpha}",)


def test_steps_are_kept_in_order():
    space = Space(ROWS).scale("standardize").scale("drop:1").reduce(2)
    assert space.steps == ("standardize", "drop:1", "reduced=2")


@pytest.mark.parametrize(
    "how",
    [
        "",
        "whitening",
        "unit:2",
        "drop",
        "drop:0",
        "drop:4",
        "drop:-1",
        "drop:²",
        "whiten",
        "whiten:",
        "whiten:1.5",
        "whiten:-0.1",
        "whiten:nan",
    ],
)
def test_what_is_no_scaling(how):
    with pytest.raises(
        InputError, match=rf"^'{how}' is not a scaling: none, unit, .* drop:k with 0 < k < 4, or"
    ):
        Space(ROWS).scale(how)


def test_reduce(library):
    space = Space(library(ROWS)).reduce(2)
    x = ROWS - ROWS.mean(axis=0)
    u, s, _ = np.linalg.svd(x, full_matrices=False)
    found = to_numpy(space.rows)
    np.testing.assert_allclose(found @ found.T, (u[:, :2] * s[:2] ** 2) @ u[:, :2].T, atol=1e-12)
    assert (space.width, space.steps) == (2, ("reduced=2",))


@pytest.mark.parametrize("k", [0, -1, 5])
def test_what_it_cannot_be_reduced_to(k):
    with pytest.raises(InputError, match=f"m has 6 rows of width 4; it cannot be reduced to {k}"):
        Space(ROWS, name="m").reduce(k)


# Matching -----------------------------------------------------------------------------------------

A = Space(ROWS, ids=IDS, name="a")


def test_aligning_keeps_what_is_shared_in_the_order_of_the_first():
    b = Space(ROWS[:4] + 10, ids="fcxa", name="b")
    c = Space(ROWS[:5] + 20, ids="acfzy", name="c")
    found = align_rows([A, b, c])
    assert [s.ids for s in found] == [("a", "c", "f")] * 3
    np.testing.assert_array_equal(found[0].rows, ROWS[[0, 2, 5]])
    np.testing.assert_array_equal(found[1].rows, (ROWS + 10)[[3, 1, 0]])
    assert align_rows([A, A])[1] is A


def test_aligning_needs_ids_that_are_shared():
    with pytest.raises(RowMismatchError, match="bare has no ids: rows can be aligned by id only"):
        align_rows([A, Space(ROWS, name="bare")])
    with pytest.raises(RowMismatchError, match=r"The 2 spaces share 1 ids; at least 2 are needed"):
        align_rows([A, Space(ROWS[:2], ids="az")])
    with pytest.raises(InputError, match="No space was given; at least one is needed"):
        align_rows([])


def test_rows_are_matched_by_id_and_not_by_position():
    """Fault: the order of samples differs silently between two files."""
    order = [3, 1, 0, 5, 4, 2]
    b = Space(ROWS[order], ids=[IDS[i] for i in order], name="b")
    found = matched([A, b])
    assert (found.by, found.spaces[1].ids) == ("ids", IDS)
    np.testing.assert_array_equal(found.spaces[1].rows, ROWS)
    assert found.spaces[0] is A


def test_bare_arrays_are_matched_by_position():
    a, b = Space(ROWS), Space(ROWS + 1)
    found = matched([a, b])
    assert found.by == "position"
    assert found.spaces == (a, b)


def test_what_cannot_be_matched():
    with pytest.raises(
        RowMismatchError,
        match=r"a has 6 rows and b has 4\. Row i must be the same text in both; give",
    ):
        matched([Space(ROWS, name="a"), Space(ROWS[:4], name="b")])
    with pytest.raises(
        RowMismatchError, match=r"a has ids and bare has none: give ids to all spaces, or to none"
    ):
        matched([Space(ROWS, name="bare"), A])
    with pytest.raises(
        RowMismatchError,
        match=r"a has 6 ids and b has 6, 5 of them shared\. .*align_rows.* keeps the 5",
    ):
        matched([A, Space(ROWS, ids="abcdex", name="b")])
    with pytest.raises(InputError, match="No space was given; at least one is needed"):
        matched([])


def test_ids_that_are_not_shared_are_shown_and_aligning_is_not_advised():
    a = Space(np.eye(3), ids="abc", name="a")
    with pytest.raises(
        RowMismatchError, match=r"a and b share no id: a has ids such as 'a', b such"
    ) as no:
        matched([a, Space(np.eye(3), ids="xyz", name="b")])
    assert "align" not in str(no.value)
    with pytest.raises(
        RowMismatchError, match=r"share one id alone: a has ids such as 'b', b such as"
    ):
        matched([a, Space(np.eye(3), ids="ayz", name="b")])
    with pytest.raises(
        RowMismatchError, match=r"share 1 ids; .*: a has ids such as 'b', b such as 'y'"
    ):
        align_rows([a, Space(np.eye(3), ids="ayz", name="b")])
