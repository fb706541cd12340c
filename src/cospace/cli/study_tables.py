"""Studies as plain text: a summary in 80 columns; the report has the tables and figures."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from cospace.cli.console import write
from cospace.cli.tables import EMPTY, aligned, wrapped

if TYPE_CHECKING:
    from cospace.studies.affine_homotopy.result import AffineHomotopyStudy

__all__ = ["print_study"]

NAME = 18
"""Most characters of a task's name."""


def print_study(result: AffineHomotopyStudy) -> None:
    """Print the pairs, the distances at every depth, and what the affine distance predicts."""
    from cospace.report.homotopy_findings import findings
    from cospace.report.homotopy_prediction import encoder_names
    from cospace.report.words import count

    names = encoder_names(result)
    pairs = len({(pair.source, pair.target) for pair in result.intrinsic})
    title = f"{result.title}: {count(len(names), 'encoder')}, {count(pairs, 'ordered pair')}"
    write([*wrapped(title), ""])
    write([*aligned(_depths(result), right=range(7)), ""])
    links = _links(result)
    if len(links) > 1:
        write([*aligned(links, right=(1, *range(3, 8))), ""])
    for finding in findings(result):
        write(wrapped(finding["text"], indent="  ", first="- "))
    legend = (
        "Distances are divided by the target's radius: 0 is an exact map, 1 no better than a constant. "
        "asymmetric: pairs whose certified intervals of the two directions lie apart."
    )
    if len(links) > 1:
        legend += (
            " Spearman, Pearson: of the affine distance, in units of the target, and the extrinsic one; p: by "
            "relabelling encoders, not corrected; paper: Spearman, of its own encoders."
        )
    write(["", *wrapped(legend)])
    for warning in result.warnings:
        write(wrapped(warning, indent="  ", first="! "))


def _depths(result: AffineHomotopyStudy) -> list[list[str]]:
    from cospace.report.homotopy_figures import depths_of, radii
    from cospace.report.homotopy_findings import largest_ratio
    from cospace.report.homotopy_prediction import there

    radius = radii(result)
    rows = [["depth", "pairs", "median", "least", "most", "held out", "asymmetric"]]
    for depth in depths_of(result):
        there_at = [pair for pair in result.intrinsic if pair.depth == depth]
        values = [pair.normalised for pair in there_at if there(pair.normalised)]
        unseen = [
            pair.held_out / size
            for pair in there_at
            if there(pair.held_out) and (size := radius.get((pair.target, depth)))
        ]
        apart, whole, _ = largest_ratio(there_at)
        rows.append(
            [
                f"{depth:g}",
                f"{len(there_at):,}",
                *(_number(f(values) if values else None) for f in (median, min, max)),
                _number(median(unseen) if unseen else None),
                f"{apart:,} of {whole:,}",
            ]
        )
    return rows


def _links(result: AffineHomotopyStudy) -> list[list[str]]:
    from cospace.report.homotopy_prediction import Prediction, there
    from cospace.report.words import p_text, shortened

    links = Prediction.of(result).links
    known = {(x.task, x.depth, x.extrinsic, x.method): x for x in links}
    printed = any(there(link.published) for link in links)
    rows = [["task", "depth", "extrinsic", "Spearman", "p", "Pearson", "p"]]
    if printed:
        rows[0].append("paper")
    for task, depth, kind in dict.fromkeys(key[:3] for key in known):
        row = [shortened(" ".join(task.split()), NAME), f"{depth:g}", kind]
        first, second = (known.get((task, depth, kind, m)) for m in ("spearman", "pearson"))
        for link in (first, second):
            row += [_number(link.value), p_text(link.p)] if link is not None else [EMPTY, EMPTY]
        if printed:
            row.append(_number(first.published if first is not None else None))
        rows.append(row)
    return rows


def _number(value: float | None) -> str:
    from cospace.report.homotopy_prediction import there

    return f"{value:.3f}" if there(value) else EMPTY
