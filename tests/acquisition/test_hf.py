"""Reading a transformers model: which tokens, which batches, which errors."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch

from cospace.errors import ExtractionError, InputError, TextTooLongError, UnknownNameError
from cospace.models.base import Pooling, Site, TokenPolicy, resolve_sites
from cospace.models.batching import tokenise
from cospace.models.pooling import TokenMasks, pool, to_rows

EMBED = resolve_sites("embed", blocks=3, final_norm=True)
ALL = resolve_sites("all", blocks=3, final_norm=True)


def read(model, texts, **change):
    ids = [f"t{i}" for i in range(len(texts))]
    options = {
        "ids": ids,
        "sites": EMBED,
        "poolings": [Pooling.MEAN],
        "policy": TokenPolicy(),
        "batch_tokens": 1000,
    }
    return model.activations(texts, **(options | change))


@pytest.fixture
def llama(read_model):
    return read_model("llama")


@pytest.fixture
def counting(read_model, word_tokenizer):
    """Build a model whose state at ``embed`` is the token's id in every coordinate."""

    def build(template="[CLS] $A [SEP]", padding="right"):
        model = read_model("llama", tokenizer=word_tokenizer(template), padding=padding)
        table = model._reader.model.get_input_embeddings().weight
        with torch.no_grad():
            table[:] = torch.arange(64.0)[:, None].expand(64, 32)
        return model

    return build


def value(model, text, pooling, policy=None, beside=()):
    pooled = read(
        model, [text, *beside], poolings=[Pooling(pooling)], policy=policy or TokenPolicy()
    )
    return pooled.rows["embed", pooling][0, 0]


@pytest.mark.parametrize("padding", ["right", "left"])
@pytest.mark.parametrize("beside", [(), ("w30 w31 w32 w33",)])
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (TokenPolicy(), {"mean": 7, "last": 5, "first": 2, "max": 9}),
        (TokenPolicy(special=True), {"mean": 4.75, "last": 3, "first": 2, "max": 9}),
        (TokenPolicy(special=True, sink=False), {"mean": 17 / 3, "last": 3, "first": 2, "max": 9}),
        (TokenPolicy(sink=False), {"mean": 7, "last": 5, "first": 2, "max": 9}),
    ],
)
def test_special_tokens_are_pooled_against_the_policy(counting, policy, expected, beside, padding):
    model = counting(padding=padding)
    for pooling, number in expected.items():
        assert value(model, "w9 w5", pooling, policy, beside) == pytest.approx(number, abs=1e-6)


@pytest.mark.parametrize("padding", ["right", "left"])
def test_sink_is_pooled_against_the_policy(counting, padding):
    model = counting(None, padding)
    beside = ("w30 w31 w32 w33",)
    assert value(model, "w9 w5 w6", "mean", TokenPolicy(), beside) == pytest.approx(20 / 3)
    assert value(model, "w9 w5 w6", "mean", TokenPolicy(sink=False), beside) == 5.5
    assert value(model, "w9 w5 w6", "max", TokenPolicy(sink=False), beside) == 6
    assert value(model, "w9 w5 w6", "first", TokenPolicy(sink=False), beside) == 9


def test_spelled_out_special_token_is_dropped(counting):
    assert value(counting(), "w9 [SEP]", "mean") == 6
    assert value(counting(), "w9 [SEP]", "last") == 3
    assert value(counting(), "[CLS] w9", "mean") == 5.5


def test_word_with_the_id_of_padding_is_dropped(counting):
    model = counting()
    model._reader.fill = 0
    assert value(model, "w9 the w6", "mean", beside=("w30 w31 w32 w33",)) == 5
    model._reader.fill = 1
    assert value(model, "w9 [PAD]", "last", beside=("w30 w31 w32 w33",)) == 1


def test_class_token_under_left_padding_is_padding(counting):
    model = counting(padding="left")
    assert value(model, "w9", "first", beside=("w30 w31 w32 w33",)) == 2


def test_beginning_of_text_is_doubled(word_tokenizer, read_model):
    tokenizer = word_tokenizer("[CLS] $A")
    (text,) = tokenise(tokenizer, ["w5 w6"])
    assert text.ids.tolist() == tokenizer("w5 w6")["input_ids"] == [2, 5, 6]
    assert text.special.tolist() == [True, False, False]
    (bare,) = tokenise(word_tokenizer(None), ["w5 w6"])
    assert bare.ids.tolist() == [5, 6]


def test_padding_set_in_the_tokenizer_is_kept(word_tokenizer):
    tokenizer = word_tokenizer()
    tokenizer.backend_tokenizer.enable_padding(length=12)
    tokenizer.backend_tokenizer.enable_truncation(max_length=3)
    assert [len(text) for text in tokenise(tokenizer, ["w5 w6 w7", "w8"])] == [5, 3]


def test_several_poolings_take_several_passes(llama, monkeypatch):
    calls = []
    forward = llama._reader.model.forward
    monkeypatch.setattr(
        llama._reader.model, "forward", lambda **inputs: calls.append(1) or forward(**inputs)
    )
    pooled = read(llama, ["w5 w6", "w7"], sites=ALL, poolings=list(Pooling))
    assert len(calls) == 1
    assert set(pooled.rows) == {(s.name, p.value) for s in ALL for p in Pooling}
    assert all(rows.shape == (2, 32) for rows in pooled.rows.values())


def test_batch_of_one_differs(llama):
    texts = ["w5 w6 w7 w8", "w9", "w10 w11"]
    many = read(llama, texts, sites=ALL, poolings=list(Pooling))
    one = read(llama, texts, sites=ALL, poolings=list(Pooling), batch_tokens=1)
    for key, rows in many.rows.items():
        change = np.linalg.norm(rows - one.rows[key], axis=1)
        assert (change <= 1e-5 * np.linalg.norm(rows, axis=1)).all()


def test_rows_come_in_the_order_of_length(counting):
    texts = ["w9", "w5 w5 w5", "w7 w7", "w8"]
    pooled = read(counting(), texts, batch_tokens=5)
    assert pooled.rows["embed", "mean"][:, 0].tolist() == [9, 5, 7, 8]
    assert pooled.tokens.tolist() == [3, 5, 4, 3]


def test_same_input_gives_other_bytes(read_model):
    model = read_model("gpt2", resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5)
    texts = ["w5 w6 w7 w8", "w9", "w10 w11"]
    once, again = (read(model, texts, sites=ALL) for _ in range(2))
    for key, rows in once.rows.items():
        assert rows.tobytes() == again.rows[key].tobytes()


def test_dropout_stays_on(tiny_model, read_model):
    model = tiny_model("gpt2").train()
    read_model(model)
    assert not any(module.training for module in model.modules())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_low_precision_cannot_become_numpy(dtype, read_model, tiny_model, llama):
    model = read_model(tiny_model("llama").to(getattr(torch, dtype)))
    assert model.facts.dtype == dtype
    texts = ["w5 w6 w7 w8", "w9"]
    exact = read(llama, texts, sites=ALL, poolings=list(Pooling))
    found = read(model, texts, sites=ALL, poolings=list(Pooling))
    for key, rows in found.rows.items():
        assert rows.dtype == np.float32
        change = np.linalg.norm(rows - exact.rows[key]) / np.linalg.norm(rows)
        assert change < (1e-6 if dtype == "float64" else 0.05)


def test_row_keeps_the_whole_tensor_alive():
    states = torch.rand(2, 50, 8)
    seen = torch.ones(2, 50, dtype=torch.bool)
    for row in pool(states, TokenMasks(seen, seen), list(Pooling)).values():
        assert row.untyped_storage().nbytes() == 2 * 8 * 4
        assert to_rows(row).base is None


def test_mean_is_summed_in_low_precision():
    states = torch.full((1, 5000, 1), 30000.0, dtype=torch.float16)
    states[0, ::2] = 30016.0
    seen = torch.ones(1, 5000, dtype=torch.bool)
    row = pool(states, TokenMasks(seen, seen), [Pooling.MEAN])[Pooling.MEAN]
    assert row.item() == 30008.0


def test_progress_does_not_count_all_texts(llama):
    told = []
    read(llama, ["w5 w6", "w7", "w8"], batch_tokens=4, progress=told.append)
    assert told == [1, 1, 1]
    read(llama, ["w5 w6", "w7", "w8"], progress=told.append)
    assert told[3:] == [3]


def test_text_without_tokens_gives_nan(counting):
    model = counting()
    with pytest.raises(InputError) as caught:
        read(model, ["w5", "", "w6", ""])
    assert "No token is left to pool in 't1', 't3' (special tokens dropped" in str(caught.value)
    assert "TokenPolicy(special=..., sink=...)" in str(caught.value)
    with pytest.raises(InputError, match=r"pool in 't0' .*first token dropped"):
        read(counting(None), ["w5"], policy=TokenPolicy(sink=False))
    with pytest.raises(InputError, match="pool in 't0'"):
        read(counting(None), [""], poolings=[Pooling.FIRST])
    kept = read(model, ["", "w5"], policy=TokenPolicy(special=True))
    assert kept.rows["embed", "mean"][:, 0].tolist() == [2.5, pytest.approx(10 / 3)]
    first = read(model, ["", "w5"], poolings=[Pooling.FIRST])
    assert first.rows["embed", "first"][:, 0].tolist() == [2, 2]


def test_unequal_or_empty_input_is_no_error(llama):
    for change in ({"ids": ["a"]}, {"sites": []}, {"poolings": []}):
        with pytest.raises(InputError, match=r"Got 2 texts, . ids, . sites and . poolings"):
            read(llama, ["w5", "w6"], **change)
    with pytest.raises(InputError, match=r"Got 0 texts, 0 ids"):
        read(llama, [])


def test_site_of_another_model_is_a_key_error(llama):
    with pytest.raises(UnknownNameError, match=r"'block\.7' is not a site of llama"):
        read(llama, ["w5"], sites=[Site(8, "block.7", 1.0)])


def test_long_text_is_cut_silently(llama, monkeypatch):
    def fail(**_):
        raise AssertionError("a forward pass was run")

    monkeypatch.setattr(llama._reader.model, "forward", fail)
    long = " ".join(["w7"] * 63)
    with pytest.raises(TextTooLongError) as caught:
        read(llama, ["w5", long])
    message = str(caught.value)
    assert "llama reads at most 64 tokens of a text, and 't1' has up to 65." in message
    assert "TokenPolicy(truncate=True)" in message
    with pytest.raises(TextTooLongError, match="'t0', 't1', 't2', 't3', 't4' and 2 more have up"):
        read(llama, [long] * 7)
    with pytest.raises(TextTooLongError, match="'t0' has up to 65"):
        llama.check_texts([long], ids=["t0"], policy=TokenPolicy())
    llama.check_texts([long, ""], ids=["t0", "t1"], policy=TokenPolicy(truncate=True))


def test_cut_texts_are_not_counted(counting):
    model = counting()
    long = " ".join(["w8"] * 62 + ["w20"] * 9)
    pooled = read(
        model,
        ["w5", long, "w6", long],
        policy=TokenPolicy(special=True, truncate=True),
        poolings=[Pooling.LAST, Pooling.MAX],
    )
    assert pooled.truncated == ("t1", "t3")
    assert pooled.tokens.tolist() == [3, 64, 3, 64]
    assert pooled.rows["embed", "last"][:, 0].tolist() == [3, 3, 3, 3]
    assert pooled.rows["embed", "max"][:, 0].tolist() == [5, 8, 6, 8]


def test_limit_of_the_tokenizer_is_missed(read_model, word_tokenizer):
    assert read_model("mamba").max_tokens is None
    short = read_model("mamba", tokenizer=word_tokenizer(model_max_length=10))
    assert short.max_tokens == 10
    assert read_model("llama", tokenizer=word_tokenizer(model_max_length=1000)).max_tokens == 64


def test_not_finite_state_is_averaged(read_model):
    model = read_model("llama")
    with torch.no_grad():
        model._reader.model.get_input_embeddings().weight[13, 4] = torch.inf
    assert np.isfinite(read(model, ["w5 w6"], sites=ALL).rows["block.1", "mean"]).all()
    for pooling in Pooling:
        with pytest.raises(ExtractionError) as caught:
            read(model, ["w5 w6", "w5 w13 w6", "w13 w5"], sites=ALL, poolings=[pooling])
        message = str(caught.value)
        assert (
            "llama in float32 gave values that are not finite at embed for 't1', 't2'." in message
        )
        assert "check the weights" in message


def test_not_finite_weights_name_no_site(read_model):
    model = read_model("llama")
    with torch.no_grad():
        model._reader.layout.blocks[1].mlp.down_proj.weight[0, 0] = torch.nan
    with pytest.raises(ExtractionError, match=r"not finite at block\.1 for 't0'"):
        read(model, ["w5"], sites=ALL)


ALLOCATOR = (
    "[enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory: you tried"
)


def narrow(model, monkeypatch, most, error):
    """Give a model memory for ``most`` padded tokens; list the sizes of the passes."""
    forward = model._reader.model.forward
    sizes = []

    def limited(**inputs):
        sizes.append(inputs["input_ids"].numel())
        if sizes[-1] > most:
            raise error
        return forward(**inputs)

    monkeypatch.setattr(model._reader.model, "forward", limited)
    return sizes


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
        RuntimeError(ALLOCATOR),
        MemoryError(),
    ],
)
def test_out_of_memory_ends_the_run(llama, monkeypatch, caplog, error):
    texts = [f"w{i} w{i + 1} w{i + 2}" for i in range(5, 21)]
    expected = read(llama, texts, sites=ALL)
    sizes = narrow(llama, monkeypatch, 20, error)
    told = []
    with caplog.at_level(logging.WARNING, logger="cospace"):
        found = read(llama, texts, sites=ALL, progress=told.append)
    assert sizes == [80, 40, 20, 20, 20, 20]
    assert sum(told) == 16
    assert caplog.messages == [
        "llama: out of memory on cpu at 80 padded tokens in a batch; going on with half of that."
    ]
    for key, rows in found.rows.items():
        np.testing.assert_allclose(rows, expected.rows[key], rtol=1e-4, atol=1e-6)
    sizes.clear()
    read(llama, texts, sites=ALL)
    assert sizes == [20, 20, 20, 20]
    assert len(caplog.messages) == 1


def test_out_of_memory_is_told_on_stdout(llama, monkeypatch, capfd):
    logger = logging.getLogger("cospace")
    monkeypatch.setattr(logger, "propagate", False)
    narrow(llama, monkeypatch, 5, MemoryError())
    read(llama, ["w5 w6 w7", "w8 w9"])
    out, err = capfd.readouterr()
    assert out == ""
    assert "out of memory on cpu at 10 padded tokens" in err


def test_one_text_beyond_memory_is_halved_for_ever(llama, monkeypatch):
    narrow(llama, monkeypatch, 4, MemoryError())
    with pytest.raises(ExtractionError) as caught:
        read(llama, ["w5", "w6 w7 w8", "w9"])
    message = str(caught.value)
    assert "llama: out of memory on cpu with the single text 't1' of 5 tokens." in message
    assert "dtype='bfloat16'" in message


def test_any_error_is_taken_for_memory_trouble(llama, monkeypatch):
    narrow(llama, monkeypatch, 0, RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        read(llama, ["w5", "w6"])
    narrow(llama, monkeypatch, 0, ExtractionError("a text named 'out of memory'"))
    with pytest.raises(ExtractionError, match="a text named"):
        read(llama, ["w5", "w6"])


def test_transformers_talks_to_the_user(read_model, tiny_model, capfd):
    model = read_model("mamba")
    read(model, ["w5", "w6 w7"])
    assert capfd.readouterr() == ("", "")


def test_circumstances_are_not_told(read_model):
    assert read_model("llama").circumstances == {
        "device": "cpu",
        "attention": "sdpa",
        "padding": "right",
    }


def test_facts_are_guessed(read_model, tiny_model):
    facts = read_model("t5").facts
    assert (facts.architecture, facts.blocks, facts.width, facts.final_norm) == ("t5", 3, 32, True)
    encoder = tiny_model("t5").get_encoder()
    assert facts.parameters == sum(parameter.numel() for parameter in encoder.parameters())
    assert facts.dtype == "float32"
