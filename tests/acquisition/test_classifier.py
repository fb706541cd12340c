"""Text classifiers in local folders, as scorers."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import transformers

from cospace.errors import AcquisitionError, InputError, TextTooLongError, UnknownNameError
from cospace.models.classifier import load_classifier

TEXTS = ["w5 w6 the w8", "w9", "", "w11 w12 w13 w14 w15 w16"]


@pytest.fixture
def folder(tiny_model, word_tokenizer, tmp_path):
    """A function: folder of a tiny classifier with these labels."""

    def make(labels=("fine", "rude"), **change):
        path = tmp_path / f"classifier-{len(labels)}-{len(change)}"
        model = tiny_model(
            "bert",
            head="AutoModelForSequenceClassification",
            id2label=dict(enumerate(labels)),
            label2id={name: i for i, name in enumerate(labels)},
            **change,
        )
        model.save_pretrained(path)
        word_tokenizer(None).save_pretrained(path)
        return path

    return make


def alone(path, text):
    """Logits of one text, by transformers itself."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    with torch.inference_mode():
        return model(**tokenizer(text, return_tensors="pt")).logits[0].double().numpy()


def test_the_score_is_the_probability_of_the_named_label(folder):
    path = folder(("fine", "rude", "vile"))
    found = load_classifier(path, label="rude", device="cpu")
    assert found.name == f"{path.name}, rude"
    scores = found(TEXTS)
    assert scores[2] is None
    for text, score in zip(TEXTS, scores, strict=True):
        if text:
            logits = alone(path, text)
            assert score == pytest.approx(np.exp(logits[1]) / np.exp(logits).sum(), abs=1e-5)


@pytest.mark.parametrize("labels", [("rude",), ("fine", "rude")])
def test_labels_that_do_not_exclude_each_other_stand_alone(folder, labels):
    path = folder(labels, problem_type="multi_label_classification")
    found = load_classifier(path, label="rude", device="cpu")
    logit = alone(path, TEXTS[0])[len(labels) - 1]
    assert found(TEXTS[:1]) == [pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-5)]


def test_a_single_label_needs_no_name(folder):
    path = folder(("rude",))
    assert load_classifier(path, device="cpu").name == f"{path.name}, rude"


def test_many_texts_are_scored_in_their_order(folder):
    path = folder()
    texts = [f"w{i} w{i + 1}" for i in range(5, 45)]
    found = load_classifier(path, label="rude", device="cpu")
    one_by_one = [found([text])[0] for text in texts]
    assert found(texts) == pytest.approx(one_by_one, abs=1e-5)


def test_which_label_is_never_guessed(folder):
    path = folder()
    with pytest.raises(InputError, match="has the labels fine, rude: name the one whose"):
        load_classifier(path)
    with pytest.raises(
        UnknownNameError, match=r"'rud' is not a label of classifier.* Did you mean"
    ):
        load_classifier(path, label="rud")
    with pytest.raises(UnknownNameError, match="'tpu' is not a device"):
        load_classifier(path, label="rude", device="tpu")


def test_folders_that_hold_no_classifier_are_refused(folder, tiny_model, word_tokenizer, tmp_path):
    with pytest.raises(AcquisitionError, match=r"is no folder with a config\.json"):
        load_classifier(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(AcquisitionError, match="holds no text classifier that transformers can"):
        load_classifier(tmp_path / "empty")
    headless = tmp_path / "headless"
    tiny_model("bert").save_pretrained(headless)
    word_tokenizer(None).save_pretrained(headless)
    with pytest.raises(AcquisitionError, match=r"lacks the weights classifier\.bias.*random"):
        load_classifier(headless, label="LABEL_0")


def test_pickled_weights_are_not_read(folder):
    path = folder()
    (path / "model.safetensors").unlink()
    torch.save({}, path / "pytorch_model.bin")
    with pytest.raises(AcquisitionError, match="holds no text classifier that transformers can"):
        load_classifier(path, label="rude")


def test_texts_that_are_too_long_are_refused(folder):
    found = load_classifier(folder(), label="rude", device="cpu")
    with pytest.raises(TextTooLongError, match="rude reads at most 64 tokens, and a text has 70"):
        found([" ".join(["w5"] * 70)])
