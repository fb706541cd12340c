"""Accuracy at a price, beside a coin between fixed models."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, UnknownNameError
from cospace.routing import Pool, judge_routing
from cospace.routing.price import best_mix, prices


def test_the_best_coin_by_hand():
    price = np.array([1.0, 2.0, 5.0])
    shares = np.array([[0.2, 0.3, 0.8]])
    # at 3 the coin between the first and the last: half of the way
    assert best_mix(shares, price, np.array([3.0]))[0] == pytest.approx(0.5)
    assert best_mix(shares, price, np.array([1.0]))[0] == pytest.approx(0.2)
    assert best_mix(shares, price, np.array([5.0]))[0] == pytest.approx(0.8)
    # a model that is cheaper and better is taken whole
    worse = np.array([[0.2, 0.9, 0.8]])
    assert best_mix(worse, price, np.array([4.0]))[0] == pytest.approx(0.9)
    both = best_mix(np.vstack([shares, worse]), price, np.array([3.0, 2.0]))
    assert both == pytest.approx([0.5, 0.9])


def test_a_true_signal_buys_more_than_a_coin(simulated):
    pool, space = simulated(1, inside=2.0)
    found = judge_routing(
        pool,
        [space],
        features=["prompt", "group"],
        predictor="logistic",
        draws=400,
        permutations=19,
        cost={"one": 1, "two": 4},
    )
    assert len(found.curve) == 18
    curve = [point for point in found.curve if point.features == "prompt"]
    beside = [point for point in found.curve if point.features == "group"]
    # most of the signal is within groups, so that the group alone buys less
    assert beside[4].accuracy < curve[4].accuracy
    assert found.prices == {"one": 1.0, "two": 4.0}
    assert curve[0].price == 1.0
    assert curve[0].accuracy == found.policy("only one").accuracy
    assert curve[0].gain == pytest.approx(0.0, abs=1e-12)
    assert curve[-1].accuracy == found.policy("router").accuracy
    for point in curve:
        # held on training rows, so nearly but not exactly on others
        assert point.price <= point.budget + 0.3
        assert point.low <= point.accuracy <= point.high
        assert point.gain == pytest.approx(point.accuracy - point.mix)
    middle = curve[len(curve) // 2]
    assert middle.gain_low > 0.0
    spent = [point.price for point in curve]
    assert spent == sorted(spent)


def test_without_a_signal_a_coin_does_as_well(simulated):
    gains = []
    for seed in range(6):
        pool, space = simulated(seed)
        rng = np.random.default_rng([seed, 7])
        right = rng.random(pool.correct.shape) < [0.3, 0.6]
        found = judge_routing(
            Pool(pool.models, pool.ids, right, pool.groups),
            [space],
            features=["prompt"],
            predictor="ridge",
            draws=100,
            cost={"one": 1, "two": 4},
        )
        gains.append(np.mean([point.gain for point in found.curve]))
    # the mean over a curve has an sd of about 0.012, that of six curves 0.005
    assert abs(np.mean(gains)) < 0.02


def test_prices_that_are_none_are_refused(simulated):
    pool, _ = simulated(0, n=80)
    with pytest.raises(UnknownNameError, match="'three' is not a model of the pool"):
        prices({"three": 1.0}, pool)
    with pytest.raises(InputError, match="two has no price: give one for every model"):
        prices({"one": 1.0}, pool)
    with pytest.raises(InputError, match=r"The prices are 1, -2: finite numbers from 0"):
        prices({"one": 1.0, "two": -2.0}, pool)
    with pytest.raises(InputError, match="All models cost 1: then accuracy alone counts"):
        prices({"one": 1.0, "two": 1.0}, pool)
    with pytest.raises(InputError, match="price is 'dear'; a number is expected"):
        prices({"one": 1.0, "two": "dear"}, pool)
