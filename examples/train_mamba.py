"""Train a small Mamba language model, the state-space model among transformers.

::

    python examples/train_mamba.py                   # into the cache folder
    python examples/train_mamba.py --into FOLDER --steps 2000

The text is WordNet's definitions and example sentences (1.45 million words, WordNet licence), the
tokenizer that of the packaged ``smollm2-135m`` (byte-level BPE of 49,152 tokens, which knows no
unknown word and puts nothing before a text). Rows begin with the beginning of a text, before which
a state-space model has seen nothing; the next token is predicted everywhere, the end of a text
included. transformers' own scan is too slow to train with: `selective_scan` has one in chunks.

``FOLDER/mamba`` is a checkpoint that transformers and ``cospace.load_model`` read;
``training.json`` in it says what it saw and how well it predicts the texts that were held out,
beside a unigram model. ``FOLDER/text.json`` has the text's origin and licence,
``FOLDER/held-out.json`` the ids of the texts that were not seen. A finished model is kept; one that
was interrupted (Ctrl-C) goes on where it stopped when the same command is given again, and ends
with the weights that it would have had without, whether one core worked on it or two.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mamba_language_model import (
    PARTS,
    Settings,
    held_out_scores,
    new_run,
    one_step,
    unigram_scores,
)
from token_rows import Text, check_enough, load_tokenizer, pack, tokenised
from training import (
    Run,
    Teller,
    alone,
    carried_out,
    cores,
    known_record,
    plain,
    write_json,
    write_rows,
)

from cospace.errors import InputError
from cospace.models.cache import cache_folder

SCHEMA = 1


def prepare(folder: Path, settings: Settings, tokenizer: Any, tell: Callable[[str], None]) -> Text:
    """Give the tokenised text in ``folder``, which is made on the first call.

    Raises
    ------
    InputError
        If the folder holds a model with other settings, the text is too short, or the tokenizer
        does not suit.
    CospaceError
        If the text cannot be had.
    """
    record, path = {"schema": SCHEMA, "settings": plain(settings)}, folder / "text.json"
    arrays = {"train": folder / "train.npy", "held_out": folder / "held-out.npy"}
    _check(tokenizer, settings)
    known = known_record(path, record, "a model")
    if known is not None and all(each.exists() for each in arrays.values()):
        return _text({kind: np.load(at) for kind, at in arrays.items()}, tokenizer)
    sides = tokenised(settings, tokenizer, tell)
    end = tokenizer.eos_token_id
    # Without the first token: the first text of a row follows nothing, as it does when it is read.
    packed = {
        kind: pack(side, length=settings.length + 1, first=end, end=end)[:, 1:]
        for kind, side in sides.tokens.items()
    }
    check_enough(packed, settings)
    text = _text(packed, tokenizer)
    for kind, at in arrays.items():
        write_rows(at, packed[kind])
    write_json(folder / "held-out.json", sides.held_out)
    tokens = {kind: int(rows.size) for kind, rows in packed.items()}
    # Written last: with it the text counts as made.
    write_json(
        path,
        {**record, "tokens": tokens, "text": sides.sources, "unigram": unigram_scores(text)},
    )
    return text


def train(folder: Path, settings: Settings, *, workers: int, stop: threading.Event) -> bool:
    """Train the model, from where it stands; False if it was stopped on the way."""
    torch.set_num_threads(1)
    with alone(folder):
        tell = Teller(settings, "mamba")
        tokenizer = load_tokenizer(settings)
        text = prepare(folder, settings, tokenizer, tell.say)
        if (folder / "mamba").is_dir():
            tell.say("the model is trained")
            return True
        work, run = folder / ".mamba.partial", new_run(settings, text, tokenizer.eos_token_id)
        work.mkdir(exist_ok=True)
        tell.expect(1)
        with ThreadPoolExecutor(workers) as pool:
            whole = run.go_on(
                work / "state.safetensors",
                settings.steps,
                lambda: one_step(run, settings, text, pool),
                stop=stop,
                moved=lambda step, loss: tell.moved(0, step, loss),
            )
        if whole:
            tell.say("predicting the held-out texts")
            finish(folder, run, settings, text, tokenizer)
        return whole


def finish(folder: Path, run: Run, settings: Settings, text: Text, tokenizer: Any) -> None:
    """Write the checkpoint and its facts, and put the folder into place."""
    work = folder / ".mamba.written"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    run.model.eval().save_pretrained(work)
    # A chat is what the tokenizer's own model was taught, not this one.
    tokenizer.chat_template = None
    tokenizer.save_pretrained(work)
    seen = settings.steps * settings.rows
    facts = {
        "schema": SCHEMA,
        "tokens_seen": seen * settings.length,
        "passes_over_the_text": seen / len(text.train),
        "parameters": sum(each.numel() for each in run.model.parameters()),
        "seconds": round(run.seconds, 1),
        "torch": torch.__version__,
        "held_out": held_out_scores(run.model, text),
        "unigram": unigram_scores(text),
        "training_loss": run.mean_losses(),
        "settings": plain(settings),
    }
    write_json(work / "training.json", facts)
    (work / "README.md").write_text(_card(facts, settings), encoding="utf-8")
    work.rename(folder / "mamba")
    shutil.rmtree(folder / ".mamba.partial")


def table(folder: Path) -> list[str]:
    """Lines that say how well the model predicts the held-out texts."""
    facts = json.loads((folder / "mamba/training.json").read_text(encoding="utf-8"))
    lines = ["model     loss (nats)  perplexity  accuracy  tokens seen  minutes"]
    for name, key in (("mamba", "held_out"), ("unigram", "unigram")):
        found = facts[key]
        lines.append(
            f"{name:<9} {found['loss']:>11.3f} {found['perplexity']:>11.1f} "
            f"{found['accuracy']:>9.3f}"
        )
    lines[1] += f" {facts['tokens_seen']:>12,} {facts['seconds'] / 60:>8.1f}"
    return lines


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; give its exit status."""
    usual = Settings()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--into", type=Path, help="folder of the model and its text (default: in the cache folder)")
    add("--text", nargs="+", default=usual.texts, help="real texts or files (default: WordNet)")
    add("--tokenizer", default=usual.tokenizer, help="decoder whose tokenizer is taken")
    for name in ("width", "blocks", "length", "rows", "steps"):
        add(f"--{name}", type=int, default=getattr(usual, name), help="(default: %(default)s)")
    add("--rate", type=float, default=usual.rate, help="highest learning rate")
    add("--dtype", default=usual.dtype, help="bfloat16 (default) or float32")
    add("--workers", type=int, help="cores that work on it, the result is the same (default: 2)")
    asked = parser.parse_args(words)
    folder = (asked.into or cache_folder() / "train-mamba").expanduser().absolute()

    def work(stop: threading.Event) -> bool:
        names = ("tokenizer", "width", "blocks", "length", "rows", "steps", "rate", "dtype")
        settings = Settings(
            texts=tuple(asked.text), **{name: getattr(asked, name) for name in names}
        )
        if asked.workers is not None and asked.workers < 1:
            raise InputError(f"--workers is {asked.workers}, expected 1 or more.")
        workers = min(asked.workers or cores(), PARTS)
        return train(folder, settings, workers=workers, stop=stop)

    status = carried_out(folder, work)
    if status:
        return status
    sys.stdout.write("\n".join([f"{folder / 'mamba'}", *table(folder)]) + "\n")
    return 0


def _check(tokenizer: Any, settings: Settings) -> None:
    kept, added = (tokenizer("a", add_special_tokens=each)["input_ids"] for each in (False, True))
    if tokenizer.eos_token_id is None:
        wrong = "no end-of-text token, expected a decoder's that has one"
    elif kept != added:
        wrong = "tokens that it puts around every text, expected one that leaves texts alone"
    elif len(tokenizer) > 2**16:
        wrong = f"{len(tokenizer):,} tokens, expected 65,536 or fewer"
    else:
        return
    raise InputError(
        f"The tokenizer of {settings.tokenizer} has {wrong}: name another with --tokenizer, such "
        "as smollm2-135m."
    )


def _text(packed: dict[str, Any], tokenizer: Any) -> Text:
    return Text(**packed, special=(), mask=None, vocabulary=len(tokenizer))


def _card(facts: dict[str, Any], settings: Settings) -> str:
    found, unigram = facts["held_out"], facts["unigram"]
    return (
        "---\nlicense: other\n---\n"
        f"A Mamba language model of {settings.blocks} blocks and width {settings.width}, "
        f"{facts['parameters']:,} parameters, trained from random weights on "
        f"{', '.join(settings.texts)}: {facts['tokens_seen']:,} tokens, "
        f"{facts['passes_over_the_text']:.1f} passes over the text. It is as small and as little "
        "trained as that says. On held-out texts, per token of the tokenizer of "
        f"{settings.tokenizer}: perplexity {found['perplexity']} (unigram model "
        f"{unigram['perplexity']}), accuracy {found['accuracy']} ({unigram['accuracy']}). Rows of "
        f"{settings.length} tokens, in which texts follow one another. The whole record is in "
        "training.json, the text's origin and licence in ../text.json.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
