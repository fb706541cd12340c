"""A language model without weights, and a small extraction to be killed."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path

import numpy as np

from cospace.corpus import Corpus
from cospace.extraction import extract
from cospace.models.base import ModelFacts, Pooled, Pooling


class FakeModel:
    """Rows are drawn from a seed that is the hash of text, site and pooling."""

    max_tokens = None

    def __init__(self, name="fake", *, width=5, blocks=3, seed="w", dtype="float32", **change):
        self.facts = ModelFacts(
            reference=f"tests/{name}",
            name=name,
            architecture="fake",
            blocks=blocks,
            width=width,
            final_norm=True,
            dtype=dtype,
            weights_hash=hashlib.sha256(seed.encode()).hexdigest(),
            parameters=1,
            quantisation="Q4, dequantised",
        )
        self.change = change
        self.calls = []
        """Ids of the texts of each call."""

    def row(self, text, site, pooling):
        digest = hashlib.sha256(f"{self.facts.weights_hash}{text}{site}{pooling}".encode())
        rng = np.random.default_rng(list(digest.digest()))
        return rng.standard_normal(self.facts.width).astype(np.float32)

    def activations(self, texts, *, ids, sites, poolings, policy, batch_tokens, progress=None):
        self.calls.append(tuple(ids))
        for name in ids:
            if name == self.change.get("raise_at"):
                raise self.change["error"]
            if name == self.change.get("hang_at"):
                time.sleep(600)
            if progress is not None:
                progress(1)
        if "log" in self.change:
            with Path(self.change["log"]).open("a") as file:
                file.write("".join(f"{name}\n" for name in ids))
        rows = {
            (site.name, Pooling(kind).value): np.stack(
                [self.row(text, site.name, kind) for text in texts]
            )
            for site in sites
            for kind in poolings
        }
        tokens = np.array([len(text.split()) + self.change.get("extra", 0) for text in texts])
        cut = tuple(name for name in ids if name in self.change.get("cut", ()))
        return self.change.get("spoil", lambda pooled: pooled)(Pooled(rows, tokens, cut))


def corpus(n=10, **columns):
    """Texts t0 ... with two groups."""
    ids = tuple(f"t{i}" for i in range(n))
    texts = tuple(f"text number {i}" + " more" * (i % 3) for i in range(n))
    columns = {"groups": tuple("ab"[i % 2] for i in range(n))} | columns
    return Corpus(name="small", ids=ids, texts=texts, **columns)


if __name__ == "__main__":
    store, log, hang_at = sys.argv[1:]
    extract(
        [FakeModel("one", hang_at=hang_at, log=log), FakeModel("two", seed="2", log=log)],
        corpus(40),
        pooling=("mean", "last"),
        store=store,
        rows_per_shard=4,
    )
