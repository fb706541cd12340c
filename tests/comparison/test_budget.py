"""What a comparison needs is known before it starts, and it needs no more."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from cospace.comparison import budget
from cospace.comparison.budget import (
    Estimate,
    Size,
    free_bytes,
    pair_bytes,
    pair_operations,
    stack_bytes,
    stack_operations,
    stream_bytes,
    stream_operations,
    symmetric,
)
from cospace.comparison.plan import Plan, estimate, ordered_pairs
from cospace.comparison.stack import stack
from cospace.comparison.stream import stream
from cospace.measures import CATALOGUE, find
from cospace.space import Space
from cospace.stats import Permutations, Weights

RELATIONAL = [m.name for m in CATALOGUE if m.relation is not None]


def nothing():
    pass


def spaces(count, n, width):
    rng = np.random.default_rng(0)
    return [Space(rng.standard_normal((n, width)), name=str(i)) for i in range(count)]


def peak_of(work):
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("name", RELATIONAL)
def test_the_stack_stays_within_its_estimate(name):
    measure, some = find(name, CATALOGUE), spaces(3, 700, 6)
    shuffles = Permutations.of(700, 3, rng=np.random.default_rng(0))
    weights = Weights.of(700, 3, rng=np.random.default_rng(0))

    def work():
        stacked = stack(measure, some, nothing)
        stacked.values()
        stacked.null(shuffles, nothing)
        stacked.bootstrap(weights, nothing)
        stacked.invariants()

    assert peak_of(work) < stack_bytes(measure, Size.of(some), 3, 3)


@pytest.mark.parametrize("name", [n for n in RELATIONAL if symmetric(find(n, CATALOGUE))])
@pytest.mark.parametrize(("count", "n", "width"), [(3, 700, 6), (40, 150, 300)])
def test_the_stream_stays_within_its_estimate(name, count, n, width):
    measure, some = find(name, CATALOGUE), spaces(count, n, width)

    def work():
        streamed = stream(measure, some, nothing)
        streamed.values()
        streamed.invariants()

    by_rows = measure.products is not None
    assert peak_of(work) < stream_bytes(Size.of(some), by_rows=by_rows)


WHOLE = """
import resource, sys
import numpy as np
from cospace.comparison import compare, plan
from cospace.space import Space

names, route, count, n, width, draws = sys.argv[1].split(","), sys.argv[2], *map(int, sys.argv[3:])
rng = np.random.default_rng(0)
spaces = [
    Space(rng.standard_normal((n, width), dtype=np.float32), name=str(i)) for i in range(count)
]
compare(spaces[:2], names, permutations=1)  # whatever is loaded once
if route == "streamed":
    plan._CHEAP = 0.0
with open("/proc/self/statm") as file:
    held = int(file.read().split()[1]) * resource.getpagesize()
needed = []
made = compare(spaces, names, permutations=draws, estimated=needed.append)
assert set(made.settings["routes"].values()) == {route}, made.settings["routes"]
with open("/proc/self/status") as file:  # of this program alone: ru_maxrss is handed on by its parent
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024
print(max(one.bytes for one in needed), peak - held)
"""


@pytest.mark.parametrize(
    ("names", "route", "count", "draws"),
    [
        ("linear_cka", "stacked", 30, 20),
        ("rsa_spearman", "stacked", 30, 5),
        ("linear_cka", "streamed", 80, 0),
        ("rsa_pearson", "streamed", 80, 0),
        ("rsa_spearman", "streamed", 50, 0),
        ("linear_cka,rsa_spearman,debiased_cka", "streamed", 80, 0),
    ],
)
def test_a_whole_comparison_stays_within_its_estimate(names, route, count, draws):
    arguments = [names, route, str(count), "600", "96", str(draws)]
    done = subprocess.run(
        [sys.executable, "-c", WHOLE, *arguments], capture_output=True, text=True, check=True
    )
    needed, used = map(int, done.stdout.split())
    assert used < needed, (used, needed)
    assert needed < 4 * used + 200e6, (used, needed)  # no empty promise either


def test_free_memory_is_that_of_the_machine_or_of_the_container(monkeypatch):
    assert 1e6 < free_bytes() < 1e15
    files = {
        "/proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 4000 kB\n",
        "/sys/fs/cgroup/memory.max": "3000000\n",
        "/sys/fs/cgroup/memory.current": "2500000\n",
        "/sys/fs/cgroup/memory.stat": "anon 5\ninactive_file 500000\n",
    }
    monkeypatch.setattr(budget, "_read", lambda path: files.get(path, ""))
    assert free_bytes() == 1_000_000
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    assert free_bytes() == 4_096_000
    files.clear()
    assert free_bytes() > 1e6


def test_a_file_that_is_not_there_reads_as_nothing():
    assert budget._read("/nowhere/at/all") == ""


def test_sizes_are_said_in_the_unit_that_fits():
    assert [budget.said(n) for n in (900, 7_900_000, 310_000_000, 2_450_000_000)] == [
        "900 bytes",
        "7.9 MB",
        "310 MB",
        "2.5 GB",
    ]


@pytest.mark.parametrize("measure", CATALOGUE, ids=lambda m: m.name)
def test_the_cost_of_every_measure_can_be_read(measure):
    once, each = budget._cost(measure.cost, 1_000, 100)
    assert 1e4 <= once <= 1e9
    assert 1e3 <= each <= 1e9
    once, each = budget._cost(measure.cost, 2_000, 200)
    assert once >= 2 * budget._cost(measure.cost, 1_000, 100)[0]


@pytest.mark.parametrize(
    ("told", "steps"),
    [
        ("n² d", 12_800.0),
        ("5 n d²", 5 * 16 * 2_500.0),
        ("n² (d + log n)", 256 * 54.0),
        ("n k", 160.0),
        ("n² d + n k² (d + k)", 12_800.0 + 16 * 100 * 60),
        ("n² (d + log n) + d³", 256 * 54.0 + 125_000),
        ("as long as it takes", None),
        ("n² (d", None),
    ],
)
def test_words_of_cost(told, steps):
    assert budget._steps(told, 16, 50) == steps


def test_a_measure_of_ones_own_may_be_silent_about_its_cost():
    from dataclasses import replace

    own = replace(find("procrustes_similarity", CATALOGUE), cost="dear")
    some = spaces(3, 20, 4)
    found = estimate(Plan(own, ordered_pairs(some), None, stacked=False), some, draws=9, samples=0)
    assert (found.operations, found.long, found.pairs) == (None, False, 3)
    assert str(found).startswith("3 spaces, 3 pairs, procrustes_similarity: work unknown, ")


def test_operations_by_hand():
    cka, rsa = (find(name, CATALOGUE) for name in ("linear_cka", "rsa_spearman"))
    size = Size(spaces=10, n=100, width=30)
    # Half of the Gram products, Z'Z, and half of the products of relations, above the diagonal.
    assert stream_operations(cka, size) == 10 * (100 * 100 * 30 + 100 * 30 * 30) / 2 + 250_000
    assert stream_operations(rsa, size) == 10 * (100 * 100 * 30 + 100**3 / 6) + 250_000
    made = 10 * (100 * 100 * 30 + 100**3 / 6)
    assert stack_operations(cka, size, 0, 0) == made + 5050 * 10 * 5
    assert stack_operations(cka, size, 7, 2) == made + 5050 * 10 * (5 + 9 * 30)
    assert pair_operations(cka, size, 45, 9) == 45 * 10 * 3 * 100 * 30 * 30
    fit = find("procrustes_similarity", CATALOGUE)
    assert pair_operations(fit, size, 45, 1) == 10 * 90_000 + 45 * 2 * (90_000 + 27_000)
    assert pair_bytes(fit, size) > 10 * 8 * 30 * 130


def test_an_estimate_counts_mirrored_pairs_once_and_is_long_from_some_seconds_on():
    some = spaces(4, 30, 5)
    pairs = ordered_pairs(some)
    for name, counted in (("linear_cka", 6), ("predictive_r2", 12)):
        measure = find(name, CATALOGUE)
        found = estimate(Plan(measure, pairs, None, stacked=False), some, draws=0, samples=0)
        assert (found.spaces, found.pairs, found.long) == (4, counted, False)
        assert found.free > found.bytes > 0
        plan = Plan(measure, pairs, None, stacked=False)
        more = estimate(plan, some, draws=0, samples=0, cells=12)
        assert more.bytes == found.bytes + 12 * budget.CELL
    assert Estimate("linear_cka", 325, 52_650, 2e11, 1, 2).long
    assert str(Estimate("linear_cka", 325, 52_650, 8.12e11, 3_100_000_000, 18_000_000_000)) == (
        "325 spaces, 52,650 pairs, linear_cka: 8.1e+11 multiplications, 3.1 GB of 18.0 GB free"
    )


def test_components_are_what_is_counted():
    some = spaces(2, 50, 40)
    assert Size.of(some) == Size(2, 50, 40)
    assert Size.of(some, 7) == Size(2, 50, 7)
    assert Size.of(some, 70) == Size(2, 50, 40)
