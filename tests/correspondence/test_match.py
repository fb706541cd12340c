"""Correspondence: values against compare, corrections by hand, choices that are not made twice."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

import cospace as cs
from cospace.correspondence import Correspondence, correspond
from cospace.errors import InputError
from cospace.space import Space
from cospace.stats import holm

DEPTHS = (0.0, 0.5, 1.0)


def grid(seed, *, n=60, models="abc", poolings=("mean",), noise=(3.0, 0.8, 0.2), corpus="plain"):
    """Models that see one thing behind different noise: alike at depth 1, hardly at depth 0."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((n, 6))
    ids = [f"t{i}" for i in range(n)]
    table = {}
    for pooling in poolings:
        table[pooling] = {
            model: {
                depth: Space(
                    truth @ np.linalg.qr(rng.standard_normal((12, 6)))[0].T
                    + sd * rng.standard_normal((n, 12)),
                    ids=ids,
                    name=f"{model}:{depth}",
                    facts={"corpus": corpus},
                )
                for depth, sd in zip(DEPTHS, noise, strict=True)
            }
            for model in models
        }
    return table


@pytest.fixture(scope="module")
def found() -> Correspondence:
    return correspond(grid(0), replica=grid(1, corpus="replica"), permutations=199)


def test_every_pair_at_every_depth_is_there_once(found):
    keys = [(a.measure, a.pooling, a.depth, a.source, a.target) for a in found.agreements]
    wanted = {
        (m, "mean", d, *pair)
        for m in ("rsa_spearman", "debiased_cka", "mutual_knn", "nearest_match")
        for d in DEPTHS
        for pair in combinations("abc", 2)
    }
    assert set(keys) == wanted
    assert len(keys) == len(wanted)


def test_values_and_chance_are_those_of_their_definitions(found):
    table = grid(0)["mean"]
    for one in found.agreements:
        x, y = (table[name][one.depth].rows for name in (one.source, one.target))
        if one.measure == "rsa_spearman":
            expected = spearmanr(pdist(x, "correlation"), pdist(y, "correlation")).statistic
            assert one.value == pytest.approx(expected, abs=1e-9)
        if one.measure == "nearest_match":
            nearest = []
            for rows in (x, y):
                unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
                cosines = unit @ unit.T
                np.fill_diagonal(cosines, -2)
                nearest.append(cosines.argmax(axis=1))
            assert one.value == pytest.approx(np.mean(nearest[0] == nearest[1]), abs=1e-12)
            assert one.chance == pytest.approx(1 / 59, abs=1e-9)
            assert one.exact
            assert one.ratio == pytest.approx(one.value * 59)
        if one.measure == "mutual_knn":
            assert one.chance == pytest.approx(10 / 59, abs=1e-9)
        if one.measure in ("rsa_spearman", "debiased_cka"):
            assert one.ratio is None


def test_p_is_corrected_for_depths_pairs_and_poolings():
    plain = correspond(grid(0), permutations=199)
    double = correspond(grid(0, poolings=("mean", "last")), permutations=199)
    assert plain.settings["families"] == 3
    assert double.settings["families"] == 6
    for one in plain.agreements:
        assert one.p <= one.p_corrected <= 1.0
        assert one.p_corrected >= 3 / 200
    strong = [a for a in double.agreements if a.depth == 1.0 and a.measure == "debiased_cka"]
    assert {a.p_corrected for a in strong} == {6 / 200}


def test_independent_spaces_are_told_from_chance_no_more_often_than_the_level():
    told = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = {
            "mean": {
                model: {d: Space(rng.standard_normal((40, 8)), name=f"{model}{d}") for d in DEPTHS}
                for model in "abc"
            }
        }
        result = correspond(table, measures=["debiased_cka"], permutations=99)
        told += any(one.clear for one in result.profiles)
    assert told <= 6  # 5 % of 40 is 2; 7 or more has a chance of 0.4 %


def test_profiles_are_means_over_pairs(found):
    for profile in found.profiles:
        mine = [
            a
            for a in found.agreements
            if (a.measure, a.pooling, a.depth) == (profile.measure, profile.pooling, profile.depth)
        ]
        assert profile.pairs == 3
        assert profile.value == pytest.approx(np.mean([a.value for a in mine]))
        assert profile.weakest == min(a.value for a in mine)
        assert profile.clear == sum(a.p_corrected <= 0.05 for a in mine)
        effects = [(a.value - a.chance) / (1 - a.chance) for a in mine]
        assert profile.effect == pytest.approx(np.mean(effects))


def test_second_texts_are_scored_where_the_first_were_strongest(found):
    assert {(one.measure, one.depth) for one in found.frozen} == {
        (name, 1.0) for name in found.settings["measures"]
    }
    again = [one for one in found.replications if one.measure == "debiased_cka"]
    second = grid(1)["mean"]
    for one in again:
        value = cs.measures.debiased_cka(second[one.source][1.0].rows, second[one.target][1.0].rows)
        assert one.value == pytest.approx(value, abs=1e-12)
        first = next(
            a.value
            for a in found.agreements
            if (a.measure, a.depth, a.source, a.target)
            == (one.measure, 1.0, one.source, one.target)
        )
        assert one.first == first
    assert [one.p_holm for one in again] == pytest.approx(holm([one.p for one in again]).tolist())


def test_a_second_corpus_of_noise_does_not_replicate():
    rng = np.random.default_rng(5)
    noise = {
        "mean": {
            model: {d: Space(rng.standard_normal((60, 12)), name=f"{model}{d}") for d in DEPTHS}
            for model in "abc"
        }
    }
    result = correspond(grid(0), measures=["debiased_cka"], replica=noise, permutations=199)
    assert all(one.first > 0.5 for one in result.replications)
    assert all(one.p_holm > 0.05 for one in result.replications)


def test_repeated_rows_are_not_chosen():
    table = grid(0)
    for depths in table["mean"].values():
        rows = np.repeat(depths[1.0].rows[:30], 2, axis=0)
        depths[1.0] = Space(rows, ids=[f"t{i}" for i in range(60)], name="twice")
    result = correspond(table, measures=["debiased_cka"], replica=grid(1), permutations=19)
    assert [p.repeated for p in result.profiles] == [0.0, 0.0, 0.5]
    assert [(one.depth, one.pooling) for one in result.frozen] == [(0.5, "mean")]
    from cospace.report.correspondence import findings

    told = [one["text"] for one in findings(result)]
    assert "strongest at depth 0.5" in told[0]
    assert "pooled by mean at depth 1: models agree there" in told[1]


def test_a_constant_space_has_no_value_and_says_why():
    table = grid(0)
    table["mean"]["a"][0.0] = Space(np.ones((60, 4)), ids=[f"t{i}" for i in range(60)], name="flat")
    result = correspond(table, measures=["debiased_cka"], permutations=19)
    flat = [a for a in result.agreements if a.depth == 0.0 and "a" in (a.source, a.target)]
    assert all(a.value is None and a.reason for a in flat)
    assert next(p for p in result.profiles if p.depth == 0.0).pairs == 1


def test_too_few_shuffles_are_told():
    result = correspond(grid(0), measures=["debiased_cka"], permutations=19)
    assert "19 shuffles allow no corrected p below 0.15" in result.warnings[-1]
    assert "at least 60" in result.warnings[-1]


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [
        ("agreements", lambda t: t.pop(0), "is missing"),
        ("agreements", lambda t: t.append(t[0]), "is there 2 times"),
        ("agreements", lambda t: t[0].update(source="x"), "x is none of a, b, c"),
        ("agreements", lambda t: t[0].update(p_corrected=2.0), "p_corrected is 2, which is no"),
        ("profiles", lambda t: t.append(t[0]), "profiles: "),
        ("profiles", lambda t: t[0].update(depth=0.3), "profiles: "),
        ("frozen", lambda t: t[0].update(depth=0.3), "frozen: "),
        ("replications", lambda t: t.pop(), "is missing"),
        ("replications", lambda t: t[0].update(depth=0.3), "replications: "),
        ("texts", lambda t: t["first"].update(rows="x"), "texts: first says no number of rows"),
        ("texts", lambda t: t.update(second=[]), "texts: second says no number of rows"),
        ("texts", lambda t: t.pop("first"), "texts: first is none of"),
        ("settings", lambda t: t.pop("measures"), "settings: measures are no names"),
        ("settings", lambda t: t.update(measures=[[]]), "settings: measures are no names"),
    ],
)
def test_a_saved_one_that_contradicts_itself_is_refused(found, tmp_path, table, change, told):
    data = found.to_dict()
    change(data[table])
    (tmp_path / "c.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match="is no whole correspondence") as refused:
        Correspondence.load(tmp_path / "c.json")
    assert told in str(refused.value)


def test_it_is_saved_and_read_again(found, tmp_path):
    found.save(tmp_path / "c.json")
    assert Correspondence.load(tmp_path / "c.json").to_dict() == found.to_dict()
    assert len(found.to_frame()) == len(found.agreements)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"measures": []}, "name at least one measure"),
        ({"measures": ["pwcca"]}, "pwcca cannot be shuffled at the price of its value"),
        ({"permutations": 0}, "permutations is 0; a whole number from 1 to 1,000,000"),
        ({"replica": grid(1, models="ab")}, "the second a, b"),
        (
            {"replica": {"last": grid(1)["mean"]}},
            "The second texts lack a pooled by mean at depth 1",
        ),
    ],
)
def test_bad_input_is_refused(more, words):
    with pytest.raises(InputError, match=words):
        correspond(grid(0), **{"permutations": 19, **more})


def test_one_model_or_different_models_are_refused():
    with pytest.raises(InputError, match="have 1 models"):
        correspond(grid(0, models="a"), permutations=19)
    mixed = {**grid(0), "last": grid(0, models="abd")["mean"]}
    with pytest.raises(InputError, match="other models for one pooling than for another"):
        correspond(mixed, permutations=19)


def test_page_tells_what_the_result_holds(found):
    from cospace.report import build, page_html

    page = build(found)
    assert page["headline"].startswith("RSA")
    ids = [section["id"] for section in page["sections"]]
    assert ids == ["measure-0", "measure-1", "measure-2", "measure-3", "again", "repeat"]
    texts = [one["text"] for one in page["findings"]]
    assert any("on the second texts" in text and "3 of 3 pairs" in text for text in texts)
    html = page_html(build(found))
    assert "plain" in html
