"""The page of benchmarks at a small size: runs alternate, and what misses its goal is said."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import against_peers
from benchmarks.against_peers import missed, page, race, row, search_row, searching
from benchmarks.bare import BARE
from cospace.measures import CATALOGUE, find
from cospace.search import Search

SIZE = (120, 6)


class Loop:
    """Three peers, of which one is right, and a search."""

    def of(self, name):
        return ["right", "wrong", "broken"]

    def load(self, x, y, folder):
        self.pair = x, y

    def ask(self, peer, name, patience):
        if peer == "broken":
            return {"error": "died"}
        if name == "nearest":
            return {"value": Search.cosine(self.pair[0]).of(np.arange(50), 10).mean(), "cpu": 2.0}
        value = find(name, CATALOGUE)(*self.pair)
        return {"value": value + 0.1 * (peer == "wrong"), "cpu": 2.0}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(against_peers, "SIZES", {SIZE: 2})
    monkeypatch.setattr(against_peers, "PATIENCE", {SIZE[0]: 1})
    monkeypatch.setattr(against_peers, "SEARCHES", {SIZE: (50, 1)})


def test_a_race_at_a_small_size(small, tmp_path):
    found = race("linear_cka", SIZE, Loop(), tmp_path, {})
    assert found["peers"] == {"right": 2.0}
    assert found["wrong"]["broken"] == "died"
    assert found["wrong"]["wrong"].startswith("another value, ")
    line = row("linear_cka", SIZE, found)
    assert line.startswith("| linear_cka | 120 × 6 | ")
    assert "| right 2 s | " in line


def test_a_search_at_a_small_size(small, tmp_path):
    found = searching(SIZE, Loop(), tmp_path)
    assert found["apart"] == 0.0
    assert found["faiss"] == 2.0
    assert search_row(SIZE, found).startswith("| 120 × 6 | 50 | ")
    assert "died" in search_row(SIZE, {"error": "died"})


def measured(ours, bare, peers, *, single=None):
    return {
        "ours": ours,
        "bare": bare,
        "ours32": single,
        "bare32": bare,
        "peers": peers,
        "wrong": {},
    }


def test_goals_that_are_missed_are_said_with_the_reason():
    kept = {
        f"linear_cka {SIZE}": measured(1.2, 1.0, {"a": 9.0}, single=1.4),
        f"mutual_knn {SIZE}": measured(1.0, 2.0, {"faiss": 0.8}),
        f"pwcca {SIZE}": measured(1.0, 1.0, {}),
        "shuffles": [
            {"line": "- x", "ratio": 12.0, "width": 6},
            {"line": "- y", "ratio": 30.0, "width": 9},
        ],
    }
    lines = missed(kept, ["linear_cka", "mutual_knn", "pwcca"], [SIZE])
    assert lines[0].startswith("- linear_cka: 1.40 times the bare calls at 120 × 6 in float32. Be")
    assert lines[1].startswith("- mutual_knn: 1.25 times as long as faiss at 120 × 6. faiss takes")
    assert lines[2].startswith("- Shuffles at 1,000 × 6: 12.0 times faster, not 20. A shuffle")
    assert len(lines) == 3
    assert missed(kept | {"shuffles": []}, ["pwcca"], [SIZE]) == ["None is missed."]


def test_every_measure_has_a_reason_at_hand():
    assert set(against_peers.REASONS) == set(BARE)


def test_the_page(small, monkeypatch):
    monkeypatch.setattr(
        against_peers, "SIZES", {(2_000, 256): 7, (10_000, 768): 3}
    )  # the page says them
    monkeypatch.setattr(against_peers, "PATIENCE", {2_000: 1, 10_000: 2})
    kept = {
        f"linear_cka {SIZE}": measured(1.2, 1.0, {"a": 9.0}, single=1.4),
        f"search {SIZE}": {"ours": 1.0, "faiss": 1.5, "apart": 0.0},
        "shuffles": [{"line": "- shuffled", "ratio": 30.0, "width": 9}],
        "memory": ["- little"],
    }
    text = page(kept, ["linear_cka"], [SIZE], {"a": "1.0"})
    for part in (
        "| linear_cka | 120 × 6 | 1.2 s | 1.20 | 1.4 s | 1.40 | a 9 s | 7.5 × | – |",
        "| 120 × 6 | 50 | 1 s | 1.5 s | 1.50 × |",
        "- shuffled",
        "- little",
        "- linear_cka: 1.40 times the bare calls",
        "a 1.0",
    ):
        assert part in text
