"""The page of token geometry: what it says, and that it becomes one HTML file."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from cospace.report import write_report
from cospace.report.bars import bars
from cospace.report.render import page_html, render
from cospace.report.tokens import tokens_page
from cospace.tokens import (
    Coherence,
    DimensionFigure,
    GlobalFigure,
    Hidden,
    HiddenFigure,
    LocalFigure,
    SharedTokens,
    TokenComparison,
    TokenGeometry,
    TokenSide,
    Undertrained,
    Verification,
    recovery,
)
from cospace.tokens.coherence import CoherentToken

NAMES = ("one", "two", "three")
EVIL = "</script><b>"


def side(name, tying="tied"):
    classes = {"used": 90, "special": 1, "reserved": 5, "undecodable": 4}
    tensors = {"input": "embed"}
    facts = ("f32", tying, "the file says so", 100, 8, "byte_level", classes, 0, 0)
    return TokenSide(name, f"./{name}", "ab" * 32, None, None, tensors, *facts)


def comparison(a, b, value):
    histogram = [0] * 40
    histogram[20], histogram[39] = 33, 17
    ids = tuple(range(30))
    values = tuple(map(int, np.random.default_rng(0).integers(5, 20, 30)))
    return TokenComparison(
        side(a),
        side(b),
        SharedTokens(50, {"word": 50}, True, 90, 90, 0, 0),
        (
            GlobalFigure(
                "input", "input", 50, 3, value, value - 0.01, value + 0.01, value / 2, value / 2,
                value / 2, None, 0.02, 0.01, 0.1, 0.2,
            ),
        ),
        (
            LocalFigure(
                "input", "input", 50, 4, 90, 90, 0.4, 0.3, 0.001, tuple(histogram), 0.6, 0.9, 1.0,
                1.0, ids, ids, (EVIL, *("t" for _ in ids[1:])),
            ),
        ),
        tuple(
            DimensionFigure("input", "input", k, 0.95, 0.5, 0.4, 0.1, 9.0, 9.5, ids, ids, values, values)
            for k in (10, 20)
        ),
        {"k": 4},
        (f"{a} is small.",),
    )  # fmt: skip


@pytest.fixture
def pair() -> TokenGeometry:
    ten = tuple(f"n{i}" for i in range(4))
    word = CoherentToken(3, f" {EVIL}", 4, 0.5, 0.25, ten)
    found = Undertrained(
        "one",
        "tied",
        90,
        "distance to unused",
        5,
        {"indicator": (1, 2), "apart": (2, 3)},
        (recovery([1, 2], [2], 4, method="indicator", reference="prompted"),),
    )
    probabilities = np.array([[0.5, 0.2, 0.1], [0.0004, 0.0001, 0.0]])
    checked = Verification.of(
        np.array([1, 2]),
        probabilities,
        texts=["fine", EVIL],
        methods=[[], ["apart", "indicator"]],
        threshold=0.01,
    )
    hidden = Hidden(
        (
            HiddenFigure("one", "two", "alone", 0.0, "embed", "embed", 9, 0.5, 0.4, 0.1, 0.05, 0.1, 0.2),
            HiddenFigure("one", "two", "alone", 1.0, "block.1", "block.3", 9, *[None] * 6, "All alike."),
            HiddenFigure("one", "two", "text", 1.0, "block.1", "block.3", 9, 0.1, 0.1, 0.1, 0.5, 0.1, 0.2),
        ),
        {"one": (1, 2), "two": (1, 2)},
        "winter",
        12,
        {"one": 3.0, "two": 4.5},
    )  # fmt: skip
    coherence = Coherence(
        "one", "input", "WordNet", 300, 100, 4, 10, 0.3, 0.1, -0.5, -0.4, -0.45, None, 0.01, 0.0, 0.01,
        0.02, 99, (word,), (word,), "winter", 7, -0.3, -0.42, None,
    )  # fmt: skip
    return TokenGeometry(
        ("one", "two"),
        (comparison("one", "two", 0.6),),
        hidden,
        (coherence,),
        (replace(found, verification=checked),),
        {"k": 4},
        ("one is small.", "two is large."),
    ).with_provenance(command="cospace tokens one two")


def blocks(page, section, kind):
    found = next(one for one in page["sections"] if one["id"] == section)
    return [block for block in found["blocks"] if block["kind"] == kind]


def test_a_page_says_what_two_models_share(pair):
    page = tokens_page(pair)
    assert page["headline"] == "Cosines of token pairs in one and two correlate at 0.60"
    assert "50 tokens are shared" in page["lead"]
    (finding,) = page["findings"]
    assert finding["tone"] == "above"
    assert "50 shared tokens is 0.600, 0 ± 0.02 by chance" in finding["text"]
    assert "60.0 % share none of 4 neighbours (90.0 % by chance)" in finding["text"]
    assert page["warnings"] == ["one is small.", "two is large."]
    assert [one["id"] for one in page["sections"]] == [
        "pairs", "near", "dimension", "hidden", "coherence", "undertrained", "models", "reading",
        "repeat",
    ]  # fmt: skip
    assert not blocks(page, "pairs", "map")
    (row,) = blocks(page, "pairs", "table")[0]["groups"][0]["rows"]
    assert row[2] == {"text": "0.600", "note": "0.590 to 0.610"}
    weak = replace(pair, comparisons=(comparison("one", "two", 0.05),))
    assert tokens_page(weak)["findings"][0]["tone"] == "chance"


def test_tokens_apart_are_set_aside_in_the_histogram(pair):
    (block,) = blocks(tokens_page(pair), "near", "bars")
    (panel,) = block["panels"]
    assert panel["counts"][20] == 3
    assert panel["aside"] == {"bin": 20, "count": 30, "words": "30 apart"}
    drawn = str(bars(panel))
    assert drawn.count('class="column"') == 2
    assert drawn.count('class="column rest"') == 1
    assert "0.95 to 1.00: 17" in drawn
    without = str(bars({**panel, "aside": None}))
    assert "rest" not in without


def test_the_sweep_over_neighbours_and_a_cloud(pair):
    page = tokens_page(pair)
    rows = blocks(page, "dimension", "table")[0]["groups"][0]["rows"]
    assert [row[1] for row in rows] == ["10", "20"]
    (cloud,) = blocks(page, "dimension", "scatter")[0]["panels"]
    assert len(cloud["points"]) == 30
    assert "k = 10" in blocks(page, "dimension", "scatter")[0]["caption"]


def test_depths_have_their_context_and_what_is_missing_its_reason(pair):
    page = tokens_page(pair)
    alone, text = blocks(page, "hidden", "curves")[0]["panels"]
    assert (alone["title"], text["title"]) == ("Tokens alone", "Tokens in texts")
    points = alone["series"][0]["points"]
    assert (points[0]["tone"], points[1]["y"]) == ("above", None)
    assert points[1]["title"].endswith("All alike.")
    assert text["series"][0]["points"][0]["tone"] == "chance"
    assert blocks(page, "hidden", "text")[0]["text"] == "All alike."
    assert "12 texts of winter (one 3.0 and two 4.5 a token)" in str(
        blocks(page, "hidden", "table")
    )


def test_words_to_read_and_tokens_that_cannot_be_repeated(pair):
    page = tokens_page(pair)
    scores, words = blocks(page, "coherence", "table")
    assert list(scores["groups"][0]["rows"][0][2:]) == [
        "−0.500",
        "−0.450",
        "−0.420",
        "0.010",
    ]
    assert "counted in winter" in scores["caption"]
    assert [group["label"] for group in words["groups"]] == [
        "Lowest dimension",
        "Highest dimension",
    ]
    assert words["groups"][0]["rows"][0][4] == "n0, n1, n2, n3"
    candidates, scored, asked = blocks(page, "undertrained", "table")
    assert [row[1]["text"] for row in candidates["groups"][0]["rows"]] == ["indicator", "apart"]
    assert scored["groups"][0]["rows"][0][2:6] == ["2", "1", "1", "4"]
    first = asked["groups"][0]["rows"][0]
    assert first[1:] == [
        "apart, indicator", "0.0004", "0.0001", "0.0000", {"text": "strong verified", "tone": "above"},
    ]  # fmt: skip
    assert asked["groups"][0]["rows"][1][1] == "none"


def test_three_models_have_a_map(pair):
    pairs = [comparison(a, b, 0.1 + 0.3 * i) for i, (a, b) in enumerate(combinations(NAMES, 2))]
    page = tokens_page(TokenGeometry(NAMES, tuple(pairs)))
    assert page["headline"].startswith("Of 3 pairs of models the tokens of two and three are most")
    (figure,) = blocks(page, "pairs", "map")
    assert [item["label"] for item in figure["rows"]] == list(NAMES)
    assert figure["state"] == ["svv", "vsv", "vvs"]
    grid = figure["views"][0]["grid"]
    assert (grid[0][1], grid[1][0], grid[0][2], grid[1][2]) == (0.1, 0.1, 0.4, 0.7)
    assert len(blocks(page, "near", "bars")[0]["panels"]) == 3
    assert page_html(page).count("<svg") > 6


def test_an_untied_model_has_two_rows_in_the_map(pair):
    first, *others = [comparison(a, b, 0.5) for a, b in combinations(NAMES, 2)]
    other = {"pearson": 0.2, "pearson_low": 0.19, "pearson_high": 0.21}
    figures = (*first.overall, replace(first.overall[0], role_b="output", **other))
    first = replace(first, b=side("two", "untied"), overall=figures)
    page = tokens_page(TokenGeometry(NAMES, (first, *others)))
    (figure,) = blocks(page, "pairs", "map")
    labels = ["one", "two, input", "two, output", "three"]
    assert [item["label"] for item in figure["rows"]] == labels
    assert figure["state"][2] == "v.s."
    assert {key["pattern"] for key in figure["keys"]} == {"itself", "not-run"}
    rows = blocks(page, "pairs", "table")[0]["groups"][0]["rows"]
    assert rows[1][0]["note"] == "input, output"


def test_one_model_alone_and_one_comparison(pair):
    alone = TokenGeometry(("one",), (), coherence=pair.coherence)
    page = tokens_page(alone)
    assert page["headline"] == "The tokens of one"
    assert [one["id"] for one in page["sections"]] == ["coherence", "reading", "repeat"]
    assert "No command" in page_html(page)
    html = render(pair.comparisons[0])
    assert "correlate at 0.60" in html


def test_a_page_becomes_one_file_that_no_text_leaves(pair, tmp_path):
    html = write_report(pair, tmp_path / "page.html").read_text()
    assert "<b>" not in html
    assert html.count("</script>") == 2
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    assert (data["kind"], len(data["rows"])) == ("token geometry", len(pair.records()))
    assert "cospace tokens one two" in html
