"""Intervals beside values: whose they are, against drawing and leaving out by hand, how often they cover."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy import stats

from cospace.comparison import compare
from cospace.comparison.folds import FOLDS
from cospace.comparison.stack import stack
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.measures import CATALOGUE, find, linear_cka
from cospace.measures.inside import inside_groups
from cospace.space import Space
from cospace.stats import Weights
from cospace.stats.intervals import group_weights

MIX = np.random.default_rng(99)
TO_X, TO_Y = MIX.standard_normal((6, 12)), MIX.standard_normal((6, 8))
LATENT = np.array([3.0, 2.0, 1.5, 1.0, 1.0, 1.0])
SMOOTH = ("linear_cka", "predictive_r2", "r2_cca")


def quiet():
    pass


def population(rng, n, strength=0.8, groups=None, between=0.0):
    """Two noisy views of six hidden directions; ``groups`` share part of them."""
    z = rng.standard_normal((n, 6))
    if groups is not None:
        z += between * rng.standard_normal((groups.max() + 1, 6))[groups]
    z *= LATENT
    x = z @ TO_X + 1.5 * rng.standard_normal((n, 12))
    return x, strength * z @ TO_Y + 2.0 * rng.standard_normal((n, 8))


def pair(rng, n, groups=None, **options):
    rows = population(rng, n, groups=groups, **options)
    names = None if groups is None else tuple(map(str, groups))
    return [Space(x, name=name, groups=names) for x, name in zip(rows, "xy", strict=True)]


def by_measure(result):
    return {c.measure: c for c in result.cells if c.source == "x"}


def test_a_cell_says_what_its_interval_is_over():
    rng = np.random.default_rng(0)
    some = pair(rng, 100, groups=np.repeat(np.arange(25), 4))
    names = ["debiased_cka", "rsa_spearman", "linear_cka", "r2_cca", "mutual_knn", "mean_cca"]
    for intervals, kinds in (
        ("rows", ["rows", "rows", None, None, None, None]),
        ("groups", ["groups", "groups", None, None, None, None]),
        ("folds", ["rows", "rows", "folds", "folds", None, None]),
    ):
        result = compare(some, names, permutations=3, intervals=intervals)
        cells = by_measure(result)
        assert [cells[name].interval for name in names] == kinds
        assert all((c.low is None) == (c.interval is None) for c in result.cells)
        assert result.settings["intervals"] == intervals


# Groups -------------------------------------------------------------------------------------------


def test_a_sample_of_groups_is_that_of_copies_side_by_side():
    """By hand: as many copies of a group as it was drawn, and no relation across its copies."""
    rng = np.random.default_rng(1)
    groups = rng.permutation(np.repeat(np.arange(22), [1, 2, 3, 4] * 5 + [5, 6]))
    x, y = population(rng, len(groups), groups=groups, between=1.0)
    measure = find("rsa_pearson", CATALOGUE)
    weights = group_weights(groups.astype(str), 3, rng=rng)
    found = stack(measure, [Space(x), Space(y)], quiet).bootstrap(weights, quiet)[:, 0, 1]
    a, b = (1 - np.corrcoef(rows) for rows in (x, y))
    above = np.triu_indices(len(a), 1)
    a, b = a - a[above].mean(), b - b[above].mean()
    for counts, value in zip(weights.counts, found, strict=True):
        copies = [(i, copy) for i, times in enumerate(counts) for copy in range(times)]
        sums = np.zeros(3)
        for at, (i, first) in enumerate(copies):
            for j, second in copies[at + 1 :]:
                if i != j and (groups[i] != groups[j] or first == second):
                    sums += a[i, j] * b[i, j], a[i, j] ** 2, b[i, j] ** 2
        assert value == pytest.approx(sums[0] / np.sqrt(sums[1] * sums[2]), abs=1e-6)


@pytest.mark.parametrize("name", ["debiased_cka", "rsa_spearman", "within_group_rsa"])
def test_intervals_over_groups_cover_where_those_over_rows_do_not(name):
    groups = np.repeat(np.arange(30), 4)
    many = np.repeat(np.arange(300), 4)

    def of(members):
        inside = name.startswith("within")
        return inside_groups(name, members.astype(str)) if inside else find(name, CATALOGUE)

    rng = np.random.default_rng(2)
    between = {"debiased_cka": 3.0, "rsa_spearman": 1.5, "within_group_rsa": 0.0}[name]
    alike = {"strength": 0.5, "between": between}
    truth = np.mean([of(many)(*population(rng, 1200, groups=many, **alike)) for _ in range(6)])
    measure, held, values, spreads = of(groups), np.zeros(2), [], []
    for _ in range(100):
        rows = population(rng, 120, groups=groups, **alike)
        stacked = stack(measure, [Space(table) for table in rows], quiet)
        values.append(stacked.values()[0, 1])
        drawn = [group_weights(groups.astype(str), 200, rng=rng)]
        if name == "debiased_cka":
            drawn.append(Weights.of(120, 200, rng=rng))
        for at, weights in enumerate(drawn):
            samples = stacked.bootstrap(weights, quiet)[:, 0, 1]
            low, high = np.quantile(samples, [0.025, 0.975])
            held[at] += low <= truth <= high
            spreads += [samples.std()] if at == 0 else []
    assert held[0] >= 85
    assert np.mean(spreads) == pytest.approx(np.std(values), rel=0.2)
    if name == "debiased_cka":
        assert held[1] < 80


# Folds --------------------------------------------------------------------------------------------


def test_folds_are_left_out_as_by_hand():
    some = pair(np.random.default_rng(3), 90)
    result = compare(some, ["linear_cka", "predictive_r2"], permutations=0, intervals="folds")
    folds = np.array_split(np.random.default_rng([0, 1]).permutation(90), FOLDS)
    for cell in result.cells:
        source, target = (
            next(s.rows for s in some if s.name == n) for n in (cell.source, cell.target)
        )
        measure = find(cell.measure, CATALOGUE)
        keep = [np.setdiff1d(np.arange(90), fold) for fold in folds]
        value = np.arctanh(cell.value)
        without = np.arctanh([measure(source[rows], target[rows]) for rows in keep])
        share = np.array([len(fold) / 90 for fold in folds])
        corrected = FOLDS * value - np.sum((1 - share) * without)
        pseudo = value / share - (1 / share - 1) * without
        se = np.sqrt(np.mean((pseudo - corrected) ** 2 / (1 / share - 1)))
        reach = stats.t(FOLDS - 1).ppf(0.975) * se
        assert (cell.low, cell.high) == pytest.approx(
            (max(np.tanh(corrected - reach), 0.0), np.tanh(corrected + reach)), abs=1e-9
        )


def test_identical_spaces_have_an_interval_at_one():
    same = pair(np.random.default_rng(8), 100)[0]
    result = compare(
        {"x": same.rows, "y": 2 * same.rows}, SMOOTH, permutations=0, intervals="folds"
    )
    for cell in result.cells:
        assert (cell.low, cell.high) == pytest.approx((1.0, 1.0))


def test_mirrored_cells_share_their_interval_and_directed_ones_do_not():
    some = pair(np.random.default_rng(4), 90)
    result = compare(some, SMOOTH, permutations=0, intervals="folds")
    ends = {(c.measure, c.source): (c.low, c.high) for c in result.cells}
    assert ends["linear_cka", "x"] == ends["linear_cka", "y"]
    assert ends["predictive_r2", "x"] != ends["predictive_r2", "y"]


def test_too_few_rows_for_the_jackknife_are_told():
    result = compare(pair(np.random.default_rng(5), 79), SMOOTH, permutations=0, intervals="folds")
    assert {c.low for c in result.cells} == {None}
    assert (
        "No interval over folds for Linear CKA in 2 of 2 cells: fewer than 4 rows for each direction "
        "of the two spaces. Compare more rows, or fewer principal components (reduced=, on the "
        "command line --reduced)."
    ) in result.warnings
    few = compare(
        pair(np.random.default_rng(5), 79), SMOOTH, permutations=0, intervals="folds", reduced=5
    )
    assert None not in {c.low for c in few.cells}


@pytest.mark.parametrize("strength", [0.0, 0.25, 3.0])
def test_the_jackknife_covers(strength):
    """Of measures that are smooth in the moments, also of spaces that share nothing."""
    rng = np.random.default_rng(6)
    big = population(rng, 100_000, strength)
    truth = {name: find(name, CATALOGUE)(*big) for name in SMOOTH}
    held = dict.fromkeys(SMOOTH, 0)
    for _ in range(150):
        spaces = pair(rng, 80, strength=strength)
        for cell in by_measure(compare(spaces, SMOOTH, permutations=0, intervals="folds")).values():
            held[cell.measure] += cell.low <= max(truth[cell.measure], 1e-3) <= cell.high
    assert min(held.values()) >= 0.88 * 150


def test_measures_that_are_not_smooth_have_no_jackknife():
    """Their bias at independence is no series in 1 / n: intervals would cover in 3 to 30 of 100."""
    assert {m.name for m in CATALOGUE if m.folds is not None} == set(SMOOTH)


# Refusals -----------------------------------------------------------------------------------------


def test_kinds_of_intervals_that_cannot_be_had_are_refused():
    some = pair(np.random.default_rng(7), 40, groups=np.repeat(np.arange(10), 4))
    bare = pair(np.random.default_rng(7), 40)
    one = partial(compare, measures=["debiased_cka"], permutations=3)
    with pytest.raises(UnknownNameError, match=r"'fold' is not a kind of interval. Did you mean"):
        one(some, intervals="fold")
    with pytest.raises(
        InputError, match=r"^Intervals over folds are for linear_cka, predictive_r2"
    ):
        one(some, intervals="folds")
    with pytest.raises(
        InputError, match=r"^Drawing groups again needs groups: give the texts a gr"
    ):
        one(bare, intervals="groups")
    with pytest.raises(UndefinedMeasureError, match=r"^10 groups are too few for an interval"):
        one(some, intervals="groups")
    assert linear_cka(bare[0].rows, bare[1].rows) > 0  # the rows themselves are fine
