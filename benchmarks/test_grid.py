"""The grid's benchmark at a small size: it runs, both sides agree, and the page says what was found."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks import grid
from cospace.comparison import plan
from cospace.measures import CATALOGUE, find

SMALL = ["--models", "3", "--sites", "2", "--rows", "60", "--width", "24", "--rounds", "2"]


@pytest.fixture
def streamed(monkeypatch):
    monkeypatch.setattr(plan, "_CHEAP", 0.0)


class Loop:
    """Two peers, of which one is right."""

    versions = {"right": "1.0", "wrong": "2.0", "broken": "3.0"}  # noqa: RUF012
    environments = ()

    def __init__(self, _):
        pass

    def of(self, name):
        return list(self.versions)

    def load(self, x, y, folder):
        self.pair = x, y

    def ask(self, peer, name, patience):
        if peer == "broken":
            return {"error": "died"}
        value = find(name, CATALOGUE)(*self.pair)
        return {"value": value + 0.1 * (peer == "wrong"), "seconds": 2.0}


def test_the_page_at_a_small_size(streamed, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(grid, "Peers", Loop)
    grid.main([*SMALL, "--into", str(tmp_path / "grid.md")])
    page = (tmp_path / "grid.md").read_text()
    assert "3 models × 2 sites = 6 spaces of 60 × 24, float32 in; all 15 pairs" in page
    for name in grid.LOOPS:
        row = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
        assert "right, 2 s a pair: 0.0 h" in row
        assert float(re.findall(r"([\d,]+) × \|$", row)[0].replace(",", "")) > 1
        assert f"wrong ({name}): another value" in page
        assert f"- 6 spaces, 15 pairs, {name}: " in page
        assert re.search(
            rf"- {name}: ours prepare .* s, tiles .* sums .* cells .*; bare made", page
        )
    differences = re.findall(r"(?:linear_cka|rsa_\w+) (\d\.\de[+-]\d+)", page)
    assert len(differences) == 3
    assert max(map(float, differences)) < 1e-5
    assert "linear_cka: ours prepare" in capsys.readouterr().out


def test_without_peers_the_loop_is_not_run(streamed, tmp_path, capsys):
    into = tmp_path / "grid.md"
    grid.main([*SMALL, "--peers", str(tmp_path / "nowhere"), "--into", str(into)])
    assert into.read_text().count("| not run here |") == 3
    assert "has no peers" in capsys.readouterr().err


def test_planted_spaces_are_the_same_again_and_alike_within_the_grid():
    first, again = (grid.planted(2, 3, 40, 16) for _ in range(2))
    assert all(np.array_equal(a.rows, b.rows) for a, b in zip(first, again, strict=True))
    assert [s.name for s in first[:2]] == ["model 0:block.0", "model 0:block.1"]
    assert {s.rows.dtype for s in first} == {np.dtype(np.float32)}
    assert len({s.fingerprint for s in first}) == 6
