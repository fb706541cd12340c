"""Judge routers: every number out of fold, beside what knows no prompt at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cospace._numbers import check_seed, check_whole
from cospace.errors import InputError
from cospace.routing.crossfit import Crossfit, Known, crossfit, known, outer_folds, unseen_groups
from cospace.routing.disguise import Area, stratified_area, stratified_value
from cospace.routing.features import Features, FeatureSet, feature_sets
from cospace.routing.folds import Places
from cospace.routing.policies import PolicyScore, argmax, of_choice, paired, score
from cospace.routing.pool import Floats, Pool
from cospace.routing.predictors import Candidate, candidates
from cospace.routing.price import price_curve, prices
from cospace.routing.result import Discrimination, GroupFacts, Routing, SetFacts
from cospace.shared import SharedSpace
from cospace.space import Space
from cospace.stats.adjust import holm
from cospace.stats.intervals import group_weights
from cospace.stats.resampling import Weights

__all__ = ["LEVEL", "judge_routing"]

LEVEL = 0.05
"""Level of tests; intervals cover 1 less it."""


def judge_routing(
    pool: Pool,
    spaces: Sequence[Space] = (),
    *,
    features: Sequence[str] = (),
    predictor: str = "auto",
    folds: int = 5,
    inner: int = 5,
    draws: int = 2000,
    permutations: int = 99,
    cost: Mapping[str, float] | None = None,
    rng: int = 0,
    shared: Callable[[], SharedSpace] = SharedSpace,
    progress: Callable[[str, int, int], None] | None = None,
) -> Routing:
    """Judge whether a router chooses better than always taking the strongest model.

    Nested cross-validation: predictors and their settings are chosen on inner folds of the
    training rows, and every number is of rows that nothing was fitted or chosen on. The main set
    is fixed beforehand (all that the prompt's activations give, no controls); the verdict is about
    it, and there is none where the interval of the headroom includes 0.

    Parameters
    ----------
    pool
        Who is right on what.
    spaces
        Activations of the prompts, matched by id; several are aligned into a shared space that is
        fitted on training rows.
    features
        Sets by name, the main one first; by default all that can be made.
    predictor
        ``logistic``, ``ridge``, ``knn``, or ``auto``: inner folds choose among all.
    folds, inner
        Outer and inner folds.
    draws
        Bootstrap samples of the items (of clusters, where there are any). Predictions are not made
        anew for them: the intervals are of the items, not of the fits.
    permutations
        Shuffles of who is right within groups (of single items, also where there are clusters),
        everything fitted anew for each: made where the intervals within groups would claim a
        signal, which is claimed only if p is at most 0.05. Intervals alone claim too often, since
        they know nothing of the fits.
    cost
        Price of an answer of each model; gives accuracy over budgets.
    rng
        Seed of folds and samples.
    shared
        Makes the shared space; by default everything about it is chosen on training rows.
    progress
        Called with what is done, steps done, and steps.

    Returns
    -------
    Routing
        With its verdict and whether a signal was found.

    Raises
    ------
    InputError
        For fewer than 100 samples or 19 permutations, folds that cannot be made, and what the parts refuse.
    UnknownNameError
        For a set, predictor or price of an unknown name.
    """
    check_seed(rng)
    check_whole(folds=folds, inner=inner, draws=draws, permutations=permutations)
    if draws < 100:
        raise InputError(f"{draws} bootstrap samples were asked for; at least 100 are needed.")
    if permutations < 19:
        raise InputError(
            f"{permutations} permutations were asked for; at least 19 are needed for a p of 0.05."
        )
    tried = candidates(predictor)
    price = None if not cost else prices(cost, pool)
    sets = feature_sets(pool, len(spaces), features)
    known_of = Features.of(pool, spaces, shared=shared)
    fold = outer_folds(pool, folds, rng=np.random.default_rng([rng, 0]))
    counts = _counts(pool, draws, rng)
    base = known(pool, fold)
    names = tuple(dict.fromkeys(pool.groups or ()))
    grouped = len(names) > 1
    steps = len(sets) * (folds + (len(names) if grouped else 0))
    done = 0

    def step(what: str) -> Callable[[], None]:
        def count() -> None:
            nonlocal done
            done += 1
            if progress is not None:
                progress(what, done, steps)

        return count

    fits: list[Crossfit] = []
    areas: list[Discrimination] = []
    for number, each in enumerate(sets):
        seed = np.random.default_rng([rng, 1, number])
        fit = crossfit(known_of, each, fold, tried, inner=inner, rng=seed, step=step(each.name))
        elsewhere = None
        if grouped:
            elsewhere = unseen_groups(
                known_of,
                each,
                tried,
                inner=inner,
                rng=seed,
                step=step(f"{each.name}, group unseen"),
            )
        fits.append(fit)
        areas += _areas(pool, fit, elsewhere, base, fold, counts)
    headroom, policies = _policies(pool, fits, base, counts)
    curve_of = next((fit for fit in fits if not fit.features.needs_answers), None)
    beside = [fit for fit in fits if fit.features.blocks == ("group",) and fit is not curve_of]
    curve = tuple(
        point
        for fit in ([] if price is None or curve_of is None else [curve_of, *beside])
        for point in price_curve(pool, fit, base, fold, np.asarray(price), counts)
    )
    main = sets[0]
    signal, p = _signal([each for each in areas if each.features == main.name]), None
    if signal == "found":
        p = _permuted(
            known_of, fits[0], fold, tried, inner=inner, times=permutations, rng=rng, told=progress
        )
        signal = "found" if p <= LEVEL else "not shown"
    return Routing(
        models=pool.models,
        n=pool.n,
        disagreement=pool.disagreement,
        headroom=headroom,
        policies=policies,
        beyond_lookup=None
        if not grouped
        else paired(
            of_choice(pool.correct, argmax(fits[0].probability, base.strongest)),
            of_choice(pool.correct, base.lookup),
            counts,
        ),
        groups=_groups(pool, names),
        sets=tuple(_facts(fit) for fit in fits),
        discrimination=tuple(areas),
        prices={} if price is None else dict(zip(pool.models, price.tolist(), strict=True)),
        curve=curve,
        verdict=_verdict(headroom, next(p for p in policies if p.policy == "router")),
        signal=signal,
        signal_p=p,
        settings={
            "predictor": predictor,
            "folds": folds,
            "inner_folds": inner,
            "samples": draws,
            "permutations": permutations,
            "seed": rng,
            "spaces": [space.name for space in spaces],
            "clusters": None if pool.clusters is None else len(set(pool.clusters)),
        },
        warnings=tuple(_warnings(pool, main, curve_of, price)),
    )


def _counts(pool: Pool, draws: int, rng: int) -> Places:
    generator = np.random.default_rng([rng, 2])
    if pool.clusters is None:
        return Weights.of(pool.n, draws, rng=generator).counts
    return group_weights(pool.clusters, draws, rng=generator).counts


def _areas(
    pool: Pool,
    fit: Crossfit,
    elsewhere: Floats | None,
    base: Known,
    fold: Places,
    counts: Places,
) -> list[Discrimination]:
    level = 1.0 - LEVEL / len(pool.models)
    none = Area(None, None, None, level, 0)
    groups = list(pool.groups or ())
    grouped = len(set(groups)) > 1
    inside = list(zip(fold.tolist(), groups, strict=True)) if groups else []
    found = []
    for m, model in enumerate(pool.models):
        right = pool.correct[:, m]
        said = fit.probability[:, m]
        whole = fold.tolist()
        found.append(
            Discrimination(
                features=fit.features.name,
                model=model,
                pooled=stratified_area(said, right, whole, counts, level=level),
                within=stratified_area(said, right, inside, counts, level=level)
                if grouped
                else none,
                base_rate=stratified_area(base.base[:, m], right, whole, counts, level=level)
                if grouped
                else none,
                unseen=none
                if elsewhere is None
                else stratified_area(elsewhere[:, m], right, groups, counts, level=level),
            )
        )
    return found


def _policies(
    pool: Pool,
    fits: Sequence[Crossfit],
    base: Known,
    counts: Places,
) -> tuple[PolicyScore, tuple[PolicyScore, ...]]:
    strongest = of_choice(pool.correct, base.strongest)
    best: Floats = np.asarray(np.any(pool.correct, axis=1), dtype=np.float64)
    room = float(np.mean(best - strongest))

    def scored(right: Floats, policy: str, of: FeatureSet | None = None) -> PolicyScore:
        return score(
            right,
            strongest,
            counts,
            policy=policy,
            headroom=room,
            features=None if of is None else of.name,
            needs_answers=policy == "oracle" or (of is not None and of.needs_answers),
        )

    routers = [
        scored(of_choice(pool.correct, argmax(f.probability, base.strongest)), "router", f.features)
        for f in fits
    ]
    adjusted = holm([each.p for each in routers if each.p is not None])
    routers = [
        replace(each, p_adjusted=float(p)) for each, p in zip(routers, adjusted, strict=True)
    ]
    oracle = scored(best, "oracle")
    others = [scored(strongest, "strongest")]
    if pool.groups is not None:
        others.append(scored(of_choice(pool.correct, base.lookup), "lookup"))
    others.append(
        scored(
            pool.correct.astype(np.float64) @ np.full(len(pool.models), 1.0 / len(pool.models)),
            "random",
        )
    )
    others += [
        scored(pool.correct[:, m].astype(np.float64), f"only {model}")
        for m, model in enumerate(pool.models)
    ]
    return oracle, (*routers, *others, oracle)


def _verdict(headroom: PolicyScore, router: PolicyScore) -> str:
    if headroom.difference_low <= 0.0:
        return "none"
    told = router.p is not None and router.p < LEVEL
    if told and router.difference_low > 0.0:
        return "better"
    if told and router.difference_high < 0.0:
        return "worse"
    return "not shown"


def _permuted(
    features: Features,
    fit: Crossfit,
    fold: Places,
    tried: Sequence[Candidate],
    *,
    inner: int,
    times: int,
    rng: int,
    told: Callable[[str, int, int], None] | None,
) -> float:
    """p of the largest area within groups among the models, who is right shuffled within groups.

    Rows of correctness move whole, so that models keep what they have in common; choices and fits
    are made anew for every shuffle, on the same folds.
    """
    pool = features.pool
    groups = np.array(pool.groups)
    strata = list(zip(fold.tolist(), groups.tolist(), strict=True))

    def largest(probability: Floats, correct: npt.NDArray[np.bool_]) -> float:
        values = [
            stratified_value(probability[:, m], correct[:, m], strata)
            for m in range(len(pool.models))
        ]
        return max((value for value in values if value is not None), default=0.5)

    reached = largest(fit.probability, pool.correct)
    generator = np.random.default_rng([rng, 3])
    count = 0
    for number in range(times):
        correct = pool.correct.copy()
        for name in np.unique(groups):
            inside = np.flatnonzero(groups == name)
            correct[inside] = pool.correct[generator.permutation(inside)]
        shuffled = replace(features, pool=replace(pool, correct=correct))
        again = crossfit(shuffled, fit.features, fold, tried, inner=inner, rng=generator)
        count += largest(again.probability, correct) >= reached - 1e-12
        if told is not None:
            told(f"{fit.features.name}, shuffled", number + 1, times)
    return (1 + count) / (1 + times)


def _signal(areas: Sequence[Discrimination]) -> str:
    """A signal is claimed only where the interval within groups lies above 0.5."""
    if all(each.within.low is None for each in areas):
        return "untested"
    if any(each.within.above for each in areas):
        return "found"
    return "disguise" if any(each.pooled.above for each in areas) else "not shown"


def _groups(pool: Pool, names: Sequence[str]) -> tuple[GroupFacts, ...]:
    groups = np.array(pool.groups or ())
    found = []
    for name in names:
        right = pool.correct[groups == name]
        differ = right.any(axis=1) & ~right.all(axis=1)
        shares = tuple(map(float, right.mean(axis=0)))
        found.append(GroupFacts(name, len(right), shares, float(differ.mean())))
    return tuple(found)


def _facts(fit: Crossfit) -> SetFacts:
    return SetFacts(
        name=fit.features.name,
        blocks=fit.features.blocks,
        width=fit.width,
        needs_answers=fit.features.needs_answers,
        control=fit.features.control,
        chosen=tuple(map(str, fit.chosen)),
    )


def _warnings(
    pool: Pool, main: FeatureSet, curve_of: Crossfit | None, price: Floats | None
) -> list[str]:
    found = []
    if len(pool.models) == 2:
        found.append(
            "The pool has 2 models: routing is one choice between two, and little can be learnt of routing among many."
        )
    if pool.groups is None or len(set(pool.groups)) < 2:
        found.append(
            "The items have no groups, or one: a signal may be the category of the prompt in disguise, and none is "
            "claimed."
        )
    for m, model in enumerate(pool.models):
        share = float(pool.correct[:, m].mean())
        if share in (0.0, 1.0):
            found.append(
                f"{model} has {'every' if share else 'no'} item right: nothing of it can be learnt."
            )
    if main.control:
        found.append(
            f"The main set, {main.name}, holds controls alone: it says nothing of what activations know."
        )
    if main.needs_answers:
        found.append(
            f"The main set, {main.name}, needs the answers of all models before it chooses: it saves none of them."
        )
    if price is not None and curve_of is None:
        found.append(
            "No set does without the answers of all models, so that there is no accuracy at a lower price."
        )
    return found
