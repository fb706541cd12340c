"""SharedSpace: what it carries, how it grows, what it refuses."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cospace as cs
from cospace.errors import (
    InputError,
    MissingDependencyError,
    RowMismatchError,
    UndefinedMeasureError,
    UnknownNameError,
)
from cospace.shared import SharedSpace
from cospace.space import Space

FIXED = {
    "gpa": {"width": 6, "scaling": "none", "method": "gpa"},
    "gcca": {"width": 5, "scaling": "whiten:0.5", "method": "gcca", "ridge": 0.1},
}


@pytest.fixture(scope="module")
def made(spaces):
    return {name: SharedSpace(**options).fit(spaces) for name, options in FIXED.items()}


def test_planted_rotations_are_translated(planted):
    spaces = planted(noise=0.0, widths=[6, 9, 12, 7])
    found = SharedSpace(**FIXED["gpa"]).fit(spaces)
    for a in spaces:
        for b in spaces:
            there = found.translate(spaces[a], source=a, target=b)
            assert np.allclose(there, spaces[b], rtol=0, atol=1e-6)
    assert all(one.inverse_error < 1e-12 for one in found.members_.values())


@pytest.mark.parametrize("method", FIXED)
def test_a_coordinate_has_mean_square_one(spaces, made, method):
    """Fault: coordinates whose size goes with the number of rows, and penalties on them too."""
    images = [made[method].transform(x, n) for n, x in spaces.items()]
    assert np.mean([np.mean(y**2) for y in images]) == pytest.approx(1.0)


def test_rows_are_matched_by_id(planted):
    plain = planted(n=60, noise=0.2)
    ids = tuple(f"t{i}" for i in range(60))
    rng = np.random.default_rng(0)
    mixed = {}
    for name, x in plain.items():
        order = rng.permutation(60)
        mixed[name] = cs.Space(x[order], ids=[ids[i] for i in order], name=name)
    one, other = (SharedSpace(**FIXED["gpa"]).fit(s) for s in (plain, mixed))
    for name, x in plain.items():
        assert np.allclose(one.transform(x, name), other.transform(x, name), rtol=0, atol=1e-7)
    assert set(other.ids_) == set(ids)
    assert one.ids_ is None


@pytest.mark.parametrize("method", FIXED)
def test_moments_give_the_space_of_the_rows(spaces, method):
    one = SharedSpace(**FIXED[method], tol=1e-12).fit(spaces)
    moments = cs.Moments.accumulate(
        {name: x[a:b] for name, x in spaces.items()} for a, b in ((0, 70), (70, 200))
    )
    other = SharedSpace(**FIXED[method], tol=1e-12).fit(moments)
    for name, x in spaces.items():
        assert np.allclose(one.transform(x, name), other.transform(x, name), rtol=0, atol=1e-8)
        assert np.allclose(
            one.translate(x, source=name, target="m1"),
            other.translate(x, source=name, target="m1"),
            rtol=0,
            atol=1e-7,
        )
        assert one.members_[name].inverse_error == pytest.approx(
            other.members_[name].inverse_error, abs=1e-9
        )
    assert other.centroid_ is None


@pytest.mark.parametrize("method", FIXED)
def test_the_order_of_models_changes_nothing(spaces, made, method):
    turned = SharedSpace(**FIXED[method]).fit({n: spaces[n] for n in ("m2", "m0", "m3", "m1")})
    for name, x in spaces.items():
        wanted = made[method].transform(x, name)
        assert np.allclose(turned.transform(x, name), wanted, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", FIXED)
def test_the_way_back_is_the_best_linear_one_and_its_error_is_told(spaces, made, method):
    found = made[method]
    for name, x in spaces.items():
        y = found.transform(x, name)
        free, centred = y - y.mean(axis=0), x - x.mean(axis=0)
        best = free @ np.linalg.lstsq(free, centred, rcond=1e-7)[0]
        wanted = np.sum((centred - best) ** 2) / np.sum(centred**2)
        assert found.members_[name].inverse_error == pytest.approx(wanted, abs=1e-9)
        assert found.inverse_error(x, name) == pytest.approx(wanted, abs=1e-9)
        unseen = x + np.random.default_rng(0).normal(size=x.shape)
        back = found.inverse_transform(found.transform(unseen, name), name)
        lost = np.sum((unseen - back) ** 2) / np.sum((unseen - x.mean(axis=0)) ** 2)
        assert found.inverse_error(unseen, name) == pytest.approx(lost)


@pytest.mark.parametrize("method", FIXED)
def test_a_copy_of_a_member_that_is_added_gets_its_map(planted, method):
    """Added alone to the consensus, not refitted: exact for variates, as near as noise for rotations."""
    spaces = planted(noise=0.05, widths=[6, 9, 12, 7])
    found = SharedSpace(**FIXED[method]).fit(spaces)
    before = {n: found.transform(x, n) for n, x in spaces.items()}
    found.add("copy", spaces["m1"])
    for name, x in spaces.items():
        assert np.array_equal(found.transform(x, name), before[name])
    there = found.transform(spaces["m1"], "copy")
    if method == "gcca":
        assert np.allclose(there, before["m1"], rtol=0, atol=1e-8)
    apart = np.linalg.norm(there - before["m1"]) / np.linalg.norm(before["m1"])
    assert apart < 0.02
    assert found.members_["copy"].added
    assert not found.members_["m1"].added


@pytest.mark.parametrize("method", FIXED)
def test_a_model_added_by_some_texts_or_by_moments(planted, method):
    spaces = planted(noise=0.1, widths=[6, 9, 12, 7])
    ids = [f"t{i}" for i in range(200)]
    first = {n: cs.Space(spaces[n], ids=ids, name=n) for n in ("m0", "m1", "m2")}
    found = SharedSpace(**FIXED[method]).fit(first)
    some = np.random.default_rng(0).permutation(200)[:120]
    late = cs.Space(spaces["m3"][some], ids=[ids[i] for i in some], name="m3")
    found.add("m3", late)
    truth = found.transform(spaces["m0"], "m0")
    moments = cs.Moments.of({n: spaces[n] for n in ("m0", "m2", "m3")})
    found.add(
        "again", cs.Moments.of({"m0": spaces["m0"], "m2": spaces["m2"], "again": spaces["m3"]})
    )
    assert moments.n == 200
    for name in ("m3", "again"):
        there = found.transform(spaces["m3"], name)
        assert np.corrcoef(there[:, 0], truth[:, 0])[0, 1] > 0.98
        assert np.linalg.norm(there - truth) < 0.35 * np.linalg.norm(truth)


def test_texts_that_a_model_lacks_are_masked_on_request(planted):
    whole = planted(n=150, noise=0.05)
    ids = [f"t{i:03d}" for i in range(150)]
    rng = np.random.default_rng(0)
    some = {}
    for name, x in whole.items():
        keep = np.sort(rng.permutation(150)[:110])
        some[name] = cs.Space(x[keep], ids=[ids[i] for i in keep], name=name)
    with pytest.raises(RowMismatchError, match="align_rows"):
        SharedSpace(**FIXED["gpa"]).fit(some)
    found = SharedSpace(**FIXED["gpa"], missing="mask").fit(some)
    images = [found.transform(x, n) for n, x in whole.items()]
    spread = np.linalg.norm(images[0] - images[0].mean(axis=0))
    assert np.linalg.norm(images[0] - images[3]) < 0.15 * spread
    assert len(found.ids_) == len(found.centroid_) <= 150
    assert found.members_["m0"].n == 110
    chosen = SharedSpace(missing="mask", folds=3, method="gcca").fit(some)
    shared = set.intersection(*(set(s.ids) for s in some.values()))
    assert chosen.choice_.n == len(shared)
    with pytest.raises(RowMismatchError, match=r"m0 has no ids: texts that a model lacks"):
        SharedSpace(missing="mask").fit(whole)


def test_what_is_auto_is_chosen_and_the_rest_kept(planted):
    spaces = planted(n=120, noise=0.5)
    found = SharedSpace(folds=3).fit(spaces)
    tried = found.choice_.candidates
    assert {one.method for one in tried} == {"gpa", "gcca"}
    assert found.choice_.best.score == max(one.score for one in tried if one.folds == 3)
    assert found.choice_.why.startswith(found.choice_.method)
    half = SharedSpace(folds=3, scaling="standardize", width=4).fit(spaces)
    assert {(one.scaling, one.width) for one in half.choice_.candidates} == {("standardize", 4)}
    assert half.width_ == 4
    assert SharedSpace(**FIXED["gpa"]).fit(spaces).choice_.folds == 0


def test_a_control_with_shuffled_rows_stands_beside_every_fit(planted):
    """Fault: an in-sample score of a wide fit taken for evidence."""
    narrow = SharedSpace(**FIXED["gpa"]).fit(planted(n=300, noise=0.1)).control_
    assert narrow.held_out > 0.8
    assert narrow.chance == 1 / 60
    assert (narrow.n, narrow.gallery) == (240, 60)
    assert narrow.shuffled_held_out < 0.06
    assert narrow.warning is None
    spaces = planted(n=165, k=70, widths=[80, 90, 100], models=3, noise=0.5)
    wide = SharedSpace(width=60, scaling="none", method="gpa").fit(spaces)
    assert wide.control_.shuffled_in_sample > 0.5
    assert wide.control_.shuffled_held_out < 0.1
    assert wide.warnings_[-1] == wide.control_.warning
    assert "in-sample scores of this space mean nothing" in wide.control_.warning
    few = SharedSpace(width=2, scaling="none", method="gpa").fit(planted(n=8))
    assert few.control_ is None
    assert "no control with shuffled rows: 5 folds of 8 rows" in few.warnings_[-1]
    from_moments = SharedSpace(**FIXED["gpa"]).fit(cs.Moments.of(planted()))
    assert "moments keep no rows to shuffle" in from_moments.warnings_[-1]


def test_a_direction_that_rules_is_told(planted):
    spaces = planted(noise=0.1)
    spaces["m1"] = spaces["m1"] * np.array([1.0, 1.0, 200.0, 1.0, 1.0, 1.0])
    raw = SharedSpace(width=4, scaling="none", method="gpa").fit(spaces)
    assert raw.members_["m1"].leading_share > 0.99
    assert raw.members_["m0"].leading_share < 0.5
    assert "m1: one direction holds" in raw.warnings_[0]
    assert "rows are not scaled" in raw.warnings_[0]
    mended = SharedSpace(width=4, scaling="standardize", method="gpa").fit(spaces)
    assert mended.members_["m1"].leading_share_used < 0.6
    assert "after scaling (standardize)" in mended.warnings_[0]


def test_a_search_that_did_not_end_says_so(planted):
    spaces = planted(noise=2.0)
    found = SharedSpace(**FIXED["gpa"], sweeps=2, tol=1e-12).fit(spaces)
    assert found.search_.stopped == "sweeps"
    assert "used up its 2 sweeps with a stationarity residual of" in found.warnings_[0]


@pytest.mark.parametrize("method", FIXED)
def test_a_saved_space_comes_back_to_the_last_bit(spaces, made, method, tmp_path):
    path = tmp_path / "space.safetensors"
    made[method].save(path)
    again = SharedSpace.load(path)
    for name, x in spaces.items():
        assert np.array_equal(again.transform(x, name), made[method].transform(x, name))
        assert np.array_equal(
            again.translate(x, source=name, target="m2"),
            made[method].translate(x, source=name, target="m2"),
        )
    assert again.get_params() == made[method].get_params()
    assert again.choice_ == made[method].choice_
    assert again.members_ == made[method].members_
    assert again.search_ == made[method].search_
    assert again.control_ == made[method].control_ is not None
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first
    one, other = (
        s.add("new", spaces["m1"] + 1.0).transform(spaces["m1"], "new")
        for s in (SharedSpace.load(path), SharedSpace.load(path))
    )
    assert np.array_equal(one, other)
    assert "0.forward.matrix" in load_file(path)


def test_a_chosen_space_is_saved_with_its_candidates(planted, tmp_path):
    found = SharedSpace(folds=2, method="gcca").fit(planted(n=60))
    found.save(tmp_path / "s")
    assert SharedSpace.load(tmp_path / "s").choice_ == found.choice_


def test_files_that_are_no_space_are_refused(made, tmp_path):
    path = tmp_path / "space.safetensors"
    with pytest.raises(InputError, match="cannot be read"):
        SharedSpace.load(path)
    save_file({"a": np.ones(2)}, path)
    with pytest.raises(InputError, match="holds tensors of something else; a saved shared_space"):
        SharedSpace.load(path)

    def edited(change):
        made["gpa"].save(path)
        arrays = load_file(path)
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as file:
            header = json.loads(file.metadata()["cospace"])
        change(arrays, header)
        save_file(arrays, path, metadata={"cospace": json.dumps(header)})
        return path

    with pytest.raises(InputError, match="is no whole shared_space: it was changed or cut"):
        SharedSpace.load(edited(lambda a, h: a.pop("1.forward.matrix")))
    with pytest.raises(InputError, match="is no whole shared_space: it was changed or cut"):
        SharedSpace.load(edited(lambda a, h: h["members"][0].update(n="many")))
    with pytest.raises(InputError, match="its parameters are not those of one"):
        SharedSpace.load(edited(lambda a, h: h["params"].update(method="svd")))
    with pytest.raises(InputError, match=r"holds a map of m0 of shape \(6, 3\)"):
        SharedSpace.load(edited(lambda a, h: a.update({"0.forward.matrix": np.ones((6, 3))})))


def test_parameters_are_those_of_scikit_learn():
    space = SharedSpace(width=7, method="gpa")
    other = clone(space)
    assert other is not space
    assert other.get_params() == space.get_params()
    assert space.set_params(width=3).width == 3
    assert repr(space) == "SharedSpace(width=3, method='gpa')"
    with pytest.raises(UnknownNameError, match="'widht' is not a parameter of SharedSpace"):
        space.set_params(widht=2)


def test_a_view_works_in_a_pipeline(spaces, made):
    view = made["gpa"].view("m1")
    x, target = spaces["m1"], spaces["m0"][:, 0]
    assert np.array_equal(view.fit_transform(x), made["gpa"].transform(x, "m1"))
    assert np.allclose(view.inverse_transform(view.transform(x)), x, rtol=0, atol=0.6)
    line = make_pipeline(view, Ridge())
    assert cross_val_score(line, x, target).mean() > 0.9
    # Fitted on one model, asked of another: what a shared space is for.
    line.fit(x, target)
    other = line[-1].predict(made["gpa"].transform(spaces["m3"], "m3"))
    assert np.corrcoef(other, target)[0, 1] > 0.97
    assert clone(view).transform(x).shape == (200, 6)
    assert repr(view) == "SpaceView('m1', 9 -> 6)"
    with pytest.raises(InputError, match="'width' is not a parameter of SpaceView"):
        view.set_params(width=3)


def test_nothing_is_refused_before_the_fit(spaces):
    """A grid search sets parameters one by one; scikit-learn checks them in ``fit``."""
    space = SharedSpace(width=-1, tol=-1.0, sweeps=0)
    assert clone(space).get_params() == space.get_params()
    with pytest.raises(InputError, match="width is -1"):
        space.fit(spaces)


def test_coordinates_have_names_in_a_pipeline(spaces, made):
    view = made["gpa"].view("m1")
    names = [f"shared{i}" for i in range(6)]
    assert view.get_feature_names_out().tolist() == names
    assert view.get_feature_names_out().dtype == object
    assert (
        make_pipeline(view, StandardScaler()).fit(spaces["m1"]).get_feature_names_out().tolist()
        == names
    )
    assert view.get_feature_names_out([f"x{i}" for i in range(9)]).tolist() == names
    with pytest.raises(InputError, match="2 names were given; m1 has 9 coordinates"):
        view.get_feature_names_out(["a", "b"])


def test_a_pipeline_gives_data_frames_where_asked(spaces, made):
    view = made["gpa"].view("m1")
    x = spaces["m1"]
    line = make_pipeline(view, StandardScaler()).set_output(transform="pandas")
    index = [f"text {i}" for i in range(len(x))]
    frame = line.fit(pandas.DataFrame(x, index=index)).transform(pandas.DataFrame(x, index=index))
    assert list(frame.columns) == [f"shared{i}" for i in range(6)]
    assert list(frame.index) == index
    raw = clone(line)[0].transform(x)
    assert isinstance(raw, pandas.DataFrame)
    assert np.array_equal(raw.to_numpy(), made["gpa"].transform(x, "m1"))
    assert isinstance(view.set_output(transform="default").transform(x), np.ndarray)
    assert view.set_output() is view
    with pytest.raises(InputError, match="transform is 'polars'; 'default' or 'pandas'"):
        view.set_output(transform="polars")


def test_without_pandas_there_is_no_data_frame(spaces, made, monkeypatch):
    view = made["gpa"].view("m1").set_output(transform="pandas")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="A data frame needs pandas"):
        view.transform(spaces["m1"])


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"method": "cca"}, UnknownNameError, "'cca' is not a method of SharedSpace"),
        ({"missing": "drop"}, InputError, "missing is 'drop'; 'refuse' or 'mask'"),
        ({"scaling": "zscore"}, InputError, "'zscore' is not a scaling"),
        ({"width": 2.5}, InputError, r"width is 2\.5; 'auto' or a whole number, 1"),
        ({"width": 0}, InputError, "width is 0; 'auto' or a whole number, 1 or more"),
        ({"width": True}, InputError, "width is True; 'auto' or a whole number"),
        ({"width": "wide"}, InputError, "width is 'wide'; 'auto' or a whole number"),
        ({"width": -3, "scaling": "none", "method": "gpa"}, InputError, "width is -3; 'auto' or"),
        ({"tol": 0.0}, InputError, r"tol is 0\.0; a finite number above 0"),
        (
            {"tol": float("nan"), "method": "gcca"},
            InputError,
            "tol is nan; a finite number above 0",
        ),
        ({"tol": float("inf")}, InputError, "tol is inf; a finite number above 0"),
        ({"tol": "small"}, InputError, "tol is 'small'; a finite number above 0"),
        ({"sweeps": 0, "method": "gcca"}, InputError, "sweeps is 0; a whole number, 1 or more"),
        ({"sweeps": 1.5}, InputError, r"sweeps is 1\.5; a whole number"),
        ({"scales": "yes"}, InputError, "scales is 'yes'; True or False"),
        ({"scaling": 3}, InputError, "scaling is 3; 'auto' or a policy in words"),
        ({"method": None}, UnknownNameError, "'None' is not a method of SharedSpace"),
        ({"ridge": float("inf")}, InputError, "ridge is inf; 'auto' or a number"),
        (
            {"ridge": 1e9, "method": "gcca", "scaling": "none", "width": 6},
            UndefinedMeasureError,
            r"With a ridge of 1e\+09 the models agree on no direction: take a smaller ridge",
        ),
        ({"ridge": -1.0}, InputError, r"ridge is -1\.0; 'auto' or a number, 0 or more"),
        ({"ridge": "big"}, InputError, "ridge is 'big'; 'auto' or a number"),
        ({"folds": 1}, InputError, "1 folds were asked for; at least 2"),
        ({"rng": -1}, InputError, "rng is -1"),
    ],
)
def test_options_that_make_no_sense_are_refused(spaces, options, error, told):
    with pytest.raises(error, match=told):
        SharedSpace(**options).fit(spaces)


def test_rows_that_cannot_be_are_refused(spaces, made):
    with pytest.raises(InputError, match="spaces are a list; a dictionary from the name"):
        SharedSpace().fit(list(spaces.values()))
    with pytest.raises(InputError, match="1 model was given; a shared space is of at least 2"):
        SharedSpace().fit({"a": spaces["m0"]})
    with pytest.raises(RowMismatchError, match="m0 has 200 rows and m1 has 90"):
        SharedSpace().fit({"m0": spaces["m0"], "m1": spaces["m1"][:90]})
    with pytest.raises(UndefinedMeasureError, match="All rows of m1 are the same"):
        SharedSpace(**FIXED["gpa"]).fit({**spaces, "m1": np.ones((200, 4))})
    with pytest.raises(UndefinedMeasureError, match="All rows of m1 are the same"):
        SharedSpace(folds=2).fit({**spaces, "m1": np.ones((200, 4))})
    with pytest.raises(InputError, match="This SharedSpace is not fitted: call fit first"):
        SharedSpace().transform(spaces["m0"], "m0")
    with pytest.raises(UnknownNameError, match="'m9' is not a model of this shared space"):
        made["gpa"].transform(spaces["m0"], "m9")
    with pytest.raises(InputError, match="points have width 4; this map takes rows of width 6"):
        made["gpa"].transform(np.ones((3, 4)), "m0")


def test_moments_that_leave_something_to_choose_are_refused(spaces):
    moments = cs.Moments.of(spaces)
    with pytest.raises(InputError, match="width, scaling, method cannot be chosen from moments"):
        SharedSpace().fit(moments)
    with pytest.raises(InputError, match="ridge cannot be chosen from moments"):
        SharedSpace(width=3, scaling="none", method="gcca").fit(moments)
    bare = SharedSpace(**FIXED["gpa"]).fit(moments)
    with pytest.raises(InputError, match="fitted from moments and kept no consensus"):
        bare.add("new", spaces["m0"])
    with pytest.raises(InputError, match="moments of new hold no model of this space"):
        bare.add("new", cs.Moments.of({"new": spaces["m0"]}))


def test_models_that_cannot_be_added_are_refused(spaces, made):
    found = SharedSpace(**FIXED["gpa"]).fit(spaces)
    with pytest.raises(InputError, match="'m0' is in this shared space already"):
        found.add("m0", spaces["m0"])
    with pytest.raises(RowMismatchError, match="new has 90 rows and the fit had 200"):
        found.add("new", spaces["m0"][:90])
    with pytest.raises(RowMismatchError, match="new has ids and the rows of this space have none"):
        found.add("new", cs.Space(spaces["m0"], ids=range(200)))
    ids = {n: cs.Space(x, ids=range(200), name=n) for n, x in spaces.items()}
    named = SharedSpace(**FIXED["gpa"]).fit(ids)
    with pytest.raises(RowMismatchError, match="new shares 1 texts with the fit; at least 2"):
        named.add("new", cs.Space(spaces["m0"], ids=range(199, 399)))
    with pytest.raises(
        RowMismatchError, match="new has no ids and the rows of this space have ids"
    ):
        named.add("new", spaces["m0"])


@pytest.mark.parametrize("kept", [400, 200, 100])
def test_a_model_that_lacks_texts_is_translated_at_its_size(kept):
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((400, 8)) * np.linspace(2.0, 0.5, 8)
    turns = {name: np.linalg.qr(rng.standard_normal((8, 8)))[0] for name in "abc"}
    full = {name: truth @ q + 0.02 * rng.standard_normal((400, 8)) for name, q in turns.items()}
    ids = [f"t{i}" for i in range(400)]
    spaces = {name: Space(rows, ids=ids, name=name) for name, rows in full.items()}
    spaces["c"] = Space(full["c"][:kept], ids=ids[:kept], name="c")
    space = SharedSpace(method="gpa", scaling="none", width=8, missing="mask").fit(spaces)
    for source, target in (("a", "c"), ("c", "a"), ("a", "b")):
        found = space.translate(full[source], source=source, target=target)
        apart = np.linalg.norm(found - full[target]) / np.linalg.norm(full[target])
        assert apart < 0.08, (source, target)
