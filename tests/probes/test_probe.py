"""Probes: what they say on raw rows, what they were fitted on, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import cospace as cs
from cospace.errors import InputError, RowMismatchError
from cospace.probes import Classifier, Probe, Split, fit_probe


def test_a_probe_says_on_raw_rows_what_the_fit_says_on_components(pair, split):
    probe = fit_probe(pair.target, pair.labels, split=split, width=5)
    x = pair.target.rows[:180]
    values, vectors = np.linalg.eigh(np.cov(x.T, ddof=0))
    z = (x - x.mean(axis=0)) @ vectors[:, ::-1][:, :5] / np.sqrt(values[::-1][:5])
    y = [pair.labels[name] for name in pair.target.ids[:180]]
    peer = LogisticRegression(C=1 / (180 * probe.ridge), tol=1e-12, max_iter=10_000).fit(z, y)
    np.testing.assert_allclose(probe.classifier.probabilities(x), peer.predict_proba(z), atol=1e-5)
    assert probe.train.accuracy == pytest.approx(peer.score(z, y))
    assert probe.norm == pytest.approx(np.linalg.norm(probe.classifier.weight, 2), rel=1e-12)


def test_held_out_rows_change_nothing_but_their_scores(pair, split):
    probe = fit_probe(pair.target, pair.labels, split=split)
    rows = np.array(pair.target.rows)
    rows[180:] = 100.0 * np.random.default_rng(0).standard_normal((60, 8))
    other = fit_probe(cs.Space(rows, ids=pair.target.ids), pair.labels, split=split)
    assert probe.ridge == other.ridge
    np.testing.assert_array_equal(probe.classifier.weight, other.classifier.weight)
    assert probe.held_out.log_loss != other.held_out.log_loss


def test_scores_are_those_of_the_predictions(pair, split):
    probe = fit_probe(pair.target, pair.labels, split=split)
    y = [pair.labels[name] for name in split.test]
    p = probe.classifier.probabilities(pair.target.rows[180:])
    at = ["abc".index(label) for label in y]
    assert probe.held_out.n == 60
    assert probe.held_out.accuracy == np.mean(p.argmax(axis=1) == at)
    assert probe.held_out.log_loss == pytest.approx(-np.log(p[np.arange(60), at]).mean())
    train = [pair.labels[name] for name in split.train]
    share = {name: train.count(name) / 180 for name in "abc"}
    common = max(share, key=share.get)
    assert probe.held_out.majority == y.count(common) / 60
    assert probe.held_out.prior_loss == pytest.approx(-np.mean([np.log(share[k]) for k in y]))
    assert probe.held_out.accuracy > probe.held_out.majority + 0.2


def test_the_order_of_ids_does_not_matter(pair, split):
    ids = pair.target.ids[::-1]
    one = fit_probe(pair.target, pair.labels, split=split)
    two = fit_probe(pair.target.take(ids), pair.labels, split=split)
    np.testing.assert_allclose(one.classifier.weight, two.classifier.weight, rtol=0, atol=1e-12)


def test_a_rotated_and_moved_space_gives_the_same_probe(pair, split):
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    moved = cs.Space(pair.target.rows @ q + 3.0, ids=pair.target.ids)
    one = fit_probe(pair.target, pair.labels, split=split)
    two = fit_probe(moved, pair.labels, split=split)
    assert one.norm == pytest.approx(two.norm, rel=1e-5)
    assert one.held_out.log_loss == pytest.approx(two.held_out.log_loss, rel=1e-6)


def test_labels_by_position_and_by_id_agree(pair):
    names = [pair.labels[name] for name in pair.target.ids]
    one, two = fit_probe(pair.target, pair.labels), fit_probe(pair.target.rows, names)
    np.testing.assert_array_equal(one.classifier.weight, two.classifier.weight)
    assert one.held_out is None


def test_the_default_width_is_a_tenth_of_the_training_rows():
    rng = np.random.default_rng(0)
    probe = fit_probe(rng.standard_normal((120, 40)), ["a", "b"] * 60)
    assert probe.width == 12
    assert 0.3 < probe.share < 0.9


def test_one_scale_for_all_components_keeps_the_geometry(pair):
    probe = fit_probe(pair.target, pair.labels, standardise="overall", ridge=0.05)
    x = pair.target.rows - pair.target.rows.mean(axis=0)
    z = x / np.sqrt(np.mean(x**2))
    y = [pair.labels[name] for name in pair.target.ids]
    peer = LogisticRegression(C=1 / (240 * 0.05), tol=1e-12, max_iter=10_000).fit(z, y)
    np.testing.assert_allclose(
        probe.classifier.probabilities(pair.target), peer.predict_proba(z), atol=1e-5
    )


def test_labels_that_say_nothing_are_told_at_the_level_of_their_shares():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((400, 10))
    y = rng.choice(["a", "b"], 400).tolist()
    ids = tuple(map(str, range(400)))
    probe = fit_probe(x, y, split=Split(ids[:300], ids[300:]))
    assert probe.held_out.log_loss == pytest.approx(probe.held_out.prior_loss, abs=0.02)


def test_a_probe_survives_its_file(pair, split, tmp_path):
    probe = fit_probe(pair.target, pair.labels, split=split)
    probe.save(tmp_path / "probe.json")
    back = Probe.load(tmp_path / "probe.json")
    assert back.to_dict() == probe.to_dict()
    np.testing.assert_array_equal(
        back.classifier.logits(pair.target), probe.classifier.logits(pair.target)
    )
    assert [row["rows"] for row in back.to_frame().to_dict("records")] == ["in-sample", "held out"]


def test_separable_classes_are_warned_of(pair):
    x = np.concatenate([np.arange(1.0, 31.0), -np.arange(1.0, 31.0)])[:, None]
    probe = fit_probe(x, ["up"] * 30 + ["down"] * 30)
    assert probe.ridge == 1e-6
    assert "The smallest penalty that is tried (1e-06) was the best" in probe.warnings[0]


REFUSED = [
    (
        {"labels": ["a"] * 40},
        InputError,
        r"The 40 training rows have one class \('a'\): a probe tells",
    ),
    (
        {"labels": ["a"] * 37 + ["b"] * 3},
        InputError,
        r"Class 'b' has 3 of the 40 training rows; at least 5 are needed",
    ),
    (
        {"labels": ["a", "b"] * 19},
        RowMismatchError,
        r"there are 38 labels: one for each row is needed",
    ),
    (
        {"labels": "ab"},
        InputError,
        r"The labels are one string, 'ab'; one for each row is expected",
    ),
    ({"labels": ["a", " "] * 20}, InputError, r"The label of row '1' is ' '; a name is expected"),
    ({"labels": [1, 2] * 20}, InputError, r"The label of row '0' is 1; a name is expected"),
    ({"labels": {"0": "a"}}, RowMismatchError, r"Labels are given by id and target has no ids"),
    (
        {"width": 4},
        InputError,
        r"target has 40 training rows of rank 3; 4 principal components were asked for",
    ),
    (
        {"width": 0},
        InputError,
        r"0 principal components were asked for: give a width between 1 and 3",
    ),
    ({"ridge": 0.0}, InputError, r"The ridge penalty is 0.0; a number above 0 is needed"),
    (
        {"standardise": "zscore"},
        InputError,
        r"standardise='zscore' is unknown: give 'component' or 'overall'",
    ),
    (
        {"split": Split(("0",), ("99",))},
        RowMismatchError,
        r"target lacks 1 of the 1 ids that the split names \(first: '99'\)",
    ),
]


@pytest.mark.parametrize(("change", "error", "text"), REFUSED)
def test_what_is_refused_in_words(change, error, text):
    call = {
        "rows": np.random.default_rng(0).standard_normal((40, 3)),
        "labels": ["a", "b"] * 20,
        **change,
    }
    with pytest.raises(error, match=text):
        fit_probe(call.pop("rows"), call.pop("labels"), **call)


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match=r"9 training rows were given; at least 10 are needed"):
        fit_probe(np.arange(9.0)[:, None], ["a", "b", "a", "b", "a", "b", "a", "b", "a"], ridge=1.0)


def test_rows_that_are_all_the_same_are_refused():
    with pytest.raises(InputError, match=r"All 20 training rows of target are the same"):
        fit_probe(np.ones((20, 3)), ["a", "b"] * 10)


def test_ids_without_label_are_refused(pair):
    with pytest.raises(
        RowMismatchError,
        match=r"240 of the 240 ids of target model have no label \(first: 't000'; labels have ids such as 'x'\)",
    ):
        fit_probe(pair.target, {"x": "a"})


def test_held_out_classes_that_no_training_row_has_are_refused(pair, split):
    labels = dict(pair.labels) | {"t200": "new"}
    with pytest.raises(
        InputError, match=r"Held-out rows have the class 'new', which no training row has"
    ):
        fit_probe(pair.target, labels, split=split)


def test_groups_that_do_not_part_are_refused():
    x = np.random.default_rng(0).standard_normal((40, 3))
    space = cs.Space(x, groups=["g"] * 38 + ["h"] * 2)
    with pytest.raises(
        InputError, match=r"The 2 groups of the training rows do not part into 5 folds"
    ):
        fit_probe(space, ["a", "b"] * 20)


@pytest.mark.parametrize(
    ("train", "test", "text"),
    [
        (("a",), (), "The held-out side of the split names no id"),
        ((), ("a",), "The training side of the split names no id"),
        (("a", "a"), ("b",), "The split names 'a' more than once"),
        (("a", "b"), ("b",), r"1 ids of the split are both fitted and held out \(first: 'b'\)"),
    ],
)
def test_splits_that_are_none_are_refused(train, test, text):
    with pytest.raises(InputError, match=text):
        Split(train, test)


@pytest.mark.parametrize(
    ("weight", "offset", "classes", "text"),
    [
        ([[1.0]], [0.0], ("a",), "A classifier of the classes a was given; at least two different"),
        ([[1.0], [2.0]], [0.0, 0.0], ("a", "a"), "A classifier of the classes a, a was given"),
        (
            [[1.0]],
            [0.0, 0.0],
            ("a", "b"),
            r"has a weight of shape \(1, 1\) and an offset of shape \(2,\)",
        ),
        (
            [[1.0], [np.nan]],
            [0.0, 0.0],
            ("a", "b"),
            "A classifier has weights that are NaN or infinite",
        ),
    ],
)
def test_classifiers_that_are_none_are_refused(weight, offset, classes, text):
    with pytest.raises(InputError, match=text):
        Classifier(np.array(weight), np.array(offset), classes)


def test_rows_of_another_width_are_refused():
    classifier = Classifier(np.eye(2), np.zeros(2), ("a", "b"))
    with pytest.raises(
        InputError, match=r"The rows have width 3 and the classifier reads 2 coordinates"
    ):
        classifier.probabilities(np.ones((4, 3)))
    with pytest.raises(
        InputError,
        match=r"An affine map with a matrix of shape \(3, 3\) and an offset of shape \(3,\)",
    ):
        classifier.after(np.eye(3), np.zeros(3))


def test_a_composed_classifier_reads_the_image(pair):
    rng = np.random.default_rng(0)
    classifier = Classifier(rng.standard_normal((3, 8)), rng.standard_normal(3), ("a", "b", "c"))
    matrix, offset = pair.affine
    image = pair.source.rows @ matrix + offset
    np.testing.assert_allclose(
        classifier.after(matrix, offset).logits(pair.source), classifier.logits(image), atol=1e-10
    )


def test_a_capped_classifier_is_the_nearest_within_the_cap():
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((4, 6))
    weight -= weight.mean(axis=0)
    near = Classifier(weight, np.zeros(4), tuple("abcd")).capped(1.0)
    assert near.norm == pytest.approx(1.0, rel=1e-12)
    apart = np.linalg.norm(near.weight - weight)
    for _ in range(200):
        other = near.weight + 0.1 * rng.standard_normal((4, 6))
        other /= max(1.0, np.linalg.norm(other, 2))
        assert np.linalg.norm(other - weight) >= apart
