"""Steering of real architectures with random weights: from texts to scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cospace.maps import fit_map
from cospace.models.checkpoint import describe
from cospace.models.decoder import Decoder, load_decoder
from cospace.steering import (
    ChoiceItem,
    Contrast,
    build,
    choice_scores,
    evaluate_transfer,
    perplexity,
    read_items,
    steering_curve,
)

KINDS = ["llama", "gpt_neox", "gemma3_text"]


@pytest.fixture(scope="module")
def bracket_tokenizer():
    """Words, brackets and letters apart; a beginning-of-text token is added."""
    import tokenizers
    import transformers

    words = ["[UNK]", "[PAD]", "[CLS]", "(", ")", "A", "B", "Q", "Answer", ":"]
    words += [f"w{i}" for i in range(64 - len(words))]
    core = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]")
    )
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    core.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]"
    )


@pytest.fixture
def decoder(tiny_model, bracket_tokenizer):
    def make(kind, **change):
        model = tiny_model(kind, head="AutoModelForCausalLM", pad_token_id=1, **change)
        facts = describe(model, reference=f"tests/{kind}", name=kind, weights_hash=kind)
        return Decoder(model, bracket_tokenizer, facts)

    return make


ITEMS = [
    ChoiceItem(f"Q w{i} w{i + 3} (A) w{i} (B) w{i + 20} w{i}", *order)
    for i, order in enumerate([("(A)", "(B)"), ("(B)", "(A)")] * 4)
]


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_single_passes(kind, decoder):
    made = decoder(kind)
    found = choice_scores(made, ITEMS)
    for item, value in zip(ITEMS, found.as_written, strict=True):
        ids = made.tokenizer(f"{item.question}\n\nAnswer: (", return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = made.model(input_ids=ids).logits[0, -1].double()
        a, b = (made.tokenizer.convert_tokens_to_ids(x[1]) for x in (item.matching, item.other))
        expected = torch.softmax(logits[[a, b]], dim=0)[0]
        assert value == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_read_at_the_letter(kind, decoder):
    made = decoder(kind)
    (vector,) = build(made, Contrast.of_items(ITEMS), sites="block.1")
    differences, norms = [], []
    for item in ITEMS:
        rows = []
        for answer in (item.matching, item.other):
            text = f"{item.question}\n\nAnswer: {answer}"
            ids = made.tokenizer(text, return_tensors="pt")["input_ids"]
            with torch.inference_mode():
                states = made.model(input_ids=ids, output_hidden_states=True).hidden_states
            rows.append(states[2][0, -2].double().numpy())
        differences.append(rows[0] - rows[1])
        norms += [np.linalg.norm(row) for row in rows]
    assert np.allclose(vector.vector, np.mean(differences, axis=0), rtol=0, atol=1e-5)
    assert vector.residual_norm == pytest.approx(np.mean(norms), rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_curve_at_zero_is_the_model_itself(kind, decoder):
    made = decoder(kind)
    (vector,) = build(made, Contrast.of_items(ITEMS), sites=0.5)
    neutral = ["w1 w2 w3 w4", "w9 w8"]
    plain = choice_scores(made, ITEMS).score, perplexity(made, neutral)
    curve = steering_curve(made, vector, ITEMS, [-1.0, 0.0, 1.0], neutral=neutral)
    assert (curve.points[1].score, curve.points[1].perplexity) == plain
    assert curve.points[0].score != plain[0] != curve.points[2].score
    assert (choice_scores(made, ITEMS).score, perplexity(made, neutral)) == plain


def test_a_transfer_between_widths_runs_all_controls(decoder):
    source, target = decoder("llama"), decoder("gpt_neox", hidden_size=48)
    contrast = Contrast.of_items(ITEMS, both_orders=True)
    (vector,), (native,) = (build(m, contrast, sites="block.1") for m in (source, target))
    heads = [m.model.get_output_embeddings().weight.detach().numpy() for m in (source, target)]
    real, shuffled = (
        fit_map(source=heads[0], target=heads[1], method="ridge", shuffle=s) for s in (None, 0)
    )
    found = evaluate_transfer(
        target,
        vector,
        linear_map=real,
        shuffled=shuffled,
        native=native,
        items=ITEMS[:3],
        coefficients=[-0.5, 0.5],
        source=source,
    )
    assert len(found.conditions) == 5
    assert len({each.curve.span for each in found.conditions}) == 5


@pytest.mark.weights
def test_a_packaged_decoder_is_steered_and_left_as_it_was():
    made = load_decoder("smollm2-135m")
    items = read_items("formality")
    (vector,) = build(made, Contrast.of_items(items[:6], both_orders=True), sites="block.14")
    before = choice_scores(made, items[-3:])
    curve = steering_curve(made, vector, items[-3:], [0.0, 0.3])
    after = choice_scores(made, items[-3:])
    assert before == after
    assert before.mass > 0.01
    assert curve.points[0].score == before.score != curve.points[1].score
