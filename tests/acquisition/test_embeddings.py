"""Token embeddings out of checkpoints: which tensor, what numbers, tied or not."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

from cospace.errors import AcquisitionError, InputError, UndefinedMeasureError, UnknownNameError
from cospace.models.embeddings import read_embeddings

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(30, 4)).astype(np.float32)
OTHER = RNG.normal(size=(30, 4)).astype(np.float32)
BODY = {"model.layers.0.mlp.weight": np.ones((4, 4), np.float32), "norm.weight": np.ones(4)}


@pytest.fixture
def checkpoint(tmp_path):
    """A function: folder with these tensors and this configuration."""

    def make(tensors, **config):
        (tmp_path / "config.json").write_text(json.dumps({"vocab_size": 30, **config}))
        save_file({**BODY, **tensors}, tmp_path / "model.safetensors")
        return str(tmp_path)

    return make


def read(folder, **options):
    return read_embeddings(folder, progress=False, **options)


@pytest.mark.parametrize(
    "name",
    [
        "model.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
        "transformer.wte.weight",
        "gpt_neox.embed_in.weight",
        "bert.embeddings.word_embeddings.weight",
        "model.tok_embeddings.weight",
        "backbone.embeddings.weight",
        "something.unheard.of.weight",
    ],
)
def test_the_input_is_found_by_name_or_rows(checkpoint, name):
    position = "embeddings.position_embeddings.weight"
    found = read(checkpoint({name: TABLE, position: np.ones((12, 4), np.float32)}))
    assert (found.input.tensor, found.input.shape, found.input.dtype) == (name, (30, 4), "F32")
    np.testing.assert_array_equal(found.input.rows(), TABLE)
    np.testing.assert_array_equal(found.input.rows([7, 0, 7]), TABLE[[7, 0, 7]])
    np.testing.assert_array_equal(found.input.rows(slice(3, 5)), TABLE[3:5])


@pytest.mark.parametrize(
    ("output", "name"),
    [
        ("lm_head.weight", "model.embed_tokens.weight"),
        ("embed_out.weight", "gpt_neox.embed_in.weight"),
        ("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
        ("decoder.weight", "model.embeddings.tok_embeddings.weight"),
        ("output.weight", "tok_embeddings.weight"),
    ],
)
def test_an_output_of_its_own_is_untied(checkpoint, output, name):
    found = read(checkpoint({name: TABLE, output: OTHER}, tie_word_embeddings=False))
    assert (found.tying, found.roles) == ("untied", ("input", "output"))
    assert found.matrix("output").tensor == output
    np.testing.assert_array_equal(found.matrix("output").rows(), OTHER)
    np.testing.assert_array_equal(found.matrix("input").rows(), TABLE)


EMBED, HEAD = "model.embed_tokens.weight", "lm_head.weight"


@pytest.mark.parametrize(
    ("tensors", "config", "tying", "reason"),
    [
        ({HEAD: TABLE}, {"tie_word_embeddings": False}, "tied", "equals"),
        ({}, {"tie_word_embeddings": True}, "tied", "configuration says so"),
        ({}, {"text_config": {"tie_word_embeddings": True}}, "tied", "configuration says so"),
        ({}, {"architectures": ["GPT2LMHeadModel"]}, "tied", "does not say untied"),
        ({}, {"tie_word_embeddings": False}, "input only", "says untied, but"),
        ({}, {"architectures": ["BertModel"]}, "input only", "no head"),
        ({}, {"architectures": ["MPNetForMaskedLM"]}, "input only", "no head"),
        (
            {"lm_head.bias": np.ones(30, np.float32)},
            {"architectures": ["RobertaForMaskedLM"]},
            "tied",
            "no output tensor",
        ),
        ({HEAD: OTHER}, {"tie_word_embeddings": True}, "untied", "though the configuration says"),
    ],
)
def test_tied_or_untied_is_said_with_its_reason(checkpoint, tensors, config, tying, reason):
    found = read(checkpoint({EMBED: TABLE, **tensors}, **config))
    assert found.tying == tying
    assert reason in found.reason
    if tying == "tied":
        assert found.matrix("output").role == "output"
        np.testing.assert_array_equal(found.matrix("output").rows(), TABLE)
    if tying == "input only":
        with pytest.raises(AcquisitionError, match=r"has no output embedding .* input embedding"):
            found.matrix("output")


def test_half_precision_is_widened_exactly(tmp_path):
    """Fault: bfloat16 that ends in a TypeError, or is read as another type."""
    import torch
    from safetensors.torch import save_file as save_tensors

    values = torch.randn(30, 4, generator=torch.Generator().manual_seed(1))
    for kind, name in ((torch.bfloat16, "BF16"), (torch.float16, "F16"), (torch.float64, "F64")):
        save_tensors({EMBED: values.to(kind)}, tmp_path / "model.safetensors")
        (tmp_path / "config.json").write_text("{}")
        found = read(str(tmp_path))
        assert found.input.dtype == name
        np.testing.assert_array_equal(found.input.rows(), values.to(kind).double().numpy())


def test_shards_are_read_by_their_index(tmp_path):
    save_file({EMBED: TABLE}, tmp_path / "model-00001-of-00002.safetensors")
    save_file({HEAD: OTHER}, tmp_path / "model-00002-of-00002.safetensors")
    index = {
        EMBED: "model-00001-of-00002.safetensors",
        HEAD: "model-00002-of-00002.safetensors",
    }
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    (tmp_path / "config.json").write_text("{}")
    found = read(str(tmp_path))
    np.testing.assert_array_equal(found.matrix("output").rows([3]), OTHER[[3]])
    assert found.matrix("output").file.name == "model-00002-of-00002.safetensors"


def test_copies_that_are_equal_are_one(checkpoint):
    copies = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    assert read(checkpoint(dict.fromkeys(copies, TABLE))).input.tensor in copies


def test_what_is_not_clear_is_not_guessed(checkpoint):
    two = {"encoder.embed_tokens.weight": TABLE, "decoder.embed_tokens.weight": OTHER}
    with pytest.raises(AcquisitionError, match=r"2 tensors .* differ: name one \(input_tensor=\)"):
        read(checkpoint(two))
    named = read(checkpoint(two), input_tensor="decoder.embed_tokens.weight")
    np.testing.assert_array_equal(named.input.rows(), OTHER)
    with pytest.raises(UnknownNameError, match=r"Did you mean 'encoder.embed_tokens.weight'"):
        read(checkpoint(two), input_tensor="encoder.embed_token.weight")
    heads = {EMBED: TABLE, HEAD: OTHER, "output.weight": OTHER + 1}
    with pytest.raises(AcquisitionError, match=r"could be its output embedding .*output_tensor="):
        read(checkpoint(heads))
    assert read(checkpoint(heads), output_tensor=HEAD).tying == "untied"
    with pytest.raises(AcquisitionError, match="none is known as the output embedding: name it"):
        read(checkpoint({EMBED: TABLE, "strange.weight": OTHER}))
    with pytest.raises(AcquisitionError, match=r"no tensor that is known .*none of 30 rows: name"):
        read(checkpoint({}))


def test_quantised_integers_are_refused(checkpoint):
    with pytest.raises(AcquisitionError, match="no tensor that is known"):
        read(checkpoint({EMBED: np.ones((30, 4), np.int8)}))


def test_damaged_files_are_refused(checkpoint, tmp_path):
    folder = checkpoint({EMBED: TABLE})
    whole = (tmp_path / "model.safetensors").read_bytes()
    for damaged in (whole[:-50], whole[:4], b"\xff" * 100, whole[:20]):
        (tmp_path / "model.safetensors").write_bytes(damaged)
        with pytest.raises(AcquisitionError, match=r"no whole safetensors file .*fetch it again"):
            read(folder)
    (tmp_path / "model.safetensors").write_bytes(whole)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(AcquisitionError, match="holds no configuration"):
        read(folder)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(AcquisitionError, match="cannot be read"):
        read(folder)


def test_ids_without_rows_and_rows_without_numbers_are_named(checkpoint):
    broken = TABLE.copy()
    broken[11, 2] = np.nan
    matrix = read(checkpoint({EMBED: broken})).input
    with pytest.raises(InputError, match=r"Token 30 has no row .* from 0 to 29"):
        matrix.rows([3, 30])
    with pytest.raises(InputError, match="Token -1 has no row"):
        matrix.rows([3, -1])
    with pytest.raises(UndefinedMeasureError, match=r"Row 11 of model.embed_tokens.weight has NaN"):
        matrix.rows([5, 11])
    assert np.isfinite(matrix.rows([5, 10])).all()
    with pytest.raises(UnknownNameError, match="role of an embedding matrix"):
        read(checkpoint({EMBED: TABLE})).matrix("both")


def test_no_torch_is_loaded():
    code = "import sys, cospace.models.embeddings; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


@pytest.mark.weights
def test_packaged_models_without_building_them():
    found = {name: read(name) for name in ("minilm", "smollm2-135m")}
    assert found["minilm"].input.shape == (30522, 384)
    assert (found["minilm"].tying, found["smollm2-135m"].tying) == ("input only", "tied")
    import transformers

    model = transformers.AutoModel.from_pretrained(found["minilm"].weights.folder)
    expected = model.get_input_embeddings().weight.detach().numpy()
    np.testing.assert_array_equal(found["minilm"].input.rows(), expected)
