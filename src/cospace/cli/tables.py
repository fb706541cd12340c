"""Results as plain text: aligned numbers, nothing cut, warnings at the end."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cospace.cli.console import write

if TYPE_CHECKING:
    from cospace.comparison import Cell, Comparison, ModelPair, SpaceFacts
    from cospace.drift import Drift
    from cospace.report.findings import Best

__all__ = ["print_comparison", "print_drift", "wrapped"]

EMPTY = "-"
_INTERVALS = {
    "rows": "bootstrap over rows",
    "groups": "bootstrap over groups",
    "folds": "jackknife over folds, about the value less its bias",
}
_CEILING = "ceiling: what as many other coordinates of the same kind would reach (split halves of the coordinates)"
_ABOVE = "A value above it: the two share more than random coordinates would, such as the coordinates themselves"
_NOT_DRAWN = (
    "95 %: no interval: with 0 shuffles rows are not drawn again either. Shuffle (--permutations 199), or take "
    "--intervals groups or folds"
)
PAIRS = 10
"""Most pairs that are shown with every measure; more are shown with the main one."""


def wrapped(text: str, *, indent: str = "", first: str | None = None) -> list[str]:
    """Break a sentence at the width of the terminal; a file or pipe gets one line."""
    start = indent if first is None else first
    if not sys.stdout.isatty():
        return [start + text]
    width = max(shutil.get_terminal_size().columns, 40)
    return textwrap.wrap(
        text,
        width,
        initial_indent=start,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def aligned(rows: Sequence[Sequence[str]], right: Iterable[int], indent: str = "") -> list[str]:
    """Lay out rows, the first of them headings, with two blanks between columns.

    Examples
    --------
    >>> aligned([["site", "value"], ["embed", "1.0"]], right=[1])
    ['site   value', 'embed    1.0']
    """
    numbers = set(right)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        indent
        + "  ".join(
            text.rjust(width) if i in numbers else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def print_comparison(result: Comparison, *, brief: bool = False, intervals: bool = False) -> bool:
    """Print the most alike pair of sites of every two models, by every measure.

    Parameters
    ----------
    result
        The comparison.
    brief
        Show the main measure only, as is done with many pairs anyway.
    intervals
        Show intervals.

    Returns
    -------
    bool
        Whether this was everything; else a report, or JSON, holds more.
    """
    from cospace.report.findings import best_pairs, primary

    bests = best_pairs(result)
    pairs = list(dict.fromkeys(frozenset(best.models) for best in bests))
    main = primary(result)
    notes = _Notes(intervals=intervals, drawn=bool(result.settings.get("bootstrap_samples", 1)))
    if brief or len(pairs) > PAIRS:
        brief = True
        shown = [best for best in bests if main is not None and best.measure.name == main.name]
        if main is not None:
            write([f"{main.title}, {main.kind}; {result.spaces[0].n:,} rows", ""])
        write([*_table(shown, result, notes, named=True), ""])
    else:
        shown = bests
        for pair in pairs:
            group = [best for best in bests if frozenset(best.models) == pair]
            write([_heading(group, result), ""])
            write([*_table(group, result, notes, named=False), ""])
    if result.settings.get("correct", "max") != "max" and result.pairs:
        names = {best.measure.name for best in shown}
        write([*_pairs([pair for pair in result.pairs if pair.measure in names], result), ""])
    searched = any(best.searched > 1 for best in shown)
    _foot(notes.lines(shown, searched=searched), result.warnings)
    return not (searched or (brief and len(result.measures) > 1))


class _Notes:
    """What is shown beside the values, and reasons of empty cells, numbered as they come."""

    def __init__(self, *, intervals: bool = False, drawn: bool = True) -> None:
        self.reasons: list[str] = []
        self.drawn = drawn
        self.intervals = intervals

    def mark(self, reason: str) -> str:
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f"no value [{self.reasons.index(reason) + 1}]"

    def lines(self, shown: Sequence[Best], *, searched: bool) -> list[tuple[str, str]]:
        from cospace.report.verdicts import above_ceiling

        cells = [best.cell for best in shown]
        found = [(f"[{i}] ", reason) for i, reason in enumerate(self.reasons, start=1)]
        if any(cell.null_mean is not None for cell in cells):
            text = "chance: mean over shuffled rows"
            if searched and any(cell.p_search is not None for cell in cells):
                text += "; p: corrected for the search over pairs of sites"
            if any(best.reading.tests > 1 for best in shown):
                text += "; reading: p corrected over the measures too (Holm)"
            found.append(("", f"{text}."))
        if self.intervals:
            told = [_INTERVALS[kind] for kind in _INTERVALS if kind in {c.interval for c in cells}]
            bare = "95 %: no interval" if self.drawn else _NOT_DRAWN
            found.append(("", f"95 %: {'; '.join(told)}." if told else f"{bare}."))
        if any(cell.ceiling is not None for cell in cells):
            above = f" {_ABOVE}." if any(map(above_ceiling, cells)) else ""
            found.append(("", f"{_CEILING}.{above}"))
        notes = dict.fromkeys(cell.note for cell in cells if cell.note and cell.p is None)
        found += [("", f"{EMPTY} in place of p: {note}.") for note in notes]
        return found


def _heading(group: Sequence[Best], result: Comparison) -> str:
    known = {space.name: space for space in result.spaces}
    cell, (a, b) = group[0].cell, group[0].models
    who = f"Sites of {a}" if a == b else f"{a} and {b}"
    rows = f"{cell.n:,} rows"
    if any(best.searched > 1 for best in group):
        return f"{who}: {rows}, the most alike pair of sites by each measure"
    widths = f"widths {known[cell.source].width:,} and {known[cell.target].width:,}"
    return f"{who}: {rows}, {widths}"


def _table(bests: Sequence[Best], result: Comparison, notes: _Notes, *, named: bool) -> list[str]:
    from cospace.report.words import count

    known = {space.name: space for space in result.spaces}
    several = len({space.pooling for space in result.spaces}) > 1
    ceilings = any(cell.ceiling is not None for cell in result.cells)
    more = ["95 %"] * notes.intervals + ["ceiling"] * ceilings
    head = ["value", *more, "chance", "p", "reading", ""]
    rows = [head if named else ["measure", *head]]
    for best in bests:
        cell = best.cell
        reading = (
            _reading(best)
            if cell.value is not None
            else notes.mark(cell.reason or "No reason was recorded.")
        )
        p = cell.p if best.searched < 2 else cell.p_search
        beside = [_span(cell)] * notes.intervals + [_number(cell.ceiling)] * ceilings
        numbers = [_number(cell.value), *beside, _number(cell.null_mean), _p(p), reading]
        where = _where(best, known, several=several, named=named)
        reduced = f" ({count(cell.reduced, 'PC')})" if cell.reduced else ""
        rows.append([*numbers, where] if named else [best.measure.name + reduced, *numbers, where])
    first = 0 if named else 1
    return aligned(rows, right=range(first, first + 3 + len(more)))


def _pairs(pairs: Sequence[ModelPair], result: Comparison) -> list[str]:
    """Tests of whole models, corrected over their pairs."""
    known = {space.name: space for space in result.spaces}
    several = len({space.pooling for space in result.spaces}) > 1
    symmetric = {measure.name: measure.symmetric for measure in result.measures}
    over = max(Counter(pair.measure for pair in pairs).values(), default=0)
    by = {"holm": "Holm", "bh": "Benjamini and Hochberg"}[result.settings["correct"]]
    rows = [["measure", "p", "corrected", ""]]
    for pair in pairs:
        arrow = ", " if symmetric[pair.measure] else " -> "
        place = arrow.join((pair.source_model, pair.target_model))
        if pair.searched > 1:
            sites = (_site(known[name], several=several) for name in (pair.source, pair.target))
            place += f" ({arrow.join(sites)})"
        rows.append([pair.measure, _p(pair.p_search), _p(pair.p_adjusted), place])
    head = (
        f"Pairs of models: p at any site, corrected over the {over} of them by each measure ({by})"
    )
    if all(pair.searched == 1 for pair in pairs):
        head = f"Pairs: p corrected over the {over} of them by each measure ({by})"
    return [head, "", *aligned(rows, right=(1, 2))]


def _where(best: Best, known: dict[str, SpaceFacts], *, several: bool, named: bool) -> str:
    """Name the sites, in the order of the heading, and the direction of a measure that has one."""
    if best.measure.symmetric and not named and best.searched < 2:
        return ""
    ends = [known[best.cell.source], known[best.cell.target]]
    arrow = ", " if best.measure.symmetric else " -> "
    place = [space.name for space in known.values()]
    if ends[0].model != ends[1].model and place.index(ends[0].name) > place.index(ends[1].name):
        ends.reverse()
        arrow = arrow.replace("->", "<-")
    models = arrow.join(space.model for space in ends)
    if best.searched < 2:
        return models
    sites = arrow.join(_site(space, several=several) for space in ends)
    return f"{models} ({sites})" if named else sites


def _site(space: SpaceFacts, *, several: bool) -> str:
    if space.site is None:
        return space.name
    return f"{space.site}:{space.pooling}" if several else space.site


def _reading(best: Best) -> str:
    cell: Cell = best.cell
    key = best.reading.key
    tested = cell.p is not None or cell.p_search is not None
    if key == "untested":
        return "no null" if cell.null_mean is None else "not tested"
    if key == "chance":
        return "at chance" if tested else "within null"
    if not tested:
        return "outside null"
    return "above chance" if best.measure.kind == "similarity" else "below chance"


def _span(cell: Cell) -> str:
    if cell.low is None or cell.high is None:
        return EMPTY
    return f"{cell.low:.2f} to {cell.high:.2f}"


def _number(value: float | None) -> str:
    if value is None:
        return EMPTY
    text = f"{value:.4f}" if abs(value) < 10_000 else f"{value:.4g}"
    return text if text.strip("-0.") else text.lstrip("-")


def _p(value: float | None) -> str:
    from cospace.report.words import p_text

    return EMPTY if value is None else p_text(value)


def _foot(notes: Iterable[tuple[str, str]], warnings: Iterable[str]) -> None:
    for first, text in notes:
        write(wrapped(text, indent=" " * len(first), first=first))
    for warning in warnings:
        write(wrapped(warning, indent="  ", first="! "))


def print_drift(result: Drift) -> None:
    """Print what changed at every site, and the texts that moved most."""
    n = result.sites[0].n
    k = result.settings.get("k")
    write([f"{result.before} -> {result.after}: {n:,} rows", ""])
    several = len({site.pooling for site in result.sites}) > 1
    rows = [
        ["site", "error", "chance", "residual", "chance", "R2", "same", "kept", "chance", "CKA"]
    ]
    notes = _Notes()
    for site in result.sites:
        figures = [
            site.error.value,
            site.error.chance,
            site.residual.value,
            site.residual.chance,
            site.r2_forward.value,
            site.r2_forward.unchanged,
            site.retention.value,
            site.retention.chance,
            site.cka.value,
        ]
        name = f"{site.site}:{site.pooling}" if several else site.site
        rows.append([name, *(EMPTY if v is None else f"{v:.3f}" for v in figures)])
        for figure in (site.error, site.residual, site.r2_forward, site.retention, site.cka):
            if figure.reason is not None:
                notes.mark(figure.reason)
    write([*aligned(rows, right=range(1, 10)), ""])
    if result.moved:
        how = ", means over sites" if len(result.sites) > 1 else ""
        write([f"Texts that moved most, by rank{how}:"])
        head = ["rank", "error", "text", ""]
        width = max(len(text.id) for text in result.moved)
        texts = [
            [f"{text.rank:.1f}", f"{text.error:.3f}", text.id, _line(text.text, 76 - width - 16)]
            for text in result.moved
        ]
        write(aligned([head, *texts], right=(0, 1), indent="  "))
        write([""])
    legend = (
        "error: relative to the rows before, not centred; residual: of centred rows, after the best "
        "rotation and scale; R2: held out, before -> after (same: had nothing changed); "
        f"kept: of {k} neighbours; CKA: debiased, 0 by chance."
    )
    reasons = [(f"{EMPTY} ", reason) for reason in notes.reasons]
    _foot([*reasons, ("", legend)], result.warnings)


def _line(text: str | None, most: int) -> str:
    from cospace.report.words import shortened

    return shortened(" ".join((text or "").split()), max(most, 20))
