"""Tokenizers of the three families, made by their own library, and checkpoints around them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

WORDS = ["the", "river", "froze", "before", "geese", "had", "left", "door", "colour", "é"]


def byte_level():
    """Byte-level BPE: all bytes, words with and without their space, two special tokens."""
    signs = sorted(pre_tokenizers.ByteLevel.alphabet())
    pre = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    words = [pre.pre_tokenize_str(f"{space}{w}")[0][0] for w in WORDS for space in ("", " ")]
    names = ["<|endoftext|>", "<|reserved_special_token_0|>", *signs, *words]
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(names))}
    made = Tokenizer(models.BPE(vocabulary, [], ignore_merges=True))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(names[:2])
    return made


def sentencepiece():
    """BPE with U+2581 and byte tokens."""
    names = ["<pad>", "<unk>", "<unused0>", *(f"<0x{i:02X}>" for i in range(256)), "▁"]
    names += [f"{space}{word}" for word in WORDS for space in ("▁", "")]
    names += ["A", ",", "▁,", "<unused1>"]
    vocabulary = {token: i for i, token in enumerate(dict.fromkeys(names))}
    made = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True))
    made.normalizer = normalizers.Replace(" ", "▁")
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    made.add_special_tokens(["<pad>", "<unk>"])
    return made


def unigram():
    """Unigram with U+2581."""
    names = ["<pad>", "<unk>", *(f"{space}{word}" for word in WORDS for space in ("▁", ""))]
    made = Tokenizer(models.Unigram([(token, 0.0) for token in names], unk_id=1))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.add_special_tokens([AddedToken("<pad>"), AddedToken("<extra_id_0>")])
    return made


def wordpiece():
    """WordPiece with ``##``, punctuation, and unused tokens at the front."""
    names = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", ",", "##,", "A", "水"]
    names += [f"{start}{word}" for word in WORDS for start in ("", "##")]
    vocabulary = {token: i for i, token in enumerate(names)}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    return made


FAMILIES = {
    "byte_level": byte_level,
    "sentencepiece": sentencepiece,
    "unigram": unigram,
    "wordpiece": wordpiece,
}


@pytest.fixture
def families():
    """Functions that make a tokenizer, by family."""
    return FAMILIES


@pytest.fixture
def checkpoint(tmp_path):
    """A function: folder of a model with this tokenizer and these embeddings."""

    def make(name, tokenizer, table, output=None, **config):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        if isinstance(tokenizer, dict):
            (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        else:
            tokenizer.save(str(folder / "tokenizer.json"))
        tensors = {"model.embed_tokens.weight": np.asarray(table)}
        if output is not None:
            tensors["lm_head.weight"] = np.asarray(output)
        save_file(tensors, folder / "model.safetensors")
        says = {"vocab_size": len(table), "tie_word_embeddings": output is None, **config}
        (folder / "config.json").write_text(json.dumps(says))
        return str(folder)

    return make


@pytest.fixture
def plain():
    """A function: content of a byte-level tokenizer of n tokens ``Ġt0``, ``Ġt1`` ..."""

    def make(n, first=0):
        return {
            "model": {
                "type": "BPE",
                "vocab": {f"Ġt{i}": i - first for i in range(first, first + n)},
            },
            "pre_tokenizer": {"type": "ByteLevel"},
            "added_tokens": [],
        }

    return make


@pytest.fixture(scope="session")
def runnable(tmp_path_factory):
    """A function: folder of a tiny model with random weights, ``llama`` (tied) or ``bert``."""
    import torch
    import transformers

    made = {}

    def make(kind, seed=0):
        if (kind, seed) in made:
            return made[kind, seed]
        core = byte_level() if kind == "llama" else wordpiece()
        names = {"pad_token": "<|endoftext|>"}
        if kind == "bert":
            core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
            core.post_processor = processors.TemplateProcessing(
                single="[CLS] $A [SEP]",
                special_tokens=[(t, core.token_to_id(t)) for t in ("[CLS]", "[SEP]")],
            )
            names = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=core, **names)
        config = transformers.AutoConfig.for_model(
            kind,
            vocab_size=core.get_vocab_size() + 3,
            hidden_size=24,
            num_hidden_layers=3,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=128,
            tie_word_embeddings=True,
            pad_token_id=0,
        )
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            head = "AutoModelForCausalLM" if kind == "llama" else "AutoModel"
            model = getattr(transformers, head).from_config(config)
            for parameter in model.parameters():
                torch.nn.init.normal_(parameter, std=0.3) if parameter.ndim == 2 else None
        folder = tmp_path_factory.mktemp(f"{kind}-{seed}") / kind
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        made[kind, seed] = folder
        return folder

    return make
