"""Worst case over a norm-capped family: known suprema, exact checks, what is stored and refused."""

from __future__ import annotations

import numpy as np
import pytest

import cospace as cs
from cospace.errors import InputError, RowMismatchError
from cospace.measures import gulp_distance
from cospace.probes import Classifier, Search, Split, WorstCase, fit_probe, worst_case
from cospace.probes.classifier import softmax
from cospace.probes.imitation import Source, imitate
from cospace.probes.search import project

SMALL = Search(random=6, ascents=1, steps=8)


def halves():
    """Pairs of equal source rows whose targets are -1 and 1: what tells them apart is hidden."""
    return np.tile([1.0, -1.0], 12)[:, None], np.repeat(np.arange(12.0), 2)[:, None]


@pytest.mark.parametrize("cap", [0.01, 0.5, 1.0, 3.0])
def test_a_hidden_coordinate_gives_the_supremum_in_closed_form(cap):
    # the logits of two classes differ by sqrt(2) cap h at most, so the probabilities of h = 1 and
    # h = -1 differ by tanh(cap / sqrt(2)) each, and an imitation stands halfway at best
    h, g = halves()
    found = worst_case(target=h, source=g, cap=cap, search=SMALL)
    supremum = np.tanh(cap / np.sqrt(2)) / np.sqrt(2)
    assert found.value == pytest.approx(supremum, rel=1e-4)
    assert supremum * 0.998 <= found.certified <= supremum * (1 + 1e-9)


def test_the_bound_is_reached_by_small_caps():
    h, g = halves()
    mean = (np.zeros((1, 1)), np.zeros(1))
    found = worst_case(target=h, source=g, cap=0.01, affine=mean, search=SMALL)
    assert found.check.distance == 1.0
    assert found.check.factor == pytest.approx(0.5, rel=1e-3)
    assert found.check.holds


def test_no_classifier_of_the_family_is_much_worse_than_the_one_found():
    rng = np.random.default_rng(0)
    h = rng.standard_normal((120, 4))
    g = h @ rng.standard_normal((4, 3)) + 0.2 * rng.standard_normal((120, 3))
    source = Source.of(g, 3)
    found = worst_case(target=h, source=g, cap=1.0, search=Search(random=8, steps=15))
    assert found.settings["target_width"] == 4
    best = 0.0
    for _ in range(80):
        way = rng.standard_normal(4)
        weight = np.outer([1.0, -1.0], way / np.linalg.norm(way)) / np.sqrt(2)
        assert np.linalg.norm(weight, 2) == pytest.approx(1.0)
        offset = rng.standard_normal(2)
        other = imitate(source, softmax(h @ weight.T + offset), ("a", "b"))
        best = max(best, other.sup)
    assert 0.5 * found.value < best <= found.value * 1.001


def test_what_is_found_is_in_the_family_and_what_it_is_said_to_be(pair, split):
    found = worst_case(
        target=pair.target,
        source=pair.source,
        cap=0.4,
        split=split,
        affine=pair.affine,
        search=SMALL,
    )
    assert found.classifier.norm <= 0.4 * (1 + 1e-9)
    p = found.classifier.probabilities(pair.target.rows)
    q = found.imitation.probabilities(pair.source.rows)
    l2 = np.linalg.norm(p - q, axis=1)
    assert found.value == found.in_sample.sup == pytest.approx(l2[:180].max(), rel=1e-12)
    assert found.held_out.sup == pytest.approx(l2[180:].max(), rel=1e-12)
    assert found.certified <= found.value
    assert found.value <= 0.5 * 0.4 * found.check.distance
    assert found.value <= found.constant <= found.attainable + 1e-9
    assert found.diameter == np.sqrt(2.0)
    assert found.gulp == gulp_distance(pair.source.rows[:180], pair.target.rows[:180])


def test_the_trace_tells_every_start_and_every_rise(pair):
    found = worst_case(target=pair.target, source=pair.source, cap=0.4, search=SMALL)
    starts = [step.origin for step in found.trace if step.step == 0]
    assert starts[:6] == [f"random {i}" for i in range(6)]
    assert starts[6].startswith("residual of t")
    assert starts[7] == "leading residual"
    rises = [step for step in found.trace if step.step > 0]
    assert rises
    assert all(step.origin.startswith("ascent from ") for step in rises)
    best = np.maximum.accumulate([step.value for step in found.trace])
    assert [step.best for step in found.trace] == best.tolist()
    # the starts are imitated in haste, so their values may lie a little high
    assert found.value >= max(step.value for step in rises) * 0.99


def test_an_ascent_rises(pair):
    still = Search(random=4, ascents=0)
    rising = Search(random=4, ascents=2, steps=25)
    low = worst_case(target=pair.target, source=pair.source, cap=0.3, search=still)
    high = worst_case(target=pair.target, source=pair.source, cap=0.3, search=rising)
    assert high.certified > low.value
    assert high.origin.startswith("ascent from")


def test_a_larger_cap_is_worse(pair):
    values = [
        worst_case(target=pair.target, source=pair.source, cap=cap, search=SMALL).value
        for cap in (0.1, 0.4, 1.6)
    ]
    assert values == sorted(values)
    assert values[0] < 0.9 * values[1]


def test_task_probes_are_tried_as_they_are_and_at_the_cap(pair):
    probe = fit_probe(pair.target, pair.labels, ridge=10.0)
    cap = 2.0 * probe.norm
    found = worst_case(
        target=pair.target,
        source=pair.source,
        cap=cap,
        tasks={"letters": probe},
        search=Search(random=0, ascents=0),
    )
    starts = {step.origin: step.value for step in found.trace}
    assert {"task letters", "task letters at the cap"} < set(starts)
    assert starts["task letters"] < starts["task letters at the cap"]
    assert len(found.classifier.classes) == 3
    capped = worst_case(
        target=pair.target,
        source=pair.source,
        cap=0.5 * probe.norm,
        tasks={"letters": probe.classifier},
        search=Search(random=0, ascents=0),
    )
    assert "task letters at the cap" not in {step.origin for step in capped.trace}
    assert capped.classifier.norm <= 0.5 * probe.norm * (1 + 1e-9)


def test_a_task_keeps_the_names_of_its_classes():
    # three corners in one place of the source: three classes are told apart worse than two can be
    corners = np.array([[0.0, 1.0], [np.sqrt(0.75), -0.5], [-np.sqrt(0.75), -0.5]])
    h, g = np.tile(corners, (10, 1)), np.repeat(np.arange(10.0), 3)[:, None]
    task = Classifier(20.0 * corners, np.zeros(3), ("red", "green", "blue"))
    found = worst_case(
        target=h,
        source=g,
        cap=2.0 * task.norm,
        tasks={"colour": task},
        search=Search(random=2, ascents=0, classes=2),
    )
    assert found.origin.startswith("task colour")
    assert found.classifier.classes == found.imitation.classes == ("red", "green", "blue")
    assert found.value == pytest.approx(np.sqrt(2 / 3), rel=1e-3)


def test_an_affine_image_hides_nothing(pair):
    copy = pair.source.rows @ np.random.default_rng(0).standard_normal((6, 6)) + 1.0
    found = worst_case(target=copy, source=pair.source.rows, cap=1.0, search=SMALL)
    assert found.value < 1e-6
    assert found.certified == pytest.approx(0.0, abs=1e-6)


def test_rows_stay_paired_by_id(pair):
    one = worst_case(target=pair.target, source=pair.source, cap=0.3, search=SMALL)
    other = pair.source.take(pair.source.ids[::-1])
    two = worst_case(target=pair.target, source=other, cap=0.3, search=SMALL)
    assert one.value == pytest.approx(two.value, rel=1e-9)


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(pair):
    same = [
        worst_case(target=pair.target, source=pair.source, cap=0.3, search=SMALL).to_dict()
        for _ in range(2)
    ]
    assert same[0] == same[1]
    other = worst_case(
        target=pair.target,
        source=pair.source,
        cap=0.3,
        search=Search(random=6, ascents=2, steps=10, rng=1),
    )
    assert other.to_dict()["trace"] != same[0]["trace"]


def test_three_classes_reach_further_than_two():
    h, g = halves()
    found = worst_case(target=h, source=g, cap=50.0, search=Search(random=4, classes=3))
    assert found.attainable == pytest.approx(np.sqrt(2 / 3))
    assert np.sqrt(0.5) * 0.99 <= found.value <= found.attainable


def test_the_result_survives_its_file(pair, split, tmp_path):
    found = worst_case(
        target=pair.target,
        source=pair.source,
        cap=0.3,
        split=split,
        affine=pair.affine,
        search=SMALL,
    )
    found.save(tmp_path / "worst.json")
    back = WorstCase.load(tmp_path / "worst.json")
    assert back.to_dict() == found.to_dict()
    (row,) = back.to_frame().to_dict("records")
    assert (row["cap"], row["value"], row["bound"]) == (0.3, found.value, found.check.bound)


def test_projection_takes_off_what_all_classes_share():
    weight = project(np.ones((3, 2)), 1.0)
    np.testing.assert_array_equal(weight, np.zeros((3, 2)))


@pytest.mark.parametrize("cap", [0.0, -1.0, float("inf"), float("nan")])
def test_a_cap_is_needed(pair, cap):
    with pytest.raises(InputError, match=r"The cap is .*; a finite number above 0 is needed"):
        worst_case(target=pair.target, source=pair.source, cap=cap)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"random": -1}, r"A search of -1 random directions, 3 ascents and 25 steps was asked for"),
        ({"classes": 1}, r"1 classes were asked for; a classifier tells at least 2 apart"),
    ],
)
def test_searches_that_are_none_are_refused(options, text):
    with pytest.raises(InputError, match=text):
        Search(**options)


def test_nothing_to_try_is_refused(pair):
    with pytest.raises(
        InputError, match=r"There is no classifier to try: no task, no random direction"
    ):
        worst_case(target=pair.source, source=pair.source, cap=1.0, search=Search(random=0))


def test_probes_of_another_space_are_refused(pair):
    probe = fit_probe(pair.source, pair.labels)
    with pytest.raises(
        InputError, match=r"The probe of letters reads 6 coordinates and target model has 8"
    ):
        worst_case(target=pair.target, source=pair.source, cap=1.0, tasks={"letters": probe})


def test_rows_of_different_texts_are_refused(pair):
    short = pair.source.take(pair.source.ids[:100])
    with pytest.raises(
        RowMismatchError, match=r"target model has 240 ids and source model has 100"
    ):
        worst_case(target=pair.target, source=short, cap=1.0)
    bare = cs.Space(pair.source.rows, name="bare")
    with pytest.raises(RowMismatchError, match=r"target model has ids and bare has none"):
        worst_case(target=pair.target, source=bare, cap=1.0)
    with pytest.raises(
        RowMismatchError, match=r"target model lacks 1 of the 1 ids that the split names"
    ):
        worst_case(target=pair.target, source=pair.source, cap=1.0, split=Split(("x",), ("y",)))


def test_too_few_rows_are_refused(pair):
    with pytest.raises(InputError, match=r"8 training rows were given; at least 10 are needed"):
        worst_case(target=pair.target.rows[:8], source=pair.source.rows[:8], cap=1.0)
