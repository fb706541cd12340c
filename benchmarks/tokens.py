"""Comparing token embeddings beside the searches for neighbours alone: ``python -m benchmarks.tokens A B``.

Both run in one process, the searches first. Processor seconds, since machines differ in cores.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from cospace.models.embeddings import Embeddings, read_embeddings
from cospace.search import Search
from cospace.tokens import TokenOptions, compare, match, read_vocabulary


def searches(models: Sequence[Embeddings], options: TokenOptions) -> None:
    """Find the neighbours that a comparison of two models needs, by one search a model."""
    vocabularies = [read_vocabulary(one.weights.folder, one.input.shape[0]) for one in models]
    matched = match(*vocabularies)
    shared = (matched.ids_a, matched.ids_b)
    for one, vocabulary, ids in zip(models, vocabularies, shared, strict=True):
        among = vocabulary.ids("used", "special", "undecodable")
        search = Search.euclidean(one.input.rows(among), max(options.dimension_k))
        places = np.searchsorted(among, ids)
        search.of(places[: options.tokens], options.k)
        search.of(places[: options.dimension_tokens], max(options.dimension_k))


def measure(models: Sequence[Embeddings], options: TokenOptions) -> tuple[float, float]:
    """Processor seconds of the searches alone, and of the whole comparison."""
    took = []
    for work in (searches, lambda pair, how: compare(*pair, options=how)):
        start = time.process_time()
        work(models, options)
        took.append(time.process_time() - start)
    return took[0], took[1]


if __name__ == "__main__":
    read = [read_embeddings(name, accept=("gemma",)) for name in sys.argv[1:3]]
    alone, whole = measure(read, TokenOptions())
    print(
        f"searches alone {alone:.1f} s, all of it {whole:.1f} s of processor time: {whole / alone:.2f} times"
    )
