"""Write docs/benchmarks.md: our measures beside bare linear algebra and beside the peers.

``python -m benchmarks.against_peers [--peers FOLDER] [--into FILE] [--small]``. One core and one
thread for everybody, seconds of the processor, medians of alternating runs: so a busy machine
hardly shows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median

from benchmarks.peers.ask import ENVIRONMENTS, ONE_THREAD, Peers

SIZES = {(2_000, 256): 7, (10_000, 768): 3}
"""Rows and columns, and how often each is run."""
PATIENCE = {2_000: 60, 10_000: 240, 50_000: 240}
"""Seconds on the clock after which a peer is given up, by number of rows."""
LONG = 5
"""What takes this many seconds is run once, and a peer that does at 2,000 rows not at 10,000."""
SAME = {"mutual_knn": 1e-3}
"""How near a peer's value must be to ours to count as right (else 1e-5); faiss is float32."""


SEARCHES = {(2_000, 256): (2_000, 7), (10_000, 768): (10_000, 3), (50_000, 640): (2_048, 3)}
"""Rows and columns, of how many rows the neighbours are searched, and how often."""
NEAR, FASTER = 1.3, 20
"""How many times the bare calls a measure may need; how many times faster shuffles must be."""
REASONS = {
    "linear_cka": "Beside the products: one look at the entries, the mean, centring in the cache, and adding up the "
    "blocks of 1,024 rows that are multiplied at once",
    "procrustes_similarity": "Beside the product and the singular values: one look at the entries, the mean, centring, "
    "and the lengths of the rows",
    "mean_cca": "Beside the bare calls: the singular values of both triangular factors, by which dependent columns are "
    "known, and centring; in float32 all of it is in float64 here",
    "rsa_pearson": "Beside the products: the lengths of the rows",
    "rsa_spearman": "The bare order breaks ties as it likes: ours gives entries that are equal to rounding their mean "
    "rank",
    "mutual_knn": "faiss takes what float32 says; ours bounds the rounding of every product, and compares in float64 "
    "where that leaves a doubt",
}
"""What a measure does beside the bare calls, or beside its fastest peer."""
REASONS |= {"debiased_cka": REASONS["linear_cka"], "pwcca": REASONS["mean_cca"]}


def timed(function: Callable, *arguments: object) -> tuple[float, float]:
    """Seconds of the processor, and value."""
    start = time.process_time()
    value = function(*arguments)
    return time.process_time() - start, value


def race(
    name: str, size: tuple[int, int], peers: Peers, folder: Path, slow: dict[str, str]
) -> dict:
    """Seconds of ours, of the bare calls and of every peer, run in turn."""
    import numpy as np

    from benchmarks.bare import BARE, prepared
    from benchmarks.planted import language_like
    from cospace.measures import CATALOGUE, find

    measure, bare = find(name, CATALOGUE), BARE[name]
    x, y = language_like(*size)
    a, b = x.astype(np.float32), y.astype(np.float32)
    peers.load(x, y, folder)
    rows, single = prepared(name, x, y), prepared(name, a, b)
    found: dict = {"peers": {}, "wrong": {p: slow[p] for p in peers.of(name) if p in slow}}
    seconds: dict[str, list[float]] = {}
    done = set(found["wrong"])
    for _ in range(SIZES[size]):
        for label, function, pair in (
            ("ours", measure, (x, y)),
            ("bare", bare, rows),
            ("ours32", measure, (a, b)),
            ("bare32", bare, single),
        ):
            if label in done or (label.endswith("32") and seconds["ours"][0] > 2 * LONG):
                continue
            took, value = timed(function, *pair)
            if took > LONG:
                done.add(label)
            seconds.setdefault(label, []).append(took)
            if label == "ours":
                found["ours value"] = value
        for peer in peers.of(name):
            if peer in done:
                continue
            answer = peers.ask(peer, name, PATIENCE[size[0]])
            if "error" in answer:
                found["wrong"][peer] = answer["error"]
                done.add(peer)
                continue
            if not abs(answer["value"] - found["ours value"]) <= SAME.get(name, 1e-5):
                found["wrong"][peer] = f"another value, {answer['value']:.4f}"
            seconds.setdefault(peer, []).append(answer["cpu"])
            if answer["cpu"] > LONG:
                done.add(peer)
    for label in ("ours", "bare", "ours32", "bare32"):
        found[label] = median(seconds.pop(label)) if label in seconds else None
    # the first run of a peer also loads what it needs
    found["peers"] = {p: median(s[1:] or s) for p, s in seconds.items() if p not in found["wrong"]}
    return found


def short(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"


def row(name: str, size: tuple[int, int], found: dict) -> str:
    """One line of the table."""
    fastest = min(found["peers"], key=found["peers"].get, default=None)
    best, factor = (
        ("none", "")
        if fastest is None
        else (
            f"{fastest} {short(found['peers'][fastest])}",
            f"{found['peers'][fastest] / found['ours']:.3g} ×",
        )
    )
    single = ("–", "–")
    if found["ours32"] is not None:
        single = short(found["ours32"]), f"{found['ours32'] / found['bare32']:.2f}"
    others = [f"{p} {short(s)}" for p, s in found["peers"].items() if p != fastest]
    others += [f"{p}: {why}" for p, why in found["wrong"].items()]
    return (
        f"| {name} | {size[0]:,} × {size[1]} | {short(found['ours'])} | "
        f"{found['ours'] / found['bare']:.2f} | {' | '.join(single)} | {best} | {factor} | {'; '.join(others) or '–'} |"
    )


def permutations() -> list[dict]:
    """Shuffles of linear CKA at 1,000 rows against computing it again."""
    return [shuffling(width) for width in (256, 768)]


def shuffling(width: int) -> dict:
    """A line for one width, and how many times faster the shuffles are."""
    import numpy as np

    from benchmarks.planted import language_like
    from cospace import Space
    from cospace.comparison.stack import stack
    from cospace.measures import CATALOGUE, find, linear_cka
    from cospace.stats import Permutations, permutation_moments

    n, draws, again = 1_000, 400, 20
    x, y = language_like(n, width)
    orders = Permutations.of(n, draws, rng=np.random.default_rng(0))
    few = Permutations(orders.orders[:8], exact=False)
    spaces = [Space(x, name="x"), Space(y, name="y")]
    shuffled, repeated, closed = [], [], []
    for _ in range(5):
        once, made = timed(stack, find("linear_cka", CATALOGUE), spaces, lambda: None)
        begun, _ = timed(made.null, few, lambda: None)
        took, _ = timed(made.null, orders, lambda: None)
        each = (took - begun) / (draws - len(few))
        shuffled.append(once + begun + each * (10_000 - len(few)))
        took, _ = timed(lambda: [linear_cka(x, y[order]) for order in orders.orders[:again]])
        repeated.append(took * 10_000 / again)
        took, sums = timed(made.invariants)
        closed.append(once + took + timed(permutation_moments, *sums)[0])
    ratio = median(a / b for a, b in zip(repeated, shuffled, strict=True))
    line = (
        f"- 10,000 shuffles of linear CKA at 1,000 × {width}: {short(median(repeated))} by computing it again (from "
        f"{again}), {short(median(shuffled))} from stacked relations (from {draws}): {ratio:.1f} times faster. Mean, "
        f"variance and skewness over all shuffles in closed form: {short(median(closed))}."
    )
    return {"line": line, "ratio": ratio, "width": width}


def searching(size: tuple[int, int], peers: Peers, folder: Path) -> dict:
    """Seconds of our exact search and of faiss's, and how far apart what they found is on average."""
    import numpy as np

    from benchmarks.planted import language_like
    from cospace.search import Search

    many, rounds = SEARCHES[size]
    x, _ = language_like(*size)
    peers.load(x, x[:many], folder)
    ours, theirs = [], []
    for _ in range(rounds):
        # A part of a larger search does not pay for all of its preparation.
        whole = many == len(x)
        prepared = timed(Search.cosine, x)
        took, found = timed(prepared[1].of, np.arange(many), 10)
        ours.append(took + prepared[0] * whole)
        answer = peers.ask("faiss", "nearest", PATIENCE[size[0]])
        if "error" in answer:
            return {"error": answer["error"]}
        theirs.append(answer["cpu"])
    return {
        "ours": median(ours),
        "faiss": median(theirs),
        "apart": abs(answer["value"] - float(np.mean(found))) / len(x),
    }


def search_row(size: tuple[int, int], found: dict) -> str:
    """One line of the table of searches."""
    many = SEARCHES[size][0]
    if "error" in found:
        return f"| {size[0]:,} × {size[1]} | {many:,} | – | {found['error']} | – |"
    return (
        f"| {size[0]:,} × {size[1]} | {many:,} | {short(found['ours'])} | {short(found['faiss'])} | "
        f"{found['faiss'] / found['ours']:.2f} × |"
    )


def missed(kept: dict, names: list[str], sizes: list[tuple[int, int]]) -> list[str]:
    """Every goal that is missed, with the reason."""
    lines = []
    for name in names:
        said = []
        for size in sizes:
            found = kept[f"{name} {size}"]
            at = f"{size[0]:,} × {size[1]}"
            for label, what in (("", "float64"), ("32", "float32")):
                if found[f"ours{label}"] is None:
                    continue
                ratio = found[f"ours{label}"] / found[f"bare{label}"]
                if ratio > NEAR:
                    said.append(f"{ratio:.2f} times the bare calls at {at} in {what}")
            for peer, seconds in found["peers"].items():
                if seconds < found["ours"]:
                    said.append(f"{found['ours'] / seconds:.2f} times as long as {peer} at {at}")
        if said:
            lines.append(f"- {name}: {', '.join(said)}. {REASONS[name]}.")
    for found in kept["shuffles"]:
        if found["ratio"] < FASTER:
            lines.append(
                f"- Shuffles at 1,000 × {found['width']}: {found['ratio']:.1f} times faster, not {FASTER}. A shuffle "
                "gathers the half million entries of one relation whatever the width, while computing again costs the "
                "less the narrower the rows are."
            )
    return lines or ["None is missed."]


MOMENTS = """
import numpy as np, resource, sys
from cospace.moments import Moments
rows, width = int(sys.argv[1]), 128
def batches():
    rng = np.random.default_rng(0)
    for _ in range(rows // 2_000):
        x = rng.normal(size=(2_000, width)) + 5.0
        yield {"x": x, "y": x @ np.eye(width) + rng.normal(size=x.shape)}
made = Moments.accumulate(batches())
made.overlap(source="x", target="y")
print(made.n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
RSA = """
import resource
from benchmarks.planted import language_like
from cospace.measures import rsa
x, y = language_like(10_000, 768)
held = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 2**20
rsa(x, y)
print(0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - held)
"""


def peak(script: str, *arguments: str) -> float:
    """MiB that a script of its own process says."""
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def memory(*, large: bool) -> list[str]:
    """Peak memory of the routes that promise it."""
    few, many = (peak(MOMENTS, str(rows)) for rows in (10_000, 1_000_000))
    lines = [
        f"- Moments of two spaces of width 128 in batches of 2,000 rows: {few:.0f} MiB at 10,000 rows and {many:.0f} "
        f"MiB at 1,000,000 (peak of the whole process; the interpreter with numpy and cospace is most of it)."
    ]
    if large:
        lines.append(
            f"- RSA with Spearman at 10,000 × 768, exact: {peak(RSA):.0f} MiB beyond the data."
        )
    return lines


def main() -> None:
    """Run everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--into", type=Path, default=Path("docs/benchmarks.md"))
    parser.add_argument("--small", action="store_true", help="2,000 x 256 alone")
    parser.add_argument("--keep", type=Path, help="JSON of what was measured, to go on from")
    arguments = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in ONE_THREAD):  # read when numpy is loaded
        os.execve(
            sys.executable,
            [sys.executable, "-m", "benchmarks.against_peers", *sys.argv[1:]],
            {**os.environ, **ONE_THREAD},
        )
    if hasattr(os, "sched_setaffinity"):  # the peers inherit it
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from benchmarks.bare import BARE

    sizes = [size for size in SIZES if size[0] == 2_000 or not arguments.small]
    keep = arguments.keep
    kept: dict = json.loads(keep.read_text()) if keep and keep.exists() else {}
    slow: dict[str, str] = {}
    if "memory" not in kept:
        kept |= {"shuffles": permutations(), "memory": memory(large=not arguments.small)}
        print(*(found["line"] for found in kept["shuffles"]), *kept["memory"], sep="\n", flush=True)
    measures = sorted(BARE, key="rsa_spearman".__eq__)  # the longest last
    with Peers(arguments.peers) as peers, tempfile.TemporaryDirectory() as folder:
        versions = peers.versions
        for size in SEARCHES if not arguments.small else sizes:
            if f"search {size}" not in kept:
                kept[f"search {size}"] = searching(size, peers, Path(folder))
            if keep:
                keep.write_text(json.dumps(kept))
            print(search_row(size, kept[f"search {size}"]), flush=True)
        for size in sizes:
            for name in measures:
                key = f"{name} {size}"
                if key not in kept:
                    kept[key] = race(name, size, peers, Path(folder), slow)
                if keep:
                    keep.write_text(json.dumps(kept))
                print(row(name, size, kept[key]), flush=True)
            for name in BARE:
                slow |= {
                    p: f"not run (over {LONG} s at {size[0]:,} rows)"
                    for p, seconds in kept[f"{name} {size}"]["peers"].items()
                    if seconds > LONG
                }
    arguments.into.write_text(page(kept, list(BARE), sizes, versions), encoding="utf-8")


def page(
    kept: dict, names: list[str], sizes: list[tuple[int, int]], versions: dict[str, str]
) -> str:
    """The whole page."""
    rows = [row(name, size, kept[f"{name} {size}"]) for name in names for size in sizes]
    searches = [
        search_row(size, kept[f"search {size}"]) for size in SEARCHES if f"search {size}" in kept
    ]
    own = ", ".join(f"{name} {version(name)}" for name in ("cospace", "numpy", "scipy"))
    said = ", ".join(f"{name} {number}" for name, number in versions.items())
    lines = [
        "# Benchmarks",
        "",
        "Made by a script; not edited by hand: `python -m benchmarks.against_peers`, after "
        "`python benchmarks/peers/make_environment.py`. With pytest-benchmark: `python -m pytest benchmarks "
        "--benchmark-enable`.",
        "",
        "Every measurement is of one pair of spaces, from rows to a number, on one core with one thread for everybody, "
        "in seconds of the processor: the machine was shared with other work. Runs alternate and medians are taken "
        f"({SIZES[2_000, 256]} rounds at 2,000 rows, {SIZES[10_000, 768]} at 10,000; what takes over {LONG} s is run "
        f"once; a peer is given up after {PATIENCE[2_000]} and {PATIENCE[10_000]} s on the clock). Single figures "
        "still move by a tenth and more: read ratios.",
        "",
        "*Bare*: the BLAS and LAPACK calls that the formula needs, on rows prepared beforehand (`benchmarks/bare.py`): "
        "three products for CKA; a product and singular values for Procrustes; two QR, a product and an SVD for the "
        "CCA family; all products of rows for RSA and neighbours, with their order for Spearman. A ratio below 1: "
        "ours needs less than these. float32: bare calls in float32 too. *Right*: gives our value, which is the "
        "formula's (see [conformance](conformance.md)).",
        "",
        "| measure | rows × columns | ours | ours / bare | ours, float32 | ours / bare, float32 | fastest right peer | "
        "peer / ours | other peers |",
        "|---|---|---:|---:|---:|---:|---|---:|---|",
        *rows,
        "",
        "## Exact neighbours",
        "",
        "The 10 nearest by cosine of so many rows among all, from float64 rows. faiss: `IndexFlatIP` in float32, its "
        "table of unit rows included; where all rows are searched, our preparation is too.",
        "",
        "| rows × columns | searched | ours | faiss | faiss / ours |",
        "|---|---:|---:|---:|---:|",
        *searches,
        "",
        "## Shuffles",
        "",
        *(found["line"] for found in kept["shuffles"]),
        "",
        "## Where a goal is missed",
        "",
        f"The goals are: never slower than the fastest right peer, within {NEAR} times the bare calls, and shuffles "
        f"{FASTER} times faster than computing again.",
        "",
        *missed(kept, names, sizes),
        "",
        "## Memory",
        "",
        *kept["memory"],
        "",
        f"Versions: {own}; {said}; Python {platform.python_version()}.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
