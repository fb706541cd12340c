"""Likeness beyond confounds: against explicit regressions and loops, and with planted confounds."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, rankdata, spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer

from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.measures import mutual_knn, representational_similarity, rsa
from cospace.measures.confound import partial_relation, partial_rsa
from cospace.measures.inside import (
    within_group_chance,
    within_group_knn,
    within_group_neighbors,
    within_group_relation,
    within_group_rsa,
)
from cospace.measures.nuisance import (
    Nuisances,
    group_dissimilarity,
    length_dissimilarity,
    lexical_dissimilarity,
)
from cospace.stats import Permutations

N = 48
ABOVE = np.triu_indices(N, 1)
RNG = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(60)]
TEXTS = [" ".join(RNG.choice(WORDS, size=RNG.integers(3, 12))) for _ in range(N)]
GROUPS = [f"group {i % 3}" for i in range(N)]
NUISANCES = {
    "length": length_dissimilarity(TEXTS),
    "words": lexical_dissimilarity(TEXTS),
    "group": group_dissimilarity(GROUPS),
}


@pytest.fixture
def spaces(pair):
    return pair(n=N)


# Nuisances ----------------------------------------------------------------------------------------


def test_lengths_are_counted_or_given():
    lengths = [len(text) for text in TEXTS]
    expected = squareform(pdist(np.array(lengths)[:, None], "cityblock"))
    for given in (TEXTS, lengths, np.array(lengths)):
        np.testing.assert_array_equal(length_dissimilarity(given), expected)


def test_words_are_weighed_as_by_scikit_learn():
    texts = [*TEXTS, "W1 w1 W2", "Ünï-code, straße 9 __", "!!! ???"]
    table = TfidfVectorizer(token_pattern=r"\w+", preprocessor=str.casefold).fit_transform(texts)
    expected = 1 - (table @ table.T).toarray()
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(lexical_dissimilarity(texts), expected, atol=1e-14)


def test_ends_of_the_lexical_scale_are_exact():
    texts = ["the red fox", "The fox -- the red!", "fox red the the", "blue sky", "?!", ""]
    apart = lexical_dissimilarity(texts)
    assert apart[1, 2] == 0.0
    assert 0 < apart[0, 1] < 1
    assert (apart[:3, 3:] == 1.0).all()
    assert apart[4, 5] == 1.0  # texts without words share none
    np.testing.assert_array_equal(apart, apart.T)
    np.testing.assert_array_equal(lexical_dissimilarity(["!", "?"]), 1 - np.eye(2))


def test_groups_differ_or_not():
    expected = np.array([[a != b for a in GROUPS] for b in GROUPS], dtype=float)
    np.testing.assert_array_equal(group_dissimilarity(GROUPS), expected)


# Partial RSA --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dissimilarity", ["correlation", "cosine", "euclidean"])
@pytest.mark.parametrize("comparator", ["pearson", "spearman"])
@pytest.mark.parametrize("names", [["length"], ["words", "group"], ["length", "words", "group"]])
def test_it_is_the_partial_correlation(spaces, dissimilarity, comparator, names):
    chosen = {name: NUISANCES[name] for name in names}
    found = partial_rsa(*spaces, chosen, comparator=comparator, dissimilarity=dissimilarity)
    x, y = (pdist(rows, dissimilarity) for rows in spaces)
    columns = [table[ABOVE] for table in chosen.values()]
    if comparator == "spearman":
        x, y, *columns = map(rankdata, (x, y, *columns))
    design = np.column_stack([np.ones(len(x)), *columns])
    left = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (x, y)]
    assert found == pytest.approx(pearsonr(*left).statistic, abs=1e-10)


def test_one_nuisance_by_the_formula_of_three_correlations(spaces):
    x, y = (pdist(rows, "correlation") for rows in spaces)
    z = NUISANCES["length"][ABOVE]
    xy, xz, yz = (spearmanr(*p).statistic for p in ((x, y), (x, z), (y, z)))
    expected = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    found = partial_rsa(*spaces, {"length": NUISANCES["length"]})
    assert found == pytest.approx(expected, abs=1e-10)


def test_a_nuisance_that_explains_nothing_changes_nothing(spaces):
    x, y = (squareform(pdist(rows, "correlation")) for rows in spaces)
    z = np.random.default_rng(1).normal(size=len(ABOVE[0]))
    design = np.column_stack([np.ones(len(z)), x[ABOVE], y[ABOVE]])
    z -= design @ np.linalg.lstsq(design, z, rcond=None)[0]
    found = partial_rsa(*spaces, {"z": squareform(z)}, comparator="pearson")
    assert found == pytest.approx(rsa(*spaces, comparator="pearson"), abs=1e-10)


def test_a_nuisance_given_twice_counts_once(spaces):
    twice = {**NUISANCES, "again": 3 * NUISANCES["length"] + 1}
    assert partial_rsa(*spaces, twice, comparator="pearson") == pytest.approx(
        partial_rsa(*spaces, NUISANCES, comparator="pearson"), abs=1e-10
    )
    assert Nuisances.of(twice, "pearson").basis.shape[1] == 3


def confounded(seed, *, shared=0.0):
    """Two spaces that share their texts' lengths and groups, and no more unless asked for."""
    rng = np.random.default_rng(seed)
    lengths = np.array([len(text) for text in TEXTS], dtype=float)
    facts = np.column_stack(
        [(lengths - lengths.mean()) / lengths.std(), *np.eye(3)[:, np.arange(N) % 3]]
    )
    z = rng.normal(size=(N, 3))
    return [
        facts @ rng.normal(size=(4, 12)) * 2
        + shared * z @ rng.normal(size=(3, 12))
        + rng.normal(size=(N, 12))
        for _ in range(2)
    ]


def test_what_length_and_group_alone_make_alike_is_taken_off():
    plain, partial, beyond = [], [], []
    chosen = {name: NUISANCES[name] for name in ("length", "group")}
    for seed in range(25):
        x, y = confounded(seed)
        plain.append(rsa(x, y))
        partial.append(partial_rsa(x, y, chosen))
        beyond.append(partial_rsa(*confounded(seed, shared=2.0), chosen))
    assert np.mean(plain) > 0.4
    assert np.mean(partial) < np.mean(plain) / 2
    assert np.mean(beyond) > np.mean(partial) + 0.15


def test_its_null_is_at_zero_and_its_relation_permutes(spaces):
    x, y = spaces
    ready = Nuisances.of(NUISANCES)
    a, b = (partial_relation(rows, ready) for rows in (x, y))
    assert a.inner(b) == pytest.approx(partial_rsa(x, y, NUISANCES), abs=1e-12)
    order = np.random.default_rng(2).permutation(N)
    moved = {name: table[np.ix_(order, order)] for name, table in NUISANCES.items()}
    again = partial_relation(y[order], Nuisances.of(moved))
    np.testing.assert_allclose(b.permuted(order).vector, again.vector, atol=1e-12)
    shuffles = Permutations.of(N, 200, rng=np.random.default_rng(3)).orders
    draws = [a.inner(b.permuted(shuffle)) for shuffle in shuffles]
    assert abs(np.mean(draws)) < 3 * np.std(draws) / np.sqrt(200)


@pytest.mark.parametrize("comparator", ["pearson", "spearman"])
def test_a_bootstrap_need_not_fit_the_regression_again(comparator):
    """Samples reweigh the rests; their spread is that of drawing texts anew."""
    values, spreads = [], []
    rng = np.random.default_rng(4)
    mix = rng.normal(size=(2, 4, 8))
    for _ in range(60):
        z, length = rng.normal(size=(60, 3)), rng.normal(size=60)
        x, y = (np.column_stack([z, length]) @ m + rng.normal(size=(60, 8)) for m in mix)
        ready = Nuisances.of({"length": length_dissimilarity(length)}, comparator)
        a, b = (partial_relation(rows, ready, dissimilarity="euclidean") for rows in (x, y))
        values.append(a.inner(b))
        rows, columns = np.triu_indices(60)
        samples = []
        for counts in rng.multinomial(60, np.full(60, 1 / 60), size=60):
            w = counts[rows] * counts[columns]
            v, u = a.vector, b.vector
            samples.append(np.sum(w * v * u) / np.sqrt(np.sum(w * v * v) * np.sum(w * u * u)))
        spreads.append(np.std(samples))
    assert np.mean(spreads) == pytest.approx(np.std(values), rel=0.25)


def test_ties_of_nuisances_are_ties_whatever_the_rounding(spaces):
    coarse = np.round(NUISANCES["words"], 1)
    noisy = coarse * (1 + 1e-15 * np.random.default_rng(5).normal(size=coarse.shape))
    noisy = (noisy + noisy.T) / 2
    assert partial_rsa(*spaces, {"words": noisy}) == pytest.approx(
        partial_rsa(*spaces, {"words": coarse}), abs=1e-12
    )


# Within groups ------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 4])
def test_neighbours_within_groups_by_a_loop(spaces, k):
    expected = []
    for i in range(N):
        found = []
        for rows in spaces:
            unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
            others = [j for j in range(N) if j != i and GROUPS[j] == GROUPS[i]]
            found.append(set(sorted(others, key=lambda j: -unit[i] @ unit[j])[:k]))
        expected.append(len(found[0] & found[1]) / k)
    assert within_group_knn(*spaces, GROUPS, k=k) == pytest.approx(np.mean(expected), abs=1e-15)


def test_chance_within_groups_is_the_mean_over_all_shuffles():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 7, 3))
    groups = list("aaabbbb")
    shuffles = Permutations.of(7, 1000, rng=rng, groups=groups)
    assert shuffles.exact
    draws = [within_group_knn(x, y[order], groups, k=1) for order in shuffles.orders]
    assert np.mean(draws) == pytest.approx(within_group_chance(groups, k=1), abs=1e-12)
    assert within_group_chance(groups, k=1) == pytest.approx((3 / 2 + 4 / 3) / 7)


def test_one_group_is_the_plain_measure(spaces):
    one = ["all"] * N
    assert within_group_knn(*spaces, one, k=5) == mutual_knn(*spaces, k=5)
    assert within_group_chance(one, k=5) == 5 / 47
    for comparator in ("pearson", "spearman"):
        for dissimilarity in ("cosine", "correlation", "euclidean", "mahalanobis"):
            options = {"comparator": comparator, "dissimilarity": dissimilarity}
            assert within_group_rsa(*spaces, one, **options) == pytest.approx(
                representational_similarity(*spaces, **options), abs=1e-12
            )


def test_groups_that_both_spaces_know_are_not_counted_as_likeness():
    plain, within = [], []
    rng = np.random.default_rng(7)
    at = np.arange(N) % 3
    for _ in range(20):
        x, y = (4 * rng.normal(size=(3, 10))[at] + rng.normal(size=(N, 10)) for _ in "xy")
        plain.append((mutual_knn(x, y, k=4), rsa(x, y)))
        within.append((within_group_knn(x, y, GROUPS, k=4), within_group_rsa(x, y, GROUPS)))
    assert np.mean(plain, axis=0)[0] > 2 * 4 / 47
    assert np.mean(plain, axis=0)[1] > 0.4
    assert np.mean(within, axis=0)[0] == pytest.approx(within_group_chance(GROUPS, k=4), abs=0.03)
    assert np.mean(within, axis=0)[1] == pytest.approx(0.0, abs=0.03)


def test_tight_and_loose_groups_are_not_counted_as_likeness():
    """Spaces that share only how wide each group is."""
    pooled, within = [], []
    rng = np.random.default_rng(8)
    at = np.arange(N) % 3
    spread = np.array([0.2, 1.0, 5.0])[at][:, None]
    same = np.array(GROUPS)[ABOVE[0]] == np.array(GROUPS)[ABOVE[1]]
    for _ in range(20):
        x, y = (10 * rng.normal(size=(3, 8))[at] + spread * rng.normal(size=(N, 8)) for _ in "xy")
        pooled.append(spearmanr(*(pdist(rows)[same] for rows in (x, y))).statistic)
        within.append(within_group_rsa(x, y, GROUPS, dissimilarity="euclidean"))
    assert np.mean(pooled) > 0.8
    assert abs(np.mean(within)) < 0.05


@pytest.mark.parametrize("comparator", ["pearson", "spearman"])
def test_rsa_within_groups_by_a_loop(spaces, comparator):
    groups = ["a"] * 5 + ["b"] * 20 + ["c"] * 23
    sides = []
    for rows in spaces:
        entries = []
        for name in "abc":
            inside = pdist(rows[np.array(groups) == name], "correlation")
            if comparator == "spearman":
                inside = rankdata(inside) / len(inside)
            entries.append(inside - inside.mean())
        sides.append(np.concatenate(entries))
    expected = sides[0] @ sides[1] / np.linalg.norm(sides[0]) / np.linalg.norm(sides[1])
    assert within_group_rsa(*spaces, groups, comparator=comparator) == pytest.approx(
        expected, abs=1e-12
    )


def test_summaries_within_groups_permute_inside_them(spaces):
    _, y = spaces
    for order in Permutations.of(N, 3, rng=np.random.default_rng(9), groups=GROUPS).orders:
        near = within_group_neighbors(y, GROUPS, k=4).permuted(order)
        np.testing.assert_array_equal(
            near.index, within_group_neighbors(y[order], GROUPS, k=4).index
        )
        relation = within_group_relation(y, GROUPS).permuted(order)
        np.testing.assert_allclose(
            relation.vector, within_group_relation(y[order], GROUPS).vector, atol=1e-12
        )


def test_a_group_holds_its_own_memory_and_no_square_of_all_rows():
    rng = np.random.default_rng(10)
    x, y = rng.normal(size=(2, 6000, 4))
    groups = np.arange(6000) % 40
    tracemalloc.start()
    within_group_knn(x, y, groups.astype(str))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 6000**2 / 20


def test_tensors_are_read(spaces):
    x, y = map(torch.asarray, spaces)
    assert within_group_knn(x, y, GROUPS) == within_group_knn(*spaces, GROUPS)
    assert within_group_rsa(x, y, GROUPS) == within_group_rsa(*spaces, GROUPS)
    assert partial_rsa(x, y, NUISANCES) == partial_rsa(*spaces, NUISANCES)


SKEW = np.arange(N * N, dtype=float).reshape(N, N)
FLAT = np.ones((N, N))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x, y: partial_rsa(x, y, {}),
            InputError,
            "No nuisance was given: without any, use rsa",
        ),
        (
            lambda x, y: partial_rsa(x, y, {"length": NUISANCES["length"], "topic": FLAT}),
            UndefinedMeasureError,
            "The nuisance 'topic' is the same for every two texts: it explains nothing. Leave it out",
        ),
        (
            lambda x, y: partial_rsa(x, y, {"skew": SKEW}),
            InputError,
            "The nuisance 'skew' is not symmetric: a dissimilarity has no direction",
        ),
        (
            lambda x, y: partial_rsa(x, y, {"bad": np.where(FLAT == 1, np.nan, 0)}),
            InputError,
            "The nuisance 'bad' has NaN or infinite entries",
        ),
        (
            lambda x, y: partial_rsa(x, y, {"row": SKEW[0]}),
            InputError,
            r"The nuisance 'row' has shape \(48,\); \(n, n\) is expected",
        ),
        (
            lambda x, y: partial_rsa(
                x, y, {"a": NUISANCES["group"], "b": length_dissimilarity([1, 2, 5])}
            ),
            InputError,
            "The nuisance 'a' is of 48 texts and 'b' of 3",
        ),
        (
            lambda x, y: partial_rsa(x[:9], y[:9], NUISANCES),
            RowMismatchError,
            "The source has 9 rows and the nuisances are of 48 texts: one row for each text",
        ),
        (
            lambda x, y: Nuisances.of({"a": length_dissimilarity([1, 2, 5])}),
            UndefinedMeasureError,
            "3 texts have 3 dissimilarities: too few to take 1 nuisances off",
        ),
        (
            lambda x, y: partial_rsa(
                x, y, {"own": squareform(pdist(y, "cosine"))}, dissimilarity="cosine"
            ),
            UndefinedMeasureError,
            r"The nuisances \(own\) explain every dissimilarity of the target: nothing is left",
        ),
        (
            lambda x, y: partial_rsa(x, y, NUISANCES, comparator="kendall"),
            UnknownNameError,
            "'kendall' is not a comparator here. Known: pearson, spearman",
        ),
        (
            lambda x, y: within_group_rsa(x, y, GROUPS, comparator="kendall"),
            UnknownNameError,
            "'kendall' is not a comparator here",
        ),
        (
            lambda x, y: within_group_rsa(x, y, ["a", "a", *GROUPS[2:]]),
            UndefinedMeasureError,
            r"Too small for 3 dissimilarities inside a group of at least 3 rows: 'a' \(2 rows\)\. Leave",
        ),
        (
            lambda x, y: within_group_knn(x, y, [*"abcd", *["e"] * 11, *["f"] * (N - 15)]),
            UndefinedMeasureError,
            r"Too small for 10 neighbours inside a group of at least 12 rows: 'a' \(1 rows\), "
            r"'b' \(1 rows\), 'c' \(1 rows\) and 2 more",
        ),
        (lambda x, y: within_group_chance(["a"] * 11), UndefinedMeasureError, r"'a' \(11 rows\)"),
        (
            lambda x, y: within_group_knn(x, y, GROUPS, k=0),
            InputError,
            "0 neighbours were asked for",
        ),
        (
            lambda x, y: within_group_knn(x, y, GROUPS[1:]),
            InputError,
            "48 rows but 47 groups: one for",
        ),
        (
            lambda x, y: within_group_knn(x, y[1:], GROUPS),
            RowMismatchError,
            "48 rows and target has 47",
        ),
        (
            lambda x, y: within_group_knn(x * (np.arange(N) != 7)[:, None], y, GROUPS),
            UndefinedMeasureError,
            "Within the group 'group 1', rows counted inside it: Row 2 is zero: it has no direction",
        ),
    ],
)
def test_refusals(spaces, call, error, text):
    with pytest.raises(error, match=text):
        call(*spaces)
