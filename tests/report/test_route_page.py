"""The page of a judgement of routers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cospace.report import write_report
from cospace.report.render import page_html
from cospace.report.route import route_page
from cospace.routing import Pool, judge_routing
from cospace.space import Space

HOSTILE = "</script><b>large"


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=200)
    odds = 2.0 * np.outer(hidden, [1.0, -1.0])
    pool = Pool(
        ("small", HOSTILE),
        tuple(map(str, range(200))),
        rng.random((200, 2)) < 1 / (1 + np.exp(-odds)),
        groups=("sums", "words</td>") * 100,
        lengths=rng.integers(5, 50, 200).astype(float),
    )
    rows = np.column_stack([hidden, rng.normal(size=(200, 2))])
    return judge_routing(
        pool,
        [Space(rows, name="space", ids=pool.ids)],
        features=["prompt", "group"],
        predictor="ridge",
        draws=200,
        permutations=19,
        cost={"small": 1.0, HOSTILE: 4.0},
    ).with_provenance(command="cospace route small large")


def test_the_page_says_what_the_result_says(result):
    page = route_page(result)
    assert page["kind"] == "routing"
    assert page["headline"] == (
        "The router beats always the strongest; it knows something beyond the category of the prompt"
    )
    assert "a choice between two" in page["lead"]
    assert [each["tone"] for each in page["findings"]] == ["above", "above"]
    titles = [section["id"] for section in page["sections"]]
    assert titles == ["headroom", "rules", "disguise", "price", "sets", "reading", "repeat"]
    rules = page["sections"][1]["blocks"][0]["groups"]
    assert [row[0]["text"] for row in rules[0]["rows"]] == ["prompt", "group"]
    assert [row[0]["text"] for row in rules[1]["rows"]][:3] == [
        "always the strongest", "best model of the group", "a random model",
    ]  # fmt: skip
    router = result.policy("router")
    assert rules[0]["rows"][0][1]["text"] == f"{100 * router.accuracy:.1f}"
    assert len(page["data"]["rows"]) == len(result.policies)


@pytest.mark.parametrize(
    ("verdict", "signal", "words", "tones"),
    [
        ("none", "untested", "No verdict: there is no headroom", ["untested", "untested"]),
        ("not shown", "disguise", "is not shown to beat always the strongest; what", ["chance", "chance"]),
        ("worse", "not shown", "is worse than always the strongest; no signal", ["outside", "chance"]),
    ],
)  # fmt: skip
def test_no_more_is_claimed_than_was_found(result, verdict, signal, words, tones):
    page = route_page(replace(result, verdict=verdict, signal=signal))
    assert words in page["headline"]
    assert [each["tone"] for each in page["findings"]] == tones
    if verdict == "none":
        assert page["findings"][0]["text"].startswith("No verdict: the interval of the headroom")
    if signal == "untested":
        assert page["findings"][1]["text"].startswith("No claim of a signal in prompt")
    if signal == "disguise":
        assert "the category in disguise" in page["findings"][1]["text"]


def test_names_do_not_get_out_of_the_page(result, tmp_path):
    text = page_html(route_page(result))
    assert "<b>large" not in text
    assert "words</td>" not in text
    assert write_report(result, tmp_path / "r.html").read_text() == text


def test_areas_that_are_not_there_are_dashes(result):
    alone = tuple(
        replace(each, within=replace(each.within, value=None, low=None, high=None))
        for each in result.discrimination
    )
    page = route_page(replace(result, discrimination=alone, curve=(), signal="untested"))
    assert [section["id"] for section in page["sections"]][:4] == [
        "headroom",
        "rules",
        "disguise",
        "sets",
    ]
    row = page["sections"][2]["blocks"][0]["groups"][0]["rows"][0]
    assert row[2] == {"text": "–", "note": ""}
    assert row[3] == {"text": "–"}
    assert "–" in page_html(page)
