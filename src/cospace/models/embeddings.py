"""Token embeddings straight from the weights: memory-mapped, without building the model."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cospace.errors import AcquisitionError, InputError, UndefinedMeasureError, UnknownNameError
from cospace.models.weights import Weights, resolve_weights

__all__ = ["Embeddings", "Role", "TokenMatrix", "Tying", "read_embeddings"]

Role = Literal["input", "output"]
Tying = Literal["tied", "untied", "input only"]

INPUT = (
    "embed_tokens",
    "wte",
    "word_embeddings",
    "embed_in",
    "shared",
    "tok_embeddings",
    "word_embedding",
    "token_embedding",
    "embeddings",
    "embedding",
    "emb",
)
"""Last but one part of the names that input embeddings have, in the order of preference."""
OUTPUT = (
    "lm_head",
    "embed_out",
    "output_layer",
    "predictions.decoder",
    "lm_head.decoder",
    "vocab_projector",
    "generator_lm_head",
    "lm_loss",
    "decoder",
    "output",
    "head",
)
"""Ends of the names that output embeddings have, without ``.weight``."""
HEADS = ("cls.predictions.", "lm_head.", "vocab_", "generator_predictions.", "head.", "lm_loss.")
"""Beginnings of names that only a checkpoint with its language model head has."""

_DTYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "BF16": "<u2"}
_ROWS = 4096
"""Rows that are looked at at once."""
_HEADER = 100_000_000


@dataclass(frozen=True, eq=False)
class TokenMatrix:
    """One embedding matrix of a checkpoint: row i belongs to token i."""

    role: Role
    """Whether tokens enter by it or are predicted by it."""
    tensor: str
    """Name in the checkpoint."""
    file: Path
    """The safetensors file."""
    dtype: str
    """Number type in the file: F64, F32, F16 or BF16."""
    shape: tuple[int, int]
    """Rows and width."""
    offset: int
    """Where its numbers begin in the file, in bytes."""

    def mapped(self) -> npt.NDArray[Any]:
        """Map the numbers as they lie in the file (bfloat16 as 16-bit words); nothing is read yet."""
        return np.memmap(
            self.file, dtype=_DTYPES[self.dtype], mode="r", offset=self.offset, shape=self.shape
        )

    def rows(self, ids: npt.ArrayLike | slice | None = None) -> npt.NDArray[Any]:
        """Rows as float32 (float64 where the file has it), shape (len(ids), width); all by default.

        Half precision is widened, which loses nothing.

        Raises
        ------
        InputError
            For an id that is no row.
        UndefinedMeasureError
            For a row that is not finite; it is named.
        """
        chosen = slice(None) if ids is None else ids
        if not isinstance(chosen, slice):
            chosen = np.asarray(chosen, dtype=np.int64)
            if chosen.size and (chosen.min() < 0 or chosen.max() >= self.shape[0]):
                raise InputError(
                    f"Token {int(chosen.max() if chosen.min() >= 0 else chosen.min())} has no row in "
                    f"{self.tensor}: ids from 0 to {self.shape[0] - 1} are expected."
                )
        found = _widened(self.mapped()[chosen], self.dtype)
        for start in range(0, len(found), _ROWS):
            bad = ~np.isfinite(found[start : start + _ROWS]).all(axis=1)
            if bad.any():
                at = np.arange(self.shape[0])[chosen][start + int(np.flatnonzero(bad)[0])]
                raise UndefinedMeasureError(
                    f"Row {int(at)} of {self.tensor} has NaN or infinite entries: leave out this token, "
                    "or take weights that are whole."
                )
        return found

    def zeros(self) -> npt.NDArray[np.int64]:
        """Numbers of the rows that are zero: such a token has no direction."""
        mapped = self.mapped()
        parts = [slice(start, start + _ROWS) for start in range(0, len(mapped), _ROWS)]
        live = [_widened(mapped[part], self.dtype).any(axis=1) for part in parts]
        return np.flatnonzero(~np.concatenate(live)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Embeddings:
    """The embeddings of one model."""

    weights: Weights
    """Where they come from."""
    input: TokenMatrix
    """By which tokens enter."""
    output: TokenMatrix | None
    """By which tokens are predicted; None where the checkpoint has no tensor of its own for it."""
    tying: Tying
    """``tied``: one matrix does both; ``input only``: the checkpoint predicts no tokens."""
    reason: str
    """What says so."""

    @property
    def name(self) -> str:
        """Short name of the model."""
        return self.weights.name

    @property
    def roles(self) -> tuple[Role, ...]:
        """Roles whose matrices differ: ``input``, and ``output`` where it is not tied."""
        return ("input", "output") if self.tying == "untied" else ("input",)

    def matrix(self, role: Role) -> TokenMatrix:
        """Matrix of a role; of a tied model both are the input's.

        Raises
        ------
        UnknownNameError
            For another role.
        AcquisitionError
            For the output of a model that has none.
        """
        if role not in ("input", "output"):
            raise UnknownNameError.among(role, ("input", "output"), "role of an embedding matrix")
        if role == "input":
            return self.input
        if self.tying == "input only":
            raise AcquisitionError(
                f"{self.name} has no output embedding ({self.reason}): compare its input embedding."
            )
        if self.tying == "tied" or self.output is None:
            return replace(self.input, role="output")
        return self.output


def read_embeddings(
    reference: str,
    *,
    accept: Collection[str] = (),
    progress: bool = True,
    cache: Path | None = None,
    input_tensor: str | None = None,
    output_tensor: str | None = None,
) -> Embeddings:
    """Find the embedding matrices of a model in its weights, without building the model.

    They are found by the names that architectures give them and by their number of rows; where
    several tensors could be meant, and they are not equal, none is guessed.

    Parameters
    ----------
    reference
        Folder, GGUF file, packaged name or hub id, see `cospace.models.weights.resolve_weights`.
    accept, progress, cache
        As there.
    input_tensor, output_tensor
        Names of the tensors, where they are not found or not clear.

    Raises
    ------
    AcquisitionError
        If no tensor, or more than one, could be the embedding; for number types that are no plain
        floating point; for a damaged file.
    UnknownNameError
        For a named tensor that the checkpoint lacks.
    """
    weights = resolve_weights(reference, accept=accept, progress=progress, cache=cache)
    return embeddings_in(weights, input_tensor=input_tensor, output_tensor=output_tensor)


def embeddings_in(
    weights: Weights, *, input_tensor: str | None = None, output_tensor: str | None = None
) -> Embeddings:
    """Find the embedding matrices in weights that are on disk; see `read_embeddings`."""
    tensors = _tensors(weights)
    config = _config(weights)
    size = _stated(config, "vocab_size")
    entering = _input(weights, tensors, size, input_tensor)
    leaving = _output(weights, tensors, entering, output_tensor)
    tying, reason = _tying(config, tensors, entering, leaving)
    if tying != "tied" and leaving is None and output_tensor is None:
        others = [
            name
            for name, found in tensors.items()
            if found.shape[0] == entering.shape[0]
            and name != entering.tensor
            and not _enters(name)
            and not _same(found, entering)
        ]
        if others:
            raise AcquisitionError(
                f"{weights.name} has {len(others)} tensors of {entering.shape[0]} rows beside its input "
                f"embedding ({_listed(others)}), and none is known as the output embedding: name it "
                "(output_tensor=)."
            )
    return Embeddings(weights, entering, leaving, tying, reason)


def _input(
    weights: Weights, tensors: Mapping[str, TokenMatrix], size: int | None, named: str | None
) -> TokenMatrix:
    if named is not None:
        return _named(named, tensors)
    known = [
        found
        for part in INPUT
        for found in tensors.values()
        if found.tensor.split(".")[-2:] == [part, "weight"]
    ]
    of_size = [found for found in tensors.values() if found.shape[0] == size]
    exact = [found for found in known if found.shape[0] == size]
    candidates = exact or known or [f for f in of_size if not _leaves(f.tensor)]
    if not candidates:
        raise AcquisitionError(
            f"{weights.name} has no tensor that is known as a token embedding"
            f"{f', and none of {size} rows' if size else ''}: name it (input_tensor=)."
        )
    first = candidates[0]
    if all(_same(first, other) for other in candidates[1:]):
        return first
    raise AcquisitionError(
        f"{len(candidates)} tensors of {weights.name} could be its token embedding "
        f"({_listed([each.tensor for each in candidates])}), and they differ: name one (input_tensor=)."
    )


def _output(
    weights: Weights,
    tensors: Mapping[str, TokenMatrix],
    entering: TokenMatrix,
    named: str | None,
) -> TokenMatrix | None:
    if named is not None:
        return replace(_named(named, tensors), role="output")
    known = [
        found
        for found in tensors.values()
        if _leaves(found.tensor)
        and found.shape[0] == entering.shape[0]
        and found.tensor != entering.tensor
    ]
    if not known:
        return None
    if all(_same(known[0], other) for other in known[1:]):
        return replace(known[0], role="output")
    raise AcquisitionError(
        f"{len(known)} tensors of {weights.name} could be its output embedding "
        f"({_listed([each.tensor for each in known])}), and they differ: name one (output_tensor=)."
    )


def _enters(name: str) -> bool:
    return name.split(".")[-2:] in [[part, "weight"] for part in INPUT]


def _leaves(name: str) -> bool:
    stem = f".{name.removesuffix('.weight')}"
    return name.endswith(".weight") and any(stem.endswith(f".{each}") for each in OUTPUT)


def _named(name: str, tensors: Mapping[str, TokenMatrix]) -> TokenMatrix:
    if name not in tensors:
        raise UnknownNameError.among(name, tensors, "two-dimensional tensor of this checkpoint")
    return tensors[name]


def _tying(
    config: Mapping[str, Any],
    tensors: _Tensors,
    entering: TokenMatrix,
    leaving: TokenMatrix | None,
) -> tuple[Tying, str]:
    says = _stated(config, "tie_word_embeddings")
    if leaving is not None:
        if _same(entering, leaving):
            return "tied", f"{leaving.tensor} equals {entering.tensor}"
        claim = ", though the configuration says tied" if says is True else ""
        return "untied", f"{leaving.tensor} differs from {entering.tensor}{claim}"
    if says is True:
        return "tied", "the configuration says so, and there is no output tensor"
    if says is False:
        return "input only", "the configuration says untied, but there is no output tensor"
    named = " ".join(map(str, config.get("architectures") or ()))
    predicts = any(each in named for each in ("CausalLM", "LMHead", "ConditionalGeneration"))
    masked = any(each in named for each in ("MaskedLM", "PreTraining"))
    head = any(f".{part}" in f".{name}" for name in tensors.names for part in HEADS)
    if predicts or (masked and head):
        return "tied", "there is no output tensor, and the configuration does not say untied"
    return "input only", "there is no output tensor and no head"


def _same(one: TokenMatrix, other: TokenMatrix) -> bool:
    """Whether two matrices hold the same numbers."""
    if one.shape != other.shape:
        return False
    a, b = one.mapped(), other.mapped()
    for start in range(0, one.shape[0], _ROWS):
        part = slice(start, start + _ROWS)
        if not np.array_equal(_widened(a[part], one.dtype), _widened(b[part], other.dtype)):
            return False
    return True


def _widened(block: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
    if dtype == "BF16":
        return (block.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return np.array(block, dtype=np.float64 if dtype == "F64" else np.float32)


class _Tensors(dict[str, TokenMatrix]):
    """Matrices by name, and the names of all tensors."""

    names: tuple[str, ...] = ()


def _tensors(weights: Weights) -> _Tensors:
    """Two-dimensional floating-point tensors of the files that would be loaded."""
    found = _Tensors()
    names: list[str] = []
    odd: list[str] = []
    for path in _files(weights.folder):
        for name, entry in _header(path).items():
            names.append(name)
            shape = tuple(entry["shape"])
            if len(shape) != 2:
                continue
            if entry["dtype"] not in _DTYPES:
                odd.append(f"{name} ({entry['dtype']})")
                continue
            found[name] = TokenMatrix(
                "input", name, path, entry["dtype"], (shape[0], shape[1]), entry["at"]
            )
    if not found:
        kinds = f", and {_listed(odd)} are no plain floating point" if odd else ""
        raise AcquisitionError(f"{weights.name} holds no matrix that can be read{kinds}.")
    found.names = tuple(names)
    return found


def _files(folder: Path) -> list[Path]:
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return [single]
    mapping = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
    return [folder / name for name in sorted(set(mapping.values()))]


def _header(path: Path) -> dict[str, dict[str, Any]]:
    """Entries of a safetensors file, each with the place of its first byte."""
    try:
        length = path.stat().st_size
        with path.open("rb") as stream:
            (size,) = struct.unpack("<Q", stream.read(8))
            if not 2 <= size <= min(_HEADER, length - 8):
                raise ValueError(f"a header of {size} bytes")
            entries = json.loads(stream.read(size))
        entries.pop("__metadata__", None)
        for name, entry in entries.items():
            start, stop = entry["data_offsets"]
            entry["at"] = 8 + size + start
            width = np.dtype(_DTYPES[entry["dtype"]]).itemsize if entry["dtype"] in _DTYPES else 0
            wrong = width and stop - start != width * math.prod(entry["shape"])
            if wrong or not 0 <= start <= stop <= length - 8 - size:
                raise ValueError(f"{name} does not lie inside the file")
    except OSError as error:
        raise AcquisitionError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise AcquisitionError(
            f"{path} is no whole safetensors file ({error}): fetch it again."
        ) from error
    return dict(entries)


def _config(weights: Weights) -> dict[str, Any]:
    path = weights.folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise AcquisitionError(f"{path} cannot be read ({error}): fetch it again.") from error
    if not isinstance(config, dict):
        raise AcquisitionError(f"{path} holds no configuration: fetch it again.")
    return config


def _stated(config: Mapping[str, Any], key: str) -> Any:
    """Value in a configuration, or in the text part of one for several media."""
    for part in (config, config.get("text_config"), config.get("llm_config")):
        if isinstance(part, Mapping) and part.get(key) is not None:
            return part[key]
    return None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown}, ..." if len(names) > 4 else shown
