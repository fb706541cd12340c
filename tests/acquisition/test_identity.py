"""What makes two models the same: weights, tokenizer and configuration, not names or places."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from cospace.corpus import Corpus
from cospace.errors import AcquisitionError, ExtractionError, InputError
from cospace.extraction import extract
from cospace.models.base import TokenPolicy, resolve_sites
from cospace.models.hf import load_model
from cospace.models.identity import config_hash, has_tokenizer, tokenizer_hash

TEXTS = Corpus.of([f"w{i} w{i + 1} w7 w9" for i in range(10, 16)], name="words")


@pytest.fixture
def folder(tiny_model, word_tokenizer, tmp_path):
    """A small model in a folder of its own."""
    path = tmp_path / "base"
    tiny_model("bert").save_pretrained(path)
    word_tokenizer().save_pretrained(path)
    return path


def changed(folder, file, **values):
    """A copy of the folder with other values in one of its JSON files."""
    copy = folder.with_name(f"other-{file}")
    shutil.copytree(folder, copy)
    path = copy / file
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return copy


def other_words(folder):
    """A copy of the folder in which two words have changed places."""
    copy = folder.with_name("swapped")
    shutil.copytree(folder, copy)
    path = copy / "tokenizer.json"
    plain = json.loads(path.read_text())
    words = plain["model"]["vocab"]
    words["w7"], words["w20"] = words["w20"], words["w7"]
    path.write_text(json.dumps(plain))
    return copy


def test_another_tokenizer_over_the_same_weights_reuses_old_rows(folder, tmp_path):
    models = [load_model(folder, name="m"), load_model(other_words(folder), name="m")]
    assert len({model.facts.weights_hash for model in models}) == 1
    rows = [extract(m, TEXTS, sites="last", store=tmp_path / "s").spaces()[0].rows for m in models]
    assert not np.array_equal(*rows)


def test_another_activation_over_the_same_weights_reuses_old_rows(folder, tmp_path):
    copy = changed(folder, "config.json", hidden_act="relu")
    store = extract([load_model(folder), load_model(copy)], TEXTS, sites="last", store=tmp_path)
    assert len({run.key for run in store.runs}) == 2
    assert len({run.facts.tokenizer_hash for run in store.runs}) == 1
    one, two = store.spaces()
    assert not np.array_equal(one.rows, two.rows)
    assert {"tokenizer_hash", "config_hash"} <= set(one.facts)


def test_a_copy_is_taken_for_another_model(folder, tmp_path):
    copy = changed(folder, "config.json", transformers_version="0.0", torch_dtype="float16")
    one, two = load_model(folder), load_model(copy)
    assert one.facts == replace(two.facts, name=one.facts.name, reference=one.facts.reference)
    with pytest.raises(InputError, match=r"same model \(weights, tokenizer, configuration, rev"):
        extract([one, two], TEXTS, store=tmp_path / "s")


def test_earlier_calls_change_the_hash_of_a_tokenizer(word_tokenizer):
    tokenizer = word_tokenizer()
    before = tokenizer_hash(tokenizer)
    tokenizer(["w7", "w7 w8"], padding=True, truncation=True, max_length=4)
    core = tokenizer.backend_tokenizer
    state = core.truncation, core.padding
    assert None not in state
    assert tokenizer_hash(tokenizer) == before == tokenizer_hash(word_tokenizer())
    assert (core.truncation, core.padding) == state
    assert tokenizer_hash(word_tokenizer(None)) != before
    assert tokenizer_hash(word_tokenizer(model_max_length=4)) != before


def test_a_tokenizer_without_a_fast_form_has_no_hash():
    class Slow:
        def __init__(self, words):
            self.words = words

        def get_vocab(self):
            return self.words

        def save_vocabulary(self, folder):
            raise NotImplementedError

    assert tokenizer_hash(Slow({"a": 0})) == tokenizer_hash(Slow({"a": 0}))
    assert tokenizer_hash(Slow({"a": 0})) != tokenizer_hash(Slow({"a": 1}))


def test_nested_configurations_differ_by_where_they_lay():
    one = {"text_config": {"_name_or_path": "a", "layers": [1, 2], "dtype": "float16"}}
    assert config_hash(one) == config_hash({"text_config": {"layers": [1, 2]}})
    assert config_hash(one) != config_hash({"text_config": {"layers": [2, 1]}})


def test_changed_code_beside_the_weights_reuses_old_rows(folder):
    def found(**options):
        return load_model(folder, **options).facts.config_hash

    plain = found()
    assert found(trust_remote_code=True) == plain
    (folder / "modeling.py").write_text("A = 1")
    one = found(trust_remote_code=True)
    (folder / "modeling.py").write_text("A = 2")
    assert len({plain, one, found(trust_remote_code=True)}) == 3
    assert found() == plain


def test_a_folder_without_a_tokenizer_is_read_with_an_empty_one(folder, tmp_path):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(AcquisitionError, match=r"base holds no tokenizer \(tokenizer\.json, vocab"):
        load_model(folder)


def test_a_tokenizer_of_bytes_needs_a_vocabulary_file(tmp_path):
    assert has_tokenizer(tmp_path, SimpleNamespace(vocab_files_names={}))


def test_a_tokenizer_of_another_model_ends_in_an_index_error(folder):
    path = folder / "tokenizer.json"
    plain = json.loads(path.read_text())
    plain["model"]["vocab"]["w7"] = 1000
    path.write_text(json.dumps(plain))
    model = load_model(folder)
    with pytest.raises(
        ExtractionError, match=r"base has 64 tokens, and its tokenizer gives number"
    ):
        model.check_texts(TEXTS.texts, ids=TEXTS.ids, policy=TokenPolicy())


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_broken_weights_are_taken_for_an_unknown_architecture(
    tiny_model, read_model, tmp_path, value
):
    model = tiny_model("bert")
    with torch.no_grad():
        model.encoder.layer[2].output.dense.bias.fill_(value)
    read = read_model(model)
    with pytest.raises(ExtractionError, match=r"given in float32 gave values that are not finite"):
        extract(read, TEXTS, store=tmp_path / "s", progress=False)
    with pytest.raises(ExtractionError, match=rf"at block\.2 for '{TEXTS.ids[0]}'"):
        read.activations(
            TEXTS.texts[:1],
            ids=TEXTS.ids[:1],
            sites=resolve_sites("all", blocks=3, final_norm=False),
            poolings=("mean",),
            policy=TokenPolicy(),
            batch_tokens=64,
        )
