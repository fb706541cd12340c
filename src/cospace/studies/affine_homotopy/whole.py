"""Whether the tables of an affine-homotopy study go together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cospace.errors import ContradictionError
from cospace.whole import check_names, check_once, check_order, check_p, check_pairs

if TYPE_CHECKING:
    from cospace.studies.affine_homotopy.result import AffineHomotopyStudy

__all__ = ["check_study"]

_ROUNDING = 1e-9


def check_study(study: AffineHomotopyStudy) -> None:
    """Refuse a study that contradicts itself.

    Raises
    ------
    ContradictionError
        For an encoder or a pair that is missing or there twice, a lower bound above its upper one, a
        p that is none, or a table of encoders that the study does not have.
    """
    names = list(dict.fromkeys(one.name for one in study.encoders))
    check_once((f"{one.name} at depth {one.depth:g}" for one in study.encoders), "encoders")
    at = {(one.name, one.depth) for one in study.encoders}
    depths = sorted({one.depth for one in study.encoders})
    for depth in depths:
        for name in names:
            if (name, depth) not in at:
                raise ContradictionError(f"encoders: {name} at depth {depth:g} is missing")
    _pairs(study.intrinsic, names, "intrinsic", lambda one: (one.depth,), [(d,) for d in depths])
    _intrinsic(study)
    probed = list(dict.fromkeys((one.task, one.depth) for one in study.tasks))
    for key in probed:
        where = f"tasks, {_at(key)}"
        there = [one.encoder for one in study.tasks if (one.task, one.depth) == key]
        check_names(there, names, where)
        check_once(there, where)
        if absent := [name for name in names if name not in there]:
            raise ContradictionError(f"{where}: {absent[0]} is missing")
    _pairs(study.extrinsic, names, "extrinsic", lambda one: (one.task, one.depth), probed)
    for pair in study.extrinsic:
        where = f"extrinsic, {pair.task}, depth {pair.depth:g}, {pair.source} to {pair.target}"
        check_order(where, slack=_ROUNDING, worst_certified=pair.worst_certified, worst=pair.worst)
    for link in study.links:
        where = f"links, {link.task}, {link.measure}, {link.method}"
        check_order(where, low=link.low, high=link.high)
        check_order(where, text_low=link.text_low, text_high=link.text_high)
        check_p(where, p=link.p)
    for easy in study.mappability:
        where = f"mappability, {easy.kind}, depth {easy.depth:g}"
        check_names([easy.target], names, where)
        check_order(f"{where}, {easy.target}", low=easy.low, median=easy.median, high=easy.high)
    _truncations(study)


def _intrinsic(study: AffineHomotopyStudy) -> None:
    radius = {(one.name, one.depth): one.radius for one in study.encoders}
    for pair in study.intrinsic:
        where = f"intrinsic, depth {pair.depth:g}, {pair.source} to {pair.target}"
        # An exact map leaves rounding on both ends.
        slack = _ROUNDING * abs(radius[pair.target, pair.depth])
        check_order(where, slack=slack, lower=pair.lower, upper=pair.upper)
        check_order(
            where,
            slack=_ROUNDING,
            normalised_lower=pair.normalised_lower,
            normalised=pair.normalised,
        )
        check_order(where, slack=slack, p95=pair.p95, p99=pair.p99, upper=pair.upper)


def _truncations(study: AffineHomotopyStudy) -> None:
    grid = [(one.source, one.target) for one in study.truncations]
    check_once((f"{a} % to {b} %" for a, b in grid), "truncations")
    shares = sorted({share for pair in grid for share in pair})
    for a in shares:
        for b in shares:
            if (a, b) not in grid:
                raise ContradictionError(f"truncations: {a} % to {b} % is missing")


def _pairs(
    table: Sequence[Any],
    names: Sequence[str],
    what: str,
    key_of: Callable[[Any], tuple[Any, ...]],
    keys: Sequence[tuple[Any, ...]],
) -> None:
    """Every ordered pair once at every key, and at no other."""
    found: dict[tuple[Any, ...], list[tuple[str, str]]] = {key: [] for key in keys}
    for one in table:
        key = key_of(one)
        if key not in found:
            raise ContradictionError(f"{what}: no encoder or probe is there for {_at(key)}")
        found[key].append((one.source, one.target))
    for key, pairs in found.items():
        check_pairs(pairs, names, f"{what}, {_at(key)}", ordered=True)


def _at(key: tuple[Any, ...]) -> str:
    return ", ".join([*key[:-1], f"depth {key[-1]:g}"])
