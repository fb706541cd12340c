"""Model references: what each means, and the one line that is said of a wrong one."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cospace.errors import AcquisitionError, InputError, UnknownNameError
from cospace.models import hub, weights
from cospace.models.cache import files_hash, readable_size
from cospace.models.weights import Weights, resolve_weights


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"abc")
    return folder


@pytest.fixture
def no_hub(monkeypatch):
    """Fails the test if the hub is asked."""

    def fail(*arguments, **options):
        pytest.fail("the hub was asked")

    monkeypatch.setattr(hub, "snapshot", fail)


def get(reference, **options) -> Weights:
    return resolve_weights(str(reference), progress=False, **options)


# Folders


def test_folder(folder):
    assert get(folder) == Weights(
        reference=str(folder),
        name="mine",
        folder=folder,
        weights_hash="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        revision=None,
        quantisation=None,
        licence=None,
        source=None,
    )


def test_relative_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert (get(".").name, get(".").folder) == ("mine", folder)


def test_home_folder(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert get("~/mine").folder == folder


@pytest.mark.parametrize(
    ("card", "licence"),
    [
        ("---\nlicense: mit\n---\n", "mit"),
        ("---\nlicense: 'cc-by-4.0' # see below\n---\n", "cc-by-4.0"),
        ("---\nlicense:\n- mit\n---\n", None),
        ("# No front matter\nlicense: mit\n", None),
    ],
)
def test_licence_of_the_model_card(folder, card, licence):
    (folder / "README.md").write_text(card)
    assert get(folder).licence == licence


def test_shards_are_hashed_together(folder):
    (folder / "model.safetensors").unlink()
    for name in "ab":
        (folder / f"{name}.safetensors").write_text(name)
    index = {"weight_map": {"x": "b.safetensors", "y": "a.safetensors", "z": "b.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    lines = f"{sha(b'a')}  a.safetensors\n{sha(b'b')}  b.safetensors\n"
    assert get(folder).weights_hash == sha(lines.encode())
    (folder / "a.safetensors").unlink()
    with pytest.raises(AcquisitionError, match=r"lacks 1 of the 2 shards .* such as a.safetensors"):
        get(folder)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", "holds an .*index.json that cannot be read"),
        ("{}", "holds an .*index.json that cannot be read"),
        (
            '{"weight_map": {"x": "../a.safetensors"}}',
            "names '../a.safetensors', expected safetensors",
        ),
        ('{"weight_map": {"x": "a.bin"}}', "names 'a.bin', expected safetensors files beside it"),
        ('{"weight_map": {}}', "names 'nothing', expected"),
    ],
)
def test_index_that_is_wrong(folder, index, message):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(index)
    with pytest.raises(AcquisitionError, match=message):
        get(folder)


def test_folder_without_config(folder):
    (folder / "config.json").unlink()
    with pytest.raises(
        AcquisitionError, match=r"mine holds no config.json: expected a folder saved"
    ):
        get(folder)


def test_folder_with_a_gguf_file(folder):
    (folder / "config.json").unlink()
    (folder / "x.gguf").touch()
    with pytest.raises(AcquisitionError, match=r"name the GGUF file itself, .*mine/x.gguf"):
        get(folder)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_folder_of_pickles(folder, name):
    (folder / "model.safetensors").rename(folder / name)
    with pytest.raises(
        AcquisitionError, match=rf"as a pickle \({name}\).* convert them to model.safe"
    ):
        get(folder)


def test_folder_without_weights(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(AcquisitionError, match=r"mine holds no model.safetensors and no .*index"):
        get(folder)


def test_file_that_is_no_model(folder):
    with pytest.raises(AcquisitionError, match=r"is a .json file, and a model is a folder"):
        get(folder / "config.json")


def test_folder_hides_a_packaged_name_only_if_it_is_a_model(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    model = folder.rename(folder.parent / "minilm")
    assert get("minilm").folder == model
    (model / "config.json").unlink()

    def keep(model, **options):
        raise AcquisitionError(f"asked for the packaged {model.name}")

    monkeypatch.setattr(weights.packaged, "keep", keep)
    with pytest.raises(AcquisitionError, match=r"asked for the packaged minilm"):
        get("minilm")


# References that mean nothing


@pytest.mark.parametrize("reference", ["./none", "/none/at/all", "~/none", "a/b/c", "..\\none"])
def test_path_that_is_not_there(no_hub, reference):
    with pytest.raises(AcquisitionError, match=r"There is no such folder: ") as caught:
        get(reference)
    assert str(caught.value).endswith(f"{reference}.")


def test_home_of_nobody(no_hub):
    with pytest.raises(AcquisitionError, match=r"'~nobody-here/x' names no home folder"):
        get("~nobody-here/x")


@pytest.mark.parametrize("reference", ["", "  ", "a\0b"])
def test_empty_reference(no_hub, reference):
    with pytest.raises(InputError, match=r"The model reference is empty"):
        get(reference)


@pytest.mark.parametrize(
    ("reference", "near"),
    [("minilmm", "'minilm'"), ("SmolLM2", "'smollm2-135m'"), ("mpnett", "'mpnet'")],
)
def test_near_miss_is_told_without_the_hub(no_hub, reference, near):
    with pytest.raises(UnknownNameError, match=f"Did you mean {near}.* Hub ids look like org/name"):
        get(reference)


@pytest.mark.parametrize("reference", ["two words", "org/", "@main", "-x"])
def test_what_is_no_hub_id_is_told_without_the_hub(no_hub, reference):
    with pytest.raises(UnknownNameError, match=r"is not a packaged model or folder"):
        get(reference)


def test_packaged_model_has_one_version(no_hub):
    with pytest.raises(InputError, match=r"'minilm' has the one version 0.1.0, not 'main'"):
        get("minilm@main")


# Parts


def test_import_brings_in_no_torch():
    code = (
        "import sys, cospace.models.weights; "
        "print({'torch', 'transformers', 'gguf', 'huggingface_hub', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_hash_counts_the_bytes(folder):
    moved = []
    assert files_hash([folder / "model.safetensors"], moved.append) == sha(b"abc")
    assert moved == [3]


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_600, "1.0 MB"), (5 * 10**15, "5000 TB")],
)
def test_sizes_are_readable(size, text):
    assert readable_size(size) == text


# Real weights


@pytest.mark.weights
def test_minilm():
    found = get("minilm")
    assert found.weights_hash == sha((found.folder / "model.safetensors").read_bytes())
    assert found.weights_hash.startswith("53aa51172d142c89")
    assert (found.quantisation, found.licence) == (None, "Apache-2.0")
    assert found.source == "sentence-transformers/all-MiniLM-L6-v2"
    config = json.loads((found.folder / "config.json").read_text())
    assert (config["model_type"], config["num_hidden_layers"], config["hidden_size"]) == (
        "bert",
        6,
        384,
    )


@pytest.mark.weights
def test_mpnet():
    found = get("mpnet")
    assert found.weights_hash.startswith("78c0197b6159d926")
    config = json.loads((found.folder / "config.json").read_text())
    assert (config["model_type"], config["num_hidden_layers"], config["hidden_size"]) == (
        "mpnet",
        12,
        768,
    )
    assert not list(found.folder.rglob("*.ini"))


@pytest.mark.weights
def test_smollm2_reads_english():
    import torch
    import transformers

    found = get("smollm2-135m")
    assert (found.quantisation, found.licence) == ("Q4, dequantised", "Apache-2.0")
    assert found.source == "HuggingFaceTB/SmolLM2-135M-Instruct"
    model = transformers.AutoModelForCausalLM.from_pretrained(found.folder, dtype=torch.float32)
    assert (model.config.num_hidden_layers, model.config.hidden_size) == (30, 576)
    assert model.get_input_embeddings().weight is model.get_output_embeddings().weight
    tokenizer = transformers.AutoTokenizer.from_pretrained(found.folder)
    text = (
        "The committee met on Tuesday to discuss the new library, and most of the members agreed "
        "that it should open in the spring."
    )
    ids = tokenizer(text, return_tensors="pt").input_ids
    assert tokenizer.decode(ids[0]) == text
    with torch.no_grad():
        loss = float(model(ids, labels=ids).loss)
    assert loss == pytest.approx(3.397, abs=0.01)


@pytest.mark.weights
def test_gemma_needs_its_terms(tmp_path):
    with pytest.raises(
        AcquisitionError, match=r"Gemma Terms of Use \(https://ai.google.dev/gemma/terms\)"
    ):
        get("gemma3-270m", cache=tmp_path)
