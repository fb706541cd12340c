"""States of tokens behind the embeddings, against transformers' own, one sequence at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers

from cospace.corpus import Corpus
from cospace.errors import InputError, TextTooLongError, UndefinedMeasureError
from cospace.models.batching import Tokens
from cospace.models.occurrences import load_token_states
from cospace.tokens import compare_hidden, pearson
from cospace.tokens.hidden import chosen_texts
from cospace.tokens.similarity import Cosines

TEXTS = (
    "the river froze before the geese had left",
    "geese left the door",
    "the door the door the door",
    "before the river froze geese had left the river",
)


def plain(folder, ids):
    """State of every token of one sequence at ``embed`` and behind every block, by transformers."""
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        found = model(torch.tensor([[int(i) for i in ids]]), output_hidden_states=True)
    return [states[0].double().numpy() for states in found.hidden_states]


def near(found, expected):
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_a_token_alone_stands_between_the_special_ones(runnable, kind):
    """Fault: the state of a special token, or of another token that its text would be split into."""
    folder = runnable(kind)
    model = load_token_states(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    names = {"llama": ["Ġriver", "river", "Ġthe"], "bert": ["river", "##river", "##the"]}[kind]
    ids = np.asarray(tokenizer.convert_tokens_to_ids(names))
    found = model.alone(ids, ["embed", "block.0"])
    ends = ([], []) if kind == "llama" else ([4], [5])
    assert tokenizer.convert_ids_to_tokens([4, 5]) == ["[CLS]", "[SEP]"] or kind == "llama"
    for i, token in enumerate(ids):
        states = plain(folder, [*ends[0], token, *ends[1]])
        near(found["embed"][i], states[0][len(ends[0])])
        near(found["block.0"][i], states[1][len(ends[0])])


@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_in_texts_a_state_is_the_mean_over_occurrences(runnable, kind):
    """Fault: padding, special tokens or the sink of the first position in the mean."""
    folder = runnable(kind)
    model = load_token_states(folder)
    texts = model.encode(TEXTS)
    words = ["Ġthe", "Ġriver", "Ġdoor", "Ġcolour"] if kind == "llama" else ["the", "river", "door"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = np.asarray(tokenizer.convert_tokens_to_ids(words))
    told = []
    found = model.in_texts(texts, ids, ["block.1"], told.append)
    assert sum(told) == len(TEXTS)
    gathered = {int(i): [] for i in ids}
    for text in texts:
        states = plain(folder, text.ids)[2]
        for place, token in enumerate(text.ids):
            if place and int(token) in gathered:
                gathered[int(token)].append(states[place])
    for i, token in enumerate(ids):
        assert found.counts[i] == len(gathered[int(token)])
        if gathered[int(token)]:
            near(found.states["block.1"][i], np.mean(gathered[int(token)], axis=0))
        else:
            assert np.isnan(found.states["block.1"][i]).all()
    if kind == "llama":
        assert found.counts.tolist() == [6, 3, 4, 0]


def test_embeddings_are_the_same_alone_and_in_texts_without_positions(runnable):
    model = load_token_states(runnable("llama"))
    ids = model.encode([" the river froze"])[0].ids
    alone = model.alone(ids, ["embed"])["embed"]
    near(model.in_texts(model.encode(TEXTS), ids, ["embed"]).states["embed"], alone)


def test_texts_are_taken_until_each_token_stands_often_enough():
    def text(*ids):
        return Tokens(np.asarray([9, *ids]), np.zeros(len(ids) + 1, np.bool_))

    a = [text(1, 1), text(3), text(1, 2), text(2, 2), text(1, 2), text(2)]
    b = [text(1, 1), text(3), text(1), text(2), text(1, 2), text(2)]
    ids = [np.asarray([1, 2])] * 2
    assert chosen_texts([a, b], ids, 1) == [0, 2, 3]
    assert chosen_texts([a, b], ids, 2) == [0, 2, 3, 4]
    assert chosen_texts([a, b], ids, 3) == [0, 2, 3, 4, 5]
    # The first position does not count.
    assert chosen_texts([[text(2), text(9)]], [np.asarray([9])], 1) == [1]


def test_figures_of_a_model_and_itself_and_of_its_embeddings(runnable):
    one, other = (load_token_states(runnable("llama", seed)) for seed in (0, 1))
    ids = np.arange(40, 240)
    steps = []
    found = compare_hidden(
        [one, one, other],
        [ids] * 3,
        depths=[0, 0.5, 1],
        tokens=60,
        progress=lambda *told: steps.append(told),
    )
    assert len(found.figures) == 9
    same = [f for f in found.figures if f.pearson == pytest.approx(1.0, abs=1e-9)]
    assert [f.depth for f in same] == [0, 0.5, 1]
    assert [f.site_a for f in same] == ["embed", "block.1", "final_norm"]
    assert all(f.spearman == pytest.approx(1.0) and f.tokens == 60 for f in same)
    assert steps[-1] == ("tokens alone, llama", 60, 60)
    model = transformers.AutoModel.from_pretrained(runnable("llama"))
    rows = model.get_input_embeddings().weight.detach().double().numpy()
    again = transformers.AutoModel.from_pretrained(runnable("llama", 1))
    others = again.get_input_embeddings().weight.detach().double().numpy()
    chosen = np.asarray(found.ids["llama"])
    expected = pearson(Cosines.of(rows[chosen]), Cosines.of(others[chosen]))
    figure = next(f for f in found.figures if f.depth == 0 and f.pearson < 0.9)
    assert figure.pearson == pytest.approx(expected.value, abs=1e-6)
    assert figure.null_sd == pytest.approx(expected.null_sd, rel=1e-4)
    assert abs(figure.pearson) < 4 * figure.null_sd


def test_tokens_in_texts_are_those_that_stand_often_enough(runnable):
    models = [load_token_states(runnable("llama", seed)) for seed in (0, 1)]
    ids = models[0].encode([" the river door geese left froze colour"])[0].ids
    corpus = Corpus.of(TEXTS, name="winter")
    found = compare_hidden(
        models,
        [ids, ids],
        depths=[1],
        contexts=["text", "alone"],
        corpus=corpus,
        occurrences=2,
        tokens=6,
    )
    assert (found.text, found.texts) == ("winter", 4)
    assert len(found.ids["llama"]) == 6  # " colour" is left out
    assert {f.context for f in found.figures} == {"text", "alone"}
    assert found.occurrences["llama"] >= 2
    with pytest.raises(UndefinedMeasureError, match="1 shared tokens stand 5 times in winter: at"):
        compare_hidden(
            models, [ids, ids], depths=[1], contexts=["text"], corpus=corpus, occurrences=5
        )


def test_states_that_cannot_be_compared_have_a_reason(runnable, monkeypatch):
    models = [load_token_states(runnable("llama", seed)) for seed in (0, 1)]
    real = type(models[0]).alone

    def flat(self, ids, sites, done=None):
        found = real(self, ids, sites, done)
        return {site: np.ones_like(rows) for site, rows in found.items()}

    monkeypatch.setattr(type(models[0]), "alone", flat)
    (figure,) = compare_hidden(models, [np.arange(9)] * 2, depths=[0]).figures
    assert (figure.pearson, figure.mean_cosine_a) == (None, None)
    assert figure.reason == "All pairs have the same cosine: there is nothing to compare."


def test_what_is_refused(runnable):
    model = load_token_states(runnable("llama"))
    ids = [np.arange(9)] * 2
    for asked, text in (
        ({"depths": []}, "No depth was named: name some"),
        ({"contexts": []}, "context is ''; 'alone', 'text' or both are expected."),
        ({"contexts": ["text"]}, "Tokens in a text need the text: give corpus=."),
        ({"tokens": 3}, "tokens is 3 and occurrences 4; 4 and 1 or more are expected."),
        ({"depths": [1.5]}, r"A relative depth lies in \[0, 1\], got 1.5"),
    ):
        with pytest.raises(InputError, match=text):
            compare_hidden([model, model], ids, **({"depths": [0]} | asked))
    with pytest.raises(UndefinedMeasureError, match="3 shared tokens: at least 4 are"):
        compare_hidden([model, model], [np.arange(3)] * 2, depths=[0])
    with pytest.raises(
        TextTooLongError, match="reads at most 128 tokens, and text 1 has 200: shorten it"
    ):
        model.encode(["the", " the" * 200])
