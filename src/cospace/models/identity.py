"""Whether two models of the same weights read alike: hashes of the tokenizer and the configuration."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["config_hash", "has_tokenizer", "tokenizer_hash"]

IDLE = frozenset(
    {
        "_name_or_path",
        "_attn_implementation",
        "architectures",
        "auto_map",
        "dtype",
        "id2label",
        "label2id",
        "output_attentions",
        "output_hidden_states",
        "problem_type",
        "return_dict",
        "torch_dtype",
        "transformers_version",
        "use_cache",
    }
)
"""Values of a configuration that do not change the states of a model.

The number type is not among a configuration's own values: it is chosen as the model is loaded, and
recorded by itself.
"""

FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "tekken.json", "*.model", "*.tiktoken")
"""Files that hold a vocabulary, besides those that the class of the tokenizer names."""


def config_hash(config: Any, *, code: Path | None = None) -> str:
    """SHA-256 over the values of a configuration that decide what a model computes.

    Parameters
    ----------
    config
        A transformers configuration, or its dictionary. Neither paths nor versions, number types
        or names of classes and labels take part; the order of the keys does not matter.
    code
        Folder whose Python files run as part of the model; their content takes part too.

    Examples
    --------
    >>> one = config_hash({"hidden_act": "gelu", "_name_or_path": "a", "dtype": "float32"})
    >>> one == config_hash({"_name_or_path": "b", "hidden_act": "gelu"})
    True
    >>> one == config_hash({"hidden_act": "relu"})
    False
    """
    values = config if isinstance(config, Mapping) else config.to_dict()
    files = {} if code is None else {p.name: p.read_bytes().hex() for p in code.glob("*.py")}
    return _digest([_active(values), files])


def tokenizer_hash(tokenizer: Any) -> str:
    """SHA-256 over everything that a tokenizer turns texts into tokens with.

    Of a tokenizer of the tokenizers library that is its serialised form, of any other the content
    of its vocabulary files; beside it, how long texts are cut. Truncation and padding that an
    earlier call set do not take part.

    Parameters
    ----------
    tokenizer
        A tokenizer of transformers.
    """
    core = getattr(tokenizer, "backend_tokenizer", None)
    if core is not None:
        form = hashlib.sha256(_serialised(core).encode()).hexdigest()
    else:
        form = _digest([type(tokenizer).__name__, _vocabulary(tokenizer)])
    cut = {
        name: getattr(tokenizer, name, None)
        for name in ("model_max_length", "truncation_side", "special_tokens_map")
    }
    return _digest({"form": form, "cut": cut})


def has_tokenizer(folder: Path, tokenizer: Any) -> bool:
    """Whether ``folder`` holds a vocabulary for a tokenizer that was read from it.

    transformers makes an empty tokenizer where there is none. A tokenizer of bytes or characters
    needs no vocabulary, and names no file.
    """
    named = tuple((getattr(tokenizer, "vocab_files_names", None) or {}).values())
    return not named or any(any(folder.glob(name)) for name in (*named, *FILES))


def _serialised(core: Any) -> str:
    truncation, padding = core.truncation, core.padding
    core.no_truncation()
    core.no_padding()
    try:
        return str(core.to_str())
    finally:
        if truncation is not None:
            core.enable_truncation(**truncation)
        if padding is not None:
            core.enable_padding(**padding)


def _vocabulary(tokenizer: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.suppress(NotImplementedError, AttributeError):
            tokenizer.save_vocabulary(folder)
        files = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(Path(folder).iterdir())
        }
    return files or tokenizer.get_vocab()


def _active(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _active(v) for k, v in value.items() if k not in IDLE}
    return [_active(item) for item in value] if isinstance(value, list | tuple) else value


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
