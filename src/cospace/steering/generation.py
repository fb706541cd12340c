"""What a model writes with and without a steering vector, scored by any scorer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from cospace._numbers import check_whole
from cospace.errors import ContradictionError, InputError, TextTooLongError
from cospace.models.batching import Tokens, added_text
from cospace.result import Result, checked
from cospace.steering.curve import LEAST, check_points, mean_interval
from cospace.steering.lexicon import words_of
from cospace.steering.reach import check_reach, side_effect
from cospace.steering.score import perplexity
from cospace.steering.vector import SteeringVector, Unit
from cospace.whole import check_lengths, check_order, check_p

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = ["ContinuationPoint", "Continuations", "Scorer", "continuations"]

Scorer: TypeAlias = Callable[[Sequence[str]], Sequence[float | None]]
"""Texts in, one number a text out; None where a text cannot be scored. Its ``name`` is recorded, and
its ``threshold``, above which a text counts, where it has one."""


@dataclass(frozen=True)
class ContinuationPoint:
    """What a model writes at one coefficient."""

    coefficient: float
    """The coefficient; 0 is the model as it is."""
    score: float | None
    """Mean score of the continuations that can be scored; None where none can."""
    low: float | None
    """Lower end of its 95 % interval over prompts; None for fewer than 5."""
    high: float | None
    """Upper end."""
    change: float | None
    """Mean difference from the same prompts' scores at 0, None at 0 itself."""
    change_low: float | None
    """Lower end of its 95 % interval over prompts."""
    change_high: float | None
    """Upper end."""
    above: float | None
    """Share of the scored continuations that lie above the threshold; None without one."""
    unscored: int
    """Number of continuations that could not be scored, such as empty ones."""
    words: float
    """Mean number of words of a continuation."""
    distinct: float | None
    """Different words over words, mean over continuations that have words: low where a model
    repeats itself, which scores do not tell from a change of behaviour."""
    perplexity: float | None
    """Perplexity of neutral texts at this coefficient, where there are any."""
    by_prompt: tuple[float | None, ...]
    """Score of every continuation."""
    texts: tuple[str, ...]
    """The continuations; empty where they were not kept."""


@dataclass(frozen=True)
class Continuations(Result):
    """Scores of what a model writes, over the coefficients of a vector."""

    kind: ClassVar[str] = "continuations"

    model: str
    """The model."""
    site: str | None
    """Where the vector was added; None without one."""
    method: str | None
    """How it was made."""
    unit: str
    """What a coefficient of 1 adds."""
    scorer: str
    """Name of the scorer."""
    threshold: float | None
    """Score above which a continuation counts."""
    points: tuple[ContinuationPoint, ...]
    """One a coefficient, in ascending order."""
    n: int
    """Number of prompts."""
    new_tokens: int
    """Most tokens of a continuation; each is the likeliest one."""
    cut: int
    """Number of prompts that were cut, as was asked for."""
    prompts_hash: str
    """SHA-256 of the prompts."""
    prompts: tuple[str, ...] = ()
    """The prompts as they were given; empty where texts were not kept."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else was asked for."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Command and versions, where they are told."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing it."""

    def __post_init__(self) -> None:
        for name in ("settings", "provenance"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def point(self, coefficient: float) -> ContinuationPoint:
        """What was found at one coefficient.

        Raises
        ------
        InputError
            For a coefficient that was not run.
        """
        for each in self.points:
            if each.coefficient == coefficient:
                return each
        known = ", ".join(f"{p.coefficient:g}" for p in self.points)
        raise InputError(f"Nothing was written at {coefficient:g}: {known} were run.")

    def with_provenance(self, **told: Any) -> Self:
        """The same result with more in its ``provenance``."""
        return replace(self, provenance={**self.provenance, **told})

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a coefficient."""
        left_out = ("by_prompt", "texts")
        return [
            {
                "model": self.model,
                "site": self.site,
                "method": self.method,
                "scorer": self.scorer,
                **{k: v for k, v in vars(point).items() if k not in left_out},
                "n": self.n,
            }
            for point in self.points
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        values["points"] = tuple(checked(ContinuationPoint, point) for point in values["points"])
        found: Self = checked(cls, values)
        _check(found)
        return found


def _check(found: Continuations) -> None:
    """Refuse a saved result whose parts do not go together."""
    check_points(found.points, found.unit, found.n)
    if (found.site is None) is not (found.method is None):
        raise ContradictionError("site and method: one of them is missing")
    if found.new_tokens < 1 or not 0 <= found.cut <= found.n:
        raise ContradictionError(
            f"{found.new_tokens} new tokens, and {found.cut} of {found.n} prompts cut"
        )
    if found.threshold is not None and not np.isfinite(found.threshold):
        raise ContradictionError(f"threshold is {found.threshold}")
    every = found.points[0].by_prompt
    if len(every) != found.n:
        raise ContradictionError(f"{len(every)} scores for {found.n} prompts")
    if found.prompts:
        check_lengths("the result", every, prompts=found.prompts)
    for p in found.points:
        where = f"{p.coefficient:g}"
        check_lengths(where, every, by_prompt=p.by_prompt)
        if p.texts:
            check_lengths(where, every, texts=p.texts)
        _check_scores(p, where)


def _check_scores(p: ContinuationPoint, where: str) -> None:
    lost = p.by_prompt.count(None)
    if p.unscored != lost:
        raise ContradictionError(f"{where}: {p.unscored} unscored, where {lost} have no score")
    if (p.score is None) is not (lost == len(p.by_prompt)):
        raise ContradictionError(f"{where}: the mean score and those of single prompts")
    for low, high in ((p.low, p.high), (p.change_low, p.change_high)):
        if (low is None) is not (high is None):
            raise ContradictionError(f"{where}: an interval has one end")
    told = (p.score, p.low, p.high, p.change, p.change_low, p.change_high, p.words, *p.by_prompt)
    if not all(np.isfinite(one) for one in told if one is not None) or p.words < 0.0:
        raise ContradictionError(f"{where}: a number that there cannot be")
    check_order(where, low=p.low, high=p.high)
    check_order(where, change_low=p.change_low, change_high=p.change_high)
    check_p(where, above=p.above, distinct=p.distinct)


def continuations(
    decoder: Decoder,
    prompts: Sequence[str],
    scorer: Scorer,
    *,
    vector: SteeringVector | None = None,
    coefficients: Sequence[float] = (),
    unit: Unit = "spread",
    positions: Any = "all",
    new_tokens: int = 20,
    prompt_tokens: int | None = None,
    neutral: Sequence[str] = (),
    keep: bool = True,
) -> Continuations:
    """Let a model continue prompts with and without a vector, and score what it adds.

    The likeliest token is taken each time, so that a run can be repeated; the continuation alone
    is scored, never the prompt. Coefficient 0, the model as it is, is always run, and every other
    is compared with it prompt by prompt.

    Parameters
    ----------
    decoder
        The model.
    prompts
        What is to be continued.
    scorer
        What scores a list of texts: a :class:`~cospace.steering.WordList`, Perspective, a text
        classifier, or any function.
    vector
        What is added; without one, the model is run as it is alone.
    coefficients
        How much of it, see :meth:`SteeringVector.applied`.
    unit, positions
        As there.
    new_tokens
        Most tokens of a continuation.
    prompt_tokens
        Tokens that a prompt is cut to; by default none is cut.
    neutral
        Texts whose perplexity shows the side effect.
    keep
        Whether the result keeps prompts and continuations.

    Raises
    ------
    InputError
        Without a prompt, for equal coefficients, coefficients or positions without a vector,
        positions outside all that is read, numbers below 1, or a scorer that does not give one number a text.
    TextTooLongError
        For a prompt that leaves no room for its continuation.
    """
    check_whole(new_tokens=new_tokens)
    check_whole(prompt_tokens=prompt_tokens, or_none=True)
    if not prompts:
        raise InputError("No prompt was given to continue; at least one is needed.")
    if new_tokens < 1 or (prompt_tokens is not None and prompt_tokens < 1):
        raise InputError(
            f"new_tokens={new_tokens} and prompt_tokens={prompt_tokens}: numbers from 1 are expected."
        )
    values = sorted({0.0, *map(float, coefficients)})
    if len(set(map(float, coefficients))) < len(coefficients):
        raise InputError("A coefficient is given twice: different numbers are needed.")
    if vector is None and len(values) > 1:
        raise InputError(
            f"The coefficients {', '.join(f'{v:g}' for v in values)} were given without a vector: give one, or no "
            "coefficients."
        )
    if vector is not None:
        vector.check(decoder)
    tokens, cut = _prompts(decoder, prompts, prompt_tokens, new_tokens)
    missed = _missed(tokens, new_tokens, positions, vector)
    threshold = getattr(scorer, "threshold", None)
    found: dict[float, tuple[list[str], list[float | None], float | None]] = {}
    for value in values:
        steered = (
            nullcontext()
            if vector is None or not value
            else vector.applied(decoder, value, unit=unit, positions=positions)
        )
        with steered:
            made = decoder.generate(tokens, new_tokens)
            side = perplexity(decoder, neutral) if neutral else None
        both = zip(tokens, made, strict=True)
        texts = [added_text(decoder.tokenizer, prompt, new) for prompt, new in both]
        found[value] = (texts, _scored(scorer, texts), side)
    return Continuations(
        model=decoder.facts.name,
        site=None if vector is None else vector.site,
        method=None if vector is None else vector.method,
        unit=unit,
        scorer=str(getattr(scorer, "name", getattr(scorer, "__name__", type(scorer).__name__))),
        threshold=threshold,
        points=tuple(
            _point(value, *found[value], found[0.0][1], threshold, keep=keep) for value in values
        ),
        n=len(prompts),
        new_tokens=new_tokens,
        cut=cut,
        prompts_hash=hashlib.sha256(json.dumps(list(prompts)).encode()).hexdigest(),
        prompts=tuple(prompts) if keep else (),
        settings={
            "prompt_tokens": prompt_tokens,
            "positions": str(positions),
            "neutral": len(neutral),
        },
        warnings=(*missed, *side_effect({value: each[2] for value, each in found.items()})),
    )


def _missed(
    prompts: Sequence[Tokens], new_tokens: int, positions: Any, vector: SteeringVector | None
) -> tuple[str, ...]:
    """Refuse positions without a vector, or outside all that is read; a warning for some."""
    if isinstance(positions, str) and positions == "all":
        return ()
    if vector is None:
        raise InputError(
            f"positions={positions!r} were given without a vector: give one, or no positions."
        )
    return check_reach(positions, [len(each) for each in prompts], more=new_tokens - 1)


def _prompts(
    decoder: Decoder, prompts: Sequence[str], most: int | None, new_tokens: int
) -> tuple[list[Tokens], int]:
    tokens, cut = [], 0
    for i, text in enumerate(decoder.encode(prompts)):
        if most is not None and len(text) > most:
            text = Tokens(text.ids[:most], text.special[:most])
            cut += 1
        room = decoder.max_tokens
        if room is not None and len(text) + new_tokens > room:
            raise TextTooLongError(
                f"{decoder.facts.name} reads at most {room} tokens, and prompt {i} has {len(text)}, with {new_tokens} "
                "to be written: cut prompts (prompt_tokens), or ask for fewer."
            )
        tokens.append(text)
    return tokens, cut


def _scored(scorer: Scorer, texts: Sequence[str]) -> list[float | None]:
    given = list(scorer(texts))
    if len(given) != len(texts):
        raise InputError(
            f"The scorer gave {len(given)} scores for {len(texts)} texts: one number a text, or None, is expected."
        )
    scores: list[float | None] = []
    for one in given:
        number = None if one is None else float(one)
        if number is not None and not np.isfinite(number):
            raise InputError(
                f"The scorer gave {number} for a text: a finite number is expected, or None where it has no score."
            )
        scores.append(number)
    return scores


def _point(
    coefficient: float,
    texts: list[str],
    scores: list[float | None],
    side: float | None,
    plain: list[float | None],
    threshold: float | None,
    *,
    keep: bool,
) -> ContinuationPoint:
    held = [one for one in scores if one is not None]
    both = zip(scores, plain, strict=True)
    changes = [one - other for one, other in both if one is not None and other is not None]
    if coefficient == 0.0:
        changes = []
    low, high = mean_interval(held) if len(held) >= LEAST else (None, None)
    ends = mean_interval(changes) if len(changes) >= LEAST else (None, None)
    words = [words_of(text) for text in texts]
    spoken = [len(set(each)) / len(each) for each in words if each]
    return ContinuationPoint(
        coefficient=coefficient,
        score=float(np.mean(held)) if held else None,
        low=low,
        high=high,
        change=float(np.mean(changes)) if changes else None,
        change_low=ends[0],
        change_high=ends[1],
        above=None
        if threshold is None or not held
        else sum(one > threshold for one in held) / len(held),
        unscored=len(scores) - len(held),
        words=float(np.mean([len(each) for each in words])),
        distinct=float(np.mean(spoken)) if spoken else None,
        perplexity=side,
        by_prompt=tuple(scores),
        texts=tuple(texts) if keep else (),
    )
