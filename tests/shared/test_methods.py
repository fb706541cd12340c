"""Every method on the same blocks, against the maps of cospace.maps and by definition."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.maps import fit_map
from cospace.shared.blocks import Blocks
from cospace.shared.methods import METHODS, Training
from cospace.shared.retrieval import retrieve


@pytest.fixture(scope="module")
def training(spaces):
    blocks = Blocks.of_rows(spaces, width=5)
    return Training(blocks, [e(spaces[e.name]) for e in blocks.encoders])


@pytest.mark.parametrize(
    ("name", "method"), [("least_squares", "affine"), ("procrustes", "orthogonal")]
)
def test_pairwise_maps_are_those_of_fit_map(training, name, method):
    found = METHODS[name].fit(training, 0.0)
    z = training.rows
    for a, b in ((0, 1), (3, 2)):
        wanted = fit_map(source=z[a], target=z[b], method=method, folds=0).points(z[a])
        assert np.allclose(found.query(a, b, z[a]), wanted, rtol=0, atol=1e-8)
        assert found.answer(a, b, z[b]) is z[b]


def test_ridge_solves_its_normal_equations(training):
    found = METHODS["ridge"].fit(training, 0.3)
    x, y = training.rows[1], training.rows[2]
    penalty = 0.3 * np.trace(x.T @ x) / 5
    wanted = np.linalg.solve(x.T @ x + penalty * np.eye(5), x.T @ y)
    assert np.allclose(found.maps[1, 2], wanted, rtol=0, atol=1e-10)


def test_relative_representations_are_cosines_to_the_same_anchors(training):
    found = METHODS["relative"].fit(training, 0.0)
    x = training.rows[0]
    row = found.query(0, 1, x[:1])[0]
    for place in (0, 7):
        cosine = x[0] @ x[place] / np.linalg.norm(x[0]) / np.linalg.norm(x[place])
        assert row[place] == pytest.approx(cosine)


def test_the_correction_is_one_for_all_models_and_evens_what_lies_about_the_consensus(training):
    plain, found = (METHODS[n].fit(training, 0.0) for n in ("gpa", "gcpa"))
    corrections = [
        np.linalg.lstsq(a, b, rcond=None)[0] for a, b in zip(plain.maps, found.maps, strict=True)
    ]
    for one in corrections[1:]:
        assert np.allclose(one, corrections[0], rtol=0, atol=1e-7)
    images = [found.query(m, 0, z) for m, z in enumerate(training.rows)]
    centre = np.mean(images, axis=0)
    about = sum((one - centre).T @ (one - centre) for one in images)
    assert np.allclose(about, np.eye(5), rtol=0, atol=1e-6)


def test_floors_are_not_fitted(training):
    raw = METHODS["raw"].fit(training, 0.0)
    assert np.array_equal(raw.query(0, 1, training.rows[0]), training.rows[0])
    random = METHODS["random"].fit(training, 0.0)
    turn = random.maps[0]
    assert np.allclose(turn @ turn.T, np.eye(5), rtol=0, atol=1e-10)
    again = METHODS["random"].fit(training, 0.0)
    assert np.array_equal(turn, again.maps[0])


def test_fitted_methods_find_and_floors_do_not(planted):
    spaces = planted(n=300, noise=0.15)
    blocks = Blocks.of_rows({k: v[:200] for k, v in spaces.items()}, width=6)
    rows = [e(spaces[e.name][:200]) for e in blocks.encoders]
    unseen = [e(spaces[e.name][200:]) for e in blocks.encoders]
    for name, method in METHODS.items():
        if name == "raw":  # planted models have the same principal axes up to sign
            continue
        found = method.fit(Training(blocks, rows), method.ridges[0])
        top1 = retrieve(found.query(0, 1, unseen[0]), found.answer(0, 1, unseen[1])).top1.mean()
        assert (top1 > 0.8) == (method.kind != "floor"), (name, top1)
