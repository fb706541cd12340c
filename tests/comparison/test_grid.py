"""compare(): order, options, refusals, repeatability."""

from __future__ import annotations

import json
import math
import os
import signal as signals
import time
from dataclasses import replace

import numpy as np
import pytest

import cospace
from cospace import _threads
from cospace.comparison import compare
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.measures import CATALOGUE, DEFAULT, Measure, find
from cospace.space import Space

N = 60
IDS = tuple(f"t{i:02d}" for i in range(N))
CCA = ("mean_cca", "svcca", "pwcca", "r2_cca")


def arrays(n=N, widths=(4, 7, 5), seed=0):
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 3))
    return {
        f"s{d}": latent @ rng.standard_normal((3, d)) + rng.standard_normal((n, d)) for d in widths
    }


def spaces(**options):
    return [Space(rows, ids=IDS, name=name, **options) for name, rows in arrays().items()]


def sites(models=("a", "b"), count=3, n=30, width=6, seed=0, signal=1.0):
    rng = np.random.default_rng(seed)
    latent = rng.standard_normal((n, 4))
    return [
        Space(
            signal * latent @ rng.standard_normal((4, width)) + rng.standard_normal((n, width)),
            name=f"{model}{at}",
            facts={"model": model, "site": f"block.{at}", "depth": at / (count - 1)},
        )
        for model in models
        for at in range(count)
    ]


def own(function, **claims):
    return Measure(
        **{
            "name": "mine",
            "title": "Mine",
            "function": function,
            "kind": "similarity",
            "bounds": (None, None),
            "identical": 1.0,
            "symmetric": True,
            "invariant_to": frozenset(),
            "summary": "For tests.",
            "reference": "here",
            "cost": "n d",
            **claims,
        }
    )


def first_products(x, y):
    return float(np.corrcoef(x[:, 0], y[:, 0])[0, 1])


# What comes out ---------------------------------------------------------------------------------


def test_cells_come_measure_by_measure_and_pair_by_pair():
    result = compare(spaces(), ["pwcca", "debiased_cka"], permutations=3)
    names = ["s4", "s7", "s5"]
    pairs = [(a, b) for a in names for b in names if a != b]
    expected = [(m, a, b) for m in ("pwcca", "debiased_cka") for a, b in pairs]
    assert [(c.measure, c.source, c.target) for c in result.cells] == expected
    assert [s.name for s in result.spaces] == names
    assert [m.name for m in result.measures] == ["pwcca", "debiased_cka"]


@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)
def test_every_measure_gives_the_value_of_its_function(measure):
    some = arrays()
    result = compare(some, [measure.name], permutations=2)
    for cell in result.cells:
        expected = measure(some[cell.source], some[cell.target])
        assert cell.value == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)
def test_mirrored_cells_of_a_symmetric_measure_are_equal_in_all(measure):
    result = compare(spaces(), [measure.name], permutations=9, permute_fits=measure.decomposes)
    by_pair = {(c.source, c.target): c for c in result.cells}
    figures = ("value", "null_mean", "null_sd", "draws", "p", "p_search", "low", "high")
    for (a, b), cell in by_pair.items():
        other = by_pair[b, a]
        if measure.symmetric:
            assert [getattr(cell, f) for f in figures] == [getattr(other, f) for f in figures]
    if not measure.symmetric:  # a count of rows may be the same both ways for one pair, not for all
        assert any(c.value != by_pair[b, a].value for (a, b), c in by_pair.items())
        assert any(c.null_mean != by_pair[b, a].null_mean for (a, b), c in by_pair.items())


@pytest.mark.parametrize("permute_fits", [False, True])
def test_cells_keep_their_invariants(permute_fits):
    result = compare(sites(), permutations=19, permute_fits=permute_fits)
    for cell in result.cells:
        measure = find(cell.measure, CATALOGUE)
        assert (cell.value is None) == (cell.reason is not None)
        assert cell.held_out == measure.held_out
        fits = measure.decomposes and not permute_fits
        assert (cell.p is None) == fits
        assert (cell.note is not None) == fits
        assert cell.draws == 19
        assert cell.null_sd > 0
        assert cell.reduced == (3 if cell.measure in CCA else None)
        assert cell.width_source == cell.width_target == (cell.reduced or 6)
        assert cell.rank_source == cell.rank_target == (cell.reduced or 6)
        assert cell.n == 30
        if cell.p is not None:
            assert 1 / 20 <= cell.p <= cell.p_search <= 1
        assert (cell.low is None) == (cell.measure not in ("debiased_cka", "rsa_spearman"))
        if cell.low is not None:
            assert -1 <= cell.low < cell.value < cell.high <= 1


def test_fitted_measures_get_the_mean_of_twenty_shuffles_and_the_reason_why():
    result = compare(spaces(), ["procrustes_similarity"], permutations=50)
    cell = result.cells[0]
    assert (cell.draws, cell.p, cell.p_search) == (20, None, None)
    assert cell.note == (
        "every shuffle would need its own fit or decomposition: mean of 20 shuffles only"
    )
    on_request = compare(spaces(), ["procrustes_similarity"], permutations=50, permute_fits=True)
    assert (on_request.cells[0].draws, on_request.cells[0].note) == (50, None)
    assert on_request.cells[0].p == pytest.approx(1 / 51)


def test_p_of_a_distance_looks_downwards():
    some = spaces()
    near = compare([some[0], replace(some[0], name="near")], "procrustes_distance", rng=1)
    assert near.cells[0].value < 1e-7
    exact = compare(some[:2], "procrustes_distance", permutations=19, permute_fits=True)
    assert exact.cells[0].p == 0.05


def test_search_correction_is_over_all_sites_of_two_models():
    result = compare(sites(signal=0.3), ["debiased_cka"], permutations=99)
    between = [c for c in result.cells if (c.source[0], c.target[0]) == ("a", "b")]
    within = [c for c in result.cells if (c.source[0], c.target[0]) == ("a", "a")]
    assert (len(between), len(within)) == (9, 6)
    for cells in (between, within):
        assert any(c.p_search > c.p for c in cells)
        by_value = sorted(cells, key=lambda c: -c.value)
        corrected = [c.p_search for c in by_value]
        assert corrected == sorted(corrected)
    alone = compare(spaces()[:2], ["debiased_cka"], permutations=99).cells[0]
    assert alone.p_search == alone.p


def test_fewer_arrangements_than_shuffles_are_enumerated():
    rng = np.random.default_rng(0)
    four = {name: rng.standard_normal((4, 2)) for name in "ab"}
    result = compare(four, ["linear_cka", "procrustes_similarity"], permutations=199)
    assert (result.settings["exact"], result.settings["permutations"]) == (True, 24)
    for cell in result.cells:
        assert cell.draws == 24
        assert cell.p * 24 == pytest.approx(round(cell.p * 24))
        assert cell.note is None
    same = compare({"a": four["a"], "b": four["a"]}, ["linear_cka"]).cells[0]
    assert same.p == 1 / 24


def test_without_permutations_there_are_values_and_what_has_a_closed_form():
    result = compare(spaces(), permutations=0)
    exact = {cell.measure for cell in result.cells if cell.null_exact}
    assert exact == {"debiased_cka", "linear_cka", "rsa_spearman"}
    for cell in result.cells:
        assert (cell.p_search, cell.low, cell.draws) == (None, None, 0)
        if cell.null_exact:
            assert (cell.p is None, cell.note) == (False, None)
        else:
            assert cell.note == (
                "no shuffles were asked for, and this measure has no closed form: "
                "shuffle (--permutations 199)"
            )
            assert (cell.null_mean, cell.null_sd, cell.p) == (None, None, None)


def test_identical_spaces():
    rows = arrays()["s4"]
    result = compare({"a": rows, "b": rows.copy()}, permutations=19)
    for cell in result.cells:
        assert cell.value == pytest.approx(1.0, abs=1e-9)
        assert cell.value <= 1.0
        if cell.low is not None:
            assert (cell.low, cell.high) == (pytest.approx(1.0), pytest.approx(1.0))


def test_summaries_are_made_once_a_space_and_dropped_after_their_last_measure():
    made = []

    class Kept:
        """Rows that count how often they are taken."""

        alive = 0

        def __init__(self, rows):
            self.rows = rows
            Kept.alive += 1

        def __del__(self):
            Kept.alive -= 1

        @classmethod
        def of(cls, rows):
            made.append(rows.shape)
            return cls(rows)

        def permuted(self, order):
            return Kept(self.rows[order])

    def score(source, target):
        return first_products(source.rows, target.rows)

    def last(x, y):
        assert Kept.alive == 0
        return 0.5

    two = [own(first_products, name=name, summarise=Kept.of, score=score) for name in "pq"]
    # Every mention of a class method is another object, and they are equal.
    two[1] = replace(two[1], summarise=Kept.of)
    compare(spaces(), [*two, own(last)], permutations=2)
    assert sorted(made) == [(N, 4), (N, 5), (N, 7)]


# Closed forms ------------------------------------------------------------------------------------


def orthonormal(n, count, rng):
    """Orthonormal columns that are orthogonal to the constant."""
    q = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, count))]))[0]
    return q[:, 1:]


def test_values_known_in_closed_form():
    """Canonical correlations 0.8, 0.6 and 0 between spaces of singular values (3, 2, 1), (2, 1)."""
    rng = np.random.default_rng(0)
    q = orthonormal(N, 5, rng)
    u = q[:, :3]
    w = np.column_stack([0.8 * u[:, 0] + 0.6 * q[:, 3], 0.6 * u[:, 1] + 0.8 * q[:, 4]])
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    x = (u * [3.0, 2.0, 1.0]) @ turn + 5.0
    y = (w * [2.0, 1.0]) @ np.linalg.qr(rng.standard_normal((2, 2)))[0] - 7.0
    result = compare(
        {"x": x, "y": y},
        [
            "linear_cka",
            "procrustes_similarity",
            "procrustes_distance",
            "mean_cca",
            "r2_cca",
            "svcca",
            "predictive_r2",
        ],
        permutations=0,
    )
    cross = np.array([0.8 * 3 * 2, 0.6 * 2 * 1])
    size_x, size_y = 9 + 4 + 1, 4 + 1
    procrustes = cross.sum() / math.sqrt(size_x * size_y)
    expected = {
        "linear_cka": (cross**2).sum() / math.sqrt((81 + 16 + 1) * (16 + 1)),
        "procrustes_similarity": procrustes,
        "procrustes_distance": math.sqrt(2 - 2 * procrustes),
        "mean_cca": 0.7,
        "r2_cca": 0.5,
        "svcca": 0.7,
    }
    for name, value in expected.items():
        assert result.value(name, source="x", target="y") == pytest.approx(value, abs=1e-8)
        assert result.value(name, source="y", target="x") == pytest.approx(value, abs=1e-8)
    explained = (0.64 * 4 + 0.36 * 1) / size_y
    assert result.value("predictive_r2", source="x", target="y") == pytest.approx(
        explained, abs=1e-8
    )
    explained = (0.64 * 9 + 0.36 * 4) / size_x
    assert result.value("predictive_r2", source="y", target="x") == pytest.approx(
        explained, abs=1e-8
    )


def test_independent_gaussians_are_at_their_null():
    rng = np.random.default_rng(1)
    result = compare(
        {"a": rng.standard_normal((100, 40)), "b": rng.standard_normal((100, 40))}, rng=0
    )
    for cell in result.cells:
        assert abs(cell.value - cell.null_mean) < 3.5 * cell.null_sd
        if cell.p is not None:
            assert cell.p > 0.05
            assert cell.p_search > 0.05
    assert result.value("linear_cka", source="a", target="b") > 0.25  # high by chance alone
    assert abs(result.value("debiased_cka", source="a", target="b")) < 0.05


# Rows and ids ------------------------------------------------------------------------------------


def test_rows_are_matched_by_id():
    rng = np.random.default_rng(3)
    a, b, _ = spaces()
    order = rng.permutation(N)
    shuffled = Space(b.rows[order], ids=tuple(np.asarray(IDS)[order]), name=b.name)
    one = compare([a, b], permutations=9)
    two = compare([a, shuffled], permutations=9)
    assert one.records() == two.records()
    assert one.settings["matched_by"] == "ids"
    assert not any("position" in warning for warning in one.warnings)


def test_rows_matched_by_position_are_warned_of():
    result = compare(arrays(), ["linear_cka"], permutations=0)
    assert result.settings["matched_by"] == "position"
    assert result.warnings[0] == (
        "Rows are matched by position: none of the arrays has ids, so nothing checks that row i is "
        "the same text."
    )


def test_spaces_with_and_without_ids_do_not_mix():
    a, b, _ = spaces()
    with pytest.raises(RowMismatchError, match=r"^s4 has ids and bare has none: give ids to all"):
        compare([a, Space(b.rows, name="bare")])


def test_different_texts_are_refused():
    a, b, _ = spaces()
    with pytest.raises(RowMismatchError, match=r"60 ids and s7 has 60, 59 of them shared"):
        compare([a, replace(b, ids=("other", *IDS[1:]))])


def test_inputs_stay_as_they_were():
    some = spaces(groups=tuple("ab" * (N // 2)))
    before = [s.rows.copy() for s in some]
    prints = [s.fingerprint for s in some]
    compare(some, permutations=3, within=True)
    assert [s.fingerprint for s in some] == prints
    assert all((s.rows == rows).all() for s, rows in zip(some, before, strict=True))


# Options -----------------------------------------------------------------------------------------


def test_the_default_set():
    result = compare(spaces(), permutations=2)
    assert tuple(m.name for m in result.measures) == DEFAULT
    by_measure = {c.measure: c for c in result.cells}
    for name, cell in by_measure.items():
        assert cell.reduced == (6 if name in CCA else None)
    assert by_measure["mean_cca"].width_source == 5  # s5 has fewer than the 6 components
    assert by_measure["mean_cca"].width_target == 6
    assert by_measure["heldout_r2"].held_out
    assert not by_measure["linear_cka"].held_out


def test_components_of_the_default_are_at_most_fifty():
    rng = np.random.default_rng(0)
    some = {name: rng.standard_normal((520, 60)) for name in "ab"}
    assert {c.reduced for c in compare(some, permutations=0).cells} == {None, 50}


def test_measures_named_are_not_reduced_unless_asked():
    assert compare(spaces(), ["mean_cca"], permutations=0).cells[0].reduced is None
    for name in ("mean_cca", "linear_cka", "procrustes_similarity"):
        result = compare(spaces(), [name], permutations=2, reduced=3)
        cell = result.cells[0]
        assert (cell.reduced, cell.width_source, cell.rank_source) == (3, 3, 3)
        a, b = (s.reduce(3).rows for s in spaces()[:2])
        assert cell.value == pytest.approx(find(name, CATALOGUE)(a, b), abs=1e-10)
    assert compare(spaces(), permutations=0, reduced=2).settings["reduced"] == 2
    wide = compare(spaces(), ["linear_cka"], permutations=0, reduced=500).cells[0]
    assert (wide.width_source, wide.width_target) == (4, 7)


def test_fewer_than_ten_rows_have_no_default_components():
    rng = np.random.default_rng(0)
    some = {name: rng.standard_normal((9, 2)) for name in "ab"}
    result = compare(some, permutations=4)
    reasons = {c.measure: c.reason for c in result.cells}
    for name in CCA:
        assert reasons[name] == (
            "9 rows are too few for the n / 10 principal components of the default: at least 10 "
            "are needed."
        )
    assert reasons["mutual_knn"].startswith("10 neighbours of 9 rows are all or nearly all")
    assert reasons["heldout_r2"].startswith("5 folds of 9 rows")
    assert reasons["linear_cka"] is None
    assert all(c.reduced is None for c in result.cells)


def test_one_measure_needs_no_list():
    assert compare(spaces(), "linear_cka", permutations=0).measures[0].name == "linear_cka"
    result = compare(spaces(), own(first_products), permutations=0)
    assert result.measures[0].name == "mine"


def test_fitted_measures_run_at_matched_depths_and_others_everywhere():
    some = sites(count=9)
    result = compare(some, ["linear_cka", "procrustes_similarity"], permutations=1)
    count = {m.name: sum(c.measure == m.name for c in result.cells) for m in result.measures}
    assert count == {"linear_cka": 18 * 17, "procrustes_similarity": 10}
    every = compare(some, ["procrustes_similarity"], permutations=1, grid=True)
    assert len(every.cells) == 18 * 17


def test_sites_of_one_model_meet_at_five_depths():
    result = compare(sites(models=("a",), count=9), ["procrustes_similarity"], permutations=1)
    assert {c.source for c in result.cells} == {"a0", "a2", "a4", "a6", "a8"}
    assert len(result.cells) == 20


def test_shuffles_within_groups():
    """Rows that never leave their group: a measure of the groups' means never changes."""
    groups = tuple("abc"[i % 3] for i in range(N))
    at = np.array(["abc".index(g) for g in groups])

    def of_groups(x, y):
        means = [[z[at == g].mean(axis=0)[0] for g in range(3)] for z in (x, y)]
        return float(np.dot(*means))

    some = spaces(groups=groups)
    inside = compare(some, own(of_groups), permutations=9, within=True)
    free = compare(some, own(of_groups), permutations=9)
    assert inside.settings["within_groups"] is True
    for cell in inside.cells:
        assert cell.null_mean == pytest.approx(cell.value)
        assert cell.p == 1.0
    assert all(cell.null_sd > 0.001 for cell in free.cells)


def test_groups_may_be_known_to_one_space_only():
    a, b, _ = spaces()
    groups = tuple("ab" * (N // 2))
    result = compare([a, replace(b, groups=groups)], "linear_cka", permutations=3, within=True)
    assert result.cells[0].draws == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"within": True}, r"^Shuffling within groups needs groups: give the texts a group column"),
        ({"permutations": -1}, r"^-1 permutations were asked for; 0 or more are expected\.$"),
        ({"reduced": 0}, r"^reduced is 0; 1 or more principal components are expected\.$"),
        ({"reduced": -2}, r"^reduced is -2; 1 or more"),
        ({"rng": -1}, r"^rng is -1; a whole number, 0 or more, is expected\.$"),
        ({"measures": []}, r"^No measure was named: name at least one, or leave measures= out\.$"),
        (
            {"measures": ["rsa_pearson", "rsa_pearson"]},
            r"^The measure 'rsa_pearson' is named twice: name each once\.$",
        ),
    ],
)
def test_options_that_cannot_be_used(options, message):
    with pytest.raises(InputError, match=message):
        compare(spaces(), **options)


def test_groups_that_differ_are_refused():
    a, b, _ = spaces()
    a, b = replace(a, groups=tuple("ab" * (N // 2))), replace(b, groups=tuple("ba" * (N // 2)))
    with pytest.raises(InputError, match=r"^s4 and s7 put the same texts into different groups"):
        compare([a, b], within=True)


def test_unknown_measures_are_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match=r"'linear-cka' is not a measure. Did you mean"):
        compare(spaces(), ["linear-cka"])


@pytest.mark.parametrize(("count", "message"), [(0, "^0 spaces were"), (1, "^1 space was")])
def test_two_spaces_are_needed(count, message):
    with pytest.raises(InputError, match=message + r" given; a comparison needs at least 2\.$"):
        compare(spaces()[:count])


def test_names_must_differ():
    with pytest.raises(InputError, match=r"^Two spaces are called 's4': give each its own name"):
        compare([spaces()[0], spaces()[0]])


# Repeatability -----------------------------------------------------------------------------------


def dumped(result):
    return json.dumps(result.to_dict(), allow_nan=False).encode()


def test_the_same_seed_gives_the_same_bytes_whatever_the_cores(monkeypatch):
    some = sites(count=4, width=40)
    runs = []
    for cores in (1, 2, 2, 5):
        monkeypatch.setattr(_threads, "free_cores", lambda cores=cores: cores)
        runs.append(dumped(compare(some, permutations=19, rng=7)))
    assert len(set(runs)) == 1
    assert dumped(compare(some, permutations=19, rng=8)) != runs[0]


def test_threads_of_the_linear_algebra_do_not_matter(monkeypatch):
    from threadpoolctl import threadpool_limits

    some = {name: rows.astype("float32") for name, rows in arrays(300, (80, 120)).items()}
    runs = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            runs.append(dumped(compare(some, permutations=3)))
    assert runs[0] == runs[1]


def test_progress_counts_reach_the_total(monkeypatch):
    flat = Space(np.ones((30, 6)), name="flat", facts={"model": "c"})
    for some, options in (
        (sites(), {}),
        (sites(), {"reduced": 2}),
        ([*sites(), flat], {}),
        (sites(n=8), {}),
        (sites(), {"permutations": 0}),
    ):
        seen = []
        compare(
            some,
            progress=lambda *step, seen=seen: seen.append(step),
            **{"permutations": 5, **options},
        )
        done, totals = [s[1] for s in seen], {s[2] for s in seen}
        assert len(totals) == 1
        assert done == sorted(done)
        assert done[-1] == totals.pop()
        assert seen[0][0] == "ranks of the spaces"
        assert seen[-1][0] == "R² of CCA"


def test_an_error_in_progress_ends_the_run():
    def stop(what, done, total):
        if done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(sites(), permutations=99, progress=stop)


# What has no value -------------------------------------------------------------------------------


def test_one_flat_space_among_many_leaves_reasons_and_the_run_goes_on():
    some = [*spaces(), Space(np.full((N, 3), 2.0), ids=IDS, name="flat")]
    result = compare(some, permutations=3)
    for cell in result.cells:
        with_flat = "flat" in (cell.source, cell.target)
        assert (cell.value is None) == with_flat
        if with_flat:
            assert cell.reason
            figures = (cell.null_mean, cell.null_sd, cell.p, cell.p_search, cell.low, cell.high)
            assert figures == (None,) * 6
            assert cell.note is None
    flat = result.spaces[-1]
    assert (flat.rank, flat.leading_share, flat.duplicates) == (0, 0.0, N - 1)
    good = compare(spaces(), permutations=3)
    kept = [r for r in result.records() if "flat" not in (r["source"], r["target"])]
    assert [r["value"] for r in kept] == [pytest.approx(r["value"]) for r in good.records()]


def test_a_zero_row_has_no_neighbours_but_other_measures_do_not_mind():
    some = spaces()
    rows = some[1].rows.copy()
    rows[4] = 0.0
    some[1] = replace(some[1], rows=rows)
    result = compare(some, ["mutual_knn", "linear_cka"], permutations=3)
    empty = {(c.measure, c.source, c.target) for c in result.cells if c.value is None}
    assert empty == {
        ("mutual_knn", "s4", "s7"),
        ("mutual_knn", "s7", "s4"),
        ("mutual_knn", "s7", "s5"),
        ("mutual_knn", "s5", "s7"),
    }
    reason = next(c.reason for c in result.cells if c.value is None)
    assert reason.startswith("s7: Row 4 is zero: it has no direction")


@pytest.mark.parametrize("name", ["predictive_r2", "mean_cca"])
def test_too_few_rows_for_a_measure_named_is_an_error_that_names_it(name):
    rng = np.random.default_rng(0)
    few = {n: rng.standard_normal((12, 11)) for n in ("p", "q", "r")}
    with pytest.raises(UndefinedMeasureError, match=rf"^{name} of p and q \(and 4 more pairs\): "):
        compare(few, ["linear_cka", name], permutations=0)
    two = {n: few[n] for n in "pq"}
    with pytest.raises(UndefinedMeasureError, match=rf"^{name} of p and q: .*reduced="):
        compare(two, [name], permutations=0)


def test_a_measure_named_with_some_values_is_no_error():
    rng = np.random.default_rng(0)
    some = {"wide": rng.standard_normal((12, 11)), "narrow": rng.standard_normal((12, 2))}
    result = compare(some, ["predictive_r2"], permutations=0)
    assert result.value("predictive_r2", source="narrow", target="wide") is not None
    assert result.value("predictive_r2", source="wide", target="narrow") is None
    assert "passes through all 12 rows" in result.cells[0].reason


# Measures of one's own ---------------------------------------------------------------------------


def test_a_measure_of_ones_own_needs_only_a_function():
    some = arrays()
    result = compare(some, [own(first_products)], permutations=19)
    for cell in result.cells:
        assert cell.value == pytest.approx(first_products(some[cell.source], some[cell.target]))
        assert cell.draws == 19
        assert cell.p is not None


def bad_where(condition, outcome):
    def measure(x, y):
        if condition(x, y):
            if isinstance(outcome, type):
                raise outcome
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        return 0.5

    return measure


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (math.nan, "The measure came out as nan: it has no value on these rows."),
        (np.float32(np.inf), "The measure came out as inf: it has no value on these rows."),
        (None, "The measure returned NoneType; one number is expected."),
        (ValueError("too\nlong"), "too"),
        (ZeroDivisionError, "The measure raised ZeroDivisionError."),
        (np.linalg.LinAlgError("SVD did not converge"), "SVD did not converge"),
    ],
    ids=repr,
)
def test_no_nan_leaves(outcome, reason):
    def where(x, y):
        return 7 in (x.shape[1], y.shape[1])

    result = compare(spaces(), own(bad_where(where, outcome)), permutations=3)
    for cell in result.cells:
        bad = "s7" in (cell.source, cell.target)
        assert cell.reason == (reason if bad else None)
        assert (cell.value is None) == bad
    assert b"NaN" not in dumped(result)
    with pytest.raises(UndefinedMeasureError, match=r"^mine of s4 and s7 \(and 4 more pairs\): "):
        compare(spaces(), own(bad_where(lambda x, y: True, outcome)), permutations=3)


def test_a_shuffle_without_a_value_takes_the_null_and_not_the_value():
    some = arrays()
    first = {len(rows[0]): rows[0, 0] for rows in some.values()}

    def moved(x, y):
        return y[0, 0] != first[y.shape[1]]

    result = compare(some, own(bad_where(moved, math.nan)), permutations=9)
    for cell in result.cells:
        assert (cell.value, cell.null_mean, cell.p, cell.draws) == (0.5, None, None, 0)
        assert cell.note == (
            "there is no null, a shuffle has no value: The measure came out as nan: it has no "
            "value on these rows."
        )


def test_a_relation_that_is_not_finite_is_a_reason():
    from cospace.summaries import Relation

    def relation(rows):
        vector = np.full(len(rows) * (len(rows) + 1) // 2, np.nan)
        if rows.shape[1] != 7:
            vector[:] = len(vector) ** -0.5
        return Relation(vector, len(rows), "triangle", "pairs")

    measure = own(first_products, relation=relation)
    result = compare(spaces(), measure, permutations=3)
    for cell in result.cells:
        assert (cell.value is None) == ("s7" in (cell.source, cell.target))
    assert b"NaN" not in dumped(result)


def test_a_fault_in_a_measure_of_ones_own_is_not_hidden():
    def broken(x, y):
        return x.there_is_no_such_thing

    with pytest.raises(AttributeError, match="there_is_no_such_thing"):
        compare(spaces(), own(broken), permutations=3)


def test_an_interrupt_inside_a_thread_ends_the_run():
    calls = []

    def interrupted(x, y):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return 0.5

    with pytest.raises(KeyboardInterrupt):
        compare(sites(count=8), own(interrupted), permutations=199)
    assert len(calls) <= 16 * 15 // 2  # not one shuffle


def test_an_interrupt_from_the_keyboard_does_not_wait_for_a_pair_to_end():
    calls = []

    def slow(x, y):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signals.SIGINT)
        time.sleep(0.02)
        return 0.5

    # A runner in the background is deaf to interrupts, and so are its children.
    before = signals.signal(signals.SIGINT, signals.default_int_handler)
    start = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            compare(arrays(widths=(2, 3)), own(slow), permutations=999)
    finally:
        signals.signal(signals.SIGINT, before)
    assert time.perf_counter() - start < 5  # all shuffles of the one pair take 20 s
    assert len(calls) < 100


def test_arrays_of_another_library_are_taken():
    import torch

    some = arrays()
    tensors = {name: torch.as_tensor(rows) for name, rows in some.items()}
    one, two = compare(some, permutations=3), compare(tensors, permutations=3)
    for a, b in zip(one.cells, two.cells, strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-10)
        assert a.p == b.p


# What is said of the spaces ----------------------------------------------------------------------


def test_facts_of_the_spaces():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 9)) + 3.0
    facts = {
        "model": "m",
        "site": "block.1",
        "depth": 0.5,
        "pooling": "mean",
        "revision": "abc",
    }
    space = Space(rows, name="x", facts=facts).scale("unit")
    result = compare([space, Space(rng.standard_normal((50, 60)), name="y")], permutations=0)
    x, y = result.spaces
    assert (x.name, x.model, x.site, x.depth, x.pooling) == ("x", "m", "block.1", 0.5, "mean")
    assert (x.n, x.width, x.rank, x.duplicates, x.steps) == (50, 9, 2, 0, ("unit",))
    assert dict(x.facts) == {"model": "m", "revision": "abc"}
    assert x.fingerprint == space.fingerprint
    s = np.linalg.svd(space.rows - space.rows.mean(0), compute_uv=False)
    assert x.leading_share == pytest.approx(s[0] ** 2 / (s**2).sum())
    assert (y.model, y.site, y.depth, y.rank) == ("y", None, None, 49)


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
@pytest.mark.parametrize(("smallest", "rank"), [(3e-6, 5), (3e-7, 4)])
def test_ranks_are_those_of_the_singular_values(shape, smallest, rank):
    rng = np.random.default_rng(0)
    u = orthonormal(shape[0], 5, rng)
    v = np.linalg.qr(rng.standard_normal((shape[1], 5)))[0]
    rows = (u * [1.0, 0.5, 0.2, 0.1, smallest]) @ v.T
    for size in (1.0, 1e-90, 1e90):
        some = [Space(rows * size, name=name) for name in "ab"]
        assert compare(some, "procrustes_similarity", permutations=0).spaces[0].rank == rank


def warned(*spaces, measures="linear_cka", **options):
    return "\n".join(compare(list(spaces), measures, permutations=0, **options).warnings)


def test_warnings():
    rng = np.random.default_rng(0)

    def space(name, n, d, **options):
        return Space(
            rng.standard_normal((n, d)), ids=tuple(map(str, range(n))), name=name, **options
        )

    assert warned(space("a", 100, 4), space("b", 100, 4)) == ""
    a, ruled, doubled = space("a", 40, 4), space("ruled", 40, 4), space("doubled", 40, 4)
    ruled.rows[:, 0] *= 100
    doubled.rows[7:9] = doubled.rows[3]
    assert warned(a, ruled, doubled) == (
        "1 of 3 spaces have repeated rows (most: doubled, 2 of 40); repeats make spaces look more "
        "alike.\n"
        "In 1 of 3 spaces one direction holds more than half of the variance (most: ruled, 100.0%): "
        "it rules CKA there. Compare again after space.scale('standardize') or "
        "space.scale('drop:1') (on the command line: --scale)."
    )
    assert warned(space("a", 40, 4), space("b", 40, 9)) == (
        "40 rows are fewer than five times the greatest width: Linear CKA then makes unrelated "
        "spaces look alike; read it beside the null."
    )
    assert warned(space("a", 40, 4), space("b", 40, 40)) == (
        "40 rows are no more than the width of 1 of 2 spaces: Linear CKA then makes unrelated "
        "spaces look alike; read it beside the null."
    )
    one = Space(rng.standard_normal((30, 1)), ids=tuple(map(str, range(30))), name="one")
    assert "variance" not in warned(one, replace(one, name="two"))


def test_the_result_says_how_it_was_made():
    result = cospace.compare(spaces(), permutations=3, rng=5)
    assert {
        k: result.settings[k] for k in ("permutations", "exact", "seed", "grid", "reduced")
    } == {
        "permutations": 3,
        "exact": False,
        "seed": 5,
        "grid": False,
        "reduced": None,
    }
    assert result.settings["rank_tolerance"] == 1e-6
    assert result.settings["bootstrap_samples"] == 200
    assert result.settings["routes"]["mutual_knn"] == "stacked"
    assert result.settings["routes"]["heldout_r2"] == "pairwise"
    assert result.provenance["versions"]["cospace"] == cospace.__version__
