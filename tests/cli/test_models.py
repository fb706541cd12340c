"""Models end to end through the command line; tiny ones, but for the last test."""

from __future__ import annotations

import json
import shlex
import shutil

import pytest

from cospace.corpus import Corpus


def test_models_become_a_table_and_are_read_once(cli, model_folders, texts, monkeypatch, tmp_path):
    monkeypatch.setenv("COSPACE_CACHE", str(tmp_path / "cache"))
    words = ("compare", *model_folders, "--texts", texts(), "--report", "r.html")
    first = cli(*words)
    assert first.code == 0, first.err
    assert first.out.startswith(
        "first and second: 40 rows, the most alike pair of sites by each measure\n"
    )
    row = next(line for line in first.out.splitlines() if line.startswith("debiased_cka"))
    assert row.split()[4:6] == ["above", "chance"]
    assert "p: corrected for the search over pairs of sites" in first.out
    head = [
        f"activations are kept in {tmp_path / 'cache' / 'activations'} (--store for another folder)",
        "first: 40 texts to do",
    ]
    for line, start in zip(first.err.splitlines(), head, strict=False):
        assert line.startswith(start)
    assert "report: r.html" in first.err
    monkeypatch.setattr("cospace.models.hf.HFModel.activations", None)
    second = cli(*words)
    assert second.out == first.out
    assert second.err.count("everything is there already") == 2


def test_the_texts_are_named_when_none_were_given(cli, model_folders, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("cospace.models.hf.load_model", stop)
    found = cli("extract", model_folders[0], "--store", "s")
    assert found.code == 130
    assert found.err == (
        "texts: plain, 480 packaged sentences (--texts for your own)\ncospace: Interrupted.\n"
    )


def test_a_store_is_compared_by_its_sites_and_poolings(cli, model_folders, texts):
    done = cli(
        "extract",
        *model_folders,
        "--store",
        "my store",
        "--texts",
        texts(),
        "--pooling",
        "mean,last",
    )
    assert (done.code, done.out) == (0, "")
    assert "first: 40 texts at 3 sites, pooled by mean, last" in done.err
    after = done.err.splitlines()[-1].split("next: cospace ")[1]
    assert shlex.split(after) == ["compare", "my store"]
    words = (*shlex.split(after), "--measures", "linear_cka", "--json")
    assert len(cli(*words).json["spaces"]) == 12
    some = cli(*words, "--sites", "0.5,last", "--pooling", "last").json["spaces"]
    assert {(space["site"], space["pooling"]) for space in some} == {
        ("block.0", "last"),
        ("block.1", "last"),
    }
    assert "--texts is for models, and this is a store" in cli(*words, "--texts", "t").mistake
    assert "compare one store at a time" in cli("compare", "my store", "minilm").mistake
    assert "'block.9' is not a site" in cli(*words, "--sites", "block.9").mistake


def test_the_sites_of_one_model_are_compared_with_each_other(cli, model_folders, texts):
    words = ("compare", model_folders[0], "--texts", texts(), "--store", "s")
    found = cli(*words, "--measures", "debiased_cka")
    assert found.out.startswith("Sites of first: 40 rows")
    alone = cli(*words, "--sites", "last")
    assert alone.code == 2
    assert alone.err.splitlines()[-1].startswith("cospace: 1 space was given")


def test_an_unknown_site_is_one_line_with_the_nearest(cli, model_folders, texts):
    words = ("extract", model_folders[0], "--store", "s", "--texts", texts(), "--sites")
    assert "Did you mean 'block.1'" in cli(*words, "blok.1").mistake
    assert "a block is named 'block.3'" in cli(*words, "3").mistake


def test_drift_of_a_model_in_two_forms(cli, model_folders, texts):
    words = ("compare", *model_folders, "--texts", texts(), "--store", "s", "--drift")
    found = cli(*words, "--report", "d.html", "--save", "d.json")
    assert found.code == 0, found.err
    assert found.out.startswith("first -> second: 40 rows\n")
    assert [line.split()[0] for line in found.out.split("\n\n")[1].splitlines()] == [
        "site",
        "embed",
        "block.0",
        "block.1",
    ]
    head, *moved = (
        found.out.split("Texts that moved most, by rank, means over sites:\n")[1]
        .split("\n\n")[0]
        .splitlines()
    )
    assert head.split() == ["rank", "error", "text"]
    ranks = [float(line.split()[0]) for line in moved]
    assert ranks == sorted(ranks)
    assert all(" w" in line for line in moved)
    assert "error: relative to the rows before, not centred; residual: of centred rows" in found.out
    assert cli("report", "d.json", "--out", "e.html").code == 0
    assert cli("compare", "s", "--drift", "--json").json["kind"] == "drift"


def test_models_of_one_name_are_called_by_their_references(cli, model_folders, texts, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for folder, name in zip(model_folders, ("a", "b"), strict=True):
        (tmp_path / name / "model").symlink_to(folder)
        (tmp_path / f"{name}-model").mkdir()
        for file in folder.iterdir():
            (tmp_path / f"{name}-model" / file.name).symlink_to(file)
    for folder in ("a", "b"):
        (tmp_path / folder / "model").unlink()
        (tmp_path / f"{folder}-model").rename(tmp_path / folder / "model")
    found = cli("compare", "a/model", "b/model", "--texts", texts(), "--store", "s", "--json")
    assert {space["model"] for space in found.json["spaces"]} == {"a/model", "b/model"}


def test_one_model_by_two_references_is_a_mistake(cli, model_folders, texts, tmp_path):
    (tmp_path / "copy").symlink_to(model_folders[0])
    found = cli("compare", model_folders[0], "copy", "--texts", texts(), "--store", "s")
    assert found.code == 2
    assert "are the same model" in found.err.splitlines()[-1]


def test_another_tokenizer_over_the_same_weights_is_the_same_model(
    cli, model_folders, texts, tmp_path
):
    other = tmp_path / "tk"
    shutil.copytree(model_folders[0], other)
    plain = json.loads((other / "tokenizer.json").read_text())
    words = plain["model"]["vocab"]
    words["w1"], words["w2"] = words["w2"], words["w1"]
    (other / "tokenizer.json").write_text(json.dumps(plain))
    found = cli(
        "compare", model_folders[0], other, "--texts", texts(), "--store", "s", "--sites", "last",
        "--measures", "linear_cka", "--json",
    )  # fmt: skip
    assert found.json["records"][0]["value"] < 1.0
    assert "everything is there already" not in found.err


def test_a_model_without_a_tokenizer_is_read(cli, model_folders, texts, tmp_path):
    other = tmp_path / "bare"
    shutil.copytree(model_folders[0], other)
    for path in other.glob("tokenizer*"):
        path.unlink()
    line = cli("extract", other, "--texts", texts(), "--store", "s").mistake
    assert "bare holds no tokenizer (tokenizer.json, vocab.txt or tokenizer.model)" in line


def test_forms_of_other_depths_are_both_run_before_they_are_refused(
    cli, model_folders, texts, tmp_path
):
    import transformers

    other = tmp_path / "deep"
    shutil.copytree(model_folders[0], other)
    config = transformers.BertConfig.from_pretrained(other)
    config.num_hidden_layers = 3
    transformers.BertModel(config).save_pretrained(other)
    found = cli("compare", model_folders[0], other, "--texts", texts(), "--store", "s", "--drift")
    assert found.code == 2
    assert found.err.splitlines()[-1].endswith(
        "--drift needs the same sites in both forms: first has 2 blocks and deep has 3, and block.2 "
        "is in deep alone. Name sites that both have (--sites), or leave --drift out."
    )
    assert "deep: " not in found.err
    found = cli(
        "compare", model_folders[0], other, "--texts", texts(), "--store", "s", "--drift",
        "--sites", "embed,block.0",
    )  # fmt: skip
    assert found.code == 0


def test_overlong_texts_are_named_and_cut_on_request(cli, model_folders, texts):
    path = texts(id=lambda i: f"text-{i}")
    lines = path.read_text().splitlines()
    lines[3] = json.dumps({"text": "w1 " * 30, "id": "the-long-one"})
    path.write_text("\n".join(lines))
    words = ("extract", model_folders[0], "--store", "s", "--texts", path)
    line = cli(*words).mistake
    assert "the-long-one" in line
    assert line.endswith("On the command line: --truncate.")
    told = "first: 1 of 40 texts was cut to 16 tokens (first: the-long-one)"
    for _ in range(2):
        found = cli(*words, "--truncate")
        assert found.code == 0
        assert told in found.err.splitlines()
        assert "40 texts, 1 cut at 3 sites" in found.err
    found = cli("compare", *model_folders, *words[2:], "--truncate", "--measures", "linear_cka")
    assert found.code == 0
    assert told in found.err.splitlines()


def test_repeated_texts_are_reported(cli, model_folders, tmp_path):
    (tmp_path / "t.txt").write_text("w1 w2\nw3\nw1 w2\n")
    found = cli("extract", model_folders[0], "--store", "s", "--texts", "t.txt")
    assert found.err.startswith("texts: 1 of 3 repeat an earlier one (first: t")


def test_a_full_disk_is_found_before_the_work(cli, model_folders, texts, full_disk):
    line = cli("extract", model_folders[0], "--store", full_disk / "s", "--texts", texts()).mistake
    assert "free some space" in line


def test_a_damaged_folder_of_weights_is_one_line(cli, model_folders, texts, tmp_path):
    (tmp_path / "bad").mkdir()
    for file in model_folders[0].iterdir():
        (tmp_path / "bad" / file.name).write_bytes(file.read_bytes())
    weights = tmp_path / "bad" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    found = cli("extract", "bad", "--store", "s", "--texts", texts())
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert found.err.startswith("cospace: bad: the weights in ")
    assert " are damaged (" in found.err


def test_what_is_secret_is_not_told(cli, model_folders, texts, monkeypatch, tmp_path):
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "PIP_INDEX_URL", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "https://me:hf_S3cret@index.example")
    found = cli(
        "compare", *model_folders, "--texts", texts(), "--store", "s", "--measures", "linear_cka",
        "--report", "r.html", "--save", "r.json", "--json",
    )  # fmt: skip
    assert found.code == 0
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 5
    assert not any(b"S3cret" in data for data in [*written, found.out.encode(), found.err.encode()])


def test_an_interrupted_comparison_says_what_is_kept(cli, model_folders, texts, monkeypatch):
    def stop(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("cospace.comparison.compare", stop)
    found = cli("compare", *model_folders, "--texts", texts(), "--store", "s", "--save", "r.json")
    assert found.code == 130
    assert found.err.splitlines()[-1] == (
        "cospace: Stopped while comparing, nothing was written. Activations are kept: the same "
        "command uses them."
    )
    again = cli("compare", *model_folders, "--texts", texts(), "--store", "s")
    assert "everything is there already" in again.err


def test_the_demo_is_kept_and_made_again_by_another_version(
    cli, model_folders, texts, monkeypatch, tmp_path
):
    path = texts()
    import sys

    from cospace.cli import demo as _demo  # noqa: F401

    module = sys.modules["cospace.cli.demo"]
    monkeypatch.setattr(module, "MODELS", tuple(map(str, model_folders)))
    monkeypatch.setattr(module, "Reading", lambda **options: _reading(texts=str(path), **options))
    first = cli("demo", "--into", "d")
    assert first.code == 0, first.err
    assert first.out.startswith("Debiased CKA, similarity; 40 rows\n")
    assert first.err.splitlines()[-1] == f"report: {tmp_path / 'd' / 'report.html'}"
    saved = (tmp_path / "d" / "comparison.json").read_bytes()
    page = (tmp_path / "d" / "report.html").read_bytes()

    calls = []
    import cospace.comparison

    real = cospace.comparison.compare
    monkeypatch.setattr(
        "cospace.comparison.compare", lambda *a, **o: calls.append(1) or real(*a, **o)
    )
    assert cli("demo", "--into", "d").out == first.out
    assert not calls
    assert (tmp_path / "d" / "report.html").read_bytes() == page
    monkeypatch.setattr("cospace.__version__", "99.0")
    assert cli("demo", "--into", "d").code == 0
    assert calls
    assert json.loads((tmp_path / "d" / "comparison.json").read_text()) == json.loads(saved)


def _reading(**options):
    from cospace.cli.inputs import Reading

    return Reading(**options)


@pytest.mark.weights
def test_two_packaged_models_are_more_alike_than_chance(cli, tmp_path):
    lines = [json.dumps({"text": text}) for text in Corpus.packaged("plain").texts[::6]]
    (tmp_path / "some.jsonl").write_text("\n".join(lines))
    words = ("compare", "minilm", "smollm2-135m", "--texts", "some.jsonl", "--store", "s")
    found = cli(*words, "--sites", "0.2", "--measures", "debiased_cka")
    assert found.code == 0, found.err
    assert found.out.startswith("minilm and smollm2-135m: 80 rows, widths 384 and 576\n")
    assert "above chance" in found.out
