"""Sets of encoders: all pairs, Hausdorff-Hoare distance, preorder, exact homotopy."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.homotopy import DistanceTable, Interval, affine_distances, hausdorff_hoare
from cospace.homotopy.sets import relation
from cospace.space import Space

N = 80


def rows(seed, d=4, n=N):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.fixture(scope="module")
def family():
    """A full space, an image of it, a flat copy, and one that has nothing to do with them."""
    full = rows(0)
    return [
        Space(full, name="full"),
        Space(full @ rows(1, 4, 4) + 5.0, name="image"),
        Space(full[:, :2] @ rows(2, 4, 2), name="flat"),
        Space(rows(3), name="other"),
    ]


@pytest.fixture(scope="module")
def table(family):
    return affine_distances(family)


def test_all_ordered_pairs_are_there_without_their_maps(table):
    assert table.names == ("full", "image", "flat", "other")
    pairs = [(cell.source, cell.target) for cell in table.cells]
    assert pairs == [(a, b) for a in table.names for b in table.names if a != b]
    assert all(cell.map is None and cell.closed for cell in table.cells)
    assert table.settings["group"] == "affine"
    assert table.settings["matched_by"] == "position"


def test_the_preorder(table):
    relations = {(row["source"], row["target"]): row["relation"] for row in table.preorder()}
    onto = {pair for pair, found in relations.items() if found == "maps onto"}
    assert onto == {("full", "image"), ("image", "full"), ("full", "flat"), ("image", "flat")}
    assert {found for pair, found in relations.items() if pair not in onto} == {"does not"}
    price = next(r for r in table.preorder() if (r["source"], r["target"]) == ("flat", "full"))
    assert 0.3 < price["normalised_lower"] <= price["normalised_upper"] <= 1.0
    assert (price["rank_source"], price["rank_target"]) == (2, 4)


def test_exact_homotopy(table):
    same = table.homotopy("full", "image")
    assert same.exact is True
    assert same.rank_a == same.rank_b == 4
    flat = table.homotopy("full", "flat")
    assert flat.exact is False
    assert (flat.rank_a, flat.rank_b) == (4, 2)
    assert flat.onto_b.upper < 1e-9
    assert flat.onto_a.lower > 0.3
    assert table.homotopy("full", "other").exact is False


def test_an_interval_that_holds_the_tolerance_decides_nothing(table):
    cell = table.cell(source="full", target="other").normalised
    middle = (cell.lower + cell.upper) / 2
    assert relation(cell, middle) == "undecided"
    back = table.cell(source="other", target="full").normalised
    generous = max(middle, back.upper) if cell.lower < back.upper < cell.upper else middle
    if relation(back, generous) != "does not":
        assert table.homotopy("full", "other", generous).exact is None


def test_hausdorff_hoare_is_the_worst_target_from_its_best_source(table):
    found = table.hausdorff(targets=["flat", "image"], sources=["full", "other"])
    assert found.upper < 1e-8
    worst = table.hausdorff(targets=["flat", "other"], sources=["full", "image"])
    ends = [table.cell(source=source, target="other") for source in ("full", "image")]
    assert worst == Interval(min(c.lower for c in ends), min(c.upper for c in ends))
    assert table.hausdorff(targets=["full"], sources=["full", "other"]) == Interval(0.0, 0.0)


def test_hausdorff_hoare_of_spaces_is_that_of_the_table(family, table):
    full, image, flat, other = family
    found = hausdorff_hoare(targets=[flat, other], sources=[full, image])
    named = table.hausdorff(targets=["flat", "other"], sources=["full", "image"])
    assert (found.lower, found.upper) == pytest.approx((named.lower, named.upper), rel=1e-9)
    assert hausdorff_hoare(targets=[full, image], sources=[full]).upper < 1e-8
    assert hausdorff_hoare(targets=[full], sources=[flat]).lower > 0.5


def test_mappability_is_a_median_over_sources(table):
    cells = [c for c in table.cells if c.target == "other"]
    found = table.mappability()
    assert found["other"] == np.median([c.normalised.upper for c in cells])
    assert table.mappability(normalised=False)["other"] == np.median([c.upper for c in cells])
    published = table.mappability(published=True)["other"]
    assert published == np.median([0.0, *(c.normalised.upper for c in cells)])
    assert found["flat"] < found["other"]


def test_a_table_survives_its_file(table, tmp_path):
    table.save(tmp_path / "table.json")
    again = DistanceTable.load(tmp_path / "table.json")
    assert again == table
    assert again.records() == table.records()
    assert len(table.to_frame()) == 12


def test_pairs_that_are_not_there_are_told(table):
    with pytest.raises(UnknownNameError, match=r"'ful' is not a name in this table\. Did you"):
        table.cell(source="ful", target="flat")
    with pytest.raises(
        InputError, match="no distance from full to full: it holds pairs of different"
    ):
        table.cell(source="full", target="full")
    with pytest.raises(InputError, match="A set of encoders is empty: name at least one target"):
        table.hausdorff(targets=[], sources=["full"])


def test_encoders_that_make_no_table_are_refused(family):
    full = family[0]
    with pytest.raises(InputError, match="1 encoder was given; a table needs at least 2"):
        affine_distances([full])
    with pytest.raises(InputError, match="Two encoders are called 'full'"):
        affine_distances([full, full])
    with pytest.raises(RowMismatchError, match="full has 80 rows and short has 79"):
        affine_distances([full, Space(rows(0, n=79), name="short")])
    with pytest.raises(UndefinedMeasureError, match="All 80 rows of still are the same"):
        affine_distances([full, Space(np.ones((N, 3)), name="still")])
    with pytest.raises(InputError, match="gap is 2"):
        affine_distances(family, gap=2)
    with pytest.raises(InputError, match="A set of encoders is empty: give at least one target"):
        hausdorff_hoare(targets=[], sources=[full])


def test_progress_counts_pairs(family):
    told = []
    affine_distances(family[:2], progress=lambda *step: told.append(step))
    assert told == [("full → image", 0, 2), ("image → full", 1, 2), ("done", 2, 2)]
