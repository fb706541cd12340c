"""Compare spaces: the one entry, from spaces and measures to a ``Comparison``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cospace._threads import each
from cospace.comparison.asked import (
    check_options,
    check_parts,
    groups_of,
    measures_of,
    named_spaces,
)
from cospace.comparison.budget import Estimate
from cospace.comparison.ceilings import ceilings_of, has_ceiling
from cospace.comparison.cells import cells_of
from cospace.comparison.facts import facts_of, space_facts, warnings_of
from cospace.comparison.folds import ROWS, jackknifed
from cospace.comparison.pairwise import Pairwise, Scored
from cospace.comparison.parts import Part, Progress, Ticker
from cospace.comparison.plan import Pair, Plan, estimate, plan_measure
from cospace.comparison.result import Cell, Comparison, Interval
from cospace.comparison.search import Correction, model_pairs, out_of_reach
from cospace.comparison.stack import Stack, stack
from cospace.comparison.stream import stream
from cospace.comparison.undefined import number
from cospace.errors import UndefinedMeasureError
from cospace.linalg import RTOL
from cospace.measures import Measure
from cospace.space import Space, matched
from cospace.stats import MomentTable, Null, PermutationMoments, Permutations, Weights
from cospace.stats.ceiling import Ceiling
from cospace.stats.intervals import group_weights, percentile_interval

__all__ = ["compare"]

_SAMPLES = 200
_COMPONENTS = 50
_STREAMED = "the grid is made tile by tile: there are no shuffles"
_EXACT = f"{_STREAMED}, but p from the exact mean, spread and skewness over all permutations"
_TOO_FEW = "{n} rows are too few for the n / 10 principal components of the default: at least 10 are needed."


def compare(
    spaces: Sequence[Space] | Mapping[str, npt.ArrayLike],
    measures: Sequence[str | Measure] | str | Measure | None = None,
    *,
    permutations: int = 199,
    correct: Correction = "max",
    grid: bool = False,
    reduced: int | None = None,
    within: bool = False,
    permute_fits: bool = False,
    intervals: Interval = "rows",
    ceiling: bool = False,
    beyond: Sequence[str] | str = (),
    texts: Mapping[str, str] | None = None,
    rng: int = 0,
    progress: Progress | None = None,
    estimated: Callable[[Estimate], None] | None = None,
) -> Comparison:
    """Compare every ordered pair of spaces by every measure, each value beside its yardstick.

    Parameters
    ----------
    spaces
        Two or more spaces over the same texts, or a dictionary name -> array of shape (n, d).
        Rows are matched by id; bare arrays by position, and the result says so.
    measures
        Names of the catalogue or measures of your own, which are called from several threads;
        ``within_group_rsa`` and ``within_group_knn`` where the spaces have groups. By
        default: linear and debiased CKA, RSA (Spearman), mutual neighbours, Procrustes and
        held-out R2 at full width, and the CCA family on min(50, n / 10) leading principal
        components.
    permutations
        Shuffles of the target's rows for the null and p. A measure that decomposes or fits every
        pair gets the mean of 20 shuffles and no p, unless ``permute_fits``. Measures that are
        inner products of symmetric relations (CKA, RSA) have the mean and spread over all
        permutations in closed form; with 0 shuffles these remain, and from 12 rows on p by the
        Pearson type III tail, unless single rows hold much of both spaces: such cells say so in
        place of p. There is nothing else beside the values.
    correct
        ``max``: p of every cell corrected for the search over the sites of its two models, by the
        maximum statistic. ``holm`` and ``bh`` besides correct what that says of two models over
        the pairs of models, for each measure by itself: see ``Comparison.pairs``.
    grid
        Every measure on every pair of spaces. Otherwise, where a model has several sites, measures
        that decompose every pair run between models at matched relative depths (0, 0.25, 0.5,
        0.75, 1), all others on all pairs.
    reduced
        Compare this many leading principal components of every space, for all measures; a
        narrower space keeps what it has.
    within
        Shuffle inside the spaces' groups only.
    permute_fits
        Run all ``permutations`` for measures that decompose or fit every pair too.
    intervals
        Of 95 %, for debiased CKA and RSA. ``rows``: bootstrap over rows. ``groups``: over whole
        groups, for texts that are alike inside a group. ``folds``: over rows, and a jackknife over
        20 folds for linear CKA, in-sample R2 and R2 of CCA, where there are at least 4 rows for
        each direction of the two spaces.
    ceiling
        Put the noise ceiling by split halves of the coordinates beside similarities that are 0 by
        chance: what another sample of as many coordinates would reach, which a value may exceed.
    beyond
        Add RSA less what rises with differences in ``length``, ``words`` or ``group`` of the texts,
        or in several of them at once. Beyond ``group`` its rows are shuffled inside the groups;
        beyond ``length`` or ``words`` it has a level by chance and no p, for no shuffle keeps them.
    texts
        Id -> text, for ``beyond``.
    rng
        Seed; the same seed gives the same result.
    progress
        Called as (what, steps done, steps in all).
    estimated
        Called, before work starts, with the memory and the multiplications that each measure needs.

    Returns
    -------
    Comparison
        One cell for each measure and ordered pair that was run; where the measure would mean
        nothing, the cell is empty with its reason.

    Raises
    ------
    InputError
        For fewer than two spaces, repeated names, an option out of its range or without a part in
        any of the measures, and for groups or texts that are needed and not there.
    RowMismatchError
        For rows that are not the same texts, or not those of ``texts``.
    UnknownNameError
        For a measure that is not in the catalogue, or another word where few are known.
    UndefinedMeasureError
        When a measure that was asked for by name has no value for any pair, or needs more memory
        than is free.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]])
    >>> result = compare({"a": x, "b": 3 * x[:, ::-1] + 1}, ["linear_cka"], permutations=0)
    >>> round(result.value("linear_cka", source="a", target="b"), 12)
    1.0
    """
    check_options(correct, intervals, reduced, rng, permutations)
    aligned = matched(named_spaces(spaces))
    found = list(aligned.spaces)
    chosen = measures_of(measures, found, beyond, texts)
    check_parts(chosen, intervals, ceiling=ceiling, reduced=reduced, permute_fits=permute_fits)
    n = found[0].n
    generator = np.random.default_rng(rng)
    groups = groups_of(found, "Shuffling within groups") if within else None
    shuffles = Permutations.of(n, permutations, rng=generator, groups=groups)
    samples = _SAMPLES if permutations or intervals != "rows" else 0
    if intervals == "groups":
        owners = groups_of(found, "Drawing groups again")
        weights = group_weights(owners, samples, rng=generator)
    else:
        weights = Weights.of(n, samples, rng=generator)
    drawn: dict[tuple[str, ...] | None, Permutations] = {groups: shuffles}
    for own in dict.fromkeys(m.groups for m in chosen if m.groups not in (None, groups)):
        drawn[own] = Permutations.of(n, permutations, rng=generator, groups=own)
    parts = []
    for m in chosen:
        by_default = measures is None and m.reduce and reduced is None
        width = min(_COMPONENTS, n // 10) if by_default else reduced
        plan = plan_measure(
            m,
            found,
            pairs="all" if grid else "auto",
            reduced=width or None,
            draws=len(shuffles),
            samples=len(weights),
        )
        if width == 0:
            plan = replace(plan, refused=_TOO_FEW.format(n=n))
        inside = m.groups or groups
        parts.append(
            Part(
                plan,
                drawn[inside],
                few=m.decomposes and not permute_fits and not drawn[inside].exact,
                free=inside is None and not drawn[inside].exact,
                jackknife=intervals == "folds" and m.folds is not None,
                ceiling=ceiling and has_ceiling(m),
            )
        )
    if estimated is not None:
        _told(parts, found, len(weights), estimated)
    ticker = Ticker(progress, len(found), [part.steps(len(found), len(weights)) for part in parts])
    facts = each(space_facts, found, ticker)
    tables: dict[int | None, Pairwise] = {}
    cells: list[Cell] = []
    told: list[str] = []
    for at, part in enumerate(parts):
        plan = part.plan
        ticker.begin(plan.measure.title)
        table = tables.setdefault(plan.reduced, Pairwise(found, plan.reduced))
        try:
            rows = part.told(_scores(part, table, weights, ticker, by=intervals), n)
        except UndefinedMeasureError as error:
            rows = {pair: Scored(None, reason=str(error)) for pair in plan.pairs}
        if part.jackknife:
            rows = jackknifed(plan.measure, table, rows, np.random.default_rng([rng, 1]), ticker)
            told += _without(rows, plan.measure)
        ceilings = ceilings_of(plan.measure, found, rng, ticker) if part.ceiling else None
        told += _bare(found if ceilings else (), ceilings or (), plan.measure)
        ticker.end()
        if measures is not None and all(row.value is None for row in rows.values()):
            first = next(iter(rows.values()))
            where = "" if first.fault is not None else f"{_names(found, plan)}: "
            raise UndefinedMeasureError(f"{plan.measure.name} of {where}{first.reason}")
        cells += cells_of(plan, rows, facts, part.shuffles, part.note, ceilings)
        if all(later.plan.measure.summarise != plan.measure.summarise for later in parts[at + 1 :]):
            for table in tables.values():
                table.forget(plan.measure)
    claims = tuple(facts_of(m) for m in chosen)
    pairs = model_pairs(cells, claims, facts, correct)
    for some in drawn.values():
        names = [part.plan.measure.name for part in parts if part.shuffles is some]
        line = out_of_reach([p for p in pairs if p.measure in names], some, n, correct)
        told += [line] if line is not None and line not in told else []
    return Comparison(
        spaces=tuple(facts),
        measures=claims,
        cells=tuple(cells),
        settings={
            "permutations": len(shuffles),
            "exact": shuffles.exact,
            "within_groups": within,
            "permute_fits": permute_fits,
            "correct": correct,
            "intervals": intervals,
            "bootstrap_samples": len(weights),
            "ceiling": ceiling,
            "beyond": [beyond] if isinstance(beyond, str) else list(beyond),
            "seed": rng,
            "rank_tolerance": RTOL,
            "grid": grid,
            "reduced": reduced,
            "matched_by": aligned.by,
            "routes": {part.plan.measure.name: _route(part.plan) for part in parts},
        },
        pairs=pairs,
        warnings=(*warnings_of(facts, aligned.by, claims), *told),
        provenance={
            "versions": {p: importlib.metadata.version(p) for p in ("cospace", "numpy", "scipy")}
        },
    )


def _told(
    parts: Sequence[Part],
    spaces: Sequence[Space],
    samples: int,
    estimated: Callable[[Estimate], None],
) -> None:
    """Tell what each part needs, beside the cells of those before it."""
    done = 0
    for part in parts:
        if part.plan.refused is None:
            draws = len(part.drawn)
            estimated(estimate(part.plan, spaces, draws=draws, samples=samples, cells=done))
        done += len(part.plan.pairs)


def _without(rows: Mapping[Pair, Scored], measure: Measure) -> Iterator[str]:
    """Tell of pairs that have no interval over folds."""
    valued = [row for row in rows.values() if row.value is not None]
    bare = sum(row.low is None for row in valued)
    if bare:
        yield (
            f"No interval over folds for {measure.title} in {bare} of {len(valued)} cells: fewer than {ROWS} rows "
            "for each direction of the two spaces. Compare more rows, or fewer principal components "
            "(reduced=, on the command line --reduced)."
        )


def _bare(
    spaces: Sequence[Space], ceilings: Sequence[Ceiling | str], measure: Measure
) -> Iterator[str]:
    """Tell of spaces that have no noise ceiling."""
    bare = [
        (space.name, c) for space, c in zip(spaces, ceilings, strict=True) if isinstance(c, str)
    ]
    if bare:
        name, reason = bare[0]
        title = "" if measure.title in reason else f" by {measure.title}"
        more = f" and {len(bare) - 1} more" if len(bare) > 1 else ""
        share = f"{len(bare)} of {len(ceilings)} spaces"
        yield f"No noise ceiling{title} for {name}{more} ({share}): {reason}"


def _scores(
    part: Part, table: Pairwise, weights: Weights, tick: Callable[[], None], *, by: Interval
) -> dict[Pair, Scored]:
    plan, shuffles = part.plan, part.drawn
    if plan.refused is not None:
        raise UndefinedMeasureError(plan.refused)
    if not plan.stacked:
        return table.score(plan.measure, plan.pairs, shuffles, tick)
    make = stream if plan.streamed else stack
    stacked: Stack = make(plan.measure, table.at(range(len(table.spaces))), tick)
    raw = stacked.values()
    for i, j in plan.pairs:
        if stacked.reasons[i] is None and stacked.reasons[j] is None and np.isfinite(raw[i, j]):
            plan.measure.check_value(float(raw[i, j]))
    least, most = plan.measure.bounds  # which rounding must not leave
    values, draws = (
        np.clip(found, -1.0 if least is None else least, 1.0 if most is None else most)
        for found in (raw, stacked.null(shuffles, tick))
    )
    samples = stacked.bootstrap(weights, tick)
    invariants = stacked.invariants() if part.free else None
    exact = None if invariants is None else MomentTable.of(invariants)
    tested = exact is not None and plan.measure.untested is None
    note = (_EXACT if tested else _STREAMED) if plan.streamed else None
    kind: Interval | None = None if samples is None else "groups" if by == "groups" else "rows"
    ends = None if samples is None else percentile_interval(samples)

    def scored(i: int, j: int) -> Scored:
        bare = Scored.without(
            [table.spaces[i], table.spaces[j]], [stacked.reasons[i], stacked.reasons[j]]
        )
        if bare is not None:
            return bare
        # The mirrored pair of a symmetric measure has the same null: it takes the same numbers.
        a, b = (i, j) if i < j or not plan.measure.symmetric else (j, i)
        try:
            value = number(values[a, b])
        except UndefinedMeasureError as error:
            return Scored(None, reason=str(error))
        moments = None if exact is None else exact.at(a, b)
        return Scored(
            value,
            Null(draws[:, a, b]) if len(draws) else None,
            note=_noted(note, plan, moments) if not len(draws) else note,
            exact=moments,
            low=None if ends is None else float(ends.low[a, b]),
            high=None if ends is None else float(ends.high[a, b]),
            interval=kind,
        )

    return {(i, j): scored(i, j) for i, j in plan.pairs}


def _noted(note: str | None, plan: Plan, moments: PermutationMoments | None) -> str | None:
    """Say why the moments give no p, where they do not."""
    if moments is None or moments.untold is None:
        return note
    fewer = ", of fewer spaces at once where memory is short" if plan.streamed else ""
    return f"{moments.untold}{fewer}"


def _route(plan: Plan) -> str:
    if plan.refused is not None:
        return "refused"
    if plan.streamed:
        return "streamed"
    return "stacked" if plan.stacked else "pairwise"


def _names(spaces: Sequence[Space], plan: Plan) -> str:
    i, j = plan.pairs[0]
    more = len(plan.pairs) - 2
    pair = f"{spaces[i].name} and {spaces[j].name}"
    return pair if more <= 0 else f"{pair} (and {more} more pairs)"
