from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, UndefinedMeasureError
from cospace.measures.relative import MEASURES, relative_similarity
from cospace.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_claims(measure):
    assert check_measure(measure, rng=3) is None


def by_loops(x, y, anchors):
    def relative(rows):
        unit = [row / np.linalg.norm(row) for row in rows]
        return [
            np.array([0.0 if a == i else unit[i] @ unit[a] for a in anchors])
            for i in range(len(rows))
        ]

    pairs = zip(relative(x), relative(y), strict=True)
    return np.mean([a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in pairs])


def test_equals_its_formula(pair):
    x, y = pair()
    assert relative_similarity(x, y) == pytest.approx(by_loops(x, y, range(40)), abs=1e-12)


def test_anchors_are_drawn_by_the_seed(pair):
    x, y = pair()
    for seed in (0, 1):
        anchors = np.sort(np.random.default_rng(seed).choice(40, 6, replace=False))
        found = relative_similarity(x, y, anchors=6, rng=seed)
        assert found == pytest.approx(by_loops(x, y, anchors), abs=1e-12)
        assert found == relative_similarity(x, y, anchors=6, rng=np.random.default_rng(seed))
    assert relative_similarity(x, y, anchors=40) == pytest.approx(relative_similarity(x, y))


def test_narrow_cones_are_alike_by_chance():
    """Fault: a high baseline of cosines read as likeness."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50, 8))
    assert abs(relative_similarity(x, y)) < 0.1
    assert relative_similarity(x + 5, y + 5) > 0.95


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda x: relative_similarity(x, x, anchors=1),
            InputError,
            "1 anchors were asked for; from 2 to all 40 rows can be anchors",
        ),
        (
            lambda x: relative_similarity(x, x, anchors=41),
            InputError,
            "41 anchors were asked for; from 2 to all 40 rows",
        ),
        (
            lambda x: relative_similarity(x, np.vstack([x[:39], 0 * x[:1]])),
            UndefinedMeasureError,
            "Row 39 is zero: it has no direction, so no cosines to anchors",
        ),
        (
            lambda x: relative_similarity(np.eye(4), np.eye(4)),
            UndefinedMeasureError,
            "All rows relate alike: there is nothing to compare",
        ),
        (
            lambda x: relative_similarity(np.ones((4, 2)), np.ones((4, 2))),
            UndefinedMeasureError,
            "All rows relate alike: there is nothing to compare",
        ),
        (
            lambda x: relative_similarity(
                *[np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 1.0]])] * 2
            ),
            UndefinedMeasureError,
            "Row 3 is at right angles to every anchor: it has no relative representation",
        ),
    ],
)
def test_refusals(pair, call, error, text):
    with pytest.raises(error, match=text):
        call(pair()[0])
