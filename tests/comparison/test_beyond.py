"""Likeness beyond confounds and inside groups, as measures of a comparison with their own nulls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, rankdata

from cospace.comparison import compare
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.measures.confound import partial_rsa
from cospace.measures.inside import (
    inside_groups,
    within_group_chance,
    within_group_knn,
    within_group_rsa,
)
from cospace.measures.nuisance import group_dissimilarity
from cospace.report.verdicts import Readings
from cospace.space import Space
from cospace.stats import Permutations

WORDS = ("red", "fox", "sky", "blue", "runs", "slow", "over", "dogs", "lazy", "quick")


def most(level, repeats):
    """Rejections that a test of that level exceeds once in a thousand."""
    return int(binom.ppf(0.999, repeats, level))


def texts(rng, n):
    return {f"t{i}": " ".join(rng.choice(WORDS, size=rng.integers(1, 12))) for i in range(n)}


def spaces(rng, n=40, *, length=0.0, shared=0.0, groups=None, grouped=0.0, written=None):
    """Two models of the same texts: both may show their length, their group, or something more."""
    written = texts(rng, n) if written is None else written
    sizes = np.array([len(t) for t in written.values()], dtype=float)
    sizes = (sizes - sizes.mean()) / sizes.std()
    z = shared * rng.standard_normal((n, 2))
    names = None if groups is None else tuple(map(str, groups))
    found = []
    for name in "xy":
        rows = rng.standard_normal((n, 6)) + z @ rng.standard_normal((2, 6))
        rows += length * sizes[:, None] * rng.standard_normal(6)
        if groups is not None:
            rows += grouped * rng.standard_normal((groups.max() + 1, 6))[groups]
        found.append(Space(rows, ids=tuple(written), name=name, groups=names))
    return found, written


def only(result, name):
    return next(c for c in result.cells if c.measure == name and c.source == "x")


# Beyond -------------------------------------------------------------------------------------------


def test_partial_rsa_stands_beside_the_others_with_its_claims():
    rng = np.random.default_rng(0)
    groups = np.arange(40) % 4
    some, written = spaces(rng, length=1.0, groups=groups)
    result = compare(
        some, ["rsa_spearman"], beyond=["length", "words", "group"], texts=written, rng=1
    )
    assert [m.name for m in result.measures] == ["rsa_spearman", "partial_rsa"]
    assert result.measures[1].title == "RSA beyond length, words and group"
    cell = only(result, "partial_rsa")
    assert (cell.draws, cell.null_exact, cell.interval) == (199, False, "rows")
    assert abs(cell.null_mean) < 4 * cell.null_sd
    assert result.measures[1].summary.endswith(
        "difference in length, words and group; rows are shuffled inside groups."
    )
    assert result.settings["beyond"] == ["length", "words", "group"]


def test_its_value_is_the_partial_correlation_of_ranks():
    """Against ranks and least squares by hand, rows in another order than the texts."""
    rng = np.random.default_rng(1)
    some, written = spaces(rng, n=24, length=1.0)
    turned = dict(reversed(written.items()))
    result = compare(some, ["rsa_spearman"], beyond=["length"], texts=turned, permutations=0)
    above = np.triu_indices(24, 1)
    sizes = np.array([len(written[i]) for i in some[0].ids])
    long = rankdata(np.abs(sizes[:, None] - sizes)[above])
    design = np.stack([np.ones(len(long)), long], axis=1)
    rests = []
    for space in some:
        ranks = rankdata(np.round(1 - np.corrcoef(space.rows), 12)[above])
        rests.append(ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0])
    expected = np.corrcoef(*rests)[0, 1]
    assert only(result, "partial_rsa").value == pytest.approx(expected, abs=1e-9)


def only_grouped(rng, n=40, groups=4):
    """Two spaces that share the distances between their groups, and nothing inside them."""
    names = np.arange(n) % groups
    centres = 3 * rng.standard_normal((groups, 6))
    rows = {name: centres[names] + rng.standard_normal((n, 6)) for name in "xy"}
    member = tuple(f"g{i}" for i in names)
    return [Space(table, name=name, groups=member) for name, table in rows.items()]


def test_what_only_the_groups_make_alike_keeps_the_level_beyond_them():
    """Regression on "same group or not" leaves how far two groups are apart: shuffles must keep it."""
    p, free = [], []
    for repeat in range(80):
        some = only_grouped(np.random.default_rng([31, repeat]))
        result = compare(some, ["rsa_spearman"], beyond="group", permutations=19, rng=repeat)
        cell = only(result, "partial_rsa")
        assert not cell.null_exact
        p.append(cell.p)
        free.append(cell.value > 0.1)
    assert np.mean(free) > 0.5  # a good part of the groups is left in the value
    assert np.sum(np.asarray(p) <= 0.05) <= most(0.05, 80)
    assert np.sum(np.asarray(p) <= 0.5) >= int(binom.ppf(0.001, 80, 0.4))  # nor is it idle


def test_what_is_shared_inside_groups_is_found_beyond_them():
    found = []
    for repeat in range(20):
        rng = np.random.default_rng([32, repeat])
        some, _ = spaces(rng, groups=np.arange(40) % 4, grouped=2.0, shared=2.0)
        result = compare(some, ["rsa_spearman"], beyond=["group"], permutations=19, rng=repeat)
        found.append(only(result, "partial_rsa").p)
    assert np.mean(np.asarray(found) <= 0.05) > 0.9


def test_shuffles_beyond_group_are_those_inside_it():
    some = only_grouped(np.random.default_rng(3))
    result = compare(some, ["rsa_spearman"], beyond=["group"], permutations=49, rng=5)
    cell = only(result, "partial_rsa")
    generator = np.random.default_rng(5)
    Permutations.of(40, 49, rng=generator)
    generator.multinomial(40, np.full(40, 1 / 40), size=200)
    inside = Permutations.of(40, 49, rng=generator, groups=some[0].groups)
    tables = {"group": group_dissimilarity(some[0].groups)}
    x, y = (space.rows for space in some)
    draws = [partial_rsa(x, y[order], tables) for order in inside.orders]
    assert cell.null_mean == pytest.approx(np.mean(draws), abs=1e-6)
    assert cell.null_sd == pytest.approx(np.std(draws), abs=1e-6)
    assert cell.p == (1 + np.sum(np.asarray(draws) >= cell.value)) / 50


@pytest.mark.parametrize("permutations", [0, 19])
@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["length"], "the length of their texts"),
        (["words", "length"], "the words and length of their texts"),
        (["group", "words"], "the words of their texts"),
    ],
)
def test_no_shuffle_keeps_length_or_words_so_there_is_no_p(names, told, permutations):
    rng = np.random.default_rng(4)
    some, written = spaces(rng, length=2.0, groups=np.arange(40) % 4)
    result = compare(
        some, "rsa_spearman", beyond=names, texts=written, permutations=permutations, correct="holm"
    )
    cell = only(result, "partial_rsa")
    assert (cell.p, cell.p_search) == (None, None)
    assert f"shuffled rows would not share {told}" in cell.note
    assert (cell.null_mean is None) == (permutations == 0 and "group" in names)
    assert {pair.measure for pair in result.pairs} == {"rsa_spearman"}
    assert Readings(result)(cell).words == "not tested"
    assert only(result, "rsa_spearman").p is not None


# Inside groups ------------------------------------------------------------------------------------


def test_measures_inside_groups_have_their_own_shuffles_and_exact_chance():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(3), 14)
    some, _ = spaces(rng, n=42, groups=groups, grouped=3.0)
    names = ["within_group_rsa", "within_group_knn", "rsa_spearman"]
    result = compare(some, names, permutations=49, rng=5)
    by_group = tuple(map(str, groups))
    x, y = (space.rows for space in some)
    rsa, knn = only(result, names[0]), only(result, names[1])
    assert rsa.value == pytest.approx(within_group_rsa(x, y, by_group))
    assert knn.value == pytest.approx(within_group_knn(x, y, by_group))
    assert (rsa.null_mean, knn.null_mean) == (0.0, within_group_chance(by_group))
    assert knn.effect == pytest.approx((knn.value - knn.null_mean) / (1 - knn.null_mean))
    generator = np.random.default_rng(5)
    Permutations.of(42, 49, rng=generator)
    generator.multinomial(42, np.full(42, 1 / 42), size=200)
    inside = Permutations.of(42, 49, rng=generator, groups=by_group)
    draws = [within_group_rsa(x, y[order], by_group) for order in inside.orders]
    assert rsa.null_sd == pytest.approx(np.std(draws), abs=1e-6)
    assert rsa.p == (1 + np.sum(np.asarray(draws) >= rsa.value)) / 50
    assert not rsa.null_exact  # the closed form is of shuffles that leave the groups
    assert only(result, "rsa_spearman").null_exact


def test_without_shuffles_their_level_by_chance_remains():
    rng = np.random.default_rng(3)
    some, _ = spaces(rng, n=42, groups=np.repeat(np.arange(3), 14))
    result = compare(some, ["within_group_rsa", "within_group_knn"], permutations=0)
    for cell in result.cells:
        assert (cell.p, cell.draws, cell.null_sd) == (None, 0, None)
        assert cell.null_mean is not None


def test_groups_that_both_models_tell_apart_are_no_likeness_inside_them():
    names = ("rsa_spearman", "within_group_rsa", "within_group_knn")
    p = {name: [] for name in names}
    for repeat in range(60):
        rng = np.random.default_rng([33, repeat])
        some, _ = spaces(rng, n=36, groups=np.repeat(np.arange(3), 12), grouped=3.0)
        result = compare(some, names, permutations=19, rng=repeat)
        for name in names:
            p[name].append(only(result, name).p)
    assert np.mean(np.asarray(p["rsa_spearman"]) <= 0.05) > 0.9
    for name in names[1:]:
        assert np.sum(np.asarray(p[name]) <= 0.05) <= most(0.05, 60)


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"beyond": ["length"]},
            InputError,
            "^Likeness beyond length needs the texts, and vectors do",
        ),
        (
            {"beyond": ["group"]},
            InputError,
            "^Likeness beyond group needs groups: give the texts a",
        ),
        (
            {"beyond": ["lenght"]},
            UnknownNameError,
            "'lenght' is not a confound. Did you mean 'length'",
        ),
        ({"beyond": ["group", "group"]}, InputError, "needs groups|names 'group' twice"),
        (
            {"beyond": ["words", "words"], "texts": {}},
            RowMismatchError,
            "^40 of the 40 ids have no t",
        ),
        (
            {"measures": ["within_group_rsa"]},
            InputError,
            "^within_group_rsa needs groups: give the te",
        ),
        (
            {"beyond": ["length"], "texts": {f"t{i}": "same" for i in range(40)}},
            UndefinedMeasureError,
            "^The nuisance 'length' is the same for every two texts: it explains nothing. Leave it",
        ),
    ],
)
def test_what_is_not_there_is_refused(options, error, text):
    some, _ = spaces(np.random.default_rng(4))
    with pytest.raises(error, match=text):
        compare(some, **{"measures": ["rsa_spearman"], **options})


def test_arrays_have_no_texts():
    rng = np.random.default_rng(5)
    some = {name: rng.standard_normal((12, 3)) for name in "ab"}
    with pytest.raises(RowMismatchError, match=r"^a has no ids, so that nothing says which text"):
        compare(some, "rsa_spearman", beyond=["words"], texts={"t0": "one"})


def test_names_given_twice_are_refused():
    some, written = spaces(np.random.default_rng(6))
    with pytest.raises(InputError, match=r"^beyond names 'words' twice: name each once\.$"):
        compare(some, "rsa_spearman", beyond=["words", "words"], texts=written)


def test_one_confound_needs_no_list_and_groups_of_other_rows_are_refused():
    some, written = spaces(np.random.default_rng(8))
    result = compare(some, "rsa_spearman", beyond="length", texts=written, permutations=0)
    assert result.settings["beyond"] == ["length"]
    other = inside_groups("within_group_rsa", ["a"] * 20 + ["b"] * 21)
    with pytest.raises(
        InputError, match=r"^within_group_rsa has the groups of 41 rows, and 40 rows"
    ):
        compare(some, other)


def test_small_groups_are_named():
    some, _ = spaces(np.random.default_rng(7), groups=np.arange(40) % 20)
    with pytest.raises(UndefinedMeasureError, match=r"Too small for .* inside a group"):
        compare(some, "within_group_knn")
