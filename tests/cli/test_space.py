"""``cospace space fit``, ``add`` and ``apply``: array files and a store of models, into a space and through it."""

from __future__ import annotations

import numpy as np
import pytest

import cospace as cs

N = 120


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Three models that are one latent structure, turned: a.npz, b.npz, c.npz."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(N, 6))
    rows = {}
    for name, d in (("a", 8), ("b", 9), ("c", 7)):
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0][:6]
        rows[name] = latent @ turn + 0.05 * rng.normal(size=(N, d))
        ids = np.array([f"t{i}" for i in range(N)])
        groups = np.array(["uvwxyz"[i % 6] for i in range(N)])
        np.savez(tmp_path / f"{name}.npz", rows=rows[name], ids=ids, groups=groups)
    return rows


def fitted(cli, *words):
    found = cli("space", "fit", "a.npz", "b.npz", "--save", "s.safetensors", "--folds", 2, *words)
    assert found.code == 0, found.err
    return found


def test_fit_says_what_was_chosen_and_saves_what_the_library_fits(cli, files):
    found = fitted(cli, "--method", "gpa", "--scaling", "none", "--width", 6)
    assert "2 models, 120 texts: gpa, scaling none, width 6" in found.out
    assert "after a fit on shuffled rows" in found.out
    space = cs.SharedSpace.load("s.safetensors")
    other = cs.SharedSpace(method="gpa", scaling="none", width=6, folds=2).fit(
        {k: files[k] for k in "ab"}
    )
    assert np.allclose(
        space.transform(files["a"], "a"), other.transform(files["a"], "a"), rtol=0, atol=1e-12
    )


def test_add_then_apply_translates_through_the_space(cli, files):
    fitted(cli, "--method", "gpa", "--scaling", "none", "--width", 6)
    assert cli("space", "add", "s.safetensors", "c.npz", "--model", "c").code == 0
    found = cli(
        "space", "apply", "s.safetensors", "a.npz", "--model", "a", "--to", "c", "--out", "o.npz"
    )
    assert found.code == 0, found.err
    assert "a: 120 texts as rows of c, width 7" in found.err
    assert "and back loses" in found.err
    with np.load("o.npz") as out:
        assert out["ids"].tolist()[:2] == ["t0", "t1"]
        made = out["rows"]
    free = files["c"] - files["c"].mean(axis=0)
    assert np.sum((made - files["c"]) ** 2) < 0.05 * np.sum(free**2)
    assert (
        cli("space", "apply", "s.safetensors", "c.npz", "--model", "c", "--out", "z.npy").code == 0
    )
    space = cs.SharedSpace.load("s.safetensors")
    assert np.array_equal(np.load("z.npy"), space.transform(files["c"], "c"))


def test_add_can_leave_the_file_as_it_is(cli, files):
    fitted(cli, "--method", "gpa", "--scaling", "none", "--width", 6)
    words = ["space", "add", "s.safetensors", "c.npz", "--model", "c", "--save", "t.safetensors"]
    assert "c (added)" in cli(*words).out
    assert cs.SharedSpace.load("s.safetensors").names_ == ("a", "b")
    assert cs.SharedSpace.load("t.safetensors").names_ == ("a", "b", "c")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["fit", "a.npz", "b.npz", "--save", "s.json"],
            "--save is s.json; a file that ends in .safetensors",
        ),
        (["fit", "a.npz", "b.npz", "--save", "x/s.safetensors"], "there is no folder x"),
        (
            ["fit", "a.npz", "--save", "s.safetensors"],
            "1 model was given; a shared space is of at least 2",
        ),
        (
            ["fit", "a.npz", "b.npz", "--depth", "0.5", "--save", "s.safetensors"],
            "--depth is for a store",
        ),
        (["fit", "a.npz", ".", "--save", "s.safetensors"], "is no array file and 'a.npz' is one"),
        (["fit", ".", "..", "--save", "s.safetensors"], "2 stores were given: give one"),
        (["fit", "nowhere", "--save", "s.safetensors"], "nowhere does not exist"),
        (
            ["fit", "a.npz", "b.npz", "--width", "wide", "--save", "s.safetensors"],
            "--width is 'wide'; auto or",
        ),
        (
            ["fit", "a.npz", "b.npz", "--ridge", "x", "--save", "s.safetensors"],
            "--ridge is 'x'; auto or a number",
        ),
        (
            ["fit", "a.npz", "b.npz", "--method", "gpaa", "--save", "s.safetensors"],
            "Did you mean 'gpa'",
        ),
        (
            ["fit", "a.npz", "b.npz", "--missing", "masc", "--save", "s.safetensors"],
            "Did you mean 'mask'",
        ),
        (["score", "a.npz", "b.npz", "--methods", "ridge"], "has neither gpa nor gcca"),
        (["score", "a.npz", "b.npz", "--methods", "gpa,rigde"], "Did you mean 'ridge'"),
        (["score", "a.npz", "b.npz", "--widths", "2.5"], "--widths is 2.5; whole numbers"),
        (["score", "a.npz", "b.npz", "--widths", "two"], "--widths has 'two': give numbers"),
        (["score", "a.npz", "b.npz", "--ridges", "-1"], "--ridges is -1; numbers, 0 or more"),
        (["score", "a.npz", "b.npz", "--ridges", ","], "--ridges names nothing"),
        (["score", "a.npz", "b.npz", "--widths", "nan"], "--widths is nan: give finite numbers"),
        (
            ["score", "a.npz", "b.npz", "--held-out", "nan"],
            "--held-out is nan; a share between 0 and 1",
        ),
        (["score", "a.npz", "b.npz", "--held-out", "2.5"], "--held-out is 2.5; a share between"),
        (
            ["fit", "a.npz", "b.npz", "--ridge", "nan", "--save", "s.safetensors"],
            "--ridge is 'nan'; auto or a number",
        ),
        (["score", "a.npz"], "a.npz holds 1 model: a shared space is of at least 2"),
        (
            ["score", "a.npz", "b.npz", "--held-out", "500"],
            "--held-out is 500 and there are 120 texts: leave some to fit on",
        ),
        (
            ["score", "a.npz", "b.npz", "--texts", "plain"],
            "of the 120 texts of the rows are not among --texts",
        ),
        (["sweep", "nowhere"], "nowhere does not exist"),
        (["sweep", "nowhere", "--pooling", ","], "--pooling names nothing"),
        (["sweep", "nowhere", "--depths", "2"], "--depths is 2; a number from 0"),
        (["sweep", "nowhere", "--depths", "inf"], "--depths is inf: give finite numbers"),
        (["sweep", "nowhere", "--held-out", "1.5"], "--held-out is 1.5; a share between 0 and 1"),
        (
            ["fit", "a.npz", "b.npz", "--ridge", "-1", "--save", "s.safetensors"],
            "--ridge is '-1'; auto or a number, 0 or more",
        ),
        (
            [
                "fit",
                "a.npz",
                "b.npz",
                "--ridge",
                "1e9",
                "--method",
                "gcca",
                "--scaling",
                "none",
                "--width",
                "6",
                "--save",
                "s.safetensors",
            ],
            "the models agree on no direction: take a smaller ridge",
        ),
        (["score", "a.npz", "b.npz", "--scalings", ","], "--scalings names nothing"),
        (
            ["score", "a.npz", "b.npz", "--gallery", "1000"],
            "--gallery is 1000 and the smallest set has 36 texts",
        ),
        (
            ["score", "a.npz", "b.npz", "--draws", "1000000000"],
            "'--draws': Input should be less than or equal to 100000",
        ),
        (
            ["score", "a.npz", "b.npz", "--widths", "6", "--scalings", "drop:99"],
            "or drop fewer directions",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(cli, files, words, told):
    assert told in cli("space", *words).mistake


def test_depth_and_site_exclude_each_other(cli, files):
    words = ["space", "fit", "s", "--depth", "0.5", "--site", "last", "--save", "s.safetensors"]
    assert "--depth 0.5 and --site last were given: name one" in cli(*words).mistake


def test_what_a_space_lacks_is_named(cli, files):
    fitted(cli, "--method", "gpa", "--scaling", "none", "--width", 6)
    apply = ["space", "apply", "s.safetensors", "a.npz", "--model"]
    assert "'c' is not a model of s.safetensors" in cli(*apply, "c", "--out", "o.npz").mistake
    assert "'d' is not a model of" in cli(*apply, "a", "--to", "d", "--out", "o.npz").mistake
    assert "a file that ends in .npz or .npy" in cli(*apply, "a", "--out", "o.csv").mistake
    assert "would be overwritten" in cli(*apply, "a", "--out", "a.npz").mistake
    add = ["space", "add", "s.safetensors"]
    assert "'a' is in s.safetensors already" in cli(*add, "a.npz", "--model", "a").mistake
    wrong = cli(*add, "a.npz", "c.npz", "--model", "d").mistake
    assert "a.npz, c.npz hold 2 arrays (a, c), none called 'd'" in wrong
