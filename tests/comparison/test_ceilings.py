"""Noise ceilings beside values: of a pair from those of its spaces, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.comparison import compare
from cospace.comparison.ceilings import has_ceiling
from cospace.errors import InputError
from cospace.measures import CATALOGUE, DEFAULT, find
from cospace.space import Space
from cospace.stats.ceiling import split_half_ceiling

NAMES = ["debiased_cka", "linear_cka", "rsa_pearson", "mutual_knn", "procrustes_similarity"]


def noisy(rng, width, *, z, noise=1.0):
    return z @ rng.standard_normal((3, width)) + noise * rng.standard_normal((len(z), width))


def spaces(seed=0, n=50, widths=(14, 30, 9)):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3))
    return [Space(noisy(rng, d, z=z), name=f"s{d}") for d in widths]


def test_the_ceiling_of_a_pair_is_the_geometric_mean_of_its_spaces():
    some = spaces()
    result = compare(some, NAMES, permutations=3, ceiling=True, rng=4)
    for name in ("debiased_cka", "rsa_pearson"):
        own = {
            space.name: split_half_ceiling(
                space.rows, find(name, CATALOGUE), rng=np.random.default_rng([4, at])
            ).corrected
            for at, space in enumerate(some)
        }
        for cell in result.cells:
            if cell.measure == name:
                expected = np.sqrt(own[cell.source] * own[cell.target])
                assert cell.ceiling == pytest.approx(expected, abs=1e-12)
    others = [c for c in result.cells if c.measure not in ("debiased_cka", "rsa_pearson")]
    assert {c.ceiling for c in others} == {None}
    assert result.settings["ceiling"] is True
    bare = compare(some, NAMES, permutations=3, rng=4)
    assert {c.ceiling for c in bare.cells} == {None}
    assert [c.value for c in bare.cells] == [c.value for c in result.cells]


def test_spaces_that_differ_in_noise_alone_reach_it():
    values, ceilings = [], []
    for seed in range(25):
        result = compare(spaces(seed), "debiased_cka", permutations=0, ceiling=True)
        values += [c.value for c in result.cells]
        ceilings += [c.ceiling for c in result.cells]
    assert np.mean(values) == pytest.approx(np.mean(ceilings), abs=0.04)


def test_only_similarities_that_are_zero_by_chance_have_one():
    able = {m.name for m in CATALOGUE if has_ceiling(m)}
    assert {"debiased_cka", "rsa_spearman", "rsa_pearson", "debiased_rbf_cka"} <= able
    assert not {"linear_cka", "rbf_cka", "rsa_whitened", "mutual_knn", "cknna"} & able
    assert not {"shape_angle", "heldout_r2"} & able
    for name in sorted(able):
        measure, found = find(name, CATALOGUE), []
        for seed in range(12):
            rng = np.random.default_rng(seed)
            found.append(measure(rng.standard_normal((40, 60)), rng.standard_normal((40, 60))))
        assert abs(np.mean(found)) < 0.06, name


def test_a_space_in_which_nothing_repeats_has_none_and_it_is_told():
    rng = np.random.default_rng(3)
    some = [*spaces(), Space(rng.standard_normal((50, 1)), name="one")]
    result = compare(some, ["debiased_cka"], permutations=0, ceiling=True)
    by_pair = {(c.source, c.target): c.ceiling for c in result.cells}
    assert by_pair["s14", "one"] is None
    assert by_pair["s14", "s30"] is not None
    assert result.warnings[-1] == (
        "No noise ceiling by Debiased CKA for one (1 of 4 spaces): A space of width 1 has no halves: at "
        "least 2 coordinates are needed."
    )


def test_where_no_measure_has_one_it_is_refused():
    with pytest.raises(
        InputError, match=r"^A noise ceiling is for similarities that are 0 by chan"
    ):
        compare(spaces(), ["linear_cka"], ceiling=True)
    with pytest.raises(InputError, match=r"^A noise ceiling splits coordinates that could be exch"):
        compare(spaces(), ["debiased_cka"], ceiling=True, reduced=3)


def test_the_default_measures_may_be_asked_for_theirs():
    result = compare(spaces(), permutations=0, ceiling=True)
    given = {c.measure for c in result.cells if c.ceiling is not None}
    assert given == {"debiased_cka", "rsa_spearman"} & set(DEFAULT)
