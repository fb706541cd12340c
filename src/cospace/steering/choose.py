"""Build on some questions, choose the site on others, and leave the rest for scoring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cospace.errors import InputError
from cospace.models.base import resolve_sites
from cospace.steering.build import build
from cospace.steering.curve import SteeringCurve
from cospace.steering.direction import Method
from cospace.steering.items import TEMPLATE, ChoiceItem, Contrast, split_items
from cospace.steering.reach import items_of
from cospace.steering.score import Answers, check_answers, sweep
from cospace.steering.vector import SteeringVector

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = ["build_chosen", "site_names", "unseen_items"]

CHOOSING = 0.3
"""Share of the questions in use that a site is chosen on, where there are several."""


def build_chosen(
    decoder: Decoder,
    items: Sequence[ChoiceItem],
    *,
    sites: str | float | Iterable[str | float] = 0.5,
    method: Method = "mean_difference",
    share: float = 0.7,
    coefficient: float = 1.0,
    template: str = TEMPLATE,
    answers: Answers = "letters",
    contrast: Contrast | None = None,
) -> tuple[SteeringVector, tuple[SteeringCurve, ...]]:
    """Vector of a behaviour at the site that moves it most, without looking at the last questions.

    A share of the questions is in use: all of it to build, or, where there are several sites,
    seven tenths to build and the rest to choose the site on. Every question is read with its
    options in both orders. What is not in use is for scoring; the vector knows which that is.

    Parameters
    ----------
    decoder
        The model.
    items
        Questions.
    sites
        One or more sites, by name or relative depth.
    method
        How the direction is found.
    share
        Share of the questions in use.
    coefficient
        Where sites are compared, in units of the spread of the states.
    template
        How a question and its answer become one text.
    answers
        How sites are compared, see :func:`~cospace.steering.choice_scores`.
    contrast
        What to build from instead of the questions, which then only choose the site.

    Returns
    -------
    SteeringVector, tuple of SteeringCurve
        The vector, and what every site did to the questions that it was chosen on; empty for
        one site.

    Raises
    ------
    InputError
        For too few questions, a site that is named twice, or sites and templates that are none.
    """
    check_answers(answers)
    names = site_names(decoder, sites)
    if contrast is not None and len(names) == 1:
        return build(decoder, contrast, sites=names, method=method)[0], ()
    used, _ = split_items(items, share)
    if len(names) == 1:
        return build(decoder, _contrast(used, template), sites=names, method=method)[0], ()
    made, others = split_items(used, 1.0 - CHOOSING) if contrast is None else ((), used)
    source = contrast or _contrast(made, template)
    vectors = build(decoder, source, sites=names, method=method)
    best, curves = sweep(decoder, vectors, others, coefficient, template=template, answers=answers)
    known = {
        **best.provenance,
        "items": sorted(item.id for item in used),
        "chosen_among": [vector.site for vector in vectors],
        "chosen_on": len(others),
    }
    return replace(best, provenance=known), curves


def site_names(decoder: Decoder, asked: str | float | Iterable[str | float]) -> list[str]:
    """Names of the sites that are asked for, each once.

    Raises
    ------
    InputError
        For a site that is named twice, or that there is not.
    """
    facts = decoder.facts
    each = [asked] if isinstance(asked, str | float | int) else list(asked)
    places = resolve_sites(each, blocks=facts.blocks, final_norm=facts.final_norm, model=facts.name)
    if len(places) < len(each):
        raise InputError(
            f"The sites {', '.join(map(str, each))} are {len(places)} of {facts.name}, "
            f"{', '.join(place.name for place in places)}: name each once."
        )
    return [place.name for place in places]


def unseen_items(vector: SteeringVector, items: Sequence[ChoiceItem]) -> tuple[ChoiceItem, ...]:
    """Questions that the vector was neither built nor chosen with.

    Raises
    ------
    InputError
        Where none is left.
    """
    seen = items_of(vector.provenance) or frozenset()
    left = tuple(item for item in items if item.id not in seen)
    if not left:
        raise InputError(
            f"All {len(items)} questions were used to make the vector: score it on others, or make it "
            "from a smaller share."
        )
    return left


def _contrast(items: Sequence[ChoiceItem], template: str) -> Contrast:
    return Contrast.of_items(items, template=template, both_orders=True)
