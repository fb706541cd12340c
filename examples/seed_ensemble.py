"""Train small BERT encoders that differ in nothing but their seed, as the MultiBERTs do.

::

    python examples/seed_ensemble.py                 # ten encoders, into the cache folder
    python examples/seed_ensemble.py --into FOLDER --seeds 12 --steps 4000

The text is WordNet's definitions and example sentences (1.45 million words, WordNet licence), the
tokenizer that of the packaged ``minilm`` (BERT's uncased WordPiece). Every encoder has the same
text, the same shape and the same number of steps; its seed sets the initial weights, the order of
the rows and which tokens are hidden. Each is trained by one thread, as many side by side as there
are cores, so its weights do not depend on how many there are.

``FOLDER/seed-00`` and so on are checkpoints that transformers and ``cospace.load_model`` read;
``training.json`` in each says what it saw and how well it predicts the texts that were held out.
``FOLDER/ensemble.json`` has the text's origin and licence, ``FOLDER/held-out.json`` the ids of the
texts that no encoder saw. Finished encoders are kept; one that was interrupted (Ctrl-C) goes on
where it stopped when the same command is given again, and ends with the weights that it would have
had without.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from masked_language_model import (
    Run,
    Settings,
    Text,
    held_out_scores,
    new_run,
    one_step,
    pack,
    replace,
    unigram_scores,
)
from rich.console import Console
from safetensors import SafetensorError
from transformers import AutoTokenizer

from cospace import corpora
from cospace.corpus import Corpus
from cospace.errors import CospaceError, InputError
from cospace.models.cache import cache_folder
from cospace.models.checkpoint import quiet
from cospace.models.weights import resolve_weights

SCHEMA = 1
HELD_OUT = 0.05
"""Share of the texts that no encoder sees, chosen by id with `cospace.corpora.split`, seed 0."""
SAVE_SECONDS = 60.0
TELL_SECONDS = 30.0


def prepare(folder: Path, settings: Settings, tell: Callable[[str], None]) -> Text:
    """Give the tokenised text of the ensemble in ``folder``, which is made on the first call.

    Raises
    ------
    InputError
        If the folder holds an ensemble with other settings, or the text is too short.
    CospaceError
        If the text or the tokenizer cannot be had.
    """
    record, path = {"schema": SCHEMA, "settings": _plain(settings)}, folder / "ensemble.json"
    arrays = {"train": folder / "train.npy", "held_out": folder / "held-out.npy"}
    if path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))
        found = {"schema": known.get("schema"), "settings": known.get("settings")}
        if found != record:
            raise InputError(
                f"{folder} holds an ensemble with {_first_difference(found, record)}: name another "
                "folder with --into, or remove this one."
            )
        if all(each.exists() for each in arrays.values()):
            return _text({kind: np.load(at) for kind, at in arrays.items()}, known["tokens"])
    tokenizer = load_tokenizer(settings)
    sides: dict[str, list[list[int]]] = {"train": [], "held_out": []}
    sources, held_out = [], {}
    for name in settings.texts:
        tell(f"reading and tokenising {name}")
        corpus, source = _read(name)
        away, kept = corpora.split(corpus, HELD_OUT)
        held_out[name] = list(away.ids)
        for kind, side in (("train", kept), ("held_out", away)):
            sides[kind] += _numbers(tokenizer, side, settings)
        words = sum(len(text.split()) for text in corpus.texts)
        facts = {"texts": len(corpus), "words": words, "fingerprint": corpus.fingerprint}
        sources.append({"name": name, **facts, **source})
    ends = {"first": tokenizer.cls_token_id, "end": tokenizer.sep_token_id}
    packed = {kind: pack(side, length=settings.length, **ends) for kind, side in sides.items()}
    for kind, least in (("train", settings.rows), ("held_out", 1)):
        if len(packed[kind]) < least:
            raise InputError(
                f"The text fills {len(packed[kind])} rows of {settings.length} tokens "
                f"({kind.replace('_', ' ')}), expected {least} or more: take more text."
            )
    tokens = {
        "special": sorted(tokenizer.all_special_ids),
        "mask": tokenizer.mask_token_id,
        "vocabulary": len(tokenizer),
        "train": int(packed["train"].size),
        "held_out": int(packed["held_out"].size),
    }
    text = _text(packed, tokens)
    for kind, at in arrays.items():
        _write_rows(at, packed[kind])
    _write_json(folder / "held-out.json", held_out)
    unigram = unigram_scores(text, settings)
    # Written last: with it the text counts as made.
    _write_json(path, {**record, "tokens": tokens, "text": sources, "unigram": unigram})
    return text


def load_tokenizer(settings: Settings) -> Any:
    """Give the tokenizer of the encoders, which reads no more tokens than they do."""
    tokenizer = AutoTokenizer.from_pretrained(resolve_weights(settings.tokenizer).folder)
    tokenizer.model_max_length = settings.length
    return tokenizer


def train(
    folder: Path,
    seed: int,
    settings: Settings,
    text: Text,
    *,
    stop: threading.Event,
    moved: Callable[[int, int, float], None],
) -> bool:
    """Train the encoder of a seed, from where it stands; False if it was stopped on the way.

    Parameters
    ----------
    folder
        Folder of the ensemble.
    seed
        Which encoder.
    settings, text
        What all encoders share.
    stop
        Set when the encoder should be put down after the step it is in.
    moved
        Told the seed, the steps done and the last loss.
    """
    torch.set_num_threads(1)
    work, run = _partial(folder, seed), new_run(settings, text, seed)
    work.mkdir(exist_ok=True)
    state = work / "state.safetensors"
    if state.exists():
        try:
            run.load(state)
        except SafetensorError as error:
            raise InputError(f"{state} is damaged ({error}): remove it to begin anew.") from None
    saved = time.monotonic()
    while run.step < settings.steps:
        began = time.monotonic()
        one_step(run, settings, text, seed)
        run.seconds += time.monotonic() - began
        moved(seed, run.step, run.losses[-1])
        if stop.is_set() or time.monotonic() - saved > SAVE_SECONDS:
            run.save(state)
            saved = time.monotonic()
            if stop.is_set():
                return False
    finish(folder, seed, run, settings, text)
    return True


def finish(folder: Path, seed: int, run: Run, settings: Settings, text: Text) -> None:
    """Write the checkpoint and its facts, and put the folder into place."""
    work = _partial(folder, seed)
    shutil.rmtree(work)
    work.mkdir()
    scores = held_out_scores(run.model.eval(), settings, text)
    run.model.save_pretrained(work)
    load_tokenizer(settings).save_pretrained(work)
    facts = {
        "schema": SCHEMA,
        "seed": seed,
        "seed_sets": ["initial weights", "order of the rows", "which tokens are hidden"],
        "tokens_seen": settings.steps * settings.rows * settings.length,
        "passes_over_the_text": settings.steps * settings.rows / len(text.train),
        "seconds": round(run.seconds, 1),
        "torch": torch.__version__,
        "held_out": scores,
        "unigram": unigram_scores(text, settings),
        "training_loss": [
            round(float(np.mean(run.losses[i : i + 50])), 4) for i in range(0, len(run.losses), 50)
        ],
        "settings": _plain(settings),
    }
    _write_json(work / "training.json", facts)
    (work / "README.md").write_text(_card(seed, facts, settings), encoding="utf-8")
    work.rename(_place(folder, seed))


def train_all(
    folder: Path, seeds: int, settings: Settings, *, workers: int, stop: threading.Event
) -> bool:
    """Train what is missing of the encoders 0 ... ``seeds`` - 1; False if stopped on the way."""
    with alone(folder):
        tell = Teller(settings)
        text = prepare(folder, settings, tell.say)
        missing = [seed for seed in range(seeds) if not _place(folder, seed).is_dir()]
        tell.expect(missing, done=seeds - len(missing))
        with ThreadPoolExecutor(max(1, min(workers, len(missing)))) as pool:

            def work(seed: int) -> bool:
                if stop.is_set():
                    return False
                return train(folder, seed, settings, text, stop=stop, moved=tell.moved)

            futures = [pool.submit(work, seed) for seed in missing]
            while wait(futures, timeout=0.5).not_done:
                if any(future.done() and future.exception() for future in futures):
                    stop.set()
        return all(future.result() for future in futures)


class Teller:
    """Says on stderr how far all encoders are, with the time left."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._lock = threading.Lock()
        self._at: dict[int, tuple[int, float]] = {}
        self._steps = self._left = 0
        self._began = self._told = time.monotonic()

    def say(self, line: str) -> None:
        """Print one line."""
        self._console.print(line, markup=False)

    def expect(self, missing: Sequence[int], *, done: int) -> None:
        """Hear which encoders are to be trained, and how many are there."""
        self.say(f"{done} encoders are trained, {len(missing)} are to be trained")
        self._left = len(missing) * self._settings.steps
        self._began = self._told = time.monotonic()

    def moved(self, seed: int, step: int, loss: float) -> None:
        """Hear of a step, and now and then print a line."""
        with self._lock:
            before = self._at.get(seed, (step - 1, loss))[0]
            if seed not in self._at:
                self._left -= before
            self._steps += step - before
            self._left -= step - before
            self._at[seed] = (step, loss)
            now = time.monotonic()
            if now - self._told < TELL_SECONDS and step < self._settings.steps:
                return
            self._told = now
            rate = self._steps / (now - self._began)
            tokens = rate * self._settings.rows * self._settings.length
            under_way = ", ".join(
                f"seed {each}: step {at:,} of {self._settings.steps:,}, loss {last:.2f}"
                for each, (at, last) in sorted(self._at.items())
            )
            self.say(f"{under_way}; {tokens:,.0f} tokens/s, {self._left / rate / 60:.0f} min left")
            if step == self._settings.steps:
                del self._at[seed]


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, where the system has locks.

    Raises
    ------
    InputError
        If another process trains there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as stream:
        try:
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except BlockingIOError:
            raise InputError(
                f"Another process trains in {folder}: wait for it, or name another folder."
            ) from None
        yield


def table(folder: Path, seeds: int) -> list[str]:
    """Lines that say how well each encoder predicts the held-out texts."""
    lines = ["encoder   loss (nats)  perplexity  accuracy  tokens seen  minutes"]
    unigram = None
    for seed in range(seeds):
        path = _place(folder, seed)
        facts = json.loads((path / "training.json").read_text(encoding="utf-8"))
        unigram, seen = facts["unigram"], facts["held_out"]
        lines.append(
            f"{path.name:<9} {seen['loss']:>11.3f} {seen['perplexity']:>11.1f} "
            f"{seen['accuracy']:>9.3f} {facts['tokens_seen']:>12,} {facts['seconds'] / 60:>8.1f}"
        )
    if unigram is not None:
        lines.append(
            f"{'unigram':<9} {unigram['loss']:>11.3f} {unigram['perplexity']:>11.1f} "
            f"{unigram['accuracy']:>9.3f}"
        )
    return lines


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; give its exit status."""
    usual = Settings()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--into", type=Path, help="folder of the ensemble (default: in the cache folder)")
    add("--seeds", type=int, default=10, help="number of encoders (default: %(default)s)")
    add("--text", nargs="+", default=usual.texts, help="real texts or files (default: WordNet)")
    add("--tokenizer", default=usual.tokenizer, help="model whose tokenizer is taken")
    for name in ("width", "blocks", "length", "rows", "steps"):
        add(f"--{name}", type=int, default=getattr(usual, name), help="(default: %(default)s)")
    add("--rate", type=float, default=usual.rate, help="highest learning rate")
    add("--dtype", default=usual.dtype, help="bfloat16 (default) or float32")
    add("--workers", type=int, help="encoders trained side by side (default: one a core)")
    asked = parser.parse_args(words)
    stop = threading.Event()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        names = ("tokenizer", "width", "blocks", "length", "rows", "steps", "rate", "dtype")
        chosen = {name: getattr(asked, name) for name in names}
        settings = Settings(texts=tuple(asked.text), **chosen)
        for name, value in (("seeds", asked.seeds), ("workers", asked.workers)):
            if value is not None and value < 1:
                raise InputError(f"--{name} is {value}, expected 1 or more.")
        folder = (asked.into or cache_folder() / "seed-ensemble").expanduser().absolute()
        for each in before:
            signal.signal(each, lambda *_: stop.set())
        cores = asked.workers or _cores()
        with quiet():
            whole = train_all(folder, asked.seeds, settings, workers=cores, stop=stop)
        if not whole:
            sys.stderr.write("Stopped; give the same command again to go on.\n")
            return 130
    except CospaceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except OSError as error:
        reason = error.strerror or str(error)
        sys.stderr.write(f"{folder}: {reason}. Name another folder with --into.\n")
        return 2
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    sys.stdout.write("\n".join([f"{folder}", *table(folder, asked.seeds)]) + "\n")
    return 0


def _read(name: str) -> tuple[Corpus, dict[str, Any]]:
    """A corpus, and where it comes from as far as it is known."""
    if name not in corpora.CORPORA:
        return corpora.open_corpus(name), {}
    real = corpora.read_text(name)
    origin = real.provenance
    facts = {each: getattr(origin, each) for each in ("package", "version", "licence", "sha256")}
    return real.corpus, {"origin": corpora.CORPORA[name].origin, **facts}


def _numbers(tokenizer: Any, corpus: Corpus, settings: Settings) -> list[list[int]]:
    bare = {"add_special_tokens": False, "truncation": True, "max_length": settings.length}
    return list(tokenizer(list(corpus.texts), **bare)["input_ids"])


def _text(packed: dict[str, Any], tokens: dict[str, Any]) -> Text:
    special = tuple(tokens["special"])
    return Text(**packed, special=special, **{k: tokens[k] for k in ("mask", "vocabulary")})


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _plain(settings: Settings) -> dict[str, Any]:
    return dict(json.loads(json.dumps(asdict(settings))))


def _first_difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    old, new = found.get("settings") or {}, wanted["settings"]
    for name, value in new.items():
        if old.get(name) != value:
            return f"{name} {old.get(name)!r}, and {value!r} was asked for"
    return f"schema {found.get('schema')!r}, and {wanted['schema']!r} was expected"


def _place(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed:02d}"


def _partial(folder: Path, seed: int) -> Path:
    return folder / f".seed-{seed:02d}.partial"


def _write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    replace(path, lambda at: at.write_text(text, encoding="utf-8"))


def _write_rows(path: Path, rows: Any) -> None:
    replace(path, lambda at: np.save(at, rows))


def _card(seed: int, facts: dict[str, Any], settings: Settings) -> str:
    seen, unigram = facts["held_out"], facts["unigram"]
    return (
        "---\nlicense: other\n---\n"
        f"A BERT encoder of {settings.blocks} blocks and width {settings.width}, seed {seed} of an "
        "ensemble whose members differ in nothing else. Masked-language-model training on "
        f"{', '.join(settings.texts)}, {facts['tokens_seen']:,} tokens. On held-out texts: "
        f"perplexity {seen['perplexity']} (unigram model {unigram['perplexity']}), accuracy "
        f"{seen['accuracy']}. The whole record is in training.json, the text's origin and licence "
        "in ../ensemble.json.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
