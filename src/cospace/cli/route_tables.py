"""A judgement of routers as plain text: what could be won first, then the rules, then the disguise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cospace.cli.tables import EMPTY, aligned, wrapped
from cospace.cli.visible import visible

if TYPE_CHECKING:
    from cospace.routing import PolicyScore, Routing
    from cospace.routing.disguise import Area
    from cospace.routing.result import Discrimination

__all__ = ["told"]


def told(found: Routing) -> list[str]:
    """Lines of a judgement."""
    from cospace.routing.reading import headroom_text, signal_text, verdict_text

    lines = [*wrapped(visible(headroom_text(found))), ""]
    if found.groups:
        lines += [*_groups(found), ""]
    lines += [*_policies(found), ""]
    lines += [*_areas(found), ""]
    if found.curve:
        lines += [*_curve(found), ""]
    lines += wrapped(visible(verdict_text(found)))
    lines += wrapped(visible(signal_text(found)))
    for warning in found.warnings:
        lines += wrapped(visible(warning), indent="  ", first="! ")
    return lines


def _groups(found: Routing) -> list[str]:
    rows = [["right, in %", "items", *map(visible, found.models), "disagree"]]
    rows += [
        [
            visible(each.group),
            f"{each.n:,}",
            *(f"{100 * share:.1f}" for share in each.accuracy),
            f"{100 * each.disagreement:.1f}",
        ]
        for each in found.groups
    ]
    return aligned(rows, range(1, 3 + len(found.models)))


def _policies(found: Routing) -> list[str]:
    head = ["rule", "right %", "95 %", "less strongest", "95 %", "gained", "lost"]
    rows = [[*head, "McNemar p", "p (Holm)", "of headroom"]]
    rows += [_policy(found, each) for each in found.policies]
    lines = aligned(rows, range(1, len(rows[0])))
    lines += wrapped(
        "Every rule on items that it was not made from. *: the main set, fixed beforehand. +: every model has to be "
        "run first. p (Holm): corrected over the routers. Intervals: bootstrap over "
        f"{'clusters' if found.settings.get('clusters') else 'items'}, fits kept."
    )
    return lines


def _policy(found: Routing, each: PolicyScore) -> list[str]:
    name = each.policy
    if each.features is not None:
        name = f"router {each.features}"
        name += " *" if each.features == found.main.name else ""
    if each.needs_answers:
        name += " +"
    return [
        visible(name),
        f"{100 * each.accuracy:.1f}",
        f"{100 * each.low:.1f} to {100 * each.high:.1f}",
        f"{100 * each.difference:+.1f}",
        f"{100 * each.difference_low:+.1f} to {100 * each.difference_high:+.1f}",
        _whole(each.gained),
        _whole(each.lost),
        _p(each.p),
        _p(each.p_adjusted),
        EMPTY if each.share_of_headroom is None else f"{100 * each.share_of_headroom:.0f} %",
    ]


def _areas(found: Routing) -> list[str]:
    level = found.discrimination[0].pooled.level
    rows = [
        ["area under ROC", "model", "pooled", "within groups", "base rate alone", "group unseen"]
    ]
    rows += [_row(each) for each in found.discrimination]
    lines = aligned(rows, range(2, 6))
    lines += wrapped(
        f"0.5 is chance. Intervals of {100 * level:.3g} %, which is 95 % for the models together. Within groups: pairs "
        "of one group alone; group unseen: the same, by fits that had no item of the group. Base rate alone: the "
        "group's share on training rows."
    )
    return lines


def _row(each: Discrimination) -> list[str]:
    areas = (each.pooled, each.within, each.base_rate, each.unseen)
    return [visible(each.features), visible(each.model), *map(_area, areas)]


def _area(area: Area) -> str:
    if area.value is None:
        return EMPTY
    if area.low is None or area.high is None:
        return f"{area.value:.3f} (no interval)"
    return f"{area.value:.3f} ({area.low:.3f} to {area.high:.3f})"


def _curve(found: Routing) -> list[str]:
    rows = [
        ["router", "budget", "price paid", "right %", "95 %", "best coin %", "less coin", "95 %"]
    ]
    rows += [
        [
            visible(p.features),
            f"{p.budget:.4g}",
            f"{p.price:.4g}",
            f"{100 * p.accuracy:.1f}",
            f"{100 * p.low:.1f} to {100 * p.high:.1f}",
            f"{100 * p.mix:.1f}",
            f"{100 * p.gain:+.1f}",
            f"{100 * p.gain_low:+.1f} to {100 * p.gain_high:+.1f}",
        ]
        for p in found.curve
    ]
    asked = ", ".join(f"{name} {price:g}" for name, price in found.prices.items())
    lines = aligned(rows, range(1, 8))
    lines += wrapped(
        visible(
            f"Accuracy at a price ({asked}). Budgets are held on training rows; what other rows then cost is "
            "measured. Best coin: a fixed model, or chance between two, for what was paid."
        )
    )
    return lines


def _whole(value: int | None) -> str:
    return EMPTY if value is None else str(value)


def _p(p: float | None) -> str:
    if p is None:
        return EMPTY
    return f"{p:.3f}" if p >= 0.0005 else f"{p:.1g}"
