"""Repeating tokens when asked: against a greedy loop over transformers' logits, and on a real model."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers

from cospace.errors import InputError
from cospace.models.decoder import load_decoder
from cospace.tokens import (
    Undertrained,
    find_undertrained,
    read_embeddings,
    read_vocabulary,
    recovery,
    repeat_probabilities,
    verified,
)
from cospace.tokens.verify import PROMPTS, VERDICTS, verdict

UNUSED = range(3, 17)


def greedy(folder, pieces, token, tokenizer):
    """Largest probability of a token at three greedy steps, one sequence at a time."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    parts = [tokenizer(piece).input_ids for piece in pieces]
    ids = parts[0] + [i for part in parts[1:] for i in [token, *part]]
    best = 0.0
    with torch.inference_mode():
        for _ in range(3):
            logits = model(torch.tensor([ids])).logits[0, -1].double()
            best = max(best, float(logits.softmax(-1)[token]))
            ids = [*ids, int(logits.argmax())]
    return best


def test_the_best_of_three_greedy_steps_counts(runnable):
    """Fault: the token's text tokenised anew, or a continuation that is not the model's own."""
    folder = runnable("llama")
    decoder = load_decoder(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = [3, 100, 200, 260, 265]
    prompts = (("the river", " door", " the"), ("geese", " left"))
    told = []
    found = repeat_probabilities(
        decoder, ids, prompts=prompts, done=lambda *steps: told.append(steps)
    )
    expected = [[greedy(folder, pieces, i, tokenizer) for pieces in prompts] for i in ids]
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    assert told == [(1, 2), (2, 2)]


def test_verdicts_at_their_edges():
    values = [0.0, 0.00099, 0.001, 0.05, 0.1, 0.1001, 0.9, 0.9001, 1.0]
    names = [VERDICTS.index(verdict(value)) for value in values]
    assert names == [0, 0, 1, 1, 1, 2, 2, 3, 3]
    assert all(len(pieces) > 1 for pieces in PROMPTS)
    assert len(PROMPTS) == 3


def test_methods_are_scored_out_of_what_was_tested(runnable, tmp_path, monkeypatch):
    folder = runnable("llama")
    embeddings = read_embeddings(str(folder), progress=False)
    vocabulary = read_vocabulary(folder, embeddings.input.shape[0])
    used = vocabulary.ids("used")
    apart = {"apart from x": used[:30], "apart from y": used[20:24]}
    found = find_undertrained(embeddings, apart=apart)
    assert list(found.candidates) == ["indicator", *apart]
    # The model is said to repeat all tokens but those of an even number among the first 30.
    bad = set(used[:30:2].tolist())

    def said(decoder, ids, done=None):
        return np.asarray([[0.0005 if int(i) in bad else 0.95] * 3 for i in ids])

    monkeypatch.setattr("cospace.tokens.undertrained.repeat_probabilities", said)
    made = verified(found, vocabulary, None, each=25, rng=3)
    scores = {one.method: one for one in made.recoveries if one.reference == "prompted"}
    assert list(scores) == ["indicator", *apart, "others"]
    tested = {one.id: one for one in made.verification.tokens}
    bads = set(tested) & bad
    assert [one.verdict for one in tested.values()][: len(bads)] == ["strong verified"] * len(bads)
    one = scores["apart from x"]
    own = set(tested) & set(used[:30].tolist())
    assert one.tokens == len(tested)
    assert (one.candidates, one.listed, one.hits) == (len(own), len(bads), len(own & bads))
    assert one.recall == 1.0
    assert one.lift == pytest.approx(len(own & bads) / len(own) / (len(bads) / len(tested)))
    assert scores["others"].precision == 0.0
    assert tested[int(used[20])].methods[-2:] == ("apart from x", "apart from y")
    assert made.verification.prompts[1].count("{token}") == 1
    made.save(tmp_path / "made.json")
    assert Undertrained.load(tmp_path / "made.json") == made


def test_a_tied_model_without_unused_rows_has_those_apart_alone(checkpoint, plain):
    x = np.random.default_rng(1).normal(size=(30, 4))
    full = read_embeddings(checkpoint("full", plain(30), x), progress=False)
    found = find_undertrained(full, apart=[3, 4])
    assert (found.indicator, list(found.candidates), found.recoveries) == (None, ["apart"], ())
    assert found.reason.startswith("full is tied and has no reserved rows, nor bytes")


def test_bytes_that_no_text_holds_are_unused(families, checkpoint):
    """Byte-level vocabularies have rows that no UTF-8 text ever reaches."""
    tokenizer = families["byte_level"]()
    rows = tokenizer.get_vocab_size()
    content = tokenizer.to_str()
    x = np.random.default_rng(2).normal(size=(rows, 6)) + 1
    folder = checkpoint("bytes", tokenizer, x)
    content = content.replace("<|reserved_special_token_0|>", "<|sign|>")
    (read_embeddings(folder, progress=False).weights.folder / "tokenizer.json").write_text(content)
    found = find_undertrained(read_embeddings(folder, progress=False))
    assert (found.indicator, found.unused) == ("distance to unused", 13)


def test_what_is_refused(runnable):
    decoder = load_decoder(runnable("llama"))
    with pytest.raises(InputError, match="No token is to be repeated: name one or more"):
        repeat_probabilities(decoder, [])
    with pytest.raises(InputError, match=r"The prompt \['the'\] has 1 piece: two or more are"):
        repeat_probabilities(decoder, [3], prompts=[("the",)])
    embeddings = read_embeddings(str(runnable("llama")), progress=False)
    vocabulary = read_vocabulary(runnable("llama"), embeddings.input.shape[0])
    with pytest.raises(InputError, match="0 tokens of each method are to be verified; 1 or more"):
        verified(find_undertrained(embeddings), vocabulary, decoder, each=0)


@pytest.mark.weights
def test_smollm2_repeats_words_and_not_what_it_never_saw():
    embeddings = read_embeddings("smollm2-135m", progress=False)
    vocabulary = read_vocabulary(embeddings.weights.folder, embeddings.input.shape[0])
    rows = {vocabulary.text(int(i)): int(i) for i in vocabulary.ids("used")}
    words = [" authors", " phrase", " terrible", " delta"]
    never = [" InstancePreprocess", "ManagementPlaneProtection", " transistorsum", "MetaInfoClass"]
    decoder = load_decoder("smollm2-135m")
    found = repeat_probabilities(decoder, [rows[text] for text in (*words, *never)]).max(axis=1)
    assert found[:4].min() > 0.1
    assert found[4:].max() < 0.001
    # The indicator names these, and none of the words; its rows of reference are special tokens.
    candidates = set(find_undertrained(embeddings, unused=UNUSED).candidates["indicator"])
    assert {rows[text] for text in never} <= candidates
    assert not {rows[text] for text in words} & candidates
    assert recovery(list(candidates), [rows[text] for text in never], 48_822).recall == 1.0
