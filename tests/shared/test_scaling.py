"""Centring, scaling and reduction of one model."""

from __future__ import annotations

import numpy as np
import pytest

import cospace as cs
from cospace.errors import InputError, UndefinedMeasureError
from cospace.shared.scaling import Encoder, Scaling, Spectrum


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 6)) @ rng.normal(size=(6, 6)) + 30.0 * rng.normal(size=6)


def encoded(rows, text, width):
    policy = Scaling.read(text)
    return Spectrum.of_rows(rows, name="a", standardize=policy.standardize).encoder(policy, width)(
        rows
    )


@pytest.mark.parametrize("text", ["none", "standardize", "drop:2", "whiten:0.5", "whiten:1"])
def test_encoded_rows_are_those_of_the_space_scaled_reduced_and_of_size_one(rows, text):
    found = encoded(rows, text, 3)
    wanted = cs.Space(rows).scale(text).reduce(3).rows
    wanted = wanted / np.linalg.norm(wanted)
    if text == "whiten:1":  # all directions are equally long: only their span is fixed
        assert np.allclose(found.T @ found, np.eye(3) / 3, rtol=0, atol=1e-10)
        return
    assert np.allclose(np.abs(found.T @ wanted), np.diag(np.sum(wanted**2, axis=0)), atol=1e-10)
    assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-12)


def test_steps_are_joined(rows):
    found = encoded(rows, "standardize+drop:1+whiten:0.5", 2)
    z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    u, s, _ = np.linalg.svd(z, full_matrices=False)
    wanted = u[:, 1:3] * np.sqrt(s[1:3])
    wanted /= np.linalg.norm(wanted)
    assert np.allclose(np.abs(np.sum(found * wanted, axis=0)), np.sum(wanted**2, axis=0))


@pytest.mark.parametrize("text", ["none", "standardize", "drop:1+whiten:0.5"])
def test_moments_give_the_encoder_of_the_rows(rows, text):
    policy = Scaling.read(text)
    one = Spectrum.of_rows(rows, name="a", standardize=policy.standardize).encoder(policy, 4)
    moments = cs.Moments.of({"a": rows})
    other = Spectrum.of_moments(
        80, moments.means["a"], moments.block("a", "a"), name="a", standardize=policy.standardize
    ).encoder(policy, 4)
    sign = np.sign(np.sum(one.matrix * other.matrix, axis=0))
    assert np.allclose(one.matrix, other.matrix * sign, rtol=0, atol=1e-10)


def test_fewer_rows_than_coordinates_give_the_same_directions():
    x = np.random.default_rng(1).normal(size=(8, 20))
    found = Spectrum.of_rows(x, name="a")
    s = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    assert np.allclose(found.s, s[:7], rtol=1e-10)
    assert np.allclose(found.axes.T @ found.axes, np.eye(7), rtol=0, atol=1e-10)
    assert found.share == pytest.approx(s[0] ** 2 / np.sum(s**2), rel=1e-10)


def test_a_constant_coordinate_is_left_out(rows):
    x = np.column_stack([rows, np.full(80, 0.1)])
    policy = Scaling.read("standardize")
    found = Spectrum.of_rows(x, name="a", standardize=True).encoder(policy, 7)
    assert found.width == 6
    assert not found.matrix[6].any()


def test_one_direction_that_rules_is_told():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 5))
    x[:, 2] *= 1000.0
    assert Spectrum.of_rows(x, name="a").share > 0.9999
    assert Spectrum.of_rows(x, name="a", standardize=True).share < 0.4


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_constant_rows_are_refused(scale):
    """Fault: the first token of a model that begins every text alike, aligned as if it told texts apart."""
    rng = np.random.default_rng(0)
    row = scale * rng.normal(size=16)
    same = np.tile(row, (30, 1))
    for x in (same, (same * (1 + 1e-8 * rng.normal(size=same.shape)))):
        with pytest.raises(UndefinedMeasureError, match=r"All rows of minilm are the same"):
            Spectrum.of_rows(x, name="minilm")
        moments = cs.Moments.of({"minilm": x})
        with pytest.raises(UndefinedMeasureError, match=r"Use another pooling or site"):
            Spectrum.of_moments(
                30, moments.means["minilm"], moments.block("minilm", "minilm"), name="minilm"
            )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("zscore", "'zscore' is not a scaling: none, or standardize"),
        ("drop:0", "drop:k with k > 0"),
        ("whiten:1.5", "0 < a <= 1"),
        ("whiten:much", "0 < a <= 1"),
        ("drop:1+drop:2", "names drop twice"),
        ("none+drop:1", "is not a scaling"),
    ],
)
def test_other_scalings_are_refused(text, told):
    with pytest.raises(InputError, match=told):
        Scaling.read(text)


def test_a_policy_reads_what_it_writes():
    for text in ("none", "standardize", "standardize+drop:2+whiten:0.25"):
        assert str(Scaling.read(text)) == text


def test_widths_that_cannot_be_had_are_refused(rows):
    spectrum = Spectrum.of_rows(rows, name="a")
    with pytest.raises(InputError, match="width is 0; a whole number, 1 or more"):
        spectrum.encoder(Scaling(), 0)
    with pytest.raises(InputError, match=r"width is 1\.5; a whole number"):
        spectrum.encoder(Scaling(), 1.5)
    with pytest.raises(UndefinedMeasureError, match="a has 6 directions of variance, and drop:6"):
        spectrum.encoder(Scaling(drop=6), 2)
    with pytest.raises(InputError, match="a was fitted on rows of width 6; these have 4"):
        Encoder("a", rows.mean(axis=0), np.eye(6))(rows[:, :4])
