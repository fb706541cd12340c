"""The page of an affine-homotopy study: its sentences follow the numbers, its numbers the result."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cospace.report.homotopy import study_page
from cospace.report.homotopy_figures import intrinsic_map, truncation_map
from cospace.report.homotopy_findings import (
    broken,
    findings,
    largest_ratio,
    probe_reading,
    ratio_text,
    share_of_bound,
)
from cospace.report.homotopy_prediction import Prediction, headline
from cospace.report.render import page_html, write_report
from cospace.report.scatter import scatter
from cospace.studies.affine_homotopy.result import (
    AffineHomotopyStudy,
    Intrinsic,
    Mappability,
    TaskFacts,
)


def load(name: str) -> Any:
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


example = load("study_example")


class Words(HTMLParser):
    """Tags of a page, and its visible words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name == "style" or name.startswith("on")]

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] not in {"script", "style"}:
            self.words.append(data)


@pytest.fixture(scope="module")
def few() -> AffineHomotopyStudy:
    return example.study(3, p=1 / 6)


@pytest.fixture(scope="module")
def twelve() -> AffineHomotopyStudy:
    return example.study(12)


def blocks_of(page: dict[str, Any], section: str) -> list[dict[str, Any]]:
    return next(s["blocks"] for s in page["sections"] if s["id"] == section)


def text_of(cell: Any) -> str:
    return cell if isinstance(cell, str) else cell["text"]


def told(result: AffineHomotopyStudy, start: str) -> dict[str, str]:
    return next(one for one in findings(result) if one["text"].startswith(start))


def with_p(result: AffineHomotopyStudy, ps: list[float]) -> AffineHomotopyStudy:
    """The links of the affine distance have these p, in order; the others p = 0.9."""
    rest = iter(ps)
    links = [replace(x, p=next(rest) if x.measure == "affine" else 0.9) for x in result.links]
    assert next(rest, None) is None
    return replace(result, links=tuple(links))


# What the page says first.


def test_a_planted_link_is_found_and_named(twelve: AffineHomotopyStudy) -> None:
    study = with_p(twelve, [0.001, 0.02, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    found = told(study, "The affine distance predicts")
    assert found["tone"] == "above"
    assert "in 1 of 8" in found["text"]
    assert "sentiment, fixed classifier, Spearman 0.50, corrected p 0.008" in found["text"]
    assert "In the other 7 nothing can be told from chance." in found["text"]
    assert "Pearson" not in found["text"]  # 7 x 0.02 is above the level
    assert headline(study).endswith("probes in 1 of 8 links")


def test_a_null_is_told_as_one(twelve: AffineHomotopyStudy) -> None:
    study = with_p(twelve, [0.03, *[0.5] * 7])
    found = told(study, "In none of 8")
    assert found["tone"] == "chance"
    assert found["text"].endswith("is 0.240 at least.")  # 8 x 0.03
    assert "does not detectably predict" in headline(study)
    assert not any(f["text"].startswith("The affine distance predicts") for f in findings(study))


def test_p_of_other_measures_does_not_count(twelve: AffineHomotopyStudy) -> None:
    links = [replace(x, p=0.9 if x.measure == "affine" else 1e-4) for x in twelve.links]
    study = replace(twelve, links=tuple(links))
    assert Prediction.of(study).found == []
    assert told(study, "In none of 8")["tone"] == "chance"


def test_too_few_encoders_are_said_to_be_too_few(few: AffineHomotopyStudy) -> None:
    found = told(few, "Whether the affine distance predicts")
    assert "3 encoders give p = 0.167 at least." in found["text"]
    assert "cannot reach significance whatever the data" in found["text"]
    assert "too few to tell" in headline(few)


def test_too_few_for_so_many_links() -> None:
    four = example.study(4, p=1 / 24)
    found = told(four, "Whether the affine distance predicts")
    assert "4 encoders give p = 0.042 at least, which is 0.333 after Holm’s" in found["text"]
    assert "So few encoders cannot reach significance whatever the data." in found["text"]
    one = replace(four, links=tuple(x for x in four.links[:1]))
    assert told(one, "The affine distance predicts")["tone"] == "above"


def test_no_link(twelve: AffineHomotopyStudy) -> None:
    none = replace(twelve, links=())
    assert told(none, "Whether")["tone"] == "empty"
    assert headline(none) == "How far 12 encoders are from one another up to an affine map"
    blocks = blocks_of(study_page(none), "link-0")
    assert blocks[1]["text"] == "No correlation has a value on sentiment at depth 1."


def test_the_best_measure_is_counted(twelve: AffineHomotopyStudy) -> None:
    assert told(twelve, "In 4 of 4 cases the affine distance has")["tone"] == "untested"
    links = [
        replace(x, value=0.99)
        if (x.task, x.extrinsic, x.measure) == ("sentiment", "worst", "linear_cka")
        else x
        for x in twelve.links
    ]
    text = told(replace(twelve, links=tuple(links)), "In 3 of 4 cases")["text"]
    assert "5 other measures" in text


def test_the_paper_s_numbers_are_theirs(twelve: AffineHomotopyStudy) -> None:
    text = told(twelve, "Beside the paper’s numbers, of its own 27 encoders")["text"]
    assert "sentiment, worst case, Spearman 0.500, theirs 0.621 on SST-2" in text
    page = study_page(twelve)
    _, table = blocks_of(page, "link-0")
    assert [c["label"] for c in table["columns"]][:4] == ["Measure", "Spearman", "Paper’s", "p"]
    assert table["groups"][0]["rows"][0][2] == {"text": "0.080", "quiet": True}
    assert text_of(table["groups"][0]["rows"][1][2]) == "–"
    assert "of its own 27 encoders on SST-2; not computed here" in table["caption"]
    _, bare = blocks_of(page, "link-1")
    assert "Paper’s" not in [c["label"] for c in bare["columns"]]


# Directions.


def pair(source: str, target: str, lower: float, upper: float, depth: float = 0.0) -> Intrinsic:
    return Intrinsic(
        depth, source, target, 10 * lower, 10 * upper, lower, upper, 0, 0, 0, None, None, (), {}
    )


def test_directions_are_compared_by_their_intervals() -> None:
    pairs = [
        pair("a", "b", 0.59, 0.60),
        pair("b", "a", 0.19, 0.20),
        pair("a", "c", 0.30, 0.40),
        pair("c", "a", 0.25, 0.35),
        pair("b", "c", 0.40, 0.41),
        pair("c", "b", 0.29, 0.30),
    ]
    apart, whole, most = largest_ratio(pairs)
    assert (apart, whole) == (2, 3)
    assert most is not None
    assert (most[0].source, most[0].target) == ("a", "b")
    assert ratio_text(*most) == "3.00 times"


def test_a_direction_that_costs_nothing_has_no_ratio() -> None:
    pairs = [pair("a", "b", 0.3, 0.3), pair("b", "a", 0.0, 0.0)]
    apart, whole, most = largest_ratio(pairs)
    assert (apart, whole) == (1, 1)
    assert most is not None
    assert ratio_text(*most) == "no ratio, one direction is 0"
    assert largest_ratio([pair("a", "b", 0.0, 0.0), pair("b", "a", 0.0, 0.0)]) == (0, 1, None)


def test_symmetric_distances_are_told_so(twelve: AffineHomotopyStudy) -> None:
    alike = [
        replace(x, normalised=0.3, normalised_lower=0.299, upper=3.0, lower=2.99)
        for x in twelve.intrinsic
    ]
    found = told(replace(twelve, intrinsic=tuple(alike)), "Affine distances do not tell")
    assert found["tone"] == "chance"
    assert "in none of 198 pairs over all depths" in found["text"]
    assert told(twelve, "Affine distances are asymmetric")["tone"] == "above"


def test_easiest_targets_differ_by_depth_and_task(twelve: AffineHomotopyStudy) -> None:
    text = told(twelve, "Easiest to map onto")["text"]
    assert text == "Easiest to map onto: seed-0, at all 3 depths."

    def first(one: Mappability) -> Mappability:
        wanted = {0.0: "seed-3", 0.5: "seed-3", 1.0: "seed-5"}[one.depth]
        return replace(one, place=1 if one.target == wanted else 2) if one.kind == "affine" else one

    moved = replace(twelve, mappability=tuple(first(one) for one in twelve.mappability))
    assert told(moved, "Easiest to map onto")["text"] == (
        "Easiest to map onto: seed-3 (depth 0 and 0.5) and seed-5 (depth 1); it is not the same at all "
        "depths."
    )
    assert "In 0 of 2 cases it is the easiest to map onto" in told(moved, "Easiest to im")["text"]


# Bound and probes.


def test_the_bound_is_checked_pair_by_pair(twelve: AffineHomotopyStudy) -> None:
    found = told(twelve, "The bound holds in all 264 cases")
    most = max(max(x.fixed, x.worst) / x.bound for x in twelve.extrinsic)
    assert f"comes to {most:.3f} of it" in found["text"]
    bad = replace(twelve.extrinsic[7], worst=1.01, bound=1.0)
    assert share_of_bound(bad) == 1.01
    assert broken(bad)
    study = replace(twelve, extrinsic=(*twelve.extrinsic[:7], bad, *twelve.extrinsic[8:]))
    found = told(study, "In 1 of 264 cases an extrinsic distance exceeds its bound")
    assert found["tone"] == "chance"
    assert f"{bad.source} → {bad.target}, sentiment: 1.010 of the bound" in found["text"]
    table = blocks_of(study_page(study), "probes")[1]
    assert table["groups"][0]["rows"][0][6] == {"text": "1 of 132", "tone": "warn"}
    assert table["groups"][0]["rows"][1][6] == {"text": "0 of 132", "tone": "above"}


def test_rounding_is_no_violation_and_zero_is_bounded_by_zero(twelve: AffineHomotopyStudy) -> None:
    one = twelve.extrinsic[0]
    assert not broken(replace(one, fixed=1.0 + 1e-9, worst=0.5, bound=1.0))
    assert share_of_bound(replace(one, fixed=0.0, worst=0.0, bound=0.0)) == 0.0
    nothing = replace(one, fixed=0.1, worst=0.0, bound=0.0)
    assert broken(nothing)
    study = replace(twelve, extrinsic=(nothing, *twelve.extrinsic[1:]))
    assert told(study, "In 1 of 264")["tone"] == "chance"


@pytest.mark.parametrize(
    ("accuracy", "reading"),
    [
        (0.50, ("not above the majority", False)),
        (0.499, ("not above the majority", False)),
        (0.59, ("not clearly above", False)),  # two standard errors of 0.5 over 100 texts: 0.1
        (0.61, ("clearly above", True)),
    ],
)
def test_a_probe_beside_the_majority(accuracy: float, reading: tuple[str, bool]) -> None:
    assert probe_reading(TaskFacts("t", 1.0, "a", 2, 500, 100, 9, accuracy, 0.5)) == reading


def test_a_probe_that_has_learnt_nothing_is_flagged(twelve: AffineHomotopyStudy) -> None:
    assert told(twelve, "All 24 probes do clearly better")["tone"] == "above"
    facts = [
        replace(f, accuracy=0.55) if (f.task, f.encoder) == ("acceptability", "seed-2") else f
        for f in twelve.tasks
    ]
    study = replace(twelve, tasks=tuple(facts))
    found = told(study, "1 probe of 24 cannot be told from the majority class")
    assert "distances to it say little (acceptability: seed-2)" in found["text"]
    page = study_page(study)
    (cloud, _) = blocks_of(page, "link-1")
    hollow = {p["title"].split(":")[0] for p in cloud["panels"][0]["points"] if p["hollow"]}
    assert hollow == {f"seed-{i} → seed-2" for i in range(12) if i != 2}
    assert "Hollow: the target’s probe is not clearly above" in cloud["caption"]
    assert not any(p["hollow"] for p in blocks_of(page, "link-0")[0]["panels"][0]["points"])


# Rank.


def test_rank_is_told_as_it_is(twelve: AffineHomotopyStudy) -> None:
    assert "cannot be told from chance in any of 9 tests" in told(twelve, "That encoders")["text"]
    ranks = [replace(one, p=0.001 if i == 4 else 0.8) for i, one in enumerate(twelve.ranks)]
    found = told(replace(twelve, ranks=tuple(ranks)), "Encoders of higher rank are harder")
    assert "tolerance 1e-3, depth 0.5: Spearman 0.25, corrected p 0.009" in found["text"]
    same = replace(twelve, ranks=tuple(replace(one, value=None, p=None) for one in twelve.ranks))
    assert told(same, "Rank says nothing")["tone"] == "chance"
    assert study_page(same)["sections"]


def test_rank_of_too_few(few: AffineHomotopyStudy) -> None:
    assert "3 encoders cannot reach significance" in told(few, "That encoders of")["text"]


# Orders.


def test_orders_of_targets_are_told_as_they_are(twelve: AffineHomotopyStudy) -> None:
    found = told(twelve, "Order of the encoders as targets over depths")
    assert "Spearman 0.50 to 0.50, median 0.50; 0 of 3 comparisons" in found["text"]
    assert found["tone"] == "chance"
    clear = replace(twelve, agreements=tuple(replace(a, p=0.001) for a in twelve.agreements))
    over = told(clear, "Order of the encoders as targets over tasks")
    assert over["text"].endswith("Spearman 0.90; 1 of 1 comparison can be told from chance (Holm).")
    assert over["tone"] == "above"
    table = blocks_of(study_page(twelve), "targets")[-1]
    head = [column["label"] for column in table["columns"]]
    assert head[:4] == ["Order by", "depth 0", "depth 0.5", "depth 1"]
    rows = table["groups"][0]["rows"]
    assert rows[0][2] == rows[1][1] == {"text": "0.50", "note": "p 0.200"}
    assert rows[0][1] == "–"
    assert "0.609 on MRPC" in blocks_of(study_page(twelve), "rank")[0]["caption"]


# Numbers.


@pytest.mark.parametrize("count", [3, 12])
def test_numbers_of_the_page_are_those_of_the_result(count: int) -> None:
    study = example.study(count)
    page = study_page(study)
    table = blocks_of(page, "layers")[0]
    for row, depth in zip(table["groups"][0]["rows"], (0.0, 0.5, 1.0), strict=True):
        values = [x.normalised for x in study.intrinsic if x.depth == depth]
        radius = {e.name: e.radius for e in study.encoders if e.depth == depth}
        unseen = [x.held_out / radius[x.target] for x in study.intrinsic if x.depth == depth]
        assert text_of(row[1]) == f"{np.median(values):.3f}"
        assert text_of(row[2]) == f"{min(values):.3f} to {max(values):.3f}"
        assert text_of(row[3]) == f"{np.median(unseen):.3f}"
        assert text_of(row[6]) == "0.50 %"
    affine = blocks_of(page, "targets")[0]
    place = {m.target: m.place for m in study.mappability if (m.kind, m.depth) == ("affine", 1.0)}
    order = [row[0]["text"] for row in affine["groups"][0]["rows"]]
    assert order == sorted(order, key=place.__getitem__)
    one = next(
        m for m in study.mappability if (m.kind, m.depth, m.target) == ("affine", 0.5, order[0])
    )
    assert affine["groups"][0]["rows"][0][2] == {
        "text": f"{one.median:.3f}",
        "note": f"{one.low:.2f} to {one.high:.2f}; place {one.place}",
        "strong": one.place == 1,
    }
    cloud, links = blocks_of(page, "link-0")
    assert len(cloud["panels"]) == 2
    assert [len(p["points"]) for p in cloud["panels"]] == [count * (count - 1)] * 2
    for point in cloud["panels"][1]["points"]:
        inner = study.intrinsic[point["record"]]
        outer = next(
            x
            for x in study.extrinsic
            if (x.task, x.source, x.target) == ("sentiment", inner.source, inner.target)
        )
        assert (inner.depth, point["x"], point["y"]) == (1.0, inner.upper, outer.worst)
    for group, kind in zip(links["groups"], ("fixed", "worst"), strict=True):
        for row, measure in zip(group["rows"], example.MEASURES, strict=True):
            link = next(
                x
                for x in study.links
                if (x.task, x.extrinsic, x.measure, x.method)
                == ("sentiment", kind, measure, "spearman")
            )
            assert text_of(row[1]) == f"{link.value:.3f}"
            assert text_of(row[3]) == "0.400"
            assert row[4] == ("0.10 to 0.80" if count > 4 else "–")
            assert row[5] == "0.30 to 0.60"
    probes = blocks_of(page, "probes")[0]
    assert text_of(probes["groups"][0]["rows"][2][1]) == "0.830"


def test_a_map_has_sources_in_rows(few: AffineHomotopyStudy) -> None:
    block = intrinsic_map(few, 0.5)
    known = {(x.source, x.target): x for x in few.intrinsic if x.depth == 0.5}
    wanted = known["seed-2", "seed-0"]
    assert block["views"][0]["grid"][2][0] == wanted.normalised
    held, apart = block["others"]
    assert held["grid"][2][0] == wanted.held_out / 10.0  # the radius of seed-0
    assert apart["grid"][2][0] == wanted.normalised - known["seed-0", "seed-2"].normalised
    assert apart["grid"][2][0] == -apart["grid"][0][2]
    assert block["state"] == ["svv", "vsv", "vvs"]
    assert (
        "Row: source, the encoder that is mapped; column: target"
        in intrinsic_map(few, 0.0)["caption"]
    )
    assert block["measure"] == 1
    grid = truncation_map(few)
    assert grid["views"][0]["grid"][0][7] == pytest.approx(0.002 * 90 + 0.001 * 80)
    assert grid["columns"][7]["label"] == "90 %"


def test_a_held_out_error_that_is_missing_is_left_out(few: AffineHomotopyStudy) -> None:
    none = replace(few, intrinsic=tuple(replace(x, held_out=None) for x in few.intrinsic))
    assert [view["key"] for view in intrinsic_map(none, 0.0)["others"]] == ["asymmetry"]
    assert text_of(blocks_of(study_page(none), "layers")[0]["groups"][0]["rows"][0][3]) == "–"


def test_what_is_not_finite_becomes_a_dash(few: AffineHomotopyStudy) -> None:
    first = replace(few.intrinsic[0], normalised=math.nan, upper=math.nan, held_out=math.inf)
    link = replace(few.links[0], value=math.nan, p=math.nan)
    study = replace(few, intrinsic=(first, *few.intrinsic[1:]), links=(link, *few.links[1:]))
    page = study_page(study)
    html = page_html(page)
    assert "nan" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL).lower()
    assert text_of(blocks_of(page, "link-0")[1]["groups"][0]["rows"][0][1]) == "–"
    assert "8 links" not in page["headline"]


def test_every_section_is_there_in_the_order_of_the_paper(twelve: AffineHomotopyStudy) -> None:
    ids = [section["id"] for section in study_page(twelve)["sections"]]
    assert ids == [
        "layers", "targets", "link-0", "link-1", "rank", "probes", "encoders", "reading", "repeat",
    ]  # fmt: skip
    bare = AffineHomotopyStudy("Nothing", (), (), (), (), (), (), (), (), (), {})
    assert [section["id"] for section in study_page(bare)["sections"]] == ["reading", "repeat"]
    assert page_html(study_page(bare)).startswith("<!doctype html>")


def test_texts_that_attain_distances_are_listed(few: AffineHomotopyStudy) -> None:
    details = blocks_of(study_page(few), "layers")[-1]
    assert details["kind"] == "details"
    rows = details["blocks"][0]["groups"][0]["rows"]
    # Every target has its own worst text, for 2 sources at 3 depths; t99 is listed with all 18 pairs.
    assert [[text_of(cell) for cell in row] for row in rows[:4]] == [
        ["t0", "6", "6"], ["t1", "6", "6"], ["t2", "6", "6"], ["t99", "0", "18"],
    ]  # fmt: skip


def test_the_data_holds_every_pair_with_its_tasks(twelve: AffineHomotopyStudy) -> None:
    html = page_html(study_page(twelve))
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    assert len(data["rows"]) == 3 * 132
    at = {name: i for i, name in enumerate(data["columns"])}
    place = next(i for i, x in enumerate(twelve.intrinsic) if x.depth == 1.0)
    row, one = data["rows"][place], twelve.intrinsic[place]
    other = twelve.extrinsic[0]
    assert data["levels"]["source"][row[at["source"]]] == one.source == other.source
    assert data["levels"]["depth"][row[at["depth"]]] == 1.0
    assert row[at["sentiment: fixed"]] == pytest.approx(other.fixed, rel=1e-6)
    assert row[at["linear_cka"]] == pytest.approx(one.baselines["linear_cka"], rel=1e-6)
    assert data["rows"][0][at["sentiment: fixed"]] is None
    assert set(data["told"]) <= set(data["columns"])
    assert "cospace study affine-homotopy s.toml" in html


def test_no_text_leaves_its_place() -> None:
    study = example.hostile()
    html = page_html(study_page(study))
    found = Words(html)
    assert found.tags.count("script") == 2
    assert "b" not in found.tags
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


# Scatter.


def test_a_scatter_puts_points_where_they_belong() -> None:
    block = {
        "title": "A & <b>",
        "description": "two points",
        "x_label": "x<",
        "y_label": "y",
        "x_range": (0.0, 1.0),
        "y_range": (0.0, 2.0),
        "points": [
            {"x": 0.0, "y": 0.0, "title": "<i>", "record": 3},
            {"x": 1.0, "y": 2.0, "title": "far", "hollow": True},
        ],
    }
    drawn = str(scatter(block))
    circles = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="3.4" class="([a-z ]+)"', drawn)
    assert circles == [("62", "258", "dot"), ("368", "26", "dot hollow")]
    assert 'data-record="3"' in drawn
    assert "<title>&lt;i&gt;</title>" in drawn
    assert "<b>" not in drawn
    assert "A &amp; &lt;b&gt;" in drawn
    same = {**block, "x_range": (1.0, 1.0), "points": block["points"][:1]}
    assert 'cx="215"' in str(scatter(same))


def test_a_study_has_a_report(few: AffineHomotopyStudy, tmp_path: Path) -> None:
    found = write_report(few, tmp_path / "report.html").read_text(encoding="utf-8")
    assert found == page_html(study_page(few))
    few.save(tmp_path / "study.json")
    again = AffineHomotopyStudy.load(tmp_path / "study.json")
    assert page_html(study_page(again)) == found
