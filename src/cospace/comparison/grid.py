"""Compare spaces: the one entry, from spaces and measures to a ``Comparison``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from cospace._arrays import to_numpy
from cospace._threads import each
from cospace.comparison.pairwise import Pairwise, Scored
from cospace.comparison.plan import Plan, model_of, plan_measure
from cospace.comparison.result import Cell, Comparison, MeasureFacts, SpaceFacts
from cospace.comparison.stack import Stack
from cospace.errors import InputError, UndefinedMeasureError
from cospace.linalg import RTOL, centred, numerical_rank, singular_values
from cospace.measures import CATALOGUE, DEFAULT, Measure, find
from cospace.space import Space, matched
from cospace.stats import Null, Permutations, Weights

__all__ = ["compare", "facts_of"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, steps done, and steps in all."""

_SHUFFLES = 20
_SAMPLES = 200
_LEADING = 0.5


def compare(
    spaces: Sequence[Space] | Mapping[str, npt.ArrayLike],
    measures: Sequence[str | Measure] | None = None,
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
        Names of the catalogue or measures of your own. By default: linear and debiased CKA,
        RSA (Spearman), mutual neighbours, Procrustes and held-out R2 at full width, and the CCA
        family on min(50, n / 10) leading principal components.
    permutations
        Shuffles of the target's rows for the null and p. A measure that decomposes or fits every
        pair gets the mean of 20 shuffles and no p, unless ``permute_fits``.
    pairs
        ``auto``: where a model has several sites, measures that decompose every pair run between
        models at matched relative depths (0, 0.25, 0.5, 0.75, 1), all others on all pairs.
        ``all``: all measures on all pairs.
    reduced
        Compare this many leading principal components of every space, for all measures.
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
        For fewer than two spaces or repeated names.
    RowMismatchError
        For rows that are not the same texts.
    UnknownNameError
        For a measure that is not in the catalogue.
    UndefinedMeasureError
        When a measure that was asked for by name has no value for any pair.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]])
    >>> result = compare({"a": x, "b": 3 * x[:, ::-1] + 1}, ["linear_cka"], permutations=0)
    >>> round(result.value("linear_cka", source="a", target="b"), 12)
    1.0
    """
    aligned = matched(_spaces(spaces))
    found = list(aligned.spaces)
    chosen = [find(m, CATALOGUE) if isinstance(m, str) else m for m in (measures or DEFAULT)]
    if len({m.name for m in chosen}) < len(chosen):
        raise InputError("A measure is named twice: name each once.")
    first = found[0]
    if within and first.groups is None:
        raise InputError("Shuffling within groups needs groups: give the texts a group column.")
    generator = np.random.default_rng(rng)
    groups = first.groups if within else None
    shuffles = Permutations.of(first.n, permutations, rng=generator, groups=groups)
    few = replace(shuffles, orders=shuffles.orders[:_SHUFFLES], exact=False)
    weights = Weights.of(first.n, _SAMPLES if permutations else 0, rng=generator)

    by_default = min(50, first.n // 10)
    plans = [
        plan_measure(
            m,
            found,
            pairs=pairs,
            reduced=reduced or (by_default if measures is None and m.reduce else None),
            draws=permutations,
        )
        for m in chosen
    ]
    ticker = _Ticker(progress, plans, found, len(shuffles), len(weights))
    facts = each(_facts, found, ticker)
    full, narrow = Pairwise(found), dict[int, Pairwise]()
    cells: list[Cell] = []
    for at, plan in enumerate(plans):
        ticker.begin(plan.measure.title)
        named = measures is not None
        fits = plan.measure.decomposes and not permute_fits and not shuffles.exact
        try:
            table = (
                full
                if plan.reduced is None
                else narrow.setdefault(plan.reduced, _leading(found, plan.reduced))
            )
            if plan.stacked:
                rows = _stacked(plan, table.spaces, shuffles, weights, ticker)
            else:
                rows = _paired(plan, table, few if fits else shuffles, ticker)
        except UndefinedMeasureError as error:
            rows = {pair: Scored(None, reason=str(error)) for pair in plan.pairs}
        if named and all(row.value is None for row in rows.values()):
            reason = next(iter(rows.values())).reason
            raise UndefinedMeasureError(f"{plan.measure.name} of {_names(found, plan)}: {reason}")
        note = None
        if fits:
            note = f"every shuffle would need its own fit or decomposition: mean of {len(few)} shuffles only"
        cells += _cells(plan, rows, facts, shuffles if note is None else few, note)
        if all(later.measure.summarise is not plan.measure.summarise for later in plans[at + 1 :]):
            for table in (full, *narrow.values()):
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
            "routes": {p.measure.name: "stacked" if p.stacked else "pairwise" for p in plans},
        },
        warnings=tuple(_warnings(facts, aligned.by)),
        provenance={
            "versions": {p: importlib.metadata.version(p) for p in ("cospace", "numpy", "scipy")}
        },
    )


def _spaces(spaces: Sequence[Space] | Mapping[str, npt.ArrayLike]) -> list[Space]:
    found = (
        [Space(np.asarray(rows), name=name) for name, rows in spaces.items()]
        if isinstance(spaces, Mapping)
        else list(spaces)
    )
    if len(found) < 2:
        raise InputError(f"{len(found)} space was given; a comparison needs at least 2.")
    names = [space.name for space in found]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InputError(f"Two spaces are called {again!r}: give each its own name.")
    return found


class _Ticker:
    """Counts steps for ``progress``; a step is about one pair or one shuffle of the grid."""

    def __init__(
        self,
        progress: Progress | None,
        plans: Sequence[Plan],
        spaces: Sequence[Space],
        shuffles: int,
        samples: int,
    ) -> None:
        self.progress = progress
        self.done = 0
        self.what = "ranks of the spaces"
        self.total = len(spaces) + sum(
            len(spaces) + shuffles + samples
            if plan.stacked
            else len(plan.pairs) // (2 if plan.measure.symmetric else 1)
            for plan in plans
        )

    def begin(self, what: str) -> None:
        self.what = what

    def __call__(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.what, self.done, self.total)


def _facts(space: Space) -> SpaceFacts:
    x = to_numpy(centred(space.rows))
    s = singular_values(np.linalg.qr(x, mode="r") if x.shape[0] > 2 * x.shape[1] else x)
    variance = float(np.sum(s**2))
    facts = dict(space.facts)
    return SpaceFacts(
        name=space.name,
        model=model_of(space),
        site=facts.pop("site", None),
        depth=facts.pop("depth", None),
        pooling=facts.pop("pooling", None),
        n=space.n,
        width=space.width,
        rank=numerical_rank(s),
        leading_share=float(s[0] ** 2) / variance if variance else 0.0,
        duplicates=space.duplicates(),
        fingerprint=space.fingerprint,
        steps=space.steps,
        facts=facts,
    )


def _leading(spaces: list[Space], k: int) -> Pairwise:
    if k < 1:
        raise UndefinedMeasureError(
            f"{spaces[0].n} rows are too few for principal components: at least 10 are needed."
        )
    return Pairwise(each(lambda space: space.reduce(min(k, space.n, space.width)), spaces))


def _stacked(
    plan: Plan,
    spaces: list[Space],
    shuffles: Permutations,
    weights: Weights,
    tick: Callable[[], None],
) -> dict[tuple[int, int], Scored]:
    stack = Stack.of(plan.measure, spaces, tick)
    values, draws = stack.values(), stack.null(shuffles, tick)
    low = high = None
    if stack.first.interval != "none" and len(weights):
        low, high = np.nanquantile(stack.bootstrap(weights, tick), [0.025, 0.975], axis=0)
    rows = {}
    for i, j in plan.pairs:
        reason = stack.reasons[i] or stack.reasons[j]
        if reason is not None:
            rows[i, j] = Scored(None, reason=reason)
            continue
        # The mirrored pair of a symmetric measure has the same null: it takes the same draws.
        a, b = (i, j) if i < j or not plan.measure.symmetric else (j, i)
        rows[i, j] = Scored(
            float(values[i, j]),
            Null(draws[:, a, b]) if len(shuffles) else None,
            low=None if low is None else float(low[i, j]),
            high=None if high is None else float(high[i, j]),
        )
    return rows


def _paired(
    plan: Plan, table: Pairwise, shuffles: Permutations, tick: Callable[[], None]
) -> dict[tuple[int, int], Scored]:
    return table.score(plan.measure, plan.pairs, shuffles, tick)


def _cells(
    plan: Plan,
    rows: Mapping[tuple[int, int], Scored],
    facts: Sequence[SpaceFacts],
    shuffles: Permutations,
    note: str | None,
) -> Iterable[Cell]:
    measure = plan.measure
    best = {} if note is not None else _best(measure, rows, facts)
    for (i, j), row in rows.items():
        source, target = facts[i], facts[j]
        narrow = plan.reduced or max(source.width, target.width)
        p = p_search = None
        if row.value is not None and row.null is not None and note is None:
            p = shuffles.p(row.value, row.null.draws, measure.kind)
            p_search = shuffles.p(row.value, best[source.model, target.model], measure.kind)
        yield Cell(
            measure=measure.name,
            source=source.name,
            target=target.name,
            value=row.value,
            n=source.n,
            width_source=min(source.width, narrow),
            width_target=min(target.width, narrow),
            rank_source=min(source.rank, narrow),
            rank_target=min(target.rank, narrow),
            null_mean=None if row.null is None else row.null.mean,
            null_sd=None if row.null is None else row.null.sd,
            draws=0 if row.null is None else len(row.null.draws),
            p=p,
            p_search=p_search,
            low=row.low,
            high=row.high,
            reduced=plan.reduced,
            held_out=measure.held_out,
            reason=row.reason,
            note=note if row.value is not None else None,
        )


def _best(
    measure: Measure, rows: Mapping[tuple[int, int], Scored], facts: Sequence[SpaceFacts]
) -> dict[tuple[str, str], npt.NDArray[np.float64]]:
    """Most alike value of each shuffle over all cells of two models: the maximum statistic."""
    pick = np.maximum if measure.kind == "similarity" else np.minimum
    best: dict[tuple[str, str], npt.NDArray[np.float64]] = {}
    for (i, j), row in rows.items():
        if row.null is None:
            continue
        models = facts[i].model, facts[j].model
        draws = row.null.draws
        best[models] = pick(best[models], draws) if models in best else draws
    return best


def facts_of(measure: Measure) -> MeasureFacts:
    """Claims of a measure, as results hold them."""
    return MeasureFacts(
        name=measure.name,
        title=measure.title,
        kind=measure.kind,
        bounds=measure.bounds,
        identical=measure.identical,
        symmetric=measure.symmetric,
        invariant_to=tuple(sorted(measure.invariant_to)),
        summary=measure.summary,
        reference=measure.reference,
    )


def _warnings(facts: Sequence[SpaceFacts], by: str) -> Iterable[str]:
    if by == "position":
        yield "Rows are matched by position: none of the arrays has ids, so nothing checks that row i is the same text."
    n = facts[0].n
    doubled = [f for f in facts if f.duplicates]
    if doubled:
        most = max(doubled, key=lambda f: f.duplicates)
        yield (
            f"{len(doubled)} of {len(facts)} spaces have repeated rows (most: {most.name}, {most.duplicates} of {n}); "
            "repeats make spaces look more alike."
        )
    ruled = [f for f in facts if f.leading_share > _LEADING]
    if ruled:
        most = max(ruled, key=lambda f: f.leading_share)
        yield (
            f"In {len(ruled)} of {len(facts)} spaces one direction holds more than half of the variance (most: "
            f"{most.name}, {most.leading_share:.1%}): it rules CKA and Procrustes there. Compare again with "
            "scale='standardize' or scale='drop:1' (--scale)."
        )
    wide = [f for f in facts if n <= f.width]
    if wide:
        yield (
            f"{n} rows are no more than the width of {len(wide)} of {len(facts)} spaces: biased measures (linear CKA, "
            "Procrustes) are high by chance; read them beside their null."
        )
    elif n < 5 * max(f.width for f in facts):
        yield f"{n} rows are fewer than five times the greatest width: read biased measures beside their null."


def _names(spaces: Sequence[Space], plan: Plan) -> str:
    i, j = plan.pairs[0]
    more = f" and {len(plan.pairs) - 1} more pairs" if len(plan.pairs) > 2 else ""
    return f"{spaces[i].name} and {spaces[j].name}{more}"
