"""Summary of scores: the verdict is that of the paired interval, against maps that inner folds chose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cospace.errors import InputError
from cospace.shared import Refusal, RetrievalSet, SharedSweep, score_shared, summarise
from cospace.shared.sweep import VERDICTS


@pytest.fixture(scope="module")
def score(planted):
    spaces = planted(n=220, k=8, widths=[10, 12, 14], models=3, noise=0.8)
    fit = {k: v[:160] for k, v in spaces.items()}
    new = {k: v[160:] for k, v in spaces.items()}
    return score_shared(
        fit,
        [RetrievalSet("new", new, texts=tuple(f"text {'x' * (i % 9)} {i}" for i in range(60)))],
        methods=("gpa", "gcca", "ridge", "procrustes", "raw"),
        scalings=("none",),
        widths=(8,),
        folds=2,
        draws=300,
    )


def test_a_cell_says_what_the_score_says(score):
    (cell,) = summarise(score, depth=0.5, pooling="mean")
    assert (cell.depth, cell.pooling, cell.set, cell.n, cell.gallery) == (
        0.5,
        "mean",
        "new",
        60,
        60,
    )
    assert cell.value == score.get("shared", set="new").value
    inner = {c.method: c.best.score for c in score.choices}
    assert cell.pairwise == max(("ridge", "procrustes"), key=inner.__getitem__)
    assert cell.ahead == pytest.approx(cell.value - cell.pairwise_value)
    told = {"better": "wins", "worse": "loses", "not told apart": "ties", "neither": "neither"}
    assert cell.verdict == told[score.contrast(cell.pairwise, set="new").verdict]
    assert cell.hardest_value == max(score.get(m, set="new").value for m in ("ridge", "procrustes"))
    assert (cell.group, cell.within) == (None, None)
    assert cell.length == score.get("shared", set="new", among="length").value
    assert cell.few_chance == pytest.approx(1 / 20)
    assert cell.shuffled_in_sample > cell.shuffled


def test_a_contrast_decides_the_verdict(score):
    names = {c.method for c in score.choices}
    for verdict, word in (
        ("better", "wins"),
        ("worse", "loses"),
        ("not told apart", "ties"),
        ("neither", "neither"),
    ):
        changed = replace(
            score,
            contrasts=tuple(
                replace(c, verdict=verdict) if c.second in names else c for c in score.contrasts
            ),
        )
        (cell,) = summarise(changed, depth=0.0, pooling="last")
        assert (cell.verdict, cell.hardest_verdict) == (word, word)
        sweep = SharedSweep((cell,), (), ("m0", "m1", "m2"), 160)
        assert [sweep.count("new", v) for v in VERDICTS].count(1) == 1
        assert sweep.count("new", word) == sweep.count("new", word, hardest=True) == 1


def test_a_sweep_is_saved_and_read(score, tmp_path):
    cells = summarise(score, depth=0.5, pooling="mean")
    whole = SharedSweep(
        tuple(cells), (Refusal(0.0, "first", "all the same"),), ("a", "b"), 160, {"folds": 2}
    ).with_provenance(command="cospace space sweep s")
    whole.save(tmp_path / "s.json")
    assert SharedSweep.load(tmp_path / "s.json") == whole
    assert whole.records()[0]["verdict"] == cells[0].verdict
    cut = {k: v for k, v in whole.to_dict().items() if k != "models"}
    with pytest.raises(InputError, match="This is no whole shared_sweep: build it anew"):
        SharedSweep.from_dict(cut)


def test_without_pairwise_maps_there_is_no_verdict(planted):
    spaces = planted(n=90, models=2)
    only = score_shared(
        {k: v[:60] for k, v in spaces.items()},
        [RetrievalSet("new", {k: v[60:] for k, v in spaces.items()})],
        methods=("gpa",),
        scalings=("none",),
        widths=(6,),
        folds=2,
        draws=50,
    )
    (cell,) = summarise(only, depth=1.0, pooling="mean")
    assert (cell.pairwise, cell.verdict, cell.hardest, cell.raw) == (None, None, None, None)


def test_where_there_is_nothing_to_find_neither_side_wins_or_ties():
    """Fault: two sides that find no text are said to tie."""
    rng = np.random.default_rng(3)
    spaces = {name: rng.normal(size=(160, 6)) for name in "abc"}
    score = score_shared(
        {k: v[:100] for k, v in spaces.items()},
        [RetrievalSet("new", {k: v[100:] for k, v in spaces.items()})],
        methods=("gpa", "ridge", "procrustes"),
        scalings=("none",),
        widths=(6,),
        folds=2,
        draws=300,
    )
    for one in score.contrasts:
        sides = [
            score.get(m, set="new", measure=one.measure, among=one.among)
            for m in (one.first, one.second)
        ]
        found = any(side.low > side.chance for side in sides)
        apart = "better" if one.low > 0 else "worse" if one.high < 0 else "not told apart"
        assert one.verdict == (apart if found else "neither")
    (cell,) = summarise(score, depth=0.5, pooling="mean")
    assert cell.low <= cell.chance
    assert (cell.verdict, cell.hardest_verdict) == ("neither", "neither")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"low": 0.99, "high": 0.1}, "new, mean, depth 0.5: low 0.99 is above high 0.1"),
        ({"ahead_low": 0.9}, "ahead_low 0.9 is above ahead_high"),
        ({"verdict": "beats"}, "is beats"),
        ({"verdict": None}, "is None"),
    ],
)
def test_a_saved_sweep_that_contradicts_itself_is_refused(score, tmp_path, change, told):
    (cell,) = summarise(score, depth=0.5, pooling="mean")
    SharedSweep((replace(cell, **change),), (), ("a", "b"), 160).save(tmp_path / "s.json")
    with pytest.raises(InputError, match="is no whole shared_sweep") as found:
        SharedSweep.load(tmp_path / "s.json")
    assert told in str(found.value)


def test_a_place_is_there_once_and_not_refused_as_well(score):
    (cell,) = summarise(score, depth=0.5, pooling="mean")
    whole = SharedSweep((cell,), (), ("a", "b"), 160)
    with pytest.raises(InputError, match=r"new, mean, depth 0\.5 is there 2 times"):
        SharedSweep.from_dict(replace(whole, cells=(cell, cell)).to_dict())
    with pytest.raises(InputError, match=r"mean, depth 0\.5: is refused and has a score"):
        SharedSweep.from_dict(replace(whole, refused=(Refusal(0.5, "mean", "x"),)).to_dict())
