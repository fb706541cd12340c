"""Generalized Procrustes from blocks, against the classical algorithm on rows."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError
from cospace.shared.blocks import Blocks
from cospace.shared.procrustes import generalized_procrustes
from cospace.shared.scaling import Encoder


def classical(tables, *, tol=1e-7, sweeps=20_000, start=None):
    """Rows to their mean, in turn, plainly: maps and loss. From the first one, or given maps."""
    maps = start
    if maps is None:
        maps = [np.eye(tables[0].shape[1])]
        for table in tables[1:]:
            u, _, vt = np.linalg.svd(table.T @ tables[0], full_matrices=False)
            maps.append(u @ vt)
    before = np.inf
    for _ in range(sweeps):
        centre = np.mean([t @ r for t, r in zip(tables, maps, strict=True)], axis=0)
        loss = sum(np.sum((t @ r - centre) ** 2) for t, r in zip(tables, maps, strict=True))
        if before - loss <= tol * loss:
            break
        before, maps = loss, []
        for table in tables:
            u, _, vt = np.linalg.svd(table.T @ centre, full_matrices=False)
            maps.append(u @ vt)
    return maps, loss


def encoded(blocks, spaces):
    return [e(spaces[e.name]) for e in blocks.encoders]


def consensus(tables, maps):
    return np.mean([t @ r for t, r in zip(tables, maps, strict=True)], axis=0)


def best_turn(a, b):
    u, _, vt = np.linalg.svd(a.T @ b)
    return u @ vt


@pytest.mark.parametrize("seed", range(5))
def test_from_moments_equals_from_rows(planted, seed):
    """Both at the stationary point: the loss, and the consensus up to one rotation, to 1e-8."""
    spaces = planted(seed, noise=0.4)
    blocks = Blocks.of_rows(spaces, width=6)
    found = generalized_procrustes(blocks, tol=1e-12)
    tables = encoded(blocks, spaces)
    maps, loss = classical(tables, tol=1e-16)
    assert found.loss == pytest.approx(loss / 4, abs=1e-12)
    ours, theirs = consensus(tables, found.maps), consensus(tables, maps)
    assert np.allclose(ours @ best_turn(ours, theirs), theirs, rtol=0, atol=1e-8)
    assert found.residual < 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_no_worse_than_the_classical_algorithm_from_any_model(planted, seed):
    """Where noise is as large as what is shared, and searches end at different maps."""
    spaces = planted(seed, models=5, n=400, k=20, noise=1.2)
    blocks = Blocks.of_rows(spaces, width=20)
    tables = encoded(blocks, spaces)
    reached = []
    for first in range(5):
        turned = [tables[first], *tables[:first], *tables[first + 1 :]]
        reached.append(classical(turned, tol=1e-9)[1] / 5)
    assert generalized_procrustes(blocks).loss <= min(reached) + 1e-6


def test_the_loss_of_blocks_is_that_of_the_rows(spaces):
    blocks = Blocks.of_rows(spaces, width=6)
    found = generalized_procrustes(blocks)
    tables = encoded(blocks, spaces)
    centre = consensus(tables, found.maps)
    plain = sum(np.sum((t @ r - centre) ** 2) for t, r in zip(tables, found.maps, strict=True))
    assert found.loss == pytest.approx(plain / 4, abs=1e-12)


def test_planted_rotations_come_back(planted):
    spaces = planted(noise=0.0)
    blocks = Blocks.of_rows(spaces, width=6)
    found = generalized_procrustes(blocks)
    tables = encoded(blocks, spaces)
    aligned = [t @ r for t, r in zip(tables, found.maps, strict=True)]
    assert found.loss < 1e-12
    for one in aligned[1:]:
        assert np.allclose(one, aligned[0], rtol=0, atol=1e-7)


def test_planted_rotations_with_noise_come_back_as_well_as_the_noise_allows(planted):
    clean, noisy = planted(noise=0.0), planted(noise=0.3)
    blocks = Blocks.of_rows(noisy, width=6)
    found = generalized_procrustes(blocks)
    centre = consensus(encoded(blocks, noisy), found.maps)
    truth = clean["m0"] - clean["m0"].mean(axis=0)
    truth /= np.linalg.norm(truth)
    centre /= np.linalg.norm(centre)
    shared = np.linalg.svd(centre.T @ truth, compute_uv=False).sum()
    alone = noisy["m0"] - noisy["m0"].mean(axis=0)
    single = np.linalg.svd((alone / np.linalg.norm(alone)).T @ truth, compute_uv=False).sum()
    assert shared > 0.99
    assert shared > single


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scales", [False, True])
def test_the_objective_never_rises(planted, seed, scales):
    """Fault: a reference that is never updated."""
    blocks = Blocks.of_rows(planted(seed, noise=2.0, widths=[6, 8, 7, 6]), width=6)
    found = generalized_procrustes(blocks, scales=scales, tol=1e-10)
    steps = np.diff(found.objective)
    assert (steps <= 0.0).all()
    assert found.objective[-1] < found.objective[0]
    assert found.stopped in ("stationary", "rounding")


@pytest.mark.parametrize("scales", [False, True])
def test_the_order_of_models_changes_nothing(planted, scales):
    """Fault: a start from the first model."""
    spaces = planted(3, noise=1.5, widths=[6, 8, 7, 6])
    for order in ([3, 1, 0, 2], [1, 2, 3, 0]):
        one, other = (
            Blocks.of_rows({f"m{i}": spaces[f"m{i}"] for i in some}, width=6)
            for some in (range(4), order)
        )
        a, b = (generalized_procrustes(x, scales=scales) for x in (one, other))
        assert a.loss == pytest.approx(b.loss, abs=1e-12)
        for place, name in enumerate(order):
            assert np.allclose(a.maps[name], b.maps[place], rtol=0, atol=1e-8)


def test_maps_have_orthonormal_rows_and_axes_are_those_of_the_consensus(spaces):
    blocks = Blocks.of_rows(spaces, width=9)
    assert blocks.widths == (6, 9, 9, 7)
    found = generalized_procrustes(blocks)
    for one in found.maps:
        assert np.allclose(one @ one.T, np.eye(len(one)), rtol=0, atol=1e-10)
    centre = consensus(encoded(blocks, spaces), found.maps)
    gram = centre.T @ centre
    assert np.allclose(gram, np.diag(np.diag(gram)), rtol=0, atol=1e-10)
    assert (np.diff(np.diag(gram)) <= 1e-12).all()
    stacked = np.concatenate(found.maps)
    assert (stacked[np.abs(stacked).argmax(axis=0), range(9)] > 0).all()


def test_the_residual_is_the_gradient_along_the_maps(planted):
    spaces = planted(1, noise=1.0)
    blocks = Blocks.of_rows(spaces, width=6)
    found = generalized_procrustes(blocks, tol=1e-2, sweeps=3)
    rng = np.random.default_rng(0)

    def agreement(maps):
        whole = np.concatenate(maps)
        return np.trace(whole.T @ blocks.whole @ whole)

    slope = 0.0
    for m in range(4):
        skew = rng.normal(size=(6, 6))
        skew -= skew.T
        skew /= np.linalg.norm(skew)
        step = 1e-5
        ends = []
        for sign in (1, -1):
            maps = list(found.maps)
            maps[m] = np.linalg.solve(
                np.eye(6) - sign * step / 2 * skew, (np.eye(6) + sign * step / 2 * skew) @ maps[m]
            )
            ends.append(agreement(maps))
        slope = max(slope, abs(ends[0] - ends[1]) / (2 * step))
    whole = np.concatenate(found.maps)
    size = 2 * np.linalg.norm(blocks.whole @ whole)
    assert slope <= found.residual * size * (1 + 1e-6)


def test_scales_are_the_best_under_the_constraint(planted):
    """Fault: scales that shrink with the consensus, sweep by sweep."""
    spaces = planted(2, noise=0.5)
    spaces["m2"] = spaces["m2"] + 4.0 * np.random.default_rng(9).normal(size=(200, 6))
    blocks = Blocks.of_rows(spaces, width=6)
    found = generalized_procrustes(blocks, scales=True, tol=1e-11)
    assert np.sum(np.square(found.scales)) == pytest.approx(4.0, abs=1e-10)
    assert found.scales[2] < min(found.scales[m] for m in (0, 1, 3))
    turns = [one / s for one, s in zip(found.maps, found.scales, strict=True)]
    assert all(np.allclose(t @ t.T, np.eye(6), rtol=0, atol=1e-10) for t in turns)

    def loss(scales):
        scales = np.asarray(scales) * 2.0 / np.linalg.norm(scales)
        tables = [s * t for s, t in zip(scales, encoded(blocks, spaces), strict=True)]
        centre = consensus(tables, turns)
        return sum(np.sum((t @ r - centre) ** 2) for t, r in zip(tables, turns, strict=True)) / 4

    assert found.loss == pytest.approx(loss(found.scales), abs=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert loss(found.scales + 0.05 * rng.normal(size=4)) >= found.loss - 1e-12
    assert found.loss < generalized_procrustes(blocks).loss


def test_texts_that_models_lack_do_not_bend_the_maps(planted):
    """Fault: missing rows; here each model lacks the texts at one end of an axis, so means differ."""
    whole = planted(5, noise=0.0)
    latent = whole["m0"] - whole["m0"].mean(axis=0)
    axis = np.linalg.svd(latent, full_matrices=False)[0][:, 0]
    present = {
        "m0": np.ones(200, dtype=bool),
        "m1": axis > np.quantile(axis, 0.3),
        "m2": axis < np.quantile(axis, 0.7),
        "m3": np.random.default_rng(0).random(200) > 0.3,
    }
    # Own size is divided out per model: the same factor for all keeps the planted turn exact.
    rows = {name: x[present[name]] for name, x in whole.items()}
    encoders = [Encoder(name, x.mean(axis=0), np.eye(6)) for name, x in rows.items()]
    blocks = Blocks.of_encoded(encoders, [e(rows[e.name]) for e in encoders], present=present)
    found = generalized_procrustes(blocks)
    assert found.loss < 1e-10
    aligned = [
        e(whole[e.name]) @ r + t for e, r, t in zip(encoders, found.maps, found.shift, strict=True)
    ]
    for one in aligned[1:]:
        assert np.allclose(one, aligned[0], rtol=0, atol=1e-5)


def test_why_it_stopped_is_told(planted):
    blocks = Blocks.of_rows(planted(4, noise=3.0), width=6)
    few = generalized_procrustes(blocks, sweeps=2, tol=1e-12)
    assert (few.stopped, few.sweeps) == ("sweeps", 2)
    assert few.residual > 1e-12
    done = generalized_procrustes(blocks, tol=1e-6)
    assert done.stopped == "stationary"
    assert done.residual <= 1e-6
    assert generalized_procrustes(blocks, tol=1e-30, sweeps=3000).stopped == "rounding"


@pytest.mark.parametrize(
    ("options", "told"),
    [({"tol": 0.0}, "tol is 0.0; a number above 0"), ({"sweeps": 0}, "sweeps is 0; at least 1")],
)
def test_options_that_make_no_sense_are_refused(planted, options, told):
    with pytest.raises(InputError, match=told):
        generalized_procrustes(Blocks.of_rows(planted(), width=2), **options)
