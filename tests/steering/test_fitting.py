"""Maps between models: from the embeddings of shared tokens, and from states of shared texts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from cospace.errors import InputError
from cospace.maps import fit_map
from cospace.steering import activation_maps, embedding_map
from cospace.steering.build import read_texts

WORDS = [f"word{i}" for i in range(120)]


def folder(path, tokens, table, kind, output=None):
    """A checkpoint with a tokenizer of byte-level BPE (``Ġ``) or WordPiece (``##``)."""
    path.mkdir()
    vocabulary = {token: i for i, token in enumerate(tokens)}
    model = {
        "bpe": {"model": {"type": "BPE"}, "pre_tokenizer": {"type": "ByteLevel"}},
        "wordpiece": {"model": {"type": "WordPiece", "continuing_subword_prefix": "##"}},
    }[kind]
    model["model"]["vocab"] = vocabulary
    model["added_tokens"] = []
    (path / "tokenizer.json").write_text(json.dumps(model))
    tensors = {"model.embed_tokens.weight": table}
    if output is not None:
        tensors["lm_head.weight"] = output
    save_file(tensors, path / "model.safetensors")
    says = {"vocab_size": len(table), "tie_word_embeddings": output is None}
    (path / "config.json").write_text(json.dumps(says))
    return str(path)


@pytest.fixture
def models(tmp_path):
    """Two models whose tokenizers write words otherwise and in another order; the second is a turn."""
    rng = np.random.default_rng(0)
    own = rng.normal(size=(140, 6))
    turn = rng.normal(size=(6, 8))
    order = rng.permutation(120)[:100]
    first = [f"Ġ{word}" for word in WORDS] + [f"Ġown{i}" for i in range(20)]
    second = [f"foreign{i}" for i in range(5)] + [WORDS[i] for i in order]
    table = np.vstack([rng.normal(size=(5, 8)), own[order] @ turn])
    output = np.vstack([rng.normal(size=(5, 8)), own[order] @ turn + 1.0])
    a = folder(tmp_path / "a", first, own, "bpe")
    b = folder(tmp_path / "b", second, table, "wordpiece", output)
    return a, b, own, turn, order


def test_tokens_are_matched_by_their_text_across_tokenizers(models):
    """Fault: rows matched by id, though the tokenizers differ."""
    a, b, _, turn, _ = models
    found = embedding_map(a, b, role="input")
    np.testing.assert_allclose(found.matrix, turn, atol=1e-9)
    np.testing.assert_allclose(found.offset, 0.0, atol=1e-12)
    assert (found.n, found.rank, found.method) == (100, 6, "least_squares")
    assert found.held_out.r2 == pytest.approx(1.0, abs=1e-9)
    assert found.held_out.retrieval == 1.0
    assert found.facts["source"]["shared"] == 100
    assert found.facts["target"]["tensor"] == "model.embed_tokens.weight"
    direction = np.arange(6.0)
    np.testing.assert_allclose(found.directions(direction), direction @ turn, atol=1e-9)


def test_by_default_it_is_plain_least_squares_of_unembeddings(models):
    """``A = argmin sum ||U_target - A U_source||^2``, without an offset."""
    a, b, own, turn, order = models
    found = embedding_map(a, b)
    places = np.sort(order)
    wanted = own[places] @ turn + 1.0
    expected = np.linalg.lstsq(own[places], wanted, rcond=None)[0]
    np.testing.assert_allclose(found.matrix, expected, atol=1e-9)
    assert found.facts["target"]["tensor"] == "lm_head.weight"
    affine = embedding_map(a, b, method="affine")
    np.testing.assert_allclose(affine.matrix, turn, atol=1e-9)


def test_the_control_is_the_same_fit_on_shuffled_rows(models):
    a, b, own, turn, order = models
    found = embedding_map(a, b, role="input", shuffle=3)
    rows = np.sort(order)
    shuffled = own[rows][np.random.default_rng(3).permutation(100)]
    expected = np.linalg.lstsq(shuffled, own[rows] @ turn, rcond=None)[0]
    np.testing.assert_allclose(found.matrix, expected, atol=1e-9)
    assert found.shuffle == 3
    assert found.held_out.r2 < 0.1


def test_some_of_the_tokens_may_be_drawn(models):
    a, b, *_ = models
    one, same, other = (embedding_map(a, b, tokens=50, rng=seed) for seed in (1, 1, 2))
    assert one.n == 50
    assert np.array_equal(one.matrix, same.matrix)
    assert not np.array_equal(one.matrix, other.matrix)
    for number in (0, 101):
        with pytest.raises(
            InputError, match=f"{number} tokens were asked for, and a and b share 100"
        ):
            embedding_map(a, b, tokens=number)
    with pytest.raises(InputError, match="rng is -1; a whole number"):
        embedding_map(a, b, rng=-1)


@pytest.fixture
def decoders(toy):
    source, target = toy("small", seed=3), toy("large", width=8, seed=4, blocks=6)
    turn = np.random.default_rng(5).normal(size=(6, 8))
    target.table = source.table @ turn
    return source, target, turn


TEXTS = [f"a{i} b{i % 7} c{i % 11} d{i}" for i in range(40)]


def test_states_of_the_same_texts_give_a_map(decoders):
    source, target, turn = decoders
    found = activation_maps(
        source,
        target,
        TEXTS,
        source_site="block.1",
        target_sites=["block.2", "block.4"],
        shuffles=(None, 0),
    )
    assert list(found) == ["block.2", "block.4"]
    for real, shuffled in found.values():
        assert (real.method, real.n, real.shuffle, shuffled.shuffle) == ("ridge", 40, None, 0)
        np.testing.assert_allclose(real.matrix, turn, atol=1e-4)
        assert real.held_out.r2 > 0.999
        assert shuffled.held_out.r2 < 0.2
    assert found["block.2"][0].facts["target"]["site"] == "block.2"
    assert found["block.2"][0].target == "large/block.2"


@pytest.mark.parametrize("token", ["mean", "last"])
def test_a_text_is_one_row(decoders, token):
    source, target, _ = decoders
    (real,) = activation_maps(
        source,
        target,
        TEXTS,
        source_site="block.1",
        target_sites=["block.2"],
        token=token,
        method="affine",
    )["block.2"]
    rows = []
    for decoder, site in ((source, "block.1"), (target, "block.2")):
        whole = [decoder.all_states(text.ids, site) for text in decoder.encode(TEXTS)]
        rows.append(np.array([s[1:].mean(axis=0) if token == "mean" else s[-1] for s in whole]))
    expected = fit_map(source=rows[0], target=rows[1], method="affine")
    np.testing.assert_allclose(real.matrix, expected.matrix, atol=1e-9)
    assert real.held_out == expected.held_out
    states = read_texts(source, TEXTS, token, ["block.1"])["block.1"]
    np.testing.assert_allclose(states, rows[0])


def test_texts_that_no_map_can_be_fitted_on_are_refused(decoders):
    source, target, _ = decoders
    places = {"source_site": "block.1", "target_sites": ["block.2"]}
    with pytest.raises(InputError, match="'letter': 'mean' or 'last' is expected"):
        activation_maps(source, target, TEXTS, token="letter", **places)
    with pytest.raises(InputError, match="2 texts were given, 1 of them different"):
        activation_maps(source, target, ["a b", "a b"], **places)
    with pytest.raises(InputError, match="1 texts were given"):
        activation_maps(source, target, ["a b"], **places)


@pytest.mark.weights
def test_two_packaged_models_with_different_tokenizers():
    """Tokens that were not fitted find their own row among 1,200: retrieval by chance is 0.0008."""
    found = embedding_map("smollm2-135m", "gemma3-270m", tokens=6000, accept=["gemma"])
    assert (found.width, found.target_width, found.rank) == (576, 640, 576)
    assert found.facts["source"]["shared"] > 40_000
    assert found.held_out.r2 > 0.1
    assert found.held_out.retrieval > 0.5
    shuffled = embedding_map(
        "smollm2-135m", "gemma3-270m", tokens=6000, accept=["gemma"], shuffle=0
    )
    assert shuffled.held_out.retrieval < 0.02
