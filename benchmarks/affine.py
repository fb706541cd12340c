"""Write docs/affine.md: the affine distance beside one least-squares fit of the same arrays.

``python -m benchmarks.affine [--into FILE] [--small]``. One thread for both; the least-squares fit is
run before and after, and the faster run counts.
"""

from __future__ import annotations

import argparse
import platform
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.planted import Pair, language_like
from cospace import affine_distance

SIZE = (10_000, 768)
SMALL = (1_000, 60)
GOAL, COPIES = 20.0, 4.0


def linear(n: int, d: int, errors: str, seed: int = 0) -> Pair:
    """A linear image of Gaussian rows, and what it misses; target first."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(n, d))
    noise = rng.standard_t(3, (n, d)) if errors == "t3" else rng.normal(size=(n, d))
    if errors == "t3 rows":
        noise *= np.sqrt(3.0 / rng.chisquare(3, (n, 1)))
    return source @ rng.normal(size=(d, d)) / d**0.5 + noise, source


CASES: dict[str, Callable[[int, int], Pair]] = {
    "Gaussian": lambda n, d: linear(n, d, "gaussian"),
    "t, 3 degrees, every entry": lambda n, d: linear(n, d, "t3"),
    "t, 3 degrees, whole rows": lambda n, d: linear(n, d, "t3 rows"),
    "two spaces like those of language models": language_like,
}
"""Targets and sources by the kind of their errors."""


@dataclass(frozen=True)
class Run:
    """One case."""

    least_squares: float
    """Seconds of ``numpy.linalg.lstsq``."""
    seconds: float
    """Seconds of the distance on all rows."""
    with_held_out: float
    """Seconds with the second fit, on 80 % of the rows."""
    copies: float
    """Most memory, source and target themselves included, in copies of both."""
    steps: int
    """Weighted fits."""
    gap: float
    """Upper over lower, less 1."""
    overshoot: float
    """Largest error of the least-squares fit over the lower bound, less 1."""


def measure(target: np.ndarray, source: np.ndarray) -> Run:
    """Time one case."""
    design = np.column_stack([source, np.ones(len(source))])
    with threadpool_limits(1):
        before, fit = timed(lambda: np.linalg.lstsq(design, target, rcond=None)[0])
        largest = np.linalg.norm(target - design @ fit, axis=1).max()
        seconds, found = timed(lambda: affine_distance(target=target, source=source, held_out=None))
        after, _ = timed(lambda: np.linalg.lstsq(design, target, rcond=None))
        tracemalloc.start()
        held, _ = timed(lambda: affine_distance(target=target, source=source))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    size = target.nbytes + source.nbytes
    # tracemalloc counts what is new; the data themselves are one copy.
    return Run(
        min(before, after),
        seconds,
        held,
        1.0 + peak / size,
        found.steps,
        found.upper / found.lower - 1.0,
        float(largest / found.lower - 1.0),
    )


def timed(work):
    """Seconds and result; of processor time, so that a shared machine slows neither."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def page(runs: dict[str, Run], n: int, d: int) -> str:
    """The table, and what it means."""
    lines = [
        "# Affine distance: cost and gap",
        "",
        "Made by a script; not edited by hand: `python -m benchmarks.affine`.",
        "",
        f"Target and source of {n:,} × {d} float64, one thread, seconds of processor time (the machine was shared). "
        "`affine_distance` stops at a gap of 1 %, proven for maps of the source's directions above 1e-10 of its first "
        "(all of them here); *overshoot*: by how much the largest row error of plain least "
        f"squares exceeds the lower bound. Goals: at most {GOAL:g} times one `numpy.linalg.lstsq` of the same arrays, "
        f"and under {COPIES:g} copies of the data in memory, source and target themselves counted as one. The "
        "held-out fit is a second problem of four fifths of the rows; `held_out=None` leaves it out.",
        "",
        "| errors | lstsq | distance | ratio | with held-out fit | ratio | steps | gap | overshoot | copies |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, run in runs.items():
        lines.append(
            f"| {name} | {run.least_squares:.2f} s | {run.seconds:.1f} s | {run.seconds / run.least_squares:.1f} | "
            f"{run.with_held_out:.1f} s | {run.with_held_out / run.least_squares:.1f} | {run.steps} | {run.gap:.2%} | "
            f"{run.overshoot:.0%} | {run.copies:.1f} |"
        )
    missed = [
        f"{name}: {run.seconds / run.least_squares:.1f} times, {run.copies:.1f} copies"
        for name, run in runs.items()
        if run.seconds > GOAL * run.least_squares or run.copies >= COPIES
    ]
    lines += ["", f"Goals missed: {'; '.join(missed) or 'none'}.", ""]
    lines += [
        f"{platform.machine()}, Python {platform.python_version()}, numpy {version('numpy')}, "
        f"scipy {version('scipy')}.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure all cases, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=Path("docs/affine.md"))
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    n, d = SMALL if options.small else SIZE
    runs = {}
    for name, make in CASES.items():
        runs[name] = measure(*make(n, d))
        print(f"{name}: {runs[name]}", flush=True)
    options.into.write_text(page(runs, n, d), encoding="utf-8")


if __name__ == "__main__":
    main()
