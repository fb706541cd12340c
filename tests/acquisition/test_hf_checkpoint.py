"""From a folder on disk to a model that can be read."""

from __future__ import annotations

import importlib
import shutil
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from cospace.errors import (
    AcquisitionError,
    CospaceError,
    InputError,
    MissingDependencyError,
    UnknownNameError,
)
from cospace.models.base import Pooling, TokenPolicy, resolve_sites
from cospace.models.checkpoint import from_folder, where_to_run
from cospace.models.decoder import load_decoder
from cospace.models.hf import load_model


@pytest.fixture(scope="session")
def saved(tmp_path_factory, tiny_model, word_tokenizer):
    """Write a checkpoint as people share it: with its head, and a tokenizer."""

    def write(kind, *, head, **change):
        folder = tmp_path_factory.mktemp(kind)
        model = tiny_model(kind, head=head, **change)
        model.save_pretrained(folder)
        word_tokenizer().save_pretrained(folder)
        return folder, model

    return write


def rows(model, sites="all"):
    facts = model.facts
    return model.activations(
        ["w5 w6 the", "w7"],
        ids=["a", "b"],
        sites=resolve_sites(sites, blocks=facts.blocks, final_norm=facts.final_norm),
        poolings=[Pooling.MEAN, Pooling.LAST],
        policy=TokenPolicy(),
        batch_tokens=100,
    ).rows


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        ("llama", "AutoModelForCausalLM"),
        ("mamba", "AutoModelForCausalLM"),
        ("bert", "AutoModelForMaskedLM"),
        ("t5", "AutoModelForSeq2SeqLM"),
    ],
)
def test_checkpoint_with_a_head_is_read_otherwise(kind, head, saved, read_model):
    folder, model = saved(kind, head=head)
    loaded = load_model(folder)
    expected = rows(read_model(model))
    found = rows(loaded)
    assert found.keys() == expected.keys()
    for key, values in found.items():
        np.testing.assert_array_equal(values, expected[key])
    assert loaded.facts.architecture == kind
    assert loaded.facts.reference == str(folder)
    assert len(loaded.facts.weights_hash) == 64
    assert loaded.facts.name == folder.name
    assert load_model(folder, name="mine", device="cpu").facts.name == "mine"


def test_number_type_of_the_file_decides(saved):
    folder, _ = saved("llama", head="AutoModelForCausalLM", dtype="float16")
    assert load_model(folder).facts.dtype == "float32"
    assert load_model(str(folder), dtype="bfloat16").facts.dtype == "bfloat16"


def test_loading_talks_to_the_user(saved, capfd):
    folder, _ = saved("mamba", head="AutoModelForCausalLM")
    capfd.readouterr()
    rows(load_model(folder))
    assert capfd.readouterr() == ("", "")


def test_absent_weights_are_random_numbers(saved):
    folder, _ = saved("llama", head="AutoModelForCausalLM")
    weights = load_file(folder / "model.safetensors")
    for name in [name for name in weights if "layers.1.mlp" in name]:
        del weights[name]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(AcquisitionError) as caught:
        load_model(folder)
    message = str(caught.value)
    assert "lack 'layers.1.mlp.down_proj.weight', 'layers.1.mlp.gate_proj.weight'" in message
    assert "random numbers" in message
    assert "\n" not in message
    with pytest.raises(AcquisitionError, match=r"lack 'model\.layers\.1\.mlp\.down_proj\.weight'"):
        load_decoder(folder)


def test_pickled_weights_are_run(saved):
    folder, _ = saved("llama", head="AutoModelForCausalLM")
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(AcquisitionError, match="weights in safetensors"):
        from_folder(folder, torch.float32, "mine", trust_remote_code=False)
    with pytest.raises(CospaceError):
        load_model(folder)


def test_unreadable_folder_gives_many_lines(saved, tmp_path):
    folder, _ = saved("llama", head="AutoModelForCausalLM")
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "config.json").write_text('{"model_type": "fantasy"}')
    with pytest.raises(AcquisitionError) as caught:
        load_model(tmp_path / "copy")
    message = str(caught.value)
    assert "transformers cannot read the model in" in message
    assert "Expected a folder with config.json" in message
    assert "\n" not in message


def test_number_type_is_looked_up_in_torch():
    with pytest.raises(UnknownNameError, match=r"'float8' is not a number type .*'float'?"):
        load_model("nowhere", dtype="float8")


def test_unknown_device_is_taken_for_cpu(monkeypatch):
    with pytest.raises(UnknownNameError, match=r"'gpu' is not a device\. Did you mean 'cpu'"):
        load_model("nowhere", device="gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="torch sees no GPU"):
        load_model("nowhere", device="cuda")
    assert where_to_run("auto") == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert where_to_run("auto") == "cuda"


def test_missing_torch_gives_a_traceback(monkeypatch):
    module = sys.modules["cospace.models.hf"]
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "cospace.models.hf")
    with pytest.raises(MissingDependencyError, match=r"torch: pip install 'cospace\[models\]'"):
        importlib.import_module("cospace.models.hf")
    monkeypatch.setitem(sys.modules, "cospace.models.hf", module)
