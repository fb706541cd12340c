"""Decoders of the transformers library with their head: what comes next, and what moves it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cospace.errors import (
    ExtractionError,
    InputError,
    MissingDependencyError,
    TextTooLongError,
    UnknownNameError,
)
from cospace.models.base import ModelFacts, TokenPolicy
from cospace.models.batching import Batch, Tokens, pad, plan, tokenise
from cospace.models.positions import TokenPositions

try:
    import torch
    import transformers
except ImportError as missing:
    raise MissingDependencyError.needs(
        str(missing.name), "Running a decoder", "models"
    ) from missing

from cospace.models.checkpoint import describe, from_folder, number_type, quiet, where_to_run
from cospace.models.reader import Reader, padding_is_harmless
from cospace.models.steered import adding

__all__ = ["Decoder", "load_decoder"]

Floats = npt.NDArray[np.float64]
BATCH_TOKENS = 2048
"""Most padded tokens of one forward pass."""


class Decoder:
    """A transformers model with a head that gives the next token, and its tokenizer.

    Texts are padded on the left, with positions counted from the mask; a model whose states
    change by padding gets batches of texts of one length.

    Parameters
    ----------
    model
        A causal language model of transformers.
    tokenizer
        Its tokenizer, which decides by itself on special tokens.
    facts
        What is recorded of the model.
    batch_tokens
        Most padded tokens of one forward pass.

    Raises
    ------
    ExtractionError
        If the model has no head, or its blocks are not found.
    """

    def __init__(
        self, model: Any, tokenizer: Any, facts: ModelFacts, *, batch_tokens: int = BATCH_TOKENS
    ) -> None:
        self._reader = Reader(model, padding_token=getattr(tokenizer, "pad_token_id", None))
        if not model.can_generate() or model.get_output_embeddings() is None:
            raise ExtractionError(
                f"{facts.name} is a {type(model).__name__}, which has no head that gives the next token: a decoder, "
                "such as AutoModelForCausalLM makes, is expected."
            )
        self.model = model
        self.tokenizer = tokenizer
        self.facts = facts
        self.batch_tokens = batch_tokens
        self._prompt: npt.NDArray[np.int64] | None = None
        accepted = inspect.signature(model.forward).parameters
        self._last_alone = "logits_to_keep" in accepted
        open_ended = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        self._positions = "position_ids" in accepted or open_ended
        end = getattr(tokenizer, "eos_token_id", None)
        model.generation_config = transformers.GenerationConfig(
            do_sample=False, eos_token_id=end, pad_token_id=self._reader.fill
        )
        with quiet(), torch.inference_mode():
            harmless = padding_is_harmless(self._reader, side="left", most_tokens=self.max_tokens)
        self._same_length = not (harmless and self._positions)

    @property
    def max_tokens(self) -> int | None:
        """Most tokens a text may have, what is generated counted; None for no limit."""
        return self._reader.most_positions

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of all sites, in the order of the forward pass."""
        return self._reader.layout.names

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of texts, as the tokenizer makes them by itself.

        Raises
        ------
        TextTooLongError
            For a text of more tokens than the model reads.
        InputError
            For a text without a token.
        """
        with quiet():
            found = tokenise(self.tokenizer, texts)
        for i, text in enumerate(found):
            if not len(text):
                raise InputError(f"Text {i}, {texts[i]!r}, has no token: leave it out.")
            if self.max_tokens is not None and len(text) > self.max_tokens:
                raise TextTooLongError(
                    f"{self.facts.name} reads at most {self.max_tokens} tokens, and text {i} has {len(text)}: "
                    "shorten it."
                )
        return found

    def states(
        self, texts: Sequence[Tokens], kept: Sequence[npt.NDArray[np.bool_]], sites: Collection[str]
    ) -> dict[str, Floats]:
        """Mean state of the kept tokens of every text.

        Parameters
        ----------
        texts
            The texts, n of them.
        kept
            For each text which of its tokens, shape (tokens,); at least one.
        sites
            Where to read.

        Returns
        -------
        dict
            Site -> array of shape (n, width), float64.
        """
        for site in sites:
            self.check_site(site)
        rows = {site: np.empty((len(texts), self.facts.width)) for site in sites}

        def run(batch: Batch, part: list[int]) -> None:
            held = np.zeros(batch.ids.shape, np.bool_)
            for row, i in enumerate(part):
                held[row, batch.ids.shape[1] - len(texts[i]) :] = kept[i]

            def see(site: str, states: Any) -> None:
                wide = states.double().cpu().numpy()
                for row, i in enumerate(part):
                    rows[site][i] = wide[row][held[row]].mean(axis=0)

            self._reader.read(batch, list(sites), see)

        self._over(texts, run)
        for site, found in rows.items():
            if not np.isfinite(found).all():
                raise ExtractionError(
                    f"{self.facts.name} gave values that are not finite at {site}: check the weights, or take "
                    "dtype='float32'."
                )
        return rows

    def next_log_probs(
        self, texts: Sequence[Tokens], candidates: Sequence[Sequence[int]]
    ) -> Floats:
        """Log probability of candidate tokens behind every text.

        Parameters
        ----------
        texts
            The texts, n of them.
        candidates
            For each text k token ids.

        Returns
        -------
        array of shape (n, k)
            In nats, each from the softmax over the whole vocabulary.
        """
        found = np.empty((len(texts), len(candidates[0])))

        def run(batch: Batch, part: list[int]) -> None:
            logits = self._logits(batch, last=1)[:, -1].double().log_softmax(dim=-1)
            wanted = torch.tensor([list(candidates[i]) for i in part], device=logits.device)
            found[part] = logits.gather(1, wanted).cpu().numpy()

        self._over(texts, run)
        return found

    def log_likelihoods(
        self, texts: Sequence[Tokens], *, places: Sequence[int] | None = None
    ) -> list[Floats]:
        """Log probability of every token but the first, given those before it, in nats.

        Parameters
        ----------
        texts
            Tokens.
        places
            Of each text, where to begin (1 or later): what predicts earlier tokens is not computed.
            By default 1.
        """
        found: dict[int, Floats] = {}
        begin = [1] * len(texts) if places is None else places

        def run(batch: Batch, part: list[int]) -> None:
            most = max(len(texts[i]) - begin[i] for i in part) + 1
            logits = self._logits(batch, last=most)
            for row, i in enumerate(part):
                own = logits[row, begin[i] - 1 - len(texts[i]) : -1].double()
                wanted = torch.from_numpy(texts[i].ids[begin[i] :]).to(own.device)
                chosen = own.log_softmax(dim=-1).gather(1, wanted[:, None])[:, 0]
                found[i] = chosen.cpu().numpy()

        self._over(texts, run)
        return [found[i] for i in range(len(texts))]

    def generate(
        self, texts: Sequence[Tokens], new_tokens: int, *, cached: bool = True
    ) -> list[npt.NDArray[np.int64]]:
        """Likeliest continuations, token by token, up to ``new_tokens`` or the end of the text.

        Parameters
        ----------
        texts
            Prompts.
        new_tokens
            Most tokens of a continuation.
        cached
            Whether keys and values of earlier tokens are kept, or everything is run anew for
            each token: the result is the same.
        """
        return [ids for ids, _ in self._continued(texts, new_tokens, cached=cached, scored=False)]

    def generate_scored(
        self, texts: Sequence[Tokens], new_tokens: int, *, cached: bool = True
    ) -> list[tuple[npt.NDArray[np.int64], Floats]]:
        """Likeliest continuations as :meth:`generate` gives them, each with what its tokens cost.

        Parameters
        ----------
        texts
            Prompts.
        new_tokens
            Most tokens of a continuation.
        cached
            As there.

        Returns
        -------
        list
            For each prompt the tokens that were added, shape (k,), and the log probability of each
            given all before it, in nats, shape (k,). k is 0 where the text ends at once.
        """
        return self._continued(texts, new_tokens, cached=cached, scored=True)

    def _continued(
        self, texts: Sequence[Tokens], new_tokens: int, *, cached: bool, scored: bool
    ) -> list[tuple[npt.NDArray[np.int64], Floats]]:
        found: dict[int, tuple[npt.NDArray[np.int64], Floats]] = {}
        end = self.model.generation_config.eos_token_id
        end = -1 if end is None else end

        def run(batch: Batch, part: list[int]) -> None:
            inputs = {
                name: value
                for name, value in self._reader.inputs(batch).items()
                if name != "position_ids"
            }
            made = self.model.generate(
                **inputs,
                max_new_tokens=new_tokens,
                use_cache=cached,
                return_dict_in_generate=True,
                output_logits=scored,
            )
            added = made.sequences[:, batch.ids.shape[1] :]
            costs = np.zeros(added.shape)
            for step, logits in enumerate(made.logits if scored else ()):
                chosen = logits.double().log_softmax(dim=-1).gather(1, added[:, step, None])
                costs[:, step] = chosen[:, 0].cpu().numpy()
            for row, i in enumerate(part):
                new = added[row].cpu().numpy()
                ended = new == end
                size = int(ended.argmax()) if ended.any() else len(new)
                found[i] = new[:size], costs[row, :size]

        self._over(texts, run)
        return [found[i] for i in range(len(texts))]

    def nearest_tokens(self, vector: Any, k: int = 10) -> list[tuple[str, float]]:
        """Tokens whose rows of the head have the largest cosine with a direction, and the cosine."""
        rows = self.model.get_output_embeddings().weight.detach()
        unit = torch.as_tensor(self._vector(vector), device=rows.device)
        unit = (unit / unit.norm()).to(rows.dtype)
        cosines = (rows @ unit) / rows.norm(dim=1).clamp_min(torch.finfo(rows.dtype).tiny)
        best = cosines.float().topk(k)
        names = self.tokenizer.convert_ids_to_tokens(best.indices.tolist())
        return list(zip(map(str, names), best.values.tolist(), strict=True))

    @contextmanager
    def adding(self, site: str, vector: Any, *, positions: Any = "all") -> Iterator[None]:
        """Add a vector to the states at a site, in every pass of the model inside the block.

        Each context adds once; one inside another adds its own. Whatever happens inside, nothing
        is left of it afterwards. The model itself, ``model``, is changed with it, so that
        transformers' own ``generate`` is steered too.

        Parameters
        ----------
        site
            ``block.i``, ``embed`` or ``final_norm``.
        vector
            Shape (width,).
        positions
            ``"all"``, a token's number, a list of them, or a slice; padding is never changed.
            Numbers below 0 count from the end of the prompt.

        Raises
        ------
        UnknownNameError
            For a site that the model lacks.
        InputError
            For a vector of another shape, positions that are none, or, afterwards, positions that
            named no token of any pass.
        """
        self.check_site(site)
        whole = torch.as_tensor(self._vector(vector))
        named = TokenPositions.of(positions)
        with adding(
            self._reader.layout,
            site,
            whole,
            named,
            prompt=lambda: self._prompt,
            head=self.model,
        ):
            yield

    def check_site(self, site: str) -> None:
        """Refuse a site that the model lacks."""
        if site not in self.sites:
            raise UnknownNameError.among(site, self.sites, f"site of {self.facts.name}")

    def _vector(self, vector: Any) -> Floats:
        found = np.array(vector, dtype=np.float64)  # a copy: torch takes none that is read-only
        if found.shape != (self.facts.width,) or not np.isfinite(found).all():
            raise InputError(
                f"A vector of shape {found.shape} was given to {self.facts.name}; one finite vector of shape "
                f"({self.facts.width},) is expected, which is added to each of the tokens that are named."
            )
        return found

    def _logits(self, batch: Batch, *, last: int) -> Any:
        """Logits at the last positions, or at all where the model cannot leave the others out."""
        inputs = self._reader.inputs(batch)
        if not self._positions:
            inputs.pop("position_ids", None)
        options = {"logits_to_keep": last} if self._last_alone else {}
        return self.model(**inputs, **options, use_cache=False).logits

    def _over(self, texts: Sequence[Tokens], run: Callable[[Batch, list[int]], None]) -> None:
        lengths = [len(text) for text in texts]
        parts = plan(lengths, batch_tokens=self.batch_tokens, same_length=self._same_length)
        with quiet(), torch.inference_mode():
            for part in parts:
                self._prompt = np.array([lengths[i] for i in part], np.int64)
                try:
                    run(
                        pad(
                            [texts[i] for i in part],
                            policy=TokenPolicy(),
                            side="left",
                            fill=self._reader.fill,
                        ),
                        part,
                    )
                finally:
                    self._prompt = None


def load_decoder(
    reference: str | Path,
    *,
    dtype: str = "float32",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    accept: Collection[str] = (),
    name: str | None = None,
) -> Decoder:
    """Load a decoder with its head by reference, as :func:`~cospace.models.hf.load_model` does.

    Parameters
    ----------
    reference
        A packaged model such as ``smollm2-135m``, a local folder, a GGUF file, or a hub id with an
        optional ``@revision``.
    dtype
        Number type of the forward pass.
    device
        Where it runs; ``auto`` takes CUDA where there is one.
    accept
        Names of licences that you accept, for models that are fetched only then.
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
            weights.folder, number, reference, trust_remote_code=False, head=True
        )
        facts = describe(
            model,
            reference=weights.reference,
            name=name or weights.name,
            weights_hash=weights.weights_hash,
            tokenizer=tokenizer,
        )
    facts = replace(
        facts,
        revision=weights.revision,
        quantisation=weights.quantisation,
        licence=weights.licence,
        source=weights.source,
    )
    return Decoder(model.to(where), tokenizer, facts)
