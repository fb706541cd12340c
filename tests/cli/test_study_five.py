"""``cospace study five-architectures`` on two tiny decoders: code paths alone, no results."""

from __future__ import annotations

import json

import numpy as np
import pytest

LETTERS = [f"w{chr(97 + i)}" for i in range(26)]


def lines(seed, n, **columns):
    rng = np.random.default_rng(seed)
    return "".join(
        json.dumps(
            {"id": f"s{seed}-{i}", "text": " ".join(rng.choice(LETTERS, 4 + i % 3))}
            | {name: column(i, rng) for name, column in columns.items()}
        )
        + "\n"
        for i in range(n)
    )


@pytest.fixture
def study(tmp_path, decoders):
    """A study file with texts beside it."""
    for name, seed, n in (("first", 1, 90), ("second", 2, 60), ("other", 3, 60)):
        (tmp_path / f"{name}.jsonl").write_text(lines(seed, n))
    (tmp_path / "pairs.jsonl").write_text(lines(4, 60, pair=lambda i, rng: f"p{i // 2}"))
    (tmp_path / "prompts.jsonl").write_text(
        lines(
            5,
            60,
            group=lambda i, rng: "xy"[i % 2],
            label=lambda i, rng: " | ".join(sorted(set(rng.choice(LETTERS, 12).tolist()))),
        )
    )
    models = ", ".join(json.dumps(str(path)) for path in decoders)
    path = tmp_path / "study.toml"
    path.write_text(
        f"""
title = "Two tiny decoders"
models = [{models}]
texts = "first.jsonl"
replica = "second.jsonl"
paraphrases = "pairs.jsonl"
transfer = ["other.jsonl"]
depths = [0.5, 1.0]
space_depths = [1.0]
poolings = ["mean", "last"]
space_poolings = ["mean"]
permutations = 99
answering = [{models}]
prompts = "prompts.jsonl"
new_tokens = 2
"""
    )
    return path


def test_from_file_to_report_and_again(cli, study, tmp_path):
    found = cli("study", "five-architectures", study, "--into", "out", "--store", "store")
    assert found.code == 0, found.err
    for words in ("Two tiny decoders: one, two", "held out", "paraphrases", "other.jsonl"):
        assert words in found.out
    saved = json.loads((tmp_path / "out" / "study.json").read_text())
    assert saved["kind"] == "five-architectures study"
    assert {cell["set"] for cell in saved["sweep"]["cells"]} == {
        "held out",
        "replica",
        "paraphrases",
        "other.jsonl",
    }
    assert saved["routing"]["models"] == ["one", "two"]
    poolings = {one["pooling"] for one in saved["correspondence"]["agreements"]}
    assert poolings == {"mean", "last", "mean, no sink"}
    page = (tmp_path / "out" / "report.html").read_text()
    for title in ("Agreement: ", "Shared space: ", "Router: "):
        assert title in page
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "steps").iterdir()}
    assert len(made) == 3
    again = cli("study", "five-architectures", study, "--into", "out", "--store", "store")
    assert again.out == found.out
    assert {path: path.stat().st_mtime_ns for path in made} == made
    assert cli("report", "out/study.json", "--out", "again.html").code == 0
    assert (tmp_path / "again.html").read_text() == page
    for part, told in (
        ("sweep", "sweep is of x, two, and the study of one, two"),
        ("routing", "routing: x is none of one, two"),
    ):
        changed = json.loads((tmp_path / "out" / "study.json").read_text())
        renamed = (
            json.dumps(changed[part]).replace('"one"', '"x"').replace('"only one"', '"only x"')
        )
        changed[part] = json.loads(renamed)
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        refused = cli("report", "changed.json", "--out", "no.html").mistake
        assert "is no whole five-architectures study" in refused
        assert told in refused


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("space_depths = [0.25]", "space_depths names 0.25, and depths does not"),
        ('space_poolings = ["max"]', "space_poolings names max, and poolings does not"),
        (
            'answering = ["gemma3-270m"]',
            "answering names 'gemma3-270m', which is none of the models",
        ),
        ("answering = [models[0]]", "answering names 1 decoder"),
        ("models = [models[0]]", "The study names 1 model; 2 or more share a space"),
        ('transfer = ["first"]', "transfer names 'first' twice or by a reserved name"),
        ("deep = 1", "there is no key 'deep'"),
    ],
)
def test_mistakes_in_the_file_are_told_in_one_line(cli, study, decoders, line, words):
    name = line.partition(" =")[0]
    kept = [old for old in study.read_text().splitlines() if not old.startswith(f"{name} =")]
    line = line.replace("models[0]", json.dumps(str(decoders[0])))
    if name == "models":
        kept = [old for old in kept if not old.startswith("answering")]
    study.write_text("\n".join([*kept, line]))
    assert words in cli("study", "five-architectures", study).mistake


@pytest.mark.parametrize("number", ["nan", "inf", "2", "-1", "'x'"])
def test_numbers_of_the_file_are_told_by_their_key(cli, study, number):
    kept = [one for one in study.read_text().splitlines() if "held_out" not in one]
    study.write_text("\n".join([*kept, f"held_out = {number}"]))
    assert f"held_out is {number.strip()}: input should be" in cli(
        "study", "five-architectures", study
    ).mistake.replace("-1.0", "-1")


def test_too_many_shuffles_are_refused(cli, study):
    study.write_text(study.read_text().replace("permutations = 99", "permutations = 1000000000"))
    told = cli("study", "five-architectures", study).mistake
    assert "permutations is 1000000000: input should be less than or equal to 1000000" in told


def test_an_interruption_while_reading_says_what_is_kept(cli, study, monkeypatch):
    from cospace.studies.five_architectures import reading

    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "extract", stopped)
    found = cli("study", "five-architectures", study, "--into", "out", "--store", "store")
    assert found.code == 130
    assert found.err.splitlines()[-1] == (
        "cospace: Stopped while reading models: activations that are done are kept in store, the same command goes "
        "on from them."
    )


def test_texts_that_repeat_are_on_one_side(cli, study, tmp_path, monkeypatch):
    """Fault: a text is fitted and then found because it is there twice."""
    from cospace.studies.five_architectures import study as room

    whole = (tmp_path / "first.jsonl").read_text().splitlines()
    again = [
        json.dumps({**json.loads(line), "id": f"again{i}"}) for i, line in enumerate(whole[:40])
    ]
    (tmp_path / "first.jsonl").write_text("\n".join([*whole, *again]) + "\n")
    seen = []

    def kept(fit, sets, *, texts, **options):
        seen.append((texts, sets[0].texts))
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "score_shared", kept)
    assert (
        cli("study", "five-architectures", study, "--into", "out", "--store", "store").code == 130
    )
    fitted, unseen = seen[0]
    assert len(fitted) + len(unseen) == 130
    assert len(set(fitted)) < len(fitted)
    assert not set(fitted) & set(unseen)


def test_texts_that_differ_are_split_by_their_ids(cli, study, monkeypatch):
    from cospace.corpora import open_corpus
    from cospace.shared import split_texts
    from cospace.studies.five_architectures import study as room

    seen = []

    def kept(fit, sets, *, texts, **options):
        seen.append(sets[0].texts)
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "score_shared", kept)
    assert (
        cli("study", "five-architectures", study, "--into", "out", "--store", "store").code == 130
    )
    corpus = open_corpus(study.parent / "first.jsonl")
    wanted = corpus.take(split_texts(corpus.ids, held_out=0.3, rng=0).held_out)
    assert seen == [wanted.texts]
