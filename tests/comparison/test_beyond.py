"""Likeness beyond confounds and inside groups, as measures of a comparison with their own nulls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, rankdata

from cospace.comparison import compare
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.measures.confound import (
    inside_groups,
    within_group_chance,
    within_group_knn,
    within_group_rsa,
)
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
    assert (cell.draws, cell.null_exact, cell.interval) == (199, True, "rows")
    assert cell.null_mean == pytest.approx(0.0, abs=1e-3)
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


def by_length(rng, n=40):
    """Rows whose correlations fall in a straight line with the difference in length, and noise."""
    sizes = rng.integers(0, 31, size=n)
    steps = np.where(sizes[:, None] > np.arange(30), 1.0, -1.0)
    steps = np.hstack([steps, -steps])
    written = {f"t{i}": "x" * (1 + size) for i, size in enumerate(sizes)}
    rows = {name: steps + 3 * rng.standard_normal(steps.shape) for name in "xy"}
    return [Space(table, ids=tuple(written), name=name) for name, table in rows.items()], written


def test_what_only_the_length_makes_alike_is_at_chance_beyond_it():
    plain, beyond = [], []
    for repeat in range(100):
        some, written = by_length(np.random.default_rng([31, repeat]))
        result = compare(
            some, ["rsa_spearman"], beyond=["length"], texts=written, permutations=19, rng=repeat
        )
        plain.append(only(result, "rsa_spearman").p)
        beyond.append(only(result, "partial_rsa").p)
    assert np.mean(np.asarray(plain) <= 0.05) > 0.8
    assert np.sum(np.asarray(beyond) <= 0.05) <= most(0.05, 100)


def test_what_is_shared_beyond_the_length_is_found():
    found = []
    for repeat in range(20):
        rng = np.random.default_rng([32, repeat])
        some, written = spaces(rng, length=2.0, shared=1.5)
        result = compare(
            some, ["rsa_spearman"], beyond=["length"], texts=written, permutations=19, rng=repeat
        )
        found.append(only(result, "partial_rsa").p)
    assert np.mean(np.asarray(found) <= 0.05) > 0.9


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
