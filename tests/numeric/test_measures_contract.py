"""The catalogue keeps its claims, and the checker objects to measures that do not."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from cospace.errors import ContractError, CospaceError, UnknownNameError
from cospace.measures import CATALOGUE, DEFAULT, TRANSFORMS, Measure, find
from cospace.summaries import Gram, Relation, Rows
from cospace.testing import check_measure

LINEAR_CKA = find("linear_cka", CATALOGUE)
PWCCA = find("pwcca", CATALOGUE)
PREDICTIVE = find("predictive_r2", CATALOGUE)
DISTANCE = find("procrustes_distance", CATALOGUE)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)
def test_the_catalogue_keeps_its_claims(measure, seed):
    assert check_measure(measure, rng=seed) is None


def test_a_generator_will_do():
    assert check_measure(LINEAR_CKA, rng=np.random.default_rng(5)) is None


# Wrong on purpose ---------------------------------------------------------------------------------


def cka(x, y):
    return LINEAR_CKA.function(x, y)


def writes(x, y):
    x += 1.0
    return cka(x, y)


def by_order(x, y):
    """Weighs the later rows more, to which the common order then matters."""
    weight = np.linspace(1.0, 2.0, len(x))[:, None]
    return cka(weight * x, weight * y)


calls = iter(range(10**9))


def drifts(x, y):
    return cka(x, y) * (1 - 1e-6 * next(calls))


@dataclass(frozen=True, eq=False)
class Stubborn:
    """Forgets to permute."""

    rows: object

    def permuted(self, order):
        return self


class StubbornRelation(Relation):
    def permuted(self, order):
        return self


def stubborn_relation(rows):
    made = LINEAR_CKA.relation(rows)
    return StubbornRelation(made.vector, made.n, made.form, made.interval)


def only(**changes):
    """A plain measure made of CKA, without its fast paths."""
    return replace(LINEAR_CKA, relation=None, **changes)


def wrong_in_half(x, y):
    return cka(x, y) if x.dtype == np.float64 else cka(x, y) / 2


def wrong_on_torch(x, y):
    return cka(x, y) if isinstance(x, np.ndarray) else cka(x, y) / 2


def nan_when_constant(x, y):
    with np.errstate(all="ignore"):
        x, y = (np.asarray(a, dtype=float) for a in (x, y))
        a, b = x - x[:1], y - y[:1]
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
        return float(
            np.linalg.norm(a.T @ b) ** 2 / np.linalg.norm(a.T @ a) / np.linalg.norm(b.T @ b)
        )


def crashes_when_constant(x, y):
    if np.ptp(np.asarray(x)[:, 0]) == 0:
        raise ZeroDivisionError("division by zero")
    return cka(x, y)


def layout(x, y):
    return cka(x, y) if x.flags.c_contiguous or len(x) != 60 else cka(x, y) / 2


WRONG = {
    "symmetry claimed": (
        replace(PWCCA, symmetric=True),
        r"pwcca does not keep a claim\. symmetric: swapping source and target changes the value by",
    ),
    "symmetry not claimed": (
        only(symmetric=False),
        "symmetric: it is not claimed, yet swapping source and target changes nothing",
    ),
    "invariance claimed": (
        only(invariant_to=frozenset({"translation", "invertible"})),
        "invariant_to, invertible of the source: it is claimed, yet changes the value by",
    ),
    "invariance claimed of one side": (
        replace(PREDICTIVE, invariant_to=PREDICTIVE.invariant_to | {"target: invertible"}),
        "invariant_to, invertible of the target: it is claimed, yet changes the value by",
    ),
    "invariance not claimed": (
        only(invariant_to=frozenset({"translation", "orthogonal"})),
        "invariant_to, scaling of the source: it is not claimed, yet changes nothing",
    ),
    "invariance not claimed of one side": (
        replace(PREDICTIVE, invariant_to=PREDICTIVE.invariant_to - {"target: orthogonal"}),
        "invariant_to, permutation of the target: it is not claimed, yet changes nothing",
    ),
    "no such invariance": (
        only(invariant_to=LINEAR_CKA.invariant_to | {"rotation"}),
        "invariant_to: 'rotation' is not one of TRANSFORMS",
    ),
    "out of bounds": (
        only(function=lambda x, y: 2 * cka(x, y), identical=2.0),
        r"bounds, on usual rows: 1\.\d+ is outside \[0.0, 1.0\]|bounds, on the same rows: 2.0",
    ),
    "bounds below": (only(bounds=(0.9, 1.0)), r"bounds, on .* is outside \[0.9, 1.0\]"),
    "NaN on constant rows": (
        only(function=nan_when_constant),
        "bounds, on zeros as source: the value is nan: a finite number or a CospaceError",
    ),
    "crash on constant rows": (
        only(function=crashes_when_constant),
        "bounds, on zeros as source: raised ZeroDivisionError, not a CospaceError: division by zero",
    ),
    "NaN always": (
        only(function=lambda x, y: float("nan")),
        "finite float: the value is nan: a finite number or a CospaceError is expected",
    ),
    "not a float": (
        only(function=lambda x, y: np.float64(cka(x, y))),
        "finite float: the value is a float64, not a float",
    ),
    "raises always": (
        only(function=lambda x, y: (_ for _ in ()).throw(RuntimeError("no"))),
        "finite float: raised RuntimeError: no",
    ),
    "other at every call": (only(function=drifts), "repeatable: a second call gives another value"),
    "identical": (replace(DISTANCE, identical=1.0), "identical: .* is not 1.0"),
    "kind": (replace(DISTANCE, kind="similarity"), "kind: independent rows give .* as alike as"),
    "writes into its input": (only(function=writes), "input unchanged: the source was changed"),
    "memory layout": (only(function=layout), "memory layout: .* is not"),
    "order of rows": (
        only(function=by_order, invariant_to=frozenset({"scaling", "orthogonal"})),
        "row order: .* is not",
    ),
    "score": (
        only(summarise=Gram.of, score=lambda a, b: 0.5),
        "score: 0.5 is not",
    ),
    "permuted summary": (
        only(summarise=Stubborn),
        "permuted summary of the source: .* is not",
    ),
    "relation": (
        replace(LINEAR_CKA, relation=find("debiased_cka", CATALOGUE).relation),
        "relation: .* is not",
    ),
    "permuted relation": (
        replace(LINEAR_CKA, relation=stubborn_relation),
        "permuted relation: .* is not",
    ),
    "float32": (only(function=wrong_in_half), "float32: .* is not"),
    "torch": (only(function=wrong_on_torch), "arrays, torch float64 against float64: .* is not"),
    "no source": (only(reference=" "), "reference: it is empty"),
    "two sentences": (
        only(summary="Alike. Or not."),
        "summary: one sentence is expected, got 'Alike. Or not.'",
    ),
    "no sentence": (only(summary="alike"), "summary: one sentence is expected, got 'alike'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_checker_objects_and_names_the_claim(case):
    measure, text = WRONG[case]
    with pytest.raises(ContractError, match=text):
        check_measure(measure)


def test_an_objection_is_an_assertion_and_one_of_ours():
    assert issubclass(ContractError, AssertionError)
    assert issubclass(ContractError, CospaceError)


@pytest.mark.parametrize("missing", ["torch", "array_api_strict"])
def test_a_library_that_is_not_installed_is_left_out(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    assert check_measure(LINEAR_CKA) is None
    other = {"torch": "array_api_strict", "array_api_strict": "torch"}[missing]
    with pytest.raises(ContractError, match=f"arrays, {other}"):
        check_measure(only(function=wrong_on_torch))


def test_a_measure_of_your_own_needs_no_more_than_a_function_and_claims():
    def gap(x, y):
        a, b = (float(np.linalg.norm(np.asarray(m, dtype=float))) for m in (x, y))
        return abs(a - b) / (a + b) if a + b else 0.0

    mine = Measure(
        name="size_gap",
        title="Size gap",
        function=gap,
        kind="distance",
        bounds=(0.0, 1.0),
        identical=0.0,
        symmetric=True,
        invariant_to=frozenset({"orthogonal"}),
        summary="Relative difference of the two spaces' Frobenius norms.",
        reference="this test",
        cost="n d a pair",
        arrays="numpy",
    )
    assert check_measure(mine) is None
    assert isinstance(mine.summarise(np.eye(3)), Rows)


# The record -------------------------------------------------------------------------------------------


def test_names_are_unique_and_the_default_ones_exist():
    names = [m.name for m in CATALOGUE]
    assert len(set(names)) == len(names)
    assert set(DEFAULT) <= set(names)


def test_what_a_claim_implies():
    assert all(find("mean_cca", CATALOGUE).invariant(t, "source") for t in TRANSFORMS)
    assert PREDICTIVE.invariant("invertible", "source")
    assert PREDICTIVE.invariant("permutation", "target")
    assert not PREDICTIVE.invariant("invertible", "target")
    assert not find("rsa_pearson", CATALOGUE).invariant("translation", "source")


def test_which_end_is_alike():
    assert LINEAR_CKA.alike(0.9, 0.1)
    assert not LINEAR_CKA.alike(0.1, 0.9)
    assert DISTANCE.alike(0.1, 0.9)


def test_an_unknown_measure_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match=r"'linear-cka' is not a measure.*'linear_cka'"):
        find("linear-cka", CATALOGUE)
