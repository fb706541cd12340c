"""Features know of training rows alone what they must not know of others."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, UnknownNameError
from cospace.routing import Features, FeatureSet, Pool
from cospace.routing.features import NEIGHBOURS, feature_sets
from cospace.shared import SharedSpace
from cospace.space import Space


def given(pool, **values):
    kept = {"groups": pool.groups, "lengths": pool.lengths} | values
    return Pool(pool.models, pool.ids, pool.correct, **kept)


def test_sets_follow_from_what_is_known(simulated):
    pool, _ = simulated(0, n=80)
    sure = given(pool, confidence=np.zeros((80, 2)))
    assert [s.name for s in feature_sets(sure, 2)] == [
        "prompt", "consensus", "dispersion", "neighbours", "group", "length", "group+length",
        "prompt+group+length", "confidence",
    ]  # fmt: skip
    assert [s.name for s in feature_sets(given(pool, lengths=None), 1)] == [
        "prompt", "coordinates", "neighbours", "group", "prompt+group",
    ]  # fmt: skip
    assert [s.name for s in feature_sets(pool, 0)] == ["group", "length", "group+length"]
    (asked,) = feature_sets(pool, 2, ["prompt+coordinates+length"])
    assert asked.blocks == ("consensus", "dispersion", "neighbours", "coordinates", "length")
    assert not asked.control
    assert not asked.needs_answers
    assert feature_sets(sure, 0, ["confidence+length"])[0].needs_answers
    assert feature_sets(pool, 0)[0].control


def test_sets_that_cannot_be_made_are_refused(simulated):
    pool, _ = simulated(0, n=80)
    with pytest.raises(InputError, match="'prompt' need activations of the prompts"):
        feature_sets(pool, 0, ["prompt"])
    with pytest.raises(UnknownNameError, match=r"'lenght' is not a block.*Did you mean 'length'"):
        feature_sets(pool, 1, ["lenght"])
    with pytest.raises(
        InputError, match="'dispersion' cannot be made of what was given; these can"
    ):
        feature_sets(pool, 1, ["dispersion"])
    with pytest.raises(InputError, match="Nothing is known of the items but their ids"):
        feature_sets(given(pool, groups=None, lengths=None), 0)


def test_neighbours_are_training_rows_and_never_oneself(simulated):
    """Against a loop over rows."""
    pool, space = simulated(1, n=80)
    features = Features.of(pool, [space])
    train, rows = np.arange(0, 60), np.arange(60, 80)
    found = features.columns(FeatureSet("neighbours", ("neighbours",)), train)
    x, z = found.design(train, rows)
    raw = np.asarray(space.rows)
    unit = raw - raw[train].mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    wanted = []
    for i in range(80):
        near = sorted((j for j in train if j != i), key=lambda j: -unit[i] @ unit[j])[:NEIGHBOURS]
        wanted.append(pool.correct[near].mean(axis=0))
    wanted = np.array(wanted)
    mean, sd = wanted[train].mean(axis=0), wanted[train].std(axis=0)
    assert np.allclose(x, (wanted[train] - mean) / sd, atol=1e-12)
    assert np.allclose(z, (wanted[rows] - mean) / sd, atol=1e-12)


def test_dispersion_is_the_distance_from_the_consensus(simulated):
    pool, space = simulated(1, n=80)
    rng = np.random.default_rng(0)
    other = np.asarray(space.rows) @ rng.normal(size=(5, 6)) + 0.1 * rng.normal(size=(80, 6))
    spaces = [space, Space(other, name="other", ids=pool.ids)]

    def make():
        return SharedSpace(width=4, scaling="none", method="gpa")

    train, rows = np.arange(60), np.arange(60, 80)
    features = Features.of(pool, spaces, shared=make)
    found = features.columns(FeatureSet("dispersion", ("dispersion",)), train)
    fitted = make().fit({s.name: np.asarray(s.rows)[train] for s in spaces})
    one, two = (fitted.transform(np.asarray(s.rows), s.name) for s in spaces)
    apart = np.linalg.norm(one - two, axis=1) / 2
    assert np.allclose(found.fixed, np.column_stack([apart] * 3), atol=1e-10)
    assert found.nearest is None
    again = features.columns(FeatureSet("consensus", ("consensus",)), train)
    assert again.fixed.shape == (80, 4)
    assert len(rows) == 20


def test_other_rows_change_nothing_that_is_fitted(simulated):
    """Fault: axes, scales, or a shared space that have seen the rows they are tested on."""
    pool, space = simulated(1, n=80)
    rng = np.random.default_rng(0)
    other = np.asarray(space.rows) @ rng.normal(size=(5, 6))
    train, rows = np.arange(60), np.arange(60, 80)
    blocks = (
        "coordinates",
        "consensus",
        "dispersion",
        "neighbours",
        "group",
        "length",
        "confidence",
    )
    sure = rng.normal(size=(80, 2))
    found = []
    for noise in (0.0, 5.0):
        x, y = np.array(space.rows), np.array(other)
        for table in (x, y):
            table[rows] += noise * rng.normal(size=table[rows].shape)
        sure[rows] += noise
        each = given(pool, confidence=sure.copy())
        spaces = [Space(x, name="x", ids=pool.ids), Space(y, name="y", ids=pool.ids)]
        columns = Features.of(each, spaces).columns(FeatureSet("all", blocks), train)
        found.append(columns.design(train, rows))
    assert np.array_equal(found[0][0], found[1][0])
    assert not np.array_equal(found[0][1], found[1][1])


def test_a_missing_confidence_is_the_training_mean(simulated):
    pool, _ = simulated(1, n=80)
    sure = np.tile(np.arange(80.0)[:, None], (1, 2))
    sure[[0, 70], 0] = np.nan
    train, rows = np.arange(60), np.arange(60, 80)
    columns = Features.of(given(pool, confidence=sure)).columns(
        FeatureSet("confidence", ("confidence",)), train
    )
    assert columns.fixed[0, 0] == columns.fixed[70, 0] == np.arange(1, 60).mean()
    x, z = columns.design(train, rows)
    assert x[0, 0] == pytest.approx(0.0)
    assert z[10, 0] == pytest.approx(0.0)


def test_a_column_that_does_not_vary_is_zero(simulated):
    pool, _ = simulated(1, n=80)
    lengths = np.full(80, 7.0)
    lengths[70] = 9.0
    features = Features.of(given(pool, lengths=lengths))
    x, z = features.columns(FeatureSet("length", ("length",)), np.arange(60)).design(
        np.arange(60), np.arange(60, 80)
    )
    assert not x.any()
    assert not z.any()


def test_spaces_that_lack_items_are_refused(simulated):
    pool, space = simulated(1, n=80)
    with pytest.raises(
        InputError, match="space lacks 5 of 80 items, such as 'i75': extract the same"
    ):
        Features.of(pool, [space.take(pool.ids[:75])])
    with pytest.raises(InputError, match="bare has 79 rows and no ids, and there are 80 items"):
        Features.of(pool, [Space(np.asarray(space.rows)[:79], name="bare")])
    with pytest.raises(InputError, match="Two spaces are called 'space'"):
        Features.of(pool, [space, space])
