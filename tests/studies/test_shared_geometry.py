"""The shared-geometry study on tiny decoders: its figures, its parts kept, and its page."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cospace.errors import ContradictionError, InputError, UnknownNameError
from cospace.report import write_report
from cospace.report.shared_geometry import geometry_study_page
from cospace.studies.settings import read_settings
from cospace.studies.shared_geometry import carried
from cospace.studies.shared_geometry.claims import claims
from cospace.studies.shared_geometry.published import PUBLISHED
from cospace.studies.shared_geometry.result import SharedGeometryStudy
from cospace.studies.shared_geometry.settings import SharedGeometrySettings
from cospace.studies.shared_geometry.study import run
from cospace.tokens import read_vocabulary

STEERING = """
[steering]
source = "{root}/first"
targets = ["{root}/second"]
behaviours = ["items.json"]
source_layers = [0.5, 1.0]
coefficients = [-1, 0, 1]
answers = "texts"
neutral = 2
draws = 2
"""


@pytest.fixture
def study(behaviour, decoders):
    """Write a study file, and run it."""

    def make(*, steering=True, keep=None, **changes):
        settings = {
            "models": [f"{decoders}/{name}" for name in ("first", "second", "third")],
            "sample": 400,
            "draws": 1,
            "k": 4,
            "dimension_tokens": 40,
            "dimension_k": [6, 9],
            "coherence": "graph",
            "coherence_tokens": 30,
            "frequency": "words.txt",
            "references": {"third": "list.jsonl"},
        } | changes
        lines = []
        for key, value in settings.items():
            if isinstance(value, dict):
                inner = ", ".join(f"{json.dumps(k)} = {json.dumps(v)}" for k, v in value.items())
                lines.append(f"{key} = {{{inner}}}\n")
            else:
                lines.append(f"{key} = {json.dumps(value)}\n")
        path = behaviour / "study.toml"
        path.write_text("".join(lines) + (STEERING.format(root=decoders) if steering else ""))
        return path

    return make


def done(path, **options):
    settings = read_settings(path, SharedGeometrySettings)
    return run(settings, base=path.parent, into=path.with_suffix(""), **options)


def stop(*args, **options):
    raise AssertionError("this was done already")


def pearson_of_cosines(*tables):
    """Pearson's correlation over all pairs of rows, in double precision."""
    values = []
    for table in tables:
        rows = table.astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        values.append((rows @ rows.T)[np.triu_indices(len(rows), 1)])
    return float(np.corrcoef(*values)[0, 1])


def table_of(folder, role):
    """Rows by text of the token, of one of the two matrices."""
    tensors = load_file(folder / "model.safetensors")
    name = "lm_head.weight" if role == "output" else "model.embed_tokens.weight"
    table = tensors.get(name, tensors["model.embed_tokens.weight"])
    vocabulary = read_vocabulary(folder, len(table))
    return {vocabulary.text(int(i)): table[i] for i in vocabulary.ids("used")}


def test_the_parts_of_a_study_and_what_is_kept(study, decoders, behaviour, monkeypatch):
    told = []
    path = study()
    found = done(path, progress=lambda *step: told.append(step))
    assert found.geometry.models == ("first", "second", "third")
    for fewer, words in (
        (lambda x: x[1:], "first to second is missing"),
        (lambda x: [*x, x[0]], "2 times"),
    ):
        data = found.to_dict()
        data["geometry"]["comparisons"] = fewer(data["geometry"]["comparisons"])
        with pytest.raises(ContradictionError, match=words):
            SharedGeometryStudy.from_dict(data)
    assert [each.model for each in found.geometry.coherence] == ["first", "second", "third"]
    assert [each.behaviour for each in found.steering] == ["items.json"]
    (one,) = found.steering
    conditions = {each.condition for each in one.sweep.transfers[0].conditions}
    assert {"transferred", "native", "shuffled_rows", "random_map.0", "random_direction.1"} <= (
        conditions
    )
    assert one.own.model == "first"
    assert one.own.n == one.sweep.transfers[0].conditions[0].curve.n == 6
    assert ("steering", 1, 1) in told
    again = SharedGeometryStudy.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.to_dict() == found.to_dict()
    columns = {tuple(row) for row in found.records()}
    assert len(columns) == 1
    scores = [row for row in found.records() if row["part"] == "steering"]
    assert len(scores) == 3 * len(one.sweep.transfers[0].conditions)

    for name in ("compare", "measure_coherence"):
        monkeypatch.setattr(f"cospace.tokens.geometry.{name}", stop)
    for name in ("carry", "build_chosen", "load_decoder"):
        monkeypatch.setattr(carried, name, stop)
    assert done(path).to_dict() == found.to_dict()
    monkeypatch.undo()
    monkeypatch.setattr("cospace.tokens.geometry.compare", stop)
    with pytest.raises(AssertionError, match="done already"):
        done(study(steering=False, k=5))


def test_matrices_are_the_correlations_of_all_pairs(study, decoders):
    found = done(study(steering=False, coherence="none", undertrained=False, references={}))
    names = found.geometry.models
    for which, role in (("embeddings", "input"), ("unembeddings", "output")):
        grid = found.matrix(which)
        for i, a in enumerate(names):
            assert grid[i][i] == 1.0
            for j, b in enumerate(names[:i]):
                x, y = table_of(decoders / a, role), table_of(decoders / b, role)
                shared = sorted(set(x) & set(y))
                value = pearson_of_cosines(*(np.array([t[k] for k in shared]) for t in (x, y)))
                assert grid[i][j] == grid[j][i] == pytest.approx(value, abs=1e-5)
    apart = found.matrix("embeddings")[0][2], found.matrix("unembeddings")[0][2]
    assert apart[0] != apart[1]
    assert found.matrix("embeddings")[0][1] == found.matrix("unembeddings")[0][1]
    assert found.geometry.coherence == ()
    assert found.steering == ()


def test_a_rotated_copy_is_the_same_everywhere(study, decoders, behaviour, tmp_path):
    tensors = load_file(decoders / "first" / "model.safetensors")
    table = tensors["model.embed_tokens.weight"].astype(np.float64)
    vocabulary = read_vocabulary(decoders / "first", len(table))
    # Rows that stand for no text are matched with nothing: far away they are no neighbours.
    others = np.setdiff1d(np.arange(len(table)), vocabulary.ids("used"))
    table[others] *= 1000.0
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(16, 16)))
    for name, rows in (("plain", table), ("turned", 3.0 * table @ turn)):
        shutil.copytree(decoders / "first", tmp_path / name)
        tensors["model.embed_tokens.weight"] = rows.astype(np.float32)
        save_file(tensors, tmp_path / name / "model.safetensors")
    found = done(
        study(
            steering=False,
            models=[str(tmp_path / "plain"), str(tmp_path / "turned")],
            coherence="none",
            undertrained=False,
            references={},
        )
    )
    assert found.matrix()[0][1] == pytest.approx(1.0, abs=1e-6)
    assert not found.untied
    assert "matrices" not in {section["id"] for section in geometry_study_page(found)["sections"]}
    by_figure = {claim.figure: claim for claim in found.claims}
    near = by_figure["LLE weights, mean cosine"]
    assert (near.ours_low, near.ours_high) == (pytest.approx(1.0, abs=1e-4),) * 2
    assert near.ours_on == "1 pair of matrices"
    half = by_figure["share of tokens with a cosine of 0.5 or more"]
    assert half.ours_low == half.ours_high == 1.0
    assert by_figure["intrinsic dimension, Spearman, k = 6"].ours_low == pytest.approx(1.0)
    assert by_figure["tokens apart, share of those compared"].ours_high == 0.0
    assert by_figure["coherence (star) and dimension, Spearman"].ours_on == "not asked for"
    assert (
        by_figure["recall of tokens apart, list: tested"].ours_on == "no reference list was given"
    )
    carried_over = by_figure["span of the carried vector over that of the model’s own"]
    assert carried_over.ours_on == "no vector was carried"
    assert carried_over.ours_low is None


def test_claims_hold_the_published_numbers_and_the_range_of_ours(study):
    found = done(study(steering=False))
    assert [claim.theirs_value for claim in found.claims if claim.theirs_value == 0.32] == [0.32]
    assert {claim.theirs_on for claim in found.claims} == {one.on for one in PUBLISHED}
    near = [figure for one in found.geometry.comparisons for figure in one.local]
    claim = next(c for c in found.claims if c.figure == "LLE weights, mean cosine")
    assert (claim.ours_low, claim.ours_high) == (
        min(one.mean for one in near),
        max(one.mean for one in near),
    )
    assert claim.ours_on == f"{len(near)} pairs of matrices"
    (few,) = [one for one in found.geometry.undertrained if one.model == "third"]
    recalls = [
        one.recall
        for one in few.recoveries
        if one.reference == "tested" and one.method.startswith("apart")
    ]
    assert recalls
    claim = next(c for c in found.claims if c.figure == "recall of tokens apart, list: tested")
    assert (claim.ours_low, claim.ours_high) == (min(recalls), max(recalls))
    # All neighbourhoods of so small a vocabulary have one dimension: there is no correlation.
    claim = next(c for c in found.claims if c.figure.startswith("coherence (star)"))
    assert (claim.ours_low, claim.ours_high) == (None, None)
    assert claim.ours_on == "undefined: one of them is constant"
    scores = (-0.5, None, 0.25)
    coherence = [
        replace(one, star_spearman=value)
        for one, value in zip(found.geometry.coherence, scores, strict=True)
    ]
    told = claims(replace(found.geometry, coherence=tuple(coherence)), ())
    claim = next(c for c in told if c.figure.startswith("coherence (star)"))
    assert (claim.ours_low, claim.ours_high, claim.ours_on) == (-0.5, 0.25, "2 models")


def test_the_page_has_every_part_and_points_at_its_records(study, tmp_path):
    found = done(study())
    page = geometry_study_page(found)
    ids = [section["id"] for section in page["sections"]]
    assert ids[:3] == ["paper", "matrices", "pairs"]
    assert {"near", "dimension", "coherence", "undertrained", "steering-1", "models"} <= set(ids)
    assert len(ids) == len(set(ids))
    (maps,) = [s for s in page["sections"] if s["id"] == "matrices"]
    for which, label, block in zip(
        ("embeddings", "unembeddings"), maps["blocks"][::2], maps["blocks"][1::2], strict=True
    ):
        assert label["text"] == f"{which.capitalize()}:"
        grid = [
            [None if i == j else value for j, value in enumerate(line)]
            for i, line in enumerate(found.matrix(which))
        ]
        assert block["views"][0]["grid"] == grid
    (section,) = [s for s in page["sections"] if s["id"] == "steering-1"]
    own, curves = section["blocks"][:2]
    assert own["panels"][0]["series"][0]["label"] == "own vector"
    records = found.records()
    for series in curves["panels"][0]["series"]:
        for point in series["points"]:
            row = records[point["record"]]
            assert row["part"] == "steering"
            assert row["value"] == pytest.approx(point["y"])
    written = write_report(found, tmp_path / "page.html").read_text()
    assert "What the paper says, and ours" in written
    assert "0.320 (GPT-NeoX-20B and OLMo-7B: one tokenizer, other data)" in written


@pytest.fixture
def cli(capsys, monkeypatch, behaviour):
    """Run the command line in the folder of the study."""
    from cospace.cli import main

    monkeypatch.chdir(behaviour)
    monkeypatch.setenv("COSPACE_CACHE", str(behaviour / "cache"))

    def call(*words):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


def test_an_interrupted_study_goes_on_and_is_printed(study, cli, monkeypatch, behaviour):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(carried, "carry", interrupted)
    path = study()
    code, out, err = cli("study", "shared-geometry", path, "--into", "done")
    assert code == 130
    assert out == ""
    assert "what is done is kept in done, the same command goes on from it" in err
    assert len(list((behaviour / "done" / "steps").glob("comparison-*.json"))) == 3
    monkeypatch.undo()
    monkeypatch.chdir(behaviour)
    monkeypatch.setattr("cospace.tokens.geometry.compare", stop)
    code, out, err = cli("study", "shared-geometry", path, "--into", "done", "--json")
    assert code == 0, err
    result = SharedGeometryStudy.load(behaviour / "done" / "study.json")
    assert json.loads(out) == result.to_dict()
    assert result.provenance["command"].startswith("cospace study shared-geometry")
    assert (behaviour / "done" / "report.html").is_file()
    code, out, err = cli("study", "shared-geometry", path, "--into", "done")
    assert code == 0, err
    value = result.matrix("unembeddings")[0][2]
    lines = out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("cosines, unembeddings"))
    assert lines[start + 1].split()[-1] == f"{value:.3f}"
    assert "GPT-NeoX-20B and OLMo-7B" in out
    assert "- LLE weights, mean cosine: " in out
    each = result.steering[0].sweep.transfers[0]
    row = next(line for line in lines if line.startswith("items.json"))
    assert f"{each.condition('transferred').curve.span:+.3f}" in row
    assert row.split()[-1] == f"{each.p_random:.2g}"
    code, _, err = cli("report", "done/study.json", "--out", "again.html")
    assert code == 0, err
    assert (behaviour / "again.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"models": []}, "models is []: name the models to compare, two or more"),
        ({"model": ["a"]}, "there is no key 'model'. Did you mean 'models'?"),
        ({"k": 0}, "k is 0: input should be greater than or equal to 1"),
        ({"dimension_k": [5, 5]}, "dimension_k is [5, 5]: name at least one, and each once"),
        ({"metric": "manhattan"}, "metric is 'manhattan': input should be 'euclidean' or 'cosine'"),
        ({"references": {"third": "none.jsonl"}}, "none.jsonl cannot be read"),
    ],
)
def test_mistakes_are_told_in_one_line(study, cli, changes, words):
    code, out, err = cli("study", "shared-geometry", study(**changes))
    assert (code, out) == (2, "")
    assert words in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("neutral", "nuetral", "there is no key 'steering.nuetral'. Did you mean 'neutral'?"),
        ("coefficients = [-1, 0, 1]", "coefficients = []", "each once"),
        ('"items.json"', '"item.json"', "neither a file nor one of the packaged behaviours"),
        ("/second", "/first", "twice: name each model once"),
        ("draws = 2", 'draws = 2\nmade_from = "pairs"', "make vectors from questions"),
        ("/second", "/none", "none"),
    ],
)
def test_mistakes_of_steering_are_told_before_anything_is_computed(
    study, cli, monkeypatch, old, new, words
):
    monkeypatch.setattr("cospace.tokens.geometry.compare", stop)
    path = study()
    whole, mark, steering = path.read_text().partition("[steering]")
    path.write_text(whole + mark + steering.replace(old, new))
    code, out, err = cli("study", "shared-geometry", path)
    assert (code, out) == (2, "")
    assert words in err.splitlines()[-1]


def test_one_model_and_a_list_of_another_are_refused(study, decoders):
    with pytest.raises(InputError, match="The study names 1 model; 2 or more are compared"):
        done(study(models=[f"{decoders}/first"], references={}))
    with pytest.raises(UnknownNameError, match="fourth"):
        done(study(steering=False, references={"fourth": "list.jsonl"}))


@pytest.mark.weights
def test_two_packaged_encoders(behaviour):
    path = behaviour / "packaged.toml"
    path.write_text(
        'models = ["minilm", "mpnet"]\nsample = 500\ndraws = 2\ntokens = 50\n'
        'dimension_tokens = 20\ndimension_k = [20]\ncoherence = "none"\nundertrained = false\n'
    )
    found = done(path)
    assert 0.4 < found.matrix()[0][1] < 0.7
    assert found.matrix("unembeddings") == [[None, None], [None, None]]
    claim = next(c for c in found.claims if c.figure.endswith("unembeddings"))
    assert claim.ours_on == "no two models have unembeddings"
    assert found.all_warnings() == tuple(dict.fromkeys(found.all_warnings()))
