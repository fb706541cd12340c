"""Decoders with their head: what comes next, and vectors added on the way."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cospace.errors import (
    AcquisitionError,
    ExtractionError,
    InputError,
    TextTooLongError,
    UnknownNameError,
)
from cospace.models.batching import Tokens
from cospace.models.decoder import Decoder, load_decoder
from cospace.models.positions import TokenPositions
from cospace.models.steered import CACHES, adding, token_numbers

KINDS = ["llama", "gpt_neox", "gemma3_text", "gpt2", "qwen2", "opt", "bloom", "mistral", "falcon"]
TEXTS = ["w5 w6 the w8 w9", "w9", "w11 the w13 w14 w15 w16 w17 w18", "w20 w21"]


@pytest.fixture(scope="module")
def decoders(tiny_model, word_tokenizer):
    """Build a decoder of a kind once; nothing but the tokenizer's words, no special tokens."""
    from cospace.models.checkpoint import describe

    made = {}

    def build(kind: str, **options):
        if kind not in made or options:
            model = tiny_model(kind, head="AutoModelForCausalLM", pad_token_id=1)
            facts = describe(model, reference=f"tests/{kind}", name=kind, weights_hash="0" * 64)
            built = Decoder(model, word_tokenizer(None), facts, **options)
            if options:
                return built
            made[kind] = built
        return made[kind]

    return build


@pytest.fixture
def vector():
    return np.random.default_rng(0).normal(size=32) * 3


def run(decoder, text):
    """Logits of one text, no cache, by the model itself."""
    with torch.inference_mode():
        ids = torch.tensor([decoder.encode([text])[0].ids.tolist()])
        return decoder.model(input_ids=ids, use_cache=False).logits[0].double().numpy()


def states(decoder, text, site):
    """States of one text at a site, shape (tokens, width)."""
    (tokens,) = decoder.encode([text])
    each = [np.arange(len(tokens)) == i for i in range(len(tokens))]
    return np.concatenate([decoder.states([tokens], [mask], [site])[site] for mask in each])


@pytest.mark.parametrize("kind", KINDS)
def test_the_vector_is_added_exactly_once_at_every_site(kind, decoders, vector):
    """Fault: a vector that is added twice, shifted by a block, or at another place."""
    decoder = decoders(kind)
    text = "w5 w6 the w8"
    for site in ("embed", "block.0", "block.1", "block.2", "final_norm"):
        before = states(decoder, text, site)
        with decoder.adding(site, vector):
            after = states(decoder, text, site)
        assert np.allclose(after - before, vector, rtol=0, atol=1e-5), site
        assert np.allclose(states(decoder, text, site), before, rtol=0, atol=0), site


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_before_the_site_is_not_touched(kind, decoders, vector):
    decoder = decoders(kind)
    before = {site: states(decoder, TEXTS[0], site) for site in decoder.sites}
    with decoder.adding("block.1", vector):
        after = {site: states(decoder, TEXTS[0], site) for site in decoder.sites}
    same = [site for site in decoder.sites if np.array_equal(before[site], after[site])]
    assert same == ["embed", "block.0"]


def test_a_block_that_is_called_several_times_is_changed_at_its_turn(tiny_model, vector):
    from cospace.models.sites import find_layout, reading

    layout = find_layout(tiny_model("albert"))
    ids = torch.tensor([[5, 6, 7]])
    whole = torch.as_tensor(vector)

    def seen():
        found = {}
        with (
            torch.inference_mode(),
            reading(
                layout, layout.names, lambda n, s: found.update({n: s.clone()}), to_the_end=True
            ),
        ):
            layout.model(input_ids=ids)
        return found

    before = seen()
    with adding(layout, "block.1", whole, TokenPositions(), prompt=lambda: None):
        after = seen()
    assert torch.equal(before["block.0"], after["block.0"])
    assert torch.allclose(after["block.1"] - before["block.1"], whole.float(), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positions", ["all", [0, 2], slice(1, None), [-1], slice(-2, None)])
def test_a_padded_batch_is_steered_as_its_texts_alone(kind, positions, decoders, vector):
    """Fault: one position for the whole batch, where every text ends at its own."""
    decoder = decoders(kind)
    tokens = decoder.encode(TEXTS)
    wanted = [[7, 8, 9]] * len(TEXTS)
    with decoder.adding("block.1", vector, positions=positions):
        together = decoder.next_log_probs(tokens, wanted)
        alone = np.concatenate([decoder.next_log_probs([t], [wanted[0]]) for t in tokens])
    plain = decoder.next_log_probs(tokens, wanted)
    assert np.allclose(together, alone, rtol=0, atol=1e-4)
    assert np.abs(together - plain).max() > 1e-2


@pytest.mark.parametrize("positions", [[0, 2], [-1], slice(1, 3), slice(None, -1)])
def test_only_the_named_tokens_are_changed(positions, decoders, vector):
    """Fault: a mean over tokens, or a single one, that is broadcast over all."""
    decoder = decoders("llama")
    before = states(decoder, "w5 w6 the w8", "block.1")
    with decoder.adding("block.1", vector, positions=positions):
        after = states(decoder, "w5 w6 the w8", "block.1")
    moved = np.abs(after - before).max(axis=1) > 0
    named = np.zeros(4, bool)
    named[positions] = True
    assert moved.tolist() == named.tolist()


def test_padding_is_never_changed(decoders, vector):
    decoder = decoders("llama")
    layout = decoder._reader.layout
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]])
    ids = torch.tensor([[1, 1, 5, 6], [5, 6, 7, 8]])
    found = []

    def see(_module, _args, output):
        found.append((output[0] if isinstance(output, tuple) else output).clone())

    handle = None
    with torch.inference_mode():
        for steered in (False, True):
            if steered:
                with decoder.adding("block.0", vector):
                    handle = layout.blocks[0].register_forward_hook(see)
                    decoder.model(input_ids=ids, attention_mask=mask)
                    handle.remove()
            else:
                handle = layout.blocks[0].register_forward_hook(see)
                decoder.model(input_ids=ids, attention_mask=mask)
                handle.remove()
    moved = (found[1] - found[0]).abs().amax(dim=-1) > 0
    assert torch.equal(moved, mask.bool())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positions", ["all", [-1], slice(-1, None), [1]])
def test_generation_with_the_cache_equals_that_without(kind, positions, decoders, vector):
    decoder = decoders(kind)
    tokens = decoder.encode(TEXTS)
    plain = decoder.generate(tokens, 6)
    with decoder.adding("block.1", 20 * vector, positions=positions):
        cached = decoder.generate(tokens, 6)
        anew = decoder.generate(tokens, 6, cached=False)
        alone = [decoder.generate([t], 6)[0] for t in tokens]
    for one, two, three in zip(cached, anew, alone, strict=True):
        assert np.array_equal(one, two)
        assert np.array_equal(one, three)
    assert any(not np.array_equal(a, b) for a, b in zip(plain, cached, strict=True))


@pytest.mark.parametrize("kind", ["llama", "gpt_neox", "gemma3_text"])
def test_generation_is_greedy_choice_after_greedy_choice(kind, decoders, vector):
    """Against a loop of single passes over the growing text."""
    decoder = decoders(kind)
    (tokens,) = decoder.encode(["w5 w6 the w8"])
    with decoder.adding("block.1", vector, positions=slice(3, None)):
        found = decoder.generate([tokens], 5)[0]
        ids = tokens.ids.tolist()
        for _ in range(5):
            with torch.inference_mode():
                logits = decoder.model(input_ids=torch.tensor([ids]), use_cache=False).logits
            ids.append(int(logits[0, -1].argmax()))
    assert found.tolist() == ids[4:]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch_tokens", [2048, 1])
def test_scored_generation_gives_the_same_tokens_and_their_likelihood(kind, batch_tokens, decoders):
    """Against the likelihoods of the whole texts in one pass, padding or not."""
    decoder = decoders(kind)
    tokens = decoder.encode(TEXTS)
    plain = decoder.generate(tokens, 4)
    before, decoder.batch_tokens = decoder.batch_tokens, batch_tokens
    try:
        found = decoder.generate_scored(tokens, 4)
    finally:
        decoder.batch_tokens = before
    for text, ids, (new, costs) in zip(tokens, plain, found, strict=True):
        assert np.array_equal(new, ids)
        assert costs.shape == new.shape
        assert len(new)
        whole = Tokens(np.concatenate([text.ids, new]), np.zeros(len(text) + len(new), bool))
        wanted = decoder.log_likelihoods([whole])[0][-len(new) :]
        assert np.allclose(costs, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "gpt_neox", "gemma3_text"])
def test_logits_of_cached_steps_are_those_of_the_whole_pass(kind, decoders, vector):
    decoder = decoders(kind)
    ids = torch.tensor([[5, 6, 7, 8, 9, 10, 11]])
    with torch.inference_mode(), decoder.adding("block.1", vector, positions=[1, 5]):
        whole = decoder.model(input_ids=ids, use_cache=False).logits
        first = decoder.model(input_ids=ids[:, :4], use_cache=True)
        name = next(name for name in CACHES if name in first)
        cache, steps = {name: first[name]}, [first.logits]
        for i in range(4, 7):
            step = decoder.model(input_ids=ids[:, i : i + 1], use_cache=True, **cache)
            steps.append(step.logits)
    assert torch.allclose(torch.cat(steps, dim=1), whole, atol=1e-5)


def test_nothing_is_left_after_an_exception(decoders, vector):
    decoder = decoders("llama")
    before = run(decoder, TEXTS[0])

    class Stop(Exception):
        pass

    def fail():
        with decoder.adding("block.1", vector):
            assert not np.allclose(run(decoder, TEXTS[0]), before)
            raise Stop

    hooks = [(dict(m._forward_hooks), dict(m._forward_pre_hooks)) for m in decoder.model.modules()]
    with pytest.raises(Stop):
        fail()
    assert np.array_equal(run(decoder, TEXTS[0]), before)
    with pytest.raises(Exception, match="index"), decoder.adding("embed", vector):
        decoder.model(input_ids=torch.tensor([[10**6]]))
    assert np.array_equal(run(decoder, TEXTS[0]), before)
    left = [(dict(m._forward_hooks), dict(m._forward_pre_hooks)) for m in decoder.model.modules()]
    assert left == hooks


def test_a_vector_that_is_read_only_is_taken(decoders, vector):
    decoder = decoders("llama")
    vector.flags.writeable = False
    before = run(decoder, TEXTS[0])
    with decoder.adding("block.1", vector):
        assert not np.allclose(run(decoder, TEXTS[0]), before)
    assert len(decoder.nearest_tokens(vector, k=3)) == 3


def test_contexts_add_up(decoders, vector):
    decoder = decoders("llama")
    with decoder.adding("block.1", vector), decoder.adding("block.1", vector):
        two = run(decoder, TEXTS[0])
    with decoder.adding("block.1", 2 * vector):
        assert np.allclose(run(decoder, TEXTS[0]), two, rtol=0, atol=1e-4)
    with decoder.adding("block.1", vector), decoder.adding("block.1", -vector):
        assert np.allclose(run(decoder, TEXTS[0]), run(decoder, TEXTS[0]), rtol=0, atol=1e-4)


def test_likelihoods_are_those_of_the_model(decoders):
    decoder = decoders("llama")
    tokens = decoder.encode(TEXTS)
    found = decoder.log_likelihoods(tokens)
    last = decoder.next_log_probs(tokens, [[3, 9]] * len(TEXTS))
    for i, text in enumerate(TEXTS):
        logits = run(decoder, text)
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        ids = tokens[i].ids
        assert np.allclose(found[i], logs[np.arange(len(ids) - 1), ids[1:]], rtol=0, atol=1e-4)
        assert np.allclose(last[i], logs[-1, [3, 9]], rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", ["llama", "gpt_neox"])
def test_likelihoods_from_a_place_on_are_those_of_all(decoders, kind):
    decoder = decoders(kind)
    tokens = decoder.encode(TEXTS)
    places = [max(len(each) - 1 - i % 2, 1) for i, each in enumerate(tokens)]
    whole = decoder.log_likelihoods(tokens)
    part = decoder.log_likelihoods(tokens, places=places)
    for every, some, place, text in zip(whole, part, places, tokens, strict=True):
        assert len(some) == len(text) - place
        assert np.allclose(some, every[place - 1 :], rtol=0, atol=1e-6)


def test_small_batches_change_nothing(decoders, vector):
    whole, small = decoders("llama"), decoders("llama", batch_tokens=5)
    found = []
    for decoder in (whole, small):
        with decoder.adding("block.0", vector, positions=[-1]):
            found.append(decoder.next_log_probs(decoder.encode(TEXTS), [[4, 5]] * 4))
    assert np.allclose(*found, rtol=0, atol=1e-5)


def test_nearest_tokens_are_those_of_the_head(decoders):
    decoder = decoders("gpt_neox")
    head = decoder.model.get_output_embeddings().weight.detach().double().numpy()
    (name, cosine), (_, second) = decoder.nearest_tokens(3.0 * head[17], k=2)
    assert name == "w17"
    assert cosine == pytest.approx(1.0, abs=1e-6)
    others = head @ head[17] / np.linalg.norm(head, axis=1) / np.linalg.norm(head[17])
    assert second == pytest.approx(np.sort(others)[-2], abs=1e-6)


@pytest.mark.parametrize(
    "asked", [True, "some", [], [0.5], slice(0, 4, 2), slice(0.5, 2), None, {"a": 1}]
)
def test_positions_that_are_none_are_refused(asked):
    with pytest.raises(InputError, match="names no tokens"):
        TokenPositions.of(asked)


def test_what_cannot_be_added_is_refused(decoders, tiny_model, vector):
    decoder = decoders("llama")
    with (
        pytest.raises(UnknownNameError, match=r"'block.7' is not a site of llama"),
        decoder.adding("block.7", vector),
    ):
        pass
    for wrong in (vector[:5], np.tile(vector, (4, 1)), np.full(32, np.nan)):
        with (
            pytest.raises(InputError, match=r"one finite vector of shape \(32,\) is expected"),
            decoder.adding("block.0", wrong),
        ):
            pass
    with (
        pytest.raises(InputError, match="a bare forward pass does not say where that is"),
        decoder.adding("block.0", vector, positions=[-1]),
    ):
        run(decoder, TEXTS[0])


def test_a_mask_that_does_not_say_which_tokens_are_padding_is_refused(decoders, vector):
    decoder = decoders("llama")
    with (
        pytest.raises(ExtractionError, match=r"has a mask of shape \(1, 1, 3, 3\)"),
        decoder.adding("block.0", vector),
    ):
        decoder.model(input_ids=torch.tensor([[5, 6, 7]]), attention_mask=torch.zeros((1, 1, 3, 3)))
    embedded = {"inputs_embeds": torch.zeros((2, 3, 8))}
    assert token_numbers(embedded).tolist() == [[0, 1, 2]] * 2


def test_states_of_another_shape_are_refused(decoders, vector, monkeypatch):
    decoder = decoders("llama")
    block = decoder._reader.layout.blocks[0]
    forward = block.forward

    def flat(*args, **kwargs):
        return forward(*args, **kwargs)[0]

    monkeypatch.setattr(block, "forward", flat)
    with (
        pytest.raises(ExtractionError, match=r"at block\.0, expected"),
        decoder.adding("block.0", vector),
    ):
        run(decoder, TEXTS[0])


def test_a_model_without_a_head_is_refused(tiny_model, word_tokenizer):
    from cospace.models.checkpoint import describe

    model = tiny_model("llama")
    facts = describe(model, reference="tests/bare", name="bare", weights_hash="0" * 64)
    with pytest.raises(ExtractionError, match="bare is a LlamaModel, which has no head"):
        Decoder(model, word_tokenizer(None), facts)


def test_texts_that_cannot_be_run_are_refused(decoders):
    decoder = decoders("llama")
    with pytest.raises(InputError, match="Text 1, '', has no token"):
        decoder.encode(["w5", ""])
    with pytest.raises(TextTooLongError, match="reads at most 64 tokens, and text 0 has 65"):
        decoder.encode(["w5 " * 65])


def test_states_that_are_not_finite_are_refused(decoders, vector):
    decoder = decoders("llama")
    tokens = decoder.encode(["w5 w6"])
    with (
        pytest.raises(ExtractionError, match=r"not finite at block\.1"),
        decoder.adding("block.0", np.full(32, 1e300)),
    ):
        decoder.states(tokens, [np.array([True, True])], ["block.1"])


@pytest.mark.weights
def test_a_packaged_decoder_predicts_english():
    decoder = load_decoder("smollm2-135m")
    (prompt,) = decoder.encode(["The capital of France is"])
    (made,) = decoder.generate([prompt], 2)
    assert "Paris" in decoder.tokenizer.decode(made)
    plain, odd = decoder.log_likelihoods(
        decoder.encode(["The dog runs in the park.", "The dog park in runs the."])
    )
    assert plain.mean() > odd.mean() + 1


@pytest.mark.weights
@pytest.mark.parametrize("name", ["minilm", "mpnet"])
def test_an_encoder_is_no_decoder(name):
    """Fault: a head of random numbers; transformers has such a class for one of the two and none for the other."""
    with pytest.raises(AcquisitionError) as told:
        load_decoder(name)
    assert str(told.value) == (
        f"{name} has no head that gives the next token, as encoders have none: name a decoder."
    )


def test_positions_outside_every_text_are_told(decoders, vector):
    """Fault: a vector added to token 99999, which no text has, and not a word."""
    decoder = decoders("llama")
    with (
        pytest.raises(InputError, match="The positions 99999 lie outside all texts that were run"),
        decoder.adding("block.0", vector, positions=99999),
    ):
        decoder.generate(decoder.encode(TEXTS), 2)
    with (
        pytest.raises(InputError, match="The positions 70: lie outside all texts"),
        decoder.adding("block.0", vector, positions=slice(70, None)),
    ):
        decoder.next_log_probs(decoder.encode(TEXTS), [[4, 5]] * 4)
    with decoder.adding("block.0", vector, positions=99999):
        pass  # nothing was run
