"""Corrections over pairs of models: by hand, their level under a planted null, their power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from cospace.comparison import Comparison, compare
from cospace.comparison.search import model_pairs
from cospace.errors import UnknownNameError
from cospace.report.verdicts import Readings
from cospace.space import Space
from cospace.stats import benjamini_hochberg, holm

REPEATS = 200


def most(level, repeats=REPEATS):
    """Rejections that a test of that level exceeds once in a thousand."""
    return int(binom.ppf(0.999, repeats, level))


def sites(rng, models="abcd", count=2, n=12, signal=0.0, alike=""):
    """Models of several sites whose rows are noise; those ``alike`` share a signal at one site."""
    shared = rng.standard_normal((n, 3))
    spaces = []
    for model in models:
        base = rng.standard_normal((n, 5))
        for at in range(count):
            rows = 0.7 * base + rng.standard_normal((n, 5))
            if at == 1 and model in alike:
                rows[:, :3] += signal * shared
            facts = {"model": model, "site": f"block.{at}", "depth": float(at)}
            spaces.append(Space(rows, name=f"{model}{at}", facts=facts))
    return spaces


def test_a_pair_of_models_stands_with_its_most_surprising_cell():
    some = sites(np.random.default_rng(0), signal=2.0, alike="ab", n=30)
    result = compare(some, ["debiased_cka", "linear_cka"], permutations=99, correct="holm")
    assert [(p.measure, p.source_model, p.target_model) for p in result.pairs] == [
        (m, a, b)
        for m in ("debiased_cka", "linear_cka")
        for a, b in ("ab", "ac", "ad", "bc", "bd", "cd")
    ]
    for pair in result.pairs:
        cells = [
            c
            for c in result.cells
            if c.measure == pair.measure
            and (c.source[0], c.target[0]) == (pair.source_model, pair.target_model)
        ]
        least = min(c.p_search for c in cells)
        alike = max(c.value for c in cells if c.p_search == least)
        assert (pair.p_search, pair.value, pair.searched) == (least, alike, len(cells))
        assert alike == result.value(pair.measure, source=pair.source, target=pair.target)
    for name in ("debiased_cka", "linear_cka"):
        mine = [p for p in result.pairs if p.measure == name]
        assert [p.p_adjusted for p in mine] == holm([p.p_search for p in mine]).tolist()
        assert (mine[0].source, mine[0].target) == ("a1", "b1")
        assert mine[0].p_adjusted == 0.06


def test_corrections_differ_in_the_pairs_of_models_alone():
    some = sites(np.random.default_rng(1))
    found = {c: compare(some, "debiased_cka", correct=c) for c in ("max", "holm", "bh")}
    assert found["max"].cells == found["holm"].cells == found["bh"].cells
    own = [p.p_search for p in found["max"].pairs]
    assert [p.p_adjusted for p in found["max"].pairs] == [None] * 6
    assert [p.p_adjusted for p in found["bh"].pairs] == benjamini_hochberg(own).tolist()
    assert found["bh"].settings["correct"] == "bh"


def test_models_of_one_site_are_their_cells():
    rng = np.random.default_rng(2)
    some = {name: rng.standard_normal((20, 3)) for name in "abc"}
    result = compare(some, "debiased_cka", permutations=99, correct="bh")
    for pair in result.pairs:
        cell = next(c for c in result.cells if (c.source, c.target) == (pair.source, pair.target))
        assert (pair.p_search, pair.searched) == (cell.p, 1)


def test_both_ways_of_a_directed_measure_are_pairs():
    rng = np.random.default_rng(3)
    some = {name: rng.standard_normal((20, 3)) for name in "ab"}
    result = compare(some, "pwcca", permutations=19, permute_fits=True, correct="holm")
    assert [(p.source, p.target) for p in result.pairs] == [("a", "b"), ("b", "a")]


def test_the_sites_of_one_model_are_a_pair_only_where_it_is_alone():
    alone = compare(sites(np.random.default_rng(4), models="a", count=3), "debiased_cka")
    assert [(p.source_model, p.target_model, p.searched) for p in alone.pairs] == [("a", "a", 3)]
    several = compare(sites(np.random.default_rng(4), models="ab", count=3), "debiased_cka")
    assert [(p.source_model, p.target_model, p.searched) for p in several.pairs] == [("a", "b", 9)]


def test_without_shuffles_the_tail_counts_every_cell():
    some = sites(np.random.default_rng(5), n=40, signal=1.0, alike="ab")
    result = compare(some, "debiased_cka", permutations=0, correct="holm")
    cells = [c for c in result.cells if (c.source[0], c.target[0]) == ("a", "b")]
    first = result.pairs[0]
    assert first.p_search == pytest.approx(min(1.0, 4 * min(c.p for c in cells)))
    assert first.p_adjusted == pytest.approx(min(1.0, 6 * first.p_search))


def test_nothing_is_said_of_measures_without_p():
    some = sites(np.random.default_rng(6), models="ab")
    result = compare(some, ["procrustes_similarity"], permutations=19, correct="holm")
    assert result.pairs == ()
    assert model_pairs([], result.measures, result.spaces, "bh") == ()


def test_pairs_come_back_from_a_dictionary_and_older_files_have_none():
    result = compare(sites(np.random.default_rng(7)), "debiased_cka", correct="holm")
    data = result.to_dict()
    assert Comparison.from_dict(data).pairs == result.pairs
    del data["pairs"]
    assert Comparison.from_dict(data).pairs == ()


def test_an_unknown_correction_is_refused():
    with pytest.raises(UnknownNameError, match=r"^'hol' is not a correction. Did you mean 'holm'"):
        compare(sites(np.random.default_rng(8)), correct="hol")


def test_under_a_planted_null_the_corrections_keep_their_level():
    claims = np.zeros(3)
    for repeat in range(REPEATS):
        some = sites(np.random.default_rng([21, repeat]))
        result = compare(some, "debiased_cka", permutations=199, correct="holm", rng=repeat)
        own = [p.p_search for p in result.pairs]
        adjusted = [p.p_adjusted for p in result.pairs]
        found = [min(p) <= 0.05 for p in (own, adjusted, benjamini_hochberg(own))]
        claims += found
    assert claims[0] > 2 * most(0.05)  # the best of six pairs, not corrected over them
    assert claims[1] <= claims[2] <= most(0.05)
    assert claims[1] >= int(binom.ppf(0.001, REPEATS, 0.025))  # nor is it idle


def test_where_one_pair_is_alike_the_others_keep_their_level_and_it_is_found():
    false = found = 0
    for repeat in range(REPEATS):
        some = sites(np.random.default_rng([22, repeat]), n=20, signal=3.0, alike="ab")
        result = compare(some, "debiased_cka", permutations=199, correct="holm", rng=repeat)
        first, *others = result.pairs
        found += first.p_adjusted <= 0.05
        false += min(p.p_adjusted for p in others) <= 0.05
    assert found > 0.8 * REPEATS
    assert false <= most(0.05)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            {"permutations": 9},
            "9 shuffles allow no p below 0.1: nothing can be told from chance at",
        ),
        ({"permutations": 19}, None),
        ({"permutations": 0, "correct": "holm"}, None),
        (
            {"permutations": 99, "correct": "holm"},
            "Pairs of models: 99 shuffles allow no p below 0.01, and Holm's correction multiplies it by "
            "up to 6 pairs, so that none reaches 0.05 in that table; cells and readings are not corrected "
            "over pairs of models. Ask for at least 119 (--permutations), or for 0 and the closed form "
            "of CKA and RSA.",
        ),
        ({"permutations": 119, "correct": "holm"}, None),
        ({"permutations": 99, "correct": "bh"}, None),
    ],
)
def test_too_few_shuffles_for_the_test_are_told(options, line):
    result = compare(sites(np.random.default_rng(9)), "debiased_cka", **options)
    told = [w for w in result.warnings if "shuffles allow no p" in w]
    assert [w[: len(line or "")] for w in told] == ([] if line is None else [line])


def test_too_few_shuffles_for_the_table_of_pairs_are_not_told_of_the_cells():
    """Many pairs keep Holm's p above the level where cells are found above chance."""
    some = sites(np.random.default_rng(9), models="abcdef", count=1, n=30, signal=5.0)
    some += [replace(some[0], name="g", facts={"model": "g"})]
    result = compare(some, "debiased_cka", permutations=199, correct="holm")
    twin = next(c for c in result.cells if (c.source, c.target) == ("a0", "g"))
    assert Readings(result)(twin).key == "above"
    assert min(p.p_adjusted for p in result.pairs) > 0.05
    told = [w for w in result.warnings if "shuffles allow no p" in w]
    assert len(told) == 1
    assert told[0].startswith("Pairs of models: 199 shuffles")
    assert "nothing can be told" not in told[0]


def test_too_few_rows_for_the_test_are_told():
    rng = np.random.default_rng(10)
    some = {name: rng.standard_normal((3, 2)) for name in "ab"}
    result = compare(some, "linear_cka")
    assert result.cells[0].p >= 1 / 6
    assert result.warnings[-1] == (
        "3 rows have 6 orders to be shuffled into, so that no p is below 0.17: nothing can be told "
        "from chance at 0.05. Compare more rows."
    )
    four = {name: rng.standard_normal((4, 2)) for name in "ab"}
    assert "orders" not in " ".join(compare(four, "linear_cka").warnings)
