"""The published recipe, step by step against its own text, and beside the solved problem."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError
from cospace.homotopy import LegacyDistance, affine_distance, legacy_distance


def rows(seed, n=150, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def by_the_text(h, g, rate, batch, epochs, seed):
    """Autodiff of the largest row loss of a batch, plain steps, largest loss met in the last pass."""
    rng = np.random.default_rng(seed)
    p, d = g.shape[1], h.shape[1]
    matrix = torch.tensor(rng.uniform(-1, 1, size=(p, d)) * p**-0.5, requires_grad=True)
    offset = torch.tensor(rng.uniform(-1, 1, size=d) * p**-0.5, requires_grad=True)
    for _ in range(epochs):
        met = []
        order = rng.permutation(len(h))
        for start in range(0, len(h), batch):
            part = order[start : start + batch]
            rest = torch.tensor(g[part]) @ matrix + offset - torch.tensor(h[part])
            loss = rest.square().mean(dim=1).max()
            met.append(float(loss.detach()))
            loss.backward()
            with torch.no_grad():
                for parameter in (matrix, offset):
                    parameter -= rate * parameter.grad
                    parameter.grad = None
    return max(met)


def test_every_step_is_that_of_the_text():
    target, source = rows(0), rows(1, d=4)
    found = legacy_distance(
        target=target, source=source, rates=(0.01, 0.1), batch=32, epochs=4, rng=7
    )
    losses = [by_the_text(target, source, rate, 32, 4, 7) for rate in (0.01, 0.1)]
    assert [one.loss for one in found.rates] == pytest.approx(losses, rel=1e-10)
    assert found.loss == min(one.loss for one in found.rates)
    assert found.value == pytest.approx((3 * min(losses)) ** 0.5, rel=1e-10)
    assert found.rate in (0.01, 0.1)


def test_its_value_is_not_below_the_solved_problem_where_the_map_stands_still():
    """A tiny step hardly moves the map: the value is a row error of that map, so above the optimum."""
    target, source = rows(0), rows(1)
    found = legacy_distance(target=target, source=source, rates=(1e-9,), epochs=1)
    assert found.value > affine_distance(target=target, source=source).lower


def test_defaults_are_those_of_the_recipe():
    found = legacy_distance(target=rows(0), source=rows(1))
    assert [one.rate for one in found.rates] == [1e-4, 1e-3, 1e-2, 1e-1]
    assert found.settings == {"batch": 128, "epochs": 20, "seed": 42, "matched_by": "position"}
    assert found.n == 150


def test_a_rate_that_diverges_is_told_and_passed_over():
    target, source = rows(0), 100.0 * rows(1)
    found = legacy_distance(target=target, source=source, rates=(1e-6, 1.0), epochs=60)
    assert found.rates[1].loss is None
    assert found.rate == 1e-6
    with pytest.raises(UndefinedMeasureError, match="Every learning rate of 1, 10 diverged"):
        legacy_distance(target=target, source=source, rates=(1.0, 10.0), epochs=60)


def test_a_value_survives_its_file(tmp_path):
    found = legacy_distance(target=rows(0), source=rows(1), epochs=2)
    found.save(tmp_path / "legacy.json")
    assert LegacyDistance.load(tmp_path / "legacy.json") == found
    assert len(found.to_frame()) == 4


@pytest.mark.parametrize(
    "options", [{"batch": 0}, {"epochs": 0}, {"rates": ()}, {"rates": (0.1, -1.0)}]
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError, match="at least 1 row, 1 pass and one positive learning rate"):
        legacy_distance(target=rows(0), source=rows(1), **options)


def test_rows_that_do_not_match_are_refused():
    with pytest.raises(RowMismatchError, match="target has 150 rows and source has 149"):
        legacy_distance(target=rows(0), source=rows(1, n=149))


def test_progress_counts_passes():
    told = []
    legacy_distance(
        target=rows(0),
        source=rows(1),
        rates=(0.1, 0.01),
        epochs=2,
        progress=lambda *step: told.append(step),
    )
    assert told == [
        ("learning rate 0.1", 1, 4),
        ("learning rate 0.1", 2, 4),
        ("learning rate 0.01", 3, 4),
        ("learning rate 0.01", 4, 4),
    ]
