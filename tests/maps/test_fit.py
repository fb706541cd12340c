"""Fits against independent references, and their claims."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from sklearn.linear_model import LinearRegression, Ridge

import cospace as cs
from cospace.errors import InputError, RowMismatchError, UndefinedMeasureError, UnknownNameError
from cospace.maps import LinearMap, fit_map
from cospace.maps.solve import PENALTIES

UNREGULARISED = {"least_squares": {}, "affine": {}, "low_rank": {"rank": 2}}


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 6)) * [5, 3, 2, 1, 0.5, 0.2] + 4.0
    y = x @ rng.normal(size=(6, 4)) + 0.3 * rng.normal(size=(120, 4)) - 7.0
    return x, y


def test_least_squares_is_that_of_numpy(pair):
    x, y = pair
    found = fit_map(source=x, target=y)
    assert np.allclose(found.matrix, np.linalg.lstsq(x, y)[0], rtol=0, atol=1e-11)
    assert not found.offset.any()
    assert not found.with_offset


def test_affine_is_that_of_scikit_learn(pair):
    x, y = pair
    found = fit_map(source=x, target=y, method="affine")
    theirs = LinearRegression().fit(x, y)
    assert np.allclose(found.matrix, theirs.coef_.T, rtol=0, atol=1e-11)
    assert np.allclose(found.offset, theirs.intercept_, rtol=0, atol=1e-11)
    assert np.allclose(found.points(x), theirs.predict(x), rtol=0, atol=1e-11)


@pytest.mark.parametrize("offset", [True, False])
def test_ridge_is_that_of_scikit_learn(pair, offset):
    x, y = pair
    found = fit_map(source=x, target=y, method="ridge", penalty=1e-2, offset=offset)
    top = np.linalg.norm(x - x.mean(axis=0) * offset, 2)
    theirs = Ridge(alpha=1e-2 * top**2, fit_intercept=offset).fit(x, y)
    assert np.allclose(found.points(x), theirs.predict(x), rtol=0, atol=1e-10)


def test_orthogonal_is_that_of_scipy(pair):
    x, _ = pair
    rng = np.random.default_rng(1)
    y = x @ np.linalg.qr(rng.normal(size=(6, 6)))[0] + 0.1 * rng.normal(size=x.shape)
    found = fit_map(source=x, target=y, method="orthogonal")
    theirs = scipy.linalg.orthogonal_procrustes(x - x.mean(axis=0), y - y.mean(axis=0))[0]
    assert np.allclose(found.matrix, theirs, rtol=0, atol=1e-11)
    assert np.allclose(found.matrix.T @ found.matrix, np.eye(6), rtol=0, atol=1e-12)


@pytest.mark.parametrize("widths", [(6, 4), (4, 6)])
def test_orthogonal_between_other_widths_keeps_lengths_one_way(widths):
    rng = np.random.default_rng(2)
    x, y = (rng.normal(size=(60, width)) for width in widths)
    m = fit_map(source=x, target=y, method="orthogonal").matrix
    small = m.T @ m if widths[0] > widths[1] else m @ m.T
    assert np.allclose(small, np.eye(4), rtol=0, atol=1e-12)


def test_low_rank_is_the_best_map_of_its_rank(pair):
    """Reduced-rank regression, by its other form: the fit, projected on its own leading axes."""
    x, y = pair
    found = fit_map(source=x, target=y, method="low_rank", rank=2)
    theirs = LinearRegression().fit(x, y)
    fitted = theirs.predict(x) - y.mean(axis=0)
    axes = np.linalg.svd(fitted, full_matrices=False)[2][:2].T
    assert np.allclose(found.matrix, theirs.coef_.T @ axes @ axes.T, rtol=0, atol=1e-10)
    assert found.rank == 2 == np.linalg.matrix_rank(found.matrix, tol=1e-9)
    whole = fit_map(source=x, target=y, method="low_rank", rank=4)
    assert np.allclose(whole.matrix, theirs.coef_.T, rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ["least_squares", "affine", "ridge", "low_rank"])
def test_normal_equations_hold_and_a_moved_map_is_worse(pair, method):
    x, y = pair
    options = {"low_rank": {"rank": 4}, "ridge": {"penalty": 1e-3}}.get(method, {})
    found = fit_map(source=x, target=y, method=method, **options)
    a, b = (x, y) if method == "least_squares" else (x - x.mean(axis=0), y - y.mean(axis=0))
    ridge = 1e-3 * np.linalg.norm(a, 2) ** 2 if method == "ridge" else 0.0
    slope = a.T @ (a @ found.matrix - b) + ridge * found.matrix
    assert np.abs(slope).max() < 1e-8 * np.abs(a.T @ b).max()


def test_a_source_that_lacks_a_direction_gives_the_shortest_map(pair):
    """Fault: a least-squares driver that is silently wrong where the rank is deficient."""
    x, y = pair
    x = np.column_stack([x, x[:, 0] + x[:, 1], np.zeros(len(x))])
    found = fit_map(source=x, target=y)
    assert (found.source_rank, found.width) == (6, 8)
    assert np.allclose(found.matrix, np.linalg.pinv(x, rcond=1e-9) @ y, rtol=0, atol=1e-9)
    s = np.linalg.svd(x, compute_uv=False)
    assert found.condition == pytest.approx(s[0] / s[5], rel=1e-9)


def test_singular_values_that_do_not_converge_are_found_by_another_driver(pair, monkeypatch):
    """Fault: a decomposition that fails, or returns unsorted values, and no second way."""
    x, y = pair
    expected = fit_map(source=x, target=y, method="affine").matrix

    def fail(*_args, **_options):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", fail)
    found = fit_map(source=x, target=y, method="affine").matrix
    assert np.allclose(found, expected, rtol=0, atol=1e-10)


def test_the_map_does_not_depend_on_the_signs_of_singular_vectors(pair, monkeypatch):
    """Fault: signs of singular vectors chosen here by the left, there by the right ones."""
    from cospace.maps import solve

    x, y = pair
    methods = {"affine": {}, "ridge": {}, "orthogonal": {}, "low_rank": {"rank": 2}}
    before = {m: fit_map(source=x, target=y, method=m, **o).matrix for m, o in methods.items()}
    plain = solve.thin_svd

    def flipped(a):
        u, s, v = plain(a)
        signs = np.where(np.arange(len(s)) % 2, -1.0, 1.0)
        return type(plain(a))(u * signs, s, v * signs)

    monkeypatch.setattr(solve, "thin_svd", flipped)
    for method, options in methods.items():
        after = fit_map(source=x, target=y, method=method, **options).matrix
        assert np.allclose(after, before[method], rtol=0, atol=1e-10), method


def test_the_penalty_is_the_best_on_unseen_folds(pair):
    x, y = pair
    y = y + 30.0 * np.random.default_rng(3).normal(size=y.shape)
    found = fit_map(source=x, target=y, method="ridge")
    fold = np.arange(len(x)) % 5
    scores = []
    for point in found.tried:
        lost = total = 0.0
        for number in range(5):
            out = fold == number
            seen = x[~out]
            top = np.linalg.norm(seen - seen.mean(axis=0), 2)
            model = Ridge(alpha=point.penalty * top**2).fit(seen, y[~out])
            lost += ((y[out] - model.predict(x[out])) ** 2).sum()
            total += ((y[out] - y[~out].mean(axis=0)) ** 2).sum()
        scores.append(1 - lost / total)
    assert np.allclose([point.r2 for point in found.tried], scores, rtol=0, atol=1e-9)
    assert found.penalty == PENALTIES[int(np.argmax(scores))]
    assert 1e-10 < found.penalty < 10


def test_held_out_scores_are_those_of_fits_that_did_not_see_the_rows(pair):
    x, y = pair
    found = fit_map(source=x, target=y, method="affine", folds=4).held_out
    fold = np.arange(len(x)) % 4
    lost = total = hits = 0.0
    for number in range(4):
        out = fold == number
        model = LinearRegression().fit(x[~out], y[~out])
        mean = y[~out].mean(axis=0)
        guess, wanted = model.predict(x[out]), y[out]
        lost += ((wanted - guess) ** 2).sum()
        total += ((wanted - mean) ** 2).sum()
        a, b = guess - mean, wanted - mean
        near = (a / np.linalg.norm(a, axis=1)[:, None]) @ (b / np.linalg.norm(b, axis=1)[:, None]).T
        hits += (near.argmax(axis=1) == np.arange(len(near))).sum()
    assert found.r2 == pytest.approx(1 - lost / total, abs=1e-12)
    assert found.retrieval == pytest.approx(hits / 120)
    assert found.chance == pytest.approx(1 / 30)
    assert 0 < found.low < found.retrieval < found.high <= 1
    assert (found.n, found.folds, found.by_group) == (120, 4, False)


def test_retrieval_of_few_rows_has_a_wide_interval():
    """Fault: a share of five words, all wrong, reported as 0 without more."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(10, 2))
    found = fit_map(source=x, target=rng.normal(size=(10, 3)), folds=2).held_out
    assert found.low < found.chance < found.high


def test_equal_rows_share_a_hit():
    x = np.repeat(np.random.default_rng(5).normal(size=(10, 3)), 5, axis=0)
    space = cs.Space(x, ids=[f"t{i}" for i in range(50)], groups=[f"g{i // 5}" for i in range(50)])
    found = fit_map(source=space, target=space, method="affine")
    assert found.held_out.by_group
    assert found.held_out.retrieval == pytest.approx(1 / 5)
    assert any("40 rows of space equal an earlier row" in each for each in found.warnings)


def test_groups_stay_whole():
    """Rows that are known by their group alone cannot be had from other groups."""
    rng = np.random.default_rng(6)
    group = np.repeat(np.arange(12), 10)
    x, y = (rng.normal(size=(12, 12))[group] for _ in range(2))
    x = x + 1e-3 * rng.normal(size=x.shape)
    names = [f"g{i}" for i in group]
    ids = [f"t{i}" for i in range(120)]
    loose = fit_map(source=x, target=y, method="ridge").held_out.r2
    whole = fit_map(
        source=cs.Space(x, ids=ids, groups=names), target=cs.Space(y, ids=ids), method="ridge"
    ).held_out.r2
    assert loose > 0.9
    assert whole < 0.3


def test_a_shuffled_map_is_a_control(pair):
    x, y = pair
    real = fit_map(source=x, target=y, method="ridge")
    control = fit_map(source=x, target=y, method="ridge", shuffle=0)
    assert (real.shuffle, control.shuffle) == (None, 0)
    assert real.held_out.r2 > 0.9
    assert control.held_out.r2 < 0.1
    assert control.held_out.retrieval < 0.2
    again = fit_map(source=x, target=y, method="ridge", shuffle=0)
    assert np.array_equal(again.matrix, control.matrix)


def test_rows_are_matched_by_id(pair):
    x, y = pair
    ids = [f"t{i}" for i in range(len(x))]
    order = np.random.default_rng(7).permutation(len(x))
    a = cs.Space(x, ids=ids, name="a")
    b = cs.Space(y[order], ids=[ids[i] for i in order], name="b")
    found = cs.fit_map(source=a, target=b, method="affine")
    assert np.allclose(found.matrix, fit_map(source=x, target=y, method="affine").matrix)
    assert (found.matched, found.source, found.target) == ("ids", "a", "b")
    assert found.facts["source"]["fingerprint"] == a.fingerprint
    assert isinstance(found, cs.LinearMap)
    assert cs.LinearMap is LinearMap


def test_tensors_are_mapped_as_arrays_are(pair):
    x, y = pair
    found = fit_map(source=torch.from_numpy(x), target=torch.from_numpy(y), method="affine")
    assert np.allclose(found.matrix, fit_map(source=x, target=y, method="affine").matrix)
    assert np.allclose(found.points(torch.from_numpy(x[0])), found.points(x)[0])


@pytest.mark.parametrize(("method", "options"), UNREGULARISED.items())
def test_too_few_rows_are_refused_without_a_penalty(method, options):
    """Fault: a fit with as many free directions as rows, whose R2 is 1 whatever the target."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(9, 8)), rng.normal(size=(9, 3))
    with pytest.raises(UndefinedMeasureError, match=r"9 rows of rank 8 .* more than 9 rows"):
        fit_map(source=x, target=y, method=method, **options)
    assert fit_map(source=x, target=y, method="ridge", folds=3).n == 9
    assert fit_map(source=x, target=y, method="orthogonal", folds=3).n == 9


def test_held_out_scores_that_cannot_be_had_are_not_made_up():
    rng = np.random.default_rng(9)
    found = fit_map(source=rng.normal(size=(10, 8)), target=rng.normal(size=(10, 3)), folds=2)
    assert found.held_out is None
    assert found.warnings[0].startswith("No held-out scores: 5 rows of rank 5 fit any target")
    few = fit_map(source=rng.normal(size=(9, 3)), target=rng.normal(size=(9, 3)))
    assert few.warnings == ("No held-out scores: 5 folds of 9 rows: at least 10 rows are needed.",)
    none = fit_map(source=rng.normal(size=(9, 3)), target=rng.normal(size=(9, 3)), folds=0)
    assert none.held_out is None
    assert "were asked for" in none.warnings[0]


X = np.random.default_rng(10).normal(size=(20, 3))
HOLED = np.where(np.arange(60).reshape(20, 3) == 4, np.nan, X)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"source": HOLED}, InputError, "source has NaN or infinite entries in 1 of 20 rows"),
        ({"target": X[:19]}, RowMismatchError, "source has 20 rows and target has 19"),
        (
            {"source": cs.Space(X, ids=[f"a{i}" for i in range(20)], name="a")},
            RowMismatchError,
            "a has ids and target has none",
        ),
        ({"source": np.ones((20, 3)), "method": "affine"}, UndefinedMeasureError, "are the same"),
        ({"source": np.zeros((20, 3))}, UndefinedMeasureError, "All rows of the source are zero"),
        ({"target": np.ones((20, 3))}, UndefinedMeasureError, "All rows of target are the same"),
        ({"method": "ridgy"}, UnknownNameError, "Did you mean 'ridge'"),
        ({"offset": True}, InputError, "with an offset is method='affine'"),
        ({"method": "affine", "offset": False}, InputError, "is method='least_squares'"),
        ({"penalty": 1.0}, InputError, "it belongs to method='ridge'"),
        ({"method": "ridge", "penalty": 0.0}, InputError, "penalty is 0.0; a number above 0"),
        ({"method": "low_rank"}, InputError, "method='low_rank' was asked for without a rank"),
        ({"rank": 2}, InputError, "rank=2 was given for method='least_squares'"),
        ({"method": "low_rank", "rank": 4}, InputError, "a whole number from 1 to 3"),
        ({"folds": 1}, InputError, "1 folds were asked for; 0 for none or at least 2"),
        ({"rtol": 0.0}, InputError, "rank tolerance is 0.0"),
    ],
)
def test_what_cannot_be_fitted_is_said(options, error, message):
    with pytest.raises(error, match=message) as caught:
        fit_map(**({"source": X, "target": X} | options))
    assert "\n" not in str(caught.value)


def test_groups_that_do_not_fill_the_folds_are_said():
    def space(groups):
        return cs.Space(X, ids=[f"t{i}" for i in range(20)], groups=groups)

    three = space([f"g{i % 3}" for i in range(20)])
    with pytest.raises(InputError, match="in 3 groups, too few for 5 folds of whole groups"):
        fit_map(source=three, target=three)
    one = space(["g"] * 20)
    with pytest.raises(UndefinedMeasureError, match=r"are in one group.*give penalty="):
        fit_map(source=one, target=one, method="ridge")


def test_too_few_folds_are_refused_by_the_folds_themselves():
    from cospace.maps.folds import fold_numbers

    with pytest.raises(InputError, match="1 folds were asked for"):
        fold_numbers(9, None, 1)


def test_a_target_that_stands_still_in_every_fold_has_no_penalty():
    from cospace.maps.solve import Choice, solve

    with pytest.raises(UndefinedMeasureError, match="nothing to map to"):
        solve(X, np.ones((20, 2)), Choice("ridge", offset=True))


def test_a_penalty_at_the_end_of_the_list_is_said():
    rng = np.random.default_rng(11)
    x = rng.normal(size=(60, 2))
    faint = fit_map(source=x * [1.0, 1e-5], target=x[:, 1:], method="ridge")
    assert faint.penalty == PENALTIES[-1]
    assert "The best penalty, 1e-10, is the smallest that was tried." in faint.warnings
    turned = x * np.array([1.0, -1.0, 1.0, -1.0, 0.0])[np.arange(60) % 5, None]
    false = fit_map(source=x, target=turned, method="ridge")
    assert false.penalty == PENALTIES[0]
    assert "The best penalty, 10, is the largest that was tried." in false.warnings
