"""Rank to precision, copies of lower rank, their grid, and Spearman's correlation."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from cospace.errors import InputError, UndefinedMeasureError
from cospace.homotopy import (
    TruncationGrid,
    affine_distance,
    rank_correlation,
    rank_sweep,
    truncated,
    truncation_grid,
)
from cospace.space import Space


def rows(seed, n=60, d=5):
    return np.random.default_rng(seed).normal(size=(n, d))


def spectrum(values, n=60, seed=0):
    """Centred rows with these singular values, moved away from the origin."""
    rng = np.random.default_rng(seed)
    u = np.linalg.qr(rng.normal(size=(n, len(values))) - 0.0)[0]
    u = np.linalg.qr(u - u.mean(axis=0))[0]
    v = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return (u * values) @ v + 40.0


def test_ranks_of_a_known_spectrum():
    found = rank_sweep(spectrum([1.0, 0.5, 5e-3, 5e-4, 5e-5, 5e-6, 5e-8]))
    assert found == {1e-2: 2, 1e-3: 3, 1e-4: 4, 1e-5: 5, 1e-6: 6, "numpy": 7}


def test_a_constant_coordinate_has_no_rank():
    x = rows(0)
    x[:, 2] = 0.1
    assert set(rank_sweep(Space(x)).values()) == {4}


def test_a_tolerance_out_of_range_is_refused():
    with pytest.raises(InputError, match=r"A rank tolerance is 1\.5; numbers between 0 and 1"):
        rank_sweep(rows(0), (1e-3, 1.5))


def test_a_copy_of_lower_rank_is_the_best_one():
    """By Eckart and Young: what is left is the tail of the singular values."""
    x = spectrum([8.0, 4.0, 2.0, 1.0])
    space = Space(x, ids=tuple(map(str, range(60))), name="x")
    copy = truncated(space, 0.5)
    assert np.linalg.norm(copy.rows - x) == pytest.approx(5.0**0.5, rel=1e-9)
    np.testing.assert_allclose(copy.rows.mean(axis=0), x.mean(axis=0), atol=1e-10)
    assert rank_sweep(copy)[1e-6] == 2
    assert copy.ids == space.ids
    assert copy.steps == ("rank=2",)
    np.testing.assert_allclose(truncated(space, 1.0).rows, x, atol=1e-10)
    assert truncated(space, 0.01).steps == ("rank=1",)


@pytest.mark.parametrize("share", [0.0, 1.1])
def test_a_share_out_of_range_is_refused(share):
    with pytest.raises(InputError, match=f"share is {share}; a share of the rank"):
        truncated(Space(rows(0)), share)
    with pytest.raises(InputError, match=f"share is {share}; a share of the rank"):
        truncation_grid([Space(rows(0), name="a"), Space(rows(1), name="b")], [share])


def test_every_cell_of_the_grid_is_a_median_of_distances_of_copies():
    spaces = [Space(rows(seed), name=f"s{seed}") for seed in range(3)]
    grid = truncation_grid(spaces, (0.4, 1.0))
    assert [(c.source_share, c.target_share) for c in grid.cells] == [
        (0.4, 0.4),
        (0.4, 1.0),
        (1.0, 0.4),
        (1.0, 1.0),
    ]
    for cell in grid.cells:
        found = [
            affine_distance(
                target=truncated(target, cell.target_share),
                source=truncated(source, cell.source_share),
                held_out=None,
            )
            for target in spaces
            for source in spaces
            if source is not target
        ]
        assert cell.pairs == 6
        assert cell.median == pytest.approx(np.median([f.upper for f in found]), rel=0.011)
        assert cell.lower <= cell.median
        assert cell.lower == pytest.approx(np.median([f.lower for f in found]), rel=0.011)
    assert grid.by_source()[0.4] == np.median(
        [grid.value(source=0.4, target=t) for t in (0.4, 1.0)]
    )
    assert grid.by_target()[1.0] == np.median(
        [grid.value(source=s, target=1.0) for s in (0.4, 1.0)]
    )


def test_the_grid_falls_with_the_rank_of_the_target_and_the_rank_of_the_source():
    spaces = [Space(rows(seed, 100, 6), name=f"s{seed}") for seed in range(2)]
    grid = truncation_grid(spaces, (0.2, 0.5, 0.9))
    assert list(grid.by_target().values()) == sorted(grid.by_target().values())
    assert list(grid.by_source().values()) == sorted(grid.by_source().values(), reverse=True)
    normalised = truncation_grid(spaces, (0.5,), normalised=True)
    assert 0.0 < normalised.cells[0].median <= 1.0


def test_a_grid_survives_its_file(tmp_path):
    grid = truncation_grid([Space(rows(s), name=f"s{s}") for s in range(2)], (0.5,))
    grid.save(tmp_path / "grid.json")
    assert TruncationGrid.load(tmp_path / "grid.json") == grid
    assert len(grid.to_frame()) == 1
    with pytest.raises(InputError, match=r"no cell for 0\.3 and 0\.5; its shares are 0\.5"):
        grid.value(source=0.3, target=0.5)


def test_grids_of_nothing_are_refused():
    a, b = Space(rows(0), name="a"), Space(rows(1), name="b")
    with pytest.raises(
        InputError, match="1 encoders called a were given; at least 2 with different"
    ):
        truncation_grid([a])
    with pytest.raises(InputError, match="2 encoders called a, a were given"):
        truncation_grid([a, a])
    with pytest.raises(InputError, match=r"shares are \(\); at least one, and each once"):
        truncation_grid([a, b], ())
    with pytest.raises(InputError, match=r"shares are \(0\.5, 0\.5\); at least one, and each once"):
        truncation_grid([a, b], (0.5, 0.5))
    with pytest.raises(UndefinedMeasureError, match="has rank 5 on 6 rows"):
        truncation_grid([Space(rows(0, 6), name="a"), Space(rows(1, 6), name="b")], (1.0,))


def test_progress_counts_targets():
    told = []
    truncation_grid(
        [Space(rows(s), name=f"s{s}") for s in range(2)],
        (0.5, 1.0),
        progress=lambda *step: told.append(step),
    )
    assert told[0] == ("50% of s0", 0, 4)
    assert told[-1] == ("100% of s1", 3, 4)


def test_spearman_by_hand():
    ranks = {"a": 3, "b": 9, "c": 5, "d": 5}
    hard = {"a": 0.2, "b": 0.1, "c": 0.4, "d": 0.3}
    found = rank_correlation(ranks, hard)
    one, other = rankdata([3, 9, 5, 5]), rankdata([0.2, 0.1, 0.4, 0.3])
    assert found.rho == pytest.approx(np.corrcoef(one, other)[0, 1])
    assert found.n == 4
    assert 0.0 < found.p <= 1.0
    assert rank_correlation({"a": 1, "b": 2, "c": 3}, {"a": 3, "b": 2, "c": 1}).rho == -1.0


def test_orders_that_cannot_be_told_have_a_reason():
    few = rank_correlation({"a": 1, "b": 2}, {"a": 0.1, "b": 0.2})
    assert (few.rho, few.p, few.reason) == (None, None, "2 encoders are too few to order.")
    same = rank_correlation({"a": 4, "b": 4, "c": 4}, {"a": 0.1, "b": 0.2, "c": 0.3})
    assert same.reason == "All ranks are the same."
    still = rank_correlation({"a": 4, "b": 5, "c": 6}, {"a": 0.1, "b": 0.1, "c": 0.1})
    assert still.reason == "All distances are the same."
    with pytest.raises(InputError, match="'c' has a rank or a mappability, but not both"):
        rank_correlation({"a": 4, "b": 5, "c": 6}, {"a": 0.1, "b": 0.1})


def by_counting(one, other):
    """Share of all orders whose correlation is at least as far from 0, one order at a time."""
    a, b = rankdata(one), rankdata(other)
    seen = abs(np.corrcoef(a, b)[0, 1])
    far = [
        abs(np.corrcoef(a, b[list(o)])[0, 1]) >= seen - 1e-9 for o in permutations(range(len(a)))
    ]
    return float(np.mean(far))


@pytest.mark.parametrize(("n", "p"), [(3, 2 / 6), (4, 2 / 24), (6, 2 / 720), (8, 2 / 40320)])
def test_a_perfect_order_of_few_encoders_is_no_certainty(n, p):
    values = {f"e{i}": float(i) for i in range(n)}
    assert rank_correlation(values, values).p == pytest.approx(p, rel=1e-12)
    back = rank_correlation(values, {name: -value for name, value in values.items()})
    assert (back.rho, back.p) == (-1.0, pytest.approx(p, rel=1e-12))


@pytest.mark.parametrize("seed", range(6))
def test_p_is_counted_over_all_orders(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    one, other = rng.integers(0, 4, n), rng.integers(0, 5, n)
    if len(set(one)) == 1 or len(set(other)) == 1:
        one[0], other[0] = 9, 9
    names = [f"e{i}" for i in range(n)]
    found = rank_correlation(
        dict(zip(names, one.tolist(), strict=True)), dict(zip(names, other.tolist(), strict=True))
    )
    assert found.p == pytest.approx(by_counting(one, other), rel=1e-12)


def test_p_of_many_encoders_is_sampled_and_never_0():
    names = [f"e{i:02}" for i in range(12)]
    ranks = {name: float(i) for i, name in enumerate(names)}
    perfect = rank_correlation(ranks, ranks)
    assert perfect.p == pytest.approx(1 / 10_000)
    noise = dict(zip(names, np.random.default_rng(1).normal(size=12).tolist(), strict=True))
    found = rank_correlation(ranks, noise)
    assert found == rank_correlation(ranks, noise)
    assert found.p != rank_correlation(ranks, noise, rng=1).p
    by_t = spearmanr(list(ranks.values()), list(noise.values()))
    assert found.rho == pytest.approx(by_t.statistic, rel=1e-12)
    assert found.p == pytest.approx(by_t.pvalue, abs=0.03)
