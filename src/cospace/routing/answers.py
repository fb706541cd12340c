"""Answers of real models: greedy, short, each kept as it is finished, so that a run goes on."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cospace._numbers import check_whole
from cospace.errors import InputError, TextTooLongError
from cospace.models.batching import Tokens, added_text
from cospace.result import checked

if TYPE_CHECKING:
    from cospace.corpus import Corpus
    from cospace.models.decoder import Decoder

__all__ = ["NEW_TOKENS", "Answer", "answer_prompts", "kept_in"]

NEW_TOKENS = 10
"""The longest answer of the set ``gradeable`` has nine tokens; one more tells that a word ends."""
BATCH = 16
"""Prompts of one batch; what an interrupt loses at most."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Answer:
    """What a model added to one prompt."""

    id: str
    """Id of the prompt."""
    completion: str
    """The text that was added, whole."""
    log_prob: float | None
    """Mean log probability of the tokens of its first line, in nats; None where nothing was added."""
    tokens: int
    """Number of tokens of the prompt."""


def answer_prompts(
    decoder: Decoder,
    corpus: Corpus,
    *,
    new_tokens: int = NEW_TOKENS,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> tuple[Answer, ...]:
    """Let a model complete every prompt with the likeliest tokens.

    Parameters
    ----------
    decoder
        The model.
    corpus
        The prompts.
    new_tokens
        Most tokens of a completion.
    folder
        Where answers are kept, a file a model; those that are there already, for the same model,
        prompt and number of tokens, are not made again. By default nothing is kept.
    progress
        Called with the model's name, the prompts done, and their number.

    Returns
    -------
    tuple of Answer
        One a prompt, in the order of the corpus.

    Raises
    ------
    InputError
        For a number of tokens below 1, or a folder that cannot be written.
    TextTooLongError
        For a prompt that leaves no room for its completion.
    """
    check_whole(new_tokens=new_tokens)
    if new_tokens < 1:
        raise InputError(f"new_tokens is {new_tokens}: a number from 1 is expected.")
    file = None if folder is None else kept_in(folder, _made_of(decoder, new_tokens))
    digests = dict(zip(corpus.ids, map(_digest, corpus.texts), strict=True))
    found = {} if file is None else _read(file, digests)
    prompts = decoder.encode(corpus.texts)
    for name, prompt in zip(corpus.ids, prompts, strict=True):
        room = decoder.max_tokens
        if room is not None and len(prompt) + new_tokens > room:
            raise TextTooLongError(
                f"{decoder.facts.name} reads at most {room} tokens, and prompt {name} has {len(prompt)}, with "
                f"{new_tokens} to be added: shorten it, or add fewer."
            )
    left = [i for i, name in enumerate(corpus.ids) if name not in found]
    left.sort(key=lambda i: (len(prompts[i]), i))
    done = len(found)
    for start in range(0, len(left), BATCH):
        part = left[start : start + BATCH]
        if progress is not None:
            progress(decoder.facts.name, done, len(corpus))
        made = decoder.generate_scored([prompts[i] for i in part], new_tokens)
        new = [
            _answer(decoder, corpus.ids[i], prompts[i], *each)
            for i, each in zip(part, made, strict=True)
        ]
        if file is not None:
            _append(file, new, digests)
        found |= {answer.id: answer for answer in new}
        done += len(part)
    if progress is not None:
        progress(decoder.facts.name, done, len(corpus))
    return tuple(found[name] for name in corpus.ids)


def kept_in(folder: str | Path, made_of: Mapping[str, Any]) -> Path:
    """File of one model's answers in a folder; made, with what its answers are of, if it is new.

    Raises
    ------
    InputError
        When it cannot be written, or holds something else.
    """
    head = json.dumps({"answers_of": made_of}, sort_keys=True)
    short = re.sub(r"[^A-Za-z0-9.-]+", "-", str(made_of["model"])).strip("-.")[:60]
    path = Path(folder) / f"{short}-{_digest(head)[:16]}.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or not path.stat().st_size:
            path.write_text(head + "\n", encoding="utf-8")
        with path.open(encoding="utf-8") as lines:
            first = lines.readline().rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(
            f"Answers cannot be kept in {folder}: {reason}. Name another folder."
        ) from None
    if first != head:
        raise InputError(
            f"{path} does not hold the answers that its name says: it was changed; remove it."
        )
    return path


def _made_of(decoder: Decoder, new_tokens: int) -> dict[str, Any]:
    facts = decoder.facts
    return {
        "model": facts.name,
        "weights": facts.weights_hash,
        "tokenizer": facts.tokenizer_hash,
        "configuration": facts.config_hash,
        "dtype": facts.dtype,
        "new_tokens": new_tokens,
        "choice": "likeliest",
    }


def _answer(decoder: Decoder, name: str, prompt: Tokens, ids: Any, costs: Any) -> Answer:
    said = added_text(decoder.tokenizer, prompt, ids)
    first = _first_line(decoder, prompt, ids)
    mean = float(np.mean(costs[:first])) if first else None
    return Answer(name, said, mean, len(prompt))


def _first_line(decoder: Decoder, prompt: Tokens, ids: Any) -> int:
    """Tokens of the first line that says something: the answer, not what follows it."""
    for size in range(1, len(ids) + 1):
        said = added_text(decoder.tokenizer, prompt, ids[:size])
        if said.strip() and "\n" in said.lstrip():
            return max(size - 1, 1)
    return len(ids)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(file: Path, digests: Mapping[str, str]) -> dict[str, Answer]:
    """Answers to the same prompts; a line that an interrupt tore is as if it were not there."""
    found: dict[str, Answer] = {}
    for line in file.read_text(encoding="utf-8", errors="replace").split("\n")[1:]:
        try:
            values = json.loads(line)
            if values.pop("prompt") == digests.get(values["id"]):
                found[values["id"]] = checked(Answer, values)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found


def _append(file: Path, answers: Sequence[Answer], digests: Mapping[str, str]) -> None:
    lines = [json.dumps({**asdict(each), "prompt": digests[each.id]}) for each in answers]
    try:
        with file.open("r+b") as out:
            out.seek(-1, 2)
            torn = out.read(1) != b"\n"
            out.write((("\n" if torn else "") + "\n".join(lines) + "\n").encode())
    except OSError as error:
        raise InputError(
            f"{file} cannot be written: {error.strerror}. Free some space, or name another folder."
        ) from None
