"""The bound from intrinsic to extrinsic distance: it holds, no smaller constant does, and a breach is told."""

from __future__ import annotations

import numpy as np
import pytest

import cospace.probes.fixed as fixed
from cospace.errors import ContractError, InputError
from cospace.probes import Classifier, check_bound, extrinsic_bound, fixed_classifier
from cospace.probes.classifier import softmax
from cospace.probes.imitation import Source, imitate

CASES = 1000


def case(seed):
    """A random target, source, classifier and least-squares map, and what the imitation reaches."""
    rng = np.random.default_rng(seed)
    n, d, p, classes = (int(rng.integers(*span)) for span in ((14, 30), (1, 4), (1, 4), (2, 4)))
    g = rng.standard_normal((n, p)) * 10 ** rng.uniform(-2, 2)
    noise = 10 ** rng.uniform(-3, 1) * rng.standard_t(3, size=(n, d))
    h = np.tanh(g @ rng.standard_normal((p, d))) + noise + rng.standard_normal(d)
    weight = 10 ** rng.uniform(-2, 1.5) * rng.standard_normal((classes, d))
    offset = -weight @ h.mean(axis=0) + rng.standard_normal(classes)
    names = tuple("abcd"[:classes])
    classifier = Classifier(weight, offset, names)
    design = np.column_stack([g, np.ones(n)])
    fit = np.linalg.lstsq(design, h, rcond=None)[0]
    distance = np.linalg.norm(design @ fit - h, axis=1).max()
    found = imitate(
        Source.of(g, p),
        classifier.probabilities(h),
        names,
        composed=classifier.after(fit[:-1], fit[-1]),
        effort="quick",
    )
    return classifier, found, distance, g, h


def test_the_bound_holds_in_a_thousand_random_cases_and_needs_its_factor():
    factors = []
    for seed in range(CASES):
        classifier, found, distance, g, h = case(seed)
        wanted, copied = classifier.probabilities(h), found.classifier.probabilities(g)
        value = max(np.sqrt(sum((p - q) ** 2)) for p, q in zip(wanted, copied, strict=True))
        assert value == pytest.approx(found.sup, rel=1e-9)
        centred = classifier.weight - classifier.weight.mean(axis=0)
        norm = np.sqrt(np.linalg.eigvalsh(centred @ centred.T).max())
        assert value <= 0.5 * norm * distance * (1 + 1e-9)
        assert check_bound(value=found.sup, norm=classifier.norm, distance=distance).holds
        factors.append(value / (norm * distance))
    # the cases are hard enough to tell 1/2 from a constant that is too small
    assert 0.25 < max(factors) <= 0.5
    assert sum(factor > 0.25 for factor in factors) > 20


def test_softmax_is_half_lipschitz_and_reaches_it():
    rng = np.random.default_rng(0)
    a = 3 * rng.standard_normal((20_000, 4))
    b = a + 10 ** rng.uniform(-4, 1, size=(20_000, 1)) * rng.standard_normal((20_000, 4))
    ratio = np.linalg.norm(softmax(a) - softmax(b), axis=1) / np.linalg.norm(a - b, axis=1)
    assert ratio.max() < 0.5
    near = np.array([[1e-4, -1e-4], [-1e-4, 1e-4]])
    apart = softmax(near)[0] - softmax(near)[1]
    assert np.linalg.norm(apart) / np.linalg.norm(near[0] - near[1]) == pytest.approx(0.5, rel=1e-6)


def tight(size):
    """Pairs of equal source rows whose targets are ``size`` on either side: the affine distance is ``size``."""
    g = np.repeat(np.arange(10.0), 2)[:, None]
    h = g + size * np.tile([1.0, -1.0], 10)[:, None]
    weight = np.array([[0.5], [-0.5]])
    classifier = Classifier(weight, -weight[:, 0] * 4.0, ("a", "b"))
    found = imitate(Source.of(g, 1), classifier.probabilities(h), ("a", "b"))
    return check_bound(value=found.sup, norm=classifier.norm, distance=size), found, classifier


def test_a_constant_that_is_too_small_is_caught():
    check, found, classifier = tight(1e-3)
    assert check.holds
    assert check.factor == pytest.approx(0.5, rel=1e-3)
    less = check_bound(value=found.sup, norm=classifier.norm, distance=1e-3, constant=0.49)
    assert not less.holds
    with pytest.raises(ContractError, match=r"exceeds its bound .* a factor of 0\.5"):
        less.require()


def test_an_imitation_that_is_bad_is_caught(pair, monkeypatch):
    good = fixed.imitate

    def bad(source, wanted, classes, **options):
        found = good(source, wanted, classes)
        worse = Classifier(5.0 * found.classifier.weight[::-1], found.classifier.offset, classes)
        return type(found)(**{**vars(found), "classifier": worse})

    labels = pair.labels
    probe = fixed.fit_probe(pair.target, labels, ridge=10.0)
    fixed_classifier(
        target=pair.target, source=pair.source, labels=labels, probe=probe, affine=pair.affine
    )
    monkeypatch.setattr(fixed, "imitate", bad)
    with pytest.raises(
        ContractError, match=r"The extrinsic distance .* this is a fault of cospace"
    ):
        fixed_classifier(
            target=pair.target, source=pair.source, labels=labels, probe=probe, affine=pair.affine
        )


def test_the_temperature_is_part_of_the_bound():
    assert extrinsic_bound(norm=2.0, distance=3.0, inverse_temperature=4.0) == 12.0
    assert check_bound(value=12.0, norm=2.0, distance=3.0, inverse_temperature=4.0).factor == 0.5


def test_a_distance_of_zero_leaves_no_factor_and_no_room():
    check = check_bound(value=0.0, norm=2.0, distance=0.0)
    assert check.holds
    assert check.factor is None
    with pytest.raises(
        ContractError, match=r"exceeds its bound 0 \(norm 2, affine error 0\): either"
    ):
        check_bound(value=1e-3, norm=2.0, distance=0.0).require()


@pytest.mark.parametrize("name", ["norm", "distance", "inverse_temperature", "constant"])
def test_negative_and_infinite_parts_are_refused(name):
    parts = {"norm": 1.0, "distance": 1.0}
    for value in (-1.0, float("inf"), float("nan")):
        with pytest.raises(InputError, match=f"{name} is .*; a finite number of at least 0"):
            extrinsic_bound(**{**parts, name: value})
