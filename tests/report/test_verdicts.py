"""Verdicts: how often noise is called alike, that a signal is found, and the family of a p."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.comparison import compare
from cospace.comparison.result import Cell, Comparison, MeasureFacts, SpaceFacts
from cospace.report import build
from cospace.report.verdicts import Readings, reading

TESTED = ("debiased_cka", "linear_cka", "rsa_spearman", "mutual_knn")
CHANCE = "a and b are not distinguishable from chance"


def pair(seed: int, shared: float = 0.0) -> Comparison:
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, 100, 40))
    return compare({"a": a, "b": b + shared * a}, TESTED, rng=seed)


def test_noise_is_seldom_called_alike() -> None:
    claims = [build(pair(seed))["headline"] for seed in range(20)]
    assert sum(claim != CHANCE for claim in claims) <= 2


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_signal_is_found(seed: int) -> None:
    assert build(pair(seed, shared=0.6))["headline"] == "a and b are more alike than chance"


def space(name: str, model: str) -> SpaceFacts:
    return SpaceFacts(name, model, None, None, None, 100, 4, 4, 0.3, 0, "0")


def measure(name: str, *, symmetric: bool = True) -> MeasureFacts:
    return MeasureFacts(name, name, "similarity", (0.0, 1.0), 1.0, symmetric, (), "", "")


def cell(name: str, source: str, target: str, p: float, search: float | None = None) -> Cell:
    return Cell(
        name, source, target, 0.5, 100, 4, 4, 4, 4, null_mean=0.1, null_sd=0.1, p=p, p_search=search
    )


def judged(*cells: Cell) -> list[float | None]:
    names = dict.fromkeys(name for one in cells for name in (one.source, one.target))
    measures = dict.fromkeys(one.measure for one in cells)
    result = Comparison(
        spaces=tuple(space(name, name[0]) for name in names),
        measures=tuple(measure(name, symmetric=name != "way") for name in measures),
        cells=cells,
        settings={},
    )
    judge = Readings(result)
    return [judge(one).p for one in cells]


def test_measures_of_two_models_are_one_family() -> None:
    cells = [cell("k", "a", "b", 0.02), cell("l", "a", "b", 0.02), cell("k", "a", "c", 0.02)]
    assert judged(*cells) == [0.04, 0.04, 0.02]


def test_p_of_the_search_is_what_counts() -> None:
    first, second = cell("k", "a1", "b1", 0.01, 0.03), cell("k", "a2", "b1", 0.01, 0.2)
    assert judged(first, second, cell("l", "a1", "b1", 0.9, 0.9)) == [0.06, 0.4, 0.9]


def test_a_search_without_its_p_multiplies() -> None:
    cells = [cell("k", "a1", "b1", 0.01), cell("k", "a2", "b1", 0.4), cell("k", "a3", "b1", 0.5)]
    assert judged(*cells) == [0.03, 1.0, 1.0]


def test_a_mirrored_cell_is_no_second_test() -> None:
    there, back = cell("k", "a", "b", 0.03), cell("k", "b", "a", 0.03)
    assert judged(there, back) == [0.03, 0.03]
    ways = [cell("way", "a", "b", 0.03), cell("way", "b", "a", 0.01)]
    assert judged(*ways) == [0.03, 0.02]


def test_without_a_comparison_a_cell_is_judged_by_its_own_p() -> None:
    verdict = reading(cell("k", "a", "b", 0.01, 0.06), "similarity")
    assert (verdict.key, verdict.p) == ("chance", 0.06)
