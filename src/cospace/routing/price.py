"""Accuracy at a price: a router that weighs what a model costs, beside a coin between fixed models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cospace._numbers import check_number
from cospace.errors import InputError, UnknownNameError
from cospace.routing.crossfit import Crossfit, Known
from cospace.routing.folds import Places
from cospace.routing.policies import argmax, of_choice
from cospace.routing.pool import Floats, Pool
from cospace.stats.intervals import percentile_interval

__all__ = ["PricePoint", "best_mix", "price_curve", "prices"]

BUDGETS = 9
"""Budgets between the cheapest and the dearest model, both among them."""
WEIGHTS = 400
"""Most exchange rates of price and probability that are tried."""


@dataclass(frozen=True)
class PricePoint:
    """A router held to a budget."""

    features: str
    """Feature set of the router."""
    budget: float
    """Mean price an item that the router may spend on its training rows."""
    price: float
    """Mean price that it spent on unseen rows."""
    accuracy: float
    """Share of the unseen rows that it has right."""
    low: float
    """Lower end of the 95 % interval over items."""
    high: float
    """Upper end."""
    mix: float
    """Expected accuracy of the best coin between fixed models that costs no more than it spent."""
    gain: float
    """Accuracy less that."""
    gain_low: float
    """Lower end of the 95 % interval, both taken of the same samples of items."""
    gain_high: float
    """Upper end."""


def prices(cost: Mapping[str, float], pool: Pool) -> Floats:
    """Price of every model, in the order of the pool.

    Raises
    ------
    InputError
        For a model without a price, or a price that is no finite number from 0, or all the same.
    UnknownNameError
        For a price of another model.
    """
    for name in cost:
        if name not in pool.models:
            raise UnknownNameError.among(name, pool.models, "model of the pool")
    absent = [name for name in pool.models if name not in cost]
    if absent:
        raise InputError(f"{absent[0]} has no price: give one for every model of the pool.")
    for value in cost.values():
        check_number(price=value)
    found = np.array([cost[name] for name in pool.models], np.float64)
    if not np.isfinite(found).all() or (found < 0.0).any():
        raise InputError(
            f"The prices are {', '.join(f'{v:g}' for v in found)}: finite numbers from 0 are expected."
        )
    if np.ptp(found) == 0.0:
        raise InputError(
            f"All models cost {found[0]:g}: then accuracy alone counts; give no price."
        )
    return found


def price_curve(
    pool: Pool,
    fit: Crossfit,
    base: Known,
    fold: Places,
    price: Floats,
    counts: npt.NDArray[np.int64],
) -> tuple[PricePoint, ...]:
    """Accuracy of a router over budgets.

    An item goes to the model of largest ``p - w price``; w is the least for which the training
    rows of the fold, each predicted unseen, cost no more than the budget on average. What unseen
    rows then cost is measured, not assumed.

    Parameters
    ----------
    pool, fit, base, fold
        The items, what a set says of them, and in which fold.
    price
        Price of every model, shape (m,).
    counts
        Bootstrap counts of the items, shape (draws, n).
    """
    size = counts.sum(axis=1)
    shares = counts @ pool.correct / size[:, None]
    found = []
    for budget in np.linspace(price.min(), price.max(), BUDGETS):
        choice = _choices(fit, base, fold, price, float(budget))
        right, paid = of_choice(pool.correct, choice), price[choice]
        spent = float(paid.mean())
        accuracy = float(right.mean())
        mix = best_mix(pool.correct.mean(axis=0)[None, :], price, np.array([spent]))[0]
        drawn = counts @ right / size
        gain = drawn - best_mix(shares, price, counts @ paid / size)
        low, high = percentile_interval(np.stack([drawn, gain], axis=1))
        found.append(
            PricePoint(
                features=fit.features.name,
                budget=float(budget),
                price=spent,
                accuracy=accuracy,
                low=float(low[0]),
                high=float(high[0]),
                mix=float(mix),
                gain=accuracy - float(mix),
                gain_low=float(low[1]),
                gain_high=float(high[1]),
            )
        )
    return tuple(found)


def best_mix(shares: Floats, price: Floats, spent: Floats) -> Floats:
    """Highest expected accuracy of one model, or a coin between two, at no more than a price.

    Parameters
    ----------
    shares
        Accuracy of every model, shape (draws, m).
    price
        Price of every model, shape (m,).
    spent
        What may be spent, shape (draws,), from the least price on.

    Returns
    -------
    array of shape (draws,)

    Examples
    --------
    Half way between two models:

    >>> best_mix(np.array([[0.2, 0.6]]), np.array([1.0, 3.0]), np.array([2.0])).round(12).tolist()
    [0.4]
    """
    found = np.full(len(spent), -np.inf)
    slack = 1e-12 * max(float(price.max()), 1.0)
    for i, low in enumerate(price):
        found = np.where(low <= spent + slack, np.maximum(found, shares[:, i]), found)
        for j, high in enumerate(price):
            if low < high:
                t = np.clip((spent - low) / (high - low), 0.0, 1.0)
                value = (1.0 - t) * shares[:, i] + t * shares[:, j]
                found = np.where(low <= spent + slack, np.maximum(found, value), found)
    return found


def _choices(fit: Crossfit, base: Known, fold: Places, price: Floats, budget: float) -> Places:
    choice = np.empty(len(fold), np.int64)
    for number, unseen in enumerate(fit.inner):
        here, strongest = fold == number, base.strongest[fold == number]
        for_train = np.full(len(unseen), strongest[0])
        for weight in _weights(unseen, price):
            spent = price[argmax(unseen - weight * price, for_train)].mean()
            if spent <= budget + 1e-12 * price.max():
                break
        choice[here] = argmax(fit.probability[here] - weight * price, strongest)
    return choice


def _weights(probability: Floats, price: Floats) -> Floats:
    """Exchange rates at which some choice changes, ascending from 0 to where only price counts."""
    rates = [
        (probability[:, j] - probability[:, i]) / (price[j] - price[i])
        for i in range(len(price))
        for j in range(len(price))
        if price[i] < price[j]
    ]
    critical = np.unique(np.concatenate(rates))
    critical = critical[critical > 0.0]
    if len(critical) > WEIGHTS:
        critical = np.quantile(critical, np.linspace(0.0, 1.0, WEIGHTS))
    gaps = np.diff(np.unique(price))
    # between the rates, so that no choice hangs on rounding; the last buys the cheapest always
    between = (critical[:-1] + critical[1:]) / 2
    return np.concatenate([[0.0], between, [2.0 / float(gaps.min())]])
