"""A judge is judged on pools whose truth is known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cospace.errors import InputError, UnknownNameError
from cospace.routing import Pool, Routing, judge_routing
from cospace.space import Space

QUICK = {"predictor": "ridge", "draws": 400, "permutations": 19}


def test_a_signal_that_is_the_group_in_disguise_is_called_so(simulated):
    """Fault: a pooled area that is high through categories alone is read as a signal."""
    pool, space = simulated(0)
    found = judge_routing(pool, [space], features=["prompt", "group"], **QUICK)
    assert found.signal == "disguise"
    for model in pool.models:
        one = found.area_of("prompt", model)
        assert one.pooled.value > 0.6
        assert one.pooled.above
        assert one.base_rate.value > 0.6
        assert one.within.low < 0.5 < one.within.high
        assert one.unseen.low < 0.5 < one.unseen.high
        assert one.within.pairs < one.pooled.pairs
        group = found.area_of("group", model)
        assert group.within.value == 0.5
    # the group alone decides which model is best, and routing by it is worth something
    assert found.verdict == "better"
    assert found.beyond_lookup.low <= 0.0


def test_a_true_signal_within_groups_is_found(simulated):
    pool, space = simulated(1, inside=1.5)
    found = judge_routing(pool, [space], features=["prompt", "group"], **QUICK)
    assert found.signal == "found"
    assert found.signal_p == 0.05  # the least that 19 shuffles give
    assert all(found.area_of("prompt", m).within.above for m in pool.models)
    assert all(found.area_of("prompt", m).unseen.above for m in pool.models)
    assert found.verdict == "better"
    assert found.beyond_lookup.low > 0.0
    assert found.beyond_lookup.p < 0.01
    router, strongest = found.policy("router"), found.policy("strongest")
    assert router.accuracy > strongest.accuracy
    assert router.difference == pytest.approx(router.accuracy - strongest.accuracy)
    assert router.gained - router.lost == round(router.difference * pool.n)
    assert 0.0 < router.share_of_headroom < 1.0


def test_intervals_alone_claim_nothing(simulated, monkeypatch):
    """Fault: a claim by intervals that know nothing of the fits; here they are made too narrow."""
    from dataclasses import replace

    from cospace.routing import judge

    pool, space = simulated(7, n=200)
    plain = judge_routing(pool, [space], features=["prompt"], **QUICK)
    assert plain.signal == "disguise"
    assert plain.signal_p is None
    whole = judge.stratified_area

    def narrow(*given, **asked):
        return replace(whole(*given, **asked), low=0.51)

    monkeypatch.setattr(judge, "stratified_area", narrow)
    found = judge_routing(pool, [space], features=["prompt"], **QUICK)
    assert found.signal == "not shown"
    assert found.signal_p > 0.05


def test_without_headroom_there_is_no_verdict(simulated):
    """One model has all right that the other has, and more."""
    pool, space = simulated(2, inside=1.5)
    nested = np.column_stack([pool.correct.any(axis=1), pool.correct[:, 1]])
    found = judge_routing(
        Pool(("one", "two"), pool.ids, nested, pool.groups), [space], features=["prompt"], **QUICK
    )
    assert found.headroom.difference == 0.0
    assert found.verdict == "none"
    assert found.disagreement > 0.1
    assert all(p.share_of_headroom is None for p in found.policies)


def test_a_headroom_of_few_items_is_none(simulated):
    """Three items of 480: a sample of items has none of them in one case of twenty."""
    pool, space = simulated(2)
    right = np.column_stack([pool.correct.any(axis=1)] * 2)
    right[np.flatnonzero(~right[:, 0])[:3], 1] = True
    right[np.flatnonzero(right[:, 0])[:40], 1] = False
    found = judge_routing(
        Pool(("one", "two"), pool.ids, right), [space], features=["prompt"], **QUICK
    )
    assert found.headroom.gained == 3
    assert found.headroom.difference_low <= 0.0
    assert found.verdict == "none"


@pytest.mark.parametrize("predictor", ["logistic", "ridge", "knn", "auto"])
def test_random_labels_give_chance(simulated, predictor):
    """Faults: a choice or a feature that saw the labels of the rows it is scored on; folds that are
    alike in who is right, so that the luck of a group is the same in training and test rows."""
    areas, differences = [], []
    for seed in range(6):
        pool, space = simulated(seed, n=240)
        rng = np.random.default_rng([seed, 99])
        right = rng.random((pool.n, 2)) < 0.5
        blind = Pool(pool.models, pool.ids, right, pool.groups, pool.lengths)
        found = judge_routing(
            blind,
            [space],
            features=["prompt"],
            predictor=predictor,
            draws=100,
            permutations=19,
            rng=seed,
        )
        areas += [each.pooled.value for each in found.discrimination]
        areas += [each.within.value for each in found.discrimination]
        router = found.policy("router")
        differences.append(router.accuracy - found.policy("random").accuracy)
    # of 12 independent areas over about 5 x 24 x 24 pairs each, sd 0.04: the mean has sd 0.012
    assert abs(np.mean(areas) - 0.5) < 0.04
    # 1,440 items that disagree half of the time: sd 0.5 / sqrt(2 x 1,440) = 0.01
    assert abs(np.mean(differences)) < 0.04


def test_labels_of_a_fold_change_nothing_that_is_said_of_it(simulated):
    """Flip who is right on the items of one fold: their own predictions must stay bit for bit."""
    from cospace.routing.crossfit import crossfit
    from cospace.routing.features import Features, feature_sets
    from cospace.routing.folds import deal
    from cospace.routing.predictors import candidates

    pool, space = simulated(3, n=200, inside=1.0)
    fold = deal(pool.groups, 5, rng=np.random.default_rng(0))
    flipped = pool.correct.copy()
    flipped[fold == 2] ^= True
    said = []
    for right in (pool.correct, flipped):
        each = Pool(pool.models, pool.ids, right, pool.groups, pool.lengths)
        features = Features.of(each, [space])
        wanted = feature_sets(each, 1, ["prompt+group+length"])[0]
        rng = np.random.default_rng(0)
        fit = crossfit(features, wanted, fold, candidates("auto"), inner=4, rng=rng)
        said.append((fit.probability[fold == 2], fit.chosen[2], fit.probability[fold == 1]))
    assert np.array_equal(said[0][0], said[1][0])
    assert said[0][1] == said[1][1]
    assert not np.array_equal(said[0][2], said[1][2])


def test_without_groups_nothing_is_claimed(simulated):
    pool, space = simulated(1, inside=1.5, groups=False)
    found = judge_routing(pool, [space], features=["prompt"], **QUICK)
    assert found.signal == "untested"
    assert found.beyond_lookup is None
    assert found.groups == ()
    assert any("none is claimed" in warning for warning in found.warnings)
    assert {p.policy for p in found.policies} == {
        "router", "strongest", "random", "only one", "only two", "oracle",
    }  # fmt: skip


def test_two_spaces_are_aligned_on_training_rows(simulated):
    pool, space = simulated(1, inside=1.5)
    rng = np.random.default_rng(5)
    other = np.asarray(space.rows) @ rng.normal(size=(5, 7)) + 0.2 * rng.normal(size=(pool.n, 7))
    spaces = [space, Space(other, name="other", ids=pool.ids)]
    found = judge_routing(pool, spaces, features=["prompt", "dispersion", "coordinates"], **QUICK)
    assert found.main.blocks == ("consensus", "dispersion", "neighbours")
    # of 7 coordinates 5 are more than noise, and one more or less may be kept
    assert found.main.width in (4 + 3 + 2, 5 + 3 + 2)
    assert found.sets[1].width == 3
    assert found.signal == "found"


def test_the_same_seed_gives_the_same_result_and_it_is_kept(simulated, tmp_path):
    pool, space = simulated(4, n=200, inside=0.5)
    told: list[tuple[str, int, int]] = []
    asked = {"features": ["prompt", "length"], "cost": {"one": 1.0, "two": 3.0}, **QUICK}
    found = judge_routing(pool, [space], progress=lambda *a: told.append(a), **asked)
    assert [done for _, done, _ in told] == list(range(1, 2 * 9 + 1))
    assert {total for _, _, total in told} == {18}
    again = judge_routing(pool, [space], **asked)
    assert found.to_dict() == again.to_dict()
    found.save(tmp_path / "r.json")
    assert Routing.load(tmp_path / "r.json").to_dict() == found.to_dict()
    assert json.dumps(found.to_dict(), allow_nan=False)
    assert [row["policy"] for row in found.records()] == [p.policy for p in found.policies]
    assert found.with_provenance(command="x").provenance["command"] == "x"
    values = json.loads((tmp_path / "r.json").read_text())
    values["policies"][0]["accuracy"] = "high"
    (tmp_path / "r.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match="no whole routing"):
        Routing.load(tmp_path / "r.json")
    for name, other, told in (
        ("policies", [], "policies: only one is none of"),
        ("models", [], "0 models and 2 sets"),
        ("sets", [], "2 models and 0 sets"),
        ("discrimination", [], "discrimination: nothing is there"),
        ("verdict", "x", "verdict: x is none of none, better, worse, not shown"),
        ("signal", "x", "signal: x is none of found, disguise"),
    ):
        edited = {**found.to_dict(), name: other}
        (tmp_path / "r.json").write_text(json.dumps(edited))
        with pytest.raises(InputError, match="no whole routing") as refused:
            Routing.load(tmp_path / "r.json")
        assert told in str(refused.value)


def test_spaces_are_matched_by_id(simulated):
    pool, space = simulated(4, n=200, inside=0.5)
    order = np.random.default_rng(0).permutation(200)
    turned = Space(np.asarray(space.rows)[order], name="space", ids=[pool.ids[i] for i in order])
    asked = {"features": ["prompt"], **QUICK}
    one, two = judge_routing(pool, [space], **asked), judge_routing(pool, [turned], **asked)
    assert one.to_dict() == two.to_dict()
    bare = Space(np.asarray(space.rows), name="space")
    assert judge_routing(pool, [bare], **asked).to_dict() == one.to_dict()


def test_clusters_stay_whole_and_are_drawn_whole(simulated):
    pool, space = simulated(4, n=200)
    clusters = tuple(f"c{i // 4}" for i in range(200))
    kept = Pool(pool.models, pool.ids, pool.correct, pool.groups, clusters=clusters)
    found = judge_routing(kept, [space], features=["prompt"], **QUICK)
    assert found.settings["clusters"] == 50
    # every cluster reaches into all groups, so that no group can be left out with its clusters
    assert all(each.unseen.value is None for each in found.discrimination)
    assert all(each.within.value is not None for each in found.discrimination)


def test_an_unseen_group_is_unseen_with_its_clusters(simulated):
    """Copies of an item in another group would give it away."""
    from cospace.routing.crossfit import unseen_groups
    from cospace.routing.features import Features, FeatureSet
    from cospace.routing.predictors import candidates

    pool, space = simulated(4, n=200)
    clusters = tuple(f"c{i // 2}" if i < 40 else f"s{i}" for i in range(200))
    said = []
    for flip in (False, True):
        right = pool.correct.copy()
        right[1:40:4] ^= flip  # in the group 'words'; each has a copy in 'sums'
        each = Pool(pool.models, pool.ids, right, pool.groups, clusters=clusters)
        features = Features.of(each, [space])
        wanted = FeatureSet("prompt", ("coordinates", "neighbours"))
        rng = np.random.default_rng(0)
        said.append(unseen_groups(features, wanted, candidates("knn"), inner=3, rng=rng))
    sums = np.array(pool.groups) == "sums"
    assert np.array_equal(said[0][sums], said[1][sums])
    assert not np.array_equal(said[0][~sums], said[1][~sums])


def test_what_was_not_known_is_warned_of(simulated):
    pool, _ = simulated(4, n=200)
    right = pool.correct.copy()
    right[:, 1] = False
    found = judge_routing(
        Pool(pool.models, pool.ids, right, pool.groups, pool.lengths), features=["length"], **QUICK
    )
    text = " ".join(found.warnings)
    assert "2 models" in text
    assert "two has no item right" in text
    assert "controls alone" in text
    assert found.area_of("length", "two").pooled.value is None
    sure = Pool(
        pool.models, pool.ids, pool.correct, pool.groups, confidence=np.random.default_rng(0).normal(size=(200, 2))
    )  # fmt: skip
    found = judge_routing(sure, features=["confidence"], cost={"one": 1, "two": 2}, **QUICK)
    text = " ".join(found.warnings)
    assert "saves none of them" in text
    assert "no accuracy at a lower price" in text
    assert found.curve == ()


def test_mistakes_are_told_in_one_line(simulated):
    pool, space = simulated(4, n=200)
    with pytest.raises(InputError, match=r"^50 bootstrap samples were asked for; at least 100"):
        judge_routing(pool, [space], draws=50)
    with pytest.raises(UnknownNameError, match=r"'forest' is not a predictor\. Known: auto, knn"):
        judge_routing(pool, [space], predictor="forest")
    with pytest.raises(InputError, match=r"^200 items cannot be dealt into 1 folds"):
        judge_routing(pool, [space], folds=1)
    with pytest.raises(InputError, match=r"^5 permutations were asked for; at least 19"):
        judge_routing(pool, [space], permutations=5)
    with pytest.raises(InputError, match="rng is -1"):
        judge_routing(pool, [space], rng=-1)
    found = judge_routing(pool, [space], features=["length"], **QUICK)
    with pytest.raises(UnknownNameError, match="'router prompt' is not a policy of this result"):
        found.policy("router", "prompt")
    with pytest.raises(UnknownNameError, match="is not a set and model of this result"):
        found.area_of("prompt", "one")
