"""Our measures and the bare calls that they need, in one run.

``python -m pytest benchmarks`` runs each once, without timing; with ``--benchmark-enable`` they are
timed, each measure in one group with its bare calls. The environment variable ``COSPACE_LARGE=1``
asks for 10,000 x 768 instead of 2,000 x 256.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from benchmarks.bare import BARE, prepared
from benchmarks.planted import language_like
from cospace.measures import CATALOGUE, find

SIZE = (10_000, 768) if os.environ.get("COSPACE_LARGE") else (2_000, 256)
DTYPES = {"float64": np.float64, "float32": np.float32}


@pytest.fixture(scope="module", params=DTYPES)
def pair(request):
    return language_like(*SIZE, dtype=DTYPES[request.param])


@pytest.mark.parametrize("name", BARE)
def test_ours(benchmark, name, pair):
    benchmark.group = f"{name}, {SIZE[0]} x {SIZE[1]}, {pair[0].dtype}"
    with threadpool_limits(1):
        value = benchmark(find(name, CATALOGUE), *pair)
    assert -1.0 <= value <= 1.0


@pytest.mark.parametrize("name", BARE)
def test_bare(benchmark, name, pair):
    benchmark.group = f"{name}, {SIZE[0]} x {SIZE[1]}, {pair[0].dtype}"
    rows = prepared(name, *pair)
    with threadpool_limits(1):
        benchmark(BARE[name], *rows)
    assert np.isfinite(rows[0]).all()


@pytest.mark.parametrize("name", BARE)
def test_float32_is_near_float64(name, pair):
    x, y = pair
    measure = find(name, CATALOGUE)
    wide = measure(x.astype(np.float64), y.astype(np.float64))
    assert measure(x, y) == pytest.approx(wide, abs=1e-5)
