"""Carry a steering vector from one model to another, beside its controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from cospace._numbers import check_whole
from cospace.errors import ContradictionError, InputError
from cospace.maps import LinearMap
from cospace.result import Result, checked
from cospace.steering.curve import LEAST, SteeringCurve, mean_interval
from cospace.steering.items import TEMPLATE, ChoiceItem
from cospace.steering.reach import items_of
from cospace.steering.score import Answers, check_answers, steering_curve
from cospace.steering.vector import Floats, SteeringVector, Unit
from cospace.whole import check_names, check_once

if TYPE_CHECKING:
    from cospace.models.decoder import Decoder

__all__ = ["CONDITIONS", "Carried", "Transfer", "evaluate_transfer", "matching_site", "transfer"]

CONDITIONS: Mapping[str, str] = {
    "transferred": "the vector, through the map",
    "native": "the target's own vector: the ceiling",
    "shuffled_rows": "the vector, through the same fit on rows that do not belong together",
    "random_map": "the vector, through a map of random numbers",
    "random_direction": "a random direction",
}


def matching_site(site: str, *, blocks: int, target_blocks: int) -> str:
    """Site of the same relative depth in a model of another number of blocks.

    Block i ends at depth (i + 1) / L; the block of the target that ends nearest to it is taken,
    the earlier of two.

    Raises
    ------
    InputError
        For a site that no model of ``blocks`` blocks has.

    Examples
    --------
    >>> matching_site("block.14", blocks=30, target_blocks=18)
    'block.8'
    >>> matching_site("embed", blocks=30, target_blocks=18)
    'embed'
    """
    if site in ("embed", "final_norm"):
        return site
    number = site.removeprefix("block.")
    if not (site.startswith("block.") and number.isdecimal() and int(number) < blocks):
        raise InputError(
            f"{site!r} is no site of a model of {blocks} blocks: embed, block.i or final_norm."
        )
    place = (int(number) + 1) / blocks * target_blocks
    return f"block.{max(int(np.ceil(place - 0.5)) - 1, 0)}"


def transfer(
    vector: SteeringVector,
    linear_map: LinearMap,
    *,
    native: SteeringVector,
    unit: Unit = "residual",
) -> SteeringVector:
    """Map a vector to the model and site of ``native``, at the same norm relative to the states.

    ``v' = (|v| / r) r' * directions(v) / |directions(v)|``, r and r' the mean norms of the states
    of source and target, or their spreads: a map that was fitted elsewhere in the models says
    nothing of lengths.

    Parameters
    ----------
    vector
        A vector of the source.
    linear_map
        Any map from the source's coordinates to the target's.
    native
        A vector of the target at the site that it shall be added to.
    unit
        What r is: ``residual``, the mean norm of the states, or their ``spread``.

    Raises
    ------
    InputError
        For a map of other widths, or one that takes the vector to zero.
    """
    _check_widths(vector, linear_map, native)
    direction = linear_map.directions(vector.vector)
    kind = "a map" if linear_map.shuffle is None else "a shuffled map"
    if not direction.any():
        raise InputError(
            f"The map takes the vector of {vector.model} to zero: it knows nothing of that direction; fit "
            "it on more rows."
        )
    items = [items_of(each.provenance) for each in (vector, native)]
    known = [each for each in items if each is not None]
    return replace(
        _placed(direction, native, vector.norm / vector.unit(unit) * native.unit(unit)),
        method=f"{vector.method} through {kind}",
        provenance={
            "items": sorted(frozenset().union(*known)) if len(known) == len(items) else None,
            "from": vector.to_dict(),
            "map": linear_map.to_dict(),
            "cosine_to_native": _cosine(direction, native.vector),
            "gain": float(np.linalg.norm(direction) / vector.norm),
        },
    )


def _placed(direction: Floats, native: SteeringVector, norm: float) -> SteeringVector:
    return replace(native, vector=norm / np.linalg.norm(direction) * direction, warnings=())


def _check_widths(vector: SteeringVector, linear_map: LinearMap, native: SteeringVector) -> None:
    if (linear_map.width, linear_map.target_width) != (vector.width, native.width):
        raise InputError(
            f"The map goes from width {linear_map.width} to {linear_map.target_width}, and the vectors of "
            f"{vector.model} and {native.model} have widths {vector.width} and {native.width}: fit it "
            "on these two models, in this direction."
        )


def _cosine(a: Floats, b: Floats) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@dataclass(frozen=True)
class Carried:
    """One condition of a transfer."""

    condition: str
    """A name in :data:`CONDITIONS`; random ones are numbered."""
    cosine: float
    """Cosine to the native vector."""
    nearest: tuple[str, ...]
    """Tokens whose rows of the target's head are nearest to it."""
    curve: SteeringCurve
    """What it does to the target."""


@dataclass(frozen=True)
class Transfer(Result):
    """A transferred vector beside its controls, all at the same norms."""

    kind: ClassVar[str] = "transfer"

    source: str
    """Model that the vector comes from."""
    target: str
    """Model that is steered."""
    source_site: str
    """Where the vector was made."""
    site: str
    """Where it is added."""
    map_method: str
    """How the map was fitted."""
    map_r2: float | None
    """Held-out R2 of the map, None where it has none."""
    map_rank: int
    """Rank of the map."""
    nearest_at_source: tuple[str, ...]
    """Tokens nearest to the vector in its own model, where that was given."""
    conditions: tuple[Carried, ...]
    """The transfer and all its controls."""
    seed: int
    """Seed of the random controls."""
    map_name: str = "map"
    """What tells the map from others, such as ``embeddings`` or ``activations``."""

    def condition(self, name: str) -> Carried:
        """One condition by its name."""
        return next(each for each in self.conditions if each.condition == name)

    @property
    def recovered(self) -> float | None:
        """Span of the transferred vector over that of the native one; None where that is 0."""
        ceiling = self.condition("native").curve.span
        return self.condition("transferred").curve.span / ceiling if ceiling else None

    def excess(self, control: str) -> tuple[float, float, float] | None:
        """Span of the transferred vector above that of a control, and its 95 % interval.

        Question by question, over samples of the questions; None where there are too few, or single
        scores were not kept.
        """
        spans = [self.condition(name).curve.spans for name in ("transferred", control)]
        if min(map(len, spans)) < LEAST:
            return None
        gap = spans[0] - spans[1]
        return (float(gap.mean()), *mean_interval(gap))

    @property
    def p_random(self) -> float:
        """Share of random maps and directions whose span is as large, ``(1 + b) / (1 + m)``.

        Any push of this size moves a model somewhere: intervals over questions say nothing of how
        far, this does. With m of them it is at least 1 / (1 + m).
        """
        span = self.condition("transferred").curve.span
        random = [
            each.curve.span for each in self.conditions if each.condition.startswith("random_")
        ]
        return (1 + sum(one >= span - 1e-12 for one in random)) / (1 + len(random))

    def to_dict(self) -> dict[str, Any]:
        """Everything the result holds, with the summaries of every curve."""
        return {
            **super().to_dict(),
            "conditions": [
                {
                    "condition": each.condition,
                    "cosine": each.cosine,
                    "nearest": list(each.nearest),
                    "curve": each.curve.to_dict(),
                }
                for each in self.conditions
            ],
            "recovered": self.recovered,
            "p_random": self.p_random,
        }

    def records(self) -> list[dict[str, Any]]:
        """One flat dictionary a condition and coefficient."""
        return [
            {"condition": each.condition, "cosine": each.cosine, **point}
            for each in self.conditions
            for point in each.curve.records()
        ]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild the result from ``to_dict``."""
        left_out = ("kind", "schema", "recovered", "p_random")
        values = {key: value for key, value in data.items() if key not in left_out}
        values["conditions"] = tuple(
            checked(Carried, {**each, "curve": SteeringCurve.from_dict(each["curve"])})
            for each in values["conditions"]
        )
        found: Self = checked(cls, values)
        _check(found)
        return found


def _check(found: Transfer) -> None:
    """Refuse a saved transfer without a control, or whose curves are not of the same questions."""
    where = f"{found.map_name} at {found.site}"
    names = [each.condition for each in found.conditions]
    check_once(names, where)
    kinds = {name.partition(".")[0] for name in names}
    check_names(sorted(kinds), list(CONDITIONS), where)
    absent = [name for name in CONDITIONS if name not in kinds]
    if absent:
        raise ContradictionError(f"{where}: {', '.join(absent)} is missing")
    check_finite(where, map_r2=found.map_r2)
    first = found.conditions[0].curve
    for each in found.conditions:
        one = f"{where}, {each.condition}"
        if not abs(each.cosine) <= 1.0 + 1e-9:
            raise ContradictionError(f"{one}: cosine is {each.cosine:g}")
        check_alike(one, each.curve, first)


def check_finite(where: str, **values: float | None) -> None:
    """Refuse a number of a saved result that is not finite."""
    for name, value in values.items():
        if value is not None and not np.isfinite(value):
            raise ContradictionError(f"{where}: {name} is {value:g}")


def check_alike(where: str, curve: SteeringCurve, first: SteeringCurve) -> None:
    """Refuse a curve of other coefficients or questions than the first."""
    one, two = (
        (*(p.coefficient for p in each.points), each.n, len(each.points[0].by_item))
        for each in (curve, first)
    )
    if one != two:
        raise ContradictionError(f"{where}: other coefficients or questions than the others")


def evaluate_transfer(
    decoder: Decoder,
    vector: SteeringVector,
    *,
    linear_map: LinearMap,
    shuffled: LinearMap,
    native: SteeringVector,
    items: Sequence[ChoiceItem],
    coefficients: Sequence[float],
    neutral: Sequence[str] = (),
    positions: Any = "all",
    template: str = TEMPLATE,
    answers: Answers = "letters",
    unit: Unit = "spread",
    source: Decoder | None = None,
    draws: int = 1,
    seed: int = 0,
) -> Transfer:
    """Steer the target with a vector of the source, and with everything that should do less or more.

    Controls are never left out: the same fit on shuffled rows, a map of random numbers, a random
    direction, and the target's own vector as the ceiling. All are added at the same norms,
    coefficients times the spread of the target's states, or their mean norm.

    Parameters
    ----------
    decoder
        The target.
    vector
        A vector of the source.
    linear_map
        The map from source to target.
    shuffled
        The same fit on shuffled rows: ``fit_map(..., shuffle=seed)``.
    native
        The target's own vector at the site that is steered.
    items
        Questions that neither vector was made from.
    coefficients
        In units of the target's states.
    neutral, positions, template, answers, unit
        As in :func:`~cospace.steering.steering_curve`.
    source
        The source's model, for the tokens that are nearest to the vector there.
    draws
        Number of random maps and of random directions.
    seed
        Seed of these.

    Raises
    ------
    InputError
        For maps of other widths, a ``shuffled`` map whose rows are in order, a real one whose
        rows are not, or no random control.
    """
    check_unit(unit)
    check_draws(draws)
    check_answers(answers)
    return scored(
        decoder,
        vector,
        (linear_map, shuffled),
        native,
        lambda each: steering_curve(
            decoder,
            each,
            items,
            coefficients,
            neutral=neutral,
            positions=positions,
            template=template,
            answers=answers,
            unit=unit,
        ),
        source=source,
        draws=draws,
        seed=seed,
    )


def check_draws(draws: int) -> None:
    """Refuse a transfer without random controls."""
    check_whole(draws=draws)
    if draws < 1:
        raise InputError(
            f"draws={draws} random maps and random directions were asked for: at least 1 is expected, controls are "
            "never left out."
        )


def check_unit(unit: Unit) -> None:
    """Refuse a unit that would add every condition at a length of its own."""
    if unit == "vector":
        raise InputError(
            "unit='vector' would add every condition at a length of its own: 'spread' or 'residual' is expected."
        )


def scored(
    decoder: Decoder,
    vector: SteeringVector,
    maps: tuple[LinearMap, LinearMap],
    native: SteeringVector,
    curve: Callable[[SteeringVector], SteeringCurve],
    *,
    source: Decoder | None,
    draws: int,
    seed: int,
    name: str = "map",
) -> Transfer:
    """Score a vector that is carried, and all its controls, each by ``curve``."""
    linear_map, shuffled = maps
    if linear_map.shuffle is not None or shuffled.shuffle is None:
        raise InputError(
            f"The map was fitted on rows shuffled with {linear_map.shuffle} and its control with "
            f"{shuffled.shuffle}: None and a seed are expected, fit_map(..., shuffle=0) makes the control."
        )
    check_draws(draws)
    native.check(decoder)
    _check_widths(vector, shuffled, native)
    rng = np.random.default_rng(seed)
    vectors = {
        "transferred": transfer(vector, linear_map, native=native),
        "native": native,
        "shuffled_rows": transfer(vector, shuffled, native=native),
    }
    for draw in range(draws):
        end = "" if draws == 1 else f".{draw}"
        random = rng.normal(size=(vector.width, native.width))
        vectors[f"random_map{end}"] = replace(
            _placed(vector.vector @ random, native, native.norm), method="random map"
        )
        vectors[f"random_direction{end}"] = replace(
            _placed(rng.normal(size=native.width), native, native.norm), method="random direction"
        )
    unseen = linear_map.held_out
    return Transfer(
        source=vector.model,
        target=decoder.facts.name,
        source_site=vector.site,
        site=native.site,
        map_method=linear_map.method,
        map_r2=None if unseen is None else unseen.r2,
        map_rank=linear_map.rank,
        nearest_at_source=() if source is None else _nearest(source, vector),
        conditions=tuple(
            Carried(
                condition,
                _cosine(each.vector, native.vector),
                _nearest(decoder, each),
                curve(each),
            )
            for condition, each in vectors.items()
        ),
        seed=seed,
        map_name=name,
    )


def _nearest(decoder: Decoder, vector: SteeringVector) -> tuple[str, ...]:
    return tuple(name for name, _ in decoder.nearest_tokens(vector.vector))
