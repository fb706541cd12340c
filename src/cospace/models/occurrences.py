"""States of single tokens: run alone, and wherever they stand in texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cospace.errors import ExtractionError, InputError, MissingDependencyError, TextTooLongError
from cospace.models.base import ModelFacts, TokenPolicy
from cospace.models.batching import Batch, Tokens, pad, plan, tokenise

try:
    import torch
except ImportError as missing:
    raise MissingDependencyError.needs(str(missing.name), "Running a model", "models") from missing

from cospace.models.checkpoint import describe, from_folder, number_type, quiet, where_to_run
from cospace.models.reader import Reader

__all__ = ["COUNTED", "InTexts", "TokenStates", "load_token_states"]

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
BATCH_TOKENS = 4096
"""Most tokens of one forward pass."""
COUNTED = TokenPolicy(special=False, sink=False)
"""What counts as an occurrence in a text: neither special tokens nor the very first, which is an
attention sink of a decoder, whatever stands there."""


@dataclass(frozen=True, eq=False)
class InTexts:
    """States of tokens in texts, a mean over occurrences."""

    states: dict[str, Floats]
    """Site -> array of shape (tokens, width); not a number for a token that does not occur."""
    counts: Index
    """Occurrences of each, shape (tokens,)."""


class TokenStates:
    """A transformers model of which the states of single tokens are read.

    Texts of one length are run together, so that nothing is padded.

    Parameters
    ----------
    model
        A transformers model, with or without a head.
    tokenizer
        Its tokenizer, which decides by itself on special tokens.
    facts
        What is recorded of the model.
    """

    def __init__(self, model: Any, tokenizer: Any, facts: ModelFacts) -> None:
        self._reader = Reader(model, padding_token=getattr(tokenizer, "pad_token_id", None))
        self._tokenizer = tokenizer
        self.facts = facts

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
        """
        with quiet():
            found = tokenise(self._tokenizer, texts)
        most = self._reader.most_positions
        for i, text in enumerate(found):
            if most is not None and len(text) > most:
                raise TextTooLongError(
                    f"{self.facts.name} reads at most {most} tokens, and text {i} has {len(text)}: shorten it."
                )
        return found

    def alone(
        self, ids: Index, sites: Collection[str], done: Callable[[int], None] | None = None
    ) -> dict[str, Floats]:
        """State of each token as the only one of a text, between the special ones of every text.

        Parameters
        ----------
        ids
            Tokens, shape (n,).
        sites
            Where to read.
        done
            Told how many more tokens are done.

        Returns
        -------
        dict
            Site -> array of shape (n, width), float64.

        Raises
        ------
        ExtractionError
            For states that are not finite.
        """
        with quiet():
            special = tokenise(self._tokenizer, ["a"])[0]
        inner = np.flatnonzero(~special.special)
        before, after = special.ids[: inner[0]], special.ids[inner[-1] + 1 :]
        texts = [
            Tokens(
                np.concatenate([before, [i], after]),
                np.arange(len(before) + 1 + len(after)) != len(before),
            )
            for i in ids
        ]
        found = {site: np.empty((len(ids), self.facts.width)) for site in sites}

        def see(site: str, part: list[int], states: Any) -> None:
            found[site][part] = states[:, len(before)].double().cpu().numpy()

        self._over(texts, sites, see, done)
        return found

    def in_texts(
        self,
        texts: Sequence[Tokens],
        ids: Index,
        sites: Collection[str],
        done: Callable[[int], None] | None = None,
    ) -> InTexts:
        """Mean state of each token over its occurrences in texts, see ``COUNTED``.

        Parameters
        ----------
        texts
            Texts, of ``encode``.
        ids
            Tokens, shape (n,), none twice.
        sites
            Where to read.
        done
            Told how many more texts are done.

        Raises
        ------
        ExtractionError
            For states that are not finite.
        """
        table = np.full(self._reader.vocabulary, -1, dtype=np.int64)
        table[ids] = np.arange(len(ids))
        total = {site: np.zeros((len(ids), self.facts.width)) for site in sites}
        counts = np.zeros(len(ids), dtype=np.int64)
        places = [np.where(text.kept(COUNTED), table[text.ids], -1) for text in texts]
        for place in places:
            np.add.at(counts, place[place >= 0], 1)

        def see(site: str, part: list[int], states: Any) -> None:
            at = np.stack([places[i] for i in part])
            held = torch.from_numpy(at >= 0).to(states.device)
            np.add.at(total[site], at[at >= 0], states[held].double().cpu().numpy())

        self._over(texts, sites, see, done)
        with np.errstate(invalid="ignore"):
            means = {site: sums / counts[:, None] for site, sums in total.items()}
        return InTexts(means, counts)

    def _over(
        self,
        texts: Sequence[Tokens],
        sites: Collection[str],
        see: Callable[[str, list[int], Any], None],
        done: Callable[[int], None] | None,
    ) -> None:
        lengths = [len(text) for text in texts]
        with quiet(), torch.inference_mode():
            for part in plan(lengths, batch_tokens=BATCH_TOKENS, same_length=True):
                batch: Batch = pad(
                    [texts[i] for i in part],
                    policy=TokenPolicy(),
                    side="right",
                    fill=self._reader.fill,
                )

                def seen(site: str, states: Any, part: list[int] = part) -> None:
                    if not torch.isfinite(states).all():
                        raise ExtractionError(
                            f"{self.facts.name} gave values that are not finite at {site}: check the "
                            "weights, or take dtype='float32'."
                        )
                    see(site, part, states)

                self._reader.read(batch, list(sites), seen)
                if done is not None:
                    done(len(part))


def load_token_states(
    reference: str | Path,
    *,
    dtype: str = "float32",
    device: Literal["auto", "cpu", "cuda"] = "auto",
    accept: Collection[str] = (),
    name: str | None = None,
) -> TokenStates:
    """Load a model by reference, ready to be read token by token.

    Parameters
    ----------
    reference, dtype, device, accept, name
        As for :func:`~cospace.models.hf.load_model`.

    Raises
    ------
    AcquisitionError
        If the weights cannot be found, fetched or read.
    ExtractionError
        If the architecture is not understood.
    InputError
        For a tokenizer that makes no token of a letter.
    """
    from cospace.models.weights import resolve_weights

    weights = resolve_weights(str(reference), accept=accept)
    with quiet():
        model, tokenizer = from_folder(
            weights.folder, number_type(dtype), reference, trust_remote_code=False
        )
        facts = describe(
            model,
            reference=weights.reference,
            name=name or weights.name,
            weights_hash=weights.weights_hash,
            tokenizer=tokenizer,
        )
        letter = tokenise(tokenizer, ["a"])[0]
    if letter.special.all():
        raise InputError(
            f"The tokenizer of {facts.name} makes no token of 'a': one that reads letters is expected."
        )
    facts = replace(facts, revision=weights.revision, quantisation=weights.quantisation)
    return TokenStates(model.to(where_to_run(device)), tokenizer, facts)
