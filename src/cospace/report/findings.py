"""What a comparison found, in words: the best pair of sites beside its chance level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cospace.comparison.result import Cell, Comparison, MeasureFacts, SpaceFacts
from cospace.report.verdicts import Reading, Readings, beyond, reading
from cospace.report.words import count, joined, number, p_text, plus_minus, shortened, span

__all__ = [
    "Best",
    "Reading",
    "best_pairs",
    "headline",
    "outside",
    "primary",
    "reading",
    "sentence",
]

NAMES = ("Procrustes",)
"""Titles that begin with a person's name."""
NAMED = 4
"""Most models that the headline names."""
STRONG = 4.0
"""Standard deviations of its null by which a measure without p must leave it to be told of."""


@dataclass(frozen=True)
class Best:
    """The most alike pair of sites of two models by one measure."""

    models: tuple[str, str]
    """Source model and target model."""
    measure: MeasureFacts
    """The measure."""
    cell: Cell
    """The cell; its value is None where every cell of the search was empty."""
    searched: int
    """Pairs of sites with a value, among which this one is the best."""
    reading: Reading
    """The verdict on it, corrected for the search and for the number of measures."""


def primary(result: Comparison) -> MeasureFacts | None:
    """Choose the measure of the headline: debiased CKA, else one with p-values, else the first."""
    with_p = {cell.measure for cell in result.cells if cell.p is not None}
    with_value = {cell.measure for cell in result.cells if cell.value is not None}
    for wanted in (
        [m for m in result.measures if m.name == "debiased_cka" and m.name in with_value],
        [m for m in result.measures if m.name in with_p & with_value],
        [m for m in result.measures if m.name in with_value],
        list(result.measures),
    ):
        if wanted:
            return wanted[0]
    return None


def best_pairs(result: Comparison) -> list[Best]:
    """Find the best cell of every pair of models and measure, in the order of models, measures.

    Pairs within one model count only where there is a single model. A symmetric measure is
    looked at in one direction, an asymmetric one in both.
    """
    judge = Readings(result)
    model_of = {space.name: space.model for space in result.spaces}
    models = list(dict.fromkeys(model_of.values()))
    place = {space.name: i for i, space in enumerate(result.spaces)}
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in result.cells:
        if cell.source != cell.target:
            key = (cell.measure, model_of[cell.source], model_of[cell.target])
            groups.setdefault(key, []).append(cell)
    found = []
    for first, second in _pairs(models):
        for measure in result.measures:
            ways = [(first, second), (second, first)] if first != second else [(first, second)]
            seen = [
                (way, groups[measure.name, *way]) for way in ways if (measure.name, *way) in groups
            ]
            for way, cells in seen[:1] if measure.symmetric else seen:
                if first == second and measure.symmetric:
                    cells = _one_way(cells, place)
                found.append(_best(way, measure, cells, judge))
    return found


def sentence(best: Best, spaces: dict[str, SpaceFacts]) -> str:
    """Write one finding as a sentence with its yardstick."""
    cell, (a, b) = best.cell, best.models
    inner = _inside(best.measure.title)
    who = f"{a} and {b}" if best.measure.symmetric else f"{a} → {b}"
    if cell.value is None:
        return f"{who} by {inner}: no value. {cell.reason or 'No reason was recorded.'}"
    value = number(cell.value, 2)
    if cell.low is not None:
        value += f" (95 % interval {span(cell.low, cell.high, 2)})"
    if best.searched > 1:
        sites = " / ".join(spaces[name].site or name for name in (cell.source, cell.target))
        one = f"{a}" if a == b else who
        text = f"Most alike sites of {one} by {inner}: {sites}, {value}"
    else:
        text = f"{who} by {inner}: {value}"
    text += f"; {_yardstick(best)}."
    if best.reading.key in ("chance", "outside"):
        text += f" This is {best.reading.words}."
    return text


def headline(bests: Sequence[Best], main: MeasureFacts | None, models: Sequence[str]) -> str:
    """Write the top line of a report."""
    pairs: dict[tuple[str, ...], list[Best]] = {}
    for best in bests:
        pairs.setdefault(tuple(sorted(best.models)), []).append(best)
    if main is None or not pairs:
        return f"{joined(list(models))}: nothing was compared"
    verdicts = [_verdict(found, main) for found in pairs.values()]
    if len(pairs) == 1:
        first = bests[0].models
        who = f"The sites of {first[0]}" if first[0] == first[1] else joined(list(first))
        return f"{who} {verdicts[0]}"
    sites = any(best.searched > 1 for best in bests)
    what = count(len(models), "model" if sites else "space")
    who = joined(list(models)) if len(models) <= NAMED else what
    above, chance = verdicts.count(_ABOVE), verdicts.count(_CHANCE)
    if above == len(pairs):
        return f"{who}: all {len(pairs)} pairs {_ABOVE}"
    if chance == len(pairs):
        return f"{who}: none of the {len(pairs)} pairs is distinguishable from chance"
    if not any(best.reading.p is not None for best in bests):
        return f"{who}: no pair was tested against chance"
    verb = _ABOVE if above != 1 else _ABOVE.replace("are", "is", 1)
    return f"{who}: {above} of {len(pairs)} pairs {verb}"


def outside(bests: Sequence[Best]) -> str | None:
    """Name the measures without p that lie far outside their null, where no p speaks for them."""
    far = [
        best
        for best in bests
        if best.reading.key == "outside" and beyond(best.cell, best.measure.kind, STRONG)
    ]
    if not far or any(best.reading.key == "above" for best in bests):
        return None
    told = [
        f"{_inside(best.measure.title)} {number(best.cell.value, 2)} "
        f"(null {plus_minus(best.cell.null_mean, best.cell.null_sd, 2)})"
        for best in far
    ]
    return f"Outside the null, not tested: {joined(told)}. permute_fits=True gives them p."


def apparent(bests: Sequence[Best], most: int = 4) -> str | None:
    """Explain measures that read high at chance level, such as biased CKA on few rows."""
    loud = [
        best
        for best in bests
        if best.measure.kind == "similarity"
        and best.cell.value is not None
        and best.cell.null_mean is not None
        and best.cell.null_mean >= 0.1
        and best.reading.key == "chance"
    ][:most]
    if not loud:
        return None
    first, *rest = loud
    reads = [f"{first.measure.title} reads {number(first.cell.value, 2)}"]
    reads += [f"{_inside(b.measure.title)} {number(b.cell.value, 2)}" for b in rest]
    nulls = joined([number(best.cell.null_mean, 2) for best in loud])
    cell = first.cell
    return (
        f"{joined(reads)}, but shuffled rows give {nulls}: this is what unrelated spaces give "
        f"with {cell.n:,} rows and widths {cell.width_source:,} and {cell.width_target:,}."
    )


def _inside(title: str) -> str:
    """Write a title inside a sentence: abbreviations and names keep their capitals."""
    if title[1:2].isupper() or not title[1:2].isalpha() or title.startswith(NAMES):
        return title
    return title[:1].lower() + title[1:]


_ABOVE = "are more alike than chance"
_CHANCE = "are not distinguishable from chance"


def _verdict(found: Sequence[Best], main: MeasureFacts) -> str:
    mine = {best.reading.key for best in found if best.measure.name == main.name}
    tested = {best.measure.name for best in found if best.reading.p is not None}
    above = {best.measure.name for best in found if best.reading.key == "above"}
    seen = {best.reading.key for best in found}
    if "above" in mine:
        return _ABOVE
    if tested and not above:
        return _CHANCE
    if above:
        if not mine & {"chance"}:
            return _ABOVE
        least = min(
            (b.reading for b in found if b.reading.key == "above"), key=lambda r: r.p or 0.0
        )
        titles = {b.measure.name: _inside(b.measure.title) for b in found}
        by = titles[above.pop()] if len(above) == 1 else f"{len(above)} other measures"
        return (
            f"{_CHANCE} by {main.title}; by {by} they are "
            f"(p = {p_text(least.p)}, corrected for {count(least.tests, 'measure')})"
        )
    if "outside" in seen:
        return "lie outside their null; no measure was tested"
    if "chance" in seen:
        return "lie within their null; no measure was tested"
    return "were compared without a null" if "untested" in seen else "have no comparable value"


def _yardstick(best: Best) -> str:
    cell, size = best.cell, best.searched
    if cell.null_mean is None:
        return "no null was drawn, so there is no chance level to read it against"
    text = f"shuffled rows give {plus_minus(cell.null_mean, cell.null_sd, 2)}"
    if best.reading.p is None:
        return f"{text} ({count(cell.draws, 'shuffle')}, no p)"
    over = [f"the search over {size:,} pairs of sites"] if size > 1 else []
    if best.reading.tests > 1:
        over.append(count(best.reading.tests, "measure"))
    for_what = f", corrected for {joined(over)}" if over else ""
    return f"{text}; p = {p_text(best.reading.p)}{for_what}"


def _pairs(models: Sequence[str]) -> Iterator[tuple[str, str]]:
    if len(models) == 1:
        yield models[0], models[0]
    for i, first in enumerate(models):
        for second in models[i + 1 :]:
            yield first, second


def _one_way(cells: Sequence[Cell], place: dict[str, int]) -> list[Cell]:
    known = {(cell.source, cell.target) for cell in cells}
    return [
        c for c in cells if place[c.source] < place[c.target] or (c.target, c.source) not in known
    ]


def _best(
    way: tuple[str, str], measure: MeasureFacts, cells: Sequence[Cell], judge: Readings
) -> Best:
    sign = 1.0 if measure.kind == "similarity" else -1.0
    valued = [(sign * cell.value, -i) for i, cell in enumerate(cells) if cell.value is not None]
    chosen = cells[-max(valued)[1]] if valued else cells[0]
    return Best(way, measure, chosen, len(valued), judge(chosen))


def label(space: SpaceFacts, *, alone: bool, poolings: bool) -> str:
    """Name a space inside its model: its site, with the pooling where a model has several."""
    if alone or space.site is None:
        return shortened(space.name, 60)
    return f"{space.site} · {space.pooling}" if poolings else space.site
