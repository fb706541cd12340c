"""Vectors carried from model to model, beside their controls."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError
from cospace.maps import fit_map
from cospace.steering import (
    ChoiceItem,
    Contrast,
    Transfer,
    build,
    evaluate_transfer,
    matching_site,
    steering_curve,
    transfer,
)


def item(i):
    words = ("red", "blue") if i % 3 else ("blue", "red")
    letters = ("(A)", "(B)") if i % 3 else ("(B)", "(A)")
    return ChoiceItem(f"Word{i}? (A) {words[0]} (B) {words[1]}", *letters)


MADE, UNSEEN = [item(i) for i in range(20)], [item(i) for i in range(20, 30)]


@pytest.fixture
def pair(toy):
    """Two models that know the same words, the second turned, wider and louder."""
    source = toy("small", width=12, seed=3, reads=True)
    target = toy("large", width=16, seed=4, reads=True, blocks=6)
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.normal(size=(16, 12)))[0].T
    extra = np.linalg.svd(turn)[2][12:]
    target.table = 3.0 * source.table @ turn + 0.1 * rng.normal(size=(500, 4)) @ extra
    target.head = source.head @ turn
    contrast = Contrast.of_items(MADE, both_orders=True)
    (vector,) = build(source, contrast, sites="block.1")
    (native,) = build(target, contrast, sites="block.1")
    return source, target, vector, native


def maps(source, target):
    x, y = source.table[:300], target.table[:300]
    return (
        fit_map(source=x, target=y, method="least_squares"),
        fit_map(source=x, target=y, method="least_squares", shuffle=0),
    )


def test_a_transferred_vector_has_the_same_relative_norm(pair):
    """Fault: a map that was fitted on rows of another length, and its length taken over."""
    source, target, vector, native = pair
    real, _ = maps(source, target)
    found = transfer(vector, real, native=native)
    relative = vector.norm / vector.residual_norm
    assert found.norm / native.residual_norm == pytest.approx(relative)
    by_spread = transfer(vector, real, native=native, unit="spread")
    assert by_spread.norm / native.spread == pytest.approx(vector.norm / vector.spread)
    direction = vector.vector @ real.matrix
    cosine = found.vector @ direction / found.norm / np.linalg.norm(direction)
    assert cosine == pytest.approx(1.0)
    assert found.provenance["gain"] == pytest.approx(np.linalg.norm(direction) / vector.norm)
    assert found.provenance["cosine_to_native"] > 0.99
    assert (found.model, found.weights_hash, found.site) == ("large", "large-weights", "block.1")
    assert found.method == "mean_difference through a map"
    assert found.provenance["from"]["model"] == "small"


def test_a_direction_is_carried_without_the_offset(pair):
    source, target, vector, native = pair
    shifted = fit_map(source=source.table[:300], target=target.table[:300] + 50.0, method="affine")
    found = transfer(vector, shifted, native=native)
    assert found.provenance["cosine_to_native"] > 0.99


def test_a_saved_transfer_says_where_it_comes_from(pair, tmp_path):
    source, target, vector, native = pair
    found = transfer(vector, maps(source, target)[0], native=native)
    found.save(tmp_path / "v.safetensors")
    again = type(found).load(tmp_path / "v.safetensors")
    assert again.provenance["map"]["method"] == "least_squares"
    assert again.provenance["from"]["site"] == "block.1"
    again.check(target)


@pytest.mark.parametrize("draws", [1, 2])
def test_all_controls_are_run_at_equal_norms(pair, draws):
    """Fault: a transfer without a random map, shuffled rows, a random direction and the ceiling."""
    source, target, vector, native = pair
    real, shuffled = maps(source, target)
    coefficients = np.linspace(-0.03, 0.03, 7)  # beyond, scores are 0 and 1
    found = evaluate_transfer(
        target,
        vector,
        linear_map=real,
        shuffled=shuffled,
        native=native,
        items=UNSEEN,
        coefficients=coefficients,
        neutral=["one two three four"],
        source=source,
        draws=draws,
    )
    names = [each.condition for each in found.conditions]
    ends = [""] if draws == 1 else [".0", ".1"]
    random = [f"random_{what}{end}" for end in ends for what in ("map", "direction")]
    assert names == ["transferred", "native", "shuffled_rows", *random]
    spans = {each.condition: each.curve.span for each in found.conditions}
    assert found.condition("transferred").curve.spearman == pytest.approx(1.0)
    assert found.recovered == pytest.approx(1.0, abs=0.1)
    assert found.p_random == pytest.approx(1 / (1 + 2 * draws))
    for name in names[2:]:
        assert abs(spans[name]) < 0.7 * spans["transferred"], name
        assert abs(found.condition(name).cosine) < 0.7
    own = steering_curve(target, native, UNSEEN, coefficients, neutral=["one two three four"])
    assert found.condition("native").curve == own
    zero = {each.curve.points[3].score for each in found.conditions}
    assert len(zero) == 1
    assert (found.map_method, found.map_rank) == ("least_squares", 12)
    assert found.map_r2 > 0.9
    assert len(found.condition("native").nearest) == len(found.nearest_at_source) == 10


def test_the_same_seed_gives_the_same_controls(pair, tmp_path):
    source, target, vector, native = pair
    real, shuffled = maps(source, target)

    def run(seed):
        return evaluate_transfer(
            target,
            vector,
            linear_map=real,
            shuffled=shuffled,
            native=native,
            items=UNSEEN[:2],
            coefficients=[-0.5, 0.5],
            seed=seed,
        )

    one = run(1)
    assert run(1) == one
    assert run(2) != one
    one.save(tmp_path / "t.json")
    assert Transfer.load(tmp_path / "t.json") == one
    assert len(one.records()) == 10
    assert set(one.to_dict()) >= {"recovered", "conditions", "map_r2"}


def test_a_ceiling_that_does_not_move_leaves_nothing_to_recover(pair):
    source, target, vector, native = pair
    real, shuffled = maps(source, target)
    found = evaluate_transfer(
        target,
        vector,
        linear_map=real,
        shuffled=shuffled,
        native=native,
        items=UNSEEN[:2],
        coefficients=[0.0],
    )
    assert found.recovered is None
    assert found.condition("native").curve.spearman is None
    assert found.nearest_at_source == ()


def test_maps_and_models_must_belong_together(pair):
    source, target, vector, native = pair
    real, shuffled = maps(source, target)
    backwards = fit_map(source=target.table[:300], target=source.table[:300])
    with pytest.raises(InputError, match=r"from width 16 to 12, .* widths 12 and 16: fit it"):
        transfer(vector, backwards, native=native)
    rest = {"native": native, "items": UNSEEN, "coefficients": [0.5]}
    with pytest.raises(InputError, match="shuffled with None and its control with None"):
        evaluate_transfer(target, vector, linear_map=real, shuffled=real, **rest)
    with pytest.raises(InputError, match="shuffled with 0 and its control with 0"):
        evaluate_transfer(target, vector, linear_map=shuffled, shuffled=shuffled, **rest)
    with pytest.raises(InputError, match="unit='vector' would add every condition at a length"):
        evaluate_transfer(target, vector, linear_map=real, shuffled=shuffled, unit="vector", **rest)
    with pytest.raises(
        InputError,
        match=r"draws=0 random maps and random directions .* controls are never left out",
    ):
        evaluate_transfer(target, vector, linear_map=real, shuffled=shuffled, draws=0, **rest)
    with pytest.raises(InputError, match=r"is for large .*and small has weights"):
        evaluate_transfer(source, vector, linear_map=real, shuffled=shuffled, **rest)


def test_a_map_that_knows_nothing_of_the_direction_is_refused(pair):
    _, target, vector, native = pair
    found = fit_map(source=np.eye(12)[np.arange(300) % 11], target=target.table[:300])
    blind = type(vector)(
        vector=np.eye(12)[11],
        model="small",
        weights_hash="small-weights",
        site="block.1",
        blocks=4,
        method="pca",
        token="last",
        residual_norm=1.0,
        spread=1.0,
    )
    with pytest.raises(InputError, match="takes the vector of small to zero"):
        transfer(blind, found, native=native)


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("block.0", "block.0"),
        ("block.14", "block.8"),
        ("block.29", "block.17"),
        ("embed", "embed"),
        ("final_norm", "final_norm"),
    ],
)
def test_sites_of_the_same_relative_depth(site, expected):
    assert matching_site(site, blocks=30, target_blocks=18) == expected


@pytest.mark.parametrize("site", ["block.30", "layer.3", "block.-1"])
def test_a_site_that_is_none_is_refused(site):
    with pytest.raises(InputError, match="is no site of a model of 30 blocks"):
        matching_site(site, blocks=30, target_blocks=18)
