"""Predictors against plain references."""

from __future__ import annotations

import numpy as np
import pytest

from cospace.errors import UnknownNameError
from cospace.routing.features import Columns
from cospace.routing.predictors import Candidate, candidates, choose, predictions


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    right = (rng.random((60, 2)) < 1 / (1 + np.exp(-2 * x[:, :2]))).astype(float)
    return x, right, rng.normal(size=(7, 3))


def test_logistic_is_that_of_scikit_learn(rows):
    from sklearn.linear_model import LogisticRegression

    x, right, z = rows
    tried = [Candidate("logistic", 0.3), Candidate("logistic", 0.01)]
    for each, found in zip(tried, predictions(tried, x, right, z), strict=True):
        for m in range(2):
            # two weights that are each other's negative share the penalty: half of it each
            other = LogisticRegression(C=2.0 / (60 * each.setting), tol=1e-10).fit(x, right[:, m])
            assert np.allclose(found[:, m], other.predict_proba(z)[:, 1], atol=1e-5)


@pytest.mark.parametrize("wide", [False, True])
def test_ridge_is_that_of_scikit_learn(rows, wide):
    from sklearn.linear_model import Ridge

    x, right, z = rows
    if wide:
        x, right = x[:2], right[:2]
    x = x - x.mean(axis=0)
    found = predictions([Candidate("ridge", 0.5)], x, right, z)[0]
    other = Ridge(alpha=0.5 * len(x)).fit(x, right).predict(z)
    assert np.allclose(found, np.clip(other, 0, 1), atol=1e-10)


def test_nearest_rows_by_a_loop(rows):
    x, right, z = rows
    found = predictions([Candidate("knn", 4)], x, right, z)[0]
    for i, row in enumerate(z):
        near = sorted(range(60), key=lambda j: np.sum((x[j] - row) ** 2))[:4]
        wanted = (right[near].sum(axis=0) + right.mean(axis=0)) / 5
        assert np.allclose(found[i], wanted, atol=1e-12)


def test_a_model_that_is_always_right_is_so(rows):
    x, right, z = rows
    right = np.column_stack([right[:, 0], np.ones(60)])
    assert (predictions([Candidate("logistic", 0.1)], x, right, z)[0][:, 1] == 1.0).all()


def test_the_choice_is_the_least_brier_score_on_unseen_rows(rows):
    x, right, _ = rows
    fold = np.arange(60) % 3
    columns = Columns(fixed=x, nearest=None, correct=right)
    tried = candidates("auto")
    best, unseen = choose(columns, np.arange(60), right, fold, tried)
    scores = []
    for each in tried:
        total = 0.0
        for f in range(3):
            a, b = columns.design(np.flatnonzero(fold != f), np.flatnonzero(fold == f))
            said = predictions([each], a, right[fold != f], b)[0]
            total += np.sum((said - right[fold == f]) ** 2)
        scores.append(total / right.size)
    assert best == tried[int(np.argmin(scores))]
    assert np.mean((unseen - right) ** 2) == pytest.approx(min(scores), abs=1e-6)


def test_names_of_predictors():
    assert {each.kind for each in candidates("auto")} == {"logistic", "ridge", "knn"}
    assert str(candidates("knn")[0]) == "knn, k 80"
    assert str(candidates("ridge")[0]) == "ridge, penalty 10"
    with pytest.raises(UnknownNameError, match="'logit' is not a predictor"):
        candidates("logit")
