"""Where rows come from: rows of another site are refused, for their width gives nothing away."""

from __future__ import annotations

import numpy as np
import pytest

import cospace as cs
from cospace.errors import InputError
from cospace.shared import RetrievalSet, SharedSpace, score_shared
from cospace.space import Space


def at(rows, name, start=0, **facts):
    ids = tuple(f"t{start + i}" for i in range(len(rows)))
    told = {"site": "block.2", "depth": 0.5, "pooling": "mean", "weights_hash": "a" * 64} | facts
    return Space(rows, ids=ids, name=name, facts=told)


@pytest.fixture
def spaces(planted):
    return {name: at(rows, name) for name, rows in planted(n=60, models=3).items()}


def test_a_space_remembers_where_its_rows_come_from(spaces, tmp_path):
    space = SharedSpace(width=4, scaling="none", method="gpa").fit(
        {k: spaces[k] for k in ("m0", "m1")}
    )
    assert space.members_["m0"].source["site"] == "block.2"
    space.add("m2", spaces["m2"])
    space.save(tmp_path / "s.safetensors")
    again = cs.SharedSpace.load(tmp_path / "s.safetensors")
    assert again.members_["m2"].source == space.members_["m2"].source
    assert again.members_["m2"].source["depth"] == 0.5
    rows = spaces["m0"].rows
    assert np.array_equal(again.transform(rows, "m0"), space.transform(spaces["m0"], "m0"))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"site": "block.5"}, "Rows of m0 have site block.5 and the space was fitted on block.2"),
        ({"pooling": "last"}, "have pooling last and the space was fitted on mean: give rows as"),
        ({"weights_hash": "b" * 64}, "have weights bbbbbbbbbbbb and the space was fitted on aaaa"),
    ],
)
def test_rows_of_another_site_are_refused(spaces, facts, told):
    space = SharedSpace(width=4, scaling="none", method="gpa").fit(spaces)
    wrong = at(spaces["m0"].rows, "m0", **facts)
    with pytest.raises(InputError, match=told):
        space.transform(wrong, "m0")
    with pytest.raises(InputError, match=told):
        space.translate(wrong, source="m0", target="m1")
    with pytest.raises(InputError, match=told):
        space.inverse_error(wrong, "m0")


def test_a_set_of_another_site_is_refused(spaces):
    other = {k: at(s.rows, k, start=100, site="block.9") for k, s in spaces.items()}
    with pytest.raises(InputError, match=r"Rows of m0 have site block\.9"):
        score_shared(spaces, [RetrievalSet("new", other)], methods=("gpa",), folds=2)
