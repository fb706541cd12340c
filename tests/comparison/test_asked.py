"""What a comparison is asked for: options of the wrong kind are refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

from cospace import measures
from cospace.comparison import compare
from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures import Measure
from cospace.measures.inside import within_group_knn
from cospace.space import Space

RNG = np.random.default_rng(0)
ARRAYS = {"a": RNG.standard_normal((20, 6)), "b": RNG.standard_normal((20, 8))}
CLAIMS = {
    "name": "mine",
    "title": "Mine",
    "function": lambda x, y: 2.0,
    "kind": "similarity",
    "bounds": (0.0, 1.0),
    "identical": 1.0,
    "symmetric": True,
    "invariant_to": frozenset(),
    "summary": "For tests.",
    "reference": "here",
    "cost": "n d",
}


def my_function(x, y):
    return 0.5


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"permutations": 10.5}, "permutations is 10.5; a whole number is expected."),
        ({"permutations": "10"}, "permutations is '10'; a whole number is expected."),
        ({"permutations": None}, "permutations is None; a whole number is expected."),
        ({"permutations": True}, "permutations is True; a whole number is expected."),
        ({"permutations": -1}, "-1 permutations were asked for; 0 or more are expected."),
        ({"reduced": "3"}, "reduced is '3'; a whole number, or None, is expected."),
        ({"reduced": 2.0}, "reduced is 2.0; a whole number, or None, is expected."),
        ({"rng": "1"}, "rng is '1'; a whole number, 0 or more, is expected."),
        ({"correct": None}, "correct is None; one of 'max', 'holm', 'bh' is expected."),
        ({"correct": ["max"]}, "correct is ['max']; one of"),
        ({"intervals": None}, "intervals is None; one of 'rows', 'groups', 'folds' is expected."),
        ({"beyond": 3}, "beyond is 3; 'length', 'words' or 'group', one or a list of them, are"),
        ({"beyond": [3]}, "beyond holds 3; names are expected: 'length', 'words' or 'group'."),
        ({"beyond": "length", "texts": ["one"]}, "texts is a list; a dictionary of ids and their"),
        ({"measures": 3}, "measures is 3; names or Measures, one or a list of them, are expected."),
        ({"measures": [3]}, "measures holds 3; names of the catalogue, or Measures, are expected."),
        (
            {"measures": [measures.linear_cka]},
            'measures holds the function linear_cka; name it: "linear_cka".',
        ),
        (
            {"measures": [my_function]},
            "measures holds the function my_function; a name of the catalogue is expected, or a Measure",
        ),
        (
            {"measures": ["partial_rsa"]},
            "partial_rsa must be told beyond what: leave it out of the measures and ask for beyond=['length']",
        ),
        (
            {"measures": "linear_cka", "permute_fits": True},
            "permute_fits (--permute-fits) is for measures that decompose or fit every pair, such as",
        ),
    ],
)
def test_an_option_of_the_wrong_kind_is_one_line(options, told):
    with pytest.raises(InputError) as error:
        compare(ARRAYS, **{"measures": "linear_cka", **options})
    assert str(error.value).startswith(told)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "spaces is a NoneType; a list of Spaces, or a dictionary of names and arrays, is"),
        (3, "spaces is a int; a list"),
        ("ab", "spaces is a str; a list"),
        (Space([[1.0], [2.0]]), "spaces is one Space; a list"),
        ({3: ARRAYS["a"], "b": ARRAYS["b"]}, "The name of a space is 3; a string that is not"),
        ({"": ARRAYS["a"], "b": ARRAYS["b"]}, "The name of a space is ''; a string that is not"),
    ],
)
def test_what_are_no_spaces_is_one_line(given, told):
    with pytest.raises(InputError) as error:
        compare(given)
    assert str(error.value).startswith(told)


def test_a_space_has_a_name():
    with pytest.raises(InputError, match=r"^The name of a space is 3; a string that is not empty"):
        Space([[1.0], [2.0]], name=3)


@pytest.mark.parametrize("k", ["3", 3.0, True])
@pytest.mark.parametrize("measure", ["mutual_knn", "jaccard_knn", "cycle_knn", "cknna"])
def test_a_number_of_neighbours_is_whole(measure, k):
    with pytest.raises(InputError) as error:
        getattr(measures, measure)(ARRAYS["a"], ARRAYS["b"], k=k)
    assert str(error.value) == f"k is {k!r}; a whole number is expected."


def test_a_number_of_neighbours_inside_groups_and_of_folds_is_whole():
    with pytest.raises(InputError, match=r"^k is 3\.0; a whole number is expected\.$"):
        within_group_knn(ARRAYS["a"], ARRAYS["b"], ["g"] * 20, k=3.0)
    with pytest.raises(InputError, match=r"^folds is 2\.5; a whole number is expected\.$"):
        measures.heldout_r2(ARRAYS["a"], ARRAYS["b"], folds=2.5)


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"kind": "foo"}, "The kind of mine is 'foo'; one of 'similarity', 'distance', 'diverg"),
        ({"name": ""}, "The name of a measure is ''; a string that is not empty is expected."),
        ({"function": "cka"}, "The function of mine is 'cka'; a function of two arrays is expec"),
        ({"bounds": (1.0, 0.0)}, "The bounds of mine are (1.0, 0.0); two numbers, the least first"),
        ({"bounds": None}, "The bounds of mine are None; two numbers, the least first, are exp"),
        ({"bounds": ("0", 1.0)}, "The bounds of mine are ('0', 1.0); two numbers"),
    ],
)
def test_a_measure_of_ones_own_is_checked_when_it_is_made(claims, told):
    with pytest.raises(InputError) as error:
        Measure(**{**CLAIMS, **claims})
    assert str(error.value).startswith(told)


def test_a_value_outside_the_claimed_bounds_is_refused():
    with pytest.raises(InputError) as error:
        compare(ARRAYS, Measure(**CLAIMS), permutations=3)
    assert str(error.value) == (
        "mine came out as 2 and claims bounds of (0.0, 1.0): mend the function, or the bounds of its Measure."
    )
    relation = measures.find("rsa_pearson", measures.CATALOGUE).relation
    low = Measure(**{**CLAIMS, "bounds": (0.9, 1.0), "relation": relation})
    with pytest.raises(
        InputError, match=r"^mine came out as .* and claims bounds of \(0\.9, 1\.0\)"
    ):
        compare(ARRAYS, low, permutations=3)
    assert Measure(**{**CLAIMS, "bounds": (None, 2.0 - 1e-9)}).check_value(2.0) is None


@pytest.mark.parametrize("name", ["linear_cka", "procrustes_similarity", "mutual_knn"])
def test_a_refusal_names_the_space_at_fault(name):
    flat = {**ARRAYS, "flat": np.zeros((20, 4))}
    result = compare(flat, name, permutations=0)
    for cell in result.cells:
        bad = "flat" in (cell.source, cell.target)
        assert (cell.reason or "").startswith("flat: ") == bad
    with pytest.raises(UndefinedMeasureError, match=rf"^{name} of flat: "):
        compare({"a": ARRAYS["a"], "flat": flat["flat"]}, name, permutations=0)


def test_components_beyond_the_widths_are_not_told_of():
    result = compare(ARRAYS, "linear_cka", reduced=100, permutations=0)
    assert {cell.reduced for cell in result.cells} == {None}
    result = compare(ARRAYS, "linear_cka", reduced=7, permutations=0)
    assert {cell.reduced for cell in result.cells} == {7}
