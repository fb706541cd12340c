"""Results as tables on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from cospace.comparison import Cell, Comparison, MeasureFacts
from cospace.report.findings import best_pairs, reading

if TYPE_CHECKING:
    from cospace.drift import Drift

__all__ = ["print_comparison", "print_drift"]


def print_comparison(result: Comparison) -> None:
    """Print every cell of a small comparison; of a grid, the most alike sites of every two models."""
    console = Console(highlight=False, soft_wrap=False)
    known = {m.name: m for m in result.measures}
    grid = len(result.cells) > 6 * len(result.measures)
    cells = [best.cell for best in best_pairs(result)] if grid else _once(result, known)
    table = Table(box=None, pad_edge=False)
    for heading in ("measure", "source", "target"):
        table.add_column(heading)
    for heading in ("value", "by chance", "p", "n"):
        table.add_column(heading, justify="right")
    table.add_column("reading")
    for cell in cells:
        measure = known[cell.measure]
        p = cell.p_search if grid else cell.p
        table.add_row(
            measure.name + (f" ({cell.reduced} PCs)" if cell.reduced else ""),
            cell.source,
            cell.target,
            _number(cell.value),
            _number(cell.null_mean),
            "" if p is None else f"{p:.3g}",
            str(cell.n),
            cell.reason or reading(cell, measure.kind).words,
        )
    if grid:
        console.print(
            "The most alike pair of sites of every two models; p is corrected for the search over sites."
        )
    console.print(table, markup=False)
    for warning in result.warnings:
        console.print(f"! {warning}", markup=False)


def _once(result: Comparison, known: dict[str, MeasureFacts]) -> list[Cell]:
    """Cells without the mirrored half of symmetric measures."""
    order = {space.name: i for i, space in enumerate(result.spaces)}
    return [
        c
        for c in result.cells
        if not known[c.measure].symmetric or order[c.source] < order[c.target]
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def print_drift(result: Drift) -> None:
    """Print what changed at every site, and the texts that moved most."""
    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False)
    records = result.records()
    for heading in records[0]:
        table.add_column(heading.replace("_", " "), justify="right")
    for record in records:
        table.add_row(
            *(
                "–" if v is None else f"{v:.4f}" if isinstance(v, float) else str(v)
                for v in record.values()
            )
        )
    console.print(table, markup=False)
    for warning in result.warnings:
        console.print(f"! {warning}", markup=False)
