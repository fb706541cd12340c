"""The page of a carried steering vector."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from cospace.report import write_report
from cospace.report.render import page_html
from cospace.report.steering import steering_panel, transfer_page
from cospace.steering import (
    Carried,
    CurvePoint,
    MapSummary,
    SteeringCurve,
    Transfer,
    TransferSweep,
)

COEFFICIENTS = (-2.0, 0.0, 2.0)
SLOPES = {
    "transferred": 0.15,
    "native": 0.2,
    "shuffled_rows": 0.01,
    "random_map": -0.02,
    "random_direction": 0.0,
}
MANY = {k: v for k, v in SLOPES.items() if not k.startswith("random_")} | {
    f"random_{kind}.{i}": 0.004 * i - 0.03 for kind in ("map", "direction") for i in range(10)
}


def curve(slope, *, n=10, seen=0):
    points = []
    for c in COEFFICIENTS:
        by_item = 0.5 + slope * c + 0.02 * (-1.0) ** np.arange(n) * c
        points.append(
            CurvePoint(c, float(by_item.mean()), None, 20.0 + abs(c), tuple(by_item.tolist()))
        )
    return SteeringCurve(
        "large", "block.2", "mean_difference", "spread", "texts", tuple(points), n, seen
    )


def transfer(name, site, slopes=SLOPES, **kinds):
    conditions = tuple(
        Carried(condition, 0.5, (f"{condition} </script>", "Ġgood"), curve(slope, **kinds))
        for condition, slope in slopes.items()
    )
    return Transfer(
        source="small",
        target="large",
        source_site="block.1",
        site=site,
        map_method="least_squares",
        map_r2=0.4,
        map_rank=12,
        nearest_at_source=("Ġfine",),
        conditions=conditions,
        seed=0,
        map_name=name,
    )


def summary(name, site, **change):
    values = {
        "method": "least_squares",
        "n": 46032,
        "width": 576,
        "target_width": 640,
        "rank": 576,
        "source_rank": 576,
        "condition": 90.0,
        "penalty": None,
        "r2": 0.4,
        "held_out_r2": 0.385,
        "retrieval": 0.97,
        "retrieval_chance": 0.0001,
    }
    return MapSummary(name=name, site=site, **(values | change))


@pytest.fixture
def result():
    return TransferSweep(
        source="small",
        target="large",
        source_site="block.1",
        vector={"method": "mean_difference"},
        maps=(
            summary("embeddings", None),
            summary("activations", "block.2", method="ridge", penalty=0.001, retrieval=None),
        ),
        transfers=(
            transfer("embeddings", "block.2"),
            transfer("activations", "block.2", SLOPES | {"transferred": 0.0}),
        ),
        chosen={},
        chosen_on=0,
        same_texts=True,
        settings={"answers": "texts"},
        provenance={"command": "cospace steer transfer v.safetensors large"},
        warnings=("A warning.",),
    )


def test_a_page_says_whether_the_vector_steers_more_than_its_controls(result):
    page = transfer_page(result)
    assert page["headline"] == (
        "A vector of small seems to steer large: span 0.600 through embeddings, 0.800 by its own"
    )
    first, second = page["findings"]
    assert first["tone"] == "outside"
    assert (
        "0.75 of what the model’s own vector does: more than every control, and too"
        in first["text"]
    )
    assert "(p = 0.333 against random pushes)" in first["text"]
    assert second["tone"] == "chance"
    assert "moves by 0.000" in second["text"]
    assert "not told apart from every control (p = 0.667 against random" in second["text"]
    assert "of the controls random map moves it most, by −0.080" in second["text"]
    assert "10 questions that no vector was made from, by their texts" in page["lead"]
    assert page["warnings"] == ["A warning."]


def only(result, one):
    """The same of one transfer, through its map alone."""
    maps = tuple(each for each in result.maps if each.name == one.map_name)
    chosen = {k: v for k, v in result.chosen.items() if k == one.map_name and v == one.site}
    return replace(result, transfers=(one,), maps=maps, chosen=chosen)


def test_a_claim_needs_enough_random_pushes(result):
    """Fault: two random directions, and the vector said to be more than chance."""
    page = transfer_page(only(result, transfer("embeddings", "block.2", MANY)))
    assert page["headline"].startswith("A vector of small steers large: span 0.600")
    (finding,) = page["findings"]
    assert finding["tone"] == "above"
    assert "more than every control (p = 0.048 against random pushes)" in finding["text"]
    curves, spans = page["sections"][0]["blocks"]
    labels = [row[0]["text"] for row in spans["groups"][0]["rows"]]
    assert labels.count("random map 2") == 1
    assert len(labels) == 23
    # Of ten of a kind the one that moves it most is drawn, beside the place of its own records.
    series = {one["label"]: one["points"] for one in curves["panels"][0]["series"]}
    assert list(series) == [
        "carried",
        "own vector",
        "shuffled rows",
        "random map 1",
        "random vector 1",
    ]
    assert "the one that moves it most; the table has all" in curves["caption"]
    for label, points in series.items():
        first = labels.index(label) * len(COEFFICIENTS)
        assert [point["record"] for point in points] == [first, first + 1, first + 2]


def test_a_transfer_that_does_nothing_is_headed_so(result):
    weak = transfer("embeddings", "block.2", SLOPES | {"transferred": 0.0})
    page = transfer_page(only(result, weak))
    assert page["headline"].startswith("A vector of small is not shown to steer large: span 0.000")


def test_few_questions_are_not_tested(result):
    few = transfer("embeddings", "block.2", n=4, seen=2)
    page = transfer_page(replace(only(result, few), same_texts=False))
    assert page["findings"][0]["tone"] == "untested"
    assert "too few questions" in page["findings"][0]["text"]
    assert "not made from the very texts" in page["warnings"][1]
    assert "in-sample" in page["warnings"][2]
    table = page["sections"][0]["blocks"][1]
    assert table["groups"][0]["rows"][2][4] == {"text": "–"}


def test_every_curve_and_span_is_shown(result):
    page = transfer_page(result)
    figure, table = page["sections"][0]["blocks"]
    assert [panel["title"] for panel in figure["panels"]] == [
        "embeddings, block.2",
        "activations, block.2",
    ]
    labels = ["carried", "own vector", "shuffled rows", "random map", "random vector"]
    assert [s["label"] for s in figure["panels"][0]["series"]] == labels
    records = [
        p["record"] for panel in figure["panels"] for s in panel["series"] for p in s["points"]
    ]
    assert records == list(range(30))
    rows = result.records()
    drawn = [p["y"] for panel in figure["panels"] for s in panel["series"] for p in s["points"]]
    assert drawn == [row["score"] for row in rows]
    carried, own, *_ = table["groups"][0]["rows"]
    assert carried[2]["text"] == "0.600"
    assert own[4]["text"] == "−0.200"
    assert carried[5] == {"text": "22.0; 22.0", "note": "at 0 20.0"}


def test_maps_are_told_with_what_is_not_known(result):
    table = transfer_page(result)["sections"][1]["blocks"][0]
    first, second = table["groups"][0]["rows"]
    assert first[2:] == [
        "46,032",
        {"text": "576", "note": "of 576 → 640"},
        "90.0",
        "0.400",
        "0.385",
        {"text": "0.970", "note": "chance 0.0001"},
    ]
    assert second[1] == "ridge, penalty 0.001"
    assert second[7]["text"] == "–"


def test_the_chosen_site_is_named(result):
    chosen = replace(result, chosen={"embeddings": "block.2", "native": "block.2"}, chosen_on=40)
    page = transfer_page(chosen)
    labels = [g["label"] for g in page["sections"][0]["blocks"][1]["groups"]]
    assert labels == ["embeddings, block.2, chosen", "activations, block.2"]
    terms = page["sections"][3]["blocks"][0]["items"]
    assert "moves 40 other questions most: embeddings block.2" in terms[-1][1]


def test_a_page_becomes_one_file_that_no_text_leaves(result, tmp_path):
    html = write_report(result, tmp_path / "r.html").read_text("utf-8")
    assert html == page_html(transfer_page(result))
    assert "&lt;/script&gt;" in html
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    assert (data["kind"], len(data["rows"])) == ("transfer_sweep", 30)
    assert ">−2</text>" in html
    assert ">2</text>" in html


def test_axes_are_of_the_coefficients():
    panel = steering_panel({"carried": curve(0.1)}, title="t", description="d")
    assert panel["x_marks"] == [(0.0, "−2"), (0.5, "0"), (1.0, "2")]
    assert [p["x"] for p in panel["series"][0]["points"]] == [0.0, 0.5, 1.0]
    assert "record" not in panel["series"][0]["points"][0]
    many = replace(
        curve(0.1), points=tuple(CurvePoint(float(c), 0.5, None, None) for c in range(20))
    )
    marks = steering_panel({"carried": many}, title="t", description="d")["x_marks"]
    assert len(marks) <= 9
    assert (marks[0], marks[-1]) == ((0.0, "0"), (1.0, "19"))
    alone = replace(curve(0.1), points=curve(0.1).points[:1])
    assert steering_panel({"carried": alone}, title="t", description="d")["x_marks"] == [
        (0.0, "−2")
    ]


def test_a_saved_transfer_becomes_a_report(result, tmp_path, capsys):
    from cospace.cli import main

    result.save(tmp_path / "t.json")
    with pytest.raises(SystemExit) as stop:
        main(["report", str(tmp_path / "t.json"), "--out", str(tmp_path / "t.html")])
    assert not stop.value.code, capsys.readouterr().err
    assert re.search(
        "A vector of small seems to steer large", (tmp_path / "t.html").read_text("utf-8")
    )
