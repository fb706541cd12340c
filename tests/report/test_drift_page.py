"""The page of a drift: what it says, and that it becomes one HTML file."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cospace.drift import Drift, measure_drift
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
    few = measure_drift(form(rows(0, 5), model="a"), form(2 * rows(0, 5), model="b"))
    assert drift_page(few)["headline"] == "b differs from a by 100.0 %"
    wide = measure_drift(form(rows(0, 5), model="a"), form(rows(0, 5, 9), model="b"))
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
