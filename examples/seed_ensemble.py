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
texts that no encoder saw, and ``FOLDER/topics.jsonl`` a task made of them: does a definition define
an animal, an artifact, a person or a plant? Finished encoders are kept; one that was interrupted (Ctrl-C) goes on
where it stopped when the same command is given again, and ends with the weights that it would have
had without.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import torch
from masked_language_model import (
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
    replace,
    write_json,
    write_rows,
)

from cospace import corpora
from cospace.errors import InputError
from cospace.models.cache import cache_folder

SCHEMA = 1
TOPICS = ("noun.animal", "noun.artifact", "noun.person", "noun.plant")
"""Groups of WordNet's definitions that `write_topics` makes a task of: the four largest of nouns."""
PER_TOPIC = 300
"""Most definitions of each."""
LEAST_A_TOPIC = 40
"""With fewer of one there is no task."""


def prepare(folder: Path, settings: Settings, tell: Callable[[str], None]) -> Text:
    """Give the tokenised text of the ensemble in ``folder``, which is made on the first call.

    Raises
    ------
    InputError
        If the folder holds an ensemble with other settings, or the text is too short.
    CospaceError
        If the text or the tokenizer cannot be had.
    """
    record, path = {"schema": SCHEMA, "settings": plain(settings)}, folder / "ensemble.json"
    arrays = {"train": folder / "train.npy", "held_out": folder / "held-out.npy"}
    known = known_record(path, record, "an ensemble")
    if known is not None and all(each.exists() for each in arrays.values()):
        return _text({kind: np.load(at) for kind, at in arrays.items()}, known["tokens"])
    tokenizer = load_tokenizer(settings)
    sides = tokenised(settings, tokenizer, tell)
    ends = {"first": tokenizer.cls_token_id, "end": tokenizer.sep_token_id}
    packed = {
        kind: pack(side, length=settings.length, **ends) for kind, side in sides.tokens.items()
    }
    check_enough(packed, settings)
    tokens = {
        "special": sorted(tokenizer.all_special_ids),
        "mask": tokenizer.mask_token_id,
        "vocabulary": len(tokenizer),
        "train": int(packed["train"].size),
        "held_out": int(packed["held_out"].size),
    }
    text = _text(packed, tokens)
    for kind, at in arrays.items():
        write_rows(at, packed[kind])
    write_json(folder / "held-out.json", sides.held_out)
    unigram = unigram_scores(text, settings)
    # Written last: with it the text counts as made.
    write_json(path, {**record, "tokens": tokens, "text": sides.sources, "unigram": unigram})
    return text


def write_topics(folder: Path) -> Path | None:
    """Write ``topics.jsonl``: what kind of thing a definition defines, of definitions that no encoder saw.

    A task that encoders of this size can do, for studies that ask what probes do. None where the
    texts have no definitions, or too few of them.
    """
    path = folder / "topics.jsonl"
    seen = json.loads((folder / "held-out.json").read_text(encoding="utf-8"))
    unseen = set(seen.get("wordnet-definitions", ()))
    if path.exists() or not unseen:
        return path if path.exists() else None
    corpus = corpora.read_text("wordnet-definitions").corpus
    order = np.random.default_rng(0).permutation(len(corpus))
    chosen: dict[str, list[int]] = {topic: [] for topic in TOPICS}
    for i in order.tolist():
        mine = chosen.get((corpus.groups or ())[i])
        if mine is not None and len(mine) < PER_TOPIC and corpus.ids[i] in unseen:
            mine.append(i)
    if min(map(len, chosen.values())) < LEAST_A_TOPIC:
        return None
    lines = [
        json.dumps({"id": corpus.ids[i], "label": topic, "text": corpus.texts[i]})
        for topic, mine in chosen.items()
        for i in sorted(mine)
    ]
    replace(path, lambda at: at.write_text("\n".join(lines) + "\n", encoding="utf-8"))
    return path


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
    whole = run.go_on(
        work / "state.safetensors",
        settings.steps,
        lambda: one_step(run, settings, text, seed),
        stop=stop,
        moved=lambda step, loss: moved(seed, step, loss),
    )
    if whole:
        finish(folder, seed, run, settings, text)
    return whole


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
        "training_loss": run.mean_losses(),
        "settings": plain(settings),
    }
    write_json(work / "training.json", facts)
    (work / "README.md").write_text(_card(seed, facts, settings), encoding="utf-8")
    work.rename(_place(folder, seed))


def train_all(
    folder: Path, seeds: int, settings: Settings, *, workers: int, stop: threading.Event
) -> bool:
    """Train what is missing of the encoders 0 ... ``seeds`` - 1; False if stopped on the way."""
    with alone(folder):
        tell = Teller(settings, "seed {}")
        text = prepare(folder, settings, tell.say)
        missing = [seed for seed in range(seeds) if not _place(folder, seed).is_dir()]
        write_topics(folder)
        tell.say(f"{seeds - len(missing)} encoders are trained, {len(missing)} are to be trained")
        tell.expect(len(missing))
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
    folder = (asked.into or cache_folder() / "seed-ensemble").expanduser().absolute()

    def work(stop: threading.Event) -> bool:
        names = ("tokenizer", "width", "blocks", "length", "rows", "steps", "rate", "dtype")
        chosen = {name: getattr(asked, name) for name in names}
        settings = Settings(texts=tuple(asked.text), **chosen)
        for name, value in (("seeds", asked.seeds), ("workers", asked.workers)):
            if value is not None and value < 1:
                raise InputError(f"--{name} is {value}, expected 1 or more.")
        workers = asked.workers or cores()
        return train_all(folder, asked.seeds, settings, workers=workers, stop=stop)

    status = carried_out(folder, work)
    if status:
        return status
    sys.stdout.write("\n".join([f"{folder}", *table(folder, asked.seeds)]) + "\n")
    return 0


def _text(packed: dict[str, Any], tokens: dict[str, Any]) -> Text:
    special = tuple(tokens["special"])
    return Text(**packed, special=special, **{k: tokens[k] for k in ("mask", "vocabulary")})


def _place(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed:02d}"


def _partial(folder: Path, seed: int) -> Path:
    return folder / f".seed-{seed:02d}.partial"


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
