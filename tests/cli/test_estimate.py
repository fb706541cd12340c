"""What takes long is said before it starts."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cospace.comparison import budget, compare
from cospace.comparison.budget import Estimate


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", rng.standard_normal((30, 4)))
    return ["a.npy", "b.npy"]


def test_long_work_is_estimated_on_standard_error(cli, files, monkeypatch):
    command = ["compare", *files, "--measures", "linear_cka,procrustes_similarity", "--json"]
    quiet = cli(*command)
    monkeypatch.setattr(budget, "LONG", 10_000)
    told = cli(*command)
    assert quiet.err == ""
    assert told.json["records"] == quiet.json["records"]
    lines = told.err.splitlines()
    assert len(lines) == 2
    for line, name in zip(lines, ("linear_cka", "procrustes_similarity"), strict=True):
        assert re.fullmatch(
            rf"2 spaces, 1 pairs?, {name}: \d\.\de\+\d\d multiplications, [\d.]+ MB of [\d.]+ GB free",
            line,
        )


def test_fits_that_are_permuted_cost_as_many_times_more(files, tmp_path):
    arrays = {name: np.load(tmp_path / name) for name in files}

    def needed(**options):
        found: list[Estimate] = []
        compare(arrays, ["procrustes_similarity"], estimated=found.append, **options)
        return found[0].operations

    once = needed(permutations=0)
    assert needed(permutations=100) == pytest.approx(once + 20 * (30 * 16 + 64))
    assert needed(permutations=100, permute_fits=True) == pytest.approx(once + 100 * (30 * 16 + 64))


def test_what_is_refused_has_no_estimate(files, tmp_path):
    arrays = {name: np.load(tmp_path / name)[:9] for name in files}
    found: list[Estimate] = []
    compare(arrays, permutations=0, estimated=found.append)
    names = [one.measure for one in found]
    assert "debiased_cka" in names
    assert "mean_cca" not in names  # too few rows for n / 10 components
