"""Probes carried through a map, beside the native probe and the controls."""

from __future__ import annotations

import numpy as np
import pytest

import cospace as cs
from cospace.errors import InputError
from cospace.probes import CarriedProbe, Split, carry_probe, fit_probe


@pytest.fixture(scope="module")
def turned():
    """A source from which the target can be had, with an offset of its own; two classes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    y = x @ rng.normal(size=(6, 5)) + 20.0
    labels = np.where(x @ rng.normal(size=6) + 0.2 * rng.normal(size=300) > 0, "yes", "no")
    ids = tuple(f"t{i}" for i in range(300))
    order = rng.permutation(300)
    source = cs.Space(x[order] - 7.0, ids=[ids[i] for i in order], name="source model")
    target = cs.Space(y, ids=ids, name="target model")
    return target, source, dict(zip(ids, labels.tolist(), strict=True)), Split(ids[:200], ids[200:])


@pytest.fixture(scope="module")
def found(turned):
    target, source, labels, split = turned
    return carry_probe(target=target, source=source, labels=labels, split=split)


def test_an_exact_map_carries_the_probe_whole(found):
    names = [each.condition for each in found.conditions]
    assert names == ["native", "own", "carried", "shuffled_rows", "random_map"]
    carried, native = found.condition("carried"), found.condition("native")
    assert carried.agreement == 1.0 == native.agreement
    assert carried.scores.accuracy == native.scores.accuracy
    assert carried.scores.log_loss == pytest.approx(native.scores.log_loss, rel=1e-3)
    assert found.map_r2 > 0.9999


def test_controls_fall_behind(found):
    """Fault: a supervised embedding that fits shuffled rows too, and no control beside it."""
    carried = found.condition("carried").scores.accuracy
    assert carried > 0.85
    for name in ("shuffled_rows", "random_map"):
        assert found.condition(name).scores.accuracy < carried - 0.2


def test_the_offset_is_carried(turned):
    """Without the map's offset every row would lie on one side."""
    target, source, labels, split = turned
    probe = fit_probe(target, labels, split=split).classifier
    there = cs.fit_map(source=source, target=target, method="affine")
    back = there.probe(probe.weight, probe.offset)
    x = np.asarray(source.rows)
    y = np.asarray(target.take(source.ids).rows)
    assert np.allclose(x @ back.weight.T + back.offset, probe.logits(y), rtol=0, atol=1e-8)
    without = (x @ back.weight.T + probe.offset).argmax(axis=1)
    assert np.mean(without == probe.logits(y).argmax(axis=1)) < 0.8


def test_held_out_rows_change_nothing_of_the_fits(turned):
    target, source, labels, split = turned
    rows = np.array(source.rows)
    place = {name: i for i, name in enumerate(source.ids)}
    for name in split.test[50:]:
        rows[place[name]] += 100.0
    spoiled = cs.Space(rows, ids=source.ids, name="source model")
    half = Split(split.train, split.test[:50])
    one = carry_probe(target=target, source=source, labels=labels, split=half)
    two = carry_probe(target=target, source=spoiled, labels=labels, split=half)
    assert one == two


def test_the_result_is_kept(found, tmp_path):
    found.save(tmp_path / "carried.json")
    assert CarriedProbe.load(tmp_path / "carried.json") == found
    assert len(found.to_frame()) == 5
    assert found.settings["held_out"] == 100


def test_a_map_that_needs_a_rank_is_refused(turned):
    target, source, labels, split = turned
    with pytest.raises(InputError, match="'low_rank' needs a rank"):
        carry_probe(target=target, source=source, labels=labels, split=split, method="low_rank")
