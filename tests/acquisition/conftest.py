"""Tiny models with seeded random weights: they show that code paths are right, no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

WORDS = 64
"""Size of the vocabulary; word i is ``w<i>``, but for the tokens with a name."""

NAMED = {"the": 0, "[PAD]": 1, "[CLS]": 2, "[SEP]": 3, "[UNK]": 4}
"""The id 0, with which many configurations pad, is an ordinary word."""

_SIZES = {
    "vocab_size": WORDS,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}
_GROUPED = _SIZES | {"num_key_value_heads": 2, "head_dim": 8}
_GPT2 = {"vocab_size": WORDS, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}
_T5 = {
    "vocab_size": WORDS,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 3,
    "num_decoder_layers": 2,
    "num_heads": 4,
}
_BART = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 1,
    "forced_eos_token_id": None,
}
_MAMBA = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 3, "state_size": 8}
_OPT = _SIZES | {"ffn_dim": 64, "word_embed_proj_dim": 32}
_WINDOWS = {
    "sliding_window": 4,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    "query_pre_attn_scalar": 8,
}
_NO_NAMED_IDS = {"bos_token_id": None, "eos_token_id": None}

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "albert": _SIZES | {"embedding_size": 16},
    "bart": _BART,
    "bert": _SIZES,
    "bloom": {"vocab_size": WORDS, "hidden_size": 32, "n_layer": 3, "n_head": 4},
    "clip_text_model": _SIZES | {"bos_token_id": 2, "eos_token_id": 3},
    "convbert": _SIZES | {"embedding_size": 32},
    "deberta-v2": _SIZES,
    "distilbert": {
        "vocab_size": WORDS,
        "dim": 32,
        "n_layers": 3,
        "n_heads": 4,
        "hidden_dim": 64,
        "max_position_embeddings": 64,
    },
    "electra": _SIZES | {"embedding_size": 16},
    "falcon": _SIZES,
    "falcon_mamba": _MAMBA | {"time_step_rank": 4},
    "fnet": _SIZES,
    "gemma": _GROUPED,
    "gemma2": _GROUPED | _WINDOWS,
    "gemma3_text": _GROUPED | _WINDOWS,
    "gemma3": {
        "text_config": _GROUPED | _WINDOWS,
        "vision_config": {
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_hidden_layers": 3,
            "num_attention_heads": 2,
            "image_size": 28,
            "patch_size": 14,
        },
        "mm_tokens_per_image": 4,
    },
    "gpt2": _GPT2 | _NO_NAMED_IDS,
    "gpt_neox": _SIZES | _NO_NAMED_IDS,
    "llama": _GROUPED,
    "mamba": _MAMBA | {"time_step_rank": 4},
    "mamba2": _MAMBA | {"num_heads": 8, "head_dim": 8, "n_groups": 2, "chunk_size": 8},
    "mistral": _GROUPED | {"sliding_window": 4},
    "modernbert": _SIZES
    | _NO_NAMED_IDS
    | {"pad_token_id": 0, "cls_token_id": None, "sep_token_id": None},
    "mpnet": _SIZES,
    "mpt": {"vocab_size": WORDS, "d_model": 32, "n_layers": 3, "n_heads": 4},
    "olmo2": _GROUPED | {"eos_token_id": None},
    "opt": _OPT,
    "phi3": _GROUPED | _NO_NAMED_IDS | {"pad_token_id": 0},
    "qwen2": _GROUPED,
    "qwen3": _GROUPED,
    "roberta": _SIZES,
    "rwkv": _MAMBA | {"attention_hidden_size": 32, "context_length": 64},
    "t5": _T5,
    "xlm-roberta": _SIZES,
    "xlnet": {"vocab_size": WORDS, "d_model": 32, "n_layer": 3, "n_head": 4, "d_inner": 64},
}


@pytest.fixture(scope="session")
def tiny_model() -> Callable[..., Any]:
    """Build a small transformers model of one architecture, the same at every call."""
    import torch
    import transformers

    transformers.logging.set_verbosity_error()

    def build(kind: str, *, head: str = "AutoModel", **change: Any) -> Any:
        settings = CONFIGURATIONS[kind] | change
        with torch.random.fork_rng():
            torch.manual_seed(0)
            config = transformers.AutoConfig.for_model(kind, **settings)
            model = getattr(transformers, head).from_config(config)
            # The weights that models start from are so small that blocks hardly change a state.
            for module in model.modules():
                if isinstance(
                    module,
                    torch.nn.Linear | torch.nn.Embedding | transformers.pytorch_utils.Conv1D,
                ):
                    torch.nn.init.normal_(module.weight, std=0.2)
        return model.eval()

    return build


@pytest.fixture(scope="session")
def word_tokenizer() -> Callable[..., Any]:
    """Build a tokenizer of words, whose template says which special tokens it adds."""
    import tokenizers
    import transformers

    def build(template: str | None = "[CLS] $A [SEP]", **options: Any) -> Any:
        words = NAMED | {f"w{i}": i for i in range(len(NAMED), WORDS)}
        core = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
        core.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        if template is not None:
            added = [(name, NAMED[name]) for name in template.split() if name in NAMED]
            core.post_processor = tokenizers.processors.TemplateProcessing(
                single=template, special_tokens=added
            )
        special = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=core, unk_token="[UNK]", **(special | options)
        )

    return build


@pytest.fixture(scope="session")
def read_model(
    tiny_model: Callable[..., Any], word_tokenizer: Callable[..., Any]
) -> Callable[..., Any]:
    """Build a model that can be read, from the name of an architecture or a model in memory."""
    from cospace.models.checkpoint import describe
    from cospace.models.hf import HFModel

    def build(model: Any, *, tokenizer: Any = None, padding: str = "right", **change: Any) -> Any:
        kind = model if isinstance(model, str) else "given"
        model = tiny_model(model, **change) if isinstance(model, str) else model
        facts = describe(model, reference=f"tests/{kind}", name=kind, weights_hash="0" * 64)
        chosen = word_tokenizer() if tokenizer is None else tokenizer
        return HFModel(model, chosen, facts, padding=padding)

    return build
