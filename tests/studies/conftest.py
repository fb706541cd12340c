"""Tiny decoders with random weights whose tokens are words, for studies of tokens."""

from __future__ import annotations

import json
from itertools import product

import pytest

WORDS = ["".join(letters) for letters in product("bdgkl", "aeiou", "mnrst")][:110]


def decoder(path, *, blocks, width, first=0, tied=True):
    """Save a decoder whose byte-level tokenizer has the words from number ``first`` on."""
    import tokenizers
    import torch
    import transformers

    pre = tokenizers.pre_tokenizers
    names = ["<pad>", *sorted(pre.ByteLevel.alphabet()), *(f"Ġ{word}" for word in WORDS[first:])]
    core = tokenizers.Tokenizer(
        tokenizers.models.BPE({name: i for i, name in enumerate(names)}, [], ignore_merges=True)
    )
    core.pre_tokenizer = pre.ByteLevel(add_prefix_space=False)
    core.decoder = tokenizers.decoders.ByteLevel()
    core.add_special_tokens(["<pad>"])
    config = transformers.LlamaConfig(
        vocab_size=len(names),
        hidden_size=width,
        num_hidden_layers=blocks,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=128,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=None,
        tie_word_embeddings=tied,
    )
    with torch.random.fork_rng():
        torch.manual_seed(width)
        model = transformers.LlamaForCausalLM(config)
        for parameter in model.parameters():
            if parameter.ndim == 2:
                torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(path)
    transformers.PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>").save_pretrained(
        path
    )


@pytest.fixture(scope="session")
def decoders(tmp_path_factory):
    """A folder with the decoders ``first`` and ``second``, tied, and ``third``, untied."""
    root = tmp_path_factory.mktemp("decoders")
    decoder(root / "first", blocks=3, width=16)
    decoder(root / "second", blocks=2, width=24, first=4)
    decoder(root / "third", blocks=2, width=20, tied=False)
    return root


@pytest.fixture
def behaviour(tmp_path):
    """Questions about the words, a graph of them, and a text."""
    values = [
        {
            "question": f"Is{w(i)} so?\n\nChoices:\n (A){w(i + 1)}{w(3)}\n (B){w(i + 2)}{w(4)}",
            "answer_matching_behavior": "(A)" if i % 2 else "(B)",
            "answer_not_matching_behavior": "(B)" if i % 2 else "(A)",
        }
        for i in range(20)
    ]
    (tmp_path / "items.json").write_text(json.dumps(values))
    edges = [(WORDS[i], WORDS[(i * 7 + 3) % 110]) for i in range(110)]
    lines = [f"/a\t/r/IsA\t/c/en/{a}\t/c/en/{b}\t{{}}\n" for a, b in edges]
    (tmp_path / "graph").write_text("".join(lines))
    texts = [f"{w(i)}{w(2 * i)}{w(3 * i)}" for i in range(90)]
    (tmp_path / "words.txt").write_text("".join(f"{text.strip()}\n" for text in texts))
    (tmp_path / "list.jsonl").write_text(
        "".join(f'{{"i": {i}, "max_prob": {0.002 * (i % 9)}}}\n' for i in range(260, 330))
    )
    return tmp_path


def w(i):
    """Word number i, with the blank before it."""
    return f" {WORDS[i % len(WORDS)]}"
