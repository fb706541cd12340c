"""The affine distance beside least squares: timed with ``--benchmark-enable``, else run once.

The environment variable ``COSPACE_LARGE=1`` asks for 10,000 x 768 instead of 600 x 40.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks.affine import CASES, COPIES, linear, measure, page
from cospace import affine_distance

SIZE = (10_000, 768) if os.environ.get("COSPACE_LARGE") else (600, 40)
ERRORS = ("gaussian", "t3")


@pytest.mark.parametrize("errors", ERRORS)
def test_distance(benchmark, errors):
    benchmark.group = f"affine distance, {SIZE[0]} x {SIZE[1]}, {errors}"
    target, source = linear(*SIZE, errors)
    with threadpool_limits(1):
        found = benchmark(affine_distance, target=target, source=source, held_out=None)
    assert found.closed
    assert found.steps <= 40


@pytest.mark.parametrize("errors", ERRORS)
def test_one_least_squares_fit(benchmark, errors):
    benchmark.group = f"affine distance, {SIZE[0]} x {SIZE[1]}, {errors}"
    target, source = linear(*SIZE, errors)
    with threadpool_limits(1):
        fit = benchmark(np.linalg.lstsq, source, target, rcond=None)
    assert np.isfinite(fit[0]).all()


def test_the_page_tells_every_case():
    run = measure(*linear(600, 40, "t3"))
    assert run.gap <= 0.01 + 1e-12
    assert run.overshoot > run.gap
    text = page(dict.fromkeys(CASES, run), 600, 40)
    for name in CASES:
        assert f"| {name} | " in text
    assert f"under {COPIES:g} copies" in text
