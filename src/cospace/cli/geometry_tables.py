"""The shared-geometry study as plain text: a summary; the report has the tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cospace.cli.console import write
from cospace.cli.tables import EMPTY, aligned, wrapped
from cospace.cli.visible import visible

if TYPE_CHECKING:
    from cospace.studies.shared_geometry.result import Claim, SharedGeometryStudy, Steered
    from cospace.tokens import TokenComparison

__all__ = ["print_geometry_study"]

Rows = list[list[str]]


def print_geometry_study(result: SharedGeometryStudy) -> None:
    """Print the correlation matrices, what was found near tokens, steering, and the paper's figures."""
    from cospace.report.words import count

    geometry = result.geometry
    models = count(len(geometry.models), "model")
    write([*wrapped(visible(f"{result.title}: {models}")), ""])
    write(_matrices(result))
    rows = [["near a token", "matrices", "weights", "apart", *_ks(result)]]
    rows += [row for one in geometry.comparisons for row in _near(one, result)]
    write([*aligned(rows, right=range(2, len(rows[0]))), ""])
    if geometry.coherence:
        rows = [["coherence with dimension, Spearman", "star", "p", "pair", "p"]]
        for words in geometry.coherence:
            figures = (words.star_spearman, words.star_p, words.pair_spearman, words.pair_p)
            rows.append([visible(words.model), *map(_value, figures)])
        write([*aligned(rows, right=range(1, 5)), ""])
    if geometry.undertrained:
        rows = [["undertrained, candidates", "method", "tokens", "list", "precision", "recall"]]
        for few in geometry.undertrained:
            for method, ids in few.candidates.items():
                found = [
                    one
                    for one in few.recoveries
                    if one.method == method and one.reference in ("tested", "verified", "prompted")
                ]
                row = [visible(few.model), visible(method), f"{len(ids):,}"]
                rows += [
                    [*row, one.reference, _value(one.precision), _value(one.recall)]
                    for one in found
                ] or [[*row, EMPTY, EMPTY, EMPTY]]
        write([*aligned(rows, right=(2, 4, 5)), ""])
    if result.steering:
        rows = [["behaviour", "to", "map", "layer", "span", "own", "most of controls", "p"]]
        rows += [row for one in result.steering for row in _steered(one)]
        write([*aligned(rows, right=range(4, 8)), ""])
    for line in _claims(result.claims):
        write(wrapped(visible(line), indent="  ", first="- "))
    write([""])
    legend = (
        "Cosines: Pearson's correlation over all pairs of shared tokens. Weights: mean cosine of LLE weights. Apart: "
        "tokens that share no neighbour. k: Spearman's correlation of the dimension of so many neighbours. "
        "Published: by the paper, of other models."
    )
    if result.steering:
        legend += (
            " Span: score at the largest coefficient less that at the smallest; own: of the target's own vector; p: "
            "against random maps and directions."
        )
    write(wrapped(legend))
    for warning in result.all_warnings():
        write(wrapped(visible(warning), indent="  ", first="! "))


def _matrices(result: SharedGeometryStudy) -> list[str]:
    from cospace.studies.shared_geometry.result import MATRICES

    lines: list[str] = []
    names = [visible(name) for name in result.geometry.models]
    for which in MATRICES if result.untied else MATRICES[:1]:
        grid = result.matrix(which)
        title = f"cosines, {which}" if result.untied else "cosines"
        rows = [[title, *names]]
        for name, line in zip(names, grid, strict=True):
            rows.append([name, *map(_value, line)])
        lines += [*aligned(rows, right=range(1, len(names) + 1)), ""]
    return lines


def _ks(result: SharedGeometryStudy) -> list[str]:
    return [f"k = {k}" for k in _numbers(result)]


def _numbers(result: SharedGeometryStudy) -> list[int]:
    return sorted({flat.k for one in result.geometry.comparisons for flat in one.dimensions})


def _near(one: TokenComparison, result: SharedGeometryStudy) -> Rows:
    known = {(flat.role_a, flat.role_b, flat.k): flat.spearman for flat in one.dimensions}
    return [
        [
            visible(f"{one.a.name}, {one.b.name}"),
            f"{near.role_a}, {near.role_b}",
            f"{near.mean:.3f}",
            f"{near.apart_share:.1%}",
            *(_value(known.get((near.role_a, near.role_b, k))) for k in _numbers(result)),
        ]
        for near in one.local
    ]


def _steered(one: Steered) -> Rows:
    rows = []
    for name in one.sweep.names:
        each = one.sweep.transfer(name)
        controls = [
            each.condition(c.condition).curve.span
            for c in each.conditions
            if c.condition not in ("transferred", "native")
        ]
        spans = (
            each.condition("transferred").curve.span,
            each.condition("native").curve.span,
            max(controls),
        )
        rows.append(
            [
                visible(one.behaviour),
                visible(one.sweep.target),
                name,
                each.site,
                *(f"{span:+.3f}" for span in spans),
                f"{each.p_random:.2g}",
            ]
        )
    return rows


def _claims(claims: Sequence[Claim]) -> list[str]:
    """Each figure of ours once, with all that the paper says of its kind."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for one in claims:
        theirs = [one.theirs] if one.theirs else []
        if one.theirs_value is not None:
            theirs.insert(0, f"{one.theirs_value:g}")
        ours = EMPTY
        if one.ours_low is not None and one.ours_high is not None:
            ours = " to ".join(dict.fromkeys(f"{x:.3f}" for x in (one.ours_low, one.ours_high)))
        words = f"{', '.join(theirs)} ({one.theirs_on})"
        found.setdefault((one.figure, ours, one.ours_on), []).append(words)
    return [
        f"{figure}: {ours} ({over}); published: {'; '.join(theirs)}"
        for (figure, ours, over), theirs in found.items()
    ]


def _value(value: float | None) -> str:
    return EMPTY if value is None else f"{value:.3f}"
