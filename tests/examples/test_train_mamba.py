"""The Mamba example on a toy text: what it trains, that it resumes exactly, what it refuses."""

from __future__ import annotations

import importlib
import json
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import cospace
from cospace.errors import InputError
from cospace.models.base import Pooling, TokenPolicy, resolve_sites
from cospace.models.checkpoint import quiet

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
try:
    lm = importlib.import_module("mamba_language_model")
    command_of = importlib.import_module("train_mamba")
    token_rows = importlib.import_module("token_rows")
    training = importlib.import_module("training")
finally:
    sys.path.pop(0)

WORDS = 40
END = 0
SHAPE = ["--width", "16", "--blocks", "2", "--length", "24", "--rows", "8"]


def save_tokenizer(folder, *, end="<end>", around=False):
    """Whole words; at will without an end token, or with one around every text."""
    names = ["<end>", "<unk>", *(f"w{i}" for i in range(WORDS))]
    core = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, "<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    if around:
        core.post_processor = processors.TemplateProcessing("$A <end>", None, [("<end>", END)])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token=end, pad_token=end, unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)
    config = transformers.MambaConfig(vocab_size=42, hidden_size=8, num_hidden_layers=1)
    transformers.MambaModel(config).save_pretrained(folder)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A tokenizer beside weights, and texts of 8 words, each of one topic with four words."""
    home = tmp_path_factory.mktemp("toy")
    save_tokenizer(home / "tokenizer")
    rng = np.random.default_rng(0)
    topics = rng.integers(WORDS // 4, size=900)
    lines = [" ".join(f"w{4 * topic + i}" for i in rng.integers(4, size=8)) for topic in topics]
    (home / "topics.txt").write_text("\n".join(lines))
    return home


@pytest.fixture(autouse=True)
def one_thread():
    """Undo the thread limit that a training sets in the test's own thread."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def text():
    rng = np.random.default_rng(1)
    rows = rng.integers(2, 42, size=(40, 24)).astype(np.uint16)
    rows[:, 12] = END
    return token_rows.Text(rows, rows[:8], special=(), mask=None, vocabulary=42)


def command(home: Path, into: Path, *more: str) -> list[str]:
    names = ["--text", str(home / "topics.txt"), "--tokenizer", str(home / "tokenizer")]
    return ["--into", str(into), *names, *SHAPE, *more]


def refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert command_of.main(words) == 2
    heard = capsys.readouterr()
    assert heard.out == ""
    return heard.err.splitlines()[-1]


def toy(home: Path, **more: object) -> object:
    shape = {"width": 16, "blocks": 2, "length": 24, "rows": 8, "steps": 6, "dtype": "float32"}
    names = {"texts": (str(home / "topics.txt"),), "tokenizer": str(home / "tokenizer")}
    return lm.Settings(**{**names, **shape, **more})


def weights(into: Path) -> bytes:
    return (into / "mamba/model.safetensors").read_bytes()


def prepared(home: Path, into: Path) -> object:
    into.mkdir(exist_ok=True)
    settings = toy(home)
    tokenizer = token_rows.load_tokenizer(settings)
    return command_of.prepare(into, settings, tokenizer, lambda line: None)


def test_rows_begin_with_a_text_that_follows_nothing(home, tmp_path):
    text = prepared(home, tmp_path)
    assert text.train.shape[1] == 24
    assert not (text.train[:, 0] == END).any()
    # Texts of eight words: the end stands in the ninth and the eighteenth place.
    assert (text.train[:, [8, 17]] == END).all()
    assert ((text.train == END).sum(1) == 2).all()


def first_gradients(settings, text, workers, monkeypatch):
    """Loss of the first step, and the gradients that the optimiser was given."""
    seen = {}

    def update(run, settings, loss):
        seen.update(loss=loss, **{name: p.grad.clone() for name, p in run.model.named_parameters()})

    monkeypatch.setattr(lm.Run, "update", update)
    run = lm.new_run(settings, text, END)
    with ThreadPoolExecutor(workers) as pool:
        lm.one_step(run, settings, text, pool)
    return run.model, seen


def reference_loss(model, rows, correction):
    """Mean cross-entropy of each next token, its rivals' scores corrected, by transformers."""
    wanted = torch.nn.functional.one_hot(rows[:, 1:], 42).bool()
    scores = model(rows[:, :-1], use_cache=False).logits
    scores = torch.where(wanted, scores, scores - correction)
    return -scores.log_softmax(-1).gather(-1, rows[:, 1:, None]).mean()


def test_a_step_is_that_of_the_full_softmax_where_all_tokens_are_drawn(text, home, monkeypatch):
    monkeypatch.setattr(lm, "DRAWS", 200_000)
    model, seen = first_gradients(toy(home), text, 2, monkeypatch)
    rows = token_rows.batch(text.train, seed=0, step=0, size=8).astype(np.int64)
    loss = reference_loss(model, torch.from_numpy(rows), torch.zeros(42))
    assert seen["loss"] == pytest.approx(loss.item(), abs=1e-5)
    # Token 1 is in no row: what is drawn least often has gradients too.
    assert (seen["backbone.embeddings.weight"].norm(dim=1) > 0).all()
    model.zero_grad()
    loss.backward()
    for name, parameter in model.named_parameters():
        largest = float(parameter.grad.abs().max())
        np.testing.assert_allclose(seen[name], parameter.grad, atol=1e-4 * largest, err_msg=name)


def test_tokens_are_drawn_as_often_as_is_taken_off():
    rng = np.random.default_rng(2)
    rows = rng.choice(10, size=(50, 8), p=np.arange(10) / 45).astype(np.uint16)
    text = token_rows.Text(rows, rows, (), None, 10)
    p, times, found, said = np.exp(text.log_frequencies), 20_000, np.zeros(10), np.zeros(10)
    for _ in range(times):
        wanted = rng.choice(10, size=2, p=p)
        drawn = token_rows.draw(wanted, text, rng, draws=2, evenly=3)
        assert (drawn.among[drawn.place] == wanted).all()
        found[drawn.among] += 1 / times
        said[drawn.among] = np.exp(drawn.log_present)
    assert (said > 0).all()
    # Four standard deviations.
    np.testing.assert_allclose(found, said, atol=4 * 0.5 / times**0.5)


def test_a_step_takes_off_how_often_a_rival_is_among_the_draws(text, home, monkeypatch):
    monkeypatch.setattr(lm, "DRAWS", 3)
    monkeypatch.setattr(lm, "EVENLY", 2)
    few = token_rows.Text(text.train[:2], text.held_out, (), None, 42)
    model, seen = first_gradients(toy(home, rows=2), few, 1, monkeypatch)
    rows = token_rows.batch(few.train, seed=0, step=0, size=2).astype(np.int64)
    p = np.exp(few.log_frequencies)
    rng = np.random.default_rng([0, 1, 0])
    drawn = [*rng.choice(42, size=3, p=p), *rng.integers(42, size=2)]
    among = np.isin(np.arange(42), [*drawn, *rows[:, 1:].ravel()])
    assert not among.all()
    absent = (1 - p) ** (rows[:, 1:].size + 3) * (41 / 42) ** 2
    correction = np.where(among, np.log(1 - absent), np.inf)
    loss = reference_loss(model, torch.from_numpy(rows), torch.from_numpy(correction).float())
    assert seen["loss"] == pytest.approx(loss.item(), abs=1e-5)


def test_a_model_learns_and_loads(home, tmp_path, capsys):
    words = command(home, tmp_path, "--steps", "150", "--rate", "0.01")
    assert command_of.main(words) == 0
    heard = capsys.readouterr()
    assert heard.out.splitlines()[0] == str(tmp_path / "mamba")
    assert [line.split()[0] for line in heard.out.splitlines()[2:]] == ["mamba", "unigram"]
    assert "mamba: step 150 of 150" in heard.err
    facts = json.loads((tmp_path / "mamba/training.json").read_text())
    # Who knows a text's topic has four words to choose from, who knows nothing forty.
    assert facts["unigram"]["loss"] == pytest.approx(
        8 / 9 * np.log(WORDS * 9 / 8) + 1 / 9 * np.log(9), abs=0.05
    )
    assert facts["held_out"]["loss"] < facts["unigram"]["loss"] - 0.8
    assert facts["tokens_seen"] == 150 * 8 * 24
    assert facts["passes_over_the_text"] == pytest.approx(
        facts["tokens_seen"] / np.load(tmp_path / "train.npy").size
    )
    card = (tmp_path / "mamba/README.md").read_text()
    for number in (facts["held_out"]["perplexity"], facts["unigram"]["perplexity"], "28,800"):
        assert str(number) in card

    whole = transformers.MambaForCausalLM.from_pretrained(tmp_path / "mamba").eval()
    assert facts["parameters"] == sum(each.numel() for each in whole.parameters())
    rows = torch.from_numpy(np.load(tmp_path / "held-out.npy").astype(np.int64))
    loss = reference_loss(whole, rows, torch.zeros(42)).item()
    assert facts["held_out"]["loss"] == pytest.approx(loss, abs=1e-4)
    assert facts["held_out"]["perplexity"] == pytest.approx(np.exp(loss), abs=0.01)
    assert facts["held_out"]["tokens"] == rows[:, 1:].numel()

    record = json.loads((tmp_path / "text.json").read_text())
    away = json.loads((tmp_path / "held-out.json").read_text())[str(home / "topics.txt")]
    corpus = cospace.Corpus.read(home / "topics.txt")
    assert record["text"][0]["fingerprint"] == corpus.fingerprint
    assert set(away) < set(corpus.ids)

    before = (tmp_path / "mamba/model.safetensors").stat().st_mtime_ns
    assert command_of.main(words) == 0
    assert "the model is trained" in capsys.readouterr().err
    assert (tmp_path / "mamba/model.safetensors").stat().st_mtime_ns == before
    assert not (tmp_path / ".mamba.partial").exists()


def test_a_model_is_read_at_its_depths(home, tmp_path):
    assert command_of.main(command(home, tmp_path, "--steps", "2")) == 0
    model = cospace.load_model(tmp_path / "mamba")
    assert (model.facts.architecture, model.facts.blocks, model.facts.width) == ("mamba", 2, 16)
    sites = resolve_sites([0, 0.5, 1], blocks=2, final_norm=model.facts.final_norm)
    found = model.activations(
        ["w1 w2 w3", "w4 w5"],
        ids=["a", "b"],
        sites=sites,
        poolings=[Pooling.MEAN, Pooling.LAST],
        policy=TokenPolicy(),
        batch_tokens=64,
    )
    whole = transformers.MambaForCausalLM.from_pretrained(tmp_path / "mamba").eval()
    # w1 w2 w3 and w4 w5, behind the end and the unknown token.
    for i, ids in enumerate(([3, 4, 5], [6, 7])):
        with quiet(), torch.inference_mode():
            embedded = whole.get_input_embeddings()(torch.tensor(ids))
            blocks = whole.backbone(torch.tensor([ids]), output_hidden_states=True).hidden_states
        for site, states in zip(sites, [embedded, blocks[0][0], blocks[-1][0]], strict=True):
            last, mean = (found.rows[site.name, pooling][i] for pooling in ("last", "mean"))
            np.testing.assert_allclose(last, states[-1], atol=1e-5)
            np.testing.assert_allclose(mean, states.mean(0), atol=1e-5)
    # Nothing is put before a text, as in training.
    assert found.tokens.tolist() == [3, 2]


def test_the_weights_do_not_depend_on_the_cores(home, tmp_path):
    for workers in ("1", "2"):
        words = command(home, tmp_path / workers, "--steps", "5", "--workers", workers)
        assert command_of.main(words) == 0
    assert weights(tmp_path / "1") == weights(tmp_path / "2")


def test_an_interrupted_run_ends_with_the_same_weights(home, tmp_path, capsys, monkeypatch):
    plain, broken = tmp_path / "plain", tmp_path / "broken"
    assert command_of.main(command(home, plain, "--steps", "8")) == 0
    moved = training.Teller.moved

    def interrupt(self, seed, step, loss):
        moved(self, seed, step, loss)
        if step == 5:
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patched:
        patched.setattr(training.Teller, "moved", interrupt)
        assert command_of.main(command(home, broken, "--steps", "8")) == 130
    assert "give the same command again" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) == handler
    assert (broken / ".mamba.partial/state.safetensors").exists()
    assert not (broken / "mamba").exists()
    assert command_of.main(command(home, broken, "--steps", "8")) == 0
    assert weights(broken) == weights(plain)
    losses = [
        json.loads((folder / "mamba/training.json").read_text())["training_loss"]
        for folder in (plain, broken)
    ]
    assert losses[0] == losses[1]


def test_other_settings_need_another_folder(home, tmp_path, capsys):
    prepared(home, tmp_path)
    line = refusal(command(home, tmp_path, "--steps", "7", "--dtype", "float32"), capsys)
    assert line == (
        f"{tmp_path} holds a model with steps 6, and 7 was asked for: name another folder with "
        "--into, or remove this one."
    )


def test_a_short_text_is_refused(home, tmp_path, capsys):
    (tmp_path / "short.txt").write_text("\n".join(f"w{i} w1" for i in range(WORDS)))
    words = ["--text", str(tmp_path / "short.txt"), "--tokenizer", str(home / "tokenizer")]
    line = refusal(["--into", str(tmp_path / "e"), *words, *SHAPE], capsys)
    # 38 texts of three tokens fill four rows of 24.
    assert line == (
        "The text fills 4 rows of 24 tokens (train), expected 8 or more: take more text."
    )


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ({"end": None}, "no end-of-text token, expected a decoder's that has one"),
        (
            {"around": True},
            "tokens that it puts around every text, expected one that leaves texts alone",
        ),
    ],
)
def test_a_tokenizer_that_does_not_suit_is_refused(kind, wrong, home, tmp_path, capsys):
    save_tokenizer(tmp_path / "other", **kind)
    words = command(home, tmp_path / "into", "--tokenizer", str(tmp_path / "other"))
    assert refusal(words, capsys) == (
        f"The tokenizer of {tmp_path / 'other'} has {wrong}: name another with --tokenizer, such "
        "as smollm2-135m."
    )


def test_a_vocabulary_beyond_two_bytes_is_refused(home, tmp_path, monkeypatch):
    settings = toy(home)
    tokenizer = token_rows.load_tokenizer(settings)
    monkeypatch.setattr(type(tokenizer), "__len__", lambda self: 2**16 + 1)
    with pytest.raises(InputError, match="has 65,537 tokens, expected 65,536 or fewer: name an"):
        command_of.prepare(tmp_path, settings, tokenizer, print)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--workers", "0"], "--workers is 0, expected 1 or more."),
        (["--steps", "0"], "steps is 0, expected 1 or more."),
        (["--width", "4"], "width is 4, expected 8 or more."),
        (["--rows", "7"], "rows is 7, expected a multiple of 2."),
        (["--dtype", "int8"], "dtype is 'int8', expected 'bfloat16' or 'float32'."),
    ],
)
def test_options_that_mean_nothing_are_refused(words, line, home, tmp_path, capsys):
    assert refusal(command(home, tmp_path, *words), capsys) == line


def test_a_damaged_state_is_named(home, tmp_path, capsys):
    (tmp_path / ".mamba.partial").mkdir()
    state = tmp_path / ".mamba.partial/state.safetensors"
    state.write_bytes(b"\0" * 20)
    line = refusal(command(home, tmp_path), capsys)
    assert line.startswith(f"{state} is damaged (")
    assert line.endswith("): remove it to begin anew.")
