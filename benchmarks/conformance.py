"""Write docs/conformance.md: the same rows through our measures, the formulas and the peers.

``python -m benchmarks.conformance [--peers FOLDER] [--into FILE]``, after
``python benchmarks/peers/make_environment.py``.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from benchmarks.peers.ask import ENVIRONMENTS, Peers
from benchmarks.peers.make_environment import FROM_GIT, reached
from benchmarks.planted import stress
from benchmarks.reference import REFERENCES
from cospace import measures
from cospace.errors import CospaceError

SAME = 1e-5
"""Values that differ by no more are the same (torch_cka and faiss compute in float32)."""
SEED = 0
ESTIMATOR = "scikit-dimension (MLE)"
"""Another estimator of the same quantity: only what it makes of repeated rows is compared."""

TITLES = {
    "linear_cka": "Linear CKA",
    "debiased_cka": "Debiased CKA",
    "mean_cca": "Mean CCA",
    "svcca": "SVCCA (99 % of the variance)",
    "pwcca": "PWCCA",
    "procrustes_similarity": "Procrustes similarity",
    "rsa_pearson": "RSA, Pearson",
    "rsa_spearman": "RSA, Spearman",
    "mutual_knn": "Mutual nearest neighbours (k = 10)",
    "lle_similarity": "LLE weights (k = 10): mean cosine",
    "two_nn_dimension": "Intrinsic dimension of x by TwoNN",
}
OURS: dict[str, Callable] = {name: getattr(measures, name, None) for name in TITLES} | {
    "rsa_pearson": partial(measures.rsa, comparator="pearson"),
    "rsa_spearman": measures.rsa,
    "two_nn_dimension": lambda x, y: measures.two_nn_dimension(x),
}

WHY = {
    ("debiased_cka", "repsim"): (
        "`estimator='song'`. It equals the unbiased HSIC of the two spaces, divided by the *biased* HSIC of each "
        "with itself, so that a space with itself is not 1. The formula divides by unbiased ones."
    ),
    ("debiased_cka", "torch_cka"): (
        "Its results are float32 and its rows are not centred: a common offset takes the digits. Centring the "
        "rows changes nothing in exact arithmetic."
    ),
    ("linear_cka", "repsim"): "Its default kernel is RBF; run here with `kernel_type='linear'`.",
    ("mean_cca", "cca-zoo"): (
        "Where the ranks of both sides exceed the rows, correlations are 1 whatever the rows: a number, where "
        "none means anything. Right everywhere else."
    ),
    ("mean_cca", "repsim"): (
        "`summary_type='pillai'`. It divides the sum of the correlations by the width, not by the rank, so a "
        "constant column lowers the mean; and it gives a number where the ranks exceed the rows."
    ),
    ("svcca", "repsim"): (
        "`summary_type='pillai'`. On centred rows it equals the mean over *all* directions, so nothing is cut at "
        "99 % of the variance; and it changes with a constant offset, which no CCA may."
    ),
    ("pwcca", "repsim"): (
        "It equals (PWCCA(x, y) + PWCCA(y, x)) / 2. The equations weigh by the first argument alone, and are "
        "not symmetric."
    ),
    ("procrustes_similarity", "scipy"): (
        "`scipy.spatial.procrustes` asks for equal widths; the similarity is sqrt(1 - disparity). The problem "
        "is well posed for unequal widths."
    ),
    ("mutual_knn", "scikit-learn"): (
        "Repeated rows are equally near, and which of them is the tenth neighbour is a choice: ours takes the "
        "first by number in both spaces, so that the same choice is made on both sides."
    ),
    (
        "mutual_knn",
        "faiss",
    ): "Searches in float32: neighbours that are as near to seven digits change places.",
    ("lle_similarity", "scikit-learn"): (
        "It leaves out the first neighbour found, not the row itself: a repeated row may find its copy first, "
        "and is then rebuilt almost wholly from itself (here 50 rows in either space)."
    ),
    ("two_nn_dimension", "scikit-dimension"): (
        "Rows that repeat are left out, but they still serve as both neighbours of others, whose ratio of "
        "distances is then 1. Ours counts a repeated row once: repeats say nothing about dimension."
    ),
    ("two_nn_dimension", ESTIMATOR): (
        "Another estimator, so other numbers are no fault; but 0 is none: a distance of 0 to a repeated row "
        "makes the whole estimate 0."
    ),
    ("two_nn_dimension", "dadapy"): "A distance of 0 to a repeated row has no ratio: it raises.",
}
NOT_RUN = {
    "platonic-universe, GULP, google/svcca": "exist only as git repositories, not tried",
    "qc-procrustes": "its licence is the GPL, and scipy has the same solution",
    "latentis, cka-pytorch": "need Lightning and a training stack for one function",
    "`similar`, `similarity`, `gulp`, `cka`": "on the index, but other projects than their names suggest",
    "similarity-repository 0.0.1": "on the index, but a snapshot of 2024 of the code that it vendors",
}


def ours(name: str, x: np.ndarray, y: np.ndarray) -> float | str:
    """Our value, or our refusal."""
    try:
        return OURS[name](x, y)
    except CospaceError as error:
        return str(error)


def gather(peers: Peers, folder: Path) -> dict:
    """measure -> case -> column -> value or reason."""
    table: dict = {name: {} for name in TITLES}
    for case, (x, y) in stress(SEED).items():
        peers.load(x, y, folder)
        for name in TITLES:
            row = {"formula": REFERENCES[name](x, y), "cospace": ours(name, x, y)}
            for peer in peers.of(name):
                answer = peers.ask(peer, name)
                row[peer] = answer.get("value", answer.get("error"))
            table[name][case] = row
    return table


def wrong(right: float | None, found: float | str, column: str) -> bool:
    """Whether a cell departs from the formula."""
    if isinstance(found, str):
        return right is not None
    if column == ESTIMATOR:
        return not found > 0
    return right is None or not abs(found - right) <= SAME


def cell(right: float | None, found: float | str | None, column: str) -> str:
    if found is None:
        return "not defined"
    if isinstance(found, str):
        text = "refused" if column == "cospace" else "error"
    else:
        text = f"{found:.6f}".replace("-0.000000", "0.000000")
    return f"**{text}**" if column != "formula" and wrong(right, found, column) else text


def section(name: str, rows: dict) -> str:
    """Table of one measure and what is to be said about it."""
    columns = [*next(iter(rows.values()))]
    lines = [f"## {TITLES[name]}", "", f"| rows | {' | '.join(columns)} |"]
    lines.append("|---|" + "---:|" * len(columns))
    for case, row in rows.items():
        cells = [cell(row["formula"], row[column], column) for column in columns]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    lines.append("")
    refusals = {row["cospace"] for row in rows.values() if isinstance(row["cospace"], str)}
    lines += [f"- **cospace** refuses: {text}" for text in sorted(refusals)]
    for column in columns[2:]:
        cases = [c for c, row in rows.items() if wrong(row["formula"], row[column], column)]
        if not cases:
            lines.append(f"- **{column}** agrees everywhere.")
            continue
        where = "everywhere" if len(cases) == len(rows) else "; ".join(cases)
        errors = sorted({row[column] for row in rows.values() if isinstance(row[column], str)})
        said = "".join(f" It says: `{error}`." for error in errors)
        why = WHY.get((name, column), "The cause has not been looked into.")
        lines.append(f"- **{column}** differs: {where}. {why}{said}")
    return "\n".join(lines) + "\n"


def verdict(table: dict) -> str:
    """Count of the cells of ours that depart from the formula, and the largest difference."""
    gaps, undefined, missed = [], 0, 0
    for rows in table.values():
        for row in rows.values():
            right, found = row["formula"], row["cospace"]
            if right is None:
                undefined += isinstance(found, str)
                missed += not isinstance(found, str)
            elif isinstance(found, str):
                missed += 1
            else:
                gaps.append(abs(found - right))
    return (
        f"Of {len(gaps) + undefined + missed} cells cospace equals the formula in {len(gaps)}, the largest "
        f"difference being {max(gaps):.0e}, and refuses {undefined} where the formula means nothing; "
        f"{missed} are otherwise."
    )


def page(table: dict, versions: dict[str, str], missing: dict[str, str]) -> str:
    """The whole page."""
    own = ", ".join(f"{name} {version(name)}" for name in ("cospace", "numpy", "scipy"))
    peers = ", ".join(f"{name} {number}" for name, number in versions.items() if name != ESTIMATOR)
    out = [
        "# Conformance",
        "",
        "The same rows through cospace, through the formulas written out in float64 (`benchmarks/reference.py`, "
        "which shares no code with cospace), and through other libraries. Made by a script; not edited by hand:",
        "",
        "```bash",
        "python benchmarks/peers/make_environment.py",
        "python -m benchmarks.conformance",
        "```",
        "",
        "600 rows of width 40, 20 latent directions in common, seed 0 (`benchmarks/planted.py`), in twelve "
        f"variants. In bold: what departs from the formula by more than {SAME:g}, or is an error where there is a "
        "value, or a value where there is none.",
        "",
        verdict(table),
        "",
        f"Versions: {own}. Peers, each in an interpreter of its own: {peers}.",
        "",
        *(section(name, rows) for name, rows in table.items()),
        "## Not run here",
        "",
        *(f"- {name}: {reason}." for name, reason in missing.items()),
        "",
    ]
    return "\n".join(out)


def main() -> None:
    """Make the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=ENVIRONMENTS)
    parser.add_argument("--into", type=Path, default=Path("docs/conformance.md"))
    arguments = parser.parse_args()
    with Peers(arguments.peers) as peers, tempfile.TemporaryDirectory() as folder:
        table, versions = gather(peers, Path(folder)), peers.versions
    missing = {
        name: "its git repository could be reached, but no adapter is written yet"
        if reached(address)
        else "exists only as a git repository, which could not be reached"
        for name, address in FROM_GIT.items()
    }
    if "dadapy" not in versions:
        missing["dadapy"] = "pins numpy below 2, and its environment is not there"
    arguments.into.write_text(page(table, versions, missing | NOT_RUN), encoding="utf-8")
    print(verdict(table))


if __name__ == "__main__":
    main()
