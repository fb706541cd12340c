"""Models of the transformers library, read at named sites."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cospace.errors import (
    CospaceError,
    ExtractionError,
    InputError,
    MissingDependencyError,
    TextTooLongError,
    UnknownNameError,
)
from cospace.models.base import ModelFacts, Pooled, Pooling, Site, TokenPolicy
from cospace.models.batching import (
    Batch,
    Side,
    Tokens,
    listed,
    out_of_memory,
    pad,
    plan,
    tokenise,
)

try:
    import torch
    import transformers  # noqa: F401
except ImportError as missing:
    raise MissingDependencyError.needs(str(missing.name), "Reading a model", "models") from missing

from cospace.models.checkpoint import (
    describe,
    first_line,
    from_folder,
    number_type,
    quiet,
    where_to_run,
)
from cospace.models.identity import config_hash
from cospace.models.pooling import TokenMasks, pool, to_rows, unusable
from cospace.models.reader import Reader, padding_is_harmless
from cospace.models.sites import find_layout

__all__ = ["HFModel", "describe", "load_model"]

NO_LIMIT = 10**8
"""A tokenizer that knows no longest text says so by a number beyond this."""

_log = logging.getLogger("cospace")


class HFModel:
    """A transformers model and its tokenizer, as a :class:`~cospace.models.base.LanguageModel`.

    Sites are read by hooks on the modules of the model itself: ``embed`` is what goes into the
    first block, ``block.i`` what comes out of block i, and ``final_norm`` what comes out of the
    norm behind the last block. No head is run; of an encoder-decoder, the encoder is read.

    Three small passes when the object is made measure what cannot be known from a name: whether
    the states at the sites found are those that transformers itself returns, and whether padding
    leaves a text's states alone. Texts are padded on the right, with positions counted from the
    mask where the architecture takes them; a model whose states change by padding gets batches
    of texts of one length.

    Parameters
    ----------
    model
        A transformers model, with or without a head.
    tokenizer
        Its tokenizer, which decides by itself on special tokens.
    facts
        What is recorded of the model, see :func:`describe`.
    padding
        The side that padding is put on.

    Raises
    ------
    ExtractionError
        If the blocks of the model are not found, or its states are not those of transformers.
    """

    def __init__(
        self, model: Any, tokenizer: Any, facts: ModelFacts, *, padding: Side = "right"
    ) -> None:
        self._reader = Reader(model, padding_token=getattr(tokenizer, "pad_token_id", None))
        self._tokenizer = tokenizer
        self._facts = facts
        self._padding: Side = padding
        limits = [self._reader.most_positions, getattr(tokenizer, "model_max_length", None)]
        known = [int(limit) for limit in limits if limit is not None and limit < NO_LIMIT]
        self._max_tokens = min(known, default=None)
        self._most_tokens: int | None = None
        with quiet(), torch.inference_mode():
            self._same_length = not self._padding_is_harmless()

    def _padding_is_harmless(self) -> bool:
        try:
            return padding_is_harmless(
                self._reader, side=self._padding, most_tokens=self._max_tokens
            )
        except CospaceError:
            raise
        # Whatever an architecture that wants other input than text raises: it means the same.
        except Exception as error:
            raise ExtractionError(
                f"{self._facts.name}: a {type(self._reader.model).__name__} could not be run on two "
                f"short texts: {first_line(error)} Expected a model that takes token ids and a "
                "mask; read it through an object of your own that has the methods of "
                "LanguageModel."
            ) from error

    @property
    def facts(self) -> ModelFacts:
        """What is recorded of the model."""
        return self._facts

    @property
    def max_tokens(self) -> int | None:
        """Most tokens a text may have, special ones counted; None for no limit."""
        return self._max_tokens

    @property
    def circumstances(self) -> Mapping[str, str | int | float | bool | None]:
        """How the model is run, for a manifest."""
        return {
            "device": str(self._reader.device),
            "attention": getattr(self._reader.model.config, "_attn_implementation", None),
            "padding": "none" if self._same_length else self._padding,
        }

    def check_texts(self, texts: Sequence[str], *, ids: Sequence[str], policy: TokenPolicy) -> None:
        """Refuse texts that are too long, without running the model.

        Raises
        ------
        TextTooLongError
            Naming the texts, unless the policy has them cut.
        """
        with quiet():
            self._tokens(texts, ids, policy)

    def activations(
        self,
        texts: Sequence[str],
        *,
        ids: Sequence[str],
        sites: Sequence[Site],
        poolings: Sequence[Pooling],
        policy: TokenPolicy,
        batch_tokens: int,
        progress: Callable[[int], None] | None = None,
    ) -> Pooled:
        """Pooled activations of ``texts``, in their order.

        Parameters
        ----------
        texts
            The texts, n of them.
        ids
            Their names, used in messages.
        sites
            Where to read; states at other sites are not kept.
        poolings
            Several cost one forward pass.
        policy
            Which tokens are pooled, and whether long texts may be cut.
        batch_tokens
            Most padded tokens of one forward pass. If memory runs out, it is halved for good.
        progress
            Called with the number of texts finished since its last call.

        Returns
        -------
        Pooled
            Arrays of shape (n, width), float32, one for each site and pooling.

        Raises
        ------
        TextTooLongError
            Before any forward pass, unless the policy cuts long texts.
        InputError
            For a text without a token to pool.
        ExtractionError
            For activations that are not finite, or a single text that memory does not hold.
        """
        names = [site.name for site in sites]
        for name in names:
            if name not in self._reader.layout.names:
                raise UnknownNameError.among(
                    name, self._reader.layout.names, f"site of {self._facts.name}"
                )
        if not (texts and names and poolings) or len(texts) != len(ids):
            raise InputError(
                f"Got {len(texts)} texts, {len(ids)} ids, {len(names)} sites and {len(poolings)} "
                "poolings: expected at least one of each, and an id for every text."
            )
        with quiet(), torch.inference_mode():
            tokens, cut = self._tokens(texts, ids, policy)
            _check_something_is_kept(tokens, ids, policy, poolings)
            rows = {
                (name, str(pooling)): np.empty((len(texts), self._facts.width), np.float32)
                for name in names
                for pooling in poolings
            }
            waiting = self._plan(tokens, range(len(texts)), batch_tokens)
            while waiting:
                part = waiting.pop(0)
                batch = pad(
                    [tokens[i] for i in part],
                    policy=policy,
                    side=self._padding,
                    fill=self._reader.fill,
                )
                found = self._within_memory(batch, [ids[i] for i in part], names, poolings)
                if found is None:
                    left = [i for group in [part, *waiting] for i in group]
                    waiting = self._plan(tokens, left, batch_tokens)
                    continue
                for key, values in found.items():
                    rows[key][part] = values
                if progress is not None:
                    progress(len(part))
        return Pooled(rows, np.array([len(text) for text in tokens], np.int64), cut)

    def _tokens(
        self, texts: Sequence[str], ids: Sequence[str], policy: TokenPolicy
    ) -> tuple[list[Tokens], tuple[str, ...]]:
        """Tokens of every text, and the ids of those that were cut."""
        tokens = tokenise(self._tokenizer, texts)
        self._check_known(tokens, ids)
        limit = self._max_tokens
        long = [i for i, text in enumerate(tokens) if limit is not None and len(text) > limit]
        names = [ids[i] for i in long]
        if not long:
            return tokens, ()
        if not policy.truncate:
            raise TextTooLongError(
                f"{self._facts.name} reads at most {limit} tokens of a text, and {listed(names)} "
                f"{'has' if len(long) == 1 else 'have'} up to {max(len(tokens[i]) for i in long)}. "
                "Shorten them, or have them cut with TokenPolicy(truncate=True)."
            )
        shorter = tokenise(self._tokenizer, [texts[i] for i in long], max_tokens=limit)
        for i, text in zip(long, shorter, strict=True):
            tokens[i] = text
        return tokens, tuple(names)

    def _check_known(self, tokens: Sequence[Tokens], ids: Sequence[str]) -> None:
        size = self._reader.vocabulary
        for name, text in zip(ids, tokens, strict=True):
            if len(text) and int(text.ids.max()) >= size:
                raise ExtractionError(
                    f"{self._facts.name} has {size} tokens, and its tokenizer gives number "
                    f"{text.ids.max()} in {name!r}. Expected the tokenizer that belongs to the "
                    "weights: put its files beside them."
                )

    def _plan(
        self, tokens: Sequence[Tokens], part: Sequence[int], batch_tokens: int
    ) -> list[list[int]]:
        batches = plan(
            [len(tokens[i]) for i in part],
            batch_tokens=min(batch_tokens, self._most_tokens or batch_tokens),
            same_length=self._same_length,
        )
        return [[part[i] for i in batch] for batch in batches]

    def _within_memory(
        self,
        batch: Batch,
        ids: Sequence[str],
        names: Collection[str],
        poolings: Collection[Pooling],
    ) -> dict[tuple[str, str], Any] | None:
        """Rows of a batch, or None if memory ran out: then later batches will be smaller."""
        try:
            return self._rows(batch, ids, names, poolings)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
        # Outside the handler, where the error no longer holds the tensors of the failed pass.
        if self._reader.device.type == "cuda":
            torch.cuda.empty_cache()
        if len(ids) == 1:
            raise ExtractionError(
                f"{self._facts.name}: out of memory on {self._reader.device} with the single text "
                f"{ids[0]!r} of {batch.ids.shape[1]} tokens. Shorten it, or take a smaller number "
                "type such as dtype='bfloat16'."
            )
        if self._most_tokens is None:
            _log.warning(
                "%s: out of memory on %s at %d padded tokens in a batch; going on with half of that.",
                self._facts.name,
                self._reader.device,
                batch.ids.size,
            )
        self._most_tokens = max(batch.ids.size // 2, 1)
        return None

    def _rows(
        self,
        batch: Batch,
        ids: Sequence[str],
        names: Collection[str],
        poolings: Collection[Pooling],
    ) -> dict[tuple[str, str], Any]:
        masks = TokenMasks.on(self._reader.device, attended=batch.attended, kept=batch.kept)
        pooled: dict[str, dict[Pooling, Any]] = {}
        bad: dict[str, Any] = {}

        def see(name: str, states: Any) -> None:
            pooled[name] = pool(states, masks, poolings)
            bad[name] = unusable(states, masks)

        self._reader.read(batch, names, see)
        for name, texts in bad.items():
            if texts.any():
                found = [ids[i] for i in texts.nonzero().flatten().tolist()]
                raise ExtractionError(
                    f"{self._facts.name} in {self._facts.dtype} gave values that are not finite at "
                    f"{name} for {listed(found)}. Expected finite activations: check the weights, "
                    "or take a number type of wider range such as dtype='float32'."
                )
        return {
            (name, str(pooling)): to_rows(row)
            for name, rows in pooled.items()
            for pooling, row in rows.items()
        }


def _check_something_is_kept(
    tokens: Sequence[Tokens],
    ids: Sequence[str],
    policy: TokenPolicy,
    poolings: Collection[Pooling],
) -> None:
    only_first = set(poolings) == {Pooling.FIRST}
    bare = [
        name
        for name, text in zip(ids, tokens, strict=True)
        if not (len(text) if only_first else text.kept(policy).any())
    ]
    if bare:
        raise InputError(
            f"No token is left to pool in {listed(bare)} (special tokens "
            f"{'kept' if policy.special else 'dropped'}, first token "
            f"{'kept' if policy.sink else 'dropped'}). Remove such texts, or keep more with "
            "TokenPolicy(special=..., sink=...)."
        )


def load_model(
    reference: str | Path,
    *,
    dtype: str = "float32",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    accept: Collection[str] = (),
    trust_remote_code: bool = False,
    name: str | None = None,
) -> HFModel:
    """Load a model by reference, ready to be read.

    Parameters
    ----------
    reference
        A packaged model such as ``minilm``, a local folder, a GGUF file, or a hub id with an
        optional ``@revision``.
    dtype
        Number type of the forward pass: ``float32``, ``bfloat16``, ``float16`` or ``float64``.
    device
        Where it runs; ``auto`` takes CUDA where there is one.
    accept
        Names of licences that you accept, for models that are fetched only then.
    trust_remote_code
        Whether Python code that lies beside the weights may be run.
    name
        Short name used in tables; by default that of the reference.

    Raises
    ------
    AcquisitionError
        If the weights cannot be found, fetched or read, or do not hold the whole model.
    ExtractionError
        If the architecture is not understood.
    """
    from cospace.models.weights import resolve_weights

    number = number_type(dtype)
    where = where_to_run(device)
    weights = resolve_weights(str(reference), accept=accept)
    with quiet():
        model, tokenizer = from_folder(
            weights.folder, number, reference, trust_remote_code=trust_remote_code
        )
        facts = describe(
            model,
            reference=weights.reference,
            name=name or weights.name,
            weights_hash=weights.weights_hash,
            tokenizer=tokenizer,
        )
    layout = find_layout(model)
    if trust_remote_code:
        hashed = config_hash(layout.model.config, code=weights.folder)
        facts = replace(facts, config_hash=hashed)
    facts = replace(
        facts,
        revision=weights.revision,
        quantisation=weights.quantisation,
        licence=weights.licence,
        source=weights.source,
    )
    return HFModel(layout.model.to(where), tokenizer, facts)
