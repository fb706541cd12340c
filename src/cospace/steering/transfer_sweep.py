"""One vector through several maps to several sites of another model, always beside its controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cospace.errors import ContradictionError, InputError
from cospace.maps import LinearMap
from cospace.result import Result, checked, plain
from cospace.steering.curve import SteeringCurve
from cospace.steering.items import TEMPLATE, ChoiceItem
from cospace.steering.score import Answers, check_answers, steering_curve, sweep
from cospace.steering.transfer import (
    Transfer,
    check_alike,
    check_draws,
    check_finite,
    check_unit,
    scored,
    transfer,
)
from cospace.steering.vector import SteeringVector, Unit
from cospace.whole import check_names, check_once, check_p

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = ["MapSummary", "TransferSweep", "sweep_transfer"]

Pair = tuple[LinearMap, LinearMap]


@dataclass(frozen=True)
class MapSummary:
    """How a map was fitted, and how far it can be trusted: of its rows, not of what it does to a model."""

    name: str
    """What tells it from the others: ``embeddings``, ``activations``, ..."""
    site: str | None
    """Site of the target that it leads to; None where one map serves all."""
    method: str
    """How it was fitted."""
    n: int
    """Number of rows of the fit: shared tokens, or texts."""
    width: int
    """Coordinates of the source."""
    target_width: int
    """Coordinates of the target."""
    rank: int
    """Rank of the linear part."""
    source_rank: int
    """Directions of the source above the rank tolerance."""
    condition: float
    """Largest over smallest singular value of the source among them."""
    penalty: float | None
    """Ridge penalty, relative to the largest squared singular value."""
    r2: float
    """Share of the target's variance explained on the rows of the fit: in-sample."""
    held_out_r2: float | None
    """The same on rows that were not fitted."""
    retrieval: float | None
    """Share of unseen rows whose image is nearest to their own target."""
    retrieval_chance: float | None
    """The same by chance."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing it."""

    @classmethod
    def of(cls, name: str, site: str | None, linear_map: LinearMap) -> Self:
        """Take what is told of a map."""
        unseen = linear_map.held_out
        return cls(
            name=name,
            site=site,
            method=linear_map.method,
            n=linear_map.n,
            width=linear_map.width,
            target_width=linear_map.target_width,
            rank=linear_map.rank,
            source_rank=linear_map.source_rank,
            condition=linear_map.condition,
            penalty=linear_map.penalty,
            r2=linear_map.r2,
            held_out_r2=None if unseen is None else unseen.r2,
            retrieval=None if unseen is None else unseen.retrieval,
            retrieval_chance=None if unseen is None else unseen.chance,
            warnings=linear_map.warnings,
        )


@dataclass(frozen=True)
class TransferSweep(Result):
    """Curves of every map, site, condition and coefficient, all on the same questions."""

    kind: ClassVar[str] = "transfer_sweep"

    source: str
    """Model that the vector comes from."""
    target: str
    """Model that is steered."""
    source_site: str
    """Where the vector was made."""
    vector: Mapping[str, Any]
    """What is told of the vector, without its numbers."""
    maps: tuple[MapSummary, ...]
    """Every map."""
    transfers: tuple[Transfer, ...]
    """One for every map and site, in that order."""
    chosen: Mapping[str, str]
    """Map -> the site where the carried vector moved other questions most; ``native`` -> that of the
    target's own vector. Empty where nothing was chosen: one site, or no other questions."""
    chosen_on: int
    """Number of these questions."""
    same_texts: bool
    """Whether the target's own vectors were made from the very texts that the vector was made from."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What was asked for."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Command and versions, where they are told."""
    warnings: tuple[str, ...] = ()
    """What a reader must know before believing it."""

    def __post_init__(self) -> None:
        for name in ("vector", "chosen", "settings", "provenance"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def sites(self) -> tuple[str, ...]:
        """Sites of the target that were steered."""
        return tuple(dict.fromkeys(each.site for each in self.transfers))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the maps."""
        return tuple(dict.fromkeys(each.map_name for each in self.transfers))

    def transfer(self, name: str, site: str | None = None) -> Transfer:
        """Transfer through a map at a site; by default at the chosen one, or else the first.

        Raises
        ------
        InputError
            For a map or site that is not there.
        """
        wanted = self.chosen.get(name, self.sites[0]) if site is None else site
        for each in self.transfers:
            if (each.map_name, each.site) == (name, wanted):
                return each
        raise InputError(
            f"There is no transfer through {name!r} to {wanted!r}: maps {', '.join(self.names)}, "
            f"sites {', '.join(self.sites)}."
        )

    def with_provenance(self, **told: Any) -> Self:
        """The same result with more in its ``provenance``."""
        return replace(self, provenance={**self.provenance, **told})

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a map, site, condition and coefficient."""
        return [
            {
                "map": each.map_name,
                "map_method": each.map_method,
                "map_r2": each.map_r2,
                "chosen": self.chosen.get(each.map_name) == each.site,
                **row,
            }
            for each in self.transfers
            for row in each.records()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything the result holds, with the summaries of every curve."""
        return {
            **super().to_dict(),
            "transfers": [each.to_dict() for each in self.transfers],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from ``to_dict``."""
        values = {key: value for key, value in data.items() if key not in ("kind", "schema")}
        values["maps"] = tuple(checked(MapSummary, each) for each in values["maps"])
        values["transfers"] = tuple(Transfer.from_dict(each) for each in values["transfers"])
        found: Self = checked(cls, values)
        _check(found)
        return found


def _check(found: TransferSweep) -> None:
    """Refuse a saved sweep whose parts do not go together."""
    if not found.maps or not found.transfers:
        raise ContradictionError("maps and transfers: there is none")
    pairs = [(each.map_name, each.site) for each in found.transfers]
    check_once(pairs, "transfers")
    for name in found.names:
        for site in found.sites:
            if (name, site) not in pairs:
                raise ContradictionError(f"transfers: {name} at {site} is missing")
    check_names((one.name for one in found.maps), found.names, "maps")
    check_names(found.chosen, (*found.names, "native"), "chosen")
    check_names(found.chosen.values(), found.sites, "chosen")
    if not isinstance(found.vector.get("method"), str):
        raise ContradictionError("vector: it lacks method")
    for one in found.maps:
        sizes = (one.n, one.width, one.target_width)
        if min(*sizes, one.rank + 1, one.source_rank + 1) < 1:
            raise ContradictionError(f"{one.name}: a size below 1, or a rank below 0")
        numbers = ("condition", "penalty", "r2", "held_out_r2")
        check_finite(one.name, **{name: getattr(one, name) for name in numbers})
        check_p(one.name, retrieval=one.retrieval, retrieval_chance=one.retrieval_chance)
    first = found.transfers[0].conditions[0].curve
    for each in found.transfers:
        check_alike(f"{each.map_name} at {each.site}", each.conditions[0].curve, first)


def sweep_transfer(
    decoder: Decoder,
    vector: SteeringVector,
    *,
    maps: Mapping[str, Pair | Mapping[str, Pair]],
    natives: Sequence[SteeringVector],
    items: Sequence[ChoiceItem],
    coefficients: Sequence[float],
    choose_on: Sequence[ChoiceItem] = (),
    choose_at: float = 1.0,
    neutral: Sequence[str] = (),
    positions: Any = "all",
    template: str = TEMPLATE,
    answers: Answers = "letters",
    unit: Unit = "spread",
    source: Decoder | None = None,
    draws: int = 1,
    seed: int = 0,
) -> TransferSweep:
    """Steer the target with a vector of the source through every map, at every site.

    At each site all controls of :func:`~cospace.steering.evaluate_transfer` are run, at the same
    norms. Every site is scored, on the same questions; which of them to read is chosen on other
    questions, by the carried vector alone.

    Parameters
    ----------
    decoder
        The target.
    vector
        A vector of the source.
    maps
        Name -> a map and the same fit on shuffled rows; or name -> site -> such a pair, where
        every site has a map of its own.
    natives
        The target's own vectors, one for every site that is steered.
    items
        Questions that no vector was made from.
    coefficients
        In units of the target's states.
    choose_on
        Questions to choose the site on; none of ``items`` among them.
    choose_at
        Coefficient at which sites are compared, in units of the spread of the states.
    neutral, positions, template, answers, unit, source, draws, seed
        As in :func:`~cospace.steering.evaluate_transfer`.

    Raises
    ------
    InputError
        Without a map or a site, for a site without its map, questions that are scored and chosen
        on, and what one transfer refuses.
    """
    sites = [native.site for native in natives]
    if not maps or not sites or len(set(sites)) < len(sites):
        raise InputError(
            f"{len(maps)} maps and the sites {', '.join(sites) or 'none'} were given: at least one map, and different "
            "sites, are needed."
        )
    both = {item.id for item in choose_on} & {item.id for item in items}
    if both:
        raise InputError(
            f"{len(both)} questions are to be scored and to choose the site on: the score would be of the choice; "
            "give different ones."
        )
    check_unit(unit)
    check_draws(draws)
    check_answers(answers)
    scored_before: dict[tuple[str, bytes], SteeringCurve] = {}

    def curve(each: SteeringVector) -> SteeringCurve:
        key = (each.site, each.vector.tobytes())
        if key not in scored_before:
            plain = (p for c in scored_before.values() for p in c.points if not p.coefficient)
            scored_before[key] = steering_curve(
                decoder,
                each,
                items,
                coefficients,
                unit=unit,
                neutral=neutral,
                positions=positions,
                template=template,
                answers=answers,
                unsteered=next(plain, None),
            )
        return scored_before[key]

    def best(vectors: Sequence[SteeringVector]) -> str:
        asked: dict[str, Any] = {"positions": positions, "template": template, "answers": answers}
        return sweep(decoder, vectors, choose_on, choose_at, **asked)[0].site

    transfers, told = [], []
    chosen: dict[str, str] = {}
    choosing = len(sites) > 1 and bool(choose_on)
    for name, given in maps.items():
        pairs = _by_site(name, given, sites)
        if choosing:
            chosen[name] = best([transfer(vector, pairs[n.site][0], native=n) for n in natives])
        for native in natives:
            one = scored(
                decoder,
                vector,
                pairs[native.site],
                native,
                curve,
                source=source,
                draws=draws,
                seed=seed,
                name=name,
            )
            transfers.append(one)
        if isinstance(given, Mapping):
            told += [MapSummary.of(name, site, pairs[site][0]) for site in sites]
        else:
            told.append(MapSummary.of(name, None, given[0]))
    if choosing:
        chosen["native"] = best(natives)
    made_from = {native.provenance.get("texts") for native in natives}
    return TransferSweep(
        source=vector.model,
        target=decoder.facts.name,
        source_site=vector.site,
        vector=plain(vector.to_dict()),
        maps=tuple(told),
        transfers=tuple(transfers),
        chosen=chosen,
        chosen_on=len(choose_on) if choosing else 0,
        same_texts=made_from == {vector.provenance.get("texts")},
        settings={
            "answers": answers,
            "unit": unit,
            "questions": len(items),
            "neutral": len(neutral),
            "positions": str(positions),
            "random_controls": draws,
            "seed": seed,
            "coefficients": sorted(map(float, coefficients)),
        },
        warnings=tuple(
            dict.fromkeys(
                (
                    *vector.warnings,
                    *(w for n in natives for w in n.warnings),
                    *(
                        f"{one.map_name} at {one.site}: {w}"
                        for one in transfers
                        for w in one.condition("transferred").curve.warnings
                    ),
                )
            )
        ),
    )


def _by_site(
    name: str, given: Pair | Mapping[str, Pair], sites: Sequence[str]
) -> Mapping[str, Pair]:
    if not isinstance(given, Mapping):
        return dict.fromkeys(sites, given)
    absent = [site for site in sites if site not in given]
    if absent:
        raise InputError(
            f"The map {name!r} has no fit for {', '.join(absent)}: give one for every site that is steered."
        )
    return given
