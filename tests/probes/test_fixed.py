"""Imitation of a fixed classifier: against an exact solver, on known cases, held out and refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import cospace as cs
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError
from cospace.probes import FixedClassifier, Split, fit_probe, fixed_classifier
from cospace.probes.certificate import certified_error
from cospace.probes.classifier import softmax
from cospace.probes.imitation import Source, constant_error, imitate


def exact(g, wanted):
    """Least largest row error for two classes: bisection over linear programs on all rows."""
    p, x = wanted[:, 0], np.column_stack([g, np.ones(len(g))])
    low, high = 0.0, 1.0
    for _ in range(40):
        t = 0.5 * (low + high)
        above, below = p - t > 0.0, p + t < 1.0
        table = np.concatenate([x[below], -x[above]])
        top, floor = p[below] + t, p[above] - t
        limit = np.concatenate([np.log(top / (1 - top)), -np.log(floor / (1 - floor))])
        found = linprog(
            np.zeros(x.shape[1]),
            A_ub=table,
            b_ub=limit,
            bounds=[(None, None)] * x.shape[1],
            method="highs",
        )
        low, high = (low, t) if found.status == 0 else (t, high)
    return np.sqrt(2.0) * high


def two_classes(seed, n=120, p=5, noise=0.3, scale=2.0):
    rng = np.random.default_rng(seed)
    h = rng.standard_normal((n, 6))
    g = h @ rng.standard_normal((6, p)) + noise * rng.standard_normal((n, p))
    way = rng.standard_normal(6)
    logit = scale * h @ way / np.linalg.norm(way) + rng.standard_normal()
    return g, softmax(np.column_stack([logit, np.zeros(n)]))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("scale", [0.3, 2.0, 8.0])
def test_imitations_of_two_classes_meet_the_exact_solver(seed, scale):
    g, wanted = two_classes(seed, scale=scale)
    found = imitate(Source.of(g, 5), wanted, ("a", "b"))
    best = exact(g, wanted)
    assert best * (1 - 1e-6) <= found.sup <= best * 1.001
    proved = certified_error(Source.of(g, 5).design, wanted, found.weight, found.offset)
    assert 0.997 * best <= proved <= best * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_certificate_of_three_classes_stays_below(seed):
    rng = np.random.default_rng(seed)
    g = rng.standard_normal((80, 3))
    wanted = softmax(g @ rng.standard_normal((3, 3)) + rng.standard_normal((80, 3)))
    found = imitate(Source.of(g, 3), wanted, ("a", "b", "c"))
    proved = certified_error(Source.of(g, 3).design, wanted, found.weight, found.offset)
    assert 0.5 * found.sup < proved <= found.sup


def test_the_certificate_of_what_is_met_is_zero():
    g = np.random.default_rng(0).standard_normal((40, 2))
    weight, offset = np.array([[1.0, 2.0], [0.0, 0.0]]), np.zeros(2)
    wanted = softmax(g @ weight.T)
    assert certified_error(g, wanted, weight, offset) == 0.0


def test_equal_source_rows_are_met_halfway():
    g = np.repeat(np.arange(8.0), 2)[:, None]
    p = np.tile([0.25, 0.75], 8)
    found = imitate(Source.of(g, 1), np.column_stack([p, 1 - p]), ("a", "b"))
    assert found.sup == pytest.approx(0.25 * np.sqrt(2), rel=1e-4)


def test_the_best_constant_is_the_middle_of_the_smallest_ball():
    wanted = np.eye(3)
    assert constant_error(wanted) == pytest.approx(np.sqrt(2 / 3), rel=1e-3)
    assert constant_error(wanted) <= np.sqrt(2 / 3) * (1 + 1e-12)
    p = np.array([0.1, 0.5, 0.6])
    assert constant_error(np.column_stack([p, 1 - p])) == pytest.approx(0.25 * np.sqrt(2), rel=1e-3)


def test_no_candidate_is_better_than_the_value(pair):
    found = fixed_classifier(
        target=pair.target, source=pair.source, labels=pair.labels, affine=pair.affine
    )
    assert found.in_sample.sup <= min(attempt.sup for attempt in found.attempts) + 1e-12
    tried = {attempt.origin for attempt in found.attempts}
    assert {"constant", "cross_entropy", "logits", "composed, all coordinates"} <= tried
    assert found.in_sample.sup <= found.constant + 1e-9 <= found.attainable + 2e-9


def test_an_affine_copy_imitates_exactly_and_a_truncated_one_only_one_way(pair):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 6))
    y = ["b" if v > 0 else "a" for v in x[:, 5] + 0.3 * rng.standard_normal(200)]
    copy = x @ rng.standard_normal((6, 9)) + 2.0
    assert fixed_classifier(target=x, source=copy, labels=y).in_sample.sup < 1e-9
    assert fixed_classifier(target=copy, source=x, labels=y).in_sample.sup < 1e-9
    less = x[:, :5] @ rng.standard_normal((5, 6))
    assert fixed_classifier(target=less, source=x, labels=y).in_sample.sup < 1e-9
    assert fixed_classifier(target=x, source=less, labels=y).in_sample.sup > 0.3


def test_numbers_are_those_of_the_two_sets_of_probabilities(pair, split):
    found = fixed_classifier(
        target=pair.target, source=pair.source, labels=pair.labels, split=split, affine=pair.affine
    )
    for side, rows, told in (
        ("in-sample", slice(0, 180), found.in_sample),
        ("held out", slice(180, 240), found.held_out),
    ):
        p = found.probe.classifier.probabilities(pair.target.rows[rows])
        q = found.imitation.probabilities(pair.source.rows[rows])
        y = np.array(["abc".index(pair.labels[name]) for name in pair.target.ids[rows]])
        l2 = np.sqrt(((p - q) ** 2).sum(axis=1))
        assert told.rows == side
        assert told.n == len(y)
        assert told.sup == pytest.approx(l2.max(), rel=1e-12)
        assert told.mean == pytest.approx(l2.mean(), rel=1e-12)
        assert told.p95 == pytest.approx(np.percentile(l2, 95), rel=1e-12)
        assert told.p99 == pytest.approx(np.percentile(l2, 99), rel=1e-12)
        assert told.tv_sup == pytest.approx((np.abs(p - q).sum(axis=1) / 2).max(), rel=1e-12)
        assert told.tv_mean == pytest.approx(np.abs(p - q).sum(axis=1).mean() / 2, rel=1e-12)
        assert told.disagreement == np.mean(p.argmax(axis=1) != q.argmax(axis=1))
        assert told.accuracy_target == np.mean(p.argmax(axis=1) == y)
        assert told.accuracy_imitation == np.mean(q.argmax(axis=1) == y)
        assert told.accuracy_gap == told.accuracy_target - told.accuracy_imitation
        assert [row.id for row in told.worst] == [
            pair.target.ids[rows][i] for i in np.argsort(-l2)[:5]
        ]
        assert told.worst[0].l2 == told.sup
        assert told.worst[0].label == pair.labels[told.worst[0].id]
    soft = found.soft_in_sample
    assert soft.mean < found.in_sample.mean
    assert soft.sup >= found.in_sample.sup
    assert soft.accuracy_target == found.in_sample.accuracy_target
    assert found.soft_held_out.rows == "held out"


def test_held_out_rows_do_not_touch_what_is_in_sample(pair, split):
    one = fixed_classifier(target=pair.target, source=pair.source, labels=pair.labels, split=split)
    rows = np.array(pair.source.rows)
    rows[180:] += 7.0
    moved = cs.Space(rows, ids=pair.source.ids, name="source model")
    two = fixed_classifier(target=pair.target, source=moved, labels=pair.labels, split=split)
    assert one.in_sample == two.in_sample
    assert one.held_out != two.held_out


def test_rows_stay_paired_by_id(pair):
    order = pair.source.ids[::-1]
    one = fixed_classifier(target=pair.target, source=pair.source, labels=pair.labels)
    two = fixed_classifier(target=pair.target, source=pair.source.take(order), labels=pair.labels)
    assert one.in_sample.sup == pytest.approx(two.in_sample.sup, rel=1e-9)
    assert one.settings["matched_by"] == "ids"
    y = [pair.labels[name] for name in pair.target.ids]
    torn = fixed_classifier(target=pair.target.rows, source=pair.source.rows[::-1], labels=y)
    assert torn.settings["matched_by"] == "position"
    assert one.in_sample.sup < 0.9 * one.constant
    assert torn.in_sample.sup > 0.99 * torn.constant


def test_a_probe_is_used_for_many_sources(pair, split):
    probe = fit_probe(pair.target, pair.labels, split=split)
    one = fixed_classifier(target=pair.target, source=pair.source, labels=pair.labels, split=split)
    two = fixed_classifier(
        target=pair.target, source=pair.source, labels=pair.labels, split=split, probe=probe
    )
    assert one.to_dict() == two.to_dict()


def test_rows_far_from_the_origin_do_not_break_the_bound():
    # an affine copy: the map's error is a rounding, and so is the distance
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 3)) * 1e-3 + 1e5
    y = ["a" if v > 1e5 else "b" for v in x[:, 0]]
    move = rng.standard_normal((3, 3)), rng.standard_normal(3)
    found = fixed_classifier(target=x @ move[0] + move[1], source=x, labels=y, affine=move)
    assert found.probe.norm > 1e3
    assert found.value < 1e-5
    assert found.check.holds
    assert found.check.rounding < 1e-4


def test_the_bound_stands_beside_the_value(pair, split):
    found = fixed_classifier(
        target=pair.target, source=pair.source, labels=pair.labels, split=split, affine=pair.affine
    )
    matrix, offset = pair.affine
    left = pair.source.rows[:180] @ matrix + offset - pair.target.rows[:180]
    error = np.linalg.norm(left, axis=1).max()
    assert found.check.distance == pytest.approx(error, rel=1e-12)
    assert found.value == found.in_sample.sup
    assert found.check.bound == pytest.approx(0.5 * found.probe.norm * error, rel=1e-12)
    assert found.check.holds
    inside, outside = found.records()
    assert (inside["rows"], outside["rows"]) == ("in-sample", "held out")
    assert inside["bound"] == found.check.bound
    assert outside["bound"] is None


def test_the_result_survives_its_file(pair, split, tmp_path):
    found = fixed_classifier(
        target=pair.target, source=pair.source, labels=pair.labels, split=split, affine=pair.affine
    )
    found.save(tmp_path / "fixed.json")
    back = FixedClassifier.load(tmp_path / "fixed.json")
    assert back.to_dict() == found.to_dict()
    assert len(back.to_frame()) == 2


def test_rows_of_different_texts_are_refused(pair):
    short = pair.source.take(pair.source.ids[:200])
    with pytest.raises(
        RowMismatchError,
        match=r"target model has 240 ids and source model has 200, 200 of them shared",
    ):
        fixed_classifier(target=pair.target, source=short, labels=pair.labels)
    with pytest.raises(RowMismatchError, match=r"target has 240 rows and source has 200"):
        fixed_classifier(target=pair.target.rows, source=short.rows, labels=["a", "b"] * 120)


def test_an_affine_map_of_another_shape_is_refused(pair):
    with pytest.raises(
        InputError,
        match=r"a matrix of shape \(8, 8\) and an offset of shape \(8,\); \(6, 8\) and \(8,\) are expected",
    ):
        fixed_classifier(
            target=pair.target,
            source=pair.source,
            labels=pair.labels,
            affine=(np.eye(8), np.zeros(8)),
        )


def test_sources_that_pass_through_every_row_are_refused():
    rng = np.random.default_rng(0)
    g = rng.standard_normal((30, 40))
    with pytest.raises(
        UndefinedMeasureError,
        match=r"source has 30 training rows on 29 coordinates: an imitation passes",
    ):
        Source.of(g, 29)
    with pytest.raises(InputError, match=r"9 training rows were given; at least 10 are needed"):
        Source.of(g[:9])


def test_one_class_is_refused(pair):
    with pytest.raises(InputError, match=r"The 240 training rows have one class \('a'\)"):
        fixed_classifier(target=pair.target, source=pair.source, labels=["a"] * 240)


def test_splits_of_other_ids_are_refused(pair):
    with pytest.raises(
        RowMismatchError, match=r"target model lacks 1 of the 1 ids that the split names"
    ):
        fixed_classifier(
            target=pair.target, source=pair.source, labels=pair.labels, split=Split(("x",), ("y",))
        )
