"""Rows whose size leaves what float64 can square, and too few rows for anything."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import cospace as cs
from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures import CATALOGUE

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 8))
Y = X[:, :5] + RNG.standard_normal((60, 5))
FREE = [m for m in CATALOGUE if m.invariant("scaling", "source")]


@pytest.mark.parametrize("measure", FREE, ids=lambda m: m.name)
def test_a_huge_or_tiny_space_has_the_value_of_a_plain_one(measure):
    plain = cs.compare({"a": X, "b": Y}, [measure], permutations=0).cells[0].value
    for factor in (1e-90, 1e-70, 1e70, 1e90):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            value = cs.compare({"a": X * factor, "b": Y}, [measure], permutations=0).cells[0].value
        assert value == pytest.approx(plain, abs=1e-9), factor


@pytest.mark.parametrize("factor", [1e-120, 1e120])
def test_what_cannot_be_squared_is_refused_with_the_factor_to_divide_by(factor):
    with pytest.raises(InputError, match=r"a has entries up to .*: their squares leave the range"):
        cs.Space(X * factor, name="a")


@pytest.mark.parametrize("name", ["linear_cka", "procrustes_similarity", "procrustes_distance"])
def test_two_rows_are_alike_by_dimension_alone(name):
    with pytest.raises(UndefinedMeasureError, match="at least 3 rows are needed"):
        cs.compare({"a": X[:2], "b": Y[:2]}, [name])
    with pytest.raises(UndefinedMeasureError, match="at least 3 rows are needed"):
        getattr(cs.measures, name)(X[:2], Y[:2])


def test_every_name_of_the_catalogue_is_a_function_of_the_module():
    for measure in CATALOGUE:
        assert getattr(cs.measures, measure.name)(X, Y) == measure.function(X, Y)
    with pytest.raises(AttributeError, match=r"'rsa_pearso'\. Did you mean 'rsa_pearson'"):
        cs.measures.rsa_pearso  # noqa: B018


def test_bare_arrays_are_told_how_to_get_names():
    for call in (lambda: cs.compare([X, Y]), lambda: cs.compare(X, Y)):
        with pytest.raises(InputError, match=r"Arrays need names: compare\(\{'a': x, 'b': y\}\)"):
            call()


@pytest.mark.parametrize("seed", [None, -1, np.random.default_rng(0)])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InputError, match=r"rng is .*; a whole number, 0 or more, is expected"):
        cs.compare({"a": X, "b": Y}, ["linear_cka"], rng=seed)


def test_representations_fit_on_a_line():
    space = cs.Space(X, ids=map(str, range(60)), name="a").scale("unit")
    assert repr(space) == "Space('a', 60 rows of width 8, with ids, unit)"
    result = cs.compare({"a": X, "b": Y}, ["linear_cka"])
    assert repr(result) == "Comparison(2 spaces, 1 measures, 2 cells)"
    assert len(repr(cs.Factor.of(X))) < 80
