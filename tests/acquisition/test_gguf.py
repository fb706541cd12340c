"""GGUF files: a tiny Llama written here is dequantised, kept and read back."""

from __future__ import annotations

import json
import sys

import gguf
import numpy as np
import pytest
import torch
import transformers

from cospace.errors import AcquisitionError, MissingDependencyError
from cospace.models.gguf import gguf_facts
from cospace.models.weights import resolve_weights

WORDS = ["<unk>", "<s>", "</s>", *"abcdefghijklmnopqrstuvwxyzĠ.", "th", "Ġt"]
WIDTH, HEADS, BLOCKS, INNER = 64, 2, 2, 128
Types = gguf.GGMLQuantizationType


def write(path, kind=Types.Q8_0, file_type=gguf.LlamaFileType.MOSTLY_Q8_0, **change):
    """Write a Llama of random weights; returns the values that its tensors stand for."""
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, change.get("architecture", "llama"))
    writer.add_name("Tiny")
    writer.add_license("mit")
    if file_type is not None:
        writer.add_file_type(int(file_type))
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(BLOCKS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(WORDS))
    if change.get("tokenizer", True):
        writer.add_tokenizer_model("gpt2")
        writer.add_token_list(WORDS)
        writer.add_token_merges(["t h", "Ġ t"])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)

    values = {}

    def add(name, shape, scale=0.2):
        rows = rng.normal(scale=scale, size=shape).astype(np.float32)
        rows[0, 0] = change.get("largest", rows[0, 0])
        packed = gguf.quants.quantize(rows, kind)
        writer.add_tensor(name, packed, raw_dtype=kind)
        values[name] = gguf.quants.dequantize(packed, kind)

    add("token_embd.weight", (len(WORDS), WIDTH))
    for i in range(BLOCKS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{i}.{name}.weight", (WIDTH, WIDTH))
        for name, shape in (
            ("ffn_gate", (INNER, WIDTH)),
            ("ffn_up", (INNER, WIDTH)),
            ("ffn_down", (WIDTH, INNER)),
        ):
            add(f"blk.{i}.{name}.weight", shape)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{i}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return values


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gguf")
    values = write(folder / "tiny.gguf")
    weights = resolve_weights(str(folder / "tiny.gguf"), cache=folder / "cache", progress=False)
    return folder, values, weights


def test_facts(tiny):
    _, _, weights = tiny
    assert (weights.name, weights.quantisation) == ("tiny", "Q8_0, dequantised")
    assert (weights.licence, weights.revision, weights.source) == ("mit", None, None)
    names = {path.name for path in weights.folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "cospace.json"} <= names
    assert not any(name.endswith((".gguf", ".bin")) for name in names)


def test_weights_are_those_of_the_file_in_float16(tiny):
    _, values, weights = tiny
    model = transformers.AutoModelForCausalLM.from_pretrained(weights.folder)
    found = model.state_dict()
    assert {tensor.dtype for tensor in found.values()} == {torch.float16}
    for ours, theirs in (
        ("model.embed_tokens.weight", "token_embd.weight"),
        ("model.layers.1.mlp.down_proj.weight", "blk.1.ffn_down.weight"),
        ("model.layers.0.self_attn.v_proj.weight", "blk.0.attn_v.weight"),
    ):
        np.testing.assert_allclose(
            found[ours].float().numpy(), values[theirs], rtol=2**-11, atol=2**-24
        )


def test_model_gives_the_logits_of_the_file(tiny):
    folder, _, weights = tiny
    load = transformers.AutoModelForCausalLM.from_pretrained
    direct = load(str(folder), gguf_file="tiny.gguf", dtype=torch.float32)
    kept = load(weights.folder, dtype=torch.float32)
    ids = torch.arange(3, 23)[None]
    with torch.no_grad():
        expected, found = direct(ids).logits, kept(ids).logits
    assert float((found - expected).norm() / expected.norm()) < 2e-3
    assert kept.get_input_embeddings().weight is kept.get_output_embeddings().weight


def test_kept_config_has_no_marks_of_quantisation(tiny):
    _, _, weights = tiny
    config = json.loads((weights.folder / "config.json").read_text())
    assert config["model_type"] == "llama"
    assert not {"quantization_config", "gguf_file", "_name_or_path"} & set(config)


def test_tokenizer_reads_and_writes_the_text(tiny):
    _, _, weights = tiny
    tokenizer = transformers.AutoTokenizer.from_pretrained(weights.folder)
    assert tokenizer.decode(tokenizer("on the top.").input_ids) == "on the top."


def test_second_time_nothing_is_dequantised(tiny, monkeypatch):
    folder, _, weights = tiny
    monkeypatch.setattr("cospace.models.gguf.dequantise", None)
    copy = folder / "renamed.gguf"
    copy.write_bytes((folder / "tiny.gguf").read_bytes())
    again = resolve_weights(str(copy), cache=folder / "cache", progress=False)
    assert (again.folder, again.weights_hash) == (weights.folder, weights.weights_hash)


def test_transformers_is_kept_quiet(tmp_path, capfd):
    path = tmp_path / "tiny.gguf"
    write(path)
    level = transformers.logging.get_verbosity()
    resolve_weights(str(path), cache=tmp_path / "cache", progress=False)
    assert capfd.readouterr() == ("", "")
    assert transformers.logging.get_verbosity() == level
    assert transformers.logging.is_progress_bar_enabled()


def test_progress_names_the_file(tmp_path, capsys):
    path = tmp_path / "tiny.gguf"
    write(path)
    resolve_weights(str(path), cache=tmp_path / "cache")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "tiny.gguf: dequantising, once; this takes up to a minute\n")


@pytest.mark.parametrize(
    ("kind", "file_type", "quantisation", "dtype"),
    [
        (Types.F32, gguf.LlamaFileType.ALL_F32, None, torch.float32),
        (Types.BF16, gguf.LlamaFileType.MOSTLY_BF16, None, torch.bfloat16),
        (Types.Q4_1, None, "Q4_1, dequantised", torch.float16),
        (Types.Q5_0, 987654, "Q5_0, dequantised", torch.float16),
    ],
)
def test_number_types(tmp_path, kind, file_type, quantisation, dtype):
    path = tmp_path / "tiny.gguf"
    write(path, kind, file_type)
    weights = resolve_weights(str(path), cache=tmp_path / "cache", progress=False)
    assert weights.quantisation == quantisation
    model = transformers.AutoModelForCausalLM.from_pretrained(weights.folder)
    assert model.dtype == dtype


def test_values_beyond_float16_stay_float32(tmp_path):
    path = tmp_path / "tiny.gguf"
    write(path, Types.F32, gguf.LlamaFileType.MOSTLY_F16, largest=1e6)
    weights = resolve_weights(str(path), cache=tmp_path / "cache", progress=False)
    model = transformers.AutoModelForCausalLM.from_pretrained(weights.folder)
    assert model.dtype == torch.float32
    assert model.get_input_embeddings().weight[0, 0].item() == 1e6


def resolve(path, tmp_path):
    return resolve_weights(str(path), cache=tmp_path / "cache", progress=False)


def test_file_that_is_no_gguf(tmp_path):
    path = tmp_path / "x.gguf"
    path.write_bytes(b"<html>")
    with pytest.raises(
        AcquisitionError, match=r"x.gguf is not a GGUF file: it starts with b'<htm'"
    ):
        resolve(path, tmp_path)


def test_file_that_is_cut(tmp_path):
    path = tmp_path / "x.gguf"
    write(path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(AcquisitionError, match=r"x.gguf is not a readable GGUF file"):
        resolve(path, tmp_path)
    assert not list((tmp_path / "cache" / "gguf").glob("[0-9a-f]*"))


def test_file_that_is_not_there(tmp_path):
    with pytest.raises(AcquisitionError, match=r"There is no such file: .*x.gguf"):
        resolve(tmp_path / "x.gguf", tmp_path)


def test_file_that_cannot_be_read(tmp_path, monkeypatch):
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF")

    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(AcquisitionError, match=r"x.gguf cannot be read \(Permission denied\)"):
        resolve(path, tmp_path)


def test_shard_of_a_split_file(tmp_path):
    path = tmp_path / "x-00001-of-00003.gguf"
    write(path)
    with pytest.raises(AcquisitionError, match=r"is one shard of a split GGUF: join them first"):
        resolve(path, tmp_path)


def test_architecture_that_transformers_does_not_know(tmp_path):
    path = tmp_path / "x.gguf"
    write(path, architecture="plamo")
    with pytest.raises(AcquisitionError, match=r"cannot read x.gguf \(architecture 'plamo'\): .*"):
        resolve(path, tmp_path)


def test_file_without_a_tokenizer(tmp_path):
    path = tmp_path / "x.gguf"
    write(path, tokenizer=False)
    with pytest.raises(AcquisitionError, match=r"transformers cannot read x.gguf") as caught:
        resolve(path, tmp_path)
    assert "\n" not in str(caught.value)


def test_disk_that_fills_while_dequantising(tmp_path, monkeypatch):
    path = tmp_path / "x.gguf"
    write(path)

    def full(*arguments, **options):
        raise RuntimeError(
            "Error while serializing: I/O error: No space left on device (os error 28)"
        )

    monkeypatch.setattr(transformers.LlamaForCausalLM, "save_pretrained", full)
    with pytest.raises(
        AcquisitionError, match=r"No space left in .* for x.gguf: free some, or name"
    ):
        resolve(path, tmp_path)
    assert not list((tmp_path / "cache" / "gguf").glob("[0-9a-f]*"))


@pytest.mark.parametrize("package", ["torch", "transformers", "accelerate", "gguf"])
def test_missing_packages(tmp_path, monkeypatch, package):
    path = tmp_path / "x.gguf"
    write(path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingDependencyError,
        match=rf"Reading a GGUF file needs {package}: pip install 'cospace\[models\]'",
    ):
        resolve(path, tmp_path)


def test_header_cannot_be_read_without_gguf(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(MissingDependencyError, match=r"Reading a GGUF file needs gguf"):
        gguf_facts(tmp_path / "x.gguf")
