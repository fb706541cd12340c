"""From a saved vector and two models to the whole transfer: own vectors, maps, sites, controls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from cospace._numbers import check_whole
from cospace.errors import InputError, UnknownNameError
from cospace.maps.solve import EXACT
from cospace.maps.solve import Method as MapMethod
from cospace.steering.build import build
from cospace.steering.choose import CHOOSING, site_names, unseen_items
from cospace.steering.direction import METHODS
from cospace.steering.fitting import activation_maps, embedding_map
from cospace.steering.items import TEMPLATE, ChoiceItem, Contrast, split_items
from cospace.steering.score import check_answers
from cospace.steering.transfer import check_draws, matching_site, transfer
from cospace.steering.transfer_sweep import Pair, TransferSweep, sweep_transfer
from cospace.steering.vector import SteeringVector

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = ["MapKind", "MapPlan", "carry", "check_rows", "draw_items"]

MapKind = Literal["embeddings", "activations"]

FITS: tuple[MapMethod, ...] = ("least_squares", "affine", "ridge", "orthogonal")
"""Fits that need nothing but rows."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class MapPlan:
    """Which maps are fitted, and on what.

    Raises
    ------
    UnknownNameError
        For a kind of map, or a fit, that there is not.
    InputError
        Without a kind, or for one that is named twice.
    """

    kinds: tuple[MapKind, ...] = ("embeddings",)
    """``embeddings``: on the tokens that the models share. ``activations``: on states of texts."""
    embedding_method: MapMethod = "least_squares"
    """How the map of embeddings is fitted."""
    activation_method: MapMethod = "ridge"
    """How maps of activations are fitted."""
    tokens: int | None = None
    """How many shared tokens are drawn; all by default."""
    texts: tuple[str, ...] = ()
    """Texts whose states maps of activations are fitted on."""
    folds: int = 5
    """Folds of held-out R2 and retrieval, 0 for none."""
    accept: tuple[str, ...] = ()
    """Names of terms of use that are accepted."""

    def __post_init__(self) -> None:
        for name in ("kinds", "texts", "accept"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for kind in self.kinds:
            if kind not in get_args(MapKind):
                raise UnknownNameError.among(str(kind), get_args(MapKind), "kind of map")
        for method in (self.embedding_method, self.activation_method):
            if method not in FITS:
                raise UnknownNameError.among(str(method), FITS, "fit of a map between models")
        if not self.kinds or len(set(self.kinds)) < len(self.kinds):
            raise InputError(
                f"The maps {', '.join(self.kinds) or 'are none'}: embeddings, activations, or both are expected."
            )
        if "activations" in self.kinds and not self.texts:
            raise InputError(
                "A map of activations is fitted on texts, and none were given: give texts, a few hundred or more."
            )


def carry(
    vector: SteeringVector,
    *,
    source: Decoder,
    target: Decoder,
    questions: Sequence[ChoiceItem],
    coefficients: Sequence[float],
    contrast: Contrast | None = None,
    sites: str | float | Iterable[str | float] | None = None,
    plan: MapPlan | None = None,
    most: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    **options: Any,
) -> tuple[TransferSweep, dict[str, SteeringVector]]:
    """Carry a vector to another model, and score it there beside all its controls.

    The target's own vectors are made from ``contrast``, or from those of the questions that the
    vector was made from; every map is fitted once more on shuffled rows; what is scored are
    questions that the vector has not seen. Where there are several sites, which of them to read
    is chosen on the questions that it has seen.

    Parameters
    ----------
    vector
        A vector of the source.
    source, target
        The models.
    questions
        All questions of the behaviour; the vector knows which it has seen.
    coefficients
        In units of the target's states.
    contrast
        Texts that the vector was made from, where these were no questions.
    sites
        Sites of the target, by name or relative depth; by default the one of the same depth.
    plan
        Which maps; by default that of embeddings.
    most
        Most questions to score, and to choose a site on; more are drawn from. By default all.
    seed
        Seed of shuffles, random controls, drawn tokens and questions.
    progress
        Told what is done next.
    **options
        ``neutral``, ``positions``, ``template``, ``answers``, ``unit``, ``draws`` and
        ``choose_at`` of :func:`~cospace.steering.sweep_transfer`.

    Returns
    -------
    TransferSweep, dict
        The scores; and map -> the carried vector at the chosen site, or the first.

    Raises
    ------
    InputError
        For a vector that is not of the source, no texts to make the target's own vectors from,
        questions that the vector has seen, all of them, no random control, or too few rows for a map.
    """
    check_whole(most=most, or_none=True)
    check_draws(options.get("draws", 1))
    check_answers(options.get("answers", "letters"))
    if most is not None and most < 1:
        raise InputError(f"most={most} questions were asked for; at least one is needed.")
    vector.check(source)
    plan = plan or MapPlan()
    check_rows(plan, vector.width)
    say = progress or (lambda what: None)
    unseen = unseen_items(vector, questions)
    kept = {item.id for item in unseen}
    used = [item for item in questions if item.id not in kept]
    facts = target.facts
    if sites is None:
        sites = matching_site(vector.site, blocks=vector.blocks, target_blocks=facts.blocks)
    names = site_names(target, sites)
    method = vector.method if vector.method in METHODS else "mean_difference"
    own = contrast or _of_items(vector, used, options.get("template", TEMPLATE))
    # Nothing is run for a map of embeddings: what is wrong with it is told before the rest is.
    read = {}
    if "embeddings" in plan.kinds:
        say("map of embeddings")
        read["embeddings"] = _embeddings(source, target, plan, seed)
    say(f"{facts.name}: own vectors at {', '.join(names)}")
    natives = build(target, own, sites=names, method=method)
    maps: dict[str, Pair | Mapping[str, Pair]] = {}
    for kind in plan.kinds:
        if kind == "embeddings":
            maps[kind] = read[kind]
        else:
            say(f"map of {kind}")
            maps[kind] = _activations(vector, source, target, names, plan, seed)
    unseen, choosing = draw_items(unseen, most, seed), draw_items(used, most, seed)
    say(f"{len(unseen)} questions, {len(coefficients)} coefficients, {len(names)} sites")
    found = sweep_transfer(
        target,
        vector,
        maps=maps,
        natives=natives,
        items=unseen,
        coefficients=coefficients,
        choose_on=choosing if len(names) > 1 else (),
        source=source,
        seed=seed,
        **options,
    )
    vectors = {}
    for name, given in maps.items():
        native = natives[names.index(found.transfer(name).site)]
        pair = given[native.site] if isinstance(given, Mapping) else given
        vectors[name] = transfer(vector, pair[0], native=native)
    return found, vectors


def check_rows(plan: MapPlan, width: int) -> None:
    """Refuse a map of fewer rows than its fit needs, for a source of this width.

    Raises
    ------
    InputError
        For this.
    """
    asked = {
        "embeddings": (plan.embedding_method, plan.tokens, "tokens"),
        "activations": (plan.activation_method, len(plan.texts), "texts"),
    }
    for kind in plan.kinds:
        method, rows, what = asked[kind]
        least = width + 2 if method in EXACT else 2
        if rows is not None and rows < least:
            raise InputError(
                f"A map of {kind} by {method} was to be fitted on {rows} {what}: a source of width {width} needs at "
                f"least {least}; ask for more, or for ridge."
            )


def draw_items(items: Sequence[ChoiceItem], most: int | None, seed: int) -> tuple[ChoiceItem, ...]:
    """Draw ``most`` of the questions at random, in their order; all where there are no more."""
    if most is None or most >= len(items):
        return tuple(items)
    places = np.sort(np.random.default_rng(seed).choice(len(items), most, replace=False))
    return tuple(items[i] for i in places)


def _of_items(vector: SteeringVector, used: Sequence[ChoiceItem], template: str) -> Contrast:
    """Those of the questions that the vector was made from; what was only chosen on is left out."""
    if not used:
        raise InputError(
            f"The vector of {vector.model} has seen none of these questions, so that none can make the target's own: "
            "give the pairs of texts that it was made from."
        )
    whole = Contrast.of_items(used, template=template, both_orders=True)
    if len(used) > 1 and whole.fingerprint != vector.provenance.get("texts"):
        part, _ = split_items(used, 1.0 - CHOOSING)
        made = Contrast.of_items(part, template=template, both_orders=True)
        if made.fingerprint == vector.provenance.get("texts"):
            return made
    return whole


def _embeddings(source: Decoder, target: Decoder, plan: MapPlan, seed: int) -> Pair:
    real, shuffled = (
        embedding_map(
            source.facts.reference,
            target.facts.reference,
            method=plan.embedding_method,
            tokens=plan.tokens,
            rng=seed,
            accept=plan.accept,
            shuffle=shuffle,
            folds=plan.folds if shuffle is None else 0,
        )
        for shuffle in (None, seed)
    )
    return real, shuffled


def _activations(
    vector: SteeringVector,
    source: Decoder,
    target: Decoder,
    sites: Collection[str],
    plan: MapPlan,
    seed: int,
) -> dict[str, Pair]:
    found = {}
    fits = activation_maps(
        source,
        target,
        plan.texts,
        source_site=vector.site,
        target_sites=sites,
        token="last" if vector.token == "last" else "mean",
        method=plan.activation_method,
        shuffles=(None, seed),
        folds=plan.folds,
    )
    for site, (real, shuffled) in fits.items():
        found[site] = (real, shuffled)
    return found
