"""A transformers model in memory, from a folder on disk."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError

from cospace.errors import AcquisitionError, InputError, UnknownNameError
from cospace.models.base import ModelFacts
from cospace.models.batching import listed
from cospace.models.identity import config_hash, has_tokenizer, tokenizer_hash
from cospace.models.sites import find_layout

__all__ = ["describe", "first_line", "from_folder", "number_type", "quiet", "where_to_run"]

DTYPES = ("float32", "bfloat16", "float16", "float64")
"""Number types that a forward pass can be run in."""


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what transformers says off the user's terminal."""
    verbosity = transformers.logging.get_verbosity()
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers.logging.set_verbosity(verbosity)
        if bars:
            transformers.logging.enable_progress_bar()


def describe(
    model: Any, *, reference: str, name: str, weights_hash: str, tokenizer: Any = None
) -> ModelFacts:
    """Record what can be read off a transformers model in memory.

    Parameters
    ----------
    model
        A transformers model, with or without a head.
    reference, name, weights_hash
        Its reference, its short name, and the SHA-256 of its weights.
    tokenizer
        The tokenizer that it is read with, as it was loaded; its hash is recorded.

    Returns
    -------
    ModelFacts
        Parameters are counted in the part that is run: no head, and of an encoder-decoder the
        encoder alone.

    Raises
    ------
    ExtractionError
        If the blocks of the model are not found.
    """
    layout = find_layout(model)
    return ModelFacts(
        reference=reference,
        name=name,
        architecture=layout.model.config.model_type,
        blocks=len(layout.blocks),
        width=layout.model.config.hidden_size,
        final_norm=layout.norm is not None,
        dtype=str(layout.model.dtype).removeprefix("torch."),
        weights_hash=weights_hash,
        parameters=sum(parameter.numel() for parameter in layout.model.parameters()),
        tokenizer_hash=None if tokenizer is None else tokenizer_hash(tokenizer),
        config_hash=config_hash(layout.model.config),
    )


def first_line(error: BaseException) -> str:
    r"""Shorten an error of another library to the first line of its message.

    Examples
    --------
    >>> first_line(ValueError("no such file\nhint: look elsewhere"))
    'no such file'
    >>> first_line(MemoryError())
    'MemoryError'
    """
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def number_type(name: str) -> Any:
    """Look up the torch type of a name."""
    if name not in DTYPES:
        raise UnknownNameError.among(name, DTYPES, "number type of a forward pass")
    return getattr(torch, name)


def where_to_run(asked: str) -> str:
    """Turn ``auto``, ``cpu`` or ``cuda`` into a device that is there."""
    if asked not in ("auto", "cpu", "cuda"):
        raise UnknownNameError.among(asked, ("auto", "cpu", "cuda"), "device")
    if asked == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' was asked for, and torch sees no GPU. Take device='cpu'.")
    if asked == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return asked


def from_folder(
    folder: Path,
    dtype: Any,
    reference: str | Path,
    *,
    trust_remote_code: bool,
    head: bool = False,
) -> tuple[Any, Any]:
    """Read a model, and its tokenizer; pickled weights are refused.

    Without its head, or, on demand, a decoder with the ``head`` that gives the next token.

    Raises
    ------
    AcquisitionError
        If transformers cannot read the folder, or it lacks a tokenizer, weights that are run, or the
        head that is asked for, as encoders do.
    """
    options = {"trust_remote_code": trust_remote_code, "local_files_only": True}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
        if not has_tokenizer(folder, tokenizer):
            raise AcquisitionError(
                f"{reference} holds no tokenizer (tokenizer.json, vocab.txt or tokenizer.model): save "
                "it beside the weights with tokenizer.save_pretrained."
            )
        kind = transformers.AutoModelForCausalLM if head else transformers.AutoModel
        model, info = kind.from_pretrained(
            folder, dtype=dtype, use_safetensors=True, output_loading_info=True, **options
        )
    except AcquisitionError:
        raise
    except (OSError, ValueError, KeyError, ImportError) as error:
        if head and "Unrecognized configuration class" in str(error):
            raise _headless(reference) from None
        raise AcquisitionError(
            f"{reference}: transformers cannot read the model in {folder}: {first_line(error)} "
            "Expected a folder with config.json, tokenizer files and weights in safetensors."
        ) from error
    except SafetensorError as error:
        raise AcquisitionError(
            f"{reference}: the weights in {folder} are damaged ({first_line(error)}): fetch or copy them again."
        ) from error
    part = model if head else find_layout(model).model
    run = {id(parameter) for parameter in part.parameters()}
    absent = sorted(
        path
        for path, parameter in model.named_parameters()
        if path in info["missing_keys"] and id(parameter) in run and "pooler" not in path
    )
    if absent and head and not set(absent) & _inside(model):
        raise _headless(reference)
    if absent:
        raise AcquisitionError(
            f"{reference}: the weights in {folder} lack {listed(absent)}, which would be random "
            "numbers. Expected all weights of the model: take a complete checkpoint."
        )
    return model, tokenizer


def _inside(model: Any) -> set[str]:
    """Names of the weights below the head."""
    below = {id(parameter) for parameter in model.base_model.parameters()}
    return {name for name, parameter in model.named_parameters() if id(parameter) in below}


def _headless(reference: str | Path) -> AcquisitionError:
    return AcquisitionError(
        f"{reference} has no head that gives the next token, as encoders have none: name a decoder."
    )
