"""Activations on disk: safetensors shards, a table of texts, and a manifest for every run.

A store is a folder with one folder a run, ``<model name>-<key>``: one model on one corpus under
one token policy in one number type. In it lie ``manifest.json``, ``rows.parquet`` (id, group,
label, pair, text hash, tokens, truncated) and ``shard-00000.safetensors`` ... with the tensors
``site/pooling`` of some consecutive texts. Sites and poolings that are asked for later become
further shards. A shard counts as finished once the manifest lists it.
"""

from __future__ import annotations

from cospace.store.manifest import Circumstances, library_versions, run_key
from cospace.store.view import Run, Store, is_store, open_store, view_of
from cospace.store.writer import RunWriter, Work, open_writer

__all__ = [
    "Circumstances",
    "Run",
    "RunWriter",
    "Store",
    "Work",
    "is_store",
    "library_versions",
    "open_store",
    "open_writer",
    "run_key",
    "view_of",
]
