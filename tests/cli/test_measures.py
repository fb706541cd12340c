"""``cospace measures``: the page of the docs is what the claims say."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import cospace as cs
from cospace.measures import CATALOGUE, DESCRIPTIONS

PAGE = Path(__file__).parents[2] / "docs" / "measures.md"


def cells(text: str) -> dict[str, list[str]]:
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {line[0].strip("`"): line[1:] for line in lines}


def test_the_page_in_the_docs_is_the_one_that_is_printed(cli):
    printed = cli("measures", "--markdown")
    assert printed.code == 0
    assert printed.out == PAGE.read_text(encoding="utf-8")


def test_every_measure_and_description_has_its_line():
    assert list(cells(PAGE.read_text(encoding="utf-8"))) == [
        *(m.name for m in CATALOGUE),
        *(d.name for d in DESCRIPTIONS),
    ]


def test_the_null_column_says_what_a_comparison_gives():
    rng = np.random.default_rng(1)
    spaces = {name: rng.standard_normal((30, 3)) for name in "ab"}
    said = cells(PAGE.read_text(encoding="utf-8"))
    quick = [m.name for m in CATALOGUE if not m.decomposes]
    result = cs.compare(spaces, quick, permutations=0)
    exact = {cell.measure for cell in result.cells if cell.null_exact}
    assert {name for name in quick if said[name][7] == "closed form"} == exact


def test_two_forms_at_once_are_refused(cli):
    result = cli("measures", "--json", "--markdown")
    assert result.code == 2
    assert "--json and --markdown are two forms of one list" in result.err
