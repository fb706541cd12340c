"""The pages of a scored steering vector, and of what a model writes under one."""

from __future__ import annotations

import html
import json
from dataclasses import replace

import numpy as np
import pytest

from cospace.report import write_report
from cospace.report.steering_curve import curve_page
from cospace.report.steering_texts import SHOWN, continuations_page, printable
from cospace.steering import ContinuationPoint, Continuations, CurvePoint, SteeringCurve

COEFFICIENTS = (-2.0, 0.0, 2.0)
EVIL = "<script>alert('x')</script> & \"more\""
VECTOR = {
    "model": "small",
    "site": "block.1",
    "method": "probe",
    "norm": 12.3456,
    "weights_hash": "a" * 64,
    "warnings": [f"A warning {EVIL}"],
    "provenance": {"positive": 64, "held_out_separation": 0.875, "held_out_p": 0.0004, "items": []},
}


def curve(slope=0.15, *, n=10, random=20, seen=0, noise=0.02, perplexity=True):
    points = []
    for c in COEFFICIENTS:
        by_item = 0.5 + slope * c + noise * (-1.0) ** np.arange(n) * c
        side = 20.0 + 10.0 * abs(c) if perplexity else None
        points.append(CurvePoint(c, float(by_item.mean()), None, side, tuple(by_item.tolist())))
    pushes = tuple((0.5 - 0.01 * i, 0.5 + 0.01 * i) for i in range(random))
    return SteeringCurve(
        "small",
        "block.1",
        "probe",
        "spread",
        "texts",
        tuple(points),
        n,
        seen,
        random=pushes,
        settings={"neutral": 20},
        provenance={"command": "cospace steer score small v", "vector": VECTOR},
    )


def first(result):
    return curve_page(result)["findings"][0]


def test_a_vector_is_told_beside_random_pushes():
    page = curve_page(curve())
    assert page["headline"] == "The vector moves the answers of small: span 0.600 from −2 to 2"
    finding, side = page["findings"]
    assert finding["tone"] == "above"
    assert "The score moves by 0.600" in finding["text"]
    assert "(p = 0.048 against 20; of these the largest moves it by 0.380)" in finding["text"]
    assert side["text"] == (
        "Perplexity of neutral sentences is 20.0 at 0, 2.00 times that at −2 and 2.00 times that at 2."
    )
    details = page["sections"][0]["blocks"][2]
    assert details["summary"] == "The vector’s span among random ones: number 1 of 21"
    rows = details["blocks"][0]["groups"][0]["rows"]
    assert [rows[0][0]["text"], rows[0][3]["text"]] == ["the vector", "0.600"]
    assert rows[1][3]["text"] == "0.380"


@pytest.mark.parametrize(
    ("change", "tone", "words"),
    [
        ({"random": 0}, "outside", "no random push was run"),
        ({"random": 4}, "outside", "there are too few random pushes to test it (p = 0.200"),
        ({"slope": 0.05}, "chance", "not more than random pushes of the same size do"),
        ({"slope": 0.001}, "chance", "not told from 0"),
        ({"slope": -0.1}, "chance", "away from the behaviour"),
        ({"n": 4}, "untested", "too few questions"),
    ],
)
def test_what_is_not_shown_is_not_said(change, tone, words):
    page = curve_page(curve(**change))
    assert page["findings"][0]["tone"] == tone
    assert words in page["findings"][0]["text"]
    assert "moves the answers" not in page["headline"]


def test_one_coefficient_is_compared_with_nothing():
    one = replace(curve(random=2), points=curve().points[2:])
    page = curve_page(one)
    assert page["headline"] == "The score of small is 0.800 at 2"
    assert "nothing to compare it with" in page["findings"][0]["text"]
    assert [block["kind"] for block in page["sections"][0]["blocks"]] == ["curves", "table"]


def test_the_curve_and_its_widest_pushes_are_drawn():
    figure, table, _ = curve_page(curve())["sections"][0]["blocks"]
    series = {one["label"]: one["points"] for one in figure["panels"][0]["series"]}
    assert list(series) == ["vector", "lowest push", "highest push"]
    assert [p["y"] for p in series["vector"]] == [p.score for p in curve().points]
    assert [p["y"] for p in series["highest push"]] == [0.31, 0.69]
    assert [row[1]["text"] for row in table["groups"][0]["rows"]] == ["0.200", "0.500", "0.800"]
    low, high = curve().points[0].interval
    assert 0.16 <= low < 0.2 < high <= 0.24
    assert table["groups"][0]["rows"][0][1]["note"] == f"{low:.3f} to {high:.3f}"
    assert (series["vector"][0]["low"], series["vector"][0]["high"]) == (low, high)
    assert [row[3] for row in table["groups"][0]["rows"]] == ["40.0", "20.0", "40.0"]
    assert len(curve_page(curve(random=0))["sections"][0]["blocks"]) == 2


def test_the_page_says_where_the_vector_comes_from():
    page = curve_page(curve(seen=3))
    facts = dict(page["sections"][1]["blocks"][0]["items"])
    assert facts["Made by"] == "probe"
    assert facts["Norm"] == "12.35"
    assert facts["Weights hash"] == "a" * 16
    assert facts["Pairs in the right order, held out"] == "0.875"
    assert facts["p of their order"] == "0.0004"
    assert page["warnings"][0] == f"A warning {EVIL}"
    assert "3 questions of 10 were seen" in page["warnings"][1]
    bare = curve_page(replace(curve(perplexity=False), provenance={}))
    assert "was not recorded" in bare["sections"][1]["blocks"][0]["text"]
    assert len(bare["findings"]) == 1


def test_no_text_leaves_the_page_of_a_curve(tmp_path):
    page = write_report(replace(curve(), model=EVIL), tmp_path / "c.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert html.escape("<script>alert(") in page
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert (data["kind"], len(data["rows"])) == ("steering_curve", 3)


def point(coefficient, change, *, score=0.05, texts=("", EVIL), low=0.01):
    told = change is not None
    return ContinuationPoint(
        coefficient=coefficient,
        score=score,
        low=score - 0.01,
        high=score + 0.01,
        change=change,
        change_low=low if told else None,
        change_high=low + 0.05 if told else None,
        above=0.25,
        unscored=1,
        words=12.5,
        distinct=0.789,
        perplexity=109.4,
        by_prompt=(None, 0.123),
        texts=texts,
    )


@pytest.fixture
def written():
    return Continuations(
        model="small",
        site="block.1",
        method="mean_difference",
        unit="spread",
        scorer="lexical score, cheerful",
        threshold=0.0,
        points=(
            point(-1.0, -0.004, score=0.001, low=-0.02),
            point(0.0, None, score=0.005, texts=("as it is", "a\nb\x1b")),
            point(1.0, 0.048),
        ),
        n=2,
        new_tokens=20,
        cut=1,
        prompts_hash="c" * 64,
        prompts=("The <b>first", "second"),
        settings={"prompt_tokens": 3},
        provenance={"command": "cospace steer generate small", "vector": VECTOR},
    )


def test_continuations_stand_beside_each_other(written):
    page = continuations_page(written)
    table = page["sections"][1]["blocks"][0]
    labels = [column["label"] for column in table["columns"]]
    assert labels == ["Prompt", "At −1", "At 0, as it is", "At 1"]
    one, two = table["groups"][0]["rows"]
    assert one[0] == {"text": "1", "head": True, "note": "The <b>first"}
    assert one[1] == {"text": "nothing", "quiet": True, "note": "not scored"}
    assert [cell["text"] for cell in two[1:]] == [EVIL, "a ⏎ b\ufffd", EVIL]
    assert two[3]["note"] == "0.123"


def test_scores_of_continuations_are_told_with_their_intervals(written):
    page = continuations_page(written)
    assert page["headline"] == (
        "What small writes scores 0.005 as it is, and 0.050 at 1 (lexical score, cheerful)"
    )
    down, up = page["findings"]
    assert (down["tone"], up["tone"]) == ("chance", "outside")
    assert "At 1 the score changes by 0.048 (0.010 to 0.060, 95 % over prompts)" in up["text"]
    figure, table = page["sections"][0]["blocks"]
    points = figure["panels"][0]["series"][0]["points"]
    assert [p["y"] for p in points] == [0.001, 0.005, 0.05]
    assert [p["tone"] for p in points] == ["chance", "above", "outside"]
    last = table["groups"][0]["rows"][2]
    assert last[1:3] == [
        {"text": "0.050", "note": "0.040 to 0.060"},
        {"text": "0.048", "note": "0.010 to 0.060"},
    ]
    assert last[3:] == ["0.250", "1", "12.5", "0.789", "109.4"]
    assert page["warnings"][0] == f"A warning {EVIL}"
    assert "1 prompt was cut to 3 tokens" in page["warnings"][1]
    assert "Up to 1 continuation of 2" in page["warnings"][2]
    assert page["sections"][2]["id"] == "vector"


def test_a_model_without_a_vector_has_a_page_too(written):
    plain = replace(written, site=None, method=None, points=written.points[1:2], provenance={})
    page = continuations_page(plain)
    assert page["headline"] == "What small writes scores 0.005 (lexical score, cheerful)"
    assert page["findings"] == []
    assert [section["id"] for section in page["sections"]] == [
        "scores",
        "texts",
        "reading",
        "repeat",
    ]
    assert len(page["sections"][0]["blocks"]) == 1


def test_texts_that_were_not_kept_are_said_to_be_lacking(written):
    bare = replace(written, points=tuple(replace(p, texts=()) for p in written.points), prompts=())
    assert "were not kept" in continuations_page(bare)["sections"][1]["blocks"][0]["text"]
    few = replace(
        written.points[0],
        **dict.fromkeys(("change_low", "change_high", "score", "low", "high")),
        by_prompt=(None, None),
        unscored=2,
    )
    page = continuations_page(replace(written, points=(few,)))
    assert page["findings"][0]["tone"] == "untested"


def test_a_long_table_says_how_much_it_shows(written):
    n = SHOWN + 1
    many = replace(written.points[1], texts=("text",) * n, by_prompt=(0.5,) * n, unscored=0)
    page = continuations_page(replace(written, points=(many,), prompts=(), n=n))
    table = page["sections"][1]["blocks"][0]
    assert len(table["groups"][0]["rows"]) == SHOWN
    assert f"The first {SHOWN} of {SHOWN + 1} prompts" in table["caption"]


def test_no_text_leaves_the_page_of_continuations(written, tmp_path):
    page = write_report(written, tmp_path / "c.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "The <b>first" not in page
    assert "The &lt;b&gt;first" in page
    assert page.count("&lt;script&gt;alert(") >= 2
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert (data["kind"], len(data["rows"])) == ("continuations", 3)


def test_signs_that_cannot_be_seen_are_marked():
    assert printable("  a\r\nb\tc\x07\ud800 ") == "a ⏎ b c\ufffd\ufffd"


@pytest.mark.parametrize("kind", ["curve", "texts"])
def test_a_saved_result_becomes_a_report(kind, written, tmp_path, capsys):
    from cospace.cli import main

    result = curve() if kind == "curve" else written
    result.save(tmp_path / "r.json")
    with pytest.raises(SystemExit) as stop:
        main(["report", str(tmp_path / "r.json"), "--out", str(tmp_path / "r.html")])
    assert not stop.value.code, capsys.readouterr().err
    page = (tmp_path / "r.html").read_text("utf-8")
    assert page == write_report(
        type(result).load(tmp_path / "r.json"), tmp_path / "s.html"
    ).read_text("utf-8")


def test_results_of_earlier_versions_have_pages(written):
    data = curve().to_dict()
    for name in ("random", "settings", "provenance", "p_random"):
        del data[name]
    assert curve_page(SteeringCurve.from_dict(data))["findings"][0]["tone"] == "outside"
    data = written.to_dict()
    del data["prompts"]
    old = continuations_page(Continuations.from_dict(data))
    assert "note" not in old["sections"][1]["blocks"][0]["groups"][0]["rows"][0][0]
