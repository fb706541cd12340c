"""Directions between two kinds of text, against what is worked out independently."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.steering import find_direction


@pytest.fixture
def states():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(60, 5)) * [1, 2, 1, 1, 1]
    shift = np.array([2.0, 0.0, -1.0, 0.0, 0.0])
    return base + shift + 0.3 * rng.normal(size=(60, 5)), base


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_mean_difference(states):
    p, q = states
    found = find_direction(p, q, "mean_difference", paired=True)
    assert np.allclose(found.vector, (p - q).mean(axis=0), rtol=0, atol=1e-12)
    assert found.cosine == pytest.approx(1.0)
    greater = (p @ found.vector)[:, None] > q @ found.vector
    assert found.separation == pytest.approx(greater.mean())


@pytest.mark.parametrize("swap", [False, True])
def test_principal_component_of_uncentred_differences_points_to_the_first_kind(states, swap):
    """Fault: a principal direction whose sign is random."""
    p, q = reversed(states) if swap else states
    found = find_direction(p, q, "pca", paired=True)
    values, vectors = np.linalg.eigh((p - q).T @ (p - q))
    assert abs(cosine(found.vector, vectors[:, -1])) == pytest.approx(1.0)
    assert (p.mean(axis=0) - q.mean(axis=0)) @ found.vector > 0
    assert np.linalg.norm(found.vector) == pytest.approx(np.linalg.norm((p - q).mean(axis=0)))
    assert values[-1] > 2 * values[-2]


def test_sign_does_not_depend_on_the_decomposition(states, monkeypatch):
    """Fault: one sign rule here, another there."""
    from cospace.steering import direction

    p, q = states
    expected = find_direction(p, q, "pca", paired=True).vector
    plain = direction.thin_svd
    monkeypatch.setattr(direction, "thin_svd", lambda a: type(plain(a))(*(-x for x in plain(a))))
    assert np.allclose(find_direction(p, q, "pca", paired=True).vector, expected)


def test_differences_are_not_centred():
    """Centred, equal differences would leave nothing but noise."""
    rng = np.random.default_rng(1)
    q = rng.normal(size=(40, 4))
    p = q + [3.0, 0.0, 0.0, 0.0] + 0.1 * rng.normal(size=(40, 4))
    found = find_direction(p, q, "pca", paired=True)
    assert found.cosine > 0.999


def test_pca_states_its_cosine_to_the_mean_difference(states):
    """Fault: an unstable principal direction, and no baseline beside it."""
    p, q = states
    rng = np.random.default_rng(2)
    loud = p + 30.0 * rng.choice([-1.0, 1.0], size=(60, 1)) * np.array([0, 0, 0, 1.0, 0])
    found = find_direction(loud, q, "pca", paired=True)
    mean = (loud - q).mean(axis=0)
    assert found.cosine == pytest.approx(cosine(found.vector, mean))
    assert found.cosine < 0.98
    assert found.dominant == (3,)


def test_trimmed_difference_withstands_a_few_huge_states(states):
    """Fault: massive activations that rule the mean direction."""
    p, q = states
    true = find_direction(p, q, "mean_difference", paired=True).vector
    spoiled = p.copy()
    spoiled[:3, 4] += 1e4
    mean = find_direction(spoiled, q, "mean_difference", paired=True)
    trimmed = find_direction(spoiled, q, "trimmed_difference", paired=True)
    loose = find_direction(spoiled, q, "trimmed_difference", paired=False)
    assert cosine(mean.vector, true) < 0.1
    assert 4 in mean.dominant
    assert cosine(trimmed.vector, true) > 0.99
    assert cosine(loose.vector, true) > 0.9
    ordered = np.sort(spoiled - q, axis=0)[6:-6].mean(axis=0)
    assert np.allclose(trimmed.vector, ordered, rtol=0, atol=1e-12)


@pytest.mark.parametrize("paired", [True, False])
def test_probe_is_that_of_scikit_learn(states, paired):
    p, q = states
    found = find_direction(p, q, "probe", paired=paired)
    labels = np.repeat([1, 0], 60)
    theirs = LogisticRegression(C=1.0).fit(np.vstack([p, q]), labels)
    assert cosine(found.vector, theirs.coef_[0]) > 0.97
    assert np.linalg.norm(found.vector) == pytest.approx(np.linalg.norm(p.mean(0) - q.mean(0)))
    assert found.separation >= find_direction(p, q, "mean_difference", paired=True).separation


def test_what_has_no_direction_is_said(states):
    p, q = states
    with pytest.raises(UnknownNameError, match="Did you mean 'pca'"):
        find_direction(p, q, "pcaa", paired=True)
    with pytest.raises(InputError, match="need pairs, and 60 and 59 texts"):
        find_direction(p, q[1:], "pca", paired=False)
    with pytest.raises(UndefinedMeasureError, match="the same mean state"):
        find_direction(p, p[::-1], "mean_difference", paired=True)
    a = np.array([[1.0, 5.0], [1.0, -5.0]])
    with pytest.raises(UndefinedMeasureError, match="'pca' is orthogonal to the difference"):
        find_direction(a, np.zeros((2, 2)), "pca", paired=True)
