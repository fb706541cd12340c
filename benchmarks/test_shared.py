"""Generalized Procrustes from moments beside rows: timed with ``--benchmark-enable``, else run once.

The environment variable ``COSPACE_LARGE=1`` asks for 100,000 rows of width 200 instead of 5,000 of 40.
"""

from __future__ import annotations

import os

import pytest
from threadpoolctl import threadpool_limits

from benchmarks.shared import TOL, from_moments, measure, page, plain, planted
from cospace import Moments

LARGE = bool(os.environ.get("COSPACE_LARGE"))
ROWS, WIDTH = (100_000, 200) if LARGE else (5_000, 40)


@pytest.fixture(scope="module")
def spaces():
    return planted(ROWS, WIDTH)


def test_a_fit_from_moments(benchmark, spaces):
    benchmark.group = f"generalized Procrustes, 5 models, {ROWS} x {WIDTH}"
    moments = Moments.of(spaces)
    with threadpool_limits(1):
        found = benchmark(from_moments, moments, WIDTH)
    assert found.stopped == "stationary"
    assert found.residual <= TOL


def test_a_plain_fit_on_rows(benchmark, spaces):
    benchmark.group = f"generalized Procrustes, 5 models, {ROWS} x {WIDTH}"
    tables = [x - x.mean(axis=0) for x in spaces.values()]
    with threadpool_limits(1):
        found = benchmark(plain, tables)
    assert 0.0 < found.loss < 1.0


def test_from_moments_is_far_faster_and_finds_no_worse():
    with threadpool_limits(1):
        run = measure(ROWS, WIDTH)
    assert run.found.loss <= run.reference.loss + 1e-9
    assert run.ratio > (20 if LARGE else 1)
    assert f"Ratio {run.ratio:.0f}." in page(run, ROWS, WIDTH)
