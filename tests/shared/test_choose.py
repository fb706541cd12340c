"""Choice of scaling, width and ridge on inner folds."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.shared.choose import choose, fit_choice, widths_for
from cospace.shared.retrieval import retrieve


@pytest.fixture(scope="module")
def ruled(planted):
    """Every model has one direction of its own that holds nearly all the variance."""
    rng = np.random.default_rng(0)
    spaces = planted(n=300, k=8, widths=[10, 12, 14], models=3, noise=0.2)
    return {
        name: x + 300.0 * rng.normal(size=(300, 1)) * np.eye(x.shape[1])[2]
        for name, x in spaces.items()
    }


def test_a_direction_that_rules_is_scaled_away_and_the_reason_told(ruled):
    found = choose(ruled, methods=["gpa"], widths=[8], folds=4)["gpa"]
    by = {one.scaling: one for one in found.candidates}
    assert found.scaling != "none"
    assert by[found.scaling].score > by["none"].score + 0.3
    assert found.best.score == max(one.score for one in found.candidates if one.folds == 4)
    assert by["none"].folds < 4  # given up as far behind
    assert f"top-1 {found.best.score:.3f} on 4 inner folds of 300 texts" in found.why


def plain_score(spaces, fold, width=4, ridge=0.1):
    """Top-1 of pairwise ridge maps of standardised, reduced rows, all fitted without the fold."""
    scores = []
    for number in np.unique(fold):
        out = fold == number
        z = {}
        for name, x in spaces.items():
            mean, spread = x[~out].mean(axis=0), x[~out].std(axis=0)
            axes = np.linalg.svd((x[~out] - mean) / spread, full_matrices=False)[2][:width].T
            z[name] = [(part - mean) / spread @ axes for part in (x[~out], x[out])]
        for a in spaces:
            for b in spaces:
                if a != b:
                    x, y = z[a][0], z[b][0]
                    penalty = ridge * np.trace(x.T @ x) / width
                    m = np.linalg.solve(x.T @ x + penalty * np.eye(width), x.T @ y)
                    scores.append((out.sum(), retrieve(z[a][1] @ m, z[b][1]).top1.mean()))
    return np.average([s for _, s in scores], weights=[n for n, _ in scores])


ONE = {"methods": ["ridge"], "scalings": ["standardize"], "widths": [4], "ridges": [0.1]}


def test_the_score_of_a_candidate_is_that_of_fits_without_the_fold(planted):
    spaces = planted(n=61, models=3, noise=0.6)
    found = choose(spaces, folds=3, **ONE)["ridge"]
    assert found.best.score == pytest.approx(plain_score(spaces, np.arange(61) % 3), abs=1e-12)


def test_groups_stay_whole(planted):
    spaces = planted(n=60, models=3, noise=0.6)
    groups = ("p",) * 25 + ("q",) * 35
    found = choose(spaces, folds=2, groups=groups, **ONE)["ridge"]
    fold = np.array([g == "p" for g in groups])
    assert found.best.score == pytest.approx(plain_score(spaces, fold), abs=1e-12)
    alone = choose(spaces, folds=3, **ONE)["ridge"]
    few = choose(spaces, folds=3, groups=groups, **ONE)["ridge"]
    assert few.best.score == alone.best.score


def test_rows_that_repeat_stay_in_one_fold():
    """Noise that stands twice in the rows is found nowhere, whatever the number of folds."""
    rng = np.random.default_rng(0)
    noise = {name: np.repeat(rng.standard_normal((60, 12)), 2, axis=0) for name in "ab"}
    order = rng.permutation(120)
    spaces = {name: rows[order] for name, rows in noise.items()}
    for folds in (2, 3, 5):
        found = choose(spaces, folds=folds, **ONE)["ridge"]
        assert found.best.score < 0.15
    groups = tuple("xyz"[i % 3] for i in range(120))
    assert choose(spaces, folds=2, groups=groups, **ONE)["ridge"].best.score < 0.15


def test_every_pair_takes_its_own_ridge(planted):
    spaces = planted(n=80, models=3, widths=[6, 9, 12], noise=0.5)
    found = choose(spaces, methods=["ridge"], scalings=["none"], widths=[6], folds=4)["ridge"]
    assert set(found.by_pair) == {f"m{a} -> m{b}" for a in range(3) for b in range(3) if a != b}
    blocks, alignment = fit_choice(spaces, found)
    z = blocks.encoders[0](spaces["m0"])
    own = blocks.own[0]
    penalty = found.by_pair["m0 -> m2"] * np.trace(own) / len(own)
    wanted = np.linalg.solve(own + penalty * np.eye(len(own)), 3 * blocks.cross(0, 2))
    assert np.allclose(alignment.query(0, 2, z), z @ wanted, rtol=0, atol=1e-9)


def test_widths_go_with_the_rows(planted):
    assert widths_for(100) == (10, 20, 33, 66)
    found = choose(planted(n=50), methods=["procrustes"], scalings=["none"], folds=5)
    assert [c.width for c in found["procrustes"].candidates] == [4, 6]


def test_what_cannot_be_chosen_is_refused(planted):
    spaces = planted(n=40)
    with pytest.raises(
        UnknownNameError, match=r"'gpaa' is not a method of a shared space\. Did you mean 'gpa'"
    ):
        choose(spaces, methods=["gpaa"])
    with pytest.raises(InputError, match="No method or no scaling was given"):
        choose(spaces, methods=[])
    with pytest.raises(UndefinedMeasureError, match="folds of 40 rows: at least"):
        choose(spaces, methods=["gpa"], folds=30)
    with pytest.raises(UndefinedMeasureError, match="No setting of gpa could be fitted on all 2"):
        choose(spaces, methods=["gpa"], scalings=["drop:6"], folds=2)
