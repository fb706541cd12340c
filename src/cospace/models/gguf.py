"""GGUF files: dequantised once, and kept as plain safetensors with config and tokenizer."""

from __future__ import annotations

import importlib.util
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cospace.errors import AcquisitionError, MissingDependencyError
from cospace.models.cache import Reporter, cache_folder, hash_file, install, write_facts

__all__ = ["GgufFacts", "dequantise", "gguf_facts", "keep_gguf"]

PLAIN_TYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
SHARDED = re.compile(r"-\d{5}-of-\d{5}$")
SEQ2SEQ = ("t5", "umt5")


@dataclass(frozen=True)
class GgufFacts:
    """What the header of a GGUF file says."""

    architecture: str
    """llama.cpp's name of the architecture."""
    tensor_type: str
    """Such as ``Q4_K_M``."""
    licence: str | None
    """Licence as the maker wrote it."""
    source: str | None
    """Address of the model that it was made from."""

    @property
    def quantisation(self) -> str | None:
        """Such as ``Q4_K_M, dequantised``; None where the numbers are not quantised."""
        return None if self.tensor_type in PLAIN_TYPES else f"{self.tensor_type}, dequantised"


def keep_gguf(path: Path, *, cache: Path | None, report: Reporter) -> tuple[Path, dict[str, Any]]:
    """Folder and facts of a user's own GGUF file, dequantised unless it is in the cache.

    It is kept under the SHA-256 of the file, which is read each time.

    Raises
    ------
    AcquisitionError
        If the file is no whole GGUF, its architecture is not supported by transformers, or the
        cache folder cannot be written.
    MissingDependencyError
        If torch, transformers, accelerate or gguf is not installed.
    """
    _check_file(path)
    with report.bar(f"{path.name}: reading", path.stat().st_size) as moved:
        digest = hash_file(path, moved)

    def build(folder: Path) -> None:
        _need_packages()
        facts = gguf_facts(path)
        dequantise(path, folder, name=path.name, report=report)
        known = {
            "quantisation": facts.quantisation,
            "licence": facts.licence,
            "source": facts.source,
        }
        write_facts(folder, digest, folder.glob("*.safetensors"), known)

    final = cache_folder(cache) / "gguf" / digest
    return final, install(final, digest, path.name, build, report)


def gguf_facts(path: Path) -> GgufFacts:
    """Read the header of a GGUF file.

    Raises
    ------
    AcquisitionError
        If it cannot be read.
    MissingDependencyError
        If gguf is not installed.
    """
    if importlib.util.find_spec("gguf") is None:
        raise MissingDependencyError.needs("gguf", "Reading a GGUF file", "models")
    import gguf

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader = gguf.GGUFReader(path)
            return GgufFacts(
                architecture=_field(reader, "general.architecture") or "unknown",
                tensor_type=_tensor_type(gguf, reader),
                licence=_field(reader, "general.license"),
                source=_field(reader, "general.base_model.0.repo_url")
                or _field(reader, "general.source.url"),
            )
    except (ValueError, KeyError, IndexError, OSError) as error:
        raise AcquisitionError(f"{path} is not a readable GGUF file ({error}).") from error


def dequantise(path: Path, folder: Path, *, name: str, report: Reporter) -> None:
    """Write the model of a GGUF file into ``folder``: safetensors, config and tokenizer.

    Quantised weights become float16 (the blocks' scales are float16, so that this rounds by at
    most 2^-11 of a value); a file of plain numbers keeps their type. If a value exceeds what
    float16 holds, the model is kept in float32.

    Parameters
    ----------
    path
        The GGUF file.
    folder
        An existing folder.
    name
        How messages call the model.
    report
        Told that this is under way.

    Raises
    ------
    AcquisitionError
        If transformers cannot read the file.
    MissingDependencyError
        If torch, transformers, accelerate or gguf is not installed.
    """
    _need_packages()
    facts = gguf_facts(path)
    report.say(f"{name}: dequantising, once; this takes up to a minute")
    try:
        with report.bar(f"{name}: dequantising"), _quiet():
            _convert(path, folder, facts)
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        # The writer of safetensors has an error of its own for a full disk.
        if "No space left" in str(error):
            raise AcquisitionError(
                f"No space left in {folder.parent} for {name}: free some, or name another folder in "
                "COSPACE_CACHE."
            ) from error
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise AcquisitionError(
            f"transformers cannot read {name} (architecture {facts.architecture!r}): {first}"
        ) from error


def _convert(path: Path, folder: Path, facts: GgufFacts) -> None:
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    options: dict[str, Any] = {}
    # Newer transformers would otherwise keep the blocks packed where a kernel for them is installed.
    if hasattr(transformers, "GgufConfig"):
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    seq2seq = facts.architecture in SEQ2SEQ
    loader = transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM
    model = loader.from_pretrained(
        str(path.parent), gguf_file=path.name, dtype=torch.float32, **options
    )
    _unmark(model)
    largest = max(float(parameter.detach().abs().max()) for parameter in model.parameters())
    dtype = getattr(torch, PLAIN_TYPES.get(facts.tensor_type, "float16"))
    if not largest <= torch.finfo(dtype).max:
        dtype = torch.float32
    model.to(dtype)
    model.save_pretrained(folder, max_shard_size="5GB")
    tokenizer.save_pretrained(folder)
    usual = (folder / "config.json").stat().st_mode
    for written in folder.glob("*.safetensors"):
        written.chmod(usual)


def _unmark(model: Any) -> None:
    """Take off the marks of a quantised model, which the dense weights no longer are."""
    for holder in (model, model.config):
        for mark in ("hf_quantizer", "quantization_method", "quantization_config", "is_quantized"):
            if mark in vars(holder):
                delattr(holder, mark)
    # The name that the file's maker typed would be taken for a hub id.
    model.config._name_or_path = ""


def _need_packages() -> None:
    for package in ("torch", "transformers", "accelerate", "gguf"):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError.needs(package, "Reading a GGUF file", "models")


def _check_file(path: Path) -> None:
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        raise AcquisitionError(f"{path} cannot be read ({error.strerror}).") from error
    if magic != b"GGUF":
        raise AcquisitionError(
            f"{path} is not a GGUF file: it starts with {magic!r}, expected b'GGUF'."
        )
    if SHARDED.search(path.stem):
        raise AcquisitionError(
            f"{path.name} is one shard of a split GGUF: join them first with "
            "'llama-gguf-split --merge'."
        )


def _field(reader: Any, key: str) -> str | None:
    field = reader.get_field(key)
    value = None if field is None else field.contents()
    return str(value) if value not in (None, "") else None


def _tensor_type(gguf: Any, reader: Any) -> str:
    declared = reader.get_field("general.file_type")
    if declared is not None:
        try:
            name: str = gguf.LlamaFileType(int(declared.contents())).name
        except ValueError:
            pass
        else:
            return name.removeprefix("MOSTLY_").removeprefix("ALL_")
    sizes: dict[str, int] = {}
    for tensor in reader.tensors:
        sizes[tensor.tensor_type.name] = sizes.get(tensor.tensor_type.name, 0) + int(tensor.n_bytes)
    return max(sizes, key=lambda each: sizes[each]) if sizes else "F32"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what transformers says, and its bars, off the terminal."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with (
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
