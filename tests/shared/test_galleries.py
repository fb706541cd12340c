"""Galleries of one group or one length: a signal that lies in these alone is worth nothing there."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, UnknownNameError
from cospace.shared import RetrievalSet, score_shared
from cospace.shared.galleries import galleries, same_group, similar_length
from cospace.shared.retrieval import retrieve, unit_rows
from cospace.space import Space

GROUPS = tuple("abcdef"[i % 6] for i in range(120))


def sided(signal, seed, noise=0.02):
    """Two sides that share ``signal`` and nothing else."""
    rng = np.random.default_rng(seed)
    return tuple(signal + noise * rng.normal(size=signal.shape) for _ in range(2))


def test_a_signal_in_the_group_alone_is_at_chance_within_the_group():
    rng = np.random.default_rng(0)
    centre = rng.normal(size=(6, 8))
    a, b = sided(centre[np.arange(120) % 6], 1)
    mask = same_group(GROUPS)
    within = retrieve(a, b, gallery=10, among=mask).top1
    anywhere = retrieve(a, b, gallery=10).top1
    assert within.mean() == pytest.approx(0.1, abs=3 * within.std() / np.sqrt(120))
    # 9 of 119 others: 19 of one group, the expected number of rivals is 9 * 19 / 119 = 1.4.
    assert anywhere.mean() > 0.4


def test_a_signal_of_the_text_itself_stays_within_the_group():
    rng = np.random.default_rng(0)
    a, b = sided(rng.normal(size=(120, 8)), 1)
    assert retrieve(a, b, gallery=10, among=same_group(GROUPS)).top1.mean() > 0.99


def test_a_signal_in_the_length_alone_is_at_chance_among_texts_of_that_length():
    rng = np.random.default_rng(0)
    lengths = np.repeat([10.0, 20.0, 40.0, 80.0, 160.0], 24)
    code = rng.normal(size=(5, 8))[np.repeat(np.arange(5), 24)]
    a, b = sided(code, 1)
    among = similar_length(lengths, 12)
    found = retrieve(a, b, gallery=12, among=among).top1
    assert found.mean() == pytest.approx(1 / 12, abs=3 * found.std() / np.sqrt(120))
    assert retrieve(a, b, gallery=12).top1.mean() > 0.3


def test_a_mask_is_the_mean_over_galleries_of_each_query_by_plain_ranks():
    """Group of 7 and gallery 7: plain ranks inside the group; CSLS as over all."""
    rng = np.random.default_rng(2)
    a = rng.normal(size=(21, 3))
    b = a + rng.normal(size=(21, 3))
    groups = [i % 3 for i in range(21)]
    found = retrieve(a, b, gallery=7, among=same_group([str(g) for g in groups]))
    near = unit_rows(a) @ unit_rows(b).T
    for i in range(21):
        inside = [j for j in range(21) if groups[j] == groups[i]]
        rank = 1 + sum(near[i, j] > near[i, i] for j in inside)
        assert found.top1[i] == (rank == 1)
        assert found.mrr[i] == pytest.approx(1 / rank)
        best = max(near[i, j] for j in inside if j != i)
        assert found.margin[i] == pytest.approx(near[i, i] - best)
    k = 10
    rows = np.sort(near, axis=1)[:, -k:].mean(axis=1)
    columns = np.sort(near, axis=0)[-k:].mean(axis=0)
    scaled = 2 * near - rows[:, None] - columns
    by_csls = [
        i == max((j for j in range(21) if groups[j] == groups[i]), key=lambda j: scaled[i, j])
        for i in range(21)
    ]
    assert found.csls.tolist() == by_csls


def test_queries_of_small_groups_are_left_out():
    x = np.random.default_rng(0).normal(size=(9, 4))
    mask = same_group(["a"] * 5 + ["b"] * 3 + ["c"])
    assert len(retrieve(x, x, gallery=4, among=mask).top1) == 5
    assert len(retrieve(x, x, gallery=2, among=mask).csls) == 8


def test_galleries_share_one_size_and_need_groups_or_lengths():
    assert [g.among for g in galleries(50, 40, None, None)] == ["all"]
    found = galleries(120, 100, GROUPS, [5.0 + i for i in range(120)])
    assert [(g.among, g.size) for g in found] == [
        ("all", 100),
        ("any", 20),
        ("group", 20),
        ("length", 20),
    ]
    # The median text is in a group of 3; a group of 1 in all says nothing, nor does one length.
    assert galleries(7, 7, ["a", "a", "a", "b", "b", "b", "c"], None)[2].size == 3
    assert len(galleries(4, 4, ["a"] * 4, [3.0] * 4)) == 1
    assert len(galleries(4, 4, ["a", "b", "c", "d"], None)) == 1


def test_what_cannot_be_searched_is_refused():
    x = np.random.default_rng(0).normal(size=(6, 4))
    with pytest.raises(InputError, match=r"among has shape \(5, 5\); \(6, 6\) with a diagonal"):
        retrieve(x, x, among=np.ones((5, 5), dtype=bool))
    with pytest.raises(InputError, match="no query has more than 2 to be searched among"):
        retrieve(x, x, gallery=3, among=same_group(list("aabbcc")))
    with pytest.raises(InputError, match="A gallery of 9 of 6 texts"):
        similar_length([1.0] * 6, 9)
    with pytest.raises(InputError, match="The length of text 1 is 0; more than 0"):
        similar_length([1.0, 0.0, 2.0], 2)
    bad = RetrievalSet("new", {"a": x, "b": x}, lengths=(1.0, 2.0))
    with pytest.raises(InputError, match="Set 'new' has 6 rows and 2 lengths: one for each row"):
        bad.rows(["a", "b"])


def test_a_score_tells_group_from_text():
    """Models agree on the group and on nothing else: found among all, at chance within the group."""
    rng = np.random.default_rng(3)
    n = 300
    groups = tuple("abcdef"[i % 6] for i in range(n))
    centre = 3.0 * rng.normal(size=(6, 6))[np.arange(n) % 6]
    ids = tuple(f"t{i}" for i in range(n))
    spaces = {
        name: Space(centre + rng.normal(size=(n, 6)), ids=ids, name=name, groups=groups)
        for name in ("a", "b", "c")
    }
    fit = {k: s.take(ids[:180]) for k, s in spaces.items()}
    new = {k: s.take(ids[180:]) for k, s in spaces.items()}
    found = score_shared(
        fit,
        [RetrievalSet("new", new, lengths=tuple(10.0 + i % 40 for i in range(120)))],
        methods=("gpa", "ridge", "random"),
        scalings=("none",),
        widths=(6,),
        folds=2,
        draws=400,
    )
    scores = {a: found.get("gpa", set="new", among=a) for a in ("all", "any", "group", "length")}
    assert [one.gallery for one in scores.values()] == [120, 20, 20, 20]
    assert scores["any"].low > 2 * scores["any"].chance
    assert scores["length"].low > 2 * scores["length"].chance
    assert scores["group"].low < scores["group"].chance < scores["group"].high
    assert found.contrast("random", set="new", among="any").verdict == "better"
    assert found.contrast("random", set="new", among="group").verdict == "neither"
    assert found.best_pairwise() == "ridge"
    again = type(found).from_dict(found.to_dict())
    assert again == found
    with pytest.raises(UnknownNameError, match="contrast of this result"):
        found.contrast("random", set="new", among="topic")
