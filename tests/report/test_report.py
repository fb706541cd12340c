"""What a report says, and that no text leaves its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from cospace.comparison import compare
from cospace.errors import InputError
from cospace.report import build, page_html, render, write_report
from cospace.result import Result


def load(name: str) -> Any:
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = load("example")


class Reader(HTMLParser):
    """Visible text, tags, and what a page would ask for."""

    VOID: ClassVar = {"meta", "br", "input", "link", "img"}

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.asks: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in {"src", "href", "action"} and not (value or "").startswith("#"):
                self.asks.append(f"{tag} {name}={value}")
            if name == "style" or name.startswith("on"):
                self.asks.append(f"{tag} {name}")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def models() -> str:
    return render(example.three_models())


def embedded(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_top_line_and_findings_say_what_was_found(models: str) -> None:
    text = Reader(models).text
    assert "minilm, mpnet and smollm2-135m: all 3 pairs are more alike than chance" in text
    assert re.search(
        r"Most alike sites of minilm and mpnet by debiased CKA: \S+ / \S+, 0\.\d\d "
        r"\(95 % interval 0\.\d\d to 0\.\d\d\); shuffled rows give 0\.00 ± 0\.01; "
        r"p = 0\.020, corrected for the search over 91 pairs of sites and 4 measures\.",
        text,
    )
    assert "1 = identical; higher is more alike" in text
    assert "0 = identical; lower is more alike" in text


def test_independent_arrays_are_said_to_be_at_their_null() -> None:
    text = Reader(render(example.two_arrays())).text
    assert "a.npy and b.npy are not distinguishable from chance" in text
    assert "Linear CKA reads 0.30" in text
    assert "mean CCA 0.57" in text
    assert "this is what unrelated spaces give with 100 rows and widths 40 and 40" in text
    assert "more alike than chance" not in text
    assert "A fit from rank 40 needs more than 41 held-in rows; 33 were left." in text


@pytest.mark.parametrize(("p", "told"), [(0.005, "1.000"), (1e-6, "0.0004")])
def test_a_search_without_its_own_p_counts_every_pair_of_sites(p: float, told: str) -> None:
    result = example.three_models()
    cells = tuple(replace(c, p=c.p and p, p_search=None) for c in result.cells)
    text = Reader(render(replace(result, cells=cells))).text
    assert f"p = {told}, corrected for the search over 91 pairs of sites and 4 measures" in text
    assert "Reading: p times the number of pairs of sites searched, corrected by Holm" in text


def test_a_value_without_null_or_p_is_not_called_alike() -> None:
    result = example.two_arrays()
    bare = {"p": None, "p_search": None, "null_mean": None, "null_sd": None}
    cells = tuple(replace(c, **bare) for c in result.cells)
    text = Reader(render(replace(result, cells=cells))).text
    assert "a.npy and b.npy were compared without a null" in text
    assert "no null was drawn, so there is no chance level" in text
    assert "more alike than chance" not in text


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("mutual_knn", {"p": 0.005, "p_search": 0.005}, True),
        ("mutual_knn", {"p": 0.03, "p_search": 0.03}, False),  # 4 measures were asked
        ("mean_cca", {"value": 0.9}, False),  # no p: not tested
    ],
)
def test_measures_that_disagree_are_told_where_the_evidence_is_strong(
    name: str, change: dict[str, float], *, told: bool
) -> None:
    result = example.two_arrays()
    cells = tuple(replace(c, **change) if c.measure == name else c for c in result.cells)
    text = Reader(render(replace(result, cells=cells))).text
    words = (
        "a.npy and b.npy are not distinguishable from chance by Debiased CKA; "
        "by mutual nearest neighbours they are (p = 0.020, corrected for 4 measures)"
    )
    assert (words in text) is told
    assert "a.npy and b.npy are not distinguishable from chance" in text


@pytest.mark.parametrize(("value", "told"), [(0.9, True), (0.599, False)])  # 3.2 sd are few
def test_a_measure_without_p_is_told_apart_from_the_tested(value: float, *, told: bool) -> None:
    result = example.two_arrays()
    cells = tuple(replace(c, value=value) if c.measure == "mean_cca" else c for c in result.cells)
    page = build(replace(result, cells=cells))
    assert page["headline"] == "a.npy and b.npy are not distinguishable from chance"
    text = Reader(page_html(page)).text
    assert ("Outside the null, not tested: mean CCA 0.90 (null 0.57 ± 0.01)." in text) is told
    assert "outside its null, not tested" in text


def test_several_measures_that_disagree_are_counted() -> None:
    result = example.two_arrays()
    change = {"p": 0.005, "p_search": 0.005}
    names = ("mutual_knn", "rsa_spearman")
    cells = tuple(replace(c, **change) if c.measure in names else c for c in result.cells)
    assert build(replace(result, cells=cells))["headline"].endswith(
        "by Debiased CKA; by 2 other measures they are (p = 0.020, corrected for 4 measures)"
    )


def test_measures_without_any_p_claim_no_test() -> None:
    result = example.two_arrays()
    bare = {"p": None, "p_search": None}
    cells = tuple(replace(c, **bare) for c in result.cells)
    assert build(replace(result, cells=cells))["headline"] == (
        "a.npy and b.npy lie within their null; no measure was tested"
    )
    cells = tuple(replace(c, **bare, value=0.9) if c.value else c for c in result.cells)
    assert build(replace(result, cells=cells))["headline"] == (
        "a.npy and b.npy lie outside their null; no measure was tested"
    )
    result = example.ten_arrays()
    cells = tuple(replace(c, **bare, null_sd=9.0) for c in result.cells)
    assert build(replace(result, cells=cells))["headline"] == (
        "10 spaces: no pair was tested against chance"
    )


def test_the_table_says_what_its_nulls_and_readings_are(models: str) -> None:
    text = Reader(models).text
    for words in (
        "Reading: p (search), corrected by Holm for the up to 4 measures tested on the same two models, "
        "at 0.05; the columns show p before that correction.",
        "over all permutations",
        "Nulls over all permutations are exact, in closed form. p counts shuffles.",
        "p 0.020 for 4 measures",
        "by the maximum statistic",
        "(value − null) / (identical − null)",
    ):
        assert words in text


def test_without_shuffles_p_is_said_to_be_a_tail() -> None:
    result = example.two_arrays()
    note = "the grid is made tile by tile"
    cells = tuple(
        replace(c, draws=0, p_search=None, null_exact=True, note=note) if c.p else c
        for c in result.cells
    )
    text = Reader(render(replace(result, cells=cells))).text
    assert "Without shuffles p is the Pearson type III tail." in text
    assert "p counts shuffles" not in text
    assert "RSA (Spearman) and Mutual nearest neighbours: the grid is made tile by tile." in text
    assert "No p for Linear CKA" not in text


def test_real_independent_arrays_are_at_their_null() -> None:
    rng = np.random.default_rng(0)
    spaces = {name: rng.standard_normal((100, 40)) for name in ("left", "right")}
    text = Reader(render(compare(spaces, rng=0))).text
    assert "left and right are not distinguishable from chance Compared: 2 spaces" in text
    assert re.search(r"Linear CKA reads 0\.[23]\d, .* but shuffled rows give 0\.[23]\d", text)
    assert "more alike than chance" not in text


@pytest.mark.parametrize("kept", ["all", "one model", "one space", "no cells"])
def test_small_and_lopsided_comparisons_have_a_report(kept: str) -> None:
    result = example.three_models()
    spaces = result.spaces
    if kept == "one model":
        spaces = tuple(s for s in spaces if s.model == "minilm")
    if kept == "one space":
        spaces = spaces[:1]
    names = {s.name for s in spaces}
    cells = () if kept == "no cells" else result.cells
    cells = tuple(c for c in cells if c.source in names and c.target in names)
    text = Reader(render(replace(result, spaces=spaces, cells=cells))).text
    assert {
        "all": "all 3 pairs are more alike",
        "one model": "The sites of minilm are more alike than chance",
        "one space": "minilm: nothing was compared",
        "no cells": "minilm, mpnet and smollm2-135m: nothing was compared",
    }[kept] in text


def test_facts_of_the_models_and_warnings_are_there(models: str) -> None:
    text = Reader(models).text
    for words in (
        "Q4, dequantised",
        "results are of these weights, not of the original checkpoint",
        "Apache-2.0",
        "one direction holds more than 76 % of the variance",
        "cospace compare minilm mpnet smollm2-135m --report r.html",
        "cospace 0.1.0, numpy 2.1.0, python 3.11.7",
        "20 cells without a value: A fit from rank 479 on 480 rows would be exact",
        "Predictive R² was run on 30 of 2,652 ordered pairs",
        "reduced=48",
        "held out",
    ):
        assert words in text


def test_all_records_are_inside(models: str) -> None:
    data = embedded(models)
    result = example.three_models()
    assert len(data["rows"]) == len(result.cells)
    column = data["columns"].index
    for row, cell in list(zip(data["rows"], result.cells, strict=True))[::500]:
        assert data["levels"]["measure"][row[column("measure")]] == cell.measure
        assert data["levels"]["source"][row[column("source")]] == cell.source
        assert row[column("value")] == (cell.value and pytest.approx(cell.value, rel=1e-7))


def test_the_file_is_light_and_asks_for_nothing(models: str) -> None:
    assert len(models.encode()) < 8_000_000
    assert Reader(models).asks == []
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', models)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]


def test_figures_have_text_alternatives(models: str) -> None:
    figures = re.findall(r"<svg ([^>]*)>", models)
    assert len(figures) > 100
    for given in figures:
        assert 'aria-hidden="true"' in given or re.search(r'role="img" aria-label="[^"]{10}', given)
    assert "from 0.0" in models


def test_no_text_leaves_its_place() -> None:
    page = render(example.hostile())
    reader = Reader(page)
    assert reader.tags.count("script") == 2
    assert "b" not in reader.tags
    assert reader.asks == []
    assert example.HOSTILE in reader.text
    assert embedded(page)["levels"]["reason"] == [example.HOSTILE]
    assert "<" not in page[page.index('id="data">') + 10 : page.index("</script>")]


def test_values_that_are_not_finite_become_empty() -> None:
    result = example.two_arrays()
    cells = (replace(result.cells[0], value=float("nan"), null_sd=float("inf")), *result.cells[1:])
    data = embedded(render(replace(result, cells=cells)))
    assert data["rows"][0][data["columns"].index("value")] is None


def test_the_same_result_gives_the_same_bytes() -> None:
    assert render(example.ten_arrays()) == render(example.ten_arrays())


def views(page: dict[str, Any], measure: int) -> Iterator[dict[str, Any]]:
    section = next(s for s in page["sections"] if s["id"] == f"measure-{measure}")
    block = next(b for b in section["blocks"] if b["kind"] == "map")
    yield from [*block["views"], *block["others"]]


def test_every_map_has_its_null_on_the_same_colours() -> None:
    page = build(example.three_models())
    for i in range(10):
        value, null, effect, *_ = views(page, i)
        assert (value["key"], null["key"], effect["key"]) == ("value", "null", "effect")
        assert value["scale"] == null["scale"]
        assert (effect["scale"]["low"], effect["scale"]["high"]) == (-1.0, 1.0)
    linear = next(views(page, 0))["scale"]
    assert (linear["type"], linear["low"], linear["high"]) == ("sequential", 0.0, 1.0)
    debiased = next(views(page, 1))["scale"]
    assert (debiased["type"], debiased["low"], debiased["high"]) == ("diverging", -1.0, 1.0)
    assert next(views(page, 5))["scale"]["reverse"]


def test_without_an_effect_the_difference_is_shown() -> None:
    result = example.three_models()
    cells = tuple(replace(c, effect=None) for c in result.cells)
    _, _, gain, *_ = views(build(replace(result, cells=cells)), 5)
    assert (gain["key"], gain["scale"]["low"]) == ("gain", -gain["scale"]["high"])
    assert gain["scale"]["reverse"]


def test_all_but_the_first_measures_are_folded(models: str) -> None:
    folded = re.findall(r'<section id="(measure-\d)" class="folded">\s*<details>', models)
    assert folded == [f"measure-{i}" for i in range(2, 10)]


def test_a_cell_that_was_not_run_is_no_zero() -> None:
    page = build(example.three_models())
    section = next(s for s in page["sections"] if s["id"] == "measure-6")
    block = next(b for b in section["blocks"] if b["kind"] == "map")
    assert block["state"][0][:6] == "s....v"
    assert block["state"][5][0] == "x"
    assert next(views(page, 6))["grid"][0][1] is None


def test_file_is_written_whole(tmp_path: Path) -> None:
    path = write_report(example.two_arrays(), tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == render(example.two_arrays())
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_unwritable_path_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"r\.html cannot be written: No such file or directory\."):
        write_report(example.two_arrays(), tmp_path / "no" / "r.html")


def test_other_results_are_refused() -> None:
    class Other(Result):
        pass

    with pytest.raises(InputError, match=r"A report shows comparison, drift, .*; got Other\."):
        render(Other())


def yardstick(**options: Any) -> Result:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((100, 3))
    rows = {name: z @ rng.standard_normal((3, 6)) + rng.standard_normal((100, 6)) for name in "abc"}
    return compare(rows, ["debiased_cka", "linear_cka", "mean_cca"], **options)


@pytest.mark.parametrize(("correct", "name"), [("holm", "Holm"), ("bh", "Benjamini and Hochberg")])
def test_pairs_of_models_have_a_table_where_it_was_asked_for(correct: str, name: str) -> None:
    text = Reader(render(yardstick(correct=correct))).text
    assert f"corrected over 3 pairs of models by {name}'s method, for each measure by" in text
    assert "p (pairs) is about the two models, not about the sites beside it" in text
    assert re.search(r"a / b a / b 0\.\d+ 0\.005 0\.0[01]5", text)
    assert f"corrected over all pairs of models by {name}'s method" in text


def test_pairs_of_models_have_none_otherwise() -> None:
    page = build(yardstick())
    assert "pairs" not in [section["id"] for section in page["sections"]]
    assert "p (pairs)" not in Reader(render(yardstick())).text


def test_every_interval_says_what_it_is_over() -> None:
    text = Reader(render(yardstick(intervals="folds"))).text
    assert "95 %, by a bootstrap over rows or by a jackknife over folds of rows" in text
    assert re.search(r"Linear CKA ↑ .{,90} to 0\.\d+ over folds", text)
    assert "over folds" not in Reader(render(yardstick())).text


def test_a_noise_ceiling_is_named_as_such() -> None:
    text = Reader(render(yardstick(ceiling=True))).text
    assert re.search(r"Debiased CKA ↑ a / b 0\.\d{3} ceiling 0\.\d{3} ", text)
    assert re.search(r"Linear CKA ↑ a / b 0\.\d{3} 0\.\d{3} ±", text)
    assert "Ceiling: what other coordinates of the same kind, as many again, would reach" in text
    assert "By split halves of the coordinates: the measure between random halves" in text
    assert "ceiling" not in Reader(render(yardstick())).text
