"""Rank and leading share of a space: the short way says what the whole spectrum says."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg

from cospace.comparison import facts
from cospace.comparison.facts import space_facts
from cospace.space import Space

N, WIDTH = 600, 150


def rows(kind):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, WIDTH))
    if kind == "rogue coordinates":
        x[:, :3] *= 1e4
    elif kind == "a missing direction":
        x[:, -1] = x[:, :-1] @ rng.standard_normal(WIDTH - 1)
    elif kind == "a direction below the tolerance":
        x[:, 0] *= 3e-8
    elif kind == "a direction just above it":
        x[:, 0] *= 3e-6
    elif kind == "a direction nearly missing":
        x[:, -1] = x[:, 0] + 1e-4 * x[:, -1]
    elif kind == "a constant column":
        x[:, 7] = 5.0
    elif kind == "one direction rules":
        x += 300 * rng.standard_normal((N, 1)) @ rng.standard_normal((1, WIDTH))
    elif kind == "large numbers":
        x *= 1e60
    elif kind == "small numbers":
        x *= 1e-60
    elif kind == "few rows":
        x = x[:100]
    return x + 10.0 * (kind == "offset")


KINDS = {
    "plain": True,
    "offset": True,
    "rogue coordinates": True,
    "large numbers": True,
    "small numbers": True,
    "a direction just above it": None,
    "one direction rules": None,
    "a missing direction": False,
    "a direction below the tolerance": False,
    "a direction nearly missing": False,
    "a constant column": False,
    "few rows": False,
}
"""Whether single precision proves that no direction is missing; None where either would do."""


@pytest.mark.parametrize("kind", KINDS)
def test_rank_and_leading_share_are_those_of_the_singular_values(kind):
    x = rows(kind)
    found = space_facts(Space(x, name="s"))
    s = np.linalg.svd((x - x.mean(0)) / np.abs(x).max(), compute_uv=False)
    assert found.rank == np.count_nonzero(s > 1e-6 * s[0])
    assert found.leading_share == pytest.approx(s[0] ** 2 / np.sum(s**2), rel=1e-5)
    if KINDS[kind] is not None:
        centred = (x - x.mean(0)) / np.abs(x).max()
        assert (facts._leading_of_full(centred) is not None) == KINDS[kind]


def test_where_the_leading_direction_is_not_found_the_whole_spectrum_is(monkeypatch):
    def fails(*_, **__):
        raise scipy.sparse.linalg.ArpackNoConvergence("no", [], [])

    expected = space_facts(Space(rows("plain"), name="s")).leading_share
    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", fails)
    found = space_facts(Space(rows("plain"), name="s"))
    assert found.leading_share == pytest.approx(expected, rel=1e-5)
    assert found.rank == WIDTH
