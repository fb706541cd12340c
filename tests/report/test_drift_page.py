"""The page of a drift: what it says, and that it becomes one HTML file."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from cospace.drift import Drift, measure_drift
from cospace.report.curve import panel
from cospace.report.drift import drift_page
from cospace.report.render import page_html
from cospace.space import Space

N = 80


def form(*tables: np.ndarray, model: str, pooling: str | None = "mean") -> list[Space]:
    return [
        Space(
            table,
            ids=tuple(f"t{i}" for i in range(len(table))),
            name=f"{model}:block.{at}",
            facts={
                "model": model,
                "site": f"block.{at}",
                "depth": at / max(len(tables) - 1, 1),
                "pooling": pooling,
            },
        )
        for at, table in enumerate(tables)
    ]


def rows(seed: int, n: int = N, width: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, width))


@pytest.fixture(scope="module")
def moved() -> Drift:
    a = rows(0)
    b = a + 0.05 * rows(1)
    b[7] *= -1
    texts = {"t7": "A <b>bold</b> text </script>"}
    before, after = form(a, a, a, model="base"), form(b, b + 0.1, np.hstack([b, b]), model="tuned")
    return measure_drift(before, after, texts=texts).with_provenance(command=["cospace", "x y"])


def test_a_page_says_what_changed(moved: Drift) -> None:
    page = drift_page(moved)
    last = moved.sites[-1]
    assert page["headline"] == (
        f"tuned keeps {100 * last.retention.value:.1f} % of the neighbours that texts have in base"
    )
    assert "3 sites, 80 texts matched by id, 10 neighbours" in page["lead"]
    kept, error, text = page["findings"]
    assert kept["text"].startswith("Fewest neighbours are kept at block.1 (mean): 0.")
    assert kept["tone"] == error["tone"] == "above"
    assert "greatest at block.1 (mean)" in error["text"]
    assert "The best shift, rotation and scale leave 0.1" in error["text"]
    assert text["text"].endswith("“A <b>bold</b> text </script>”")
    assert [s["id"] for s in page["sections"]] == ["sites", "depth", "texts", "reading", "repeat"]
    assert page["warnings"] == list(moved.warnings)


def test_a_site_without_a_number_says_why(moved: Drift) -> None:
    table, reasons = drift_page(moved)["sections"][0]["blocks"]
    assert table["groups"][0]["rows"][2][2] == {"text": "–", "note": "see below"}
    assert table["groups"][0]["rows"][2][0]["note"] == "mean, width 5 → 10"
    assert reasons["items"][0][0] == "Relative error"
    assert reasons["items"][0][1].endswith("common coordinates. (block.2 (mean))")


def test_a_page_becomes_one_file_that_no_text_leaves(moved: Drift) -> None:
    html = page_html(drift_page(moved))
    assert "A &lt;b&gt;bold" in html
    assert "<b>bold" not in html
    assert "cospace &#39;x y&#39;" in html
    data = html.split('id="data">')[1].split("</script>")[0]
    assert json.loads(data)["kind"] == "drift"
    assert len(json.loads(data)["rows"]) == 3


def moved_texts(result: Drift) -> list[dict]:
    section = next(s for s in drift_page(result)["sections"] if s["id"] == "texts")
    tables = [b["blocks"][0] if b["kind"] == "details" else b for b in section["blocks"]]
    assert all(table["kind"] == "table" for table in tables)
    return tables


def test_texts_stand_in_the_order_of_their_first_number(moved: Drift) -> None:
    for table in moved_texts(moved):
        shown = [float(row[1]["text"]) for row in table["groups"][0]["rows"]]
        falls = table["columns"][1]["label"].endswith("↓")
        assert shown == sorted(shown, reverse=falls)
        assert "sorted by" in table["caption"]
    first, *_, last = moved_texts(moved)
    assert "mean relative error or, where widths differ, residual" in first["caption"]
    assert "sorted by residual. Moved by: residual of the text; of centred rows." in last["caption"]


def test_the_page_says_which_order_the_result_has(moved: Drift) -> None:
    texts = [
        replace(moved.moved[0], id=str(i), error=e, rank=r)
        for i, (e, r) in enumerate([(0.1, 2.0), (0.4, 3.5), (0.2, 9.0)])
    ]
    by_rank = moved_texts(replace(moved, moved=tuple(texts)))[0]
    assert [c["label"] for c in by_rank["columns"][1:3]] == ["Mean rank ↑", "Moved by"]
    assert "sorted by mean rank (1: moved most at a site)" in by_rank["caption"]
    texts.sort(key=lambda text: -text.error)
    by_error = moved_texts(replace(moved, moved=tuple(texts)))[0]
    assert [c["label"] for c in by_error["columns"][1:3]] == ["Moved by ↓", "Mean rank"]
    assert [row[1]["text"] for row in by_error["groups"][0]["rows"]] == ["0.400", "0.200", "0.100"]


def test_captions_say_what_is_centred(moved: Drift) -> None:
    page = drift_page(moved)
    for block in (page["sections"][0]["blocks"][0], page["sections"][1]["blocks"][0]):
        assert "not centred" in block["caption"]
        assert "of centred rows" in block["caption"]


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.0, 1.386, ["0.00", "0.25", "0.50", "0.75", "1.00", "1.25"]),
        (-0.042, 1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-1.0, 1.0, ["−1.0", "−0.5", "0.0", "0.5", "1.0"]),
        (0.0, 44.1, ["0", "10", "20", "30", "40"]),
        (0.0, 0.00315, ["0.000", "0.001", "0.002", "0.003"]),
        (0.0, 3e-7, ["0.000", "1.0e−07", "2.0e−07", "3.0e−07"]),
        (0.5, 0.5, None),
    ],
)
def test_axes_have_round_ticks(low: float, high: float, shown: list[str] | None) -> None:
    block = {
        "title": "t",
        "x_label": "x",
        "low": low,
        "high": high,
        "series": [],
        "description": "d",
    }
    drawn = re.findall(r'text-anchor="end">([^<]*)<', panel(block))
    assert shown is None or drawn == shown


def test_identical_forms() -> None:
    page = drift_page(measure_drift(form(rows(0), model="a"), form(rows(0), model="b")))
    assert page["headline"] == "b is identical to a"
    assert [s["id"] for s in page["sections"]] == ["sites", "texts", "reading", "repeat"]
    assert page["sections"][1]["blocks"] == [{"kind": "text", "text": "No text is listed."}]
    assert "identical" in page["sections"][0]["blocks"][0]["groups"][0]["rows"][0][0]["note"]
    assert page_html(page).startswith("<!doctype html>")


def test_independent_rows_are_told_as_chance() -> None:
    result = measure_drift(form(rows(0), model="a"), form(rows(1), model="b"))
    assert [f["tone"] for f in drift_page(result)["findings"][:2]] == ["chance", "chance"]


def test_headline_without_neighbours_or_error() -> None:
    made = measure_drift(form(rows(0, 8), model="a"), form(2 * rows(0, 8), model="b"), k=2)
    none = replace(made.sites[0].retention, value=None, reason="too few")
    few = replace(made, sites=(replace(made.sites[0], retention=none),))
    assert drift_page(few)["headline"] == "b differs from a by 100.0 %"
    made = measure_drift(form(rows(0, 8), model="a"), form(rows(0, 8, 9), model="b"), k=2)
    wide = replace(made, sites=(replace(made.sites[0], retention=none),))
    assert drift_page(wide)["headline"] == "a and b"
    assert drift_page(wide)["findings"][0]["text"].startswith("The text that moved")


def test_curves_keep_the_later_of_two_sites_at_one_depth() -> None:
    a = rows(0)
    before, after = form(a, a, model="a"), form(a + 1, a + 2, model="b")
    norm = {"site": "final_norm", "depth": 1.0, "pooling": "mean"}
    before.append(Space(a, ids=before[0].ids, name="a:n", facts={"model": "a", **norm}))
    after.append(Space(a + 3, ids=before[0].ids, name="b:n", facts={"model": "b", **norm}))
    page = drift_page(measure_drift(before, after))
    (curves,) = page["sections"][1]["blocks"]
    points = curves["panels"][0]["series"][0]["points"]
    assert [(p["x"], p["record"]) for p in points] == [(0.0, 0), (1.0, 2)]
    assert curves["panels"][0]["x_label"] == "relative depth"


def test_arrays_stand_in_order() -> None:
    tables = [Space(rows(i), name=f"a{i}") for i in range(3)]
    page = drift_page(measure_drift(tables, [Space(rows(9), name=f"b{i}") for i in range(3)]))
    (curves,) = page["sections"][1]["blocks"]
    assert curves["panels"][0]["x_label"] == "sites in order"
    assert [p["x"] for p in curves["panels"][0]["series"][0]["points"]] == [0.0, 0.5, 1.0]
