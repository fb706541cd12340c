"""The page of a sweep: counts of verdicts, and every loss told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cospace.report import write_report
from cospace.report.render import page_html
from cospace.report.shared_space_sweep import sweep_findings, sweep_page
from cospace.shared import Refusal, SharedSweep, SweepCell

CELL = SweepCell(
    depth=0.5, pooling="mean", set="new", shared="gcca", scaling="drop:1", width=100, ridge=0.3,
    value=0.912, low=0.9, high=0.93, chance=0.01, gallery=100, n=100, pairwise="ridge",
    pairwise_value=0.9, ahead=0.012, ahead_low=0.002, ahead_high=0.02, verdict="wins",
    hardest="least_squares", hardest_value=0.905, hardest_verdict="ties", raw=0.01, words=None,
    within=None, few=0.99, few_chance=0.05, group=0.97, length=None, shuffled=0.011,
    shuffled_in_sample=0.8, leading=0.997,
)  # fmt: skip
CELLS = (
    CELL,
    replace(CELL, depth=1.0, verdict="ties", ahead_low=-0.01),
    replace(CELL, pooling="last", verdict="loses", ahead=-0.05, ahead_low=-0.08, ahead_high=-0.02, value=0.85),
    replace(CELL, set="paraphrase", within=0.4, words=0.001, n=300),
)  # fmt: skip


@pytest.fixture
def sweep():
    refused = (Refusal(0.0, "<b>first</b>", "All rows of m are the same."),)
    return SharedSweep(CELLS, refused, ("a", "b</script>"), 560, {"folds": 3})


def test_verdicts_are_counted_and_every_loss_is_told(sweep):
    told = [one["text"] for one in sweep_findings(sweep)]
    assert told[0].startswith(
        "On new texts, one shared space wins 1, ties 1 and loses 1 of 3 places"
    )
    assert "on these texts 0, 3 and 0" in told[0]
    assert told[1] == (
        "On new texts, last, depth 0.5, it loses: 0.850 against 0.900 (ridge), difference −0.080 to −0.020."
    )
    assert told[2].startswith(
        "On paraphrases, one shared space wins 1, ties 0 and loses 0 of 1 place"
    )
    assert [one["tone"] for one in sweep_findings(sweep)] == ["outside", "outside", "above"]


def test_nothing_to_count_is_said(sweep):
    assert (
        sweep_findings(replace(sweep, cells=()))[0]["text"]
        == "No depth and pooling has a shared space."
    )
    bare = replace(
        CELL, pairwise=None, verdict=None, hardest=None, hardest_verdict=None, ahead=None
    )
    assert (
        sweep_findings(replace(sweep, cells=(bare,)))[0]["text"]
        == "On new texts, no pairwise maps were fitted."
    )


def test_the_page_has_a_curve_and_the_refusals(sweep, tmp_path):
    page = sweep_page(sweep)
    blocks = page["sections"][0]["blocks"]
    (panel,) = blocks[0]["panels"]
    assert [p["y"] for p in panel["series"][0]["points"]] == [0.912, 0.912]
    assert [p["record"] for p in panel["series"][0]["points"]] == [0, 1]
    html = page_html(page)
    assert "All rows of m are the same." in html
    assert "<b>first" not in html
    assert "b</script>" not in html
    sweep.save(tmp_path / "w.json")
    assert (
        write_report(SharedSweep.load(tmp_path / "w.json"), tmp_path / "w.html").read_text() == html
    )


def test_places_where_neither_side_finds_any_are_no_ties(sweep):
    cells = (*CELLS[:2], replace(CELL, depth=0.0, verdict="neither", hardest_verdict="neither"))
    first = sweep_findings(replace(sweep, cells=cells))[0]["text"]
    assert "wins 1, ties 1 and loses 0 of 3 places" in first
    assert first.endswith("In 1 and 1 neither side can be told from chance.")
    html = page_html(sweep_page(replace(sweep, cells=cells)))
    assert "neither: no interval of the two lies above chance" in html
