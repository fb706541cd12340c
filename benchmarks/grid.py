"""Write docs/grid.md: all pairs of 325 spaces beside the bare products and beside looping the peers.

``python -m benchmarks.grid [--peers FOLDER] [--into FILE] [--models 25] [--sites 13] [--rows 2000]
[--width 768] [--rounds 2]``. Ours and the bare products run in turn, on as many threads each.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import platform
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers.ask import ENVIRONMENTS, Peers
from cospace import Space
from cospace._threads import free_cores
from cospace.comparison import Comparison, compare

LOOPS = {"linear_cka": 50, "rsa_pearson": 200, "rsa_spearman": 200}
"""What is compared, and how many times faster than looping the fastest right peer is the goal."""
BARE_GOAL = 1.5
"""How many times the bare products ours may take."""
SAMPLE = 5
"""Pairs that the peers are timed on."""
PATIENCE = 60
"""Seconds after which a peer is given up."""
RIGHT = 1e-5
"""How near a peer's value must be to ours to count as right."""

REASONS = {
    "linear_cka": "Beside the products, ours makes what gives every cell its exact null (the products of columns "
    "and their cubes: 'sums'), centres the rows in double precision and puts them into memory of its own, which the "
    "first measure of a process touches for the first time ('prepare'), and writes a cell for each ordered pair.",
    "rsa_pearson": "As for linear CKA; the rows are freed of their mean and length besides.",
    "rsa_spearman": "Ranks are exact: ties and order are found among 52 bits, where the bare call sorts 24. The third "
    "moments need products of whole relations ('sums').",
}


@dataclass
class Run:
    """Seconds of one run: of the wall, and of the processor by what they went into."""

    wall: float
    cpu: float
    parts: dict[str, float] = field(default_factory=dict)


def now() -> tuple[float, float]:
    """Seconds of the wall and of the processor."""
    return time.perf_counter(), time.process_time()


def between(start: tuple[float, float], end: tuple[float, float]) -> Run:
    return Run(end[0] - start[0], end[1] - start[1])


def planted(models: int, sites: int, n: int, width: int, seed: int = 0) -> list[Space]:
    """Models that share a latent and lose it with depth; noise, offsets, three rogue coordinates."""
    latent = np.random.default_rng(seed).standard_normal((n, 64), dtype=np.float32)
    latent *= np.arange(1, 65, dtype=np.float32) ** -0.5

    def space(at: int) -> Space:
        model, site = divmod(at, sites)
        rng = np.random.default_rng([seed, model, site])
        depth = site / max(sites - 1, 1)
        kept = latent * np.exp(-depth * np.linspace(0, 3, 64)).astype(np.float32)
        rows = kept @ rng.standard_normal((64, width), dtype=np.float32)
        rows += (0.5 + depth) * rng.standard_normal((n, width), dtype=np.float32)
        rows += rng.standard_normal(width, dtype=np.float32)
        rows[:, rng.choice(width, min(3, width), replace=False)] *= 20.0
        facts = {"model": f"model {model}", "site": f"block.{site}", "depth": depth}
        return Space(rows, name=f"model {model}:block.{site}", facts=facts)

    return pooled(space, range(models * sites))


def pooled(work: Callable, items: Sequence) -> list:
    """One thread a core, one BLAS thread each: as ours runs."""
    with threadpool_limits(1), ThreadPoolExecutor(free_cores()) as pool:
        return list(pool.map(work, items))


def prepared(name: str, spaces: Sequence[Space]) -> list[np.ndarray]:
    """Rows in single precision as the measure compares them: not part of the bare cost."""

    def rows(space: Space) -> np.ndarray:
        x = np.asarray(space.rows)
        if name == "linear_cka":
            x = x - x.mean(axis=0)
            return x / np.linalg.norm(x)
        x = x - x.mean(axis=1, keepdims=True)
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    return pooled(rows, spaces)


def grams(rows: Sequence[np.ndarray]) -> np.ndarray:
    """One Gram product a space, kept side by side in single precision."""
    n = len(rows[0])
    stack = np.empty((len(rows), n, n), dtype=np.float32)
    pooled(lambda at: np.matmul(rows[at], rows[at].T, out=stack[at]), range(len(rows)))
    return stack.reshape(len(rows), -1)


def ranks(rows: Sequence[np.ndarray]) -> np.ndarray:
    """One Gram product a space, and the order of what is above its diagonal as ranks less their mean."""
    n = len(rows[0])
    above = np.triu_indices(n, 1)
    m = len(above[0])
    stack = np.empty((len(rows), m), dtype=np.float32)
    numbers = np.arange(m, dtype=np.float32) / m - (m - 1) / (2 * m)

    def one(at: int) -> None:
        stack[at, np.argsort((rows[at] @ rows[at].T)[above])] = numbers

    pooled(one, range(len(rows)))
    return stack


def products(stack: np.ndarray) -> np.ndarray:
    """One product of all with all, in pieces."""
    pieces = np.array_split(np.arange(stack.shape[1]), max(1, stack.shape[1] // 100_000))
    cuts = [slice(piece[0], piece[-1] + 1) for piece in pieces]
    total = np.zeros((len(stack),) * 2)
    for part in pooled(lambda cut: stack[:, cut] @ stack[:, cut].T, cuts):
        total += part
    return total


def bare(name: str, rows: Sequence[np.ndarray]) -> tuple[Run, np.ndarray]:
    """Time of the bare products, and what they come to."""
    start = now()
    stack = ranks(rows) if name == "rsa_spearman" else grams(rows)
    made = now()
    total = products(stack)
    end = now()
    run = between(start, end)
    run.parts = {"made": between(start, made).cpu, "product": between(made, end).cpu}
    return run, correlations(name, total, stack, len(rows[0]))


def correlations(name: str, total: np.ndarray, stack: np.ndarray, n: int) -> np.ndarray:
    """Values of the measure from inner products, to see that both did the same work; not timed."""
    if name == "rsa_pearson":  # off the diagonal, which is 1 everywhere, and about the mean
        means = (stack.sum(axis=1, dtype=np.float64) - n) / (n * (n - 1))
        total = total - n - n * (n - 1) * np.outer(means, means)
    size = np.sqrt(np.diagonal(total))
    return total / size[:, None] / size[None, :]


def ours(name: str, spaces: Sequence[Space]) -> tuple[Run, Run, Comparison, str]:
    """Time of the public route from spaces to cells with their nulls and p, less that of the facts.

    Facts are those of the spaces, found once for all measures of a comparison, and timed by
    themselves. With the result, and what is said before work starts.
    """
    said: list[str] = []
    told: dict[str, list[tuple[float, float]]] = {}
    start = now()
    result = compare(
        spaces,
        [name],
        permutations=0,
        progress=lambda what, *_: told.setdefault(what, []).append(now()),
        estimated=lambda needed: said.append(str(needed)),
    )
    end = now()
    facts, steps = told.values()
    run = between(facts[-1], end)
    if result.settings["routes"][name] == "streamed":
        count = len(spaces)
        cuts = [facts[-1], steps[count - 1], steps[-count - 1], steps[-1], end]
        spent = [between(*pair).cpu for pair in itertools.pairwise(cuts)]
        run.parts = dict(zip(("prepare", "tiles", "sums", "cells"), spent, strict=True))
    return run, between(start, facts[-1]), result, said[0]


def apart(result: Comparison, spaces: Sequence[Space], expected: np.ndarray) -> float:
    """Largest difference between ours and the bare products."""
    place = {space.name: i for i, space in enumerate(spaces)}
    return max(
        abs(cell.value - expected[place[cell.source], place[cell.target]]) for cell in result.cells
    )


def loops(name: str, result: Comparison, spaces: Sequence[Space], peers: Peers | None) -> dict:
    """Seconds a pair of every peer that is right, and of those that are not why."""
    seconds: dict[str, list[float]] = {}
    wrong: dict[str, str] = {}
    if peers is None:
        return {"seconds": seconds, "wrong": wrong}
    value = {(c.source, c.target): c.value for c in result.cells}
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(SAMPLE):
            i, j = rng.choice(len(spaces), 2, replace=False)
            peers.load(
                *(np.asarray(spaces[k].rows, dtype=np.float64) for k in (i, j)), Path(folder)
            )
            for peer in peers.of(name):
                if peer in wrong:
                    continue
                answer = peers.ask(peer, name, PATIENCE)
                if "error" in answer:
                    wrong[peer] = answer["error"]
                elif abs(answer["value"] - value[spaces[i].name, spaces[j].name]) > RIGHT:
                    wrong[peer] = f"another value, {answer['value']:.4f}"
                else:
                    seconds.setdefault(peer, []).append(answer["seconds"])
    # The first run of a peer also loads what it needs.
    found = {p: median(s[1:] or s) for p, s in seconds.items() if p not in wrong}
    return {"seconds": found, "wrong": wrong}


@dataclass
class Found:
    """What was measured of one measure."""

    name: str
    ours: list[Run] = field(default_factory=list)
    bare: list[Run] = field(default_factory=list)
    facts: list[Run] = field(default_factory=list)
    difference: float = 0.0
    peak: float = 0.0
    said: str = ""
    peers: dict = field(default_factory=dict)

    def row(self, pairs: int) -> str:
        """One line of the table."""
        mine = middle(self.ours)
        loop, factor = "not run here", ""
        if self.peers["seconds"]:
            peer, seconds = fastest(self.peers["seconds"])
            loop = f"{peer}, {seconds:.3g} s a pair: {seconds * pairs / 3600:.1f} h"
            factor = f"{seconds * pairs / mine:,.0f} ×"
        return (
            f"| {self.name} | {middle(self.ours, 'cpu'):.1f} s | {middle(self.bare, 'cpu'):.1f} s | "
            f"{ratio(self.ours, self.bare, 'cpu'):.2f} | {mine:.1f} s | {middle(self.bare):.1f} s | "
            f"{ratio(self.ours, self.bare):.2f} | {self.peak:.1f} GB | {loop} | {factor} |"
        )

    def profile(self) -> str:
        """Where the seconds go."""
        told = []
        for runs in (self.ours, self.bare):
            parts = {k: median(run.parts[k] for run in runs) for k in runs[0].parts}
            told.append(", ".join(f"{k} {s:.1f} s" for k, s in parts.items()) or "not by parts")
        return f"- {self.name}: ours {told[0]}; bare {told[1]}."

    def missed(self, pairs: int) -> list[str]:
        """Lines on the goals that are missed, with the reason."""
        lines = []
        if ratio(self.ours, self.bare, "cpu") > BARE_GOAL:
            lines.append(f"- {self.name}, beside the bare products: {REASONS[self.name]}")
        if self.peers["seconds"]:
            factor = fastest(self.peers["seconds"])[1] * pairs / middle(self.ours)
            if factor < LOOPS[self.name]:
                lines.append(
                    f"- {self.name}, against looping a peer: {factor:.0f} times, not {LOOPS[self.name]}."
                )
        return lines


def middle(runs: Sequence[Run], of: str = "wall") -> float:
    return median(getattr(run, of) for run in runs)


def ratio(ours: Sequence[Run], bare: Sequence[Run], of: str = "wall") -> float:
    """Median over the rounds."""
    return median(getattr(a, of) / getattr(b, of) for a, b in zip(ours, bare, strict=True))


def fastest(seconds: dict[str, float]) -> tuple[str, float]:
    return min(seconds.items(), key=lambda item: item[1])


def together(found: Sequence[Found]) -> str:
    """All measures, and the facts of the spaces once: what one comparison by all of them takes."""
    facts = [run for f in found for run in f.facts]
    cells = []
    for of in ("cpu", "wall"):
        mine = middle(facts, of) + sum(middle(f.ours, of) for f in found)
        theirs = sum(middle(f.bare, of) for f in found)
        cells.append(f"{mine:.1f} s | {theirs:.1f} s | {mine / theirs:.2f}")
    return f"| all, with facts | {' | '.join(cells)} | | | |"


def measured(spaces: list[Space], rounds: int, peers: Peers | None) -> Iterator[list[Found]]:
    """All of the figures so far, after each measure; the longest is run once."""
    found = []
    for name in LOOPS:
        f = Found(name)
        for at in range(1 if name == "rsa_spearman" else rounds):
            held = resident()
            run, facts, result, said = ours(name, spaces)
            # Before the bare stack is made, which is larger.
            f.peak = f.peak or peak_beyond(held)
            f.ours.append(run)
            f.facts.append(facts)
            run, expected = bare(name, prepared(name, spaces))
            f.bare.append(run)
            if at == 0:
                f.said, f.difference = said, apart(result, spaces, expected)
                f.peers = loops(name, result, spaces, peers)
        found.append(f)
        print(f.row(len(spaces) * (len(spaces) - 1) // 2), f.profile(), sep="\n", flush=True)
        yield found


def resident() -> int:
    """Bytes that the process holds now; the peak starts again from here where the system allows."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def peak_beyond(held: int) -> float:
    """GB at the peak beyond what was held."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    peak = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return (peak - held) / 1e9


def page(found: Sequence[Found], spaces: Sequence[Space], shape: str, peers: Peers | None) -> str:
    """The whole page."""
    pairs = len(spaces) * (len(spaces) - 1) // 2
    own = ", ".join(f"{name} {version(name)}" for name in ("cospace", "numpy", "scipy"))
    said = "" if peers is None else "; " + ", ".join(f"{k} {v}" for k, v in peers.versions.items())
    wrong = [f"{peer} ({f.name}): {why}" for f in found for peer, why in f.peers["wrong"].items()]
    missed = [line for f in found for line in f.missed(pairs)]
    facts = [run for f in found for run in f.facts]
    lines = [
        "# The grid",
        "",
        "Made by a script; not edited by hand: `python -m benchmarks.grid`, after "
        "`python benchmarks/peers/make_environment.py`.",
        "",
        f"{shape}, float32 in; all {pairs:,} pairs, by `compare(spaces, [measure], permutations=0)`: every "
        "cell has its value, the exact mean, spread and skewness over all permutations, and p. Planted spaces with "
        f"fixed seeds. Ours and the bare products run in turn, on {free_cores()} threads each (rounds: "
        f"{len(found[0].ours)}, medians; RSA with Spearman once). The machine was shared with other work, which "
        "changed while this ran: seconds and ratios are of the processor, and beside them those of the wall.",
        "",
        "*Bare*: on rows prepared beforehand, one Gram product a space in float32 and one product of the stacked "
        "Grams with themselves, both of which numpy makes by symmetric halves; for Spearman the upper triangle of "
        "each Gram is sorted and its ranks are stacked. *Facts*: rank, leading direction, repeats and fingerprint of "
        f"every space, found once for all measures of a comparison ({middle(facts, 'cpu'):.1f} s of the processor), "
        "and not in the lines of the measures. *Memory*: at the peak, beyond what was held before. *Loop*: the "
        f"fastest right peer on one thread, median over {SAMPLE} random pairs, times the number of pairs: "
        "extrapolated, not run in full; against the wall. *Right*: gives our value to 1e-5.",
        "",
        "| measure | ours | bare | ours / bare | ours, wall | bare, wall | ratio, wall | memory | loop | loop / ours |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|---:|",
        *(f.row(pairs) for f in found),
        together(found),
        "",
        "Largest difference from the bare products: "
        + ", ".join(f"{f.name} {f.difference:.1e}" for f in found)
        + ".",
        "",
        "Said before it starts:",
        "",
        *(f"- {f.said}" for f in found),
        "",
        "## Where the time goes",
        "",
        *(f.profile() for f in found),
        "",
        "*prepare*: rows, or relations, in single precision. *tiles*: all entries of all spaces, and all products of "
        "relations. *sums*: what the exact null needs besides. *cells*: the result. *made*: Grams, and their ranks. "
        "*product*: of the stack with itself.",
        "",
        "## Where a goal is missed",
        "",
        f"Goals: under {BARE_GOAL} times the bare products; {LOOPS['linear_cka']} times faster than looping the "
        f"fastest right peer for CKA, {LOOPS['rsa_pearson']} times for RSA.",
        "",
        *(missed or ["None is missed."]),
        "",
        *([f"Peers not counted: {'; '.join(sorted(wrong))}.", ""] if wrong else []),
        f"Versions: {own}{said}; Python {platform.python_version()}; {free_cores()} cores.",
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--into", type=Path, default=Path("docs/grid.md"))
    parser.add_argument("--models", type=int, default=25)
    parser.add_argument("--sites", type=int, default=13)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args(arguments)
    spaces = planted(asked.models, asked.sites, asked.rows, asked.width)
    shape = f"{asked.models} models × {asked.sites} sites = {len(spaces)} spaces of {asked.rows:,} × {asked.width}"
    try:
        peers = Peers(asked.peers)
    except SystemExit as none:
        print(none, file=sys.stderr)
        peers = None
    try:
        for found in measured(spaces, asked.rounds, peers):
            asked.into.write_text(page(found, spaces, shape, peers), encoding="utf-8")
    finally:
        if peers is not None:
            for environment in peers.environments:
                environment.close()


if __name__ == "__main__":
    main()
