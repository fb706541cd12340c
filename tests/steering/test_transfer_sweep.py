"""A vector through several maps to several sites, and the whole way from a saved vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cospace.errors import InputError, UnknownNameError
from cospace.maps import fit_map
from cospace.steering import (
    ChoiceItem,
    Contrast,
    MapPlan,
    TransferSweep,
    build,
    build_chosen,
    carry,
    evaluate_transfer,
    steering_curve,
    sweep_transfer,
)

COEFFICIENTS = list(np.linspace(-0.03, 0.03, 7))


def item(i):
    words = ("red", "blue") if i % 3 else ("blue", "red")
    letters = ("(A)", "(B)") if i % 3 else ("(B)", "(A)")
    return ChoiceItem(f"Word{i}? (A) {words[0]} (B) {words[1]}", *letters)


ITEMS = [item(i) for i in range(30)]
MADE, CHOOSING, UNSEEN = ITEMS[:12], ITEMS[12:20], ITEMS[20:]


@pytest.fixture
def pair(toy):
    """Two models that know the same words, the second turned and wider; its block.1 alone matters."""
    source = toy("small", width=12, seed=3, reads=True)
    target = toy("large", width=16, seed=4, reads=True, blocks=6)
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.normal(size=(16, 12)))[0].T
    target.table, target.head = source.table @ turn, source.head @ turn
    return source, target


@pytest.fixture
def vectors(pair):
    source, target = pair
    contrast = Contrast.of_items(MADE, both_orders=True)
    (vector,) = build(source, contrast, sites="block.1")
    return vector, build(target, contrast, sites=["block.1", "block.4"])


def fits(source, target):
    x, y = source.table[:300], target.table[:300]
    return fit_map(source=x, target=y), fit_map(source=x, target=y, shuffle=0)


@pytest.fixture
def swept(pair, vectors):
    source, target = pair
    vector, natives = vectors
    maps = fits(source, target)
    return sweep_transfer(
        target,
        vector,
        maps={"embeddings": maps, "activations": {n.site: maps for n in natives}},
        natives=natives,
        items=UNSEEN,
        coefficients=COEFFICIENTS,
        choose_on=CHOOSING,
        choose_at=0.03,
        source=source,
        seed=2,
    )


def test_every_map_site_and_condition_is_scored(pair, vectors, swept):
    """Fault: the best of several layers reported, without the others and without controls."""
    source, target = pair
    vector, natives = vectors
    assert swept.names == ("embeddings", "activations")
    assert swept.sites == ("block.1", "block.4")
    assert len(swept.transfers) == 4
    for each in swept.transfers:
        assert [one.condition for one in each.conditions] == [
            "transferred",
            "native",
            "shuffled_rows",
            "random_map",
            "random_direction",
        ]
    alone = evaluate_transfer(
        target,
        vector,
        linear_map=fits(*pair)[0],
        shuffled=fits(*pair)[1],
        native=natives[0],
        items=UNSEEN,
        coefficients=COEFFICIENTS,
        source=source,
        seed=2,
    )
    assert replace(swept.transfer("embeddings", "block.1"), map_name="map") == alone
    assert len(swept.records()) == 4 * 5 * 7
    row = swept.records()[0]
    wanted = ("map", "site", "condition", "coefficient", "score", "chosen", "map_r2")
    assert [row[name] for name in wanted[:3]] == ["embeddings", "block.1", "transferred"]
    assert set(wanted) <= set(row)


def test_the_site_is_chosen_on_other_questions(swept, vectors, pair):
    """Only block.1 moves the toy; the other site's curve is flat, and stands beside it."""
    assert swept.chosen == dict.fromkeys(("embeddings", "activations", "native"), "block.1")
    assert swept.chosen_on == 8
    assert swept.transfer("embeddings").site == "block.1"
    assert swept.transfer("embeddings").condition("transferred").curve.spearman == pytest.approx(1)
    assert swept.transfer("embeddings", "block.4").condition("native").curve.spearman is None
    assert {row["site"] for row in swept.records() if row["chosen"]} == {"block.1"}


def test_what_is_said_of_the_maps(swept):
    first, *others = swept.maps
    assert (first.name, first.site, first.method) == ("embeddings", None, "least_squares")
    assert (first.n, first.rank, first.width, first.target_width) == (300, 12, 12, 16)
    assert first.held_out_r2 == pytest.approx(1.0)
    assert (first.retrieval, first.retrieval_chance) == (1.0, pytest.approx(1 / 60))
    assert first.condition > 1.0
    assert [(one.name, one.site) for one in others] == [
        ("activations", "block.1"),
        ("activations", "block.4"),
    ]
    assert swept.same_texts


def test_a_saved_sweep_is_the_same(swept, tmp_path):
    found = swept.with_provenance(command="cospace steer transfer")
    found.save(tmp_path / "s.json")
    again = TransferSweep.load(tmp_path / "s.json")
    assert again == found
    assert again.provenance == {"command": "cospace steer transfer"}
    data = found.to_dict()
    assert data["transfers"][0]["recovered"] == pytest.approx(1.0, abs=0.1)
    assert len(data["transfers"][0]["conditions"][0]["curve"]["points"][0]["by_item"]) == 10


def test_spans_have_intervals_over_questions(swept):
    curve = swept.transfer("embeddings").condition("transferred").curve
    by_item = np.array([curve.points[-1].by_item, curve.points[0].by_item])
    np.testing.assert_allclose(curve.spans, by_item[0] - by_item[1])
    assert curve.spans.mean() == pytest.approx(curve.span)
    rng = np.random.default_rng(0)
    drawn = [curve.spans[rng.integers(10, size=10)].mean() for _ in range(4000)]
    np.testing.assert_allclose(curve.span_interval, np.quantile(drawn, [0.025, 0.975]), atol=0.02)
    each = swept.transfer("embeddings")
    gap = curve.spans - each.condition("random_map").curve.spans
    value, low, high = each.excess("random_map")
    assert value == pytest.approx(gap.mean())
    assert low < value < high
    assert low > 0
    few = replace(curve, points=tuple(replace(p, by_item=p.by_item[:4]) for p in curve.points))
    assert few.span_interval is None
    short = replace(each, conditions=(replace(each.conditions[0], curve=few), *each.conditions[1:]))
    assert short.excess("random_map") is None


def test_what_cannot_be_swept_is_refused(pair, vectors):
    source, target = pair
    vector, natives = vectors
    maps = {"embeddings": fits(source, target)}
    rest = {"items": UNSEEN, "coefficients": [-0.01, 0.01]}

    def run(**change):
        given = {"maps": maps, "natives": natives} | rest | change
        return sweep_transfer(target, vector, **given)

    with pytest.raises(InputError, match=r"0 maps and the sites block.1, block.4"):
        run(maps={})
    with pytest.raises(InputError, match="1 maps and the sites none were given"):
        run(natives=[])
    with pytest.raises(InputError, match=r"sites block.1, block.1 were given"):
        run(natives=[natives[0], natives[0]])
    with pytest.raises(InputError, match="10 questions are to be scored and to choose the site"):
        run(choose_on=UNSEEN)
    with pytest.raises(InputError, match=r"'embeddings' has no fit for block.4"):
        run(maps={"embeddings": {"block.1": maps["embeddings"]}})
    with pytest.raises(InputError, match="unit='vector' would add"):
        run(unit="vector")
    with pytest.raises(InputError, match=r"no transfer through 'words' to 'block.1': maps embed"):
        run().transfer("words")


def test_from_a_vector_to_the_whole_transfer(pair):
    """Own vectors, maps and the split of questions follow from the vector."""
    source, target = pair
    vector, _ = build_chosen(source, ITEMS, sites="block.1")
    texts = [f"a{i} b{i % 7} c{i % 11} d{i}" for i in range(60)]
    said = []
    found, carried = carry(
        vector,
        source=source,
        target=target,
        questions=ITEMS,
        coefficients=COEFFICIENTS,
        sites=["block.1", "block.3"],
        plan=MapPlan(kinds=("activations",), texts=texts),
        choose_at=0.03,
        progress=said.append,
    )
    seen = set(vector.provenance["items"])
    assert found.transfers[0].conditions[0].curve.n == len(ITEMS) - len(seen) == 9
    assert found.chosen_on == len(seen)
    assert found.same_texts
    assert found.chosen["activations"] == "block.1"
    assert found.transfer("activations").recovered == pytest.approx(1.0, abs=0.15)
    assert carried["activations"].site == "block.1"
    assert carried["activations"].provenance["from"]["model"] == "small"
    own = steering_curve(target, carried["activations"], UNSEEN[:1], [0.01])
    assert own.points[0].score > 0
    few, _ = carry(
        vector,
        source=source,
        target=target,
        questions=ITEMS,
        coefficients=[-0.01, 0.01],
        sites=["block.1", "block.3"],
        plan=MapPlan(kinds=("activations",), texts=texts),
        most=6,
        seed=1,
    )
    assert (few.transfers[0].conditions[0].curve.n, few.chosen_on) == (6, 6)
    assert few.transfers[0].conditions[0].curve.seen == 0
    assert said == [
        "large: own vectors at block.1, block.3",
        "map of activations",
        "9 questions, 7 coefficients, 2 sites",
    ]


def test_the_site_of_the_same_depth_is_the_default(pair):
    source, target = pair
    vector, _ = build_chosen(source, ITEMS, sites=["block.1", "block.3"], coefficient=0.03)
    assert vector.site == "block.1"
    plan = MapPlan(kinds=("activations",), texts=[f"a{i} b{i % 5} c{i}" for i in range(30)])
    given = {"source": source, "target": target, "coefficients": [-0.01, 0.01], "plan": plan}
    found, _ = carry(vector, questions=ITEMS, **given)
    assert found.sites == ("block.2",)  # (1 + 1) / 4 of 6 blocks
    assert (
        found.same_texts
    )  # though the vector's site was chosen on other questions than it was made from
    assert (dict(found.chosen), found.chosen_on) == ({}, 0)
    contrast = Contrast.of_items(MADE, both_orders=True)
    assert not carry(vector, questions=ITEMS, contrast=contrast, **given)[0].same_texts


def test_what_cannot_be_carried_is_refused(pair, vectors):
    source, target = pair
    vector, _ = vectors
    given = {"source": source, "target": target, "coefficients": [0.01]}
    with pytest.raises(InputError, match="has seen none of these questions, so that none can"):
        carry(vector, questions=UNSEEN, **given)
    with pytest.raises(InputError, match=r"is for small .* and large has weights"):
        carry(vector, questions=ITEMS, **{**given, "source": target})
    with pytest.raises(InputError, match="most=0 questions were asked for"):
        carry(vector, questions=ITEMS, most=0, **given)
    with pytest.raises(InputError, match=r"draws=0 random maps .* controls are never left out"):
        carry(vector, questions=ITEMS, draws=0, **given)
    with pytest.raises(
        InputError, match=r"least_squares was to be fitted on 3 tokens: a source of"
    ):
        carry(vector, questions=ITEMS, plan=MapPlan(tokens=3), **given)
    with pytest.raises(InputError, match=r"name each once"):
        carry(vector, questions=ITEMS, sites=[0.5, 0.5], **given)
    with pytest.raises(UnknownNameError, match=r"'embedding' is not a kind of map. Did you mean"):
        MapPlan(kinds=("embedding",))
    with pytest.raises(
        UnknownNameError, match=r"'pca' is not a fit of a map between models. Known"
    ):
        MapPlan(embedding_method="pca")
    with pytest.raises(InputError, match="The maps are none: embeddings, activations, or both"):
        MapPlan(kinds=())
    with pytest.raises(InputError, match="The maps embeddings, embeddings: embeddings"):
        MapPlan(kinds=("embeddings", "embeddings"))
    with pytest.raises(InputError, match="fitted on texts, and none were given"):
        MapPlan(kinds=("activations",))


def test_the_unsteered_model_is_scored_once(pair, vectors, monkeypatch):
    from cospace.steering import score

    source, target = pair
    vector, natives = vectors
    seen = []
    real = score.choice_scores

    def counted(decoder, items, **options):
        seen.append(len(target.added))
        return real(decoder, items, **options)

    monkeypatch.setattr(score, "choice_scores", counted)
    found = sweep_transfer(
        target,
        vector,
        maps={"embeddings": fits(source, target)},
        natives=natives,
        items=UNSEEN,
        coefficients=[-0.01, 0.0, 0.01],
    )
    assert seen.count(0) == 1
    assert seen.count(1) == 2 * 5 * 2
    zero = {one.curve.points[1] for each in found.transfers for one in each.conditions}
    assert len(zero) == 1
    assert zero.pop().score == real(target, UNSEEN).score
