"""Predictions for every item by fits that never saw it: outer folds, and inner ones for choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cospace.routing.features import Features, FeatureSet
from cospace.routing.folds import Places, deal
from cospace.routing.pool import Floats, Pool
from cospace.routing.predictors import Candidate, choose, predictions

__all__ = ["Crossfit", "Known", "crossfit", "known", "outer_folds", "unseen_groups"]

_LEAST = 20
"""Fewest items of other groups that a fit for an unseen group is made of."""


@dataclass(frozen=True, eq=False)
class Known:
    """What training rows alone say without any feature, for every item."""

    strongest: Places
    """Model that is most often right on the training rows, shape (n,)."""
    lookup: Places
    """Model that is most often right on the training rows of the item's group, shape (n,)."""
    base: Floats
    """Share that each model has right among them, shape (n, m)."""


@dataclass(frozen=True, eq=False)
class Crossfit:
    """What a feature set says of every item, out of fold."""

    features: FeatureSet
    """The set."""
    probability: Floats
    """That each model is right, shape (n, m)."""
    chosen: tuple[Candidate, ...]
    """Predictor of each outer fold."""
    inner: tuple[Floats, ...]
    """For each outer fold what is said of its training rows, each unseen, shape (rows, m)."""
    width: int
    """Columns in the first outer fold."""


def outer_folds(pool: Pool, folds: int, *, rng: np.random.Generator) -> Places:
    """Folds with equal shares of groups; clusters whole.

    Who is right is not spread evenly too: the share that a group has right by luck would then be
    the same in training and test rows, and random labels would seem to be predictable from groups
    (pooled area 0.53 over 240 items of 4 groups, where 0.50 is the truth).
    """
    return deal(_strata(pool, range(pool.n)), folds, clusters=pool.clusters, rng=rng)


def _strata(pool: Pool, rows: Sequence[int] | Places) -> list[str]:
    return [pool.groups[i] if pool.groups else "" for i in rows]


def known(pool: Pool, fold: Places) -> Known:
    """Strongest model, best model of the group, and its share, from the other folds.

    Ties go to the model that comes first; a group without training rows to the strongest.
    """
    strongest = np.empty(pool.n, np.int64)
    lookup = np.empty(pool.n, np.int64)
    base = np.empty((pool.n, len(pool.models)))
    right = pool.correct.astype(np.float64)
    groups = np.array(pool.groups or ("",) * pool.n)
    for number in range(int(fold.max()) + 1):
        here, train = fold == number, fold != number
        share = right[train].mean(axis=0)
        strongest[here] = int(share.argmax())
        for name in np.unique(groups[here]):
            seen = train & (groups == name)
            mean = right[seen].mean(axis=0) if seen.any() else share
            inside = here & (groups == name)
            base[inside] = mean
            # the strongest wins a tie: looking up must not lose to it by order alone
            best = mean >= mean.max() - 1e-12
            lookup[inside] = strongest[here][0] if best[strongest[here][0]] else int(best.argmax())
    return Known(strongest, lookup, base)


def crossfit(
    features: Features,
    wanted: FeatureSet,
    fold: Places,
    tried: Sequence[Candidate],
    *,
    inner: int,
    rng: np.random.Generator,
    step: Callable[[], None] | None = None,
) -> Crossfit:
    """Predict every item by a fit on the other outer folds.

    Parameters
    ----------
    features
        What is known of the items.
    wanted
        The set.
    fold
        Outer fold of every item.
    tried
        Candidates among which inner folds of the training rows choose.
    inner
        Number of inner folds.
    rng
        Generator of the inner folds.
    step
        Called after each outer fold.
    """
    pool = features.pool
    probability = np.empty(pool.correct.shape)
    chosen, unseen, width = [], [], 0
    for number in range(int(fold.max()) + 1):
        rows, train = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        best, said, found, width_here = _fit(features, wanted, train, rows, tried, inner, rng)
        probability[rows] = found
        chosen.append(best)
        unseen.append(said)
        width = width or width_here
        if step is not None:
            step()
    return Crossfit(wanted, probability, tuple(chosen), tuple(unseen), width)


def unseen_groups(
    features: Features,
    wanted: FeatureSet,
    tried: Sequence[Candidate],
    *,
    inner: int,
    rng: np.random.Generator,
    step: Callable[[], None] | None = None,
) -> Floats | None:
    """Predict the items of every group by a fit on the other groups, shape (n, m).

    What shares a cluster with an item of the group is not fitted on either. None where that leaves
    fewer than 20 items, or fewer clusters than inner folds, for some group.
    """
    pool = features.pool
    groups = np.array(pool.groups)
    clusters = np.array(pool.clusters or pool.ids)
    found = np.empty(pool.correct.shape)
    for name in dict.fromkeys(pool.groups or ()):
        here = groups == name
        away = ~here
        if pool.clusters is not None:
            away &= ~np.isin(clusters, clusters[here])
        rows, train = np.flatnonzero(here), np.flatnonzero(away)
        left = len(set(clusters[train].tolist()))
        if len(train) < _LEAST or left < inner:
            return None
        found[rows] = _fit(features, wanted, train, rows, tried, inner, rng)[2]
        if step is not None:
            step()
    return found


def _fit(
    features: Features,
    wanted: FeatureSet,
    train: Places,
    rows: Places,
    tried: Sequence[Candidate],
    inner: int,
    rng: np.random.Generator,
) -> tuple[Candidate, Floats, Floats, int]:
    pool = features.pool
    right = pool.correct.astype(np.float64)[train]
    clusters = None if pool.clusters is None else [pool.clusters[i] for i in train]
    fold = deal(_strata(pool, train), inner, clusters=clusters, rng=rng)
    columns = features.columns(wanted, train)
    best, unseen = choose(columns, train, right, fold, tried)
    x, z = columns.design(train, rows)
    return best, unseen, predictions([best], x, right, z)[0], x.shape[1]
