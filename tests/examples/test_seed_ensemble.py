"""The ensemble example on a toy text: what it trains, that it resumes exactly, what it refuses."""

from __future__ import annotations

import doctest
import importlib
import json
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import cospace
from cospace.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
try:
    mlm = importlib.import_module("masked_language_model")
    token_rows = importlib.import_module("token_rows")
    training = importlib.import_module("training")
    ensemble = importlib.import_module("seed_ensemble")
finally:
    sys.path.pop(0)

WORDS = 40
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SHAPE = ["--width", "64", "--blocks", "1", "--length", "24", "--rows", "8"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A tokenizer beside weights, and texts of 22 words, each of one topic with four words."""
    home = tmp_path_factory.mktemp("toy")
    names = [*SPECIAL, *(f"w{i}" for i in range(WORDS))]
    tokenizer = transformers.BertTokenizerFast(vocab={name: i for i, name in enumerate(names)})
    tokenizer.save_pretrained(home / "tokenizer")
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
    )
    transformers.BertModel(config).save_pretrained(home / "tokenizer")
    rng = np.random.default_rng(0)
    topics = rng.integers(WORDS // 4, size=600)
    lines = [" ".join(f"w{4 * topic + i}" for i in rng.integers(4, size=22)) for topic in topics]
    (home / "topics.txt").write_text("\n".join(lines))
    return home


@pytest.fixture(autouse=True)
def one_thread():
    """Undo the thread limit of a worker that ran in the test's own thread."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def command(home: Path, into: Path, *more: str) -> list[str]:
    text, tokenizer = str(home / "topics.txt"), str(home / "tokenizer")
    return ["--into", str(into), "--text", text, "--tokenizer", tokenizer, *SHAPE, *more]


def refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert ensemble.main(words) == 2
    heard = capsys.readouterr()
    assert heard.out == ""
    return heard.err.splitlines()[-1]


def toy(home: Path, **more: object) -> object:
    shape = {"width": 64, "blocks": 1, "length": 24, "rows": 8, "steps": 6, "dtype": "float32"}
    names = {"texts": (str(home / "topics.txt"),), "tokenizer": str(home / "tokenizer")}
    return mlm.Settings(**{**names, **shape, **more})


def weights(into: Path, seed: int) -> bytes:
    return (into / f"seed-{seed:02d}" / "model.safetensors").read_bytes()


@pytest.fixture
def text():
    rng = np.random.default_rng(1)
    rows = rng.integers(5, 45, size=(40, 24)).astype(np.uint16)
    rows[:, 0], rows[:, 12] = 2, 3
    return token_rows.Text(rows, rows[:8], special=(0, 1, 2, 3, 4), mask=4, vocabulary=45)


def test_docs_of_the_rows_are_true():
    assert doctest.testmod(token_rows).failed == 0


def test_rows_begin_with_a_whole_text_and_long_texts_are_cut():
    rows = token_rows.pack([[5], [6] * 9, [7, 8], [9]], length=6, first=1, end=2)
    assert rows.tolist() == [[1, 5, 2, 6, 6, 6], [1, 6, 6, 6, 6, 6], [1, 7, 8, 2, 9, 2]]


def test_tokens_are_hidden_in_the_stated_shares(text):
    big = token_rows.Text(np.tile(text.train, (100, 1)), text.held_out, text.special, 4, 45)
    hidden, chosen = mlm.hide(big.train, big, np.random.default_rng(0), 0.3)
    usable = ~np.isin(big.train, text.special)
    assert not chosen[~usable].any()
    assert (hidden == big.train)[~chosen].all()
    assert chosen[usable].mean() == pytest.approx(0.3, abs=0.01)
    masked, kept = (hidden == 4)[chosen], (hidden == big.train)[chosen]
    # One in 45 of the random tokens is the mask, and one the token itself.
    assert masked.mean() == pytest.approx(0.8 + 0.1 / 45, abs=0.01)
    assert kept.mean() == pytest.approx(0.1 + 0.1 / 45, abs=0.01)


def test_a_pass_reads_every_row_once_in_an_order_of_its_own(text):
    numbered = np.arange(40, dtype=np.uint16)[:, None]

    def turn(seed, first):
        steps = [token_rows.batch(numbered, seed=seed, step=first + i, size=8) for i in range(5)]
        return np.concatenate(steps).ravel().tolist()

    assert sorted(turn(0, 0)) == list(range(40))
    assert turn(0, 0) == turn(0, 0)
    assert turn(0, 0) != turn(0, 5) != turn(1, 0)


def test_the_head_starts_as_a_unigram_model_and_is_tied(text, home):
    model = mlm.new_model(toy(home), text, 0)
    head = model.cls.predictions
    counts = np.bincount(text.train.ravel(), minlength=45)
    counts[:5] = 0
    expected = np.log((counts + 1) / (counts + 1).sum())
    np.testing.assert_allclose(head.decoder.bias.detach(), expected, atol=1e-6)
    assert head.decoder.weight is model.bert.embeddings.word_embeddings.weight


def reference_loss(model, hidden, rows, chosen, correction):
    """Cross-entropy in float64 from the scores that transformers gives."""
    scores = model(torch.from_numpy(hidden)).logits.detach().double().numpy()[chosen] - correction
    scores = scores - scores.max(1, keepdims=True)
    log_p = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    return -log_p[np.arange(len(log_p)), rows[chosen]].mean()


def test_the_sampled_loss_is_that_of_the_softmax_where_all_tokens_are_drawn(
    text, home, monkeypatch
):
    monkeypatch.setattr(mlm, "DRAWS", 200_000)
    model = mlm.new_model(toy(home), text, 0)
    hidden, chosen = mlm.hide(text.train, text, np.random.default_rng(0), 0.3)
    wanted = np.where(chosen, text.train.astype(np.int64), -1)
    found = mlm.sampled_loss(model, hidden, wanted, text, np.random.default_rng(3))
    expected = reference_loss(model, hidden, text.train, chosen, np.zeros(45))
    assert found.item() == pytest.approx(expected, abs=1e-5)


def test_the_sampled_loss_takes_off_how_often_a_token_is_among_the_draws(text, home, monkeypatch):
    monkeypatch.setattr(mlm, "DRAWS", 3)
    model = mlm.new_model(toy(home), text, 0)
    hidden, chosen = mlm.hide(text.train[:1], text, np.random.default_rng(0), 0.3)
    rows = text.train[:1].astype(np.int64)
    wanted = np.where(chosen, rows, -1)
    found = mlm.sampled_loss(model, hidden, wanted, text, np.random.default_rng(3))
    p = np.exp(text.log_frequencies)
    drawn = np.random.default_rng(3).choice(45, size=3, p=p)
    correction = np.log(1 - (1 - p) ** (chosen.sum() + 3))
    among = np.isin(np.arange(45), [*drawn, *rows[chosen]])
    assert not among.all()
    correction = np.where(among, correction, np.inf)
    expected = reference_loss(model, hidden, rows, chosen, correction)
    assert found.item() == pytest.approx(expected, abs=1e-5)


def test_encoders_learn_load_and_differ(home, tmp_path, capsys):
    words = command(home, tmp_path, "--seeds", "2", "--steps", "100", "--rate", "0.005")
    assert ensemble.main(words) == 0
    heard = capsys.readouterr()
    assert heard.out.splitlines()[0] == str(tmp_path)
    assert [line.split()[0] for line in heard.out.splitlines()[2:]] == [
        "seed-00",
        "seed-01",
        "unigram",
    ]
    assert "min left" in heard.err
    facts = json.loads((tmp_path / "seed-00/training.json").read_text())
    # 40 words are equally frequent; who knows the topic of a row has four to choose from.
    assert facts["unigram"]["loss"] == pytest.approx(np.log(WORDS), abs=0.05)
    assert facts["held_out"]["loss"] < facts["unigram"]["loss"] - 0.8
    assert facts["held_out"]["accuracy"] > 4 / WORDS
    assert facts["tokens_seen"] == 100 * 8 * 24
    assert facts["seed"] == 0
    assert weights(tmp_path, 0) != weights(tmp_path, 1)

    model = cospace.load_model(tmp_path / "seed-00")
    assert (model.facts.architecture, model.facts.blocks, model.facts.width) == ("bert", 1, 64)
    assert model.max_tokens == 24

    whole = transformers.BertForMaskedLM.from_pretrained(tmp_path / "seed-00").eval()
    settings = mlm.Settings(**{**facts["settings"], "texts": tuple(facts["settings"]["texts"])})
    text = ensemble.prepare(tmp_path, settings, print)
    assert mlm.held_out_scores(whole, settings, text) == facts["held_out"]

    record = json.loads((tmp_path / "ensemble.json").read_text())
    away = json.loads((tmp_path / "held-out.json").read_text())[str(home / "topics.txt")]
    corpus = cospace.Corpus.read(home / "topics.txt")
    assert record["text"][0]["texts"] == len(corpus)
    assert record["text"][0]["fingerprint"] == corpus.fingerprint
    assert set(away) < set(corpus.ids)
    assert record["tokens"]["train"] == text.train.size

    before = (tmp_path / "seed-00/model.safetensors").stat().st_mtime_ns
    assert ensemble.main(words) == 0
    assert "2 encoders are trained, 0 are to be trained" in capsys.readouterr().err
    assert (tmp_path / "seed-00/model.safetensors").stat().st_mtime_ns == before


def test_an_interrupted_run_ends_with_the_same_weights(home, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(training, "SAVE_SECONDS", 0.0)
    plain, broken = tmp_path / "plain", tmp_path / "broken"
    more = ("--seeds", "2", "--steps", "8")
    assert ensemble.main(command(home, plain, *more, "--workers", "2")) == 0
    moved = training.Teller.moved

    def interrupt(self, seed, step, loss):
        moved(self, seed, step, loss)
        if step == 5:
            signal.raise_signal(signal.SIGINT)
            # The handler runs in the main thread; this one must not run ahead of it.
            threading.Event().wait(0.7)

    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patched:
        patched.setattr(training.Teller, "moved", interrupt)
        assert ensemble.main(command(home, broken, *more, "--workers", "1")) == 130
    assert "give the same command again" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) == handler
    assert (broken / ".seed-00.partial/state.safetensors").exists()
    assert not (broken / "seed-00").exists()
    assert ensemble.main(command(home, broken, *more, "--workers", "1")) == 0
    for seed in range(2):
        assert weights(broken, seed) == weights(plain, seed)
    losses = [
        json.loads((folder / "seed-00/training.json").read_text())["training_loss"]
        for folder in (plain, broken)
    ]
    assert losses[0] == losses[1]
    assert not (broken / ".seed-00.partial").exists()


def test_other_settings_need_another_folder(home, tmp_path, capsys):
    settings = toy(home)
    ensemble.prepare(tmp_path, settings, lambda line: None)
    words = command(home, tmp_path, "--steps", "7", "--dtype", "float32")
    assert refusal(words, capsys) == (
        f"{tmp_path} holds an ensemble with steps 6, and 7 was asked for: name another folder with "
        "--into, or remove this one."
    )
    record = json.loads((tmp_path / "ensemble.json").read_text())
    (tmp_path / "ensemble.json").write_text(json.dumps({**record, "schema": 0}))
    with pytest.raises(InputError, match="with schema 0, and 1 was expected: name another"):
        ensemble.prepare(tmp_path, settings, print)


def test_a_short_text_is_refused(home, tmp_path, capsys):
    (tmp_path / "short.txt").write_text("\n".join(f"w{i} w1" for i in range(WORDS)))
    words = ["--text", str(tmp_path / "short.txt"), "--tokenizer", str(home / "tokenizer")]
    line = refusal(["--into", str(tmp_path / "e"), *words, *SHAPE, "--rows", "9"], capsys)
    # 38 texts of three tokens fill five rows of 23, each of which also begins with a token.
    assert line == (
        "The text fills 5 rows of 24 tokens (train), expected 9 or more: take more text."
    )


def test_held_out_tokens_must_be_chosen(text, home):
    bare = token_rows.Text(text.train, np.full((1, 24), 2, np.uint16), text.special, 4, 45)
    with pytest.raises(InputError, match="No held-out token was chosen to be predicted: take more"):
        mlm.unigram_scores(bare, toy(home))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--seeds", "0"], "--seeds is 0, expected 1 or more."),
        (["--workers", "0"], "--workers is 0, expected 1 or more."),
        (["--steps", "0"], "steps is 0, expected 1 or more."),
        (["--width", "100"], "width is 100, expected a multiple of 64, as heads are 64."),
        (["--length", "4"], "length is 4, expected 8 tokens or more."),
        (["--dtype", "int8"], "dtype is 'int8', expected 'bfloat16' or 'float32'."),
    ],
)
def test_options_that_mean_nothing_are_refused(words, line, home, tmp_path, capsys):
    assert refusal(command(home, tmp_path, *words), capsys) == line


def test_a_folder_is_trained_in_by_one_process(home, tmp_path, capsys):
    pytest.importorskip("fcntl")
    with training.alone(tmp_path):
        line = refusal(command(home, tmp_path), capsys)
    assert line == (f"Another process trains in {tmp_path}: wait for it, or name another folder.")


def test_a_folder_that_cannot_be_written_is_named(home, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    line = refusal(command(home, tmp_path / "file" / "in"), capsys)
    assert line.startswith(f"{tmp_path / 'file' / 'in'}: Not a directory")
    assert line.endswith("Name another folder with --into.")


def test_a_damaged_state_is_named(home, tmp_path):
    settings, stop = toy(home), threading.Event()
    text = ensemble.prepare(tmp_path, settings, print)
    work = tmp_path / ".seed-00.partial"
    work.mkdir()
    (work / "state.safetensors").write_bytes(b"\0" * 20)
    with pytest.raises(
        InputError, match=r"state.safetensors is damaged \(.*\): remove it to begin"
    ):
        ensemble.train(tmp_path, 0, settings, text, stop=stop, moved=print)


@pytest.mark.weights
def test_topics_are_definitions_that_no_encoder_saw(tmp_path):
    definitions = cospace.corpora.read_text("wordnet-definitions").corpus
    group = dict(zip(definitions.ids, definitions.groups, strict=True))
    unseen = cospace.corpora.split(definitions, 0.95, seed=0)[1].ids
    (tmp_path / "held-out.json").write_text(json.dumps({"wordnet-definitions": unseen}))
    path = ensemble.write_topics(tmp_path)
    task = cospace.probes.load_task(path)
    assert task.classes == ensemble.TOPICS
    assert len(task.corpus) == 4 * ensemble.PER_TOPIC
    assert set(task.corpus.ids) <= set(unseen)
    assert all(group[i] == label for i, label in task.labels.items())
    assert ensemble.write_topics(tmp_path) == path
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "held-out.json").write_text(json.dumps({"wordnet-definitions": unseen[:100]}))
    assert ensemble.write_topics(bare) is None
    (bare / "held-out.json").write_text(json.dumps({"topics.txt": ["t0"]}))
    assert ensemble.write_topics(bare) is None
