"""What a model answers and how well it still predicts text, at each coefficient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np

from cospace._numbers import check_seed, check_whole
from cospace.errors import InputError, UndefinedMeasureError, UnknownNameError
from cospace.models.batching import Tokens
from cospace.result import Result
from cospace.steering.build import first_difference
from cospace.steering.curve import CurvePoint, SteeringCurve
from cospace.steering.items import TEMPLATE, ChoiceItem, check_template
from cospace.steering.reach import check_reach, items_of, side_effect, unknown_items
from cospace.steering.vector import SteeringVector, Unit

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = [
    "Answers",
    "ChoiceScores",
    "check_answers",
    "choice_scores",
    "perplexity",
    "steering_curve",
    "sweep",
]

Answers = Literal["letters", "texts"]


@dataclass(frozen=True)
class ChoiceScores(Result):
    """Two-choice scores of a model on some items, options in both orders."""

    kind: ClassVar[str] = "choice_scores"

    score: float
    """Mean over items and both orders of ``P(matching) / (P(matching) + P(other))``; 0.5 where
    the model does not tell the answers apart."""
    as_written: tuple[float, ...]
    """The same of every item, options in the order of the file."""
    swapped: tuple[float, ...]
    """The same of every item, options in the other order."""
    first_letter: float | None
    """Mean of ``P(A) / (P(A) + P(B))`` over both orders: 0.5 without a liking for a letter. None
    where texts are compared."""
    mass: float | None
    """Mean of ``P(A) + P(B)`` at that token: near 0 the model would answer something else. None
    where texts are compared."""
    n: int
    """Number of items."""

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary an item."""
        return [
            {"item": i, "as_written": a, "swapped": b, "score": (a + b) / 2}
            for i, (a, b) in enumerate(zip(self.as_written, self.swapped, strict=True))
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        for name in ("as_written", "swapped"):
            values[name] = tuple(values[name])
        return cls(**values)


def choice_scores(
    decoder: Decoder,
    items: Sequence[ChoiceItem],
    *,
    template: str = TEMPLATE,
    answers: Answers = "letters",
) -> ChoiceScores:
    """How likely the answer that shows the behaviour is, against the other.

    Each question is put with either answer; the first token in which the two texts differ is the
    letter, whatever the tokenizer makes of the brackets around it. What comes before it is read,
    and the probabilities of the two letters behind it are compared. Then the options are swapped,
    and both orders averaged, so that a liking for a letter cancels.

    A model that is too small to answer by letters still finds one text likelier than another: with
    ``answers="texts"`` the question is put without its options, each option's text is the answer,
    and P is the geometric mean of the probabilities of its tokens, from the first that differs.
    There is no order to swap then.

    Parameters
    ----------
    decoder
        The model, under steering or not.
    items
        The questions.
    template
        How a question and its answer become one text.
    answers
        ``letters`` or ``texts``.

    Raises
    ------
    InputError
        Without an item, for other ``answers``, or for a template that cannot be filled.
    """
    check_template(template)
    check_answers(answers)
    if not items:
        raise InputError("No item was given to score; at least one is needed.")
    if answers == "texts":
        return _by_texts(decoder, items, template)
    both, prompts, letters = _prompts(decoder, items, template)
    logs = decoder.next_log_probs(prompts, letters)
    share = 1.0 / (1.0 + np.exp(logs[:, 1] - logs[:, 0]))
    first = np.array([item.matching == "(A)" for item in both])
    return ChoiceScores(
        score=float(share.mean()),
        as_written=tuple(share[0::2].tolist()),
        swapped=tuple(share[1::2].tolist()),
        first_letter=float(np.where(first, share, 1.0 - share).mean()),
        mass=float(np.exp(logs).sum(axis=1).mean()),
        n=len(items),
    )


def check_answers(answers: str) -> None:
    """Refuse an unknown way to compare answers."""
    if answers not in get_args(Answers):
        raise UnknownNameError.among(str(answers), get_args(Answers), "way to compare answers")


def _prompts(
    decoder: Decoder, items: Sequence[ChoiceItem], template: str
) -> tuple[list[ChoiceItem], list[Tokens], list[list[int]]]:
    """Items in both orders, what comes before their letter, and both letters."""
    both = [each for item in items for each in (item, item.swapped())]
    texts = decoder.encode(
        [
            template.format(question=item.question, answer=answer)
            for item in both
            for answer in (item.matching, item.other)
        ]
    )
    prompts, letters = [], []
    for i in range(len(both)):
        match, other = texts[2 * i], texts[2 * i + 1]
        place = first_difference(match, other, f"item {i // 2}")
        if place == 0:
            raise InputError(f"Item {i // 2} has nothing before its answer: put a question there.")
        prompts.append(Tokens(match.ids[:place], match.special[:place]))
        letters.append([int(match.ids[place]), int(other.ids[place])])
    return both, prompts, letters


def _answered(decoder: Decoder, items: Sequence[ChoiceItem], template: str) -> list[Tokens]:
    """Every question without its options, with either answer."""
    return decoder.encode(
        [
            template.format(question=item.stem, answer=answer)
            for item in items
            for answer in item.texts
        ]
    )


def _by_texts(decoder: Decoder, items: Sequence[ChoiceItem], template: str) -> ChoiceScores:
    texts = _answered(decoder, items, template)
    places = [
        max(first_difference(texts[2 * i], texts[2 * i + 1], f"item {i}"), 1)
        for i in range(len(items))
    ]
    logs = decoder.log_likelihoods(texts, places=np.repeat(places, 2).tolist())
    shares = []
    for i in range(len(items)):
        match, other = (each.mean() for each in logs[2 * i : 2 * i + 2])
        shares.append(float(1.0 / (1.0 + np.exp(other - match))))
    found = tuple(shares)
    return ChoiceScores(float(np.mean(found)), found, found, None, None, len(items))


def perplexity(decoder: Decoder, texts: Sequence[str]) -> float:
    """``exp(-mean log p(token | those before it))`` over all tokens but the first of every text.

    Raises
    ------
    InputError
        Where no text has two tokens.
    """
    logs = [each for each in decoder.log_likelihoods(decoder.encode(texts)) if len(each)]
    if not logs:
        raise InputError("No text has two tokens: there is nothing to predict; give longer texts.")
    return float(np.exp(-np.mean(np.concatenate(logs))))


def steering_curve(
    decoder: Decoder,
    vector: SteeringVector,
    items: Sequence[ChoiceItem],
    coefficients: Sequence[float],
    *,
    unit: Unit = "spread",
    neutral: Sequence[str] = (),
    positions: Any = "all",
    template: str = TEMPLATE,
    answers: Answers = "letters",
    unsteered: CurvePoint | None = None,
    draws: int = 0,
    seed: int = 0,
) -> SteeringCurve:
    """Score a vector at each coefficient; 0 is the model as it is.

    Parameters
    ----------
    decoder
        The model that the vector is for.
    vector
        The vector.
    items
        Questions that the vector was not made from.
    coefficients
        All different.
    unit
        What a coefficient of 1 stands for, see :meth:`SteeringVector.applied`.
    neutral
        Texts whose perplexity shows the side effect.
    positions
        Which tokens the vector is added to, see :meth:`SteeringVector.applied`.
    template, answers
        See :func:`choice_scores`.
    unsteered
        The point at 0 of another curve with the same model, questions and options: it need not be
        scored again.
    draws
        Number of random directions that are added at the same norms, at the smallest and the
        largest coefficient: what any push of this size does.
    seed
        Seed of these.

    Raises
    ------
    InputError
        Without a coefficient, for equal ones, a number of draws below 0, or positions outside all
        questions.
    UndefinedMeasureError
        Where a push is so large that the model gives no probabilities.
    """
    check_whole(draws=draws)
    check_seed(seed)
    if draws < 0:
        raise InputError(f"draws={draws} random directions were asked for: 0 or more are expected.")
    values = sorted(float(each) for each in coefficients)
    if not values or len(set(values)) < len(values):
        raise InputError(
            f"The coefficients {', '.join(f'{v:g}' for v in values) or 'are missing'}: different numbers are needed."
        )
    vector.check(decoder)
    missed = _missed(decoder, items, template, answers, positions)

    def point(each: SteeringVector, value: float, texts: Sequence[str]) -> CurvePoint:
        steered = (
            each.applied(decoder, value, unit=unit, positions=positions) if value else nullcontext()
        )
        with steered:
            found = choice_scores(decoder, items, template=template, answers=answers)
            side = perplexity(decoder, texts) if texts else None
        if not np.isfinite(found.score):
            raise UndefinedMeasureError(
                f"{decoder.facts.name} gives no probabilities any more at the coefficient {value:g}: push less."
            )
        both = zip(found.as_written, found.swapped, strict=True)
        single = tuple((a + b) / 2 for a, b in both)
        return CurvePoint(value, found.score, found.mass, side, single)

    points = [
        replace(unsteered, coefficient=value)
        if unsteered is not None and not value
        else point(vector, value, neutral)
        for value in values
    ]
    plain = {p.coefficient: p.score for p in points if not p.coefficient}
    rng = np.random.default_rng(seed)
    random = []
    for _ in range(draws):
        direction = rng.normal(size=vector.width)
        push = replace(vector, vector=direction).scaled(vector.norm)
        first, last = (
            plain[value] if not value else point(push, value, ()).score
            for value in (values[0], values[-1])
        )
        random.append((first, last))
    made_from = items_of(vector.provenance) or frozenset()
    return SteeringCurve(
        model=decoder.facts.name,
        site=vector.site,
        method=vector.method,
        unit=unit,
        answers=answers,
        points=tuple(points),
        n=len(items),
        seen=sum(item.id in made_from for item in items),
        random=tuple(random),
        settings={
            "positions": str(positions),
            "neutral": len(neutral),
            "random_controls": draws,
            "seed": seed,
        },
        warnings=(
            *missed,
            *unknown_items(vector.provenance),
            *side_effect({p.coefficient: p.perplexity for p in points}),
        ),
    )


def _missed(
    decoder: Decoder,
    items: Sequence[ChoiceItem],
    template: str,
    answers: Answers,
    positions: Any,
) -> tuple[str, ...]:
    """Refuse positions outside all questions; a warning for those outside some."""
    if (isinstance(positions, str) and positions == "all") or not items:
        return ()
    check_template(template)
    check_answers(answers)
    if answers == "texts":
        texts = _answered(decoder, items, template)
        return check_reach(positions, [len(text) for text in texts], more=-1)
    return check_reach(positions, [len(t) for t in _prompts(decoder, items, template)[1]], more=0)


def sweep(
    decoder: Decoder,
    vectors: Sequence[SteeringVector],
    items: Sequence[ChoiceItem],
    coefficient: float,
    *,
    positions: Any = "all",
    template: str = TEMPLATE,
    answers: Answers = "letters",
) -> tuple[SteeringVector, tuple[SteeringCurve, ...]]:
    """Find the vector that moves the score most from ``-coefficient`` to ``coefficient``.

    The choice is a search: score the vector that it finds on items that were neither built from
    nor searched with.

    Parameters
    ----------
    decoder
        The model that the vectors are for.
    vectors
        Vectors of several sites, say.
    items
        Questions to choose by.
    coefficient
        In units of the spread of the states, above 0.
    positions, template, answers
        As in :func:`steering_curve`.

    Returns
    -------
    SteeringVector, tuple of SteeringCurve
        The best vector, and the curve of every one.

    Raises
    ------
    InputError
        Without a vector, or for a coefficient that is not above 0.
    """
    if not vectors or not coefficient > 0.0:
        raise InputError(
            f"{len(vectors)} vectors and a coefficient of {coefficient} were given; at least one, and a number above 0 "
            "are needed."
        )
    curves = tuple(
        steering_curve(
            decoder,
            vector,
            items,
            [-coefficient, coefficient],
            positions=positions,
            template=template,
            answers=answers,
        )
        for vector in vectors
    )
    best = max(range(len(curves)), key=lambda i: curves[i].span)
    return vectors[best], curves
