"""Compare spaces: the one entry, from spaces and measures to a ``Comparison``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from cospace._threads import each
from cospace.comparison.cells import cells_of
from cospace.comparison.facts import facts_of, space_facts, warnings_of
from cospace.comparison.pairwise import Pairwise, Scored, steps
from cospace.comparison.plan import Pair, Plan, plan_measure
from cospace.comparison.result import Cell, Comparison
from cospace.comparison.stack import Stack, stack
from cospace.comparison.stream import stream
from cospace.comparison.undefined import number
from cospace.errors import InputError, UndefinedMeasureError
from cospace.linalg import RTOL
from cospace.measures import CATALOGUE, DEFAULT, Measure, find
from cospace.space import Space, matched
from cospace.stats import Null, Permutations, Weights, permutation_moments

__all__ = ["compare"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, steps done, and steps in all."""

_SHUFFLES = 20
_SAMPLES = 200
_COMPONENTS = 50
_STREAMED = (
    "the grid is made block by block: exact mean and spread over all permutations, but no shuffles"
)
_TOO_FEW = "{n} rows are too few for the n / 10 principal components of the default: at least 10 are needed."


def compare(
    spaces: Sequence[Space] | Mapping[str, npt.ArrayLike],
    measures: Sequence[str | Measure] | str | Measure | None = None,
    *,
    permutations: int = 199,
    pairs: Literal["auto", "all"] = "auto",
    reduced: int | None = None,
    within: bool = False,
    permute_fits: bool = False,
    rng: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Compare every ordered pair of spaces by every measure, each value beside its yardstick.

    Parameters
    ----------
    spaces
        Two or more spaces over the same texts, or a dictionary name -> array of shape (n, d).
        Rows are matched by id; bare arrays by position, and the result says so.
    measures
        Names of the catalogue or measures of your own, which are called from several threads. By
        default: linear and debiased CKA, RSA (Spearman), mutual neighbours, Procrustes and
        held-out R2 at full width, and the CCA family on min(50, n / 10) leading principal
        components.
    permutations
        Shuffles of the target's rows for the null and p. A measure that decomposes or fits every
        pair gets the mean of 20 shuffles and no p, unless ``permute_fits``. Measures that are
        inner products of symmetric relations (CKA, RSA) have the mean and spread over all
        permutations in closed form; with 0 shuffles these and their p remain, by the Pearson type
        III tail, and there is nothing else beside the values.
    pairs
        ``auto``: where a model has several sites, measures that decompose every pair run between
        models at matched relative depths (0, 0.25, 0.5, 0.75, 1), all others on all pairs.
        ``all``: all measures on all pairs.
    reduced
        Compare this many leading principal components of every space, for all measures; a
        narrower space keeps what it has.
    within
        Shuffle inside the spaces' groups only.
    permute_fits
        Run all ``permutations`` for measures that decompose or fit every pair too.
    rng
        Seed; the same seed gives the same result.
    progress
        Called as (what, steps done, steps in all).

    Returns
    -------
    Comparison
        One cell for each measure and ordered pair that was run; where the measure would mean
        nothing, the cell is empty with its reason.

    Raises
    ------
    InputError
        For fewer than two spaces, repeated names, an option out of its range, or ``within``
        without groups.
    RowMismatchError
        For rows that are not the same texts.
    UnknownNameError
        For a measure that is not in the catalogue.
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
    if isinstance(measures, np.ndarray):
        raise InputError("Arrays need names: compare({'a': x, 'b': y}).")
    aligned = matched(_spaces(spaces))
    found = list(aligned.spaces)
    chosen = _measures(measures)
    _check_options(pairs, reduced, rng)
    n = found[0].n
    generator = np.random.default_rng(rng)
    groups = _groups(found) if within else None
    shuffles = Permutations.of(n, permutations, rng=generator, groups=groups)
    few = replace(shuffles, orders=shuffles.orders[:_SHUFFLES], exact=False)
    weights = Weights.of(n, _SAMPLES if permutations else 0, rng=generator)
    plans = []
    for m in chosen:
        by_default = measures is None and m.reduce and reduced is None
        width = min(_COMPONENTS, n // 10) if by_default else reduced
        plan = plan_measure(
            m,
            found,
            pairs=pairs,
            reduced=width or None,
            draws=len(shuffles),
            samples=len(weights),
        )
        if width == 0:
            plan = replace(plan, refused=_TOO_FEW.format(n=n))
        plans.append(plan)
    fits = {
        p.measure.name: p.measure.decomposes and not permute_fits and not shuffles.exact
        for p in plans
    }
    ticker = _Ticker(
        progress,
        len(found),
        {
            p.measure.name: len(found) + len(shuffles) + len(weights)
            if p.stacked
            else 1 + steps(p.measure, len(p.pairs), len(few if fits[p.measure.name] else shuffles))
            for p in plans
        },
    )
    facts = each(space_facts, found, ticker)
    tables: dict[int | None, Pairwise] = {}
    cells: list[Cell] = []
    for at, plan in enumerate(plans):
        ticker.begin(plan)
        table = tables.setdefault(plan.reduced, Pairwise(found, plan.reduced))
        drawn = few if fits[plan.measure.name] else shuffles
        try:
            rows = _scores(plan, table, drawn, weights, ticker, free=not (within or shuffles.exact))
        except UndefinedMeasureError as error:
            rows = {pair: Scored(None, reason=str(error)) for pair in plan.pairs}
        ticker.end()
        if measures is not None and all(row.value is None for row in rows.values()):
            reason = next(iter(rows.values())).reason
            raise UndefinedMeasureError(f"{plan.measure.name} of {_names(found, plan)}: {reason}")
        note = None
        if fits[plan.measure.name] and len(shuffles):
            note = f"every shuffle would need its own fit or decomposition: mean of {len(few)} shuffles only"
        cells += cells_of(plan, rows, facts, shuffles, note)
        if all(later.measure.summarise != plan.measure.summarise for later in plans[at + 1 :]):
            for table in tables.values():
                table.forget(plan.measure)
    return Comparison(
        spaces=tuple(facts),
        measures=tuple(facts_of(m) for m in chosen),
        cells=tuple(cells),
        settings={
            "permutations": len(shuffles),
            "exact": shuffles.exact,
            "within_groups": within,
            "permute_fits": permute_fits,
            "seed": rng,
            "rank_tolerance": RTOL,
            "pairs": pairs,
            "reduced": reduced,
            "matched_by": aligned.by,
            "bootstrap_samples": len(weights),
            "routes": {p.measure.name: _route(p) for p in plans},
        },
        warnings=tuple(warnings_of(facts, aligned.by, [facts_of(m) for m in chosen])),
        provenance={
            "versions": {p: importlib.metadata.version(p) for p in ("cospace", "numpy", "scipy")}
        },
    )


def _spaces(spaces: Sequence[Space] | Mapping[str, npt.ArrayLike]) -> list[Space]:
    if isinstance(spaces, Mapping):
        found = [Space(rows, name=name) for name, rows in spaces.items()]
    else:
        found = list(spaces)
        bare = next((s for s in found if not isinstance(s, Space)), None)
        if bare is not None:
            raise InputError(
                f"Arrays need names: compare({{'a': x, 'b': y}}), or Spaces; a {type(bare).__name__} was given."
            )
    if len(found) < 2:
        raise InputError(
            f"{len(found)} {'space was' if found else 'spaces were'} given; a comparison needs at least 2."
        )
    names = [space.name for space in found]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InputError(f"Two spaces are called {again!r}: give each its own name.")
    return found


def _measures(measures: Sequence[str | Measure] | str | Measure | None) -> list[Measure]:
    if measures is None:
        measures = DEFAULT
    elif isinstance(measures, str | Measure):
        measures = [measures]
    chosen = [find(m, CATALOGUE) if isinstance(m, str) else m for m in measures]
    if not chosen:
        raise InputError("No measure was named: name at least one, or leave measures= out.")
    names = [m.name for m in chosen]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InputError(f"The measure {again!r} is named twice: name each once.")
    return chosen


def _check_options(pairs: str, reduced: int | None, rng: int) -> None:
    if pairs not in ("auto", "all"):
        raise InputError(f"pairs is {pairs!r}; 'auto' or 'all' is expected.")
    if reduced is not None and reduced < 1:
        raise InputError(f"reduced is {reduced}; 1 or more principal components are expected.")
    if not isinstance(rng, int | np.integer) or rng < 0:
        raise InputError(f"The seed is {rng!r}; a whole number, 0 or more, is expected.")


def _groups(spaces: Sequence[Space]) -> tuple[str, ...]:
    grouped = [space for space in spaces if space.groups is not None]
    if not grouped:
        raise InputError("Shuffling within groups needs groups: give the texts a group column.")
    first, groups = grouped[0], grouped[0].groups or ()
    for space in grouped:
        if space.groups != groups:
            raise InputError(
                f"{first.name} and {space.name} put the same texts into different groups: give both the same."
            )
    return groups


class _Ticker:
    """Counts steps for ``progress``."""

    def __init__(self, progress: Progress | None, spaces: int, steps: Mapping[str, int]) -> None:
        self.progress = progress
        self.steps = steps
        self.what = "ranks of the spaces"
        self.done = 0
        self.until = spaces
        self.total = spaces + sum(steps.values())

    def begin(self, plan: Plan) -> None:
        self.what = plan.measure.title
        self.until = self.done + self.steps[plan.measure.name]

    def end(self) -> None:
        """Count the steps that the measure did not need."""
        if self.done < self.until:
            self.done = self.until - 1
            self()

    def __call__(self) -> None:
        self.done = min(self.done + 1, self.until)
        if self.progress is not None:
            self.progress(self.what, self.done, self.total)


def _scores(
    plan: Plan,
    table: Pairwise,
    shuffles: Permutations,
    weights: Weights,
    tick: Callable[[], None],
    *,
    free: bool,
) -> dict[Pair, Scored]:
    if plan.refused is not None:
        raise UndefinedMeasureError(plan.refused)
    if not plan.stacked:
        return table.score(plan.measure, plan.pairs, shuffles, tick)
    make = stream if plan.streamed else stack
    stacked: Stack = make(plan.measure, table.at(range(len(table.spaces))), tick)
    low, high = plan.measure.bounds  # which rounding must not leave
    values, draws = (
        np.clip(found, -1.0 if low is None else low, 1.0 if high is None else high)
        for found in (stacked.values(), stacked.null(shuffles, tick))
    )
    samples = stacked.bootstrap(weights, tick)
    invariants = stacked.invariants() if free else None
    ends = None if samples is None else np.quantile(samples, [0.025, 0.975], axis=0)

    def scored(i: int, j: int) -> Scored:
        reason = stacked.reasons[i] or stacked.reasons[j]
        if reason is not None:
            return Scored(None, reason=reason)
        # The mirrored pair of a symmetric measure has the same null: it takes the same numbers.
        a, b = (i, j) if i < j or not plan.measure.symmetric else (j, i)
        try:
            value = number(values[a, b])
        except UndefinedMeasureError as error:
            return Scored(None, reason=str(error))
        scores = Scored(value, Null(draws[:, a, b]) if len(draws) else None)
        if plan.streamed:
            scores = replace(scores, note=_STREAMED)
        if invariants is not None:
            scores = replace(scores, exact=permutation_moments(invariants[a], invariants[b]))
        if ends is not None:
            scores = replace(scores, low=float(ends[0, a, b]), high=float(ends[1, a, b]))
        return scores

    return {(i, j): scored(i, j) for i, j in plan.pairs}


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
